"""`distrivote calibrate`: from labelled runs to probabilities that hold for your model and your questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.answer_options import FileAnswer, Same, compared_by
from distrivote.cli.column_options import By, TableOptions
from distrivote.cli.groups import grouped
from distrivote.cli.messages import note, say
from distrivote.cli.options import OUTPUT, BeliefOptions, Json
from distrivote.defaults import METHOD, PROMISE_CHANCE
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.evaluation.calibrating import Fitted, Quality
    from distrivote.voting.promises import Promise

_PROMISE = "Promise"


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
    seed: Annotated[
        int, typer.Option(metavar="N", help="Random seed; the same seed gives the same calibration.")
    ] = 0,
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="Fit nothing; find the probability from which at most this share of answers is wrong, for"
            " --max-error of ask, vote and serve.",
            show_default=False,
            rich_help_panel=_PROMISE,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", metavar="NAME", help="The method that votes.", rich_help_panel=_PROMISE
        ),
    ] = METHOD,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Trajectories per vote, as you will ask for; by default all of a question.",
            show_default=False,
            rich_help_panel=_PROMISE,
        ),
    ] = None,
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where probabilities come from: a calibration fitted on other questions; by default the one"
            " that ships.",
            show_default=False,
            rich_help_panel=_PROMISE,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit the probabilities of answers to runs whose right answers are known.

    The winners of auto are fitted, on draws of 8, 16, 32 ... trajectories and on all that a question has.
    It needs at least 20 questions, and right and wrong votes among them. What it prints was measured on
    questions that a fit had not seen: ten groups, each judged by a fit on the others. Fit on questions
    like those you will ask: multiple choice needs a calibration of its own.

    With --max-error A nothing is fitted. The file then has a promise: with a chance of 90% over the
    labelled questions, at most A of the answers that are given to new questions like them are wrong. It
    holds for the same model, method and number of trajectories, if the probabilities were fitted on other
    questions. If there are too few questions to prove it, that is an error.
    """
    from distrivote.evaluation.calibrating import calibrate as fit_to
    from distrivote.evaluation.loading import load_pool_sets
    from distrivote.evaluation.scoring import EVALUATION
    from distrivote.store.calibrations import check_calibration_place, write_calibration

    check_calibration_place(output, run)
    read = columns.columns(by, positive_for=EVALUATION)
    if max_error is None and (calibration is not None or budget is not None or method != METHOD):
        raise InputError("--method, --budget and --calibration are for a promise: give --max-error too")
    options = BeliefOptions(max_error=max_error, calibration=calibration)
    fixed = options.read()
    loaded = load_pool_sets(run, columns=read, reads=(), same=compared_by(answer, same))
    note(*loaded.notes)
    if max_error is not None:
        from distrivote.evaluation.promising import with_promise

        promised = with_promise(loaded.pool_sets, fixed, method, budget, seed)
        assert promised.promise is not None
        least = promised.promise.least_probability(max_error)
        write_calibration(promised, output)
        _tell_promise(promised.promise, max_error, least, output, as_json)
        return
    fitted = fit_to(loaded.pool_sets, ", ".join(each.name for each in loaded.pool_sets)[:1000], seed)
    write_calibration(fitted.calibration, output)
    if as_json:
        _print_json(fitted, output)
    else:
        _print(fitted)
        say(f"{output}: use it with --calibration {output}")


def _tell_promise(promise: Promise, max_error: float, least: float, output: str, as_json: bool) -> None:
    from distrivote.nouns import count

    taken = next(risk for risk in promise.risks if risk.least == least)
    if as_json:
        import json
        from dataclasses import asdict

        document = {"file": output, "max_error": max_error, "min_probability": least, **asdict(promise)}
        print(json.dumps(document, ensure_ascii=False, indent=2))
        return
    print(
        f"{count(promise.n_questions, 'question')}, {promise.method}: {taken.n_given:,} have an answer of"
        f" probability {least:g} or more, and {taken.n_wrong:,} of these are wrong"
    )
    print(
        f"with a chance of {1 - PROMISE_CHANCE:.0%}, at most {max_error:.4g} of the answers given to new"
        " questions like these are wrong"
    )
    say(f"{output}: use it with --max-error {max_error:g} --calibration {output}")


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
