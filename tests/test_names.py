"""Names of one's own: what they stand for, and the sentence for each that can't be used."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest

import distrivote
from distrivote import InputError, Problem, SamplingParams, Trajectory, parse_method
from distrivote.answers.equality import NAMED, equality
from distrivote.answers.equivalence import classify
from distrivote.answers.kinds import KINDS, asked_kind, kind_named
from distrivote.benchmarks import load
from distrivote.confidence import MEASURES, measure_named, measure_of
from distrivote.engines import ReplayEngine
from distrivote.engines.choice import EngineChoice, open_engine
from distrivote.errors import OwnCodeError
from distrivote.names import METHOD, ROLES, found, leading, only_loaded, origins
from distrivote.server.settings import Settings
from distrivote.splitting import splitter, step_ends
from distrivote.steering import ENDED, End, SelfStepConf, steering_of
from distrivote.store import Manifest, Run, import_files, sources
from distrivote.voting.stopping import stop_rule
from serving import POOL, serving
from steered_engine import Steered

MODULE = """
from distrivote import Pipeline, Problem, Trajectory
from distrivote.answers.equality import Equality
from distrivote.answers.kinds import Kind
from distrivote.confidence import Measure
from distrivote.engines.base import BaseEngine
from distrivote.steering import Controller, ControllerStream, End
from distrivote.voting.filters import TopFilter
from distrivote.voting.votes import WeightedVote
import numpy as np
THREE = 3
PIPELINE = Pipeline(WeightedVote(), TopFilter(0.25))
FOLDED = Equality("whatever", key=str.lower)
def power(classes, confidences, p=2.0): return np.bincount(classes, weights=confidences**p)
def three(a, b, c): return 0
def text(classes, confidences): return "12"
def long(classes, confidences): return [1.0] * 7
def nans(classes): return [float("nan")] * 2
def lost(*given): return {}["four"]
def lost_rows(path):
    yield dict(question_id="q", answer="4")
    raise LookupError("row 2")
class LostEngine(BaseEngine):
    name = model = "lost"
    def sample_job(self, job, controller, watch):
        yield Trajectory("\\\\boxed{4}", index=job.indices[0])
        raise KeyError("four")
def brevity(trajectory): return 10 / len(trajectory.text)
def negative(trajectory): return -1.0
def nothing(trajectory): return None
def words(trajectory): return "sure"
def sentence(step): return step.endswith(".")
def last(text): return text.split()[-1]
def alike(a, b): return a[0] == b[0]
def first(answer): return answer[0]
def doubt(text, confidences): return "Hm." if confidences[-1] < 5 else End() if len(confidences) > 2 else None
def two(ballot, n_left): return len(ballot.classes) > 1
class Two:
    name = "two"
    def settled(self, ballot, n_left): return len(ballot.classes) > 1
    def reason(self, ballot, n_left): return "two are enough"
class LostStream(ControllerStream):
    def push(self, text, confidence, entropy=0.0): return lost()
class LostPush(Controller):
    def start(self): return LostStream()
class LostStart:
    def start(self): return lost()
class LostName(LostPush):
    @property
    def name(self): return lost()
class LostRule:
    name = "lost rule"
    def settled(self, ballot, n_left): return lost()
class Stuck(ControllerStream):
    def push(self, text, confidence, entropy=0.0): return "Hm."
class Texts:
    def start(self): return Stuck()
class Fours:
    def start(self): return 4
class Once:
    def push(self, text, confidence, entropy=0.0): return End()
class Bare:
    def start(self): return Once()
LOST_KEY = Equality("lost key", key=lost)
LOST_SORT = Equality("lost sort", sort=lost)
LOST_KIND = Kind("lost kind", lost, FOLDED, "lost")
LOST_MEASURE = Measure("lost measure", lost, lost)
def reply(messages, seed): return f"{messages[-1]['content']} \\\\boxed{{{seed % 2}}}"
def bad_reply(messages): return 4
def pairs(): return [("1 + 1?", 2), Problem("1 + 2?", id="b", answer="3")]
def singles(): return ["1 + 1?"]
def rows(path):
    yield dict(question_id="q", answer="4", confidence=2)
    yield dict(question_id="q", text="\\\\boxed{5}")
