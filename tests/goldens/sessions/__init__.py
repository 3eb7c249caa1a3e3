"""What is typed: every command, as people use it and as they get it wrong."""

from __future__ import annotations

from goldens.sessions import ask, generate, imports, serve, studies, vote

SESSIONS = {
    session.name: session
    for group in (
        *(serve.helps, vote.sessions, ask.sessions, generate.sessions, imports.sessions),
        *(studies.sessions, serve.sessions),
    )
    for session in group()
}
