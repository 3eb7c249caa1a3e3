"""Voting inside Inspect AI: real evaluations on its mock model, real logs, its real command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from math import isnan, log, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed (make test-integrations)")

from inspect_ai import Epochs, Task, eval
from inspect_ai import score as rescore
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, choice, includes, match, mean, scorer
from inspect_ai.solver import multiple_choice

import distrivote as library
from distrivote.errors import InputError, UnknownNameError
from distrivote.integrations.inspect_ai import distrivote, majority_answer, with_confidence

pytestmark = [
    pytest.mark.integrations,
    # Inspect's own: it leaves streams and loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SURE, UNSURE = 0.99, 0.5
# Five unsure epochs say 41, three sure ones say 42.
EPOCHS = [("41", 0.5), ("42", 0.99), ("41", 0.52), ("42", 0.98), ("41", 0.48), ("42", 0.985)]
EPOCHS += [("41", 0.55), ("41", 0.45)]
WITH_LOGPROBS = GenerateConfig(logprobs=True, top_logprobs=20)


def reply(text: str, probability: float | None, k: int = 20, thinking: str = "") -> ModelOutput:
    """Return what a model says, every token with the same distribution."""
    entries = []
    for token in re.findall(r"\s*\S+|\s+$", text) if probability is not None else []:
        rest = (1 - probability) / (k - 1)
        top = [
            TopLogprob(token=token if i == 0 else f"{i}", logprob=log(p))
            for i, p in enumerate([probability, *[rest] * (k - 1)])
        ]
        entries.append(Logprob(token=token, logprob=log(probability), top_logprobs=top))
    content: Any = [ContentReasoning(reasoning=thinking), ContentText(text=text)] if thinking else text
    return ModelOutput(
        model="mockllm/model",
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(content=content),
                stop_reason="stop",
                logprobs=Logprobs(content=entries) if entries else None,
            )
        ],
        usage=ModelUsage(),  # else Inspect counts tokens with a tokenizer from the network
    )


def run(task: Task, outputs: Iterable[ModelOutput], folder: Path, log_format: Any = "eval") -> EvalLog:
    """Evaluate, and return the log as it is on disk."""
    model = get_model("mockllm/model", custom_outputs=list(outputs))
    (made,) = eval(
        task, model=model, log_dir=str(folder), log_format=log_format, display="none", max_connections=1
    )
    assert made.status == "success", made.error
    return read_eval_log(made.location)


def sums(how: Scorer, reducers: Any, n_epochs: int = len(EPOCHS)) -> Task:
    sample = Sample(id="six", input="What is 6 * 7?", target="42")
    return Task([sample], scorer=how, epochs=Epochs(n_epochs, reducers), config=WITH_LOGPROBS)


@pytest.mark.parametrize("log_format", ["json", "eval"])
def test_sure_epochs_win_over_a_wrong_majority(tmp_path: Path, log_format: str) -> None:
    outputs = [reply(f"Let me see.\n\nThe answer is {answer}.", p) for answer, p in EPOCHS]
    task = sums(with_confidence(match(numeric=True)), [distrivote(), majority_answer()])
    found = run(task, outputs, tmp_path, log_format)
    assert found.eval.config.epochs_reducer == ["distrivote/distrivote", "distrivote/majority_answer"]
    assert found.reductions is not None
    ours, majority = (reduction.samples[0] for reduction in found.reductions)
    assert (ours.sample_id, ours.value, ours.answer) == ("six", "C", "42")
    assert ours.explanation is not None
    assert ours.explanation.startswith("42 wins with 100% of the score (auto); majority voting would have")
    assert ours.metadata is not None
    assert {name: ours.metadata[name] for name in ("majority", "majority_value", "rejected", "n_cast")} == {
        "majority": "41",
        "majority_value": "I",
        "rejected": "41",
        "n_cast": 8,
    }
    assert (majority.value, majority.answer) == ("I", "41")
    assert found.results is not None
    assert [score.metrics["accuracy"].value for score in found.results.scores] == [1.0, 0.0]


def test_the_confidences_in_the_log_are_the_librarys_own(tmp_path: Path) -> None:
    outputs = [reply(f"Let me see.\n\nThe answer is {answer}.", p) for answer, p in EPOCHS]
    found = run(sums(with_confidence(match(numeric=True)), distrivote()), outputs, tmp_path)
    assert found.samples is not None
    samples = sorted(found.samples, key=lambda sample: sample.epoch)
    scores = [sample.scores["with_confidence"] for sample in samples if sample.scores]
    choices = [
        {"message": {"content": each.message.text}, "logprobs": each.logprobs}
        for sample in samples
        for each in sample.output.choices
    ]
    expected = library.from_openai({"choices": choices})
    kept = [score.metadata["confidence"] for score in scores if score.metadata]
    assert kept == expected.confidences.tolist()
    assert [score.answer for score in scores] == [answer for answer, _ in EPOCHS]
    assert found.reductions is not None
    assert found.reductions[0].samples[0].answer == library.vote(expected).answer


def test_without_log_probabilities_the_majority_decides_and_it_is_said(tmp_path: Path) -> None:
    outputs = [reply(f"The answer is {answer}.", None) for answer, _ in EPOCHS]
    found = run(sums(with_confidence(match(numeric=True)), distrivote()), outputs, tmp_path)
    assert found.reductions is not None
    (reduced,) = found.reductions[0].samples
    assert (reduced.value, reduced.answer) == ("I", "41")
    assert "No answer has a confidence, so majority voting decides, not auto." in str(reduced.explanation)
    assert found.samples is not None
    scored = (found.samples[0].scores or {})["with_confidence"]
    assert scored.metadata is not None
    assert scored.metadata["confidence"] is None
    assert "no usable log-probabilities" in scored.metadata["confidence_notes"][0]


def test_choices_are_voted_on_and_epochs_without_one_are_counted(tmp_path: Path) -> None:
    said = [("ANSWER: B", 0.5), ("ANSWER: B", 0.52), ("ANSWER: A", 0.99), ("no idea", 0.5)]
    said += [("ANSWER: A", 0.98), ("ANSWER: B", 0.55)]
    sample = Sample(id="capital", input="Capital of France?", choices=["Paris", "Rome"], target="A")
    epochs, how = Epochs(6, distrivote()), with_confidence(choice())
    task = Task([sample], solver=multiple_choice(), scorer=how, epochs=epochs, config=WITH_LOGPROBS)
    found = run(task, [reply(text, p) for text, p in said], tmp_path)
    assert found.reductions is not None
    (reduced,) = found.reductions[0].samples
    assert (reduced.value, reduced.answer) == ("C", "A")
    assert reduced.metadata is not None
    assert (reduced.metadata["n_unanswered"], reduced.metadata["majority"]) == (1, "B")


def test_where_the_scorers_answer_is_the_whole_reply_the_extracted_one_votes(tmp_path: Path) -> None:
    texts = ["I think the answer is 42.", "So the answer is 42.", "My answer is 41."]
    texts += ["Nobody could ever know for sure what that might be."]
    found = run(sums(with_confidence(includes()), distrivote(), 4), [reply(t, 0.9) for t in texts], tmp_path)
    assert found.samples is not None
    answers = [(sample.scores or {})["with_confidence"].answer for sample in sorted(found.samples, key=epoch)]
    assert answers == ["42", "42", "41", None]
    assert found.reductions is not None
    assert (found.reductions[0].samples[0].value, found.reductions[0].samples[0].answer) == ("C", "42")


def test_a_log_with_log_probabilities_is_voted_on_afterwards(tmp_path: Path) -> None:
    outputs = [reply(f"The answer is {answer}.", p) for answer, p in EPOCHS]
    old = run(sums(match(numeric=True), "mode"), outputs, tmp_path)
    assert old.results is not None
    assert old.results.scores[0].metrics["accuracy"].value == 0.0
    new = rescore(old, with_confidence(match(numeric=True)), epochs_reducer=distrivote(), action="overwrite")
    assert new.results is not None
    assert new.results.scores[0].metrics["accuracy"].value == 1.0


def epoch(sample: Any) -> int:
    return int(sample.epoch)


def test_thinking_beside_the_reply_does_no_harm(tmp_path: Path) -> None:
    outputs = [reply("The answer is 42.", 0.9, thinking="Six sevens.") for _ in range(2)]
    found = run(sums(with_confidence(match(numeric=True)), distrivote(), 2), outputs, tmp_path)
    assert found.reductions is not None
    assert found.reductions[0].samples[0].answer == "42"
    assert found.samples is not None
    metadata = (found.samples[0].scores or {})["with_confidence"].metadata
    assert metadata is not None
    assert metadata["confidence"] > 0


def test_a_reply_whose_tokens_are_not_its_text_does_not_end_the_evaluation(tmp_path: Path) -> None:
    odd = reply("The answer is 42.", 0.9)
    odd.choices[0].message.content = "The answer is 41, I mean 42."
    task = sums(with_confidence(match(numeric=True)), distrivote(), 2)
    found = run(task, [odd, reply("The answer is 42.", 0.9)], tmp_path)
    assert found.reductions is not None
    (reduced,) = found.reductions[0].samples
    assert reduced.answer == "42"
    assert "1 of 2 answers has no confidence: it counts in the majority only." in str(reduced.explanation)


@scorer(metrics=[mean()])
def length() -> Scorer:
    async def score(state: Any, target: Any) -> Score | None:  # noqa: ARG001
        text = state.output.completion
        return (
            None if text == "nothing" else Score(value=float(len(text)), answer=text[-1], metadata={"own": 1})
        )

    return score


def test_a_wrapped_scorer_keeps_its_metrics_its_metadata_and_its_right_to_decline(tmp_path: Path) -> None:
    outputs = [reply("it is 7", 0.9), reply("nothing", 0.9)]
    found = run(sums(with_confidence(length()), distrivote(), 2), outputs, tmp_path)
    assert found.results is not None
    assert list(found.results.scores[0].metrics) == ["mean"]
    assert found.results.scores[0].metrics["mean"].value == 7.0
    assert found.samples is not None
    metadata = [s.scores["with_confidence"].metadata for s in found.samples if s.scores]
    assert [each["own"] for each in metadata if each] == [1]


def test_a_value_that_nobody_could_give_stays_unscored_in_the_log(tmp_path: Path) -> None:
    @scorer(metrics=[mean()])
    def failing() -> Scorer:
        async def score(state: Any, target: Any) -> Score:  # noqa: ARG001
            return Score.unscored(reason="grader_failed", answer="7")

        return score

    outputs = [reply("7", 0.9), reply("7", 0.9)]
    found = run(sums(with_confidence(failing()), distrivote(), 2), outputs, tmp_path, "json")
    assert found.reductions is not None
    (reduced,) = found.reductions[0].samples
    assert isinstance(reduced.value, float)
    assert isnan(reduced.value)
    assert (reduced.answer, reduced.reason) == ("7", "grader_failed")
    assert found.results is not None
    assert found.results.scores[0].unscored_samples == 1


def score(value: Any, answer: str | None, confidence: float | None = None, k: int = 20) -> Score:
    return Score(value=value, answer=answer, metadata={"confidence": confidence, "confidence_k": k})


@pytest.mark.parametrize(
    ("scores", "value", "answer"),
    [
        ([score("I", "B", 5.0), score("C", "A", 5.0)], "I", "B"),  # a tie: the earlier epoch
        ([score("C", "1/2", 5.0), score("I", "0.5", 5.0), score("I", "3", 5.0)], "C", "1/2"),
        ([score(nan, "A", 5.0), score("C", "A", 5.0)], "C", "A"),
        ([score("I", None, 5.0), score("I", " ", 5.0), score("N", "", 5.0)], "I", None),
        ([score({"a": 1, "b": 0}, "A", 5.0), score({"a": 1, "b": 0}, "A", 5.0)], {"a": 1, "b": 0}, "A"),
        ([score([1, 2], "A", 5.0), score([0, 0], None)], [1, 2], "A"),
        ([Score(value=1, answer="A"), Score(value=0, answer="B"), Score(value=1, answer="A")], 1, "A"),
    ],
)
def test_a_list_of_scores_becomes_one(scores: list[Score], value: Any, answer: str | None) -> None:
    reduced = distrivote()(scores)
    assert (reduced.value, reduced.answer) == (value, answer)
    assert Score.model_validate_json(reduced.model_dump_json()) == reduced


def test_no_scores_at_all_are_unscored() -> None:
    reduced = distrivote()([])
    assert isinstance(reduced.value, float)
    assert isnan(reduced.value)


def test_confidences_of_different_depth_are_not_mixed() -> None:
    scores = [score("I", "B", 9.0, k=20), score("C", "A", 2.0, k=5), score("C", "A", 2.0, k=5)]
    reduced = distrivote()(scores)
    assert reduced.answer == "A"
    assert "5 log-probabilities per token and some 20" in str(reduced.explanation)


def test_formulas_are_compared_unless_notation_is_asked_for() -> None:
    scores = [score("I", "7", 5.0), score("C", "(x+1)^2", 5.0), score("C", "x^2+2x+1", 5.0)]
    assert distrivote(method="sc")(scores).value == "C"
    assert distrivote(method="sc", same="notation")(scores).value == "I"


def test_what_is_given_wrong_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="dis-gnm"):
        distrivote(method="dis-gnm")
    with pytest.raises(UnknownNameError, match="bocksed"):
        with_confidence(match(), extract="bocksed")
    with pytest.raises(UnknownNameError, match="maen"):
        with_confidence(match(), measure="maen")
    with pytest.raises(InputError, match="confidence 0 is 0"):
        distrivote("dis-gmm")([score("C", "A", 0.0)])


@given(
    st.lists(
        st.tuples(st.sampled_from(["A", "B", "C", None]), st.sampled_from(["C", "I"]), st.floats(0.5, 30)),
        min_size=1,
        max_size=12,
    )
)
def test_it_elects_as_the_library_does(pool: list[tuple[str | None, str, float]]) -> None:
    reduced = distrivote()([score(value, answer, c) for answer, value, c in pool])
    tally = library.vote([answer for answer, _, _ in pool], [c for _, _, c in pool])
    assert reduced.answer == tally.answer
    assert reduced.value in {value for answer, value, _ in pool if answer == tally.answer}
    assert reduced.metadata is not None
    assert reduced.metadata["share"] == tally.share


TASK_FILE = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

def said(answer):
    output = ModelOutput.from_content("mockllm/model", f"The answer is {answer}.")
    output.usage = ModelUsage()
    return output

@task
def sums():
    model = get_model("mockllm/model", custom_outputs=[said(answer) for answer in (41, 42, 42)])
    return Task([Sample(id="six", input="6 * 7?", target="42")], scorer=match(numeric=True), model=model)
"""


def test_inspects_command_finds_the_reducer_by_name(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(TASK_FILE)
    command = [str(Path(sys.executable).parent / "inspect"), "eval", "sums.py", "--epochs", "3"]
    command += ["--epochs-reducer", "distrivote/distrivote", "--display", "none", "--log-dir", "logs"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    found = read_eval_log(str(path))
    assert found.reductions is not None
    assert found.reductions[0].reducer == "distrivote/distrivote"
    assert (found.reductions[0].samples[0].value, found.reductions[0].samples[0].answer) == ("C", "42")
