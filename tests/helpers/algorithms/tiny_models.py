"""Tiny models of five architectures over the letters of `letters.py`: three causal, two encoder-decoders."""

import transformers
from tokenizers import Tokenizer, decoders, models

from helpers.algorithms.letters import END, LETTERS
from loquent.core.seeding import Key, borrow_generators
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.pretrained import LanguageModel

MARKS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
SIZE, WIDTH, CONTEXT = len(LETTERS) + 2, 16, 32  # one id more than letters and end: the decoder's start
START = SIZE - 1


def gpt2():
    sizes = {"n_embd": WIDTH, "n_layer": 1, "n_head": 2, "n_positions": CONTEXT}
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    return transformers.GPT2Config(vocab_size=SIZE, initializer_range=0.4, **sizes, **rates, **MARKS)


def _rotary(kind):
    sizes = {"hidden_size": WIDTH, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    more = {"num_key_value_heads": 1, "max_position_embeddings": CONTEXT, "initializer_range": 0.4}
    return kind(vocab_size=SIZE, **sizes, **more, **MARKS)


def llama():
    return _rotary(transformers.LlamaConfig)


def qwen():
    return _rotary(transformers.Qwen2Config)


def t5(**more):
    sizes = {"d_model": WIDTH, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    more = {"dropout_rate": 0.0, "initializer_factor": 0.6, "decoder_start_token_id": START, **more}
    return transformers.T5Config(vocab_size=SIZE, **sizes, **MARKS, **more)


def bart(kind=transformers.BartConfig, **more):
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 32))
    }
    rates = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.0)
    more = {"max_position_embeddings": CONTEXT, "init_std": 0.4, "decoder_start_token_id": START, **more}
    forced = {"forced_bos_token_id": None, "forced_eos_token_id": None}
    return kind(vocab_size=SIZE, d_model=WIDTH, **sides, **rates, **MARKS, **forced, **more)


CAUSAL = {"gpt2": gpt2, "llama": llama, "qwen": qwen}
PAIRS = {"t5": t5, "bart": bart}
SHAPES = {**CAUSAL, **PAIRS}


def tokenizer():
    vocabulary = {END: 0, **{letter: i for i, letter in enumerate(LETTERS, 1)}, "<start>": START}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.decoder = decoders.Fuse()
    core.add_special_tokens(["<start>"])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token=END, eos_token=END, pad_token=END
    )


def module(config, seed=0):
    kind = transformers.AutoModelForCausalLM
    if config.is_encoder_decoder:
        kind = transformers.AutoModelForSeq2SeqLM
    with borrow_generators(Key(seed, ("shapes",))):
        return kind.from_config(config).eval()


def actor(shape, seed=0, **more) -> Actor:
    """A small actor of one of the shapes; it draws up to six letters."""
    language = LanguageModel(module(SHAPES[shape](), seed), tokenizer())
    decoding = more.pop("decoding", Decoding(max_new_tokens=6))
    return Actor.build(
        language,
        **{"critic": "network", "reference": "copy", "evaluation": decoding, **more},
        decoding=decoding,
        key=Key(seed, ("critic",)),
    )
