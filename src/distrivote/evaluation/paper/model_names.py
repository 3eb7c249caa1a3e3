"""Forms of a model's name: a path, the hub's cache, a file of weights, with its quantisation.

`Qwen/Qwen3-14B`, `./models/Qwen3-14B/`, `models--Qwen--Qwen3-14B/snapshots/<hash>` and
`Qwen3-14B-Q4_K_M.gguf` are one model; the last has quantised weights, which is part of the result.
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

_CACHED = re.compile(r"(?:^|/)models--(?P<org>[^/]+?)--(?P<name>[^/]+)/snapshots/[^/]+(?P<rest>/.+)?$")
_FILE = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|safetensors|bin)$", re.IGNORECASE)
_WEIGHTS = re.compile(
    r"[-._:](?P<kind>(?:ud-)?i?q\d\w*|mxfp4\w*|fp8\w*|w\d+a\d+\w*|awq(?:-\w+)?|gptq(?:-\w+)*|bnb-\d+bit|\d-?bit|int\d"
    r"|bf16|fp16|f16|f32)$",
    re.IGNORECASE,
)
_WHOLE = ("bf16", "fp16", "f16", "f32")
"""Weights as published, or with no relevant difference."""


class ModelName(NamedTuple):
    """What a name says."""

    base: str
    """The model's own name."""

    quantised: str | None = None
    """The quantisation of its weights in the name; None if there is none."""


def model_name(text: str) -> ModelName:
    """Return the model that a name, a path or a file stands for.

    >>> model_name("./models/Qwen3-14B/"), model_name("Qwen3-14B-Q4_K_M.gguf")
    (ModelName(base='Qwen3-14B', quantised=None), ModelName(base='Qwen3-14B', quantised='Q4_K_M'))
    """
    base = normal_path(text).rsplit("/", 1)[-1]
    base = _FILE.sub("", base)
    quantised = None
    while True:
        shorter = re.sub(r"[-_.]gguf$", "", base, flags=re.IGNORECASE)
        found = _WEIGHTS.search(shorter)
        if found is not None:
            if found["kind"].lower() not in _WHOLE:
                quantised = found["kind"] if quantised is None else f"{found['kind']}-{quantised}"
            shorter = shorter[: found.start()]
        if shorter == base or not shorter:
            return ModelName(base, quantised)
        base = shorter


def normal_path(text: str) -> str:
    """Return the canonical form of a path or a name: no `./`, no final slash, no folders of the hub's cache.

    >>> normal_path("./models//Qwen3-14B/"), normal_path("hub/models--Qwen--Qwen3-14B/snapshots/40c069/")
    ('models/Qwen3-14B', 'Qwen/Qwen3-14B')
    """
    path = text.strip().replace("\\", "/")
    path = posixpath.normpath(path) if path else path
    cached = _CACHED.search(path)
    if cached is None:
        return path
    return f"{cached['org']}/{cached['name']}{cached['rest'] or ''}"
