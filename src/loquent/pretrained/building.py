"""Small untrained language models (GPT-2, Llama, T5, BART) and byte-level BPE tokenizers made from texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadSetting
from loquent.pretrained import sizes
from loquent.pretrained.folder import new_network
from loquent.pretrained.language import END, LanguageModel, begin, transformers_library
from loquent.pretrained.pytorch import devices

SHAPES = ("gpt2", "llama", "t5", "bart")


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
    """An untrained language model in evaluation mode, with a byte-level BPE tokenizer trained on `texts`.

    Args:
        texts: texts, or a fast tokenizer to use as it is (then `vocabulary` is unused).
        vocabulary: the most ids of the tokenizer; few texts give fewer.
        key: determines the initial weights; global random generators stay unchanged.
        dropout: the rate in training mode.
        shape: the architecture. "gpt2" (Radford et al. 2019) has absolute positions; "llama"
            (arXiv:2302.13971) has relative positions, with which a small model learns to copy earlier. "t5"
            (arXiv:1910.10683, relative positions) and "bart" (arXiv:1910.13461, absolute positions) are
            encoder-decoders with `layers` blocks on each side.

    Raises:
        BadSetting: a size or the shape is not possible.
    """
    transformers = transformers_library()
    if width % heads:
        raise BadSetting(f"width = {width}; it must be a multiple of heads = {heads}; change one of them")
    tokenizer = texts
    if not hasattr(texts, "get_vocab"):
        tokenizer = train_tokenizer(texts, vocabulary, context)
        if shape not in ("t5", "bart"):
            begin(tokenizer)
    marks = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    size = max(tokenizer.get_vocab().values()) + 1
    # GPT-2's 0.02 at its width 768; with 0.02 a narrow model hardly learns
    spread = 0.02 * (768 / width) ** 0.5
    numbers = {
        "vocab_size": size,
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "initializer_range": spread,
    }
    if shape == "llama":
        narrow = {
            "intermediate_size": 8 * width // 3,
            "max_position_embeddings": context,
            "attention_dropout": dropout,
        }
        config = transformers.LlamaConfig(**numbers, **narrow, **marks)
    elif shape == "gpt2":
        rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
        fused = {"activation_function": "gelu_pytorch_tanh"}  # GPT-2's "gelu_new" as a single kernel
        config = transformers.GPT2Config(
            **numbers, max_position_embeddings=context, **rates, **marks, **fused
        )
    elif shape in ("t5", "bart"):
        config = _pair_config(shape, size, layers, width, heads, context, dropout, marks)
    else:
        raise BadSetting(f"shape = {shape!r}; it must be one of {', '.join(SHAPES)}")
    kind = transformers.AutoModelForCausalLM
    if shape in ("t5", "bart"):
        kind = transformers.AutoModelForSeq2SeqLM
    sizes.check(kind, config, "model", devices.dtype("float32"), devices.device(device))
    with borrow_generators(key.child("initialisation")):
        module = new_network(kind, config)
    return LanguageModel(
        module.to(device=devices.device(device), dtype=devices.dtype(dtype)).eval(), tokenizer
    )


def _pair_config(
    shape: str,
    size: int,
    layers: int,
    width: int,
    heads: int,
    context: int,
    dropout: float,
    marks: dict[str, Any],
) -> Any:
    """The configuration of an encoder-decoder; its decoder starts with the padding id."""
    transformers = transformers_library()
    marks = {**marks, "decoder_start_token_id": marks["pad_token_id"]}
    if shape == "t5":
        return transformers.T5Config(
            vocab_size=size,
            d_model=width,
            d_kv=width // heads,
            d_ff=4 * width,
            num_layers=layers,
            num_heads=heads,
            dropout_rate=dropout,
            **marks,
        )
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", layers), ("attention_heads", heads), ("ffn_dim", 4 * width))
    }
    rates = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), dropout)
    return transformers.BartConfig(
        vocab_size=size,
        d_model=width,
        max_position_embeddings=context,
        init_std=0.02 * (768 / width) ** 0.5,
        forced_eos_token_id=None,
        **sides,
        **rates,
        **marks,
    )


def train_tokenizer(texts: Iterable[str], vocabulary: int, context: int) -> Any:
    """A byte-level BPE tokenizer (Sennrich et al. 2016), which encodes any text.

    Its only special token is `<|end|>`.

    Raises:
        BadSetting: the vocabulary is too small.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    if vocabulary < 257:
        raise BadSetting(
            f"vocabulary = {vocabulary} is too small; it must be at least 257, for 256 bytes and the "
            "end token"
        )
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(texts, trainer)
    marks = {"bos_token": END, "eos_token": END, "pad_token": END}
    fast = transformers_library().PreTrainedTokenizerFast
    return fast(
        tokenizer_object=inner,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
        padding_side="left",
        **marks,
    )
