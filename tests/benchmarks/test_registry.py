"""Names, paths, and the options that belong to each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.benchmarks import BENCHMARKS, Benchmark, arithmetic, load
from distrivote.benchmarks.registry import _BUILT_IN, _PUBLISHED, _SUFFIXES
from distrivote.errors import InputError, UnknownNameError
from distrivote.problem import Problem
from distrivote.store.tables.source import SUFFIXES

LINE = '{"question": "q", "answer": 1}\n'


def test_every_name_has_a_loader_and_every_loader_a_name() -> None:
    assert set(BENCHMARKS) == set(_PUBLISHED) | set(_BUILT_IN)
    assert set(SUFFIXES) == _SUFFIXES


def test_a_built_in_one_says_how_to_make_it_again() -> None:
    benchmark = load("arithmetic", seed=3, size=7)
    assert benchmark == Benchmark("arithmetic", arithmetic.problems(3, 7), "built in, seed 3, size 7")
    assert len(load("easy-choice")) == len(load("arithmetic")) == 100


def test_a_limit_takes_the_first() -> None:
    whole = load("arithmetic")
    assert load("arithmetic", limit=5).problems == whole.problems[:5]
    assert load("arithmetic", limit=500) == whole


def test_the_built_in_ones_load_nothing_heavy() -> None:
    code = (
        "import sys; from distrivote.benchmarks import load; load('arithmetic'); load('easy-choice')\n"
        "assert not {'pyarrow', 'datasets', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_comes_before_a_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arithmetic").write_text(LINE)
    Path("gsm8k=x.jsonl").write_text(LINE)
    assert len(load("arithmetic")) == 100
    assert load("./arithmetic").problems == (Problem("q", "1", "1", template="math"),)
    assert load("gsm8k=x.jsonl").name == "gsm8k=x"
    assert load("gsm8k=./arithmetic").problems[0].id == "gsm8k-0001"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("aime25", "aime2025"),
        ("gpqa", "gpqa-diamond"),
        ("arithmetics", "arithmetic"),
        ("AIME2024", "aime2024"),
    ],
)
def test_an_unknown_name_lists_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown benchmark '{name}': did you mean .*{nearest}"):
        load(name)


@given(st.integers(1, 70), st.integers(1, 70))
def test_a_spread_limit_takes_from_all_over_and_a_larger_one_only_adds(size: int, limit: int) -> None:
    whole = load("arithmetic", size=size)
    some = load("arithmetic", size=size, limit=limit, spread=True)
    more = load("arithmetic", size=size, limit=limit + 1, spread=True)
    ids = [problem.id for problem in whole]
    chosen = [ids.index(problem.id) for problem in some]
    assert len(chosen) == min(size, limit)
    assert chosen == sorted(chosen)
    assert {problem.id for problem in some} <= {problem.id for problem in more}
    # Halving is uneven by a factor of 2 where it ends, and by another where size is no power of 2.
    gaps = [b - a for a, b in zip(chosen, [*chosen[1:], size], strict=True)]
    assert max(gaps) * len(chosen) <= 4 * size


def test_a_spread_of_8_in_30_takes_every_fourth() -> None:
    some = load("arithmetic", size=30, limit=8, spread=True)
    assert [int(problem.id[-4:]) - 1 for problem in some] == list(range(0, 30, 4))


BAD: list[tuple[dict[str, object], str]] = [
    ({"name_or_path": "arithmetic", "limit": 0}, "limit is 0"),
    ({"name_or_path": "arithmetic", "spread": True}, "give a limit too"),
    ({"name_or_path": "arithmetic", "size": 0}, "size is 0"),
    ({"name_or_path": "arithmetic", "path": "x.csv"}, "arithmetic is built in and read from no file"),
    ({"name_or_path": "arithmetic=x.csv"}, "arithmetic is built in and read from no file"),
    ({"name_or_path": "gsm8k="}, "gsm8k= names no file: write gsm8k=FILE"),
    ({"name_or_path": "gsm8k=a", "path": "b"}, "give one of them"),
    ({"name_or_path": "gsm", "path": "b"}, "unknown benchmark 'gsm'"),
    ({"name_or_path": "mine=b.csv"}, "can't read mine=b.csv"),
    ({"name_or_path": "gsm8k=FILE", "size": 3}, r"can't be given a size \(3\): use limit"),
    ({"name_or_path": "FILE", "seed": 3}, r"can't be given a seed \(3\)"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_an_option_that_does_not_fit_is_refused(
    arguments: dict[str, str], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(LINE)
    arguments = arguments | {"name_or_path": arguments["name_or_path"].replace("FILE", str(file))}
    with pytest.raises(InputError, match=message):
        load(**arguments)  # type: ignore[arg-type]


def test_a_benchmark_has_problems_and_their_ids_differ() -> None:
    with pytest.raises(InputError, match="has no problems"):
        Benchmark("none", (), "made up")
    with pytest.raises(InputError, match="two problems with the id 'a'"):
        Benchmark("twins", (Problem("p", "a"), Problem("q", "a")), "made up")


def test_the_system_message_of_a_file_is_that_of_all_its_questions_whatever_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    rows = [{"question": str(n), "answer": n, "system": "Be brief."} for n in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load(file).system == load(file, limit=1).system == "Be brief."
    rows[2]["system"] = "Be long."
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    digest = load(file).system
    assert digest is not None
    assert digest.startswith("each question its own (")
    assert load(file, limit=1).system == digest
    rows[2]["system"] = "Be longer."
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load(file).system != digest
    told = load(file).told("Hello.")
    assert told.system == "Hello."
    assert {problem.system for problem in told} == {"Hello."}
