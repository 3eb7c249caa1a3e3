"""Epochs that end once their vote is settled: real evaluations of Inspect AI on its mock model, real logs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed (make test-integrations)")

from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

from distrivote.errors import InputError, UnknownNameError
from distrivote.integrations.inspect_ai import distrivote, with_confidence
from distrivote.integrations.inspect_stopping import StopWhenSettled

pytestmark = [
    pytest.mark.integrations,
    # Inspect's own: it leaves streams and loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

N_EPOCHS = 16


def run(stopping: StopWhenSettled | None, folder: Path, answers: dict[str, str]) -> EvalLog:
    """Evaluate a sample for each question; the letters of `answers` are its epochs' answers."""
    asked = {name: iter(given) for name, given in answers.items()}

    def says(messages: list, *_: object) -> ModelOutput:
        made = ModelOutput.from_content("mockllm/model", f"ANSWER: {next(asked[messages[-1].text])}")
        made.usage = ModelUsage()  # else Inspect counts tokens with a tokenizer from the network
        return made

    task = Task(
        [Sample(id=name, input=name, target="7") for name in answers],
        scorer=with_confidence(match(numeric=True)),
        epochs=Epochs(N_EPOCHS, distrivote("sc")),
        early_stopping=stopping,
    )
    model = get_model("mockllm/model", custom_outputs=says)
    (made,) = eval(task, model=model, log_dir=str(folder), display="none", max_samples=1)
    assert made.status == "success", made.error
    return read_eval_log(made.location)


def test_a_settled_sample_stops_and_a_split_one_goes_on(tmp_path: Path) -> None:
    answers = {"easy": "7" * N_EPOCHS, "hard": "78" * (N_EPOCHS // 2)}
    found = run(StopWhenSettled("esc:5", method="sc"), tmp_path, answers)
    assert found.samples is not None
    assert found.results is not None
    epochs = {name: [s.epoch for s in found.samples if s.id == name] for name in answers}
    assert sorted(epochs["easy"]) == [1, 2, 3, 4, 5]
    assert sorted(epochs["hard"]) == list(range(1, N_EPOCHS + 1))
    stopped = found.results.early_stopping
    assert stopped is not None
    assert stopped.manager == "distrivote esc:5"
    assert {(stop.id, stop.epoch) for stop in stopped.early_stops} == {("easy", n) for n in range(6, 17)}
    assert stopped.early_stops[0].reason == "the vote was settled after 5 of 16 epochs (esc:5)"
    assert found.reductions is not None
    reduced = {each.sample_id: each.answer for each in found.reductions[0].samples}
    assert reduced == {"easy": "7", "hard": "7"}


def test_the_log_has_the_vote_of_every_sample_where_the_viewer_shows_it(tmp_path: Path) -> None:
    answers = {"easy": "7" * N_EPOCHS, "hard": "8787" * (N_EPOCHS // 4)}
    found = run(StopWhenSettled("esc:5", method="sc"), tmp_path, answers)
    assert found.results is not None
    assert found.results.early_stopping is not None
    votes = found.results.early_stopping.metadata["votes"]
    assert votes["easy"]["answer"] == "7"
    assert (votes["easy"]["n_epochs"], votes["easy"]["settled_after"]) == (5, 5)
    assert (votes["hard"]["answer"], votes["hard"]["settled_after"]) == ("8", None)
    assert found.reductions is not None
    said = {each.sample_id: each.explanation for each in found.reductions[0].samples}
    assert {name: vote["explanation"] for name, vote in votes.items()} == said


async def completed(stopping: StopWhenSettled, epochs: list[int]) -> bool:
    from inspect_ai.scorer import SampleScore, Score

    await stopping.start_task(None, [], N_EPOCHS)
    for epoch in epochs:
        score = SampleScore(score=Score(value=1, answer="7"), sample_id="a")
        await stopping.complete_sample("a", epoch, {"match": score})
    return await stopping.schedule_sample("a", 9) is not None


@pytest.mark.parametrize(("epochs", "stops"), [([1, 2, 3, 4, 5], True), ([5, 4, 3, 2, 1], True)])
def test_the_order_in_which_epochs_finish_does_not_matter(epochs: list[int], stops: bool) -> None:
    import asyncio

    assert asyncio.run(completed(StopWhenSettled("esc:5"), epochs)) is stops


def test_epochs_after_a_missing_one_are_not_looked_at() -> None:
    import asyncio

    assert not asyncio.run(completed(StopWhenSettled("esc:5"), [1, 3, 4, 5, 6, 7]))


def test_bad_settings_fail_at_once() -> None:
    import asyncio

    with pytest.raises(UnknownNameError, match="gaim"):
        StopWhenSettled("gaim")
    with pytest.raises(InputError, match="no scorer 'other' among match"):
        asyncio.run(completed(StopWhenSettled(scorer="other"), [1]))
