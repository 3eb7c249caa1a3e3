"""The registry of published pools: what every entry says."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from distrivote.errors import UnknownNameError
from distrivote.pools.checksums import listed
from distrivote.pools.published import headings
from distrivote.pools.registry import POOLS, is_pool_name, pools_named
from distrivote.store.importers.registry import formats


def test_the_sets_have_so_many_pools() -> None:
    counts = {name: len(each.pools) for name, each in POOLS.items()}
    assert counts == {
        "boinf": 35,
        "brumo": 1,
        "prs": 22,
        "prefix-consistency": 20,
        "scorio": 83,
        "runs": 5,
    }
    names = [pool.name for each in POOLS.values() for pool in each.pools]
    assert len(set(names)) == len(names)
    assert not set(names) & set(POOLS)


@pytest.mark.parametrize("name", POOLS)
def test_an_entry_says_where_it_is_what_it_costs_and_what_it_shows(name: str) -> None:
    each = POOLS[name]
    assert all((each.about, each.home, each.at, each.licence, each.signal, each.signal_is, each.shows))
    assert each.format is None or each.format in {known.name for known in formats()}
    assert each.address or each.archive or each.how
    for pool in each.pools:
        assert pool.name.startswith(f"{name}/")
        assert bool(pool.files) or each.how
        assert not pool.files or each.address or each.archive


@pytest.mark.parametrize("name", ["boinf", "brumo", "prs"])
def test_files_at_a_commit_have_checksums_and_belong_to_one_pool(name: str) -> None:
    each = POOLS[name]
    assert each.is_checked
    assert re.fullmatch(r"commit [0-9a-f]{40}", each.at)
    assert each.at.removeprefix("commit ") in str(each.address)
    files = [file for pool in each.pools for file in pool.files]
    assert sorted(file.path for file in files) == sorted(file.path for file in listed(name))
    for file in files:
        assert re.fullmatch(r"[0-9a-f]{64}", str(file.sha256))
        assert not PurePosixPath(file.path).is_absolute()
        assert ".." not in PurePosixPath(file.path).parts


def test_a_checksum_that_is_not_known_is_none_and_not_made_up() -> None:
    for name in ("prefix-consistency", "scorio", "runs"):
        assert not POOLS[name].is_checked
        assert {file.sha256 for pool in POOLS[name].pools for file in pool.files} <= {None}


def test_boinf_has_its_cells() -> None:
    counts = {name: len(pools_named(name)) for name in headings(POOLS["boinf"].pools)}
    assert counts == {
        "boinf": 35,
        "boinf/aime2024": 11,
        "boinf/aime2025": 11,
        "boinf/gpqa_diamond": 6,
        "boinf/math500": 7,
    }


def test_shards_of_a_model_are_one_pool_and_repeated_ones_are_left_out() -> None:
    (found,) = pools_named("prs/gpqa_diamond/phi4_mini")
    shards = [re.sub(r".*diamond\.(.*)\.jsonl", r"\1", file.path) for file in found.pool.files]
    assert shards == ["s3_0_h1", "s3_0_h2", "s3_1", "s3_2"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("boif", "did you mean boinf"),
        ("pools:boinf/aime", "did you mean boinf/aime2025, boinf/aime2024"),
        ("boinf/aime2024/Qwen3-4", "Qwen3-4B"),
        ("", "there are boinf"),
    ],
)
def test_a_wrong_name_shows_the_nearest_ones(name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=hint):
        pools_named(name)


def test_only_the_prefix_makes_a_name() -> None:
    assert is_pool_name("pools:boinf")
    assert not is_pool_name("boinf")
