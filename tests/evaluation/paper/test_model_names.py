"""Spellings of a model's name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.evaluation.paper.model_names import model_name, normal_path


@pytest.mark.parametrize(
    ("name", "base", "quantised"),
    [
        ("Qwen/Qwen3-14B", "Qwen3-14B", None),
        ("./models/Qwen3-14B/", "Qwen3-14B", None),
        ("models//Qwen3-14B", "Qwen3-14B", None),
        ("C:\\models\\Qwen3-14B\\", "Qwen3-14B", None),
        ("/root/.cache/huggingface/hub/models--Qwen--Qwen3-14B/snapshots/40c0698", "Qwen3-14B", None),
        ("hub/models--Qwen--Qwen3-14B/snapshots/40c0698/", "Qwen3-14B", None),
        ("hub/models--u--Qwen3-14B-GGUF/snapshots/40c/Qwen3-14B-Q4_K_M.gguf", "Qwen3-14B", "Q4_K_M"),
        ("Qwen3-14B.Q8_0.gguf", "Qwen3-14B", "Q8_0"),
        ("Qwen3-14B-UD-Q4_K_XL.gguf", "Qwen3-14B", "UD-Q4_K_XL"),
        ("Qwen3-14B-IQ4_XS-00001-of-00002.gguf", "Qwen3-14B", "IQ4_XS"),
        ("unsloth/Qwen3-14B-GGUF:Q4_K_M", "Qwen3-14B", "Q4_K_M"),
        ("Qwen3-14B-BF16.gguf", "Qwen3-14B", None),
        ("Qwen/Qwen3-14B-AWQ", "Qwen3-14B", "AWQ"),
        ("Qwen/Qwen3-14B-GPTQ-Int4", "Qwen3-14B", "GPTQ-Int4"),
        ("Qwen/Qwen3-14B-FP8", "Qwen3-14B", "FP8"),
        ("unsloth/Qwen3-14B-bnb-4bit", "Qwen3-14B", "bnb-4bit"),
        ("Qwen3-0.6B", "Qwen3-0.6B", None),
        ("smollm2-135m", "smollm2-135m", None),
        ("Q4_0", "Q4_0", None),
        ("", "", None),
    ],
)
def test_a_name_is_read(name: str, base: str, quantised: str | None) -> None:
    assert model_name(name) == (base, quantised)


@given(st.text(alphabet="aB/.-_:4Q0f16gu", max_size=30))
def test_a_name_that_was_read_stays_as_it_is(name: str) -> None:
    base = model_name(name).base
    assert model_name(base).base == base
    assert normal_path(normal_path(name)) == normal_path(name)
