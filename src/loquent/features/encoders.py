"""Vectors from a network: tokens in their sentence, and whole texts, by the name or the folder of a Hugging Face encoder."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting
from loquent.features.base import Featurizer, Vectors
from loquent.settings import check_ranges, setting

POOLINGS = {"pooling_mode_cls_token": "first", "pooling_mode_mean_tokens": "mean"}  # as sentence-transformers writes them


@dataclass(frozen=True, kw_only=True)
class _Encoding(Featurizer):
    """What both kinds have in common: the network, loaded when the first text comes, and its hidden states in batches."""

    batched: ClassVar[bool] = True

    model: str = setting(why="a Hugging Face name, or a folder with config.json, safetensors and a tokenizer")
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "where the network lives", choices=("auto", "cpu", "cuda"))

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
        """float32[n, dimension]: one forward pass for texts of like length together; what is beyond the context is cut off."""
        told = [self._network.ids(text) for text in texts]
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for i, states in self._network.states([ids for ids, _ in told], self._layer):
            found[i] = self._pooled(states, [b > a for a, b in told[i][1]])
        return found

    @property
    def _layer(self) -> int:
        return -1

    @abstractmethod
    def _pooled(self, states: NDArray[np.float32], is_text: list[bool]) -> Vectors:
        """One vector from the hidden states [tokens, dimension] of a text; `is_text` tells its own pieces from markers."""


@dataclass(frozen=True, kw_only=True)
class Contextual(_Encoding):
    """The hidden states of an encoder: a token in its sentence has the mean over its pieces, a text the mean over all of its own."""

    layer: int = setting(-1, "whose hidden states: 0 are the embeddings, -1 the last layer's", low=-100, high=100)
    cut: float = setting(32.0, "numbers larger in size are cut off there: a space has bounds", low=0.1)

    @property
    def bound(self) -> float:
        """Where numbers are cut off."""
        return self.cut

    def encode_tokens(self, sentences: Sequence[tuple[str, ...]]) -> list[Vectors]:
        """For each sentence float32[tokens, dimension]; zeros for a token without a piece, as one beyond the network's context is."""
        found = [np.zeros((len(tokens), self.dimension), dtype=np.float32) for tokens in sentences]
        told = [self._network.ids(" ".join(tokens)) for tokens in sentences]
        for i, states in self._network.states([ids for ids, _ in told], self.layer):
            for row, (start, stop) in zip(found[i], spans(sentences[i]), strict=True):
                pieces = [k for k, (a, b) in enumerate(told[i][1]) if a < stop and b > start]
                if pieces:
                    row[:] = np.clip(states[pieces].mean(0), -self.cut, self.cut)
        return found

    @property
    def _layer(self) -> int:
        return self.layer

    def _pooled(self, states: NDArray[np.float32], is_text: list[bool]) -> Vectors:
        inside = states[is_text] if any(is_text) else np.zeros((1, self.dimension), dtype=np.float32)
        pooled: Vectors = np.clip(inside.mean(0), -self.cut, self.cut)
        return pooled


@dataclass(frozen=True, kw_only=True)
class Sentence(_Encoding):
    """A sentence encoder: the mean over a text's hidden states, or the first one's, of length 1; zeros for a text of spaces.

    A folder in the form of sentence-transformers says itself which pooling is right.
    """

    pooling: str = setting(
        "auto", "the mean over all states, the first one, or as the folder says (the mean where it is silent)", choices=("auto", "mean", "first")
    )

    @property
    def bound(self) -> float:
        """A vector has length 1, give or take a rounding."""
        return 1.001

    def _pooled(self, states: NDArray[np.float32], is_text: list[bool]) -> Vectors:
        if not any(is_text):
            return np.zeros(self.dimension, dtype=np.float32)
        found: Vectors = states[0] if self._pooling == "first" else states.mean(0)
        return found / max(float(np.linalg.norm(found)), 1e-12)

    @cached_property
    def _pooling(self) -> str:
        file = Path(self.model) / "1_Pooling" / "config.json"
        if self.pooling != "auto" or not file.is_file():
            return "mean" if self.pooling == "auto" else self.pooling
        told = json.loads(file.read_text(encoding="utf-8"))
        chosen = [way for name, way in POOLINGS.items() if told.get(name)]
        if len(chosen) != 1:
            raise BadSetting(f"{file} asks for a pooling that is neither the mean nor the first token; pooling=mean or first chooses one")
        return chosen[0]


def spans(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Where each token stands in the sentence, which is the tokens with a space between each two."""
    found, at = [], 0
    for token in tokens:
        found.append((at, at + len(token)))
        at += len(token) + 1
    return found
