"""Options that several commands share, so that they mean and say the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.engines.choice import EngineChoice
    from distrivote.steering import SelfStepConf
    from distrivote.store.tables.source import Columns
    from distrivote.voting.probability import Calibration

WITHHELD = 3
"""The exit code if at least one answer was not probable enough to be given."""

Model = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="A GGUF file, hf:ORG/REPO/FILE or the built-in smollm2-135m; for a server the name of its model,"
        " for vllm and transformers a folder or ORG/NAME.",
        show_default=False,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="embedded, openai (any compatible server), vllm or transformers; openai if there is a"
        " --base-url, else embedded.",
        show_default=False,
    ),
]
BaseUrl = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL", help="Of an OpenAI-compatible server; repeat it for several.", show_default=False
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Of the server; OPENAI_API_KEY if not said.", show_default=False),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An argument of the engine, such as tensor_parallel_size=2, device=cuda or n_parallel=256.",
        show_default=False,
    ),
]
Thinking = Annotated[
    bool | None,
    typer.Option("--thinking/--no-thinking", help="Switch a thinking model's thinking.", show_default=False),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="How to vote: auto is the careful choice, dis-gmm the paper's, sc the majority.",
    ),
]
Ssc = Annotated[bool, typer.Option("--ssc/--no-ssc", help="Reflect where confidence drops.")]
Alpha = Annotated[
    float, typer.Option(metavar="X", help="SelfStepConf: how much of the threshold stays per step.")
]
Delta = Annotated[
    float, typer.Option(metavar="X", help="SelfStepConf: reflect below this share of the threshold.")
]
Reflection = Annotated[str, typer.Option(metavar="TEXT", help="SelfStepConf: the text to inject.")]
Template = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How to put a question: math, choice, plain, worked (two examples; for the built-in model), or"
        " a file that holds {question}.",
        show_default=False,
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        "--system", metavar="TEXT", help="A system message before every question.", show_default=False
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where steps end: paragraph, line, exact, window:N, entropy; paragraph if not said, exact with"
        " --as-published.",
        show_default=False,
    ),
]
Guard = Annotated[
    bool,
    typer.Option("--guard/--no-guard", help="SelfStepConf: reflect once instead of ending unsure."),
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="SelfStepConf as the authors' released code does it (see docs/method.md), to compare with their"
        " numbers; not with servers.",
    ),
]
Temperature = Annotated[float, typer.Option(metavar="X", help="Sampling temperature.")]
TopP = Annotated[float, typer.Option(metavar="X", help="Nucleus of the sampling.")]
TopK = Annotated[int, typer.Option(metavar="N", help="Sample among so many tokens; 0: all.")]
MinP = Annotated[float, typer.Option(metavar="X", help="Leave out tokens below this share of the likeliest.")]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="The longest trajectory; 256 for the built-in model, 1024 for other GGUF files, else 16384.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed, the same trajectories.")]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Sample only the share I of N: every N-th question; other processes sample the others.",
        show_default=False,
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(metavar="N", help="Embedded: trajectories that advance together, 32 if not said."),
]
Parallel = Annotated[
    int | None,
    typer.Option(metavar="N", help="Servers: trajectories under way at most, 64 if not said."),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", help="Embedded: for decoding; all or half of the processors if not said."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Sample on a Ray cluster; without an address one is started on this machine.",
        show_default=False,
    ),
]
Workers = Annotated[int, typer.Option(metavar="N", help="Ray: at most so many engines.")]
WorkerCpus = Annotated[float, typer.Option(metavar="X", help="Ray: processors of each engine.")]
WorkerGpus = Annotated[float, typer.Option(metavar="X", help="Ray: GPUs of each engine.")]
StopWhen = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Stop sampling once the vote is settled: consensus, beta or vote (see docs/stopping.md).",
        show_default=False,
    ),
]
CalibrationFile = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Where probabilities come from: a file of distrivote calibrate; the one that ships if not said.",
        show_default=False,
    ),
]
MinProbability = Annotated[
    float,
    typer.Option(
        metavar="P",
        help="Withhold an answer that is less probable than this (0 to 1); exit code 3 says that one was.",
    ),
]
Signal = Annotated[
    str | None,
    typer.Option(
        "--signal",
        metavar="NAME",
        help="The measure to vote with: answer-step, mean, tail, lowest-group, entropy, logprob,"
        " self-certainty, length, a column, or auto for a mix weighed by what each is worth.",
        show_default=False,
    ),
]
Measured = Annotated[
    str | None,
    typer.Option(
        "--signal",
        metavar="NAME",
        help="The measure to vote with, answer-step if not said: mean, tail, lowest-group, bottom-groups,"
        " logprob, perplexity, entropy, self-certainty or length.",
        show_default=False,
    ),
]
QuestionColumn = Annotated[str, typer.Option(metavar="NAME", help="In a file: the question's id.")]
AnswerColumn = Annotated[str, typer.Option(metavar="NAME", help="In a file: the answer.")]
ConfidenceColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="In a file: the confidence, higher is surer; confidence if not said.",
        show_default=False,
    ),
]
ConfidenceScale = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="logprob: the confidences are mean log-probabilities, and exp of them counts.",
        show_default=False,
    ),
]
TruthColumn = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="In a file: the right answer; ground_truth or correct if not said."),
]
By = Annotated[
    str | None, typer.Option(metavar="NAME", help="In a file: the column that tells models apart.")
]
Same = Annotated[
    str | None,
    typer.Option(
        "--same",
        metavar="NAME",
        help="When two answers are one: text (as written), notation, math (formulas too) or choice (letters);"
        " math if nothing else is said, choice for multiple choice.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def columns_of(
    question: str,
    answer: str,
    confidence: str | None,
    truth: str | None,
    by: str | None,
    scale: str | None,
    positive_for: str | None,
) -> Columns:
    """Return what the options say about the columns of a file."""
    from distrivote.store.columns import CONFIDENCE
    from distrivote.store.tables.source import Columns
    from distrivote.voting.scales import is_logprob

    return Columns(
        question=question,
        answer=answer,
        confidence=confidence or CONFIDENCE,
        by=by,
        truth=truth,
        named=confidence is not None,
        positive_for=positive_for,
        logprob=is_logprob(scale),
    )


def controller_of(
    ssc: bool,
    alpha: float,
    delta: float,
    reflection: str,
    split: str | None,
    guard: bool,
    as_published: bool = False,
) -> SelfStepConf | None:
    """Return the controller that the options describe; None without --ssc."""
    from distrivote.errors import InputError
    from distrivote.splitting import splitter
    from distrivote.steering import SelfStepConf

    if as_published and not ssc:
        raise InputError(
            "--as-published says how SelfStepConf reflects, and SelfStepConf is off: leave it or --no-ssc"
            " and --deepconf out"
        )
    steps = splitter(split or ("exact" if as_published else "paragraph"))
    return SelfStepConf(alpha, delta, reflection, steps, guard, as_published) if ssc else None


def calibration_of(file: str | None, min_probability: float) -> Calibration:
    """Return the calibration that the options name; a probability that is none is refused here too."""
    from distrivote.voting.abstaining import check_min_probability
    from distrivote.voting.probability import Calibration

    check_min_probability(min_probability)
    if file is None:
        return Calibration()
    from distrivote.store.calibrations import read_calibration

    return read_calibration(file)


def engine_of(
    engine: str | None,
    model: str | None,
    base_urls: Sequence[str] | None,
    api_key: str | None,
    options: Sequence[str] | None,
    slots: int | None,
    threads: int | None,
    parallel: int | None,
) -> EngineChoice:
    """Return the engine that the options describe."""
    from distrivote.engines.choice import EngineChoice, parse_options
    from distrivote.errors import InputError

    name = EngineChoice.of(engine, model, base_urls or (), api_key, {}).engine
    own = {
        "n_slots": ("--slots", "embedded", slots),
        "n_threads": ("--threads", "embedded", threads),
        "n_parallel": ("--parallel", "openai", parallel),
    }
    given = parse_options(options or ())
    for argument, (option, needed, value) in own.items():
        if value is not None and name != needed:
            raise InputError(f"{option} is for the {needed} engine, and this is {name}: leave it out")
        if value is not None:
            given[argument] = value
    return EngineChoice.of(engine, model, base_urls or (), api_key, given)


def template_of(given: str) -> str:
    """Return the template that was asked for: its name, or the text of its file."""
    from pathlib import Path

    from distrivote.errors import InputError
    from distrivote.problem import TEMPLATES

    if given in TEMPLATES or not Path(given).is_file():
        return given
    text = Path(given).read_text(errors="replace")
    if "{question}" not in text:
        raise InputError(f"the template {given} has no {{question}} in it: put it where it belongs")
    return text
