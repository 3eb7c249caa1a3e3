"""The plugin as vLLM uses it: its own batch of rows, and a real server."""

from __future__ import annotations

import copy
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2 as httpx
import numpy as np
import pytest

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("vllm", reason="vLLM is not installed")

from distrivote.confidence import token_confidence  # noqa: E402
from distrivote.engines.base import SamplingParams  # noqa: E402
from distrivote.engines.openai.engine import OpenAIEngine  # noqa: E402
from distrivote.engines.responses import trajectories_from_openai  # noqa: E402
from distrivote.engines.tokens.tables import cutter, table_of  # noqa: E402
from distrivote.engines.vllm.args import xargs_of  # noqa: E402
from distrivote.errors import InputError  # noqa: E402
from distrivote.problem import Message  # noqa: E402
from distrivote.splitting import DelimiterSplitter, WindowSplitter  # noqa: E402
from distrivote.steering import SelfStepConf, replay  # noqa: E402
from distrivote.trajectory import Trajectory  # noqa: E402
from engines.contract import EngineContract  # noqa: E402
from engines.host_transfers import HostTransfers  # noqa: E402
from engines.tiny_model import tiny_model  # noqa: E402
from engines.vllm_environment import IN_PROCESS, SERVER  # noqa: E402
from engines.vllm_twin import Twin  # noqa: E402

PLUGIN = "distrivote.engines.vllm.plugin:SelfStepConf"
N_ROWS, N_TOKENS = 6, 512
UNSAID = "Zebra? Yes!"
"""What the model never says by itself."""

CONTROLLERS = (
    None,
    SelfStepConf(delta=10.0, reflection="Wait, let me check."),
    SelfStepConf(delta=0.99, split=WindowSplitter(3)),
    SelfStepConf(delta=0.95, split=DelimiterSplitter("\n")),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    os.environ.update(IN_PROCESS)
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def config(folder: Path) -> Any:
    from vllm.engine.arg_utils import EngineArgs

    arguments = EngineArgs(
        str(folder), dtype="float32", enforce_eager=True, max_model_len=1024, max_num_seqs=N_ROWS
    )
    return arguments.create_engine_config()


# What is refused


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"extra_args": {"ssc": 1, "ssc_delta": -1}}, "delta is -1.0"),
        ({"extra_args": {"ssc": 1, "ssc_guard": 1}}, "can't prevent the end of the text; leave it at 0"),
        ({"logit_bias": {5: 1.0}}, "logit_bias is"),
        ({"bad_words": ["x"]}, "bad_words is"),
        ({"allowed_token_ids": [5]}, "allowed_token_ids is"),
        ({"min_tokens": 5}, "min_tokens is 5: SelfStepConf needs"),
        ({"presence_penalty": 0.5}, "presence_penalty is 0.5"),
        ({"frequency_penalty": 0.5}, "leave it at 0.0, or leave ssc out"),
        ({"repetition_penalty": 1.1}, "leave it at 1.0, or leave ssc out"),
    ],
)
def test_a_request_that_cannot_be_served_is_refused(given: dict[str, Any], sentence: str) -> None:
    from vllm import SamplingParams

    from distrivote.engines.vllm.plugin import SelfStepConf as Plugin

    with pytest.raises(InputError, match=sentence):
        Plugin.validate_params(SamplingParams(**{"extra_args": {"ssc": 1}, **given}))
    if "extra_args" not in given:
        Plugin.validate_params(SamplingParams(**given))


# The V1 interface, in vLLM's own batch


class Request:
    def __init__(self, name: str, twin: Twin) -> None:
        from vllm import SamplingParams
        from vllm.v1.worker.gpu_input_batch import CachedRequestState

        xargs = None if twin.controller is None else dict(xargs_of(twin.controller))
        self.twin = twin
        self.state = CachedRequestState(
            req_id=name,
            prompt_token_ids=[5, 6, 7],
            mm_features=[],
            sampling_params=SamplingParams(temperature=1.0, logprobs=20, extra_args=xargs),
            generator=None,
            block_ids=([0],),
            num_computed_tokens=0,
            output_token_ids=[],
        )


