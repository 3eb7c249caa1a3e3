"""Any value in any place of other people's files gives rows, or a sentence that names the file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import foreign_files as foreign
from distrivote.errors import InputError
from distrivote.store.importers import (
    all_answers,
    answer_tokens,
    graded_answers,
    inspect_logs,
    lm_eval,
    nemo_skills,
    responses,
    scorio,
    search_and_learn,
    self_certainty,
    vllm_dumps,
)
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.records import LeftOutWarning
from distrivote.store.runs.rows import Row
from foreign_files import FIFTY, spoiled, written


class File(NamedTuple):
    """A file of one record that is right, before it is spoiled."""

    format: Format
    name: str
    record: Callable[[], Any]
    listed: bool = False


FILES = {
    "inspect": File(inspect_logs.FORMAT, "a.json", lambda: foreign.inspect_log(foreign.inspect_sample())),
    "lm-eval": File(lm_eval.FORMAT, "samples_gsm8k_2026-01-01T00-00-00.jsonl", foreign.lm_eval),
    "nemo-skills": File(nemo_skills.FORMAT, "output-rs0.jsonl", foreign.nemo),
    "search-and-learn": File(search_and_learn.FORMAT, "a.jsonl", foreign.search_and_learn),
    "self-certainty": File(self_certainty.FORMAT, "a.json", foreign.self_certainty, listed=True),
    "prefix-consistency": File(all_answers.FORMAT, "a.jsonl", foreign.all_answers),
    "prs": File(graded_answers.FORMAT, "a.jsonl", foreign.graded_answers),
    "answer-tokens": File(answer_tokens.FORMAT, "answer_token_conf_qid3.json", foreign.answer_tokens),
    "scorio": File(scorio.FORMAT, "a.jsonl", foreign.scorio_with_entries),
    "responses": File(responses.FORMAT, "a.jsonl", foreign.responses),
    "vllm": File(vllm_dumps.FORMAT, "a.jsonl", lambda: foreign.vllm("2 + 2?", "5")),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoiled")


@pytest.mark.parametrize("kind", FILES)
@FIFTY
@given(st.data())
def test_any_value_anywhere_gives_rows_or_a_sentence(folder: Path, kind: str, data: st.DataObject) -> None:
    file = FILES[kind]
    record = data.draw(spoiled(file.record()))
    path = written(folder, file.name, json.dumps([record] if file.listed else record).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        try:
            rows = list(file.format.read(path, ImportOptions()))
        except InputError as error:
            assert file.name in str(error)  # noqa: PT017
        else:
            assert all(isinstance(row, Row) for row in rows)
