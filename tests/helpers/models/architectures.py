"""Every causal architecture of the library at a tiny size, with large weights, as the tests of output layers
build them.
"""

import inspect
from pathlib import Path
from typing import Any

import torch
import yaml

from loquent.core.seeding import Key, borrow_generators

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
OWN: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("architectures.yaml").read_text())


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
    with borrow_generators(Key(0, (kind,))):
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