class Runner:
    """What Model Runner V1 does around the sampler, without a model."""

    def __init__(self, config: Any, seed: int, ahead: bool) -> None:
        config = copy.copy(config)  # as another engine's
        from vllm.v1.sample.logits_processor import LogitsProcessors
        from vllm.v1.worker.gpu_input_batch import InputBatch

        from distrivote.engines.vllm.plugin import SelfStepConf as Plugin

        self.rng = np.random.default_rng(seed)
        self.ahead = ahead
        self.plugin = Plugin(config, torch.device("cpu"), False)
        self.batch = InputBatch(
            max_num_reqs=N_ROWS,
            max_model_len=1024,
            max_num_batched_tokens=1024,
            device=torch.device("cpu"),
            vocab_size=N_TOKENS,
            block_sizes=[16],
            max_num_blocks_per_req=[64],
            logitsprocs=LogitsProcessors([self.plugin]),
            logitsprocs_need_output_token_ids=bool(config.model_config.logits_processors),
        )
        self.live: dict[str, Request] = {}

    def change(self, leaving: list[str], coming: list[Request]) -> None:
        for name in leaving:
            self.batch.remove_request(name)
            del self.live[name]
        for request in coming:
            # As after a preemption: the tokens are known again, in another list.
            request.state.output_token_ids = list(request.twin.tokens)
            self.batch.add_request(request.state)
            self.live[request.state.req_id] = request
        self.batch.condense()
        if len(self.live) > 1 and self.rng.random() < 0.3:
            one, other = self.rng.choice(len(self.live), 2, replace=False)
            self.batch.swap_states(int(one), int(other))
        self.batch.refresh_metadata()

    def decode(self) -> None:
        if self.ahead:
            self.batch.update_async_output_token_ids()
        logits = torch.from_numpy(self.rng.normal(0, 2, (len(self.live), N_TOKENS)).astype(np.float32))
        logits[:, 259] += 5
        raw = logits.numpy().copy()
        with HostTransfers() as transfers:
            found = self.plugin.apply(logits)
        assert transfers.count <= 1
        tokens = []
        for row, name in enumerate(self.batch.req_ids):
            twin = self.live[name].twin
            if not twin.due:
                assert np.array_equal(found[row].numpy(), raw[row])
            tokens.append(int(torch.distributions.Categorical(logits=found[row]).sample()))
            twin.sampled(tokens[-1], raw[row])
            self.live[name].state.output_token_ids.append(-1 if self.ahead else tokens[-1])
        if self.ahead:
            self.batch.prev_req_id_to_index = {name: row for row, name in enumerate(self.batch.req_ids)}
            ready = SimpleNamespace(synchronize=lambda: None)
            self.batch.set_async_sampled_token_ids(torch.tensor(tokens)[:, None], ready)


@pytest.mark.parametrize("named", [True, False], ids=["by name", "by entry point"])
@pytest.mark.parametrize("ahead", [False, True], ids=["in step", "ahead"])
@pytest.mark.parametrize("seed", range(4))
def test_vllms_own_batch_is_steered_as_its_requests_one_by_one(
    config: Any, seed: int, ahead: bool, named: bool
) -> None:
    from vllm.tokenizers import cached_tokenizer_from_config

    torch.manual_seed(seed)
    config.model_config.logits_processors = [PLUGIN] if named else None
    tokenizer = cached_tokenizer_from_config(config.model_config)
    table, cut = table_of(tokenizer, N_TOKENS), cutter(tokenizer)
    runner = Runner(config, seed, ahead)
    preempted: list[Request] = []
    everyone: list[Request] = []
    for _ in range(60):
        leaving = [name for name in runner.live if runner.rng.random() < 0.08]
        gone = [runner.live[name] for name in leaving if runner.rng.random() < 0.7]
        coming = []
        for _ in range(int(runner.rng.integers(0, 3))):
            if len(runner.live) - len(leaving) + len(coming) == N_ROWS:
                break
            if preempted and runner.rng.random() < 0.7:
                coming.append(preempted.pop(0))
            else:
                twin = Twin(CONTROLLERS[(seed + len(everyone)) % len(CONTROLLERS)], table, cut)
                everyone.append(Request(f"request {len(everyone)}", twin))
                coming.append(everyone[-1])
        preempted += gone
        runner.change(leaving, coming)
        for _ in range(int(runner.rng.integers(1, 4))):
            if runner.live:
                runner.decode()
    assert sum(request.twin.n_forced for request in everyone) > 20
    del runner


