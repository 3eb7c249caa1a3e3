"""What is typed to serve, and to look whether all works; and every help."""

from __future__ import annotations

from goldens.model import ScriptedModel, at_model, steering
from goldens.transcript import PIPE, TEXT, Session

COMMANDS = (
    *("ask", "generate", "vote", "import", "serve", "evaluate", "calibrate", "simulate", "plan"),
    *("doctor", "pools", "reproduce", "runs", "show", "compact", "export", "batch"),
    *("score", "mcp", "merge"),
)


def sessions() -> list[Session]:
    return [
        Session("serve", (f"serve {at_model('--port 0')}",), TEXT, model=steering, serves=True),
        Session(
            "serve-unsteered", (f"serve {at_model('--port 0')}",), TEXT, model=ScriptedModel, serves=True
        ),
        Session(
            "serve-errors",
            (
                "serve --host 0.0.0.0",
                "serve --method dis-gnn",
                "serve --max-budget 0",
                "serve --budget 300",
                "serve --max-concurrency 0",
                "serve --template poem",
                "serve --run no-such-folder",
                'serve --api-key "two words"',
                "serve --engine openai",
                "serve --base-url http://127.0.0.1:9/v1 --port 99999",
                "serve --base-url http://127.0.0.1:9/v1 --port 0",
            ),
            PIPE,
        ),
        # The other lines tell what is installed on this machine.
        Session(
            "doctor",
            ("doctor --base-url {url}", "doctor --base-url http://127.0.0.1:9/v1"),
            TEXT,
            model=steering,
            only=r"^(kind|server|engine\topenai)\b|127\.0\.0\.1|^    \S",
        ),
    ]


def helps() -> list[Session]:
    return [
        Session("help", ("--help", "", "--version"), TEXT),
        *(Session(f"help-{name}", (f"{name} --help",), TEXT) for name in COMMANDS),
    ]
