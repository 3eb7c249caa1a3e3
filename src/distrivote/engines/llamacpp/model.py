"""A model in memory and a context to decode with: llama.cpp's objects as Python ones.

`LlamaModel` knows the file, the vocabulary and the chat template; `LlamaContext` knows the cache of keys
and values of several sequences and decodes one token for each of many at once. Neither samples.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from distrivote.engines.llamacpp.library import Batch, ChatMessage, LlamaLibrary, load_library
from distrivote.engines.llamacpp.prefix import n_reused
from distrivote.errors import DistrivoteError, InputError
from distrivote.problem import Message, plain_prompt, shows_system, with_system_merged


class LlamaModel:
    """A GGUF file's weights and vocabulary."""

    def __init__(self, path: Path, n_gpu_layers: int = -1) -> None:
        self.path = path
        self.library: LlamaLibrary = load_library()
        params = self.library.llama_model_default_params()
        params.n_gpu_layers = n_gpu_layers
        self.handle = self.library.llama_model_load_from_file(str(path).encode(), params)
        if not self.handle:
            raise InputError(
                f"llama.cpp can't load {path} ({self.library.last_error}): the file may be truncated, or"
                " have an architecture that llama.cpp does not know"
            )
        self._vocab = self.library.llama_model_get_vocab(self.handle)
        self.n_vocab = int(self.library.llama_vocab_n_tokens(self._vocab))
        self.n_ctx_train = int(self.library.llama_model_n_ctx_train(self.handle))

    def close(self) -> None:
        if self.handle:
            self.library.llama_model_free(self.handle)
            self.handle = None

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes that each token stands for; special tokens stand for nothing."""
        buffer = ctypes.create_string_buffer(256)
        pieces = []
        for token in range(self.n_vocab):
            n = self.library.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
            if n < 0:
                buffer = ctypes.create_string_buffer(-n)
                n = self.library.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
            pieces.append(buffer.raw[:n])
        return pieces

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that end a generation."""
        is_end = self.library.llama_vocab_is_eog
        return frozenset(token for token in range(self.n_vocab) if is_end(self._vocab, token))

    def tokenize(self, text: str, special: bool = False) -> list[int]:
        """Return the tokens of a text; `special` reads <|im_start|> and the like as special tokens.

        A prompt (special) gets the vocabulary's beginning-of-text token where it has one.
        """
        encoded = text.encode()
        tokens = (ctypes.c_int32 * (len(encoded) + 8))()
        n = self.library.llama_tokenize(
            self._vocab, encoded, len(encoded), tokens, len(tokens), special, special
        )
        if n < 0:
            raise DistrivoteError(f"llama.cpp could not tokenize a text of {len(text)} characters")
        return tokens[:n]

    def chat_prompt(self, messages: Sequence[Message], thinking: bool | None = None) -> str:
        """Return the prompt for a conversation, by the template in the model's file.

        llama.cpp's templates have no switches. A template that knows `enable_thinking` begins the reply with
        empty thinking if it is off, so that is done here. A system message that the template leaves out is
        put before the first question.
        """
        template = self.library.llama_model_chat_template(self.handle, None)
        if template is None:
            return plain_prompt(messages)
        prompt = self._templated(template, messages)
        if not shows_system(prompt, messages):
            prompt = self._templated(template, with_system_merged(messages))
        switched_off = thinking is False and b"enable_thinking" in template
        return prompt + ("<think>\n\n</think>\n\n" if switched_off else "")

    def _templated(self, template: bytes, messages: Sequence[Message]) -> str:
        chat = (ChatMessage * len(messages))(
            *(ChatMessage(m.role.encode(), m.content.encode()) for m in messages)
        )
        size = 1024 + 4 * sum(len(m.content.encode()) + len(m.role) for m in messages)
        buffer = ctypes.create_string_buffer(size)
        n = self.library.llama_chat_apply_template(template, chat, len(messages), True, buffer, size)
        if n < 0 or n > size:
            raise DistrivoteError(
                f"llama.cpp does not know the chat template of {self.path.name}",
                hint='ask with a plain prompt (`template="plain"`)',
                argument="template",
            )
        return buffer.raw[:n].decode()