def test_a_batch_without_watched_requests_costs_nothing(config: Any) -> None:
    runner = Runner(config, 0, False)
    runner.change([], [Request("a", Twin(None, table_of_nothing(), lambda _before, _text: []))])
    logits = torch.zeros(1, N_TOKENS)
    assert runner.plugin.apply(logits) is logits
    assert not runner.batch.logitsprocs_need_output_token_ids or config.model_config.logits_processors


def table_of_nothing() -> Any:
    from distrivote.engines.tokens.tables import TokenTable

    return TokenTable([b""] * N_TOKENS)


def test_named_and_found_by_its_entry_point_it_acts_once(config: Any) -> None:
    from vllm.v1.sample.logits_processor import BatchUpdate

    from distrivote.engines.vllm.plugin import SelfStepConf as Plugin

    config = copy.copy(config)
    one, other = (Plugin(config, torch.device("cpu"), False) for _ in range(2))
    params = Request("a", Twin(SelfStepConf(), table_of_nothing(), lambda _b, _t: [])).state.sampling_params
    update = BatchUpdate(batch_size=1, removed=[], added=[(0, params, [1], [])], moved=[])
    for plugin in (one, other):
        plugin.update_state(update)
    assert one._rows is not None
    assert other._rows is None
    logits = torch.zeros(1, N_TOKENS)
    assert other.apply(logits) is logits


def test_under_model_runner_v2_it_has_the_other_interface(config: Any) -> None:
    from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext, LogitsProcRequestState

    from distrivote.engines.vllm.plugin import SelfStepConf as Plugin

    states = LogitsProcRequestState(
        torch.device("cpu"), N_ROWS, N_TOKENS,
        SimpleNamespace(gpu=torch.zeros(N_ROWS, 64, dtype=torch.int32)),
        SimpleNamespace(np=np.full(N_ROWS, 3)), SimpleNamespace(np=np.full(N_ROWS, 3)),
        SimpleNamespace(gpu=torch.full((N_ROWS,), 3)),
    )  # fmt: skip
    plugin = Plugin(copy.copy(config), states)
    twin = Twin(SelfStepConf(), table_of_nothing(), lambda _before, _text: [])
    assert plugin.add_request(2, Request("a", twin).state.sampling_params)
    plugin.apply_staged_writes()
    slot = np.array([2], dtype=np.int32)
    context = LogitsContext(
        expanded_idx_mapping=torch.tensor(slot), idx_mapping=torch.tensor(slot), idx_mapping_np=slot,
        expanded_local_pos=torch.zeros(1), input_ids=torch.tensor([7]), pos=torch.tensor([2]),
        seq_lens_upper_bound_np=np.array([3]),
    )  # fmt: skip
    logits = torch.randn(1, N_TOKENS)
    assert torch.equal(plugin.apply(logits.clone(), context), logits)


