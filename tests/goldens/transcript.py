"""Commands that are typed one after the other in one folder, and what came of each, as text.

A session runs three times, in a folder of its own each: on a terminal, in a pipe, and with `--json` in a
pipe. What is the same in two ways is written once.
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engines.scripted_server import Reply, Request, ScriptedServer
from goldens.normal import normal, pretty, rounded
from goldens.screen import shown
from goldens.stored import run_text
from goldens.warm import Ran, Warm

ROOT = Path(__file__).parents[2]
WAYS = TERMINAL, PIPED, AS_JSON = ("on a terminal", "in a pipe", "with --json")
TEXT, PIPE = WAYS[:2], WAYS[1:2]
_WITHOUT_JSON = ("show", "compact", "export", "serve")


@dataclass(frozen=True)
class Session:
    """What is typed, and what is there beforehand."""

    name: str
    commands: tuple[str, ...]
    """`{url}` is the address of the model; `< TEXT` at the end is what standard input holds."""

    ways: tuple[str, ...] = WAYS
    files: dict[str, str | bytes] = field(default_factory=dict)
    """What the folder holds, by name; `examples` is always there."""

    model: Callable[[], Callable[[Request], Reply]] | None = None
    """Makes the model that answers at `{url}`."""

    keeps: tuple[str, ...] = ()
    """Files that the commands write, to be shown as well: texts, and folders of runs."""

    serves: bool = False
    """Whether commands are servers, which are interrupted once they answer."""

    colours: bool = False
    """Whether colours are shown, on a terminal."""

    only: str = ""
    """A pattern of the lines of standard output that are kept; all if it is empty."""

    asked: bool = False
    """Whether to show what the model was asked, in a pipe."""


def transcript(session: Session, warm: Warm) -> str:
    """Return what a session looks like."""
    told: list[dict[str, list[str]]] = [{} for _ in session.commands]
    kept = ""
    for way in session.ways:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="golden-")))
            _furnish(folder, session.files)
            url, model = "", None
            if session.model is not None:
                model = session.model()
                url = stack.enter_context(ScriptedServer(model)).url
            for number, command in enumerate(session.commands):
                words, typed = _words(command, url)
                is_json = way == AS_JSON
                takes_json = not set(words[:1]) & set(_WITHOUT_JSON)
                if is_json and takes_json:
                    words.append("--json")
                ran = warm.run(words, folder, terminal=way == TERMINAL, typed=typed, serves=session.serves)
                if not is_json or takes_json:
                    told[number].setdefault(_told(ran, session, folder, way), []).append(way)
            if way == session.ways[-1 if len(session.ways) == 1 else 1]:
                kept = _kept(session, folder, model)
    blocks = []
    for command, outcomes in zip(session.commands, told, strict=True):
        blocks.append(f"$ distrivote {command}\n")
        for text, ways in outcomes.items():
            blocks.append(f"=== {', '.join(ways)}: {text}")
    return "".join(blocks) + kept


def _furnish(folder: Path, files: dict[str, str | bytes]) -> None:
    (folder / "examples").symlink_to(ROOT / "examples")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _words(command: str, url: str) -> tuple[list[str], str | None]:
    command, _, typed = command.partition(" < ")
    words = [word.replace("{url}", url) for word in shlex.split(command)]
    return words, typed.replace("\\n", "\n") if typed else None


def _told(ran: Ran, session: Session, folder: Path, way: str) -> str:
    out, err = ran.out, ran.err
    if way == TERMINAL:
        out, err = (shown(text, colours=session.colours) for text in (out, err))
    elif way == AS_JSON and out:
        with suppress(ValueError):  # what is not JSON is shown as it is
            out = pretty(rounded(json.loads(out))) + "\n"
    out, err = normal(out, folder), normal(err, folder)
    if session.only:
        out = "".join(line for line in out.splitlines(keepends=True) if re.search(session.only, line))
    text = f"exit code {ran.code}\n{_whole(out)}"
    return text + (f"--- standard error\n{_whole(err)}" if err else "")


def _whole(text: str) -> str:
    """Return a text that ends with a line's end, and says so if it did not."""
    return text if not text or text.endswith("\n") else f"{text}[no end of line]\n"


def _kept(session: Session, folder: Path, model: Any) -> str:
    blocks = []
    for name in session.keeps:
        path = folder / name
        content = run_text(path) if path.is_dir() else path.read_text()
        blocks.append(f"=== {name}\n{_whole(normal(content, folder))}")
    if session.asked:
        blocks.append("=== what the model was asked\n")
        blocks += [f"{line}\n" for line in _asked(model.requests)]
    return "".join(blocks)


def _asked(requests: list[Request]) -> list[str]:
    return [
        f"{request.method} {request.path}"
        + ("" if request.body is None else f" {json.dumps(request.body, ensure_ascii=False)}")
        for request in requests
    ]
