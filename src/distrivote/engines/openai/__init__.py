"""The client of OpenAI-compatible servers: hosted APIs, vLLM, SGLang, llama.cpp."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.engines.openai.engine import OpenAIEngine

__all__ = ["OpenAIEngine"]

__getattr__ = face(__name__, {"engine": "OpenAIEngine"})
