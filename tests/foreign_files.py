"""Other people's files, small and shaped as their programs write them, and ways to spoil them."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from distrivote.trajectory import Trajectory
from strategies import LAW

TOKENS = ("Well, é", ".\n\n", "\\boxed{4}", ".")
TEXT = "".join(TOKENS)
TOP = np.array([[-0.1, -2.5, -3.0], [-0.2, -2.0, -4.0], [-0.3, -1.5, -5.0], [-0.4, -1.25, -6.0]])


def trajectory(finish_reason: str = "stop") -> Trajectory:
    return Trajectory(TEXT, TOKENS, TOP, TOP[:, 0], finish_reason)


def chat_logprobs() -> dict[str, Any]:
    content = []
    for token, row in zip(TOKENS, TOP.tolist(), strict=True):
        top = [
            {"token": t, "logprob": value, "bytes": None}
            for t, value in zip((token, "x", "y"), row, strict=True)
        ]
        content.append(
            {"token": token, "logprob": row[0], "bytes": list(token.encode()), "top_logprobs": top}
        )
    return {"content": content, "refusal": None}


def chat(text: str | None = TEXT, logprobs: dict[str, Any] | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def batch(custom_id: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None}


def llama() -> dict[str, Any]:
    return {
        "index": 0,
        "content": TEXT,
        "stop_type": "limit",
        "prompt": "2 + 2?",
        "generation_settings": {"n_predict": 4},
        "completion_probabilities": [{"id": 1, **entry} for entry in chat_logprobs()["content"]],
    }


def vllm(prompt: str | None = "2 + 2?", *texts: str) -> dict[str, Any]:
    rows = [
        {
            str(3 * t + i): {"logprob": value, "rank": i + 1, "decoded_token": piece}
            for i, (piece, value) in enumerate(zip((token, "x", "y"), row, strict=True))
        }
        for t, (token, row) in enumerate(zip(TOKENS, TOP.tolist(), strict=True))
    ]
    sample = {"index": 0, "text": TEXT, "token_ids": [0, 3, 6, 9], "logprobs": rows, "finish_reason": "stop"}
    plain = [
        {"index": i, "text": text, "token_ids": [], "logprobs": None, "finish_reason": "length"}
        for i, text in enumerate(texts, 1)
    ]
    return {
        "request_id": "0",
        "prompt": prompt,
        "prompt_token_ids": [17, 10, 17, 30],
        "prompt_logprobs": None,
        "outputs": [sample, *plain],
        "finished": True,
    }


def lm_eval(
    doc_id: int = 0, filtered: str = "strict-match", replies: tuple[str, ...] = (TEXT, "")
) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "doc": {"question": "2 + 2?", "answer": "It is 2 + 2 = 4 #### 4"},
        "target": "It is 2 + 2 = 4\n#### 4",
        "arguments": {"gen_args_0": {"arg_0": "Q: 2 + 2?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [list(replies)],
        "filtered_resps": ["[invalid]"],
        "filter": filtered,
        "metrics": ["exact_match"],
        "doc_hash": "90e0",
        "prompt_hash": "22fa",
        "target_hash": "a151",
        "exact_match": 0.0,
    }


def inspect_sample(
    number: int | str = 1, epoch: int = 1, content: Any = TEXT, value: Any = "C", logprobs: bool = True
) -> dict[str, Any]:
    message = {"id": "k", "content": content, "role": "assistant"}
    choice = {"message": message, "stop_reason": "stop"}
    if logprobs:
        choice["logprobs"] = chat_logprobs()
    return {
        "id": number,
        "epoch": epoch,
        "input": "2 + 2?",
        "target": "4",
        "messages": [],
        "output": {
            "model": "m",
            "choices": [choice],
            "completion": TEXT,
            "usage": {"input_tokens": 4, "output_tokens": 9, "total_tokens": 13},
        },
        "scores": {"match": {"value": value, "answer": TEXT, "history": []}},
        "metadata": {},
        "events": [],
        "attachments": {},
    }


def inspect_log(*samples: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {"eval_id": "e", "task": "pack/sums", "model": "m"},
        "plan": {"name": "plan", "steps": []},
        "results": {},
        "stats": {},
        "samples": list(samples),
    }


def inspect_archive(*samples: dict[str, Any]) -> bytes:
    """Return an .eval whose members are deflated, as older versions of Inspect wrote them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        header = inspect_log()
        del header["samples"]
        archive.writestr("_journal/start.json", json.dumps(header))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(header))
    return file.getvalue()


