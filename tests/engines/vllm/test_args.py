from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.vllm.args import controller_of, xargs_of
from distrivote.errors import InputError
from distrivote.splitting import DelimiterSplitter, EntropySplitter, WindowSplitter
from distrivote.steering import BudgetForcing, DeepConfOnline, DistriVotingOnline, SelfStepConf
from distrivote.steering.course import Line
from strategies import FEW, MANY

splits = st.one_of(
    st.sampled_from([DelimiterSplitter(), DelimiterSplitter("\n"), DelimiterSplitter(exact_token=True)]),
    st.integers(1, 10**9).map(WindowSplitter),
    st.floats(allow_nan=False).map(EntropySplitter),
)
controllers = st.builds(
    SelfStepConf,
    st.floats(0, 1),
    st.floats(0, 1e308),
    st.text(min_size=1).filter(str.strip),
    splits,
    st.booleans(),
)


@MANY
@given(controllers)
def test_what_a_request_says_is_the_controller_that_was_meant(controller: SelfStepConf) -> None:
    assert controller_of(xargs_of(controller)) == controller


@MANY
@given(controllers)
def test_a_request_is_plain_json(controller: SelfStepConf) -> None:
    xargs = xargs_of(controller)
    assert json.loads(json.dumps(xargs)) == xargs


def test_what_is_not_said_has_its_default() -> None:
    assert controller_of({"ssc": 1}) == SelfStepConf()
    assert controller_of({"ssc": True, "ssc_delta": 1}) == SelfStepConf(delta=1.0)
    assert controller_of({"ssc": 1, "ssc_released": 1, "ssc_split": "exact"}) == SelfStepConf.as_published()


def test_as_published_is_said_only_where_it_is_meant() -> None:
    assert "ssc_released" not in xargs_of(SelfStepConf())
    assert controller_of(xargs_of(SelfStepConf.as_published())) == SelfStepConf.as_published()


@pytest.mark.parametrize("xargs", [None, {}, {"ssc": 0}, {"ssc": 0, "ssc_delta": 0.5}, {"other": "x"}])
def test_a_request_that_does_not_ask_for_it_gets_none(xargs: dict[str, object] | None) -> None:
    assert controller_of(xargs) is None


def test_a_line_of_numpys_numbers_is_told_as_plain_ones() -> None:
    floor = Line((np.float64(10.0), np.float64(20.0)), (np.float64(4.5), np.float64(4.25)))
    told = xargs_of(DistriVotingOnline(steps=SelfStepConf(), floor=floor))
    assert told["online_floor"] == "10.0:4.5 20.0:4.25"