class LlamaContext:
    """The caches of `n_sequences` sequences, and decoding for all of them at once."""

    def __init__(self, model: LlamaModel, n_sequences: int, n_tokens: int, n_threads: int) -> None:
        self.model = model
        self.library = model.library
        params = self.library.llama_context_default_params()
        params.n_seq_max = n_sequences
        params.n_ctx = n_sequences * n_tokens
        params.n_batch = max(512, n_sequences)
        params.n_ubatch = max(512, n_sequences)
        params.n_threads = params.n_threads_batch = n_threads
        # Measured: batches decode faster with a cache per sequence than with a common one.
        params.kv_unified = False
        self.handle = self.library.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise DistrivoteError(
                f"llama.cpp does not have enough memory for {n_sequences} sequences of {n_tokens} tokens"
                f" ({self.library.last_error}): use fewer slots or a smaller token limit"
            )
        self._memory = self.library.llama_get_memory(self.handle)
        self.n_batch = int(params.n_batch)
        self._batch = _TokenBatch(self.n_batch)
        self._prompts: dict[int, list[int]] = {}
        """The tokens of each sequence that holds a prompt and nothing else."""

    def close(self) -> None:
        if self.handle:
            self.library.llama_free(self.handle)
            self.handle = None

    def use_threads(self, n_threads: int) -> None:
        self.library.llama_set_n_threads(self.handle, n_threads, n_threads)

    def decode(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        sequences: Sequence[int],
        wanted: Sequence[bool] | bool = True,
    ) -> npt.NDArray[np.float32]:
        """Decode tokens; return (n_wanted, n_vocab) logits, valid until the next call.

        Args:
            tokens: One token per entry.
            positions: The position of each in its sequence.
            sequences: The sequence of each.
            wanted: Whether its logits are needed.
        """
        n = len(tokens)
        self._batch.fill(tokens, positions, sequences, wanted)
        status = self.library.llama_decode(self.handle, self._batch.struct)
        if status != 0:
            raise DistrivoteError(
                f"llama.cpp could not decode {n} tokens (status {status}): the context is full or damaged"
            )
        n_wanted = int(np.count_nonzero(self._batch.wanted[:n]))
        if not n_wanted:
            return np.empty((0, self.model.n_vocab), dtype=np.float32)
        pointer = self.library.llama_get_logits(self.handle)
        logits: npt.NDArray[np.float32] = np.ctypeslib.as_array(pointer, (n_wanted, self.model.n_vocab))
        return logits

    def prefill(self, tokens: Sequence[int], sequence: int) -> npt.NDArray[np.float32]:
        """Make a sequence hold a prompt; return a copy of the logits after its last token.

        Only what differs from the prompt that the sequence holds already is decoded.
        """
        held = self._prompts.pop(sequence, [])
        reused = n_reused(held, tokens, self.n_batch)
        # Models with a state instead of a cache can't forget the last tokens.
        if not self.library.llama_memory_seq_rm(self._memory, sequence, reused, -1):
            self.clear(sequence)
            reused = 0
        start = reused
        while start < len(tokens):
            stop = min(start // self.n_batch * self.n_batch + self.n_batch, len(tokens))
            wanted = [False] * (stop - start - 1) + [stop == len(tokens)]
            logits = self.decode(tokens[start:stop], range(start, stop), [sequence] * (stop - start), wanted)
            start = stop
        self._prompts[sequence] = list(tokens)
        row: npt.NDArray[np.float32] = logits[0].copy()
        return row

    def clear(self, sequence: int) -> None:
        self._prompts.pop(sequence, None)
        self.library.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def truncate(self, sequence: int, n_tokens: int) -> None:
        """Remove all but the first `n_tokens` tokens of a sequence."""
        self._prompts.pop(sequence, None)
        self.library.llama_memory_seq_rm(self._memory, sequence, n_tokens, -1)

    def copy(self, source: int, target: int) -> None:
        """Make a sequence continue where another one is."""
        self.clear(target)
        self.library.llama_memory_seq_cp(self._memory, source, target, -1, -1)


class _TokenBatch:
    """llama.cpp's batch struct over NumPy arrays, refilled for every call."""

    def __init__(self, size: int) -> None:
        self._tokens = np.zeros(size, dtype=np.int32)
        self._positions = np.zeros(size, dtype=np.int32)
        self._counts = np.ones(size, dtype=np.int32)
        self._sequences = np.zeros(size, dtype=np.int32)
        self.wanted = np.zeros(size, dtype=np.int8)
        # Each entry's list of sequences has one element: the pointers never change.
        self._pointers = self._sequences.ctypes.data + 4 * np.arange(size, dtype=np.uintp)
        self.struct: Any = Batch(
            0,
            self._tokens.ctypes.data,
            None,
            self._positions.ctypes.data,
            self._counts.ctypes.data,
            self._pointers.ctypes.data,
            self.wanted.ctypes.data,
        )

    def fill(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        sequences: Sequence[int],
        wanted: Sequence[bool] | bool,
    ) -> None:
        n = len(tokens)
        self._tokens[:n] = tokens
        self._positions[:n] = positions
        self._sequences[:n] = sequences
        self.wanted[:n] = wanted
        self.struct.n_tokens = n
