"""Every encoder-decoder architecture of transformers that reads and writes text, at a tiny size."""

import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

from loquent.core.seeding import Key, borrow_generators

VOCABULARY, END, START = 40, 1, 3
MARKS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": END, "decoder_start_token_id": START}
SIDES = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 48))
}
BART = {"d_model": 32, **SIDES, "max_position_embeddings": 48, "init_std": 0.15}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "initializer_factor": 0.6}
TEXT = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 48, "sliding_window": 16,
    "vocab_size": VOCABULARY,
}  # fmt: skip
OWN = {
    "bart": BART,
    "bigbird_pegasus": {**BART, "attention_type": "original_full"},
    "blenderbot": BART,
    "blenderbot-small": BART,
    "led": {
        **BART, "max_encoder_position_embeddings": 48, "max_decoder_position_embeddings": 48,
        "attention_window": 8,
    },
    "longt5": {**T5, "num_decoder_layers": 2, "local_radius": 4},
    "m2m_100": BART,
    "marian": BART,
    "mbart": BART,
    "mt5": T5,
    "mvp": BART,
    "nllb-moe": {**BART, "num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
    "pegasus": BART,
    "pegasus_x": {**BART, "block_size": 8, "num_global_tokens": 2},
    "plbart": BART,
    "switch_transformers": {
        **T5, "num_decoder_layers": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1,
        "num_experts": 2,
    },
    "t5": T5,
    "t5gemma": {"encoder": TEXT, "decoder": {**TEXT, "cross_attention_hidden_size": 32}},
    "umt5": {**T5, "num_decoder_layers": 2},
}  # fmt: skip


def kinds():
    return sorted(MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)


def built(kind, seed=0):
    """A tiny model of an architecture, in evaluation mode and float32."""
    config = transformers.AutoConfig.for_model(
        kind, **{"vocab_size": VOCABULARY, **OWN.get(kind, {}), **MARKS}
    )
    with borrow_generators(Key(seed, ("pairs", kind))):
        return transformers.AutoModelForSeq2SeqLM.from_config(config).eval()