def odd_rows(path): return [dict(question="q")]
def typo_rows(path): return [dict(question_id="q", answr="4")]
"""


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("own")
    (path / "brought.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        assert found(METHOD, "brought:power") is not None  # the module stays loaded for all tests


DOORS: dict[str, Callable[[str], object]] = {
    "method": parse_method,
    "measure": measure_named,
    "split": splitter,
    "answer": kind_named,
    "same": equality,
    "steering": steering_of,
    "stop_when": stop_rule,
    "engine": lambda name: open_engine(EngineChoice(name)),
    "benchmark": load,
    "format": lambda name: sources([__file__], name),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:x", "there is no module 'no_such_module'"),
        ("no_such.module:x", "there is no module 'no_such'"),
        ("string:nothing_like_it", "string has no 'nothing_like_it'"),
        ("brought:THREE", "'brought:THREE' is 3: give a "),
        ("brought:three", r"'brought:three' takes \(a, b, c\)"),
    ],
)
def test_what_can_not_be_used_is_one_sentence(door: str, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        DOORS[door](name)
    assert caught.value.argument == door
    assert "\n" not in str(caught.value)


def test_a_module_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0")
    (tmp_path / "needy_module.py").write_text("import no_such_package_at_all")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=r"importing broken_module failed, ZeroDivisionError: .*broken_module.py:1\)"
    ):
        parse_method("broken_module:vote")
    with pytest.raises(InputError, match="needs no_such_package_at_all, which is not installed"):
        parse_method("needy_module:vote")
    with pytest.raises(InputError, match="write brought:power"):
        parse_method("brought.py:power")


def test_a_typo_in_a_name_of_the_library_is_no_module() -> None:
    with pytest.raises(InputError, match="unknown kind of answer 'lable:yes'"):
        kind_named("lable:yes")
    with pytest.raises(InputError, match="unknown way to compare answers 'command:true'"):
        equality("command:true")


def test_no_error_suggests_the_name_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(distrivote.METHODS, "mine", "my own")
    with pytest.raises(InputError) as caught:
        distrivote.vote("aab", [1, 2, 3], method="mine")
    assert "mean mine" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "brought:power",
        "brought:power:p=3",
        "brought:power-gmm",
        "wsc-top50",
        "brought:power-top50-reject:p=3",
    ],
)
def test_the_name_of_a_method_stands_for_it_again(name: str) -> None:
    pipeline = parse_method(name)
    assert pipeline.name == name
    assert parse_method(pipeline.name) == pipeline
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline


def test_a_whole_pipeline_has_the_name_it_was_imported_by() -> None:
    assert parse_method("brought:PIPELINE").name == "brought:PIPELINE"
    assert distrivote.vote("aab", [1, 2, 9], method="brought:PIPELINE").answer == "b"
    with pytest.raises(InputError, match="is a whole pipeline"):
        parse_method("brought:PIPELINE-gmm")


@pytest.mark.parametrize("name", ["brought:text", "brought:long", "brought:nans"])
def test_a_vote_with_an_unusable_result_fails_at_the_start(name: str) -> None:
    with pytest.raises(OwnCodeError, match=f"'{name}' returned .* for 2 classes: give a function"):
        parse_method(name)


def test_measures() -> None:
    four = Trajectory("four")
    assert measure_named("brought:brevity").of(four).value == 2.5
    assert np.isnan(measure_named("brought:nothing").of(four).value)
    below = measure_named("brought:negative").of(four)
    assert np.isnan(below.value)
    assert "return a positive number" in below.notes[0]
    with pytest.raises(OwnCodeError, match="'brought:words' returned sure"):
        measure_named("brought:words").of(four)


def test_splitters_answers_and_equalities() -> None:
    assert step_ends(["One", ".", " Two", "."], splitter("brought:sentence")).tolist() == [2, 4]
    assert step_ends(["One", ".", " Two"], splitter(lambda step: "." in step)).tolist() == [2, 3]
    assert kind_named("brought:last").find("It is 4").answer == "4"  # type: ignore[union-attr]
    found_by = asked_kind(str.upper)
    assert found_by is not None
    assert classify(["Paris", "paris"], "brought:FOLDED").ids == (0, 0)
    assert classify(["Paris", "Prague", "Rome"], "brought:alike").ids == (0, 0, 1)
    assert classify(["Paris", "Prague", "Rome"], "brought:first").ids == (0, 0, 1)
    assert equality("brought:FOLDED").name == "brought:FOLDED"


def test_a_function_steers_at_the_end_of_each_step() -> None:
    controller = steering_of("brought:doubt")
    assert controller is not None
    assert controller.name == "brought:doubt"
    stream = controller.start()
    assert stream.push("So", 9.0) is None
    assert stream.push(".\n\n", 9.0) is None
    injected = stream.push("No.\n\n", 2.0)
    assert injected is not None
    assert injected.text == "Hm."  # type: ignore[union-attr]
    stream.push_injected("Hm.")
    assert stream.record().n_reflections == 1
    assert stream.push("Yes.\n\n", 9.0) == End()


def test_rules() -> None:
    for name in ("brought:two", "brought:Two"):
        rule = stop_rule(name)
        assert rule is not None
        assert rule.name == name
        assert rule == stop_rule(rule.name)
    engine = ReplayEngine([Trajectory("\\boxed{4}")] * 16)
    solution = distrivote.solve(engine, "2 + 2?", budget=16, steering=None, stop_when="brought:Two")
    assert len(solution.trajectories) == 2
    assert "two are enough" in (solution.stopped or "")


def test_engines() -> None:
    with open_engine(EngineChoice("brought:reply", "a model")) as engine:
        solution = distrivote.solve(engine, Problem("Which?", template="plain"), budget=12)
    assert (engine.name, engine.model) == ("brought:reply", "a model")
    assert sum(solution.tally.votes.values()) == 12
    assert set(solution.tally.votes) == {"0", "1"}
    with pytest.raises(OwnCodeError, match="returned 4"):
        distrivote.solve(open_engine(EngineChoice("brought:bad_reply")), "2 + 2?", budget=2)
    with pytest.raises(InputError, match="can't be steered"):
        distrivote.solve(engine_of("brought:reply"), "2 + 2?", budget=2, steering="brought:doubt")


def engine_of(name: str) -> object:
    return open_engine(EngineChoice(name))


def test_benchmarks() -> None:
    assert [(each.id, each.answer) for each in load("brought:pairs")] == [("1", "2"), ("b", "3")]
    assert len(load("brought:pairs", limit=1)) == 1
    with pytest.raises(OwnCodeError, match=r"has 1 \+ 1\? as item 1"):
        load("brought:singles")


def test_importers_and_the_record_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "some.log").write_text("x")
    files = sources([str(tmp_path)], "brought:rows")
    assert import_files(files, tmp_path / "run").n_trajectories == 2
    run = Run.open(str(tmp_path / "run"))
    assert run.table(("answer",))["answer"].to_pylist() == ["4", "5"]
    (origin,) = (Manifest.load(tmp_path / "run").origins or {}).items()
    assert origin[0] == "brought:rows"
    assert origin[1].startswith("module brought, source ")
    for name, said in (
        ("odd_rows", "has no question_id"),
        ("typo_rows", "unknown key 'answr': did you mean answer"),
    ):
        with pytest.raises(InputError, match=said):
            import_files(sources([str(tmp_path / "some.log")], f"brought:{name}"), tmp_path / name)


LOST = r"'brought:lost' raised KeyError: 'four' \(.*brought.py:\d+\)"
FOURS = [Trajectory(f"\\boxed{{{i % 3}}}") for i in range(6)]


@pytest.mark.parametrize(
    "call",
    [
        lambda: parse_method("brought:lost"),
        lambda: parse_method("wsc-brought:lost"),
        lambda: measure_named("brought:lost").of(FOURS[0]),
        lambda: classify(["4", "5"], "brought:lost"),
        lambda: kind_named("brought:lost").find("It is 4"),
        lambda: step_ends(["a", "b"], splitter("brought:lost")),
        lambda: steering_of("brought:lost").start().push("a\n\n", 1.0),  # type: ignore[union-attr]
        lambda: load("brought:lost"),
    ],
)
def test_what_a_function_raises_is_one_sentence_with_its_place(call: Callable[[], object]) -> None:
    with pytest.raises(OwnCodeError, match=LOST) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("same", "LOST_KEY"),
        ("same", "LOST_SORT"),
        ("answer", "LOST_KIND"),
        ("measure", "LOST_MEASURE"),
        ("steering", "LostPush"),
        ("steering", "LostStart"),
        ("steering", "LostName"),
        ("stop_when", "LostRule"),
    ],
)
def test_what_an_object_raises_is_one_sentence_too(setting: str, name: str, is_named: bool) -> None:
    import brought  # type: ignore[import-not-found]

    value = getattr(brought, name)
    value = value() if isinstance(value, type) else value
    given = {"steering": None, setting: f"brought:{name}" if is_named else value}
    role = next(role for role in ROLES if role.argument == setting)
    said = rf"the {role.noun} '[\w: ]+' raised KeyError: 'four' \(.*brought.py:\d+\)"
    if setting == "stop_when":  # the first trajectory votes
        assert re.search(said, distrivote.solve(Steered(), "Which?", budget=6, **given).stopped or "")
        return
    with pytest.raises(OwnCodeError, match=said) as caught:
        distrivote.solve(Steered(), "Which?", budget=6, **given)
    assert "\n" not in str(caught.value)
    assert len(caught.value.trajectories) == (0 if setting == "steering" else 6)


def test_a_controller_needs_no_more_than_start_and_push() -> None:
    solution = distrivote.solve(Steered(), "Which?", budget=6, steering="brought:Bare", method="sc")
    assert {each.finish_reason for each in solution.trajectories} == {ENDED}
    controller = steering_of("brought:Bare")
    assert controller is not None
    assert (controller.name, controller.n_warmup) == ("brought:Bare", 0)
    assert pickle.loads(pickle.dumps(controller)).name == "brought:Bare"
    for name, said in (("Texts", "returned Hm"), ("Fours", "started 4")):
        with pytest.raises(OwnCodeError, match=f"'brought:{name}' {said}.*: give a function"):
            distrivote.solve(Steered(), "Which?", budget=2, steering=f"brought:{name}")


def test_objects_of_the_library_stay_as_they_are() -> None:
    for measure in map(measure_named, MEASURES):
        assert measure_of(measure) is measure
    for rule in NAMED.values():
        assert equality(rule) is rule
    for kind in KINDS.values():
        assert asked_kind(kind) == kind
    controller = SelfStepConf()
    assert steering_of(controller) is controller


def test_a_controller_derived_from_one_of_the_library_keeps_its_type() -> None:
    """Engines go by it, and vLLM's plugin sends other settings for each."""

    @dataclass(frozen=True, slots=True)
    class Calm(SelfStepConf):
        extra: int = 3

    controller = Calm()
    assert steering_of(controller) is controller


