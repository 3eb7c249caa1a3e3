"""What refusals say about log-probabilities; the probes themselves are tested through the engine."""

from __future__ import annotations

import pytest

from distrivote.engines.openai.capabilities import adapted_dialect
from distrivote.engines.openai.faults import Fault, Scope
from distrivote.engines.openai.protocol import UNUSUAL, Dialect


def refused(words: str, status: int = 400) -> Fault:
    return Fault(words, Scope.REQUEST, status=status, words=words)


@pytest.mark.parametrize(
    ("words", "n"),
    [
        ("Requested sample logprobs of 20, which is greater than max allowed: 10", 10),
        ("Invalid value for 'top_logprobs': must be less than or equal to 5.", 5),
        ("top_logprobs: Input should be between 0 and 8", 8),
        ("logprobs must be between 0 and 5 (request 1234-ab)", 5),
        ("a logprobs value of 20 but the supported range is from 1 (inclusive) to 6 (exclusive)", 5),
        ("Requested sample logprobs of 20, which is greater than max allowed: 0", 0),
        ("logprobs is not supported with this model", 0),
        ("Unknown field logprobs", 0),
        ("top_logprobs is too large", 5),
    ],
)
def test_a_refusal_says_how_many_are_allowed(words: str, n: int) -> None:
    assert adapted_dialect(Dialect(20), refused(words)) == Dialect(n)


def test_asking_for_fewer_comes_to_an_end() -> None:
    dialect: Dialect | None = Dialect(20)
    asked = []
    while dialect is not None:
        asked.append(dialect.n_logprobs)
        dialect = adapted_dialect(dialect, refused("bad logprobs"))
    assert asked == [20, 5, 0, 0]


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ("Unrecognized request argument supplied: top_k", {"top_k"}),
        ("extra fields not permitted: min_p, repetition_penalty", {"min_p", "repetition_penalty"}),
        ("Unsupported parameter: 'top_p' is not supported with this model.", {"top_p"}),
        ("Input validation error: `top_p` must be > 0.0 and < 1.0", {"top_p"}),
        ("Unsupported parameter: 'temperature' is not supported with this model.", {"temperature"}),
        ('[{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "not permitted"}]', {"seed"}),
        ("unknown field return_tokens_as_token_ids", {"return_tokens_as_token_ids"}),
        ("bad request: it proceeds no further", UNUSUAL),
    ],
)
def test_what_is_refused_is_left_out_and_what_is_unusual_if_nothing_is_named(
    words: str, left_out: set[str]
) -> None:
    adapted = adapted_dialect(Dialect(20), refused(words))
    assert adapted == Dialect(20, left_out=frozenset(left_out))
    assert adapted_dialect(Dialect(20, left_out=UNUSUAL | left_out), refused(words)) is None


def test_another_refusal_changes_nothing() -> None:
    assert adapted_dialect(Dialect(20), Fault("x", Scope.SERVER, status=404, words="no model")) is None
    assert adapted_dialect(Dialect(20), Fault("x", Scope.PASSING, status=503, words="logprobs")) is None
    assert adapted_dialect(Dialect(0, left_out=UNUSUAL), refused("logprobs")) is None


def test_the_name_of_the_token_limit_is_learnt_once() -> None:
    fault = refused("Use 'max_completion_tokens' instead.")
    adapted = adapted_dialect(Dialect(20), fault)
    assert adapted == Dialect(20, "max_completion_tokens")
    assert adapted_dialect(Dialect(20, "max_completion_tokens", UNUSUAL), fault) is None
