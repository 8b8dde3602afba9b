"""Low-rank adapters (LoRA, arXiv:2106.09685) on language models, by the library peft."""

from loquent.pretrained.lora.folders import base_of, dtype_of, is_adapter, is_pair, load, own_name, save
from loquent.pretrained.lora.injecting import adapt, base, base_tensors, is_adapted, merge

__all__ = [
    "adapt", "base", "base_of", "base_tensors", "dtype_of", "is_adapted", "is_adapter", "is_pair", "load",
    "merge", "own_name", "save",
]  # fmt: skip
