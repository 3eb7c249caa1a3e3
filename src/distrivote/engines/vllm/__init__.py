"""vLLM in this process, and the plugin of its servers."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.engines.vllm.engine import VllmEngine

__all__ = ["VllmEngine"]

__getattr__ = face(__name__, {"engine": "VllmEngine"})
