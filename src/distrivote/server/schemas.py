"""The JSON of requests and replies; the only module that uses pydantic.

A field that is not here is an error inside `distrivote`, and one of the upstream's elsewhere: requests may
have any others, which go to it with every trajectory. What no vote can do is decided in `routing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, WithJsonSchema, field_validator
from pydantic_core import CoreSchema, PydanticCustomError

from distrivote.defaults import ALPHA, DELTA, REFLECTION, SPLIT
from distrivote.report.documents import json_schema
from distrivote.report.documents.fields import SolutionDocument


def _fail_fast(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "list":
            schema["fail_fast"] = True
        for value in schema.values():
            _fail_fast(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            _fail_fast(value)


class Fields(BaseModel):
    """A request, or a part of one."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """End validation of a list at its first error: a long list would have as many errors as entries."""
        schema = handler(source)
        _fail_fast(schema)
        return schema

    @field_validator("*")
    @classmethod
    def has_utf8(cls, value: Any) -> Any:
        """Refuse half a surrogate pair: JSON can spell it, and no engine could read it."""
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not text.isascii():
                text.encode()  # it raises a ValueError, as pydantic expects
        return value


class SscFields(Fields):
    """SelfStepConf: inject a reflection where a step's confidence drops."""

    alpha: float = Field(
        default=ALPHA, ge=0, le=1, description="The share of the threshold kept at each step."
    )
    delta: float = Field(default=DELTA, ge=0, description="Reflect below this share of the threshold.")
    reflection: str = Field(
        default=REFLECTION, min_length=1, max_length=1000, description="The text to inject."
    )
    split: str = Field(
        default=SPLIT, description="Where steps end: paragraph, line, exact, window:N, entropy."
    )


Budget = Annotated[int | None, Field(ge=1, description="How many trajectories to sample.")]
Method = Annotated[str | None, Field(description="How to vote, such as dis-gmm or sc.")]
Ssc = Annotated[bool | SscFields | None, Field(description="SelfStepConf; false switches it off.")]
StopWhen = Annotated[
    str | None, Field(description="Stop sampling once the vote is settled, such as gain (docs/stopping.md).")
]
DeepConf = Annotated[
    str | None,
    Field(
        description="End trajectories that are less sure than those of a warm-up: low or high, and after a"
        " colon the tokens of a window. It replaces SelfStepConf."
    ),
]
Online = Annotated[
    bool | None,
    Field(
        description="End trajectories that fall below the likely right ones of a warm-up (online"
        " DistriVoting); with ssc they reflect first."
    ),
]
MinProbability = Annotated[
    float | None, Field(ge=0, le=1, description="Withhold an answer that is less probable than this.")
]
MaxError = Annotated[
    float | None,
    Field(
        gt=0,
        lt=1,
        description="Withhold so much that at most this share of the given answers is wrong; the server needs"
        " a calibration with labelled questions.",
    ),
]
Template = Annotated[
    str | None,
    Field(description="How the question is put to the model: auto, plain, math, choice or worked."),
]
Answer = Annotated[
    str | None,
    Field(
        description="What an answer is: auto, math, boxed, number, choice, short, label:A,B, json,"
        " json:fields, tool, code or text."
    ),
]
Same = Annotated[
    str | None, Field(description="When two answers are equal: text, notation, math, choice, short, json ...")
]
Strict = Annotated[bool | None, Field(description="Whether it is an error if no reply has an answer.")]
Temperature = Annotated[float | None, Field(ge=0, le=100)]
TopP = Annotated[float | None, Field(gt=0, le=1)]
TopK = Annotated[int | None, Field(ge=-1, description="0 or -1: all tokens.")]
MinP = Annotated[float | None, Field(ge=0, le=1)]
MaxTokens = Annotated[int | None, Field(ge=1, description="Of each trajectory.")]
Seed = Annotated[int | None, Field(ge=0, lt=2**63)]
MAX_STOPS = 64
Stop = Annotated[
    str | Annotated[list[str], Field(max_length=MAX_STOPS)] | None,
    Field(description="Where trajectories end."),
]


class VoteFields(Fields):
    """The `distrivote` object of a request."""

    budget: Budget = None
    method: Method = None
    ssc: Ssc = None
    stop_when: StopWhen = None
    deepconf: DeepConf = None
    online: Online = None
    template: Template = None
    answer: Answer = None
    same: Same = None
    strict: Strict = None
    min_probability: MinProbability = None
    max_error: MaxError = None
    return_trajectories: bool = Field(default=False, description="Whether the reply has all trajectories.")