def zstandard_archive(members: dict[str, bytes]) -> bytes:
    """Return a zip packed as Inspect packs it today, each member in two frames."""
    codec = pa.Codec("zstd")
    content, directory = b"", b""
    for name, member in members.items():
        half = len(member) // 2
        packed = b"".join(codec.compress(part, asbytes=True) for part in (member[:half], member[half:]))
        sizes = struct.pack("<III", zlib.crc32(member), len(packed), len(member))
        encoded = name.encode()
        about = struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes + struct.pack("<HH", len(encoded), 0)
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(content))
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + about + place + encoded
        content += b"PK\x03\x04" + about + encoded + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(content), 0)
    return content + directory + b"PK\x05\x06" + end


def nemo() -> dict[str, Any]:
    return {
        "generation": TEXT,
        "num_generated_tokens": 9,
        "finish_reason": "stop",
        "problem": "2 + 2?",
        "id": "sum-1",
        "expected_answer": 4,
        "predicted_answer": "4",
        "symbolic_correct": True,
    }


def search_and_learn() -> dict[str, Any]:
    return {
        "problem": "2 + 2?",
        "answer": "4",
        "unique_id": "test/sums/1.json",
        "completions": [TEXT, "", "The answer is 5."],
        "scores": [[0.5, 0.9], [0.1], [0.7, 0.2]],
        "pred": TEXT,
        "completion_tokens": [9, 0, 5],
        "agg_scores": [0.9, 0.1, 0.2],
        "pred_naive@1": "\\boxed{4}",
        "pred_maj@1": "\\boxed{4}",
    }


def self_certainty() -> dict[str, Any]:
    return {
        "model_input": "2 + 2?",
        "output": [TEXT, "", "The answer is 5."],
        "generator": "some/model",
        "dataset": "math",
        "answer": "4",
        "confidence_list": [17.25, None, 16.5],
        "processed_index": 0,
    }


def all_answers() -> dict[str, Any]:
    return {
        "problem_num": 0,
        "total_answers": 3,
        "gold_answer": "4",
        "all_answers": [["4", 120], ["PARSE_FAILED", 0], ["5", 90]],
        "confidences": [
            {"mean_conf": 17.5, "bottom10_conf": 9.0, "tail_conf": 18.0, "block_min_conf": 8.5},
            None,
            {"mean_conf": 12.25, "first_token_conf": 3.0},
        ],
    }


def graded_answers() -> dict[str, Any]:
    return {
        "id": "2024-I-1",
        "dataset": "sums",
        "gold": "4",
        "answers": ["4", "5", ""],
        "correct": [1, 0, 0],
        "label_drop": 0,
    }


def answer_tokens() -> dict[str, Any]:
    sure = [{"index": 0, "token": "4", "confidence": 20.5}, {"index": 1, "token": "}", "confidence": 19.5}]
    return {
        "completed": [{"answer_token_conf": sure, "extracted_answer": "4"}],
        "truncated": [{"answer_token_conf": [], "extracted_answer": None}],
    }


def responses() -> dict[str, Any]:
    return {
        "prompt": "2 + 2?",
        "responses": [TEXT, {"text": "The answer is 5.", "token_logprobs": [-0.5, -1.5]}, ""],
        "answer": "4",
    }


