"""The embedded engine: any GGUF model in this process, through llama.cpp."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.engines.llamacpp.engine import LlamaCppEngine

__all__ = ["LlamaCppEngine"]

__getattr__ = face(__name__, {"engine": "LlamaCppEngine"})
