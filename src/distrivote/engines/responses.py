"""Replies that people already have, from an OpenAI-compatible server or from vLLM -> trajectories.

Everything is read by the names of its fields, from dicts and from the packages' own objects alike, so
neither package is imported. Foreign shapes stop here.

The tokens of a trajectory spell its text; how that is made so is in `spelling`.

Without log-probabilities the text is the thinking, a `</think>` line and the reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from distrivote.engines.tokens.spelling import Spelling, spelled
from distrivote.errors import InputError
from distrivote.trajectory import Floats, Trajectory

THINK_END = "\n</think>\n\n"
_END_TOKENS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("<|return|>", "</s>", "<eos>", "<end_of_turn>", "<｜end▁of▁sentence｜>"),
)
"""How well-known models end a reply, where a server leaves that in the text."""


class ReplyTokens(NamedTuple):
    """The tokens of one reply as a server writes them."""

    pieces: list[str]
    encoded: list[bytes]
    """The bytes of each token; empty where the server does not say them."""

    logprobs: list[float]
    top: list[list[float]]


def trajectories_from_openai(responses: Any) -> list[Trajectory]:
    """Return one trajectory per choice of the responses of an OpenAI-compatible server.

    `responses` is one response or several, chat or completions, as dicts or as the objects of the
    openai package.

    >>> top = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.4}]
    >>> entry = {"token": "4", "logprob": -0.1, "bytes": [52], "top_logprobs": top}
    >>> choice = {"message": {"content": "4"}, "logprobs": {"content": [entry]}}
    >>> trajectories_from_openai({"choices": [choice]})[0].top_logprobs.tolist()
    [[-0.1, -2.4]]
    """
    trajectories = []
    for i, response in enumerate(_several(responses, "choices")):
        choices = _get(response, "choices")
        if not _is_list(choices):
            raise InputError(
                f"response {i} has no list of choices: hand in what chat.completions.create or"
                " completions.create returned, or the same as parsed JSON"
            )
        for j, choice in enumerate(choices):
            trajectories.append(_openai_trajectory(choice, f"response {i}, choice {j}"))
    return trajectories


def trajectories_from_vllm(outputs: Any) -> list[Trajectory]:
    """Return one trajectory per sample in the outputs that vLLM's `LLM.generate` gave for one prompt.

    `outputs` is one RequestOutput or several. Those of different prompts are refused: their answers
    are answers to different questions.

    >>> from types import SimpleNamespace as Object
    >>> row = {19: Object(logprob=-0.1, decoded_token="4"), 20: Object(logprob=-2.4, decoded_token="5")}
    >>> sample = Object(text="4", token_ids=[19], logprobs=[row], finish_reason="stop")
    >>> trajectories_from_vllm(Object(outputs=[sample]))[0].logprobs.tolist()
    [-0.1]
    """
    trajectories = []
    prompts = set()
    for i, output in enumerate(_several(outputs, "outputs")):
        samples = _get(output, "outputs")
        if not _is_list(samples):
            raise InputError(f"output {i} has no list of outputs: hand in what LLM.generate returned")
        prompts.add(repr(_get(output, "prompt_token_ids") or _get(output, "prompt")))
        if len(prompts) > 1:
            raise InputError(
                f"output {i} is for another prompt than those before it: hand in the outputs of one"
                " prompt at a time"
            )
        for j, sample in enumerate(samples):
            trajectories.append(_vllm_trajectory(sample, f"output {i}, sample {j}"))
    return trajectories


def _openai_trajectory(choice: Any, where: str) -> Trajectory:
    message = _get(choice, "message")
    if message is None and _get(choice, "delta") is not None:
        raise InputError(f"{where} is a chunk of a stream: hand in whole responses")
    source, field = (choice, "text") if message is None else (message, "content")
    content = _string(_get(source, field), f"{where}: its {field}")
    reasoning = _get(source, "reasoning_content") or _get(source, "reasoning")
    thinking = _string(reasoning, f"{where}: its reasoning")
    tokens = _openai_tokens(_get(choice, "logprobs"), where)
    return trajectory_of_reply(content, thinking, tokens, _get(choice, "finish_reason"), where)


def _openai_tokens(logprobs: Any, where: str) -> ReplyTokens | None:
    """Read the log-probabilities of one choice; which of the two forms it is, their fields say."""
    content = _get(logprobs, "content")
    if content is None:
        tokens = _get(logprobs, "tokens")
        return None if tokens is None else completion_tokens(logprobs, tokens, where)
    read = chat_tokens(content, f"{where}, token")
    thinking = _get(logprobs, "reasoning_content")
    if not thinking:
        return read
    return behind_thinking(chat_tokens(thinking, f"{where}, reasoning token"), read)


def behind_thinking(thought: ReplyTokens, read: ReplyTokens) -> ReplyTokens:
    """Return the tokens of a thinking, its end and the reply; the end belongs to the last one thought."""
    return ReplyTokens(
        [*thought.pieces[:-1], thought.pieces[-1] + THINK_END, *read.pieces],
        [*thought.encoded[:-1], thought.encoded[-1] + THINK_END.encode(), *read.encoded],
        thought.logprobs + read.logprobs,
        thought.top + read.top,
    )


def chat_tokens(entries: Any, where: str) -> ReplyTokens:
    """Read the entries of a chat reply's `logprobs.content`."""
    if not _is_list(entries):
        raise InputError(f"{where}s are not a list: hand in logprobs as they came")
    read = ReplyTokens([], [], [], [])
    for t, entry in enumerate(entries):
        place = f"{where} {t}"
        piece = _piece(_get(entry, "token"), place)
        raw = _get(entry, "bytes")
        try:
            encoded = piece.encode("utf-8", "surrogatepass") if raw is None else bytes(list(raw))
        except (TypeError, ValueError):
            raise InputError(
                f"{place}: bytes is {raw!r}: hand in a list of numbers from 0 to 255, or null"
            ) from None
        top = _get(entry, "top_logprobs") or []
        if not _is_list(top):
            raise InputError(f"{place}: top_logprobs is not a list: hand it in as it came")
        read.pieces.append(piece)
        read.encoded.append(encoded)
        read.logprobs.append(_number(_get(entry, "logprob"), place, np.nan))
        read.top.append([_number(_get(other, "logprob"), place, -np.inf) for other in top])
    return read


