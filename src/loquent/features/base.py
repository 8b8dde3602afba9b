"""A featurizer: texts to vectors. It keeps no game's state, only a cache by text, so one serves any number of environments."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from loquent.errors import LoquentError
from loquent.values import digest

CACHE_BYTES = 256 << 20  # of vectors that one featurizer keeps

Vectors = NDArray[np.float32]
Name = TypeVar("Name")


class Kept(dict[Name, Vectors], Generic[Name]):
    """Vectors by what they were made of; when they take too much memory the older half goes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit, self.bytes = limit, 0

    def put(self, name: Name, vectors: Vectors) -> None:
        """Keep an array, which from now on cannot be written to."""
        vectors.flags.writeable = False
        self[name] = vectors
        self.bytes += vectors.nbytes
        if self.bytes > self.limit:
            for old in list(self)[: len(self) // 2]:
                self.bytes -= self.pop(old).nbytes


class Featurizer(ABC):
    """Texts to vectors of one length. A child is a frozen dataclass of settings and writes `encode`, `dimension` and `bound`.

    What is computed or read is kept by text and may be dropped at any moment; a copy is the featurizer itself, and a pickle holds the
    settings alone.

    Example:
        >>> from loquent.features import Hashed
        >>> Hashed(dimension=64)(["a film", ""]).shape
        (2, 64)
    """

    batched: ClassVar[bool] = False  # whether many texts at once are much faster than one by one, as for networks

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The length of a vector."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """No component is larger in size: what the space of an observation says."""

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension] of texts that are not in the cache."""

    def encode_tokens(self, sentences: Sequence[tuple[str, ...]]) -> list[Vectors]:
        """For each sentence float32[tokens, dimension]: each token in its sentence. Here, without contexts, each token by itself."""
        return [self(tokens) for tokens in sentences]

    @property
    def reads(self) -> str:
        """A hash of the files that stand behind the settings; empty where there are none."""
        return ""

    @cached_property
    def identity(self) -> str:
        """What tells this featurizer from others in every process: its kind, its settings, and what it reads."""
        return f"{type(self).__name__}-{digest({**_settings(self), 'reads': self.reads})}"

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension], a fresh array; equal texts have equal vectors, whatever was asked before."""
        known = {text: self._texts.get(text) for text in texts}
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            fresh = self._checked(self.encode(missing), len(missing))
            for text, vector in zip(missing, fresh, strict=True):
                known[text] = vector.copy()
                self._texts.put(text, known[text])  # type: ignore[arg-type]
        found = np.empty((len(texts), self.dimension), dtype=np.float32)
        for i, text in enumerate(texts):
            found[i] = known[text]
        return found

    def vector(self, text: str) -> Vectors:
        """float32[dimension] of one text: the kept vector itself, which cannot be written to."""
        found = self._texts.get(text)
        if found is None:
            self([text])
            found = self._texts[text]
        return found

    def tokens(self, tokens: tuple[str, ...]) -> Vectors:
        """float32[tokens, dimension]: each token in its sentence; the kept vectors, which cannot be written to."""
        found = self._sentences.get(tokens)
        if found is None:
            self.warm((), (tokens,))
            found = self._sentences[tokens]
        return found

    def warm(self, texts: Sequence[str], sentences: Sequence[tuple[str, ...]] = ()) -> None:
        """Encode many texts and sentences at once, which networks do faster than one by one."""
        if texts:
            self(list(dict.fromkeys(texts)))
        missing = [tokens for tokens in dict.fromkeys(sentences) if tokens not in self._sentences]
        for tokens, vectors in zip(missing, self.encode_tokens(missing) if missing else (), strict=True):
            self._sentences.put(tokens, self._checked(vectors, len(tokens)).copy())

    def clipped(self, vectors: Vectors) -> Vectors:
        """The array itself, cut at the bound: in float32 a mean or a multiple of what lies within may come out a little outside."""
        return np.clip(vectors, -self.bound, self.bound, out=vectors)

    @cached_property
    def _texts(self) -> Kept[str]:
        return Kept(CACHE_BYTES)

    @cached_property
    def _sentences(self) -> Kept[tuple[str, ...]]:
        return Kept(CACHE_BYTES)

    def _checked(self, vectors: Any, count: int) -> Vectors:
        found = np.asarray(vectors, dtype=np.float32)
        if found.shape != (count, self.dimension):
            raise LoquentError(f"{type(self).__name__} made an array of {found.shape} from {count} texts; {(count, self.dimension)} is right")
        if not (np.abs(found) <= self.bound).all():
            raise LoquentError(f"{type(self).__name__} made a number outside its bound of {self.bound:g}, or one that is not finite")
        return found

    def __copy__(self) -> Featurizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Featurizer:
        return self  # settings and a cache by text: nothing that two users could tell apart

    def __getstate__(self) -> dict[str, Any]:
        return _settings(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def _settings(featurizer: Featurizer) -> dict[str, Any]:
    return {field.name: getattr(featurizer, field.name) for field in dataclasses.fields(featurizer)}  # type: ignore[arg-type]
