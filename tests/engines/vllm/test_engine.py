"""vLLM in this process with a tiny model: the common suite, and what is its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distrivote import solve
from distrivote.confidence import token_confidence
from distrivote.engines.base import Job, Progress, SamplingParams
from distrivote.engines.vllm.engine import VllmEngine
from distrivote.errors import EngineError, InputError, MissingPackageError
from distrivote.problem import Message
from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter, WindowSplitter
from distrivote.steering import (
    ENDED,
    BudgetForcing,
    DeepConfOnline,
    DistriVotingOnline,
    End,
    SelfStepConf,
    replay,
)
from distrivote.steering.course import Course, Line
from distrivote.trajectory import Interventions, Trajectory
from engines.contract import EngineContract
from engines.tiny_model import tiny_model
from engines.vllm_environment import IN_PROCESS

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]

QUESTION = (Message("user", "What is 2 + 2?"),)
LONG = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=120, seed=1)
UNSAID = "Zebra? Yes!"
"""What the model never says by itself."""

OPTIONS: dict[str, Any] = {"dtype": "float32", "enforce_eager": True, "max_num_seqs": 16}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    os.environ.update(IN_PROCESS)
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[VllmEngine]:
    engine = VllmEngine(str(folder), options={**OPTIONS, "max_model_len": 1024})
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def crowded(folder: Path) -> Iterator[VllmEngine]:
    """Has room for few trajectories."""
    engine = VllmEngine(
        str(folder),
        options={
            **OPTIONS, "max_model_len": 160, "block_size": 32, "num_gpu_blocks_override": 9,
        },
    )  # fmt: skip
    yield engine
    engine.close()


class TestContract(EngineContract):
    question = QUESTION
    any_delimiter = False
    can_guard = False
    ending = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=200, seed=1)
    close_to = 1e-3


def n_reflections(controller: SelfStepConf, trajectory: Trajectory) -> int:
    """Return how many there are: in the text exactly those of the record, and these where it dropped."""
    record = trajectory.interventions
    assert record is not None
    spelled = ["".join(trajectory.tokens[at.start :][: at.n_tokens]) for at in record.insertions]
    whole = [text for text in spelled if text == controller.reflection]
    assert len(whole) >= len(spelled) - 1
    assert all(controller.reflection.startswith(text) for text in spelled)
    assert trajectory.text.count(controller.reflection) == len(whole)
    confidences = token_confidence(trajectory.top_logprobs).values.tolist()
    if not controller.uses_entropy:
        assert replay(controller, trajectory.tokens, confidences) == record
    return len(whole)


@pytest.mark.parametrize(
    "split",
    [
        DelimiterSplitter(), DelimiterSplitter("\n"), DelimiterSplitter(exact_token=True), WindowSplitter(5),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_reflections_stand_where_the_record_says(
    engine: VllmEngine, split: Splitter, temperature: float
) -> None:
    controller = SelfStepConf(delta=10.0, reflection=UNSAID, split=split)
    params = replace(LONG, temperature=temperature)
    found = list(engine.sample(QUESTION, 8, params, controller))
    assert sum(n_reflections(controller, trajectory) for trajectory in found) >= 3 * (temperature > 0)


def test_high_entropy_ends_steps(engine: VllmEngine) -> None:
    controller = SelfStepConf(delta=10.0, reflection=UNSAID, split=EntropySplitter(0.5))
    found = list(engine.sample(QUESTION, 8, replace(LONG, temperature=0.4, max_tokens=700), controller))
    assert any(trajectory.n_tokens > 420 for trajectory in found)
    for trajectory in found:
        n_reflections(controller, trajectory)
        assert trajectory.interventions is not None
        assert trajectory.interventions.step_ends[0] in (200, 201, 202, trajectory.n_tokens)


@pytest.fixture(scope="module")
def chunked(folder: Path) -> Iterator[VllmEngine]:
    """Reads prompts in chunks."""
    engine = VllmEngine(
        str(folder),
        options={
            **OPTIONS, "max_model_len": 512, "max_num_batched_tokens": 24, "enable_chunked_prefill": True,
            "enable_prefix_caching": False,
        },
    )  # fmt: skip
    yield engine
    engine.close()


def test_prompts_that_are_read_in_chunks_change_nothing(engine: VllmEngine, chunked: VllmEngine) -> None:
    # Without seeds: see the engine's file.
    greedy = replace(LONG, temperature=0.0)
    jobs = [Job([Message("user", "Tom has 5 apples. " * n)], greedy, [0]) for n in range(1, 9)]
    controller = SelfStepConf(delta=10.0, reflection=UNSAID)
    found = {s.job: s.trajectory for s in chunked.sample_all(jobs, controller)}
    whole = {s.job: s.trajectory for s in engine.sample_all(jobs, controller)}
    assert [found[n].tokens for n in range(8)] == [whole[n].tokens for n in range(8)]
    assert sum(n_reflections(controller, trajectory) for trajectory in found.values()) >= 4


def test_requests_that_are_preempted_keep_their_state(
    crowded: VllmEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm.v1.core.sched.scheduler import Scheduler

    n_preempted = 0
    preempt = Scheduler._preempt_request

    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal n_preempted
        n_preempted += 1
        preempt(self, *args, **kwargs)

    monkeypatch.setattr(Scheduler, "_preempt_request", counted)
    controller = SelfStepConf(delta=10.0, reflection=UNSAID)
    found = list(crowded.sample(QUESTION, 12, LONG, controller))
    assert n_preempted >= 3
    assert sum(n_reflections(controller, trajectory) for trajectory in found) >= 12


def ends_at(rule: DeepConfOnline, trajectory: Trajectory) -> int | None:
    """Return after how many tokens the rule's own stream ends a trajectory, None if it does not."""
    stream = rule.start()
    confidences = token_confidence(trajectory.top_logprobs).values.tolist()
    for number, (text, confidence) in enumerate(zip(trajectory.tokens, confidences, strict=True), 1):
        if isinstance(stream.push(text, confidence), End):
            return number
    return None


