"""`distrivote merge`: several runs of the same questions as one."""

from __future__ import annotations

from typing import Annotated

import typer

from distrivote.cli.messages import note
from distrivote.cli.options import Json, Partial


def merge(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="The folders of two or more runs.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The folder of the new run.")],
    partial: Partial = False,
    as_json: Json = False,
) -> None:
    """Put the trajectories of several runs of the same questions into one run.

    Runs of different models vote together: each trajectory keeps its model, confidences count by their
    rank within their model, and auto weighs each model by how often the others agree with it (see
    docs/several-models.md); vote --by model keeps them apart. Runs with the same settings, such as shards,
    become one run that can be resumed. Answers are compared again among all runs. Columns of scores are
    left out.
    """
    from distrivote.nouns import count
    from distrivote.store.runs.merging import merge_runs

    done = merge_runs(runs, output, partial=partial)
    note(*done.notes)
    if done.n_doubled:
        rows = count(done.n_doubled, "trajectory")
        note(f"{rows} left out: an earlier run has the same samples by the same settings")
    if as_json:
        import json

        document = {"run": output, **done._asdict()}
        print(json.dumps(document, ensure_ascii=False))
        return
    of = f" of {count(len(done.models), 'model')} ({', '.join(done.models)})" if done.models else ""
    questions, rows = count(done.n_questions, "question"), count(done.n_trajectories, "trajectory")
    print(f"{output}: {questions}, {rows}{of}")
