"""The V2 interface, driven with contexts made by hand: vLLM's Model Runner V2 needs a GPU."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]

torch = pytest.importorskip("torch", reason="torch is not installed")

from distrivote.engines.tokens.tables import TokenTable  # noqa: E402
from distrivote.engines.vllm.args import xargs_of  # noqa: E402
from distrivote.engines.vllm.batch import SteeredBatch  # noqa: E402
from distrivote.engines.vllm.slots import SlottedSteering  # noqa: E402
from distrivote.splitting import EntropySplitter, WindowSplitter  # noqa: E402
from distrivote.steering import SelfStepConf  # noqa: E402
from engines.host_transfers import HostTransfers  # noqa: E402
from engines.vllm_twin import Twin  # noqa: E402

N_SLOTS, N_TOKENS, N_POSITIONS = 6, 64, 256
TABLE = TokenTable([b"\n\n", b"\n", b".\n\n", b" ", *(f"t{i}".encode() for i in range(4, N_TOKENS))])
CONTROLLERS = (
    None,
    SelfStepConf(delta=10.0),
    SelfStepConf(delta=0.97, split=WindowSplitter(3)),
    SelfStepConf(delta=10.0, split=EntropySplitter(1.0, 200)),
)


def cut(before: str, text: str) -> list[int]:  # noqa: ARG001
    return [40, 41, 42]


class Server:
    """Requests in slots, as Model Runner V2 keeps them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.states = SimpleNamespace(
            max_num_reqs=N_SLOTS,
            prompt_len=SimpleNamespace(np=np.zeros(N_SLOTS, dtype=np.int32)),
            prefill_len=SimpleNamespace(np=np.zeros(N_SLOTS, dtype=np.int32)),
            total_len=SimpleNamespace(gpu=torch.zeros(N_SLOTS, dtype=torch.int32)),
            all_token_ids=SimpleNamespace(gpu=torch.zeros(N_SLOTS, N_POSITIONS, dtype=torch.int32)),
        )
        self.steering = SlottedSteering(SteeredBatch(N_SLOTS, TABLE, cut), self.states)
        self.live: dict[int, Twin] = {}
        self.prompts: dict[Twin, list[int]] = {}
        self.n_computed: dict[int, int] = {}

    def add(self, twin: Twin) -> None:
        slot = int(self.rng.choice([slot for slot in range(N_SLOTS) if slot not in self.live]))
        prompt = self.prompts.setdefault(twin, [5] * int(self.rng.integers(1, 9)))
        tokens = prompt + twin.tokens
        self.live[slot], self.n_computed[slot] = twin, 0
        self.states.prompt_len.np[slot] = len(prompt)
        self.states.prefill_len.np[slot] = len(tokens)
        self.states.total_len.gpu[slot] = len(tokens)
        self.states.all_token_ids.gpu[slot, : len(tokens)] = torch.tensor(tokens)
        xargs = None if twin.controller is None else xargs_of(twin.controller)
        params = SimpleNamespace(extra_args=xargs, logprobs=20, seed=list(self.prompts).index(twin))
        assert self.steering.add_request(slot, params) == (twin.controller is not None)

    def decode(self) -> None:
        slots = self.rng.permutation(sorted(self.live))[: int(self.rng.integers(1, len(self.live) + 1))]
        lengths = []
        for slot in slots.tolist():
            whole = int(self.states.total_len.gpu[slot])
            n_left = whole - self.n_computed[slot]
            # A long prompt is read in chunks.
            self.n_computed[slot] += int(self.rng.integers(1, n_left + 1))
            lengths.append(self.n_computed[slot])
        fed = [int(self.states.all_token_ids.gpu[s, n - 1]) for s, n in zip(slots, lengths, strict=True)]
        context = SimpleNamespace(
            idx_mapping_np=slots.astype(np.int32),
            input_ids=torch.tensor(fed, dtype=torch.int32),
            seq_lens_upper_bound_np=np.array([*lengths, 999, 999], dtype=np.int32),
        )
        logits = 2 * torch.randn(len(slots), N_TOKENS)
        logits[:, :3] += 2
        raw = logits.numpy().copy()
        some_are_back = bool(self.steering._returning)
        with HostTransfers() as transfers:
            found = self.steering.apply(logits, context)
        assert transfers.count <= 1 or some_are_back
        for row, slot in enumerate(slots.tolist()):
            if lengths[row] < int(self.states.prefill_len.np[slot]):
                assert np.array_equal(found[row].numpy(), raw[row])
                continue
            twin = self.live[slot]
            if not twin.due:
                assert np.array_equal(found[row].numpy(), raw[row])
            token = int(torch.distributions.Categorical(logits=found[row]).sample())
            twin.sampled(token, raw[row])
            self.states.all_token_ids.gpu[slot, lengths[row]] = token
            self.states.total_len.gpu[slot] = lengths[row] + 1


@pytest.mark.parametrize("seed", range(20))
def test_requests_in_slots_are_steered_as_one_by_one(seed: int) -> None:
    torch.manual_seed(seed)
    server = Server(seed)
    preempted: list[Twin] = []
    everyone: list[Twin] = []
    for _ in range(120):
        if len(server.live) < N_SLOTS and server.rng.random() < 0.4:
            if preempted and server.rng.random() < 0.7:
                server.add(preempted.pop(0))
            else:
                everyone.append(Twin(CONTROLLERS[(len(everyone) + seed) % 4], TABLE, cut))
                server.add(everyone[-1])
        if server.live and server.rng.random() < 0.1:
            slot = int(server.rng.choice(sorted(server.live)))
            twin = server.live.pop(slot)
            if server.rng.random() < 0.8:
                preempted.append(twin)
        if server.live:
            server.decode()
    assert sum(twin.n_forced for twin in everyone) > 5


def test_a_step_without_watched_requests_is_left_alone() -> None:
    server = Server(0)
    server.add(Twin(None, TABLE, cut))
    slot = next(iter(server.live))
    logits = torch.randn(1, N_TOKENS)
    context = SimpleNamespace(idx_mapping_np=np.array([slot]))
    assert server.steering.apply(logits, context) is logits


def test_a_step_with_several_rows_per_request_is_left_alone() -> None:
    server = Server(0)
    server.add(Twin(SelfStepConf(), TABLE, cut))
    slot = next(iter(server.live))
    logits = torch.randn(3, N_TOKENS)
    before = logits.clone()
    found = server.steering.apply(logits, SimpleNamespace(idx_mapping_np=np.array([slot])))
    assert torch.equal(found, before)