@pytest.mark.parametrize("which", ["engine", "crowded"])
def test_deepconf_ends_trajectories_where_its_stream_would(
    which: str, request: pytest.FixtureRequest
) -> None:
    engine: VllmEngine = request.getfixturevalue(which)
    plain = list(engine.sample(QUESTION, 12, LONG))
    groups = [token_confidence(each.top_logprobs).values for each in plain]
    lowest = [min(np.convolve(group, np.ones(8) / 8, "valid"), default=np.nan) for group in groups]
    rule = DeepConfOnline(window=8, threshold=float(np.nanmedian(lowest)))
    found = list(engine.sample(QUESTION, 12, LONG, rule))
    ended = [each for each in found if each.finish_reason == ENDED]
    assert 0 < len(ended) < len(found)
    assert all(ends_at(rule, each) == each.n_tokens for each in ended)
    assert all(ends_at(rule, each) is None for each in found if each.finish_reason != ENDED)


def line_through(rule: DistriVotingOnline, plain: Sequence[Trajectory]) -> DistriVotingOnline:
    """Return the rule with a line that some of these trajectories fall below at their first steps."""
    courses = [Course.of(each.interventions) for each in plain if each.interventions is not None]
    first = [float(course.scores(np.array([course.tokens[1]]))[0]) for course in courses]
    return replace(rule, floor=Line((1.0, 500.0), (float(np.median(first)),) * 2))


@pytest.mark.parametrize("which", ["engine", "crowded"])
@pytest.mark.parametrize("delta", [0.0, 0.9])
def test_online_distrivoting_ends_trajectories_where_its_stream_would(
    which: str, delta: float, request: pytest.FixtureRequest
) -> None:
    engine: VllmEngine = request.getfixturevalue(which)
    rule = DistriVotingOnline(steps=SelfStepConf(delta=delta, split=WindowSplitter(30)))
    plain = list(engine.sample(QUESTION, 12, LONG, rule))
    assert all(each.finish_reason != ENDED for each in plain)
    rule = line_through(rule, plain)
    found = list(engine.sample(QUESTION, 12, LONG, rule))
    ended = [each for each in found if each.finish_reason == ENDED]
    assert 0 < len(ended) < len(found)
    for each in found:
        assert each.interventions is not None
        confidences = token_confidence(each.top_logprobs).values
        at = rule.ended_at(judged_steps(each), confidences)
        # A step that reflects does not end it, and its next one has injected tokens.
        if not each.interventions.insertions:
            assert at == (each.n_tokens if each.finish_reason == ENDED else None)
    assert sum(each.n_tokens for each in found) < sum(each.n_tokens for each in plain)


def judged_steps(trajectory: Trajectory) -> Interventions:
    """Return the steps with one more at the end: of a finished trajectory the last one is not judged."""
    record = trajectory.interventions
    assert record is not None
    if trajectory.finish_reason != ENDED:
        return record
    ends, values = record.step_ends, record.step_confidences
    return Interventions((), (*ends, ends[-1] + 1), (*values, values[-1]), unfinished=True)


