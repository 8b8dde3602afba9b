"""Vectors from a Hugging Face encoder: tokens in the context of their sentence, and whole texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import json_files
from loquent.core.settings import check_ranges, setting
from loquent.data.features.base import Featurizer, Vectors
from loquent.errors import BadSetting

# The keys of sentence-transformers.
POOLINGS = {"pooling_mode_cls_token": "first", "pooling_mode_mean_tokens": "mean"}


@dataclass(frozen=True, kw_only=True)
class _Encoding(Featurizer):
    """The shared part of the featurizers: the network, loaded at the first text, and its states."""

    batched: ClassVar[bool] = True

    model: str = setting(why="a Hugging Face name, or a folder with config.json, safetensors and a tokenizer")
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "the device of the network", choices=("auto", "cpu", "cuda"))

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def dimension(self) -> int:
        """The network's hidden size."""
        return int(self._network.dimension)

    @cached_property
    def reads(self) -> str:
        """A hash of the network's weights."""
        return str(self._network.weights)

    @cached_property
    def _network(self) -> Any:
        from loquent.pretrained import load_encoder  # torch and the library of networks take seconds

        return load_encoder(self.model, revision=self.revision or None, device=self.device)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension], in batches of texts of similar length.

        Texts are truncated to the context.
        """
        encoded = [self._network.ids(text) for text in texts]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for i, states in self._network.states([ids for ids, _ in encoded], self._layer):
            vectors[i] = self._pool(states, [end > begin for begin, end in encoded[i][1]])
        return vectors

    @property
    def _layer(self) -> int | None:
        return -1

    @abstractmethod
    def _pool(self, states: NDArray[np.float32], is_text: list[bool]) -> Vectors:
        """One vector from hidden states [tokens, dimension]; `is_text` is False for special tokens."""


@dataclass(frozen=True, kw_only=True)
class Contextual(_Encoding):
    """The hidden states of an encoder: the mean over the pieces of a token, or of a text."""

    layer: int = setting(
        -1, "the layer of the hidden states: 0 is the embeddings, -1 the last layer", low=-100, high=100
    )
    average: bool = setting(
        False,
        "the mean of all layers, the embeddings included, in place of `layer`",
        source="2211.01994 code",
    )
    cut: float = setting(
        32.0, "clip numbers to [-cut, cut], because an observation space has bounds", low=0.1
    )

    @property
    def bound(self) -> float:
        """The setting `cut`."""
        return self.cut

    def encode_tokens(self, sentences: Sequence[tuple[str, ...]]) -> list[Vectors]:
        """float32[tokens, dimension] for each sentence; zeros for a token beyond the context."""
        vectors = [np.zeros((len(tokens), self.dimension), dtype=np.float32) for tokens in sentences]
        encoded = [self._network.ids(" ".join(tokens)) for tokens in sentences]
        for i, states in self._network.states([ids for ids, _ in encoded], self._layer):
            for row, (start, stop) in zip(vectors[i], spans(sentences[i]), strict=True):
                pieces = [k for k, (begin, end) in enumerate(encoded[i][1]) if begin < stop and end > start]
                if pieces:
                    row[:] = np.clip(states[pieces].mean(0), -self.cut, self.cut)
        return vectors

    @property
    def _layer(self) -> int | None:
        return None if self.average else self.layer

    def _pool(self, states: NDArray[np.float32], is_text: list[bool]) -> Vectors:
        inside = states[is_text] if any(is_text) else np.zeros((1, self.dimension), dtype=np.float32)
        pooled: Vectors = np.clip(inside.mean(0), -self.cut, self.cut)
        return pooled


@dataclass(frozen=True, kw_only=True)
class Sentence(_Encoding):
    """A sentence encoder: the mean of a text's hidden states, or the first state, scaled to length 1.

    A blank text gives zeros. With `auto` a folder of sentence-transformers decides the pooling by its
    configuration.
    """

    pooling: str = setting(
        "auto",
        "the mean of all states, the first state, or as the folder's configuration (without one: the mean)",
        choices=("auto", "mean", "first"),
    )

    @property
    def bound(self) -> float:
        """A vector has length 1, up to rounding."""
        return 1.001

    def _pool(self, states: NDArray[np.float32], is_text: list[bool]) -> Vectors:
        if not any(is_text):
            return np.zeros(self.dimension, dtype=np.float32)
        pooled: Vectors = states[0] if self._pooling == "first" else states.mean(0)
        return pooled / max(float(np.linalg.norm(pooled)), 1e-12)

    @cached_property
    def _pooling(self) -> str:
        file = Path(self.model) / "1_Pooling" / "config.json"
        if self.pooling != "auto" or not file.is_file():
            return "mean" if self.pooling == "auto" else self.pooling
        config = json_files.load_object(file, error=BadSetting)
        chosen = [pooling for name, pooling in POOLINGS.items() if config.get(name)]
        if len(chosen) != 1:
            raise BadSetting(
                f"{file} enables {len(chosen)} of the poolings mean and first token; it must enable "
                "one; set pooling=mean or pooling=first"
            )
        return chosen[0]


def spans(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The (begin, end) of each token in the sentence of tokens joined by spaces."""
    positions, begin = [], 0
    for token in tokens:
        positions.append((begin, begin + len(token)))
        begin += len(token) + 1
    return positions
