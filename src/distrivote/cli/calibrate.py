"""`distrivote calibrate`: from labelled runs to probabilities that hold for your model and your questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.groups import grouped
from distrivote.cli.messages import note, say
from distrivote.cli.options import OUTPUT, By, FileAnswer, Json, Same, TableOptions, compared_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.evaluation.calibrating import Fitted, Quality


@grouped
def calibrate(
    run: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="Folders of runs, or files of sampled answers with the right ones, as for vote.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the calibration: a .json file for --calibration.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ],
    columns: TableOptions,
    by: By = None,
    answer: FileAnswer = None,
    same: Same = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed, the same calibration.")] = 0,
    as_json: Json = False,
) -> None:
    """Fit the probabilities of answers to runs whose right answers are known.

    The winners of auto are fitted, on draws of 8, 16, 32 ... trajectories and on all that a question has.
    It needs at least 20 questions, and right and wrong votes among them. What it prints was measured on
    questions that a fit had not seen: ten groups, each judged by a fit on the others. Fit on questions
    like those you will ask: multiple choice needs a calibration of its own.
    """
    from distrivote.evaluation.calibrating import calibrate as fit_to
    from distrivote.evaluation.loading import load_pool_sets
    from distrivote.evaluation.scoring import EVALUATION
    from distrivote.store.calibrations import check_calibration_place, write_calibration

    check_calibration_place(output, run)
    read = columns.columns(by, positive_for=EVALUATION)
    loaded = load_pool_sets(run, columns=read, reads=(), same=compared_by(answer, same))
    note(*loaded.notes)
    fitted = fit_to(loaded.pool_sets, ", ".join(each.name for each in loaded.pool_sets)[:1000], seed)
    write_calibration(fitted.calibration, output)
    if as_json:
        _print_json(fitted, output)
    else:
        _print(fitted)
        say(f"{output}: use it with --calibration {output}")


def _qualities(fitted: Fitted) -> Sequence[tuple[str, Quality]]:
    return (
        ("this calibration, on unseen questions", fitted.held_out),
        ("the one that ships", fitted.shipped),
        ("share of votes", fitted.share),
    )


def _print(fitted: Fitted) -> None:
    from distrivote.nouns import count

    found = fitted.calibration
    most = count(found.most, "trajectory")
    sizes = most if found.fewest == found.most else f"{found.fewest} to {most}"
    print(f"{count(found.n_questions, 'question')}, {count(fitted.n_rows, 'vote')} on {sizes}")
    print(
        f"p = logistic({found.intercept:.3f} + {found.evidence:.3f} * logit(posterior)"
        f" + {found.share:.3f} * logit(share of votes))"
    )
    print(f"{'':38}  {'ECE':>6}  {'Brier':>6}")
    for words, quality in _qualities(fitted):
        print(f"{words:38}  {quality.ece:6.3f}  {quality.brier:6.4f}")


def _print_json(fitted: Fitted, output: str) -> None:
    import json
    from dataclasses import asdict

    names = ("held_out", "shipped", "share_of_votes")
    document = {
        "file": output,
        "calibration": asdict(fitted.calibration),
        "n_votes": fitted.n_rows,
        **{name: quality._asdict() for name, (_, quality) in zip(names, _qualities(fitted), strict=True)},
    }
    print(json.dumps(document, ensure_ascii=False, indent=2))