def completion_tokens(logprobs: Any, tokens: Any, where: str) -> ReplyTokens:
    """Read the lists of a completion's `logprobs`."""
    n = len(tokens) if _is_list(tokens) else 0
    own = _get(logprobs, "token_logprobs") or [None] * n
    top = _get(logprobs, "top_logprobs") or [None] * n
    if not all(map(_is_list, (tokens, own, top))) or not len(tokens) == len(own) == len(top):
        raise InputError(
            f"{where}: tokens, token_logprobs and top_logprobs are not lists of one length: hand them"
            " in as they came"
        )
    read = ReplyTokens([], [], [], [])
    for t, (piece, logprob, row) in enumerate(zip(tokens, own, top, strict=True)):
        place = f"{where}, token {t}"
        if not isinstance(row, Mapping | None):
            raise InputError(f"{place}: top_logprobs is not an object: hand it in as it came")
        read.pieces.append(_piece(piece, place))
        read.logprobs.append(_number(logprob, place, np.nan))
        read.top.append([_number(value, place, -np.inf) for value in (row or {}).values()])
    return read


def _vllm_trajectory(sample: Any, where: str) -> Trajectory:
    text = _string(_get(sample, "text"), f"{where}: its text")
    rows = _get(sample, "logprobs")
    tokens = None if rows is None else _vllm_tokens(rows, _get(sample, "token_ids") or [], where)
    return trajectory_of_reply(text, "", tokens, _get(sample, "finish_reason"), where)


