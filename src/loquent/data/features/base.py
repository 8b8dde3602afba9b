"""The base class of featurizers, which map texts to vectors.

A featurizer has no state but a cache by text, so any number of environments can share it.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.values import digest
from loquent.errors import LoquentError

CACHE_BYTES = 256 << 20  # the size limit of a featurizer's cache

Vectors = NDArray[np.float32]
Name = TypeVar("Name")


class VectorCache(dict[Name, Vectors], Generic[Name]):
    """A cache of arrays by their input. Above `limit` bytes it drops the older half."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit, self.bytes = limit, 0

    def put(self, name: Name, vectors: Vectors) -> None:
        """Store an array and make it read-only."""
        vectors.flags.writeable = False
        self[name] = vectors
        self.bytes += vectors.nbytes
        if self.bytes > self.limit:
            for old in list(self)[: len(self) // 2]:
                self.bytes -= self.pop(old).nbytes


class Featurizer(ABC):
    """A map from texts to vectors of one length.

    A subclass is a frozen dataclass of settings and defines `encode`, `dimension` and `bound`. Vectors are
    cached by text. A copy of a featurizer is the featurizer itself, and a pickle holds the settings alone.

    Example:
        >>> from loquent.data.features import Hashed
        >>> Hashed(dimension=64)(["a film", ""]).shape
        (2, 64)
    """

    batched: ClassVar[bool] = False  # True if batches are much faster than single texts, as for networks

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The length of a vector."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """The largest absolute value of a component, for the bounds of observation spaces."""

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension]: the vectors of texts, computed without the cache."""

    def encode_tokens(self, sentences: Sequence[tuple[str, ...]]) -> list[Vectors]:
        """float32[tokens, dimension] for each sentence.

        By default tokens have no context: each is encoded as a text.
        """
        return [self(tokens) for tokens in sentences]

    @property
    def reads(self) -> str:
        """A hash of the files that the settings name; empty without files."""
        return ""

    @cached_property
    def identity(self) -> str:
        """An id, equal in every process: the kind, and a hash of the settings and the files."""
        return f"{type(self).__name__}-{digest({**_settings(self), 'reads': self.reads})}"

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension], a new array. Equal texts always have equal vectors."""
        by_text = {text: self._texts.get(text) for text in texts}
        missing = [text for text, vector in by_text.items() if vector is None]
        if missing:
            fresh = self._check(self.encode(missing), len(missing))
            for text, vector in zip(missing, fresh, strict=True):
                copy = vector.copy()
                by_text[text] = copy
                self._texts.put(text, copy)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for i, text in enumerate(texts):
            vectors[i] = by_text[text]
        return vectors

    def vector(self, text: str) -> Vectors:
        """float32[dimension] of one text: the cached array, which is read-only."""
        vector = self._texts.get(text)
        if vector is None:
            self([text])
            vector = self._texts[text]
        return vector

    def tokens(self, tokens: tuple[str, ...]) -> Vectors:
        """float32[tokens, dimension] of one sentence: the cached array, which is read-only."""
        vectors = self._sentences.get(tokens)
        if vectors is None:
            self.warm((), (tokens,))
            vectors = self._sentences[tokens]
        return vectors

    def warm(self, texts: Sequence[str], sentences: Sequence[tuple[str, ...]] = ()) -> None:
        """Cache the vectors of texts and sentences in one batch, which is faster for networks."""
        if texts:
            self(list(dict.fromkeys(texts)))
        missing = [tokens for tokens in dict.fromkeys(sentences) if tokens not in self._sentences]
        for tokens, vectors in zip(missing, self.encode_tokens(missing) if missing else (), strict=True):
            self._sentences.put(tokens, self._check(vectors, len(tokens)).copy())

    def clip_vectors(self, vectors: Vectors) -> Vectors:
        """The array, clipped in place to the bound, which float32 rounding can exceed."""
        return np.clip(vectors, -self.bound, self.bound, out=vectors)

    @cached_property
    def _texts(self) -> VectorCache[str]:
        return VectorCache(CACHE_BYTES)

    @cached_property
    def _sentences(self) -> VectorCache[tuple[str, ...]]:
        return VectorCache(CACHE_BYTES)

    def _check(self, vectors: Any, count: int) -> Vectors:
        array = np.asarray(vectors, dtype=np.float32)
        name, shape = type(self).__name__, (count, self.dimension)
        if array.shape != shape:
            raise LoquentError(
                f"{name} returned an array of shape {array.shape} for {count} texts; the shape must "
                f"be {shape}"
            )
        if not (np.abs(array) <= self.bound).all():
            raise LoquentError(
                f"{name} returned a number that is not finite or outside its bound; numbers must be "
                f"within {self.bound:g}"
            )
        return array

    def __copy__(self) -> Featurizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Featurizer:
        return self  # it is immutable but for the cache, so sharing is safe

    def __getstate__(self) -> dict[str, Any]:
        return _settings(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def _settings(featurizer: Featurizer) -> dict[str, Any]:
    return {field.name: getattr(featurizer, field.name) for field in dataclasses.fields(featurizer)}  # type: ignore[arg-type]  # every featurizer is a dataclass