# A server


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder),
        "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32",
        "--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "16",
        "--max-logprobs", "21", "--logits-processors", PLUGIN,
    ]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **SERVER})
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            for _ in range(600):
                if process.poll() is not None:
                    pytest.fail(f"the server ended: {log.read_text()[-3000:]}")
                try:
                    if client.get("/health").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.5)
            else:
                pytest.fail("the server does not answer")
            yield client
    finally:
        process.terminate()
        process.wait(30)


def ask(client: httpx.Client, controller: SelfStepConf | None = None, **fields: Any) -> httpx.Response:
    body: dict[str, Any] = {
        "model": "tiny", "prompt": "Tom has 5 apples", "max_tokens": 80, "temperature": 1.0,
        "logprobs": 20, "seed": 7,
    }  # fmt: skip
    if controller is not None:
        body["vllm_xargs"] = xargs_of(controller)
    return client.post("/v1/completions", json={**body, **fields})


def chat(client: httpx.Client, controller: SelfStepConf | None = None, **fields: Any) -> list[Trajectory]:
    body: dict[str, Any] = {
        "model": "tiny", "messages": [{"role": "user", "content": "Tom has 5 apples"}], "max_tokens": 120,
        "temperature": 1.0, "logprobs": True, "top_logprobs": 21, "seed": 7,
    }  # fmt: skip
    if controller is not None:
        body["vllm_xargs"] = xargs_of(controller)
    response = client.post("/v1/chat/completions", json={**body, **fields})
    assert response.status_code == 200, response.text
    return trajectories_from_openai(response.json())


def test_the_completions_endpoint_shows_all_of_20(server: httpx.Client) -> None:
    controller = SelfStepConf(delta=10.0, reflection=UNSAID)
    response = ask(server, controller, n=4)
    trajectories = trajectories_from_openai(response.json())
    assert sum(reflections(controller, trajectory) for trajectory in trajectories) >= 4


def reflections(controller: SelfStepConf, trajectory: Trajectory) -> int:
    """Return how many there are; they stand exactly where the client's own record says."""
    confidences = token_confidence(trajectory.top_logprobs).values.tolist()
    record = replay(controller, trajectory.tokens, confidences)
    whole = [
        insertion for insertion in record.insertions
        if "".join(trajectory.tokens[insertion.start :][: insertion.n_tokens]) == controller.reflection
    ]  # fmt: skip
    assert trajectory.text.count(controller.reflection) == len(whole)
    assert len(record.insertions) - len(whole) <= 1  # the last may be cut by the limit
    return len(whole)


@pytest.mark.parametrize(
    "controller",
    [
        SelfStepConf(delta=10.0, reflection=UNSAID),
        SelfStepConf(delta=0.995, reflection=UNSAID),
        SelfStepConf(delta=10.0, reflection=UNSAID, split=DelimiterSplitter("\n")),
        SelfStepConf(delta=10.0, reflection=UNSAID, split=DelimiterSplitter(exact_token=True)),
    ],
    ids=["every fall", "falls of 0.5%", "lines", "exact"],
)
def test_reflections_stand_where_the_clients_own_record_says(
    server: httpx.Client, controller: SelfStepConf
) -> None:
    trajectories = chat(server, controller, n=8)
    assert len(trajectories) == 8
    assert sum(reflections(controller, trajectory) for trajectory in trajectories) >= 3


def test_requests_with_and_without_share_a_batch(server: httpx.Client) -> None:
    controller = SelfStepConf(delta=10.0, reflection=UNSAID)
    alone = [chat(server, seed=seed)[0].text for seed in range(8)]
    with ThreadPoolExecutor(16) as pool:
        plain = [pool.submit(chat, server, seed=seed) for seed in range(8)]
        steered = [pool.submit(chat, server, controller, seed=seed) for seed in range(8)]
        assert [future.result()[0].text for future in plain] == alone
        assert sum(reflections(controller, future.result()[0]) for future in steered) >= 8


