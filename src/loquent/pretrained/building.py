"""A small language model of our own: a GPT-2- or Llama-shaped network from a config, and a byte-level BPE tokenizer trained on texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loquent.errors import BadSetting
from loquent.pretrained import devices
from loquent.pretrained.language import LanguageModel, transformers_library
from loquent.seeding import Key, borrowed

END = "<|end|>"  # the one special token of tokenizers made here: start, end and padding


def build(
    texts: Any,
    *,
    vocabulary: int = 2048,
    layers: int = 4,
    width: int = 128,
    heads: int = 4,
    context: int = 256,
    key: Key,
    device: str = "auto",
    dtype: str = "float32",
    dropout: float = 0.1,
    shape: str = "gpt2",
) -> LanguageModel:
    """An untrained model, GPT-2-shaped (Radford et al. 2019) or Llama-shaped, with a byte-level BPE tokenizer trained on `texts`.

    Args:
        texts: texts, or a fast tokenizer to use as it is (then `vocabulary` is not looked at).
        vocabulary: most ids the tokenizer may have; few texts give fewer.
        key: the initial weights depend on it alone; no global generator is changed.
        dropout: for training mode only; the model comes in evaluation mode.
        shape: "gpt2" has absolute positions; "llama" (arXiv:2302.13971) has relative ones, with which a small model learns to copy sooner.

    Raises:
        BadSetting: a size is not possible.
    """
    transformers = transformers_library()
    if width % heads:
        raise BadSetting(f"width = {width} is not a multiple of heads = {heads}")
    tokenizer = texts if hasattr(texts, "get_vocab") else train_tokenizer(texts, vocabulary, context)
    marks = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    size = max(tokenizer.get_vocab().values()) + 1
    spread = 0.02 * (768 / width) ** 0.5  # GPT-2's at GPT-2's width; at 0.02 a narrow model hardly begins to learn
    sizes = {"vocab_size": size, "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads, "initializer_range": spread}
    if shape == "llama":
        narrow = {"intermediate_size": 8 * width // 3, "max_position_embeddings": context, "attention_dropout": dropout}
        config = transformers.LlamaConfig(**sizes, **narrow, **marks)
    elif shape == "gpt2":
        rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
        fused = {"activation_function": "gelu_pytorch_tanh"}  # GPT-2's "gelu_new" computed in one pass
        config = transformers.GPT2Config(**sizes, max_position_embeddings=context, **rates, **marks, **fused)
    else:
        raise BadSetting(f"shape = {shape!r} is none of 'gpt2', 'llama'")
    with borrowed(key.child("initialisation")):
        module = transformers.AutoModelForCausalLM.from_config(config)
    return LanguageModel(module.to(device=devices.device(device), dtype=devices.dtype(dtype)).eval(), tokenizer)


def train_tokenizer(texts: Iterable[str], vocabulary: int, context: int) -> Any:
    """A byte-level BPE tokenizer (Sennrich et al. 2016) with the one special token `<|end|>`; no text is unknown to it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    if vocabulary < 257:
        raise BadSetting(f"vocabulary = {vocabulary} is too small: 256 bytes and one end token make 257")
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(texts, trainer)
    marks = {"bos_token": END, "eos_token": END, "pad_token": END}
    fast = transformers_library().PreTrainedTokenizerFast
    return fast(tokenizer_object=inner, model_max_length=context, clean_up_tokenization_spaces=False, padding_side="left", **marks)
