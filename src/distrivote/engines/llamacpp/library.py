"""llama.cpp's C interface, as far as the embedded engine needs it.

The functions come from llama-cpp-python if the user has it (that is how GPU builds are installed), else
from the shared library inside the pinned `xllamacpp` package. Struct layouts change between versions of
llama.cpp, so each is checked against known default values when the library is loaded: a wrong layout is a
clear error, never a crash. Nothing here knows about sampling or trajectories.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Mapping
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from distrivote.errors import DistrivoteError, MissingPackageError

XLLAMACPP_VERSION = "2026.10.11549"


class ModelParams(ctypes.Structure):
    _fields_ = (
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int32),
        ("load_mode", c_int32),
        ("lazy_mode", c_int32),
        ("main_gpu", c_int32),
        ("tensor_split", c_void_p),
        ("progress_callback", c_void_p),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    )


class ContextParams(ctypes.Structure):
    _fields_ = (
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int32),
        ("rope_scaling_type", c_int32),
        ("pooling_type", c_int32),
        ("attention_type", c_int32),
        ("flash_attn_type", c_int32),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int32),
        ("type_v", c_int32),
        ("moe_cache_size", c_size_t),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
    )


class Batch(ctypes.Structure):
    _fields_ = (
        ("n_tokens", c_int32),
        ("token", c_void_p),
        ("embd", c_void_p),
        ("pos", c_void_p),
        ("n_seq_id", c_void_p),
        ("seq_id", c_void_p),
        ("logits", c_void_p),
    )


class ChatMessage(ctypes.Structure):
    _fields_ = (("role", c_char_p), ("content", c_char_p))


# What llama.cpp fills in by default; a struct whose layout has changed does not show these.
_MODEL_DEFAULTS = {
    "main_gpu": 0,
    "tensor_split": None,
    "vocab_only": False,
    "check_tensors": False,
    "use_extra_bufts": True,
    "no_alloc": False,
}
_CONTEXT_DEFAULTS = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "pooling_type": -1,
    "attention_type": -1,
    "rope_freq_base": 0.0,
    "yarn_ext_factor": -1.0,
    "type_k": 1,
    "type_v": 1,
    "abort_callback": None,
    "embeddings": False,
    "offload_kqv": True,
    "kv_unified": False,
}

# name -> (result, arguments); the two parameter structs are filled in when the library is known.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "llama_backend_init": (None, []),
    "llama_model_free": (None, [c_void_p]),
    "llama_free": (None, [c_void_p]),
    "llama_model_get_vocab": (c_void_p, [c_void_p]),
    "llama_model_n_ctx_train": (c_int32, [c_void_p]),
    "llama_model_chat_template": (c_char_p, [c_void_p, c_char_p]),
    "llama_chat_apply_template": (
        c_int32,
        [c_char_p, POINTER(ChatMessage), c_size_t, c_bool, c_char_p, c_int32],
    ),
    "llama_vocab_n_tokens": (c_int32, [c_void_p]),
    "llama_vocab_is_eog": (c_bool, [c_void_p, c_int32]),
    "llama_tokenize": (
        c_int32,
        [c_void_p, c_char_p, c_int32, c_void_p, c_int32, c_bool, c_bool],
    ),
    "llama_token_to_piece": (c_int32, [c_void_p, c_int32, c_char_p, c_int32, c_int32, c_bool]),
    "llama_set_n_threads": (None, [c_void_p, c_int32, c_int32]),
    "llama_get_memory": (c_void_p, [c_void_p]),
    "llama_memory_seq_rm": (c_bool, [c_void_p, c_int32, c_int32, c_int32]),
    "llama_memory_seq_cp": (None, [c_void_p, c_int32, c_int32, c_int32, c_int32]),
    "llama_decode": (c_int32, [c_void_p, Batch]),
    "llama_get_logits": (POINTER(c_float), [c_void_p]),
    "llama_log_set": (None, [c_void_p, c_void_p]),
}

_LogCallback = ctypes.CFUNCTYPE(None, c_int32, c_char_p, c_void_p)


class LlamaLibrary:
    """The bound functions, under llama.cpp's own names, and the structs that go with them."""

    def __init__(self, functions: ctypes.CDLL, origin: str, model_params: Any, context_params: Any) -> None:
        self.origin = origin
        self.last_error = ""
        """The last message that llama.cpp logged as an error."""

        for name, (result, arguments) in {
            **_FUNCTIONS,
            "llama_model_default_params": (model_params, []),
            "llama_context_default_params": (context_params, []),
            "llama_model_load_from_file": (c_void_p, [c_char_p, model_params]),
            "llama_init_from_model": (c_void_p, [c_void_p, context_params]),
        }.items():
            try:
                function = functions[name]
            except AttributeError:
                raise LibraryMismatchError(f"{origin} has no function {name}") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self._log = _LogCallback(self._listen)  # kept here, or it would be collected
        self.llama_log_set(ctypes.cast(self._log, c_void_p), None)
        _check(self.llama_model_default_params(), _MODEL_DEFAULTS, origin)
        _check(self.llama_context_default_params(), _CONTEXT_DEFAULTS, origin)
        self.llama_backend_init()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} is not one of the bound functions")

    def _listen(self, level: int, text: bytes, _data: object) -> None:
        if level == 4:  # GGML_LOG_LEVEL_ERROR
            self.last_error = text.decode(errors="replace").strip()


class LibraryMismatchError(DistrivoteError):
    """A llama.cpp library with an unknown interface."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: install the version that is known to fit, pip install xllamacpp=={XLLAMACPP_VERSION}"
        )


def _check(params: Any, expected: Mapping[str, object], origin: str) -> None:
    for name, value in expected.items():
        found = getattr(params, name, None)
        if found != value and not (value is None and not found):
            raise LibraryMismatchError(
                f"{origin} has a different layout of {type(params).__name__}"
                f" ({name} is {found!r}, not {value!r})"
            )


@lru_cache(maxsize=1)
def load_library() -> LlamaLibrary:
    """Load llama.cpp: llama-cpp-python's if it is installed, else xllamacpp's."""
    if importlib.util.find_spec("llama_cpp") is not None:
        with contextlib.suppress(ImportError):
            from llama_cpp import llama_cpp as binding

            return LlamaLibrary(
                binding._lib,
                f"llama-cpp-python {getattr(binding, '__version__', '')}".strip(),
                binding.llama_model_params,
                binding.llama_context_params,
            )
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError("xllamacpp", "embedded", "the embedded engine")
    folder = Path(next(iter(spec.submodule_search_locations)))
    found = [
        *folder.glob("xllamacpp*.so"),
        *folder.glob("xllamacpp*.pyd"),
        *folder.glob("xllamacpp*.dylib"),
    ]
    if not found:
        raise LibraryMismatchError(f"there is no shared library in {folder.name}")
    # On Windows and macOS the wheels have the same form; untested there.
    return LlamaLibrary(ctypes.CDLL(str(found[0])), "xllamacpp", ModelParams, ContextParams)
