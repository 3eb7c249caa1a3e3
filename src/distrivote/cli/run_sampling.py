"""What `generate` and `reproduce` share: an engine opened when it is needed, and a run being sampled."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from distrivote.cli.console import open_console
from distrivote.cli.messages import note, say
from distrivote.cli.run_display import RunDisplay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from distrivote.benchmarks.shard import Shard
    from distrivote.engines.base import Engine
    from distrivote.engines.choice import EngineChoice
    from distrivote.generation.cluster import Cluster
    from distrivote.generation.run import Sampling
    from distrivote.store.runs.manifest import Manifest
    from distrivote.store.runs.rows import Keep


class Opened:
    """The engine, opened when it is needed: a run that is complete needs none."""

    def __init__(self, choice: EngineChoice) -> None:
        self.choice = choice
        self._engine: Engine | None = None

    @property
    def model(self) -> str:
        """The model's name, which for a server that was not told one only the server knows."""
        from distrivote.engines.llamacpp.files import BUILT_IN

        if self.choice.model is None and self.choice.engine != "embedded":
            return self.engine.model
        return self.choice.model or BUILT_IN

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            from distrivote.engines.choice import open_engine

            on_screen = open_console(sys.stderr).is_terminal
            self._engine = open_engine(
                self.choice,
                say=lambda text: say(text) if on_screen else None,
                note=note,
            )
        return self._engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()


class Outcome(NamedTuple):
    """What became of a run."""

    n_todo: int
    """Trajectories that were lacking."""

    summary: dict[str, Any]


def sample_run(
    path: str,
    manifest: Manifest,
    sampling: Sampling,
    keep: Keep,
    opened: Opened,
    cluster: Cluster | None = None,
    *,
    max_tokens_total: int | None = None,
) -> Outcome:
    """Sample what a run lacks and show how far it is; an interrupt ends it in good order."""
    from distrivote.generation.run import Generation

    with Generation(path, manifest, sampling, keep) as generation:
        note(*generation.notes)
        on_screen = open_console(sys.stderr).is_terminal
        if not generation.work:
            return Outcome(0, RunDisplay(0, 0, on_screen).summary(stopped=False))
        if cluster is None:
            engine = opened.engine  # before the clock of the display starts
            display = RunDisplay(generation.n_todo, len(generation.work), on_screen)
            made = generation.sample(engine, max_tokens_total=max_tokens_total, watch=display.watch)
        else:
            display = RunDisplay(generation.n_todo, len(generation.work), on_screen)
            made = generation.sample_on_ray(opened.choice, cluster, note)
        limit = max_tokens_total if cluster is not None else None
        stopped = False
        try:
            for item in made:
                display.add(*item)
                if limit is not None and display.n_tokens >= limit:
                    break
        except KeyboardInterrupt:
            stopped = True
        finally:
            made.close()
            display.clear()
        summary = display.summary(stopped)
        if cluster is None:
            # An interrupt may come between the storing of one and its showing.
            summary["n_trajectories"] = generation.n_added
        return Outcome(generation.n_todo, summary)


def tell_what_was_done(summary: dict[str, Any], n_todo: int, shard: Shard) -> None:
    """Print what became of a run, in a line."""
    from distrivote.nouns import count

    made = summary["n_trajectories"]
    if not n_todo and shard.n > 1:
        print(f"{summary['run']} has all of shard {shard}: {count(summary['budget'], 'trajectory')} of each")
        return
    if not n_todo:
        print(f"{summary['run']} is complete: {count(summary['budget'], 'trajectory')} of every question")
        return
    right = "" if summary["accuracy"] is None else f", {summary['accuracy']:.1%} right"
    print(
        f"{summary['run']}: {count(made, 'trajectory')} added, {count(summary['n_tokens'], 'token')},"
        f" {count(summary['n_reflections'], 'reflection')}{right}"
    )
    if made < n_todo and not summary["settles"]:
        say(f"{n_todo - made:,} are still to do: the same command goes on")


def tell_how_to_go_on() -> None:
    """Print the command that was given, as what goes on with it."""
    # Not wrapped: a command is there to be copied.
    print(f"go on with: distrivote {without_key(sys.argv[1:])}", file=sys.stderr)


def without_key(argv: Sequence[str]) -> str:
    r"""Return a command line with the key left out: what is printed ends in logs.

    >>> without_key(["generate", "x", "--api-key", "sk-1", "--api-key=sk-2", "-o", "my run"])
    'generate x --api-key "$OPENAI_API_KEY" --api-key="$OPENAI_API_KEY" -o \'my run\''
    """
    return " ".join(quoted_without_key(argv))


def quoted_without_key(argv: Sequence[str]) -> list[str]:
    """Return the words of a command line as a shell takes them, with the key left out."""
    words, hidden = [], '"$OPENAI_API_KEY"'
    for before, word in zip(["", *argv], argv, strict=False):
        is_both = word.startswith("--api-key=")
        shown = f"--api-key={hidden}" if is_both else _quoted(word)
        words.append(hidden if before == "--api-key" else shown)
    return words


def _quoted(word: str) -> str:
    """Return a word as a shell takes it, on one line."""
    if "\n" not in word:
        return shlex.quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'").replace("\n", r"\n")
    return f"$'{escaped}'"
