"""What requests and replies look like on the wire; pydantic stays in this file.

A field that is not here is an error, also inside `distrivote`. Fields of OpenAI's that this server can't
honour are taken only where they ask for nothing: n = 1, no penalties, no tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from distrivote.defaults import ALPHA, DELTA, REFLECTION, SPLIT
from distrivote.report.documents import json_schema
from distrivote.report.documents.fields import SolutionDocument


class Fields(BaseModel):
    """A request, or a part of one."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    @field_validator("*")
    @classmethod
    def has_utf8(cls, value: Any) -> Any:
        """Refuse half a surrogate pair: JSON can spell it, and no engine could read it."""
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not text.isascii():
                text.encode()  # its error is a ValueError, as pydantic wants it
        return value


class SscFields(Fields):
    """SelfStepConf: reflect where a step's confidence drops."""

    alpha: float = Field(default=ALPHA, ge=0, le=1, description="How much of the threshold stays per step.")
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
    str | None, Field(description="Stop sampling once the vote is settled: consensus, beta or vote.")
]
DeepConf = Annotated[
    str | None,
    Field(
        description="End trajectories that are less sure than those of a warm-up: low or high, and behind a"
        " colon the tokens of a window. It takes the place of SelfStepConf."
    ),
]
MinProbability = Annotated[
    float | None, Field(ge=0, le=1, description="Withhold an answer that is less probable than this.")
]
Template = Annotated[
    str | None, Field(description="How the question is put to the model: plain, math, choice or worked.")
]
Same = Annotated[str | None, Field(description="When two answers are one: text, notation, math or choice.")]
Temperature = Annotated[float | None, Field(ge=0, le=100)]
TopP = Annotated[float | None, Field(gt=0, le=1)]
TopK = Annotated[int | None, Field(ge=-1, description="0 or -1: all tokens.")]
MinP = Annotated[float | None, Field(ge=0, le=1)]
MaxTokens = Annotated[int | None, Field(ge=1, description="Of each trajectory.")]
Seed = Annotated[int | None, Field(ge=0, lt=2**63)]
Stop = Annotated[str | list[str] | None, Field(description="Where trajectories end.")]
Nothing = Annotated[list[Any] | None, Field(max_length=0)]


class VoteFields(Fields):
    """The `distrivote` object of a request."""

    budget: Budget = None
    method: Method = None
    ssc: Ssc = None
    stop_when: StopWhen = None
    deepconf: DeepConf = None
    template: Template = None
    same: Same = None
    min_probability: MinProbability = None
    return_trajectories: bool = Field(default=False, description="Whether the reply has all trajectories.")


class StreamOptions(Fields):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class SharedRequest(Fields):
    """What both endpoints take."""

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
    n: Literal[1] | None = Field(default=None, description="There is one answer; see distrivote.budget.")
    frequency_penalty: float | None = Field(default=None, ge=0, le=0)
    presence_penalty: float | None = Field(default=None, ge=0, le=0)
    logit_bias: dict[str, float] | None = Field(default=None, max_length=0)
    user: str | None = None
    distrivote: VoteFields | None = None


class TextPart(Fields):
    type: Literal["text"]
    text: str


class ChatMessage(Fields):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart]
    name: str | None = None
    refusal: None = None
    annotations: Nothing = None
    audio: None = None
    function_call: None = None
    tool_calls: Nothing = None

    @field_validator("content", mode="before")
    @classmethod
    def has_text_only(cls, content: Any) -> Any:
        """Refuse an image as such: else each of its fields would be an unknown one."""
        for part in content if isinstance(content, list) else ():
            kind = part.get("type") if isinstance(part, dict) else None
            if isinstance(kind, str) and kind != "text":
                words = "only text parts are taken, not {kind}: leave it out"
                raise PydanticCustomError("text_only", words, {"kind": repr(kind[:60])})
        return content


class TextFormat(Fields):
    type: Literal["text"]


class ChatRequest(SharedRequest):
    messages: list[ChatMessage] = Field(min_length=1)
    max_completion_tokens: MaxTokens = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    response_format: TextFormat | None = None
    modalities: list[Literal["text"]] | None = None
    tools: Nothing = None
    tool_choice: Literal["none", "auto"] | None = None
    parallel_tool_calls: bool | None = None
    service_tier: Literal["auto", "default"] | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None


class CompletionRequest(SharedRequest):
    prompt: str | list[str] = Field(description="One prompt.")
    echo: Literal[False] | None = None
    best_of: Literal[1] | None = None
    logprobs: None = None
    suffix: None = None


class AskRequest(Fields):
    """What the page asks."""

    question: str = Field(min_length=1)
    budget: Budget = None
    method: Method = None
    ssc: Ssc = None
    stop_when: StopWhen = None
    deepconf: DeepConf = None
    template: Template = None
    same: Same = None
    min_probability: MinProbability = None
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
    content: str
    refusal: None


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


class ModelReply(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelsReply(BaseModel):
    object: Literal["list"]
    data: list[ModelReply]
