"""`distrivote ask`: one question to a model, N times, and a vote at the end."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from distrivote.cli.answer_options import AnswerOptions
from distrivote.cli.console import open_console
from distrivote.cli.costs import CostOptions, affordable
from distrivote.cli.groups import grouped
from distrivote.cli.inputs import asked_inputs
from distrivote.cli.messages import note, say, say_facts
from distrivote.cli.model_options import ModelOptions
from distrivote.cli.options import OUTPUT, WITHHELD, BeliefOptions, Json, MethodOptions, QuestionOptions
from distrivote.cli.sampling_options import SamplingOptions, StopWhen
from distrivote.cli.steering_options import OnlineOptions
from distrivote.cli.words import worded
from distrivote.defaults import BUDGET
from distrivote.errors import ENDS_SAMPLING, InputError, OwnCodeError

if TYPE_CHECKING:
    from rich.console import Console

    from distrivote.engines.base import SamplingParams
    from distrivote.engines.choice import EngineChoice
    from distrivote.poll import Poll
    from distrivote.problem import Problem
    from distrivote.solution import Solution
    from distrivote.steering import Controller


@grouped
def ask(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="What to ask, or - to read it from standard input.")
    ],
    *,
    model: ModelOptions,
    vote: MethodOptions,
    answer: AnswerOptions,
    belief: BeliefOptions,
    put: QuestionOptions,
    budget: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many trajectories to sample.", rich_help_panel=SamplingOptions.panel
        ),
    ] = BUDGET,
    stop_when: StopWhen = None,
    sampling: SamplingOptions,
    steering: OnlineOptions,
    costs: CostOptions,
    show: Annotated[
        bool,
        typer.Option("--show", help="Also print the best trajectory, step by step.", rich_help_panel=OUTPUT),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="End with exit code 1 if no reply has an answer.", rich_help_panel=OUTPUT
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask a language model the same question N times and vote.

    Without --base-url or --engine a model runs in this process. The built-in one is small and often
    wrong: it is for trying things out. Ctrl-C stops the sampling and votes on what is finished. In
    a pipe only the answer is printed; if there is nothing to vote on, the most confident reply.

    The default, --method auto, is DistriVoting unless votes and confidences together favour another
    answer; --method dis-gmm is the paper's own. An answer below --min-probability is withheld, with exit
    code 3.
    """
    from distrivote.poll import Poll, check_budget

    check_budget(budget)
    method, measure = vote.pipeline(), vote.measure()
    calibration = belief.read()
    controller = steering.chosen()
    choice = model.choice()
    params = sampling.params(choice)
    problem = _problem(question, put.template_or(choice.default_template), put.system)
    poll = Poll(
        problem,
        budget=budget,
        method=method,
        steering=controller,
        stop_when=stop_when,
        answer=answer.kind(),
        run_code=answer.run_code,
        inputs=asked_inputs(answer.inputs),
        same=answer.same,
        measure=measure,
        k=params.k,
        calibration=calibration,
        min_probability=belief.min_probability,
        max_error=belief.max_error,
        eager=True,
    )
    affordable(costs.max_cost, costs.price)
    asked = _solve(poll, choice, params, costs, quiet=as_json)
    solution = asked.solution
    reason = solution.withheld
    if as_json:
        _print_json(asked, poll.steering)
    elif not sys.stdout.isatty():
        print(_printed(solution, strict))
    else:
        _print(asked, poll.steering, show)
    if solution.answer is None:
        say(f"distrivote: no trajectory gave an answer{_why_none(solution)}")
        if strict:
            raise typer.Exit(1)
    if asked.unvoted:
        raise typer.Exit(OwnCodeError.exit_code)
    if reason is not None:
        say(f"distrivote: withheld: {reason}")
        raise typer.Exit(WITHHELD)


def _printed(solution: Solution, strict: bool) -> str:
    """Return what a pipe gets: the answer, or else the most confident reply unless that is an error."""
    if solution.withheld is not None or (solution.answer is None and strict):
        return ""
    return solution.reply if solution.answer is None else str(solution.answer)


class _Asked(NamedTuple):
    """The result."""

    solution: Solution
    model: str
    headline: tuple[str, ...]
    seconds: float
    """How long the sampling took."""

    stopped: bool
    """Whether the user interrupted it."""

    unvoted: bool
    """Whether the user's own code failed in the vote, so that the majority decided."""