def test_a_request_without_it_is_what_it_is_without_the_plugin(
    server: httpx.Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm import LLM, SamplingParams
    from vllm.v1.sample import logits_processor

    monkeypatch.setattr(logits_processor, "_load_logitsprocs_plugins", list)
    llm = LLM(str(folder), dtype="float32", enforce_eager=True, max_model_len=1024, max_num_seqs=16)
    for temperature in (0.0, 1.0):
        params = SamplingParams(temperature=temperature, max_tokens=80, seed=7)
        expected = llm.generate(["Tom has 5 apples"], params, use_tqdm=False)[0].outputs[0].text
        found = ask(server, temperature=temperature, logprobs=None).json()["choices"][0]["text"]
        assert found == expected


def test_vllm_finds_it_by_its_entry_point(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm import LLM, SamplingParams
    from vllm.exceptions import VLLMClientError
    from vllm.v1.sample import logits_processor

    metadata = tmp_path / "entry-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: entry\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text(f"[vllm.logits_processors]\nselfstepconf = {PLUGIN}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    logits_processor.cached_load_custom_logitsprocs.cache_clear()
    llm = LLM(str(folder), dtype="float32", enforce_eager=True, max_model_len=1024, max_num_seqs=16)
    xargs = dict(xargs_of(SelfStepConf(delta=10.0, reflection=UNSAID)))
    params = SamplingParams(max_tokens=80, seed=7, n=4, extra_args=xargs)
    found = llm.generate(["Tom has 5 apples"], params, use_tqdm=False)[0].outputs
    assert any(UNSAID in output.text for output in found)
    with pytest.raises(VLLMClientError, match="did you mean ssc_delta"):
        llm.generate(["Tom"], SamplingParams(extra_args={"ssc": 1, "ssc_detla": 1}), use_tqdm=False)


def test_delta_zero_changes_nothing(server: httpx.Client) -> None:
    for temperature in (0.0, 1.0):
        plain = ask(server, temperature=temperature).json()["choices"][0]
        watched = ask(server, SelfStepConf(delta=0.0), temperature=temperature).json()["choices"][0]
        assert watched["text"] == plain["text"]


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_a_reflection_is_exact_at_any_temperature(server: httpx.Client, temperature: float) -> None:
    controller = SelfStepConf(delta=100.0, reflection="Wait, let me check.", split=WindowSplitter(4))
    found = ask(server, controller, temperature=temperature, top_p=0.5).json()["choices"][0]
    assert "Wait, let me check." in found["text"]


@pytest.mark.parametrize(
    ("xargs", "sentence"),
    [
        ({"ssc": 1, "ssc_delta": -1}, "delta is -1.0: give a number from 0 up, such as 0.8"),
        ({"ssc": 1, "ssc_detla": 0.5}, "did you mean ssc_delta"),
        ({"ssc": 1, "ssc_reflection": " "}, "give at least one word"),
        ({"ssc": 1, "ssc_split": "chapter"}, "unknown splitter 'chapter'"),
        ({"ssc": 1, "ssc_guard": 1}, "ssc_guard is 1"),
        ({"ssc_delta": 0.5}, 'add "ssc": 1'),
    ],
)
def test_bad_values_are_http_400_with_a_sentence(
    server: httpx.Client, xargs: dict[str, Any], sentence: str
) -> None:
    response = ask(server, vllm_xargs=xargs)
    assert response.status_code == 400
    assert sentence in response.json()["error"]["message"]
    assert ask(server).status_code == 200


# The client of such a server


class TestClientContract(EngineContract):
    question = (Message("user", "Tom has 5 apples"),)
    any_delimiter = False
    can_guard = False
    deterministic = False
    reproduces_alone = False  # plain chat lacks an entry where the sampled token is not among the 20
    ending = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=200, seed=1)
    close_to = 1e-3

    @pytest.fixture(scope="class")
    def engine(self, server: httpx.Client) -> Iterator[OpenAIEngine]:
        engine = OpenAIEngine(str(server.base_url), ssc_by="plugin")
        yield engine
        engine.close()
