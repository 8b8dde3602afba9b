"""Every causal architecture of the library at a tiny size, with large weights, as the tests of output layers
build them.
"""

import inspect
from typing import Any

import torch

from loquent.core.seeding import Key, borrowed

LARGEST = 40_000_000  # parameters: more take too long on two cores
VOCABULARY = 40
SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "max_position_embeddings": 64, "d_model": 32, "n_embd": 32, "n_layer": 2, "n_head": 4,
    "n_layers": 2, "n_heads": 4,
    "num_layers": 2,
    "n_positions": 64, "ffn_dim": 32, "ffn_hidden_size": 32, "expert_ffn_hidden_size": 16,
    "decoder_layers": 2, "decoder_attention_heads": 4,
    "decoder_ffn_dim": 32, "encoder_layers": 1, "encoder_attention_heads": 4, "encoder_ffn_dim": 32,
    "num_experts": 4, "num_local_experts": 4,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_topk": 2, "zero_expert_num": 1,
    "moe_intermediate_size": 16, "embedding_size": 32,
    "word_embed_proj_dim": 32, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8, "v_head_dim": 8,
    "vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8, "num_heads": 4, "depth": 1,
    "is_decoder": True, "pad_token_id": None, "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.3,
}  # fmt: skip
IN_CI = ("gemma2", "nanochat", "gpt2", "llama", "cohere", "granite", "bert", "opt")
OWN: dict[str, dict[str, Any]] = {
    "kimi_linear": {"linear_head_dim": 8, "linear_num_heads": 2},
    "falcon_h1": {
        "mamba_d_ssm": 32,
        "mamba_n_heads": 4,
        "mamba_d_head": 8,
        "mamba_chunk_size": 8,
        "mamba_d_state": 8,
        "mamba_n_groups": 1,
    },
    "axk1": {"num_key_value_heads": 4, "n_group": 1, "topk_group": 1},
    "axk2": {"num_key_value_heads": 4},
    "bamba": {"mamba_n_heads": 4},
    "camembert": {"pad_token_id": 1},
    "codegen": {"rotary_dim": 4},
    "cohere": {"logit_scale": 0.3},
    "cohere_compass_text": {
        "layer_types": ["full_attention", "full_attention"],
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}},
    },
    "data2vec-text": {"pad_token_id": 1},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0}},
    "deepseek_v2": {"num_key_value_heads": 4},
    "deepseek_v3": {"num_key_value_heads": 4},
    "deepseek_v32": {"num_key_value_heads": 4},
    "dots1": {"n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1},
    "dots3_note": {
        "text_config": {
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
        }
    },
    "dots3_note_text": {"num_key_value_heads": 4},
    "emu3": {
        "text_config": {
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
        }
    },
    "fuyu": {
        "text_config": {
            "model_type": "persimmon",
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
        "vocab_size": 40,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    },
    "gemma2": {"final_logit_softcapping": 5.0},
    "gemma3": {
        "text_config": {
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "head_dim": 8,
        },
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "intermediate_size": 32,
            "num_attention_heads": 4,
            "image_size": 56,
            "patch_size": 14,
        },
        "mm_tokens_per_image": 4,
    },
    "gemma3n_text": {
        "num_kv_shared_layers": 0,
        "vocab_size_per_layer_input": 40,
        "hidden_size_per_layer_input": 8,
        "laurel_rank": 4,
        "activation_sparsity_pattern": [0.0, 0.0],
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "gemma4": {
        "text_config": {
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "head_dim": 8,
            "global_head_dim": 8,
            "vocab_size_per_layer_input": 40,
            "hidden_size_per_layer_input": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        }
    },
    "gemma4_assistant": {
        "text_config": {
            "model_type": "gemma4_text",
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "head_dim": 8,
            "hidden_size_per_layer_input": 0,
            "vocab_size_per_layer_input": 0,
        }
    },
    "gemma4_text": {
        "vocab_size_per_layer_input": 40,
        "hidden_size_per_layer_input": 8,
        "layer_types": ["sliding_attention", "full_attention"],
        "global_head_dim": 8,
    },
    "gemma4_unified": {
        "text_config": {
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "head_dim": 8,
            "global_head_dim": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        }
    },
    "gemma4_unified_assistant": {
        "text_config": {"model_type": "gemma4_unified_text", "num_kv_shared_layers": 0}
    },
    "glm4_moe_lite": {"num_key_value_heads": 4},
    "glm_moe_dsa": {"num_key_value_heads": 4},
    "got_ocr2": {
        "text_config": {
            "model_type": "qwen2",
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
        "vision_config": {
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "intermediate_size": 32,
            "num_attention_heads": 4,
            "image_size": 56,
            "patch_size": 14,
            "output_channels": 32,
            "mlp_dim": 32,
            "num_pos_feats": 16,
            "global_attn_indexes": [0],
        },
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "num_heads": 4},
    "gptj": {"rotary_dim": 4},
    "granite": {"logits_scaling": 3.0},
    "granitemoehybrid": {"mamba_n_heads": 4},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"], "num_dense_layers": 1},
    "longcat_flash": {"num_key_value_heads": 4},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1},
    "minicpm3": {"num_key_value_heads": 4},
    "modernbert-decoder": {"pad_token_id": 1},
    "moshi": {"audio_vocab_size": 40},
    "moss_transcribe_diarize": {
        "text_config": {
            "model_type": "qwen3",
            "vocab_size": 40,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "head_dim": 8,
        }
    },
    "prophetnet": {
        "pad_token_id": 1,
        "num_decoder_layers": 2,
        "num_encoder_layers": 1,
        "num_decoder_attention_heads": 4,
        "num_encoder_attention_heads": 4,
        "hidden_size": 32,
    },
    "reformer": {
        "axial_pos_embds": False,
        "attn_layers": ["local", "local"],
        "is_decoder": True,
        "attention_head_size": 8,
        "feed_forward_size": 32,
        "local_attn_chunk_length": 8,
        "pad_token_id": 1,
    },
    "roberta": {"pad_token_id": 1},
    "roberta-prelayernorm": {"pad_token_id": 1},
    "xglm": {"pad_token_id": 1},
    "xlm": {
        "emb_dim": 32,
        "n_layers": 2,
        "n_heads": 4,
        "n_words": 40,
        "causal": True,
        "is_decoder": False,
        "pad_token_id": 1,
    },
    "xlm-roberta": {"pad_token_id": 1},
    "xlm-roberta-xl": {"pad_token_id": 1},
    "xmod": {"default_language": "en_XX", "pad_token_id": 1},
    "youtu": {"num_key_value_heads": 4},
    "zamba": {
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid"],
    },
    "zamba2": {
        "num_hidden_layers": 3,
        "layers_block_type": ["linear_attention", "linear_attention", "hybrid"],
    },
    "zaya": {"num_experts_per_tok": 1},
}


# kind -> what building it says (a pattern), checked by the sweep
NOT_BUILT = {
    "blt": r"96,199,808 parameters",  # its patcher and hash embeddings have sizes of their own
    # the library's own modelling code and configuration do not agree
    "dbrx": r"has no attribute 'rope_theta'",
    "dots3_note": r"per_layer_config",  # the experts of its vision tower are listed by layer
    "gemma3n": r"timm library",  # its vision tower needs a package
    "gemma4_assistant": r"layer types producing a cache",  # it reads the cache of another model
    "gemma4_unified_assistant": r"layer types producing a cache",
    "musicgen": r"has no attribute 'dropout'",  # its decoder is built from a configuration of its own
    "musicgen_melody": r"has no attribute 'dropout'",
}
# kind -> why its output layer is not recognised, so that it is asked for its own logits
ASKED = {
    "cpmant": "the trunk reads changed ids",
    "llama4": "the trunk's name is not that of an attribute",
    "llama4_text": "the trunk's name is not that of an attribute",
    "mllama": "the trunk's name is not that of an attribute",
    "prophetnet": "the trunk gives streams of several predictions",
    "rwkv": "the trunk is not given the mask",
}
NOT_CAUSAL = {
    "cpmant": "its prompts are read in both directions",
    "xlnet": "without a permutation mask every position reads all",
}
# kind -> what a step of training says (a pattern)
NOT_TRAINED = {"reformer": "multiple of least common multiple chunk_length"}
READS_PADDING = {"prophetnet": "the buckets of its relative positions depend on the length of the row"}


def built(kind, dtype="float64", device="cpu", **options):
    """A causal model of a kind that the library knows, in evaluation mode.

    ValueError where it has more than `LARGEST` parameters.
    """
    from transformers import AutoModelForCausalLM

    config = config_of(kind, **options)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in AutoModelForCausalLM.from_config(config).parameters())
    if count > LARGEST:
        raise ValueError(f"{count:,} parameters")
    with borrowed(Key(0, (kind,))):
        return AutoModelForCausalLM.from_config(config).to(device, getattr(torch, dtype)).eval()


def config_of(kind, **options):
    """The configuration of a kind at these sizes, parts of it too."""
    from transformers import PreTrainedConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    made = CONFIG_MAPPING[kind]
    parts = {name: part for name, part in made.sub_configs.items() if issubclass(part, PreTrainedConfig)}
    sizes = {
        name: {**_known(part), **({"hidden_size": 32} if name != "text_config" else {})}
        for name, part in parts.items()
    }
    return made(**{**_known(made), **sizes, **OWN.get(kind, {}), **options})


def _known(made):
    """The sizes that a configuration knows."""
    known = {*inspect.signature(made.__init__).parameters, *getattr(made, "attribute_map", {})}
    known |= {name for base in made.__mro__ for name in getattr(base, "__annotations__", {})}
    return {name: size for name, size in SIZES.items() if name in known}


def enlarge(module, factor=3.0):
    """Weights as after training that makes logits large."""
    with torch.no_grad():
        for parameter in module.get_output_embeddings().parameters():
            parameter.mul_(factor)
