"""All goldens: a name and the text that belongs to it, made anew or as recorded."""

from __future__ import annotations

from pathlib import Path

from goldens.conversations import CONVERSATIONS
from goldens.exchanges import conversation_text
from goldens.sessions import SESSIONS
from goldens.transcript import transcript
from goldens.warm import Warm

RECORDED = Path(__file__).parent / "recorded"
NAMES = [*(f"commands/{name}" for name in SESSIONS), *(f"http/{name}" for name in CONVERSATIONS)]


def path_of(name: str) -> Path:
    """Return where a golden is recorded."""
    return RECORDED / f"{name}.txt"


def text_of(name: str, warm: Warm) -> str:
    """Return the text of a golden as the program makes it now."""
    kind, _, own = name.partition("/")
    if kind == "commands":
        return transcript(SESSIONS[own], warm)
    return conversation_text(CONVERSATIONS[own])
