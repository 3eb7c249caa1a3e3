"""What `generate` and `reproduce` share: sampling a run with progress, and the summary afterwards."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distrivote.cli.messages import note, say, say_facts
from distrivote.cli.run_display import RunDisplay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.engines.choice import EngineChoice
    from distrivote.generation.cluster import Cluster
    from distrivote.generation.deferred import DeferredEngine
    from distrivote.generation.run import RunResult
    from distrivote.generation.settings import RunSettings
    from distrivote.store.runs.rows import Keep


def deferred(choice: EngineChoice) -> DeferredEngine:
    """Return an engine that is opened on first use; on a terminal it reports slow operations."""
    from distrivote.generation.deferred import DeferredEngine

    return DeferredEngine(choice, say=say if sys.stderr.isatty() else lambda _: None, note=note)


@dataclass(frozen=True, slots=True)
class SampledRun:
    """The result of sampling a run, and how long it took."""

    settings: RunSettings
    result: RunResult
    seconds: float
    stopped: bool
    """Whether the user interrupted it."""

    def document(self) -> dict[str, Any]:
        """Return the document of `--json`."""
        result = self.result
        return {
            "n_trajectories": result.n_added,
            "n_elsewhere": result.n_elsewhere,
            "n_tokens": result.n_tokens,
            "n_reflections": result.n_reflections,
            **({} if result.n_ended is None else {"n_ended": result.n_ended}),
            "accuracy": result.accuracy,
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "settles": self.settings.rule is not None,
            "run": result.path,
            "n_questions": len(self.settings.benchmark),
            "budget": self.settings.budget,
        }

    @property
    def _ended(self) -> str:
        n = self.result.n_ended
        return "" if n is None else f", {n:,} in the run ended early"

    def tell(self) -> None:
        """Print it on one line."""
        from distrivote.nouns import count

        result, shard, budget = self.result, self.settings.shard, self.settings.budget
        if not result.n_todo and shard.n > 1:
            print(f"{result.path} has all of shard {shard}: {count(budget, 'trajectory')} of each")
            return
        if not result.n_todo:
            total = self.settings.total
            each = f"{count(budget, 'trajectory')} of every question"
            shared = "" if total is None else f"{count(total, 'trajectory')} of all questions together"
            print(f"{result.path} is complete: {shared or each}{self._ended}")
            return
        right = "" if result.accuracy is None else f", {result.accuracy:.1%} right"
        print(
            f"{result.path}: {count(result.n_added, 'trajectory')} added, {count(result.n_tokens, 'token')},"
            f" {count(result.n_reflections, 'reflection')}{right}{self._ended}"
        )
        if result.n_doubled:
            say(f"{result.n_doubled:,} more were stored by another process first, and do not count")
        if result.n_elsewhere:
            say(f"{result.n_elsewhere:,} more were added by other processes meanwhile")
        n_left = result.n_todo - result.n_added - result.n_doubled - result.n_elsewhere
        if n_left > 0 and self.settings.rule is None and self.settings.total is None:
            say(f"{n_left:,} are still to do: the same command resumes")


def sampled(
    engine: DeferredEngine,
    settings: RunSettings,
    path: str,
    keep: Keep,
    cluster: Cluster | None,
    *,
    new: bool = False,
    max_tokens_total: int | None = None,
    processes: int = 1,
) -> SampledRun:
    """Sample what a run lacks and show the progress; an interrupt ends it and keeps what is finished."""
    from distrivote.generation.run import RunInterrupted, sample_run

    stopped = False
    with RunDisplay() as display:
        try:
            result = sample_run(
                *(engine, settings, path, keep),
                new=new,
                max_tokens_total=max_tokens_total,
                cluster=cluster,
                processes=processes,
                watch=display.watch,
                note=note,
            )
        except RunInterrupted as interrupt:
            result, stopped = interrupt.result, True
        seconds = display.seconds
    return SampledRun(settings, result, seconds, stopped)


def tell_header(settings: RunSettings, engine: DeferredEngine) -> None:
    """Print on a terminal what will be sampled, before any slow operation."""
    if not sys.stderr.isatty():
        return
    from distrivote.nouns import count

    n = len(settings.shard.of(settings.benchmark.problems))
    share = "" if settings.shard.n == 1 else f" (shard {settings.shard})"
    known = engine.choice.model or ("" if engine.choice.base_urls else engine.model)
    parts = [
        settings.benchmark.name,
        f"{count(n, 'question')}{share} × {count(settings.budget, 'trajectory')}",
        known or engine.name,
        "SelfStepConf off" if settings.controller is None else settings.controller.headline,
    ]
    say_facts(parts)


def tell_how_to_go_on() -> None:
    """Print the given command, which resumes the run."""
    # Not wrapped: a command is there to be copied.
    print(f"resume with: distrivote {without_key(sys.argv[1:])}", file=sys.stderr)


def without_key(argv: Sequence[str]) -> str:
    r"""Return a command line without the key, because output ends up in logs.

    >>> without_key(["generate", "x", "--api-key", "sk-1", "--api-key=sk-2", "-o", "my run"])
    'generate x --api-key "$OPENAI_API_KEY" --api-key="$OPENAI_API_KEY" -o \'my run\''
    """
    return " ".join(quoted_without_key(argv))


def quoted_without_key(argv: Sequence[str]) -> list[str]:
    """Return the words of a command line, quoted for a shell, without the key and values of headers.

    >>> quoted_without_key(["ask", "--header", "X-Key: 123"])
    ['ask', '--header', "'X-Key: ...'"]
    """
    words, hidden = [], '"$OPENAI_API_KEY"'
    for before, word in zip(["", *argv], argv, strict=False):
        if before == "--header" or word.startswith("--header="):
            words.append(_quoted(f"{word.partition(':')[0]}: ..."))
            continue
        is_both = word.startswith("--api-key=")
        shown = f"--api-key={hidden}" if is_both else _quoted(word)
        words.append(hidden if before == "--api-key" else shown)
    return words


def _quoted(word: str) -> str:
    """Return a word quoted for a shell, on one line."""
    if "\n" not in word:
        return shlex.quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'").replace("\n", r"\n")
    return f"$'{escaped}'"