def _vllm_tokens(rows: Any, token_ids: Any, where: str) -> ReplyTokens:
    if not (_is_list(rows) and _is_list(token_ids)):
        raise InputError(f"{where}: token_ids and logprobs are not lists: hand them in as they came")
    if len(rows) != len(token_ids):
        raise InputError(
            f"{where}: {len(token_ids)} token_ids but {len(rows)} logprobs: hand in one per token"
        )
    read = ReplyTokens([], [], [], [])
    for t, (token_id, row) in enumerate(zip(token_ids, rows, strict=True)):
        place = f"{where}, token {t}"
        if not (isinstance(row, Mapping) and isinstance(token_id, int) and token_id in row):
            raise InputError(f"{place}: its logprobs do not hold it: hand them in as they came")
        read.pieces.append(_piece(_get(row[token_id], "decoded_token"), place))
        read.logprobs.append(_number(_get(row[token_id], "logprob"), place, np.nan))
        read.top.append([_number(_get(e, "logprob"), place, -np.inf) for e in row.values()])
    return read


class ReplyError(InputError):
    """A reply whose parts contradict each other."""

    def __init__(self, where: str, flaw: str, detail: str = "", *, hint: str) -> None:
        super().__init__(f"{where}: {flaw}{detail}", hint=hint)
        self.flaw = flaw
        """What is wrong, without where it is and what to do."""


def trajectory_of_reply(
    content: str, thinking: str, tokens: ReplyTokens | None, finish_reason: Any, where: str
) -> Trajectory:
    """Return a reply as a trajectory; ReplyError if its tokens do not spell its text."""
    finish = None if finish_reason is None else str(finish_reason)
    if tokens is None or not tokens.pieces:
        text = thinking + THINK_END + content if thinking else content
        return Trajectory(text, finish_reason=finish)
    texts = spelled(content, thinking, Spelling(tokens.pieces, tokens.encoded))
    if texts is None:
        raise ReplyError(
            where,
            "its tokens do not spell its text",
            f" ({''.join(tokens.pieces)[:40]!r} against {(thinking + content)[:40]!r})",
            hint="hand in the reply as it came, or without its logprobs",
        )
    if texts and texts[-1].strip() in _END_TOKENS:
        texts.pop()
    n = len(texts)
    top = np.full((n, max(map(len, tokens.top[:n]), default=0)), np.nan)
    for row, values in zip(top, tokens.top, strict=False):
        row[: len(values)] = values
    logprobs = np.array(tokens.logprobs[:n], dtype=np.float64)
    _check_logs(top, where)
    _check_logs(logprobs, where)
    return Trajectory("".join(texts), tuple(texts), top, logprobs, finish)


def _check_logs(logprobs: Floats, where: str) -> None:
    # Rounding makes a log-probability of 0 slightly positive on some servers.
    positive = np.argwhere(np.isfinite(logprobs) & (logprobs > 0.01))
    if len(positive):
        value = logprobs[tuple(positive[0])]
        raise ReplyError(
            f"{where}, token {positive[0][0]}",
            f"log-probability {value:g} is above 0",
            hint="hand in natural logarithms of probabilities",
        )


def _several(replies: Any, field: str) -> list[Any]:
    """Return a list of replies, also if it is only one."""
    if isinstance(replies, (str, bytes)):
        raise InputError("the replies are a string: parse it first, for example with json.loads")
    if isinstance(replies, Mapping) or _get(replies, field) is not None:
        return [replies]
    if not isinstance(replies, Iterable):
        raise InputError(f"{type(replies).__name__} has no {field}: hand in a reply or a list of them")
    return list(replies)


def _get(item: Any, name: str) -> Any:
    """Return a field of a dict or an object, None if it has none."""
    if isinstance(item, dict):  # Mapping's own check is five times as slow, a million times over
        return item.get(name)
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _string(value: Any, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{what} is a {type(value).__name__}: hand in a string, or None")
    return value


def _piece(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{place} has {value!r} instead of its text: sample with detokenization on, or hand in the"
            " reply without its logprobs"
        )
    if value.startswith("token_id:"):
        raise InputError(f"{place} is {value!r}: ask the server for tokens as text, not as ids")
    return value


def _number(value: Any, place: str, missing: float) -> float:
    """Return a log-probability; `missing` stands for one that was not given or is NaN."""
    if value is None:
        return missing
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{place}: log-probability {value!r} is not a number: hand in one") from None
    return missing if number != number else number
