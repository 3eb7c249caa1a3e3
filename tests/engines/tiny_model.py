"""A random model of two layers with its own tokenizer, made in seconds: for engines that run real models.

The tokenizer is byte-level BPE with 512 tokens, among them "\\n\\n" and ".\\n\\n", but none for "ait" or an
emoji, so that these lie in several. It says what no model would, but says it the same way every time. Run
where torch and transformers are installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

END = "<|im_end|>"
TEXT = (
    "Tom has 5 apples and buys 7 more.\n\nSo he has 12 apples.\n\nThe answer is \\boxed{12}.\n\n"
    "Wait, let me check.\nA box holds 6 pens.\n\nHow many pens are in 2 boxes?\n\n6 + 6 = 12.\n\n"
)
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{% endif %}"
)


def tiny_model(folder: Path, seed: int = 0) -> Path:
    """Return a folder with the model, made if it is not there."""
    if (folder / "config.json").exists():
        return folder
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    words = [f"{word}{end}" for word in TEXT.split() for end in ("", "\n", "\n\n", ".\n\n")]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>", "<|im_start|>", END],
        show_progress=False,
    )
    tokenizer.train_from_iterator([*words, TEXT, *["\n\n", ".\n\n"] * 50], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token="<|endoftext|>")
    fast.chat_template = CHAT_TEMPLATE
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        initializer_range=0.5,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
        bos_token_id=None,
    )
    model = Qwen3ForCausalLM(config)
    _like_boundaries(model, fast)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def _like_boundaries(model: object, tokenizer: object) -> None:
    """Make the model fond of words and step ends, of the end of the text less, and of stray bytes not at all.

    One dimension is the same for all tokens and all layers pass it on, so that its weights in the head are
    the biases that the head does not have; behind the head's norm it is about 0.27.
    """
    import torch

    biases = torch.full((512,), -30.0)
    for token, number in tokenizer.get_vocab().items():  # type: ignore[attr-defined]
        biases[number] = -3.0 if len(token) == 1 else 0.0
    for token, bias in (("ĊĊ", 3.0), (".ĊĊ", 3.0), ("Ċ", 2.0), (END, 1.5), ("<|im_start|>", -9.0)):
        biases[tokenizer.convert_tokens_to_ids(token)] = bias  # type: ignore[attr-defined]
    with torch.no_grad():
        inner = model.model  # type: ignore[attr-defined]
        inner.embed_tokens.weight[:, 0] = 20.0
        for layer in inner.layers:
            layer.self_attn.o_proj.weight[0] = 0.0
            layer.mlp.down_proj.weight[0] = 0.0
        model.lm_head.weight *= 0.25  # type: ignore[attr-defined]
        model.lm_head.weight[:, 0] = biases / 0.27  # type: ignore[attr-defined]


if __name__ == "__main__":
    print(tiny_model(Path(sys.argv[1])))
