"""Requests take built-in names only: none makes the server import or run anything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from distrivote import Trajectory
from distrivote.engines import ReplayEngine
from distrivote.server.app import create_app
from distrivote.server.schemas import VoteFields
from distrivote.server.settings import Settings

NAMES = ("planted:f", "./planted.py:f", "command:touch planted-was-called")
BODIES = {
    "/v1/chat/completions": {"model": "replay", "messages": [{"role": "user", "content": "2 + 2?"}]},
    "/v1/completions": {"model": "replay", "prompt": "2 + 2?"},
    "/v1/responses": {"model": "replay", "input": "2 + 2?"},
}
NESTED = {"ssc": ("split", "reflection"), "deepconf": ("online",)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "planted.py").write_text("def f(*_, **__):\n    return None\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("planted", None)


def test_a_name_of_a_module_or_a_command_in_a_request_is_no_import_and_no_call(folder: Path) -> None:
    fields = [{name: "?"} for name in VoteFields.model_fields]
    fields += [{name: {part: "?"}} for name, parts in NESTED.items() for part in parts]

    async def statuses() -> set[int]:
        engine = ReplayEngine([Trajectory("It is \\boxed{4}.")] * 2)
        transport = httpx.ASGITransport(app=create_app(engine, "sc", Settings(budget=2)))
        found = set()
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            for path, body in BODIES.items():
                for field in fields:
                    for name in NAMES if path == "/v1/chat/completions" else NAMES[:1]:
                        given = {key: _filled(value, name) for key, value in field.items()}
                        reply = await client.post(path, json=body | {"distrivote": given})
                        found.add(reply.status_code)
                model = {"model": f"{NAMES[0]}@2/replay"}
                found.add((await client.post(path, json=body | model)).status_code)
        return found

    assert asyncio.run(statuses()) <= {200, 400, 404}
    assert "planted" not in sys.modules
    assert [path.name for path in folder.iterdir()] == ["planted.py"]


def _filled(value: object, name: str) -> object:
    return dict.fromkeys(value, name) if isinstance(value, dict) else name
