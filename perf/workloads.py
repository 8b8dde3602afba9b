"""The models, prompts and the task that benchmarks run on: random weights, as only shapes matter for time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.models.format.names import Pair, Plain
from loquent.pretrained import LanguageModel
from loquent.pretrained.pytorch import devices

CONTEXT = 256


@dataclass(frozen=True)
class Size:
    """A network's shape. tiny has about 1M parameters, small 7M, gpt2 the 124M of the smallest GPT-2."""

    vocabulary: int
    layers: int
    width: int
    heads: int


SIZES = {
    "quick": Size(64, 2, 16, 2),
    "tiny": Size(1024, 4, 128, 4),
    "small": Size(8192, 6, 256, 8),
    "gpt2": Size(50257, 12, 768, 12),
    "wide vocabulary": Size(50257, 2, 128, 4),
    "wide": Size(50257, 2, 768, 12),
}


def network(
    size: str, shape: str = "gpt2", seed: int = 0, *, device: str = "cpu", dtype: str = "float32"
) -> Any:
    """A network (of the shape t5 an encoder-decoder) of the library's own class, as its users make it.

    Equal seeds give equal weights, and no token ends a text.
    """
    import transformers

    of = SIZES[size]
    marks = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
    if shape == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=of.vocabulary,
            n_positions=CONTEXT,
            n_embd=of.width,
            n_layer=of.layers,
            n_head=of.heads,
            **marks,
        )
    elif shape == "t5":
        marks |= {"decoder_start_token_id": 0}
        sizes = {"d_model": of.width, "d_kv": of.width // of.heads, "d_ff": 4 * of.width}
        layers = {"num_layers": of.layers, "num_heads": of.heads, "dropout_rate": 0.0}
        config = transformers.T5Config(vocab_size=of.vocabulary, **sizes, **layers, **marks)
    else:
        sizes = {"vocab_size": of.vocabulary, "hidden_size": of.width, "intermediate_size": 8 * of.width // 3}
        layers = {
            "num_hidden_layers": of.layers,
            "num_attention_heads": of.heads,
            "max_position_embeddings": CONTEXT,
        }
        config = transformers.LlamaConfig(**sizes, **layers, **marks)
    with borrow_generators(Key(seed, (shape, size))):
        kind = transformers.AutoModelForSeq2SeqLM if shape == "t5" else transformers.AutoModelForCausalLM
        return kind.from_config(config).eval().to(device, devices.dtype(dtype))


def prompts(size: str, rows: int, length: int, seed: int = 0) -> list[list[int]]:
    """Rows of random ids, each beginning with the start token 0."""
    ids = Key(seed, ("prompts",)).generator().integers(1, SIZES[size].vocabulary, (rows, length))
    ids[:, 0] = 0
    return ids.tolist()


def language(size: str, seed: int = 0, shape: str = "gpt2", *, device: str = "cpu") -> LanguageModel:
    """The network with a tokenizer in which every word is one character, so that texts have the wanted number
    of tokens. The tokenizer of a causal model writes the start token before a text.
    """
    from tokenizers import Tokenizer, decoders, models, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<|end|>": 0, **{character(i): i for i in range(1, SIZES[size].vocabulary)}}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.decoder = decoders.Fuse()
    if shape != "t5":
        core.post_processor = processors.TemplateProcessing(
            single="<|end|> $A", special_tokens=[("<|end|>", 0)]
        )
    marks = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<|end|>")
    return LanguageModel(
        network(size, shape, seed, device=device), PreTrainedTokenizerFast(tokenizer_object=core, **marks)
    )


def character(token: int) -> str:
    """The text of a token: CJK ideographs and beyond, which are all letters to Unicode."""
    return chr(0x4E00 + token) if token < 20000 else chr(0x20000 + token - 20000)


class Endless(Plain):
    """The plain format of a model that never ends an answer by itself, so that all answers are of one
    length.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        self.end = frozenset()


class EndlessPair(Pair):
    """The same for an encoder-decoder: its encoder reads the prompt, then the end token."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer, (0,))
        self.end = frozenset()


class Continuation(Task):
    """Sees a prompt, says anything, earns the share of its characters with an even number."""

    spec = TaskSpec(id="continuation", rewards=Record(even=1.0))

    def __init__(self, size: str = "tiny", length: int = 64, count: int = 64) -> None:
        super().__init__()
        self.texts = ["".join(map(character, ids[1:])) for ids in prompts(size, count, length)]

    def rows(self, split: str) -> list[Row]:
        return [Row(f"{split}{i}", Record(text=text)) for i, text in enumerate(self.texts)]

    def first(self, row: Row, rng: Key) -> Opening:
        return Opening(row["text"], Observation(row["text"]))

    def read(self, state: str, text: str) -> str:
        return text

    def play(self, state: str, move: str) -> Outcome:
        return Outcome(state, Observation(""), Record(even=even(move)), "said")

    def expert(self, state: str) -> str:
        return state


def even(text: str) -> float:
    """The task's reward of an answer."""
    return float(np.mean([ord(one) % 2 == 0 for one in text])) if text else 0.0
