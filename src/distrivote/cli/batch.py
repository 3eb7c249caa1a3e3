"""`distrivote batch`: a run by the batch files of a hosted API, or of `vllm run-batch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.answer_options import Same
from distrivote.cli.groups import OptionGroup, grouped
from distrivote.cli.model_options import ExtraBody, ReasoningEffort
from distrivote.cli.options import Json, QuestionOptions, StorageOptions
from distrivote.cli.sampling_options import SamplingOptions
from distrivote.defaults import BUDGET, MAX_TOKENS_LARGE, K
from distrivote.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from distrivote.generation.batch import BatchRead, BatchWritten

_ACTIONS = ("write", "read")


@dataclass(frozen=True, slots=True)
class BatchOptions(OptionGroup):
    """The settings of a new run; an existing run has them stored."""

    panel: ClassVar[str] = "A new run"

    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The benchmark or the file of questions, as for generate.",
            show_default=False,
        ),
    ] = None
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first N questions.")] = None
    size: Annotated[
        int | None, typer.Option(metavar="N", help="How many questions a built-in benchmark makes.")
    ] = None
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The model, by its host's name.", show_default=False),
    ] = None
    host: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="NAME",
            help="Format of the files: openai, vllm (vllm run-batch), or other (any compatible API).",
        ),
    ] = "openai"
    logprobs: Annotated[
        int, typer.Option(metavar="N", help="Log-probabilities to ask for at each token; 0: none.")
    ] = K
    extra_body: ExtraBody = None
    reasoning_effort: ReasoningEffort = None


@grouped
def batch(
    action: Annotated[
        str, typer.Argument(metavar="write|read", help="Write requests, or read their output.")
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of the run.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="OUTPUT", help="read: the output files, including error files."),
    ] = None,
    *,
    asked: BatchOptions,
    put: QuestionOptions,
    same: Same = None,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Trajectories per question, {BUDGET} by default; a larger one only adds.",
            show_default=False,
            rich_help_panel=SamplingOptions.panel,
        ),
    ] = None,
    sampling: SamplingOptions,
    storage: StorageOptions,
    as_json: Json = False,
) -> None:
    """Sample a run by batch files, which hosted APIs take at half the price.

    `batch write RUN --benchmark NAME --model MODEL` creates a run and writes requests to RUN/batch. Send
    the files to the host, or to `vllm run-batch`, and import the output by `batch read RUN OUTPUT`. Requests
    that failed are written again by `batch write RUN`. The run is an ordinary one, without
    SelfStepConf.
    """
    if action not in _ACTIONS:
        raise UnknownNameError("action", action, _ACTIONS)
    if action == "read":
        from distrivote.generation.batch import read_batch

        if not files:
            raise InputError("there is nothing to read: name the output files after RUN")
        _tell_read(run, read_batch(run, files, storage.keep()), as_json)
        return
    if files:
        raise InputError("batch write takes RUN alone: leave the files out, or use batch read")
    if asked.benchmark is None:
        from distrivote.generation.batch import continue_batch

        _tell_written(run, continue_batch(run, budget), as_json)
        return
    _tell_written(run, _begun(run, asked, put, same, budget, sampling), as_json)


def _begun(
    run: str,
    asked: BatchOptions,
    put: QuestionOptions,
    same: str | None,
    budget: int | None,
    sampling: SamplingOptions,
) -> BatchWritten:
    from distrivote.benchmarks import load
    from distrivote.engines.openai.extras import parse_body
    from distrivote.generation.batch import BatchSettings, begin_batch
    from distrivote.generation.settings import RunSettings
    from distrivote.poll import check_budget

    if asked.model is None:
        raise InputError(
            "a batch needs a model", hint="give `model`, the host's name of it", argument="model"
        )
    questions = put.put(load(asked.benchmark or "", limit=asked.limit, size=asked.size))
    settings = RunSettings(
        questions,
        sampling.params_for(MAX_TOKENS_LARGE),
        None,
        check_budget(BUDGET if budget is None else budget),
        asked.limit,
        same=same,
    )
    body = parse_body(asked.extra_body)
    batch = BatchSettings(asked.model, asked.host, asked.logprobs, body, asked.reasoning_effort)
    return begin_batch(run, settings, batch)


def _tell_written(run: str, written: BatchWritten, as_json: bool) -> None:
    from distrivote.nouns import count

    if as_json:
        import json

        files = [str(file) for file in written.files]
        print(json.dumps({"run": run, "files": files, "n_requests": written.n_requests}))
    elif not written.files:
        print(f"{run} is complete: there is nothing to ask for")
    else:
        for file in written.files:
            print(file)
        from distrivote.cli.messages import say

        say(
            f"{count(written.n_requests, 'request')} for {count(written.n_questions, 'question')}; then:"
            f" distrivote batch read {run} OUTPUT"
        )


def _tell_read(run: str, read: BatchRead, as_json: bool) -> None:
    from distrivote.cli.messages import note
    from distrivote.nouns import count

    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps({"run": run, **asdict(read)}))
        return
    if read.n_failed:
        note(f"{count(read.n_failed, 'request')} failed, the first with: {read.first_failure}")
    there = f", {read.n_there:,} were there" if read.n_there else ""
    print(f"{run}: {count(read.n_added, 'trajectory')} added{there}, {read.n_lacking:,} still to do")
