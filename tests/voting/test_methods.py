"""Method names: what each stands for, and what is said when one does not exist."""

from __future__ import annotations

import pytest

from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.methods import METHODS, parse_method
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.votes import HierarchicalVote

NAMES = [
    "auto",
    "sc",
    "wsc",
    "bon",
    "borda",
    "root",
    "mob",
    "mob-poly",
    "hier",
    "wsc-top50",
    "wsc-gmm",
    "wsc-kmeans",
    "wsc-meanshift",
    "dis-top50",
    "dis-gmm",
    "dis-kmeans",
    "dis-meanshift",
    "hier-top50",
    "hier-gmm",
    "wsc-top50-reject",
    "wsc-gmm-reject",
]


def test_known_names_are_those_of_the_paper_and_root_and_auto():
    assert sorted(METHODS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_name_of_a_pipeline_is_the_name_that_it_was_made_from(name):
    pipeline = parse_method(name)
    assert isinstance(pipeline, Pipeline)
    assert pipeline.name == name


@pytest.mark.parametrize(
    "name",
    [
        "wsc-top:0.1",
        "wsc-top:fraction=0.1",
        "wsc-top:0.333",
        "dis-gmm:intervals=5",
        "hier:3",
        "hier:intervals=3",
        "mob:0.1",
        "mob:q=0.1",
        "borda:p=1",
        "borda:2",
        "root:0.3",
        "root:p=0.3",
        "root-gmm",
        "root-gmm-reject",
        "root-top:fraction=0.3,p=0.7",
        "dis-gmm:released",
        "hier:released,5",
        "dis-top:released,0.3",
        "dis-top:0.3",
        "dis-top:fraction=0.3,intervals=5",
        "wsc-gmm-reject",
        "hier-kmeans",
        "wsc-kmeans-reject",
    ],
)
def test_name_of_a_pipeline_stands_for_that_pipeline(name):
    pipeline = parse_method(name)
    assert parse_method(pipeline.name) == pipeline


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("mob:0.1", "mob:q=0.1"),
        ("mob:q=0.75", "mob"),
        ("borda:p=0.5", "borda"),
        ("root:p=0.5", "root"),
        ("root:0.3", "root:p=0.3"),
        ("hier-gmm-reject:released", "dis-gmm:released"),
        ("dis-gmm:intervals=5,released", "dis-gmm:released,intervals=5"),
        ("wsc-top:0.5", "wsc-top50"),
        ("dis-top:0.5", "dis-top50"),
        ("hier:intervals=10", "hier"),
        ("hier-gmm-reject", "dis-gmm"),
        ("dis-gmm:intervals=10", "dis-gmm"),
        (" dis-gmm ", "dis-gmm"),
        ("wsc-none", "wsc"),
        ("mob-poly-none", "mob-poly"),
        ("hier-none:3", "hier:3"),
    ],
)
def test_two_ways_to_write_a_method_are_one_method(name, other):
    assert parse_method(name) == parse_method(other)


@pytest.mark.parametrize(
    ("name", "other"), [("mob:0.1", "mob"), ("wsc-top:0.1", "wsc-top50"), ("dis-gmm:released", "dis-gmm")]
)
def test_methods_with_different_parameters_differ(name, other):
    assert parse_method(name) != parse_method(other)
    assert parse_method(name).name != parse_method(other).name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("dis-gm", "dis-gmm"),
        ("wcs", "wsc"),
        ("wsc-kmean", "wsc-kmeans"),
        ("hier-top5O", "hier-top50"),
        ("DIS-GMM", "dis-gmm"),
    ],
)
def test_unknown_name_is_an_error_that_lists_the_nearest(name, nearest):
    with pytest.raises(UnknownNameError) as caught:
        parse_method(name)
    assert repr(name) in str(caught.value)
    if name.islower():
        assert nearest in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("", ":", "-", "dis", "dis-", "reject", "wsc-reject", "dis-gmm-reject", "wsc-gmm-gmm", "gmm"),
        *("none", "dis-none", "wsc-none-reject", "auto-none"),
    ],
)
def test_incomplete_name_is_unknown(name):
    with pytest.raises(UnknownNameError, match="unknown method"):
        parse_method(name)


@pytest.mark.parametrize(
    "name",
    [
        "sc:1",
        "wsc:p=2",
        "borda:q=1",
        "dis-gmm:interval=5",
        "dis-gmm:intervals=",
        "dis-gmm:intervals=many",
        "dis-gmm:intervals=2.5",
        "dis-gmm:intervals=0",
        "dis-gmm:intervals=-1",
        "hier:intervals=5,intervals=6",
        "wsc-top:0",
        "wsc-top:-0.1",
        "wsc-top:1.5",
        "wsc-top:nan",
        "wsc-top0",
        "wsc-top101",
        "wsc-top" + "9" * 5000,
        "mob:0",
        "mob:1",
        "mob:nan",
        "mob:q=2",
        "borda:p=nan",
        "borda:p=inf",
        "borda:p=-1",
        "root:p=nan",
        "root:q=1",
        "dis-gmm:released,released",
        "dis-gmm:released=1",
        "mob:",
    ],
)
def test_parameter_that_cannot_be_is_an_error(name):
    with pytest.raises(InputError):
        parse_method(name)


@pytest.mark.parametrize(
    ("last", "beyond"),
    [
        ("hier:1", "hier:0"),
        ("hier:10000", "hier:10001"),
        ("borda:0", "borda:-0.01"),
        ("borda:10", "borda:10.01"),
        ("root:0", "root:-0.01"),
        ("root:10", "root:10.01"),
        ("mob:0.01", "mob:0"),
        ("mob:0.99", "mob:1"),
        ("wsc-top:1", "wsc-top:1.01"),
        ("wsc-top1", "wsc-top0"),
        ("wsc-top100", "wsc-top101"),
    ],
)
def test_a_parameter_may_be_as_large_or_small_as_is_said_and_no_more(last, beyond):
    assert parse_method(parse_method(last).name) == parse_method(last)
    with pytest.raises(InputError, match="out of range"):
        parse_method(beyond)


def test_unknown_parameter_lists_those_there_are():
    with pytest.raises(UnknownNameError, match="intervals"):
        parse_method("dis-gmm:interval=5")


@pytest.mark.parametrize("intervals", [5.0, "5", None])
def test_intervals_are_whole_numbers(intervals):
    with pytest.raises(InputError, match="out of range"):
        HierarchicalVote(intervals)


def test_a_pipeline_that_rejects_needs_a_filter():
    with pytest.raises(InputError, match="filter"):
        Pipeline(HierarchicalVote(), None, reject=True)


def test_a_share_that_is_said_twice_is_an_error():
    with pytest.raises(InputError, match="sets the share to keep twice"):
        parse_method("wsc-top50:0.5")
