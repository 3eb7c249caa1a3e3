"""The sampler against a slow twin that sorts the whole vocabulary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.base import SamplingParams
from distrivote.engines.tokens.sampling import TokenSampler
from distrivote.errors import InputError
from strategies import LAW


def naive_choice(logits: np.ndarray, params: SamplingParams, uniform: float) -> int:
    """Sort everything, cut by top-k, top-p and min-p, renormalise, and walk up to the number."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    if params.temperature == 0:
        return order[0]
    scaled = logits.astype(np.float64) / params.temperature
    chances = np.exp(scaled - scaled.max())
    chances /= chances.sum()
    kept = order[: params.top_k or None]
    if params.top_p < 1:
        total = sum(chances[i] for i in kept) if params.top_k else 1.0
        reached, nucleus = 0.0, []
        for token in kept:
            nucleus.append(token)
            reached += chances[token]
            if reached >= params.top_p * total:
                break
        kept = nucleus
    kept = [i for i in kept if chances[i] >= params.min_p * chances[order[0]]]
    target, reached = uniform * sum(chances[i] for i in kept), 0.0
    for token in kept:
        reached += chances[token]
        if target < reached:
            return token
    return kept[-1]


def logits_of(seed: int, n_vocab: int, spread: float) -> np.ndarray:
    return (np.random.default_rng(seed).normal(0, spread, n_vocab)).astype(np.float32)


@LAW
@given(
    seed=st.integers(0, 10**6),
    n_vocab=st.sampled_from([2, 50, 64, 65, 1000, 5000]),
    spread=st.sampled_from([0.1, 1.0, 4.0, 10.0]),
    temperature=st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.0]),
    top_p=st.sampled_from([0.1, 0.5, 0.95, 1.0]),
    top_k=st.sampled_from([0, 1, 5, 100]),
    min_p=st.sampled_from([0.0, 0.05, 0.5]),
    uniform=st.floats(0, 1, exclude_max=True),
)
def test_the_choice_is_that_of_the_slow_twin(
    seed: int,
    n_vocab: int,
    spread: float,
    temperature: float,
    top_p: float,
    top_k: int,
    min_p: float,
    uniform: float,
) -> None:
    params = SamplingParams(temperature, top_p, top_k, min_p)
    logits = logits_of(seed, n_vocab, spread)
    sampler = TokenSampler(n_vocab, params)
    chosen = sampler.choose(logits, sampler.read(logits), uniform)
    # Single precision may carry a number over the border to the neighbour.
    nearby = {
        naive_choice(logits, params, u) for u in (uniform, max(0, uniform - 1e-5), min(1, uniform + 1e-5))
    }
    assert chosen in nearby


@pytest.mark.parametrize("n_vocab", [20, 21, 63, 64, 65, 1024, 49_152])
def test_the_top_log_probabilities_are_those_of_a_full_softmax(n_vocab: int) -> None:
    logits = logits_of(7, n_vocab, 3.0)
    position = TokenSampler(n_vocab, SamplingParams()).read(logits)
    exact = logits.astype(np.float64)
    exact = exact - exact.max() - np.log(np.exp(exact - exact.max()).sum())
    expected = np.sort(exact)[::-1][:20]
    np.testing.assert_allclose(position.top_logits[:20] - position.log_total, expected, atol=1e-5)
    assert position.top_ids[:20].tolist() == np.argsort(-exact, kind="stable")[:20].tolist()


def test_equal_logits_are_ranked_by_token() -> None:
    logits = np.zeros(200, dtype=np.float32)
    position = TokenSampler(200, SamplingParams()).read(logits)
    assert position.top_ids[:3].tolist() == sorted(position.top_ids.tolist())[:3]


def naive_spread(logits: np.ndarray) -> tuple[float, float]:
    """Return the entropy and KL(uniform || p) of the tokens that may come, from their probabilities."""
    highest = float(max(logits))
    usable = [float(logit) for logit in logits if float(logit) - highest > -1000]
    total = sum(math.exp(logit - highest) for logit in usable)
    logs = [logit - highest - math.log(total) for logit in usable]
    certainty = -sum(log + math.log(len(logs)) for log in logs) / len(logs) if len(logs) > 1 else math.nan
    return -sum(math.exp(log) * log for log in logs), certainty


def test_even_odds_over_a_thousand_tokens_have_the_entropy_log_1000() -> None:
    position = TokenSampler(1000, SamplingParams()).read(np.zeros(1000, dtype=np.float32))
    assert position.entropy == pytest.approx(math.log(1000))
    assert position.self_certainty == pytest.approx(0, abs=1e-6)


@LAW
@given(
    seed=st.integers(0, 10**6),
    n_vocab=st.sampled_from([2, 65, 1000, 5000]),
    spread=st.sampled_from([0.0, 0.1, 1.0, 4.0, 10.0, 100.0]),
    offset=st.sampled_from([0.0, -30.0, 500.0]),
    masked=st.sampled_from([None, -np.inf, -1e9, float(np.finfo(np.float32).min)]),
)
def test_entropy_and_self_certainty_are_those_of_the_slow_twin(
    seed: int, n_vocab: int, spread: float, offset: float, masked: float | None
) -> None:
    logits = logits_of(seed, n_vocab, spread) + np.float32(offset)
    if masked is not None:
        logits[np.random.default_rng(seed).random(n_vocab) < 0.3] = masked
        logits[0] = offset
    sampler = TokenSampler(n_vocab, SamplingParams())
    before = logits.copy()
    position = sampler.read(logits)
    np.testing.assert_allclose(position[-2:], naive_spread(logits), rtol=2e-5, atol=2e-5)
    assert 0 <= position.entropy <= math.log(n_vocab)
    np.testing.assert_array_equal(logits, before)


def test_a_token_that_alone_may_come_is_certain() -> None:
    logits = np.full(100, -np.inf, dtype=np.float32)
    logits[7] = 3.0
    position = TokenSampler(100, SamplingParams()).read(logits)
    assert position.entropy == 0.0
    assert math.isnan(position.self_certainty)


def test_frequencies_follow_the_probabilities() -> None:
    # 20,000 draws of a token of probability 0.5: 5 standard deviations are 0.018, so this fails by luck
    # less than once in a million runs.
    logits = np.log(np.array([0.5, 0.3, 0.2])).astype(np.float32)
    sampler = TokenSampler(3, SamplingParams(temperature=1.0, top_p=1.0, n_logprobs=2))
    position = sampler.read(logits)
    rng = np.random.default_rng(0)
    draws = [sampler.choose(logits, position, float(u)) for u in rng.random(20_000)]
    assert np.mean(np.array(draws) == 0) == pytest.approx(0.5, abs=0.018)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -1.0),
        ("top_p", 0.0),
        ("top_k", -1),
        ("min_p", 1.5),
        ("max_tokens", 0),
        ("seed", -1),
        ("n_logprobs", 1),
        ("stop", ("",)),
    ],
)
def test_a_parameter_out_of_range_is_named(field: str, value: object) -> None:
    with pytest.raises(InputError, match=field):
        SamplingParams(**{field: value})  # type: ignore[arg-type]