class StreamOptions(Fields):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class SharedRequest(Fields):
    """Fields of both endpoints."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    model: str = Field(description="MODEL, or METHOD@BUDGET/MODEL as in dis-gmm@16/MODEL.")
    temperature: Temperature = None
    top_p: TopP = None
    top_k: TopK = None
    min_p: MinP = None
    max_tokens: MaxTokens = None
    stop: Stop = None
    seed: Seed = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1, le=128, description="More than one is forwarded.")
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    user: str | None = None
    distrivote: VoteFields | None = None


class ChatMessage(Fields):
    """A turn of a conversation; other fields are sent to the upstream unchanged."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None

    @field_validator("content")
    @classmethod
    def has_parts(cls, content: Any) -> Any:
        """Refuse parts without a type, and text parts without a text."""
        for part in content if isinstance(content, list) else ():
            is_text = part.get("type") == "text"
            if not isinstance(part.get("type"), str) or (is_text and not isinstance(part.get("text"), str)):
                raise PydanticCustomError("part", "each part needs a type, and a text part a text")
        return content


class ChatRequest(SharedRequest):
    messages: list[ChatMessage] = Field(min_length=1)
    max_completion_tokens: MaxTokens = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=128)
    response_format: dict[str, Any] | None = Field(default=None, description="JSON is voted on as JSON.")
    modalities: list[str] | None = None
    tools: list[dict[str, Any]] | None = Field(default=None, description="Tool calls are voted on.")
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None


class CompletionRequest(SharedRequest):
    prompt: str | list[str] = Field(description="One prompt.")
    echo: bool | None = None
    best_of: int | None = Field(default=None, ge=1)
    logprobs: int | None = Field(default=None, ge=0)
    suffix: str | None = None


class ResponsesRequest(Fields):
    """The fields of `/v1/responses`; others are sent to the upstream with every trajectory."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    model: str = Field(description="MODEL, or METHOD@BUDGET/MODEL as in dis-gmm@16/MODEL.")
    input: str | list[dict[str, Any]] = Field(
        description="A text, or items: messages, function calls and their results."
    )
    instructions: str | None = Field(default=None, description="The system message.")
    temperature: Temperature = None
    top_p: TopP = None
    top_k: TopK = None
    min_p: MinP = None
    max_output_tokens: MaxTokens = None
    stop: Stop = None
    seed: Seed = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = Field(default=None, description="Its effort is sent to the upstream.")
    text: dict[str, Any] | None = Field(default=None, description="Its format: JSON is voted on as JSON.")
    tools: list[dict[str, Any]] | None = Field(default=None, description="Function calls are voted on.")
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    metadata: dict[str, str] | None = None
    include: list[str] | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=128)
    store: bool | None = Field(default=None, description="Without effect: nothing is stored.")
    previous_response_id: str | None = Field(default=None, description="Refused: nothing is stored.")
    conversation: str | dict[str, Any] | None = Field(default=None, description="Refused, likewise.")
    prompt: dict[str, Any] | None = Field(default=None, description="Refused, likewise.")
    background: bool | None = Field(default=None, description="Refused if true.")
    distrivote: VoteFields | None = None


class AskRequest(Fields):
    """A question of the page."""

    question: str = Field(min_length=1)
    system: str | None = Field(default=None, description="A system message; none by default.")
    budget: Budget = None
    method: Method = None
    ssc: Ssc = None
    stop_when: StopWhen = None
    deepconf: DeepConf = None
    online: Online = None
    template: Template = None
    answer: Answer = None
    same: Same = None
    min_probability: MinProbability = None
    max_error: MaxError = None
    temperature: Temperature = None
    top_p: TopP = None
    top_k: TopK = None
    min_p: MinP = None
    max_tokens: MaxTokens = None
    seed: Seed = None


def field_names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the names of all fields, those inside others with a dot.

    >>> "distrivote.ssc.alpha" in field_names(ChatRequest)
    True
    """
    inside: dict[str, type[BaseModel]] = {
        "distrivote": VoteFields,
        "ssc": SscFields,
        "stream_options": StreamOptions,
    }
    for name in model.model_fields:
        yield prefix + name
        if name in inside:
            yield from field_names(inside[name], f"{prefix}{name}.")


# Replies: for the OpenAPI document. They are made as plain dictionaries.


class ErrorBody(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorReply(BaseModel):
    error: ErrorBody


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    """Of all trajectories."""

    total_tokens: int


VoteReply = Annotated[dict[str, Any], WithJsonSchema(json_schema(SolutionDocument))]
"""The `distrivote` object of a reply."""


class AssistantMessage(BaseModel):
    role: Literal["assistant"]
    content: str | None
    refusal: None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class ChatChoice(BaseModel):
    index: int
    message: AssistantMessage
    finish_reason: str
    logprobs: None


class ChatReply(BaseModel):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage
    distrivote: VoteReply


class CompletionChoice(BaseModel):
    index: int
    text: str
    finish_reason: str
    logprobs: None


class CompletionReply(BaseModel):
    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage
    distrivote: VoteReply


class ResponseUsage(BaseModel):
    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    """Of all trajectories."""

    output_tokens_details: dict[str, int]
    total_tokens: int


class ResponsesReply(BaseModel):
    id: str
    object: Literal["response"]
    created_at: int
    status: str
    model: str
    output: list[dict[str, Any]]
    usage: ResponseUsage
    distrivote: VoteReply


class ModelReply(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelsReply(BaseModel):
    object: Literal["list"]
    data: list[ModelReply]
