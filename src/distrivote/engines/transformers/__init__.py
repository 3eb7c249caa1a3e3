"""Hugging Face models in this process, through transformers."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.engines.transformers.engine import TransformersEngine

__all__ = ["TransformersEngine"]

__getattr__ = face(__name__, {"engine": "TransformersEngine"})
