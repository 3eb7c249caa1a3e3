"""From replies that the user already has, of an OpenAI-compatible server or of vLLM, to trajectories.

Everything is read by field name, from dicts and from the packages' own objects alike, so neither package
is imported. No other module sees these foreign types.

The tokens of a trajectory join to its text; `tokens/spelling.py` ensures that.

Without log-probabilities, the text is the thinking, a `</think>` line and the reply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from distrivote.engines.reply_fields import (
    field,
    is_list,
    logprobs_from,
    message_from,
    number,
    piece,
    text_of,
)
from distrivote.engines.reply_tokens import ReplyTokens
from distrivote.engines.tokens.spelling import Spelling, spelled
from distrivote.engines.wire import Choice, Logprobs
from distrivote.errors import InputError
from distrivote.trajectory import Floats, Trajectory

THINK_END = "\n</think>\n\n"
_END_TOKENS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("<|return|>", "</s>", "<eos>", "<end_of_turn>", "<｜end▁of▁sentence｜>"),
)
"""End-of-text tokens of well-known models, which some servers leave in the text."""


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
        choices = field(response, "choices")
        if not is_list(choices):
            raise InputError(
                f"response {i} has no list of choices: pass what chat.completions.create or"
                " completions.create returned, or the same as parsed JSON"
            )
        for j, choice in enumerate(choices):
            trajectories.append(_openai_trajectory(choice, f"response {i}, choice {j}"))
    return trajectories


def trajectories_from_vllm(outputs: Any) -> list[Trajectory]:
    """Return one trajectory per sample in the outputs of vLLM's `LLM.generate` for one prompt.

    `outputs` is one RequestOutput or several. Outputs for different prompts are an error, since they
    answer different questions.

    >>> from types import SimpleNamespace as Object
    >>> row = {19: Object(logprob=-0.1, decoded_token="4"), 20: Object(logprob=-2.4, decoded_token="5")}
    >>> sample = Object(text="4", token_ids=[19], logprobs=[row], finish_reason="stop")
    >>> trajectories_from_vllm(Object(outputs=[sample]))[0].logprobs.tolist()
    [-0.1]
    """
    trajectories = []
    prompts = set()
    for i, output in enumerate(_several(outputs, "outputs")):
        samples = field(output, "outputs")
        if not is_list(samples):
            raise InputError(f"output {i} has no list of outputs: pass what LLM.generate returned")
        prompts.add(repr(field(output, "prompt_token_ids") or field(output, "prompt")))
        if len(prompts) > 1:
            raise InputError(
                f"output {i} is for a different prompt than those before it: pass the outputs of one"
                " prompt at a time"
            )
        for j, sample in enumerate(samples):
            trajectories.append(_vllm_trajectory(sample, f"output {i}, sample {j}"))
    return trajectories


def _openai_trajectory(choice: Any, where: str) -> Trajectory:
    message = field(choice, "message")
    if message is None and field(choice, "delta") is not None:
        raise InputError(f"{where} is a chunk of a stream: pass complete responses")
    reason = field(choice, "finish_reason")
    read = Choice(
        message=None if message is None else message_from(message, where),
        text=text_of(field(choice, "text"), f"{where}: its text") if message is None else None,
        logprobs=logprobs_from(field(choice, "logprobs"), where),
        finish_reason=None if reason is None else str(reason),
    )
    return trajectory_of_choice(read, where)


def trajectory_of_choice(choice: Choice, where: str) -> Trajectory:
    """Return a choice of a complete response as a trajectory."""
    content, thinking = choice.text or "", ""
    if choice.message is not None:
        content = choice.message.content or choice.message.refusal or ""
        thinking = choice.message.reasoning_content or choice.message.reasoning or ""
    tokens = None if choice.logprobs is None else _tokens_of(choice.logprobs, where)
    return trajectory_of_reply(content, thinking, tokens, choice.finish_reason, where)


def _tokens_of(logprobs: Logprobs, where: str) -> ReplyTokens | None:
    tokens = ReplyTokens()
    if logprobs.content is not None:
        tokens.add_entries(logprobs.content)
        if logprobs.reasoning_content:
            thought = ReplyTokens()
            thought.add_entries(logprobs.reasoning_content)
            tokens = after_thinking(thought, tokens)
    elif logprobs.tokens is not None:
        tokens.add_lists(logprobs, where)
    for t, text in enumerate(tokens.pieces):
        if text.startswith("token_id:"):
            raise InputError(f"{where}, token {t} is {text!r}: request tokens as text, not as ids")
    return tokens


def after_thinking(thought: ReplyTokens, read: ReplyTokens) -> ReplyTokens:
    """Return the tokens of the thinking, then those of the reply; the last thinking token gets `</think>`."""
    found = ReplyTokens()
    found.extend(thought)
    found.end_last_with(THINK_END)
    found.extend(read)
    return found


def _vllm_trajectory(sample: Any, where: str) -> Trajectory:
    text = text_of(field(sample, "text"), f"{where}: its text") or ""
    rows = field(sample, "logprobs")
    tokens = None if rows is None else _vllm_tokens(rows, field(sample, "token_ids") or [], where)
    reason = field(sample, "finish_reason")
    return trajectory_of_reply(text, "", tokens, None if reason is None else str(reason), where)


def _vllm_tokens(rows: Any, token_ids: Any, where: str) -> ReplyTokens:
    if not (is_list(rows) and is_list(token_ids)):
        raise InputError(f"{where}: token_ids and logprobs are not lists: pass them as vLLM returned them")
    if len(rows) != len(token_ids):
        raise InputError(f"{where}: {len(token_ids)} token_ids but {len(rows)} logprobs: pass one per token")
    read = ReplyTokens()
    for t, (token_id, row) in enumerate(zip(token_ids, rows, strict=True)):
        place = f"{where}, token {t}"
        if not (isinstance(row, Mapping) and isinstance(token_id, int) and token_id in row):
            raise InputError(f"{place}: its logprobs do not include it: pass them as vLLM returned them")
        read.add(
            piece(field(row[token_id], "decoded_token"), place),
            number(field(row[token_id], "logprob"), place, math.nan),
            [number(field(entry, "logprob"), place, -math.inf) for entry in row.values()],
        )
    return read


class ReplyError(InputError):
    """A reply whose parts contradict each other."""

    def __init__(self, where: str, flaw: str, detail: str = "", *, hint: str) -> None:
        super().__init__(f"{where}: {flaw}{detail}", hint=hint)
        self.flaw = flaw
        """What is wrong, without the place and without the hint."""


def trajectory_of_reply(
    content: str, thinking: str, tokens: ReplyTokens | None, finish_reason: str | None, where: str
) -> Trajectory:
    """Return a reply as a trajectory; ReplyError if its tokens do not spell its text."""
    if tokens is None or not tokens.pieces:
        text = thinking + THINK_END + content if thinking else content
        return Trajectory(text, finish_reason=finish_reason)
    texts = spelled(content, thinking, Spelling(tokens.pieces, tokens.encoded))
    if texts is None:
        raise ReplyError(
            where,
            "its tokens do not spell its text",
            f" ({''.join(tokens.pieces)[:40]!r} against {(thinking + content)[:40]!r})",
            hint="pass the reply as the server sent it, or without its logprobs",
        )
    if texts and texts[-1].strip() in _END_TOKENS:
        texts.pop()
    n = len(texts)
    top, logprobs = tokens.table(n), tokens.own(n)
    _check_logs(top, where)
    _check_logs(logprobs, where)
    return Trajectory("".join(texts), tuple(texts), top, logprobs, finish_reason)


def _check_logs(logprobs: Floats, where: str) -> None:
    # Rounding makes a log-probability of 0 slightly positive on some servers.
    if (logprobs > 0.01).any() and len(positive := np.argwhere(np.isfinite(logprobs) & (logprobs > 0.01))):
        value = logprobs[tuple(positive[0])]
        raise ReplyError(
            f"{where}, token {positive[0][0]}",
            f"log-probability {value:g} is above 0",
            hint="pass natural logarithms of probabilities",
        )


def _several(replies: Any, name: str) -> list[Any]:
    """Return one reply or several as a list."""
    if isinstance(replies, (str, bytes)):
        raise InputError("the replies are a string: parse it first, for example with json.loads")
    if isinstance(replies, Mapping) or field(replies, name) is not None:
        return [replies]
    if not isinstance(replies, Iterable):
        raise InputError(f"{type(replies).__name__} has no {name}: pass a reply or a list of them")
    return list(replies)
