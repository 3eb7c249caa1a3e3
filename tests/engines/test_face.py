"""What `distrivote.engines` shows, and that importing it loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from distrivote import engines


def test_the_public_names_are_these() -> None:
    assert engines.__all__ == [
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


def test_every_name_loads_from_its_home() -> None:
    for name in engines.__all__:
        assert getattr(engines, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = engines.nothing_like_it


@pytest.mark.parametrize("name", ["", "Engine", "open", "ReplayEngine"])
def test_importing_loads_nothing_heavy(name: str) -> None:
    heavy = {"torch", "transformers", "vllm", "xllamacpp", "aiohttp"} | ({"numpy"} if not name else set())
    code = f"import sys, distrivote.engines as e\n{name and f'e.{name}'}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(result.stdout.split())