def _problem(question: str, template: str, system: str | None) -> Problem:
    from distrivote.problem import LONGEST, Problem

    if question == "-":
        question = sys.stdin.read(LONGEST + 1)
        if len(question) <= LONGEST:  # else whatever is left of it would be too long
            question = question.strip()
    if not question.strip():
        raise InputError("the question is empty: ask something")
    return Problem(question, template=template, system=system)


def _solve(
    poll: Poll, choice: EngineChoice, params: SamplingParams, costs: CostOptions, quiet: bool
) -> _Asked:
    from distrivote.answers.mathverify import shared_verifier
    from distrivote.cli.ask_display import AskDisplay
    from distrivote.engines.abilities import carried_out
    from distrivote.engines.choice import open_engine
    from distrivote.flow import sample_into, solution_of
    from distrivote.nouns import count
    from distrivote.voting.caveats import unmeasured_note

    console = open_console(sys.stderr)
    tell = (lambda text: console.print(text, style="dim")) if console.is_terminal and not quiet else _silent
    engine = costs.limited(open_engine(choice, say=tell, note=note))
    poll.steering = carried_out(engine, poll.steering)
    headline = _headline(_without_folder(engine.model), poll)
    if console.is_terminal and not quiet:
        say_facts(headline)
    if (most := costs.most(choice, poll.budget, params.max_tokens)) is not None:
        say(most)
    n, stopped, failure, unvoted = 0, False, None, False
    with AskDisplay(poll) as display:
        try:
            with closing(sample_into(poll, engine, params, watch=display.watch)) as samples:
                for n, trajectory in enumerate(samples, 1):  # noqa: B007
                    answer = poll.reading(trajectory.index).answer
                    display.add(answer)
                    if answer is not None and poll.same.needs_worker(answer):
                        shared_verifier().start()  # imported while the model samples
        except KeyboardInterrupt:
            stopped = True
        except ENDS_SAMPLING as error:
            failure = error
    try:
        if stopped and not n:
            raise KeyboardInterrupt
        solution = poll.finish(failure)  # this may ask the model to judge
    except OwnCodeError as error:
        if len(error.trajectories) < 2:
            raise
        say(f"distrivote: error: {worded(error)}")
        say("voting without your code, by majority")
        failure, unvoted = None, True
        solution = solution_of(
            poll.problem, error.trajectories, method="sc", steering=poll.steering, n_asked=poll.budget
        )
    finally:
        engine.close()
    if failure is not None:
        note(failure)
    n = len(solution.trajectories)
    if solution.is_settled:
        say(f"settled after {n} of {count(poll.budget, 'trajectory')}")
    elif n < poll.budget:
        say(f"voting on what is finished: {n} of {count(poll.budget, 'trajectory')}")
    tally = solution.tally
    if not sys.stdout.isatty():
        # On a terminal the notes of the vote are shown with it.
        note(*poll.same.remarks().notes)
        if tally.n_unmeasured:
            note(unmeasured_note(tally.n_unmeasured, tally.n_cast, tally.method))
    return _Asked(solution, engine.model, headline, display.seconds, stopped, unvoted)


def _silent(_text: str) -> None:
    pass


def _without_folder(model: str) -> str:
    """Return the name of a model's file without its folder; llama.cpp's server gives a whole path.

    >>> _without_folder("/home/me/models/small.gguf"), _without_folder("HuggingFaceTB/SmolLM2-135M")
    ('small.gguf', 'HuggingFaceTB/SmolLM2-135M')
    """
    from pathlib import PureWindowsPath  # handles both kinds of slashes

    is_path = model.startswith(("/", ".", "~")) or model.endswith(".gguf")
    return PureWindowsPath(model).name if is_path else model


def _headline(model: str, poll: Poll) -> tuple[str, ...]:
    """Return what is asked and how, before anything is sampled."""
    from distrivote.nouns import count

    method = poll.method.name
    distri = f"DistriVoting ({method})" if method.startswith("dis-") else method
    steering = "SelfStepConf off" if poll.steering is None else poll.steering.headline
    return model, count(poll.budget, "trajectory"), distri, _put(poll), steering


