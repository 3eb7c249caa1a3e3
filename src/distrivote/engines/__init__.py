"""Where trajectories come from: the engines, how to open one, and what one of your own derives from.

Every public name, with the module it comes from; each is loaded on first use.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.engines.abilities import AsyncEngine
    from distrivote.engines.base import (
        BaseEngine,
        BatchEngine,
        Engine,
        Job,
        Progress,
        Sampled,
        SamplingParams,
        Watch,
    )
    from distrivote.engines.choice import EngineChoice, open, open_engine
    from distrivote.engines.llamacpp.engine import LlamaCppEngine
    from distrivote.engines.openai.engine import OpenAIEngine
    from distrivote.engines.pooled import PooledEngine
    from distrivote.engines.replay import ReplayEngine
    from distrivote.engines.transformers.engine import TransformersEngine
    from distrivote.engines.vllm.engine import VllmEngine

__all__ = [
    "AsyncEngine",
    "BaseEngine",
    "BatchEngine",
    "Engine",
    "EngineChoice",
    "Job",
    "LlamaCppEngine",
    "OpenAIEngine",
    "PooledEngine",
    "Progress",
    "ReplayEngine",
    "Sampled",
    "SamplingParams",
    "TransformersEngine",
    "VllmEngine",
    "Watch",
    "open",
    "open_engine",
]

__getattr__ = face(
    __name__,
    {
        "abilities": "AsyncEngine",
        "base": "BaseEngine BatchEngine Engine Job Progress Sampled SamplingParams Watch",
        "choice": "EngineChoice open open_engine",
        "llamacpp.engine": "LlamaCppEngine",
        "openai.engine": "OpenAIEngine",
        "pooled": "PooledEngine",
        "replay": "ReplayEngine",
        "transformers.engine": "TransformersEngine",
        "vllm.engine": "VllmEngine",
    },
)
