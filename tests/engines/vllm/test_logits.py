from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]

torch = pytest.importorskip("torch", reason="torch is not installed")

from distrivote.engines.vllm.logits import (  # noqa: E402
    Transfer,
    exchanged,
    forced,
    top_logprobs,
    with_likeliest,
)


@pytest.mark.parametrize("n_tokens", [20, 512, 1280, 4099, 49_152])
@pytest.mark.parametrize("n_rows", [1, 7, 33])
def test_the_largest_log_probabilities_are_those_that_vllm_reports(n_tokens: int, n_rows: int) -> None:
    generator = torch.Generator().manual_seed(n_tokens + n_rows)
    logits = 4 * torch.randn(n_rows, n_tokens, generator=generator)
    before = logits.clone()
    found = top_logprobs(logits, 20)
    expected = logits.log_softmax(-1, dtype=torch.float32).topk(20).values
    assert found.shape == (n_rows, 20)
    torch.testing.assert_close(found.float(), expected, atol=1e-5, rtol=0)
    assert torch.equal(logits, before)


def test_masked_tokens_have_no_probability() -> None:
    logits = torch.full((1, 4000), -torch.inf)
    logits[0, 7], logits[0, 9] = 1.0, 1.0
    found = top_logprobs(logits, 3)[0].tolist()
    assert found == pytest.approx([-np.log(2), -np.log(2), -np.inf])


def test_a_forced_token_is_the_only_one_and_has_the_highest_logit() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0], [4.0, 5.0, 6.0]])
    found = forced(logits, [(0, 2)])
    assert found is logits
    assert found.tolist() == [[-np.inf, -np.inf, 3.0], [4.0, 5.0, 6.0]]


def test_exchanged_tokens_permute_the_distribution() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0], [4.0, 5.0, 6.0]])
    found = exchanged(logits, [(0, 0), (1, 2)])
    assert found is logits
    assert found.tolist() == [[3.0, 1.0, 2.0], [4.0, 5.0, 6.0]]


def test_the_most_likely_token_stands_behind_the_largest_log_probabilities() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]])
    top = top_logprobs(logits, 2)
    found = with_likeliest(top, logits)
    assert torch.equal(found[:, :2], top)
    assert found[:, 2].tolist() == [1.0, 0.0]


def test_what_is_sent_arrives_once() -> None:
    transfer = Transfer()
    assert transfer.finish() is None
    transfer.start(torch.tensor([[1.0, 2.0]], dtype=torch.float64))
    arrived = transfer.finish()
    assert arrived is not None
    assert arrived.tolist() == [[1.0, 2.0]]
    assert transfer.finish() is None