def test_online_distrivoting_from_a_warm_up_to_a_vote(engine: VllmEngine) -> None:
    rule = DistriVotingOnline(
        n_warmup=8, strictness=3.0, steps=SelfStepConf(delta=0.0, split=WindowSplitter(10))
    )
    solution = solve(
        engine,
        "What is 2 + 2?",
        budget=24,
        method="sc",
        steering=rule,
        params=SamplingParams(max_tokens=120, temperature=1.0, seed=1),
    )
    found = solution.trajectories
    assert len(found) == 24
    assert all(each.finish_reason != ENDED for each in found if each.index < 8)
    ended = [each for each in found if each.finish_reason == ENDED]
    assert len(ended) > 0
    assert np.mean([each.n_tokens for each in ended]) < np.mean([e.n_tokens for e in found if e.index < 8])


def test_a_window_of_requests_samples_every_trajectory_once(engine: VllmEngine) -> None:
    jobs = [Job(QUESTION, replace(LONG, max_tokens=3), range(40)), Job(QUESTION, LONG, range(2))]
    seen: list[Progress] = []
    found = list(engine.sample_all(jobs, watch=seen.append))
    assert sorted((s.job, s.trajectory.index) for s in found) == [(0, i) for i in range(40)] + [
        (1, 0),
        (1, 1),
    ]
    assert max(progress.n_live for progress in seen) <= engine._n_window < 42


def test_jobs_with_several_settings_share_a_batch(engine: VllmEngine) -> None:
    jobs = [
        Job(QUESTION, replace(LONG, n_logprobs=5), range(4)),
        Job([Message("user", "Count.")], replace(LONG, max_tokens=40), range(4)),
    ]
    controller = SelfStepConf(delta=10.0, reflection=UNSAID)
    found = list(engine.sample_all(jobs, controller))
    assert sorted((s.job, s.trajectory.index) for s in found) == [(j, i) for j in (0, 1) for i in range(4)]
    assert sum(n_reflections(controller, sampled.trajectory) for sampled in found) >= 4
    assert {sampled.trajectory.top_logprobs.shape[1] for sampled in found if sampled.job == 0} == {5}


def test_a_closed_call_leaves_nothing_behind(engine: VllmEngine) -> None:
    seen: list[Progress] = []
    with closing(engine.sample(QUESTION, 8, LONG, watch=seen.append)) as samples:
        next(samples)
    assert not engine._engine.has_unfinished_requests()
    assert len(list(engine.sample(QUESTION, 2, LONG))) == 2


def test_the_thinking_switch_reaches_the_template(engine: VllmEngine) -> None:
    plain, off = engine._prompt(QUESTION, None), engine._prompt(QUESTION, False)
    assert off[: len(plain)] == plain
    assert "".join(engine._table.spelled(off[len(plain) :])) == "<think>\n\n</think>\n\n"


def test_a_trajectory_may_have_no_tokens(engine: VllmEngine) -> None:
    hot = replace(LONG, temperature=2.0, max_tokens=1)
    found = list(engine.sample(QUESTION, 300, hot, SelfStepConf()))
    empty = [trajectory for trajectory in found if trajectory.n_tokens == 0]
    assert empty
    assert all(trajectory.finish_reason == "stop" and trajectory.text == "" for trajectory in empty)
    assert all(np.isfinite(trajectory.logprobs).all() for trajectory in found)


def test_without_vllm_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm.engine.arg_utils", None)
    with pytest.raises(MissingPackageError, match=r"pip install '.\[vllm\]'"):
        VllmEngine("nowhere")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_modl_len": 3}, "unknown option of vLLM 'max_modl_len': did you mean max_model_len"),
        ({"model": "x"}, "unknown option of vLLM 'model'"),
        ({"logprobs_mode": "processed_logits"}, "confidences need raw_logprobs"),
    ],
)
def test_bad_options_are_told_before_anything_is_loaded(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        VllmEngine("nowhere", options=options)


def test_a_model_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"vLLM can't load .*") as caught:
        VllmEngine(str(tmp_path / "nothing"), options=OPTIONS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("params", "controller", "sentence"),
    [
        (
            replace(LONG, n_logprobs=50),
            None,
            "gives 20 at most: use a smaller number, or raise its option max_logprobs",
        ),
        (replace(LONG, temperature=3.0), None, r"temperature must be in \[0, 2\], got 3.0"),
        (LONG, SelfStepConf(guard=True), "ssc_guard is 1"),
        (LONG, BudgetForcing(), "the controller is BudgetForcing"),
        (LONG, SelfStepConf(split=DelimiterSplitter("--")), "can't be sent to a vLLM server"),
    ],
)
def test_what_cannot_be_done_is_refused(
    engine: VllmEngine, params: SamplingParams, controller: Any, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        list(engine.sample(QUESTION, 1, params, controller))
    assert len(list(engine.sample(QUESTION, 1, replace(LONG, max_tokens=2)))) == 1