def _put(poll: Poll) -> str:
    """Describe what is asked for: the kind of answer, and the template if it adds anything."""
    from distrivote.prompts import TEMPLATES

    name = poll.problem.template
    how = {"worked": "worked examples", "worked-choice": "worked examples"}
    kind = "any answer" if poll.is_kind_open else poll.kind.name
    if name in (kind, "plain"):
        return kind
    return f"{kind}, {how.get(name, f'template {name}' if name in TEMPLATES else 'own template')}"


def _did(steering: Controller | None, solution: Solution) -> str:
    """Print what the controller did, even if that is nothing."""
    return "off" if steering is None else steering.told(solution.trajectories)


def _print(asked: _Asked, steering: Controller | None, show: bool) -> None:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from distrivote.nouns import count
    from distrivote.report.terminal.columns import indented
    from distrivote.report.terminal.explanation import explanation
    from distrivote.report.terminal.fields import field_lines
    from distrivote.report.terminal.trajectory import trajectory_text

    console = open_console(sys.stdout)
    solution, seconds = asked.solution, asked.seconds
    # On a terminal this line was already printed above the progress.
    title = "" if sys.stderr.isatty() else " · ".join(asked.headline)
    if title:
        console.print()
    if solution.kind.is_long or solution.answer is None:
        _print_reply(console, solution)
    if solution.composed is not None and solution.withheld is None:
        console.print(Group(Text(), *field_lines(solution.composed.fields, console.width)))
    if solution.tally.votes:
        console.print(explanation(title, solution.tally, console.width, kind=solution.kind))
    elif title:
        console.print(indented(title, console.width, "dim"))
    rate = solution.n_tokens / seconds if seconds > 0 else 0.0
    facts = (
        f"{'SelfStepConf' if steering is None else steering.name}: {_did(steering, solution)}",
        f"{count(len(solution.trajectories), 'trajectory')}, {count(solution.n_tokens, 'token')},"
        f" {seconds:.1f} s ({rate:,.0f} tok/s)",
    )
    console.print()
    for fact in facts:
        console.print(Padding(fact, (0, 0, 0, 2)), style="dim")
    if show and solution.best is not None:
        console.print(f"\n  the best trajectory, number {solution.best.index}", style="bold")
        console.print(trajectory_text(solution.best))
    elif solution.best is not None:
        console.print("  --show reads the best one · --json for programs", style="dim")


def _print_reply(console: Console, solution: Solution) -> None:
    """Print the reply itself if the answer is not a single line."""
    from rich.padding import Padding
    from rich.text import Text

    from distrivote.report.text import visible_lines

    if solution.withheld is not None:
        return
    is_whole = solution.answer is not None
    shown = _laid_out(solution) if is_whole else solution.reply
    console.print()
    console.print(Padding(Text(visible_lines(shown)), (0, 0, 0, 2)))
    if not is_whole:
        console.print("  nothing to vote on: this is the most confident reply", style="dim")


def _laid_out(solution: Solution) -> str:
    """Return a long answer in readable form: merged JSON is indented."""
    import json

    if solution.composed is not None:
        return json.dumps(solution.composed.value, ensure_ascii=False, indent=2)
    return str(solution.answer)


def _why_none(solution: Solution) -> str:
    """Return what to do about a question without any answer, as far as the trajectories tell."""
    n_cut = sum(trajectory.finish_reason == "length" for trajectory in solution.trajectories)
    if 2 * n_cut > len(solution.trajectories):
        return f": {n_cut} of {len(solution.trajectories)} were cut off, so raise --max-tokens"
    return ": name what an answer is (--answer), or read the replies (--json)"


def _print_json(asked: _Asked, steering: Controller | None) -> None:
    import json

    from distrivote.nouns import count
    from distrivote.report.documents import ask_document, solution_document, trajectory_documents

    solution = asked.solution
    n, budget = len(solution.trajectories), solution.n_asked
    interrupted = f"the sampling was interrupted after {n} of {count(budget, 'trajectory')}"
    document = solution_document(
        solution,
        asked.seconds,
        stopped=interrupted if asked.stopped else None,
        trajectories=trajectory_documents(solution, steering),
    )
    whole = ask_document(document, solution.problem, asked.model, _did(steering, solution))
    print(json.dumps(whole, ensure_ascii=False, indent=2))