def scorio() -> dict[str, Any]:
    """Return a row of Trace; those of Lite, Math and GPQA have EvalScope's answers."""
    return {
        "task": "sums",
        "model": "org/some-model",
        "model_key": "some-model_low",
        "data_id": 3,
        "seed": 1234,
        "prompt": "2 + 2?",
        "sampling": {"temperature": 0.6, "n": 1},
        "text": TEXT,
        "finish_reason": "stop",
        "num_completion_tokens": 4,
        "ground_truth": "['4']",
        "ground_truth_accepted": ["4"],
        "extracted_answer": "4",
        "is_correct": 1,
        "cv3b_label": "A",
        "tokens": {"prompt_avg_logprob": -1.5, "completion_avg_logprob": -0.25, "completion_ppl": 1.284},
    }


def scorio_with_entries() -> dict[str, Any]:
    """Return a row of GPQA, with the most probable entries at each token."""
    known = {**scorio(), "full_data_id": 53, "evalscope_extracted_answer": "4", "evalscope_is_correct": True}
    for name in ("ground_truth_accepted", "is_correct"):
        del known[name]
    entries = [
        [{"token": t, "token_id": 7, "logprob": value, "rank": i} for i, (t, value) in enumerate(pairs, 1)]
        for pairs in (
            zip((token, "x", "y"), values, strict=True)
            for token, values in zip(TOKENS, TOP.tolist(), strict=True)
        )
    ]
    tokens = {"completion_token_list": [*TOKENS], "completion_topk_logprobs_list": entries}
    return {**known, "ground_truth": "4", "tokens": {**scorio()["tokens"], **tokens}}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


FILES: dict[str, list[tuple[str, bytes]]] = {
    "openai": [
        ("q1.json", json.dumps(chat(), indent=2).encode()),
        ("q1.json", json.dumps([chat(logprobs=chat_logprobs()), chat("no")]).encode()),
        ("out.jsonl", lines(chat())),
        ("batch_output.jsonl", lines(batch("q1", chat()))),
        ("batch_output.jsonl", lines({**batch("q1", {}), "response": None, "error": {"message": "late"}})),
        ("kept.jsonl", lines({"question_id": "q1", "response": chat()})),
        ("llama.json", lines(llama())),
    ],
    "vllm": [("dump.json", json.dumps([vllm()], indent=1).encode()), ("dump.jsonl", lines(vllm(), vllm()))],
    "lm-eval": [
        ("samples_sums_2026-11-15T23-46-50.130395.jsonl", lines(lm_eval())),
        ("x.jsonl", lines(lm_eval())),
    ],
    "inspect": [
        ("log.eval", inspect_archive(inspect_sample())),
        ("log.json", json.dumps(inspect_log(inspect_sample()), indent=2).encode()),
    ],
    "nemo-skills": [("output-rs0.jsonl", lines(nemo())), ("other.jsonl", lines(nemo()))],
    "search-and-learn": [("best_of_n_completions.jsonl", lines(search_and_learn()))],
    "self-certainty": [("out-confidence-list.json", json.dumps([self_certainty()], indent=4).encode())],
    "prefix-consistency": [("math_init.jsonl", lines(all_answers()))],
    "prs": [("samples_tiny_seed41_sums.shard0.jsonl", lines(graded_answers()))],
    "answer-tokens": [("answer_token_conf_qid3.json", json.dumps(answer_tokens(), indent=2).encode())],
    "scorio": [("scorio-trace.jsonl", lines(scorio(), scorio()))],
    "responses": [
        ("replies.jsonl", lines(responses(), responses())),
        ("replies.json", json.dumps([responses()], indent=1).encode()),
    ],
}
"""For each format, files that are of it."""


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


FIFTY = settings(LAW, max_examples=50)
"""For records that are spoiled in one place."""

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(10**30), 2**31, 1e308, float("inf"), float("nan"), -0.5]),
    st.sampled_from(["", " ", "4", "\ud800", "é" * 50, "attachment://k", "7"]),
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "text", "choices", "4", "logprob", "value"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@st.composite
def spoiled(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with one value, anywhere inside, replaced or gone."""
    record = copy.deepcopy(record)
    place: Any = record
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        inside = place[key]
        if not isinstance(inside, dict | list) or not inside or draw(st.integers(0, 2)) == 0:
            break
        place = inside
    if draw(st.integers(0, 4)) == 0:
        del place[key]
    else:
        place[key] = draw(VALUES)
    return record