@pytest.mark.parametrize(
    ("xargs", "sentence"),
    [
        ({"ssc": 1, "ssc_detla": 0.8}, "ssc_delta"),
        ({"ssc_delta": 0.8}, 'add "ssc": 1'),
        ({"ssc": "yes"}, r"1 \(on\) or 0 \(off\)"),
        ({"ssc": 2}, "ssc is 2"),
        ({"ssc": math.nan}, "ssc is nan"),
        ({"ssc": [1]}, "ssc is"),
        ({"ssc": 1, "ssc_guard": "on"}, "ssc_guard is 'on'"),
        ({"ssc": 1, "ssc_delta": "0.8"}, "ssc_delta is '0.8': give a number"),
        ({"ssc": 1, "ssc_delta": True}, "ssc_delta is True"),
        ({"ssc": 1, "ssc_delta": [0.8]}, "ssc_delta is"),
        ({"ssc": 1, "ssc_delta": None}, "ssc_delta is None"),
        ({"ssc": 1, "ssc_delta": -1}, "delta is -1.0: give a number from 0 up"),
        ({"ssc": 1, "ssc_delta": math.nan}, "delta is nan"),
        ({"ssc": 1, "ssc_delta": math.inf}, "delta is inf"),
        ({"ssc": 1, "ssc_delta": 10**400}, "too large"),
        ({"ssc": 1, "ssc_alpha": 1.5}, "alpha is 1.5"),
        ({"ssc": 1, "ssc_reflection": " "}, "give at least one word"),
        ({"ssc": 1, "ssc_reflection": 7}, "ssc_reflection is 7: give a text"),
        ({"ssc": 1, "ssc_split": "pargraph"}, "paragraph"),
        ({"ssc": 1, "ssc_split": "window:0"}, "a window of 0 tokens"),
        ({"ssc": 1, "ssc_split": "entropy:nan"}, "unknown splitter"),
        ({"ssc": 1, "ssc_split": 512}, "ssc_split is 512"),
        ({"ssc": 0, "ssc_what": 1}, "unknown argument"),
    ],
)
def test_bad_values_are_told_in_a_sentence(xargs: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        controller_of(xargs)


@pytest.mark.parametrize(
    "controller",
    [
        BudgetForcing(),
        SelfStepConf(split=DelimiterSplitter("---")),
        SelfStepConf(split=DelimiterSplitter("\n", exact_token=True)),
        SelfStepConf(split=EntropySplitter(0.5, min_tokens=3)),
    ],
)
def test_a_controller_that_a_request_cannot_say_is_refused(controller: SelfStepConf) -> None:
    with pytest.raises(InputError, match=r"vLLM"):
        xargs_of(controller)


@MANY
@given(st.floats(-1e300, 1e300), st.integers(1, 16_384))
def test_a_threshold_and_a_window_are_those_that_were_meant(threshold: float, window: int) -> None:
    xargs = xargs_of(DeepConfOnline(eta=90, window=window, threshold=threshold))
    assert json.loads(json.dumps(xargs)) == xargs
    found = controller_of(xargs)
    assert isinstance(found, DeepConfOnline)
    assert (found.threshold, found.window) == (threshold, window)


def test_a_warm_up_asks_for_nothing() -> None:
    assert xargs_of(DeepConfOnline()) == {}


def test_a_warm_up_of_online_distrivoting_asks_for_its_reflections_only() -> None:
    assert xargs_of(DistriVotingOnline()) == {}
    reflecting = DistriVotingOnline(steps=SelfStepConf(delta=0.7))
    assert xargs_of(reflecting) == xargs_of(SelfStepConf(delta=0.7))


@FEW
@given(
    st.lists(st.floats(0.5, 1e6), min_size=1, max_size=64, unique=True).map(sorted).flatmap(
        lambda tokens: st.tuples(
            st.just(tuple(tokens)),
            st.lists(st.floats(0, 1e4), min_size=len(tokens), max_size=len(tokens)).map(tuple),
        )
    ),
    st.sampled_from([0.0, 0.8]),
)  # fmt: skip
def test_the_line_of_online_distrivoting_is_the_one_that_was_meant(
    line: tuple[tuple[float, ...], tuple[float, ...]], delta: float
) -> None:
    rule = DistriVotingOnline(steps=SelfStepConf(delta=delta), floor=Line(*line))
    xargs = xargs_of(rule)
    assert json.loads(json.dumps(xargs)) == xargs
    found = controller_of(xargs)
    assert isinstance(found, DistriVotingOnline)
    assert (found.floor, found.steps) == (rule.floor, rule.steps)


@pytest.mark.parametrize(
    ("xargs", "sentence"),
    [
        ({"online_floor": "9:1.0"}, "online_floor without ssc"),
        ({"ssc": 0, "online_floor": "9:1.0"}, "online_floor without ssc"),
        ({"ssc": 1, "online_flor": "9:1.0"}, "unknown argument of DistriVoting 'online_flor': did you mean"),
        *(
            ({"ssc": 1, "online_floor": line}, "give up to 256 places")
            for line in ("", "9", "9:", "9:1:2", "9:nan", "0:1", "9:1 9:2", "9:1  10:2", "a:b", 9, " ".join(
                f"{n}:1" for n in range(1, 400)
            ))
        ),
    ],
)  # fmt: skip
def test_what_online_distrivoting_cannot_mean_is_one_sentence(
    xargs: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        controller_of(xargs)


@pytest.mark.parametrize(
    ("xargs", "sentence"),
    [
        ({"deepconf_window": 64}, "deepconf_window without deepconf_threshold"),
        ({"deepconf_threshold": "x"}, "deepconf_threshold is 'x'"),
        ({"deepconf_threshold": math.nan}, "deepconf_threshold is nan: give a confidence"),
        ({"deepconf_threshold": 17, "deepconf_window": 0}, "a window of 0 tokens"),
        ({"deepconf_threshold": 17, "deepconf_window": 1e6}, "takes 1 to 16,384"),
        ({"deepconf_threshold": 17, "deepconf_window": 2.5}, "window is 2.5: give a number of tokens"),
        ({"deepconf_treshold": 17}, "unknown argument of DeepConf 'deepconf_treshold': did you mean"),
        ({"ssc": 1, "deepconf_threshold": 17}, "ssc and deepconf_threshold: give the arguments of one"),
    ],
)
def test_what_deepconf_cannot_mean_is_one_sentence(xargs: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        controller_of(xargs)
