"""Which engine, as a user names it -> the engine. Its packages are loaded only here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distrivote.engines.base import Engine
from distrivote.engines.llamacpp.files import BUILT_IN
from distrivote.errors import InputError, UnknownNameError

ENGINES = ("embedded", "openai", "vllm", "transformers")


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine and what it needs to know; it can be sent to another process."""

    engine: str = "embedded"
    """A name from `ENGINES`."""

    model: str | None = None
    """None: the built-in model, or the only one that a server has."""

    base_urls: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the engine by name: n_slots, n_parallel, tensor_parallel_size, device, ..."""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UnknownNameError("engine", self.engine, ENGINES)
        if self.engine == "openai" and not self.base_urls:
            raise InputError("the openai engine needs to know its server: give --base-url")
        if self.engine != "openai" and self.base_urls:
            raise InputError(f"the {self.engine} engine has no server: leave out --base-url or --engine")
        if self.engine in ("vllm", "transformers") and self.model is None:
            raise InputError(f"the {self.engine} engine needs a model: give --model, a folder or ORG/NAME")

    @classmethod
    def of(
        cls,
        engine: str | None,
        model: str | None,
        base_urls: Sequence[str],
        api_key: str | None,
        options: Mapping[str, Any],
    ) -> EngineChoice:
        """Return the choice; without a name it is a server where there is an address, else embedded."""
        return cls(
            engine or ("openai" if base_urls else "embedded"), model, tuple(base_urls), api_key, options
        )

    @property
    def default_max_tokens(self) -> int:
        """How long trajectories may get where nobody says it: what the engine has memory for."""
        if self.engine != "embedded":
            return 16_384
        return 256 if self.model in (None, BUILT_IN) else 1024

    @property
    def default_template(self) -> str:
        """How questions are put where nobody says it."""
        return "worked" if self.engine == "embedded" and self.model in (None, BUILT_IN) else "math"


def open_engine(
    choice: EngineChoice,
    *,
    say: Callable[[str], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> Engine:
    """Return the engine, ready to sample.

    `say` is called before anything that takes long, `note` with what the user should know.
    """
    if choice.engine == "openai":
        from distrivote.engines.openai.engine import OpenAIEngine

        return OpenAIEngine(
            choice.base_urls, choice.model, choice.api_key, **_known(OpenAIEngine, choice), say=note
        )
    if choice.engine == "vllm":
        from distrivote.engines.vllm.engine import VllmEngine

        return VllmEngine(choice.model or "", options=choice.options, say=say)
    if choice.engine == "transformers":
        from distrivote.engines.transformers.engine import TransformersEngine

        return TransformersEngine(choice.model or "", **_known(TransformersEngine, choice), say=say)
    from distrivote.engines.llamacpp.engine import LlamaCppEngine

    return LlamaCppEngine(choice.model or BUILT_IN, **_known(LlamaCppEngine, choice), say=say)


def _known(engine: type, choice: EngineChoice) -> dict[str, Any]:
    """Return the options if the engine has them all."""
    parameters = inspect.signature(engine).parameters
    names = [name for name in parameters if name not in ("model", "base_urls", "api_key", "say")]
    for name in choice.options:
        if name not in names:
            raise UnknownNameError(f"option of the {choice.engine} engine", name, names)
    return dict(choice.options)


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return options that were written as NAME=VALUE, numbers and true or false as such.

    >>> parse_options(["tensor_parallel_size=2", "dtype=bfloat16", "enforce_eager=true"])
    {'tensor_parallel_size': 2, 'dtype': 'bfloat16', 'enforce_eager': True}
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"the option {text!r} has no value: write NAME=VALUE")
        try:
            options[name.replace("-", "_")] = json.loads(value)
        except (ValueError, RecursionError):
            options[name.replace("-", "_")] = value
    return options
