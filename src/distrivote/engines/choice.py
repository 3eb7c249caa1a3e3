"""From the engine that a user names to the engine itself. Its packages are imported only here."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from distrivote.defaults import MAX_TOKENS, MAX_TOKENS_BUILT_IN, MAX_TOKENS_LARGE
from distrivote.engines.base import BaseEngine
from distrivote.engines.llamacpp.files import BUILT_IN
from distrivote.errors import InputError, UnknownNameError
from distrivote.names import ENGINE, found, unknown
from distrivote.prompts import AUTO, AUTO_WORKED

ENGINES = ("embedded", "openai", "vllm", "transformers")


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine and its settings; it can be sent to another process."""

    engine: str = "embedded"
    """A name from `ENGINES`, or one of your own."""

    model: str | None = None
    """None: the built-in model, or the only model of a server. Several models of servers, as in "a,b", share
    every question: one for each address, or all of them at a single one."""

    base_urls: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the engine by name: n_slots, n_parallel, tensor_parallel_size, device, ..."""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES and found(ENGINE, self.engine, ENGINES) is None:
            raise unknown(ENGINE, self.engine, ENGINES)
        if self.engine == "openai" and not self.base_urls:
            usual = os.environ.get("OPENAI_BASE_URL")
            if not usual:
                raise InputError(
                    "the openai engine needs a server",
                    hint="give `base_urls`, or set OPENAI_BASE_URL",
                    argument="base_urls",
                )
            object.__setattr__(self, "base_urls", (usual,))
        if self.engine != "openai" and self.base_urls:
            raise InputError(
                f"the {self.engine} engine does not use a server",
                hint="leave out `base_urls` or `engine`",
                argument="base_urls",
            )
        if self.engine in ("vllm", "transformers") and self.model is None:
            raise InputError(
                f"the {self.engine} engine needs a model",
                hint="give `model`, a folder or ORG/NAME",
                argument="model",
            )

    @classmethod
    def of(
        cls,
        engine: str | None,
        model: str | None,
        base_urls: Sequence[str],
        api_key: str | None,
        options: Mapping[str, Any],
    ) -> EngineChoice:
        """Return the choice; if no engine is named: openai if there is an address, else embedded."""
        return cls(
            engine or ("openai" if base_urls else "embedded"), model, tuple(base_urls), api_key, options
        )

    @property
    def models(self) -> tuple[EngineChoice, ...]:
        """The choice of each model, if several share the questions; else empty."""
        if self.engine != "openai" or self.model is None or "," not in self.model:
            return ()
        names = [name.strip() for name in self.model.split(",")]
        if "" in names or len(set(names)) < len(names):
            raise InputError(
                f"the models are {self.model!r}", hint="give different names, such as a,b", argument="model"
            )
        urls = self.base_urls * len(names) if len(self.base_urls) == 1 else self.base_urls
        if len(urls) != len(names):
            raise InputError(
                f"{len(names)} models but {len(urls)} servers",
                hint="give `base_urls` once for each model, in their order, or once for all",
                argument="base_urls",
            )
        return tuple(
            replace(self, model=name, base_urls=(url,)) for name, url in zip(names, urls, strict=True)
        )

    def request_settings(self) -> dict[str, Any]:
        """Return what is added to every request to a server, for the record; empty for other engines."""
        if self.engine != "openai":
            return {}
        from distrivote.engines.openai.extras import Extras

        given = (self.options.get(name) for name in ("extra_body", "headers", "reasoning_effort"))
        body, headers, effort = given
        return Extras(body or {}, headers or {}, effort).settings()

    @property
    def default_max_tokens(self) -> int:
        """The longest a trajectory may get unless the user says otherwise: what fits in memory."""
        if self.engine != "embedded":
            return MAX_TOKENS_LARGE
        return MAX_TOKENS_BUILT_IN if self.model in (None, BUILT_IN) else MAX_TOKENS

    @property
    def default_template(self) -> str:
        """The prompt template unless the user says otherwise."""
        is_built_in = self.engine == "embedded" and self.model in (None, BUILT_IN)
        return AUTO_WORKED if is_built_in else AUTO


def open_engine(
    choice: EngineChoice,
    *,
    say: Callable[[str], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> BaseEngine:
    """Return the engine, ready to sample.

    `say` is called before every slow operation, `note` with what the user should know.
    """
    own = None if choice.engine in ENGINES else found(ENGINE, choice.engine, ENGINES)
    if own is not None:
        from distrivote.engines.own import own_engine

        return own_engine(own, choice.model, choice.options)
    if choice.models:
        from distrivote.engines.pooled import PooledEngine

        return PooledEngine([open_engine(each, say=say, note=note) for each in choice.models])
    if choice.engine == "openai":
        from distrivote.engines.openai.engine import OpenAIEngine

        return OpenAIEngine(
            choice.base_urls, choice.model, choice.api_key, **_known(OpenAIEngine, choice), say=note
        )
    if choice.engine == "vllm":
        from distrivote.engines.vllm.engine import VllmEngine

        return VllmEngine(choice.model or "", options=choice.options, say=say)
    if choice.engine == "transformers":
        from distrivote.engines.transformers.engine import TransformersEngine

        return TransformersEngine(choice.model or "", **_known(TransformersEngine, choice), say=say)
    from distrivote.engines.llamacpp.engine import LlamaCppEngine

    return LlamaCppEngine(choice.model or BUILT_IN, **_known(LlamaCppEngine, choice), say=say)


def open(
    what: str | os.PathLike[str] | None = None,
    *,
    engine: str | None = None,
    say: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> BaseEngine:
    """Return the engine for a server, a model file, a model by name, or the built-in model.

        with distrivote.open("http://localhost:8000/v1") as engine:
            solution = distrivote.solve(engine, "What is 6 * 7?")

    Args:
        what: The URL of an OpenAI-compatible server; the path of a GGUF file or `hf:ORG/REPO/FILE`; ORG/NAME
            or a folder, which need `engine`; nothing for the built-in model.
        engine: embedded, openai, vllm, transformers or one of your own, if `what` leaves it open.
        say: Called with a sentence before every slow operation, and with what the user should know.
        options: Arguments of the engine's constructor, such as `model` and `api_key` of a server, `n_slots`
            of the embedded engine, or those of vLLM itself.
    """
    name = None if what is None else os.fspath(what)
    if engine is None:
        engine = _engine_for(name)
    if engine == "openai":
        urls = () if name is None else (name,)
        model, key = options.pop("model", None), options.pop("api_key", None)
        return open_engine(EngineChoice(engine, model, urls, key, options), say=say, note=say)
    return open_engine(EngineChoice(engine, name, options=options), say=say, note=say)


def _engine_for(name: str | None) -> str:
    """Return the name of the engine for the first argument of `open`.

    >>> _engine_for("localhost:8000"), _engine_for("hf:org/repo/model.gguf")
    ('openai', 'embedded')
    """
    if name is None or name == BUILT_IN or name.startswith("hf:"):
        return "embedded"
    if "://" in name or re.fullmatch(r"[\w.-]+:\d+(/.*)?", name):
        return "openai"
    path = Path(name).expanduser()
    if path.is_file() or path.suffix == ".gguf":
        return "embedded"
    if path.is_dir() or re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise InputError(
            f"{name} is a model for vLLM or transformers: choose one with engine='vllm' or"
            " engine='transformers'; the embedded engine takes a GGUF file or hf:ORG/REPO/FILE"
        )
    raise InputError(
        f"{name!r} is not a model: give the URL of a server, the path of a GGUF file, hf:ORG/REPO/FILE,"
        f" ORG/NAME with engine='vllm' or engine='transformers', or {BUILT_IN}"
    )


_NO_OPTIONS = ("model", "base_urls", "api_key", "patience", "say")
"""Constructor arguments that are not options: they are given in another way, or only in Python."""


def _known(engine: type, choice: EngineChoice) -> dict[str, Any]:
    """Return the options if the engine has them all."""
    parameters = inspect.signature(engine).parameters
    names = [name for name in parameters if name not in _NO_OPTIONS]
    for name in choice.options:
        if name not in names:
            raise UnknownNameError(f"option of the {choice.engine} engine", name, names)
    return dict(choice.options)


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """Parse options written as NAME=VALUE; numbers, true and false become Python values.

    >>> parse_options(["tensor_parallel_size=2", "dtype=bfloat16", "enforce_eager=true"])
    {'tensor_parallel_size': 2, 'dtype': 'bfloat16', 'enforce_eager': True}
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"the option {text!r} has no value: write NAME=VALUE")
        try:
            options[name.replace("-", "_")] = json.loads(value)
        except (ValueError, RecursionError):
            options[name.replace("-", "_")] = value
    return options