def test_a_run_records_the_controller_itself_and_where_it_came_from() -> None:
    controller = steering_of("brought:Bare")
    manifest = Manifest.of("openai", "toy", "plain", "mine", SamplingParams(), controller)
    assert manifest.ssc == {"kind": "Bare"}
    assert list(manifest.origins or {}) == ["brought:Bare"]


@pytest.mark.parametrize(
    "started_with",
    [
        {"steering": "brought:LostPush", "ssc": False},
        {"same": "brought:LOST_KEY"},
        {"answer": "brought:LOST_KIND"},
    ],
)
def test_a_server_says_what_the_object_it_was_started_with_raised(started_with: dict[str, Any]) -> None:
    body = {"model": "steered", "messages": [{"role": "user", "content": "How many?"}]}
    with serving(Steered(), Settings(budget=6, **started_with)) as url:
        reply = httpx.post(f"{url}/v1/chat/completions", json=body)
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (500, "server_error")
    assert re.search(r"'brought:\w+' raised KeyError: 'four' \(", error["message"])


@pytest.mark.parametrize("setting", ["measure", "answer", "same", "method"])
def test_what_was_sampled_is_kept_when_the_vote_fails(setting: str) -> None:
    def fails(*given: object) -> object:
        if setting == "method" and len(given[0]) < 6:  # type: ignore[arg-type]
            return 0
        raise ValueError("no\nvote")

    given = {setting: (lambda a, b: fails(a, b)) if setting in ("same", "method") else lambda a: fails(a)}
    if setting == "method":
        given["measure"] = lambda _: 1.0
    with pytest.raises(OwnCodeError, match="raised ValueError: no vote") as caught:
        distrivote.solve(ReplayEngine(FOURS), "Which?", budget=6, steering=None, **given)  # type: ignore[arg-type]
    assert len(caught.value.trajectories) == 6
    assert distrivote.solution_of("Which?", caught.value.trajectories, method="sc").answer == "0"


