"""The commands by name: what each is for, and where it is. A command is loaded when it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from distrivote.cli.help import Command, Section, help_text


class _Entry(NamedTuple):
    place: str
    """The module and the function."""

    short: str


_PANELS = {
    "Ask and vote": {
        "ask": _Entry("ask:ask", "Ask a language model the same question N times and vote."),
        "vote": _Entry("vote:vote", "Vote on every question of a file of sampled answers."),
        "serve": _Entry("serve:serve", "Answer with votes over an OpenAI-compatible API."),
        "mcp": _Entry("mcp:mcp", "Answer with votes as a tool of MCP clients."),
    },
    "Runs": {
        "generate": _Entry("generate:generate", "Sample a benchmark into a run."),
        "batch": _Entry("batch:batch", "Sample a run by the batch files of a hosted API."),
        "import": _Entry("importing:import_files", "Turn files that other tools wrote into a run."),
        "score": _Entry("score:score", "Add a column of scores from outside to a run."),
        "merge": _Entry("merge:merge", "Put several runs of the same questions into one."),
        "runs": _Entry("runs:runs", "List the stored runs in a folder."),
        "show": _Entry("runs:show", "Show a run, a question or a trajectory."),
        "compact": _Entry("runs:compact", "Merge the parts of a run."),
        "export": _Entry("runs:export", "Write a run as a table, or as a copy to publish."),
    },
    "Measure": {
        "evaluate": _Entry("evaluate:evaluate", "Compare methods on runs with known answers."),
        "pools": _Entry("pools:pools", "List published samples to evaluate by name."),
        "reproduce": _Entry("reproduce:reproduce", "Sample and evaluate the paper's grid for a model."),
        "calibrate": _Entry("calibrate:calibrate", "Fit probabilities to runs with known answers."),
        "simulate": _Entry("simulate:simulate", "Draw a run without any model."),
        "plan": _Entry("plan:plan", "Say what each budget buys."),
    },
    "This machine": {
        "doctor": _Entry("doctor:doctor", "Say what works here, and what to install for the rest."),
    },
}
_ENTRIES = {name: entry for panel in _PANELS.values() for name, entry in panel.items()}


class Commands(Mapping[str, Any]):
    """The commands, each made when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        entry = _ENTRIES[name]
        module, _, function = entry.place.partition(":")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        found = getattr(import_module(f"distrivote.cli.{module}"), function)
        alone.command(name, cls=Command, short_help=entry.short)(found)
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(_ENTRIES)

    def __len__(self) -> int:
        return len(_ENTRIES)


class Root(TyperGroup):
    """`distrivote` itself, whose help loads no command."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def get_help(self, ctx: Any) -> str:
        panels = [
            Section(panel, [(name, entry.short) for name, entry in entries.items()])
            for panel, entries in _PANELS.items()
        ]
        records = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        options = Section("Options", [record for record in records if record is not None])
        return help_text(ctx, self.help or "", [*panels, options], aligned=False)
