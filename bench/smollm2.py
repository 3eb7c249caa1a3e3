"""The built-in model as vLLM and transformers read it: GGUF -> a folder with safetensors and a tokenizer.

    python bench/smollm2.py FOLDER

Run it where transformers, torch and gguf are installed; a folder that is there already stays as it is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from distrivote.engines.llamacpp.files import BUILT_IN, model_file

# SmolLM2-Instruct's chat template, without its default system message.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}"
)


def converted(folder: Path) -> Path:
    """Return the folder with the model, made if it is not there."""
    if (folder / "config.json").exists():
        return folder
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    gguf = model_file(BUILT_IN)
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.chat_template = CHAT_TEMPLATE
    # The model that was read remembers that it was quantized; a fresh one with its weights does not.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = LlamaForCausalLM(config)
    model.load_state_dict(read.state_dict())
    unfinished = folder.with_name(folder.name + ".unfinished")
    model.save_pretrained(unfinished)
    tokenizer.save_pretrained(unfinished)
    os.rename(unfinished, folder)
    return folder


if __name__ == "__main__":
    print(converted(Path(sys.argv[1])))