def test_what_was_sampled_votes_when_a_rule_a_measure_or_an_engine_fails() -> None:
    rule = distrivote.solve(ReplayEngine(FOURS), "Which?", budget=6, steering=None, stop_when="brought:lost")
    assert len(rule.trajectories) == 1
    assert "'brought:lost' raised KeyError: 'four'" in (rule.stopped or "")
    engine = open_engine(EngineChoice("brought:LostEngine"))
    lost = distrivote.solve(engine, "Which?", budget=6, steering=None)
    assert (len(lost.trajectories), lost.answer) == (1, "4")
    assert "'brought:LostEngine' raised KeyError: 'four'" in (lost.stopped or "")

    def zero_fails(trajectory: Trajectory) -> float:
        return 1 / int(trajectory.text[7])

    measured = distrivote.solve(
        ReplayEngine(FOURS), "Which?", budget=6, steering=None, measure=zero_fails, method="sc"
    )
    assert len(measured.trajectories) == 4
    assert "raised ZeroDivisionError" in (measured.stopped or "")


def test_an_importer_that_fails_leaves_no_run(tmp_path: Path) -> None:
    (tmp_path / "some.log").write_text("x")
    with pytest.raises(OwnCodeError, match=r"'brought:lost_rows' raised LookupError: row 2 \("):
        import_files(sources([str(tmp_path / "some.log")], "brought:lost_rows"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_what_is_named_is_recorded() -> None:
    parse_method("brought:power")
    assert set(origins(["vote:0.95:brought:power", None])) == {"brought:power"}
    assert origins(["brought:powerful"]) == {}


def test_a_name_in_a_request_is_never_imported() -> None:
    with only_loaded():
        assert parse_method("brought:power").name == "brought:power"  # loaded before
        with pytest.raises(InputError, match="is Python code, which a request can't name"):
            parse_method("statistics:mean")
    assert leading(METHOD, "statistics:mean-gmm", []) == "statistics:mean"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", "os:abort"),
        ("method", "wsc-os:abort"),
        ("answer", "os:abort"),
        ("same", "os:abort"),
        ("stop_when", "os:abort"),
        ("stop_when", "gain:0.01:os:abort"),
        ("ssc", {"split": "os:abort"}),
    ],
)
def test_a_request_that_names_code_is_a_400(server: str, field: str, value: object) -> None:
    body = {
        "model": "replay",
        "messages": [{"role": "user", "content": "How many?"}],
        "distrivote": {field: value},
    }
    reply = httpx.post(f"{server}/v1/chat/completions", json=body)
    assert reply.status_code == 400
    assert "is Python code, which a request can't name" in reply.json()["error"]["message"]
    page = httpx.post(f"{server}/api/ask", json={"question": "How many?", field: value})
    assert page.status_code == 400


def test_a_request_uses_what_the_server_was_started_with(server: str) -> None:
    body = {"model": "replay", "messages": [{"role": "user", "content": "How many?"}]}
    vote = httpx.post(f"{server}/v1/chat/completions", json=body).json()["distrivote"]
    named = httpx.post(
        f"{server}/v1/chat/completions", json=body | {"distrivote": {"method": "brought:power"}}
    )
    assert vote["method"] == named.json()["distrivote"]["method"] == "brought:power"


@pytest.fixture(scope="module")
def server(folder: None):  # noqa: ARG001
    with serving(ReplayEngine(POOL, "replay"), Settings(budget=20), "brought:power") as url:
        yield url
