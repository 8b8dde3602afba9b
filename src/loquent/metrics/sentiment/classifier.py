"""Linear text classifiers: counted n-grams, tf-idf, one weight per feature, and a logistic function.

scikit-learn trains them (`classifier_training.py`), and this module scores with numpy. The arrays are stored
as .npz and JSON, without pickle. The score of a text does not depend on the other texts of the batch, bit for
bit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.core import schema
from loquent.core.guards import json_files, opening
from loquent.core.settings import setting
from loquent.metrics.text import words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WORD_BITS = 20  # so that three words fit into a 63-bit code
SPACE = re.compile(r"\s+")


class Counts(NamedTuple):
    """The n-gram counts of texts, sorted by text and feature: int64[N] each."""

    text: Ints
    feature: Ints
    times: Ints


@dataclass(frozen=True, eq=False)
class WordNgrams:
    """Word 1-, 2- and 3-grams. Punctuation marks are words, so "not good" and ", but" are features."""

    kind: ClassVar[str] = "word n-grams"
    vocabulary: dict[str, int]  # word -> 1, 2, ...; 0 is any other word
    codes: Ints  # the codes of the features, sorted

    def __len__(self) -> int:
        return len(self.codes)

    def __call__(self, texts: Sequence[str]) -> Counts:
        """Count the features of each text; other n-grams are ignored."""
        text, code = self.ngrams(texts)
        if not len(self.codes):
            return _counted(text[:0], code[:0])
        place = np.searchsorted(self.codes, code)
        place[place == len(self.codes)] = 0
        listed = self.codes[place] == code
        return _counted(text[listed], place[listed])

    def ngrams(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """All n-grams of words in the vocabulary: (number of the text, code of the n-gram), int64[N] each."""
        tokens = [words(text) for text in texts]
        lengths = list(map(len, tokens))
        get = self.vocabulary.get
        ids = np.fromiter(
            (get(word, 0) for word in chain.from_iterable(tokens)), dtype=np.int64, count=sum(lengths)
        )
        text = np.repeat(np.arange(len(tokens), dtype=np.int64), lengths)
        texts_of, codes, code = [text[ids > 0]], [ids[ids > 0]], ids
        for n in (2, 3):
            m = len(ids) - n + 1
            if m <= 0:
                break
            valid = (code[:m] > 0) & (ids[n - 1 :] > 0) & (text[:m] == text[n - 1 :])
            code = np.where(valid, code[:m] << WORD_BITS | ids[n - 1 :], 0)
            texts_of.append(text[:m][code > 0])
            codes.append(code[code > 0])
        return np.concatenate(texts_of), np.concatenate(codes)


@dataclass(frozen=True, eq=False)
class CharacterNgrams:
    """Character 4-, 5- and 6-grams, also across words, hashed into 2**bits features."""

    kind: ClassVar[str] = "character n-grams"
    bits: int = 18

    def __len__(self) -> int:
        return 1 << self.bits

    def __call__(self, texts: Sequence[str]) -> Counts:
        """Count the features of each text.

        Texts are lower-cased, a run of white space is one space, and one space is added at both ends.
        """
        plain = (SPACE.sub(" ", text.lower()).strip() for text in texts)
        encoded = [f" {text} ".encode("utf-32-le", "surrogatepass") for text in plain]
        letters = np.frombuffer(b"".join(encoded), dtype="<u4").astype(np.uint64)
        text = np.repeat(np.arange(len(encoded), dtype=np.int64), [len(data) // 4 for data in encoded])
        texts_of, features, code = [], [], letters
        for n in range(2, 7):
            m = len(letters) - n + 1
            if m <= 0:
                break
            code = code[:m] * np.uint64(0x100000001B3) + letters[n - 1 :]  # modulo 2**64, as in FNV
            if n < 4:
                continue
            inside = text[:m] == text[n - 1 :]
            mixed = (code[inside] + np.uint64(n)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - self.bits)
            texts_of.append(text[:m][inside])
            features.append(mixed.astype(np.int64))
        if not features:
            return _counted(text[:0], text[:0])
        return _counted(np.concatenate(texts_of), np.concatenate(features))


Features = WordNgrams | CharacterNgrams


@dataclass(frozen=True)
class _Head:
    """What `classifier.json` holds beside the arrays."""

    kind: Literal["word n-grams", "character n-grams"]
    slope: float
    intercept: float
    vocabulary: tuple[str, ...] = ()
    bits: int = setting(18, low=1, high=32)


@dataclass(frozen=True, eq=False)
class Classifier:
    """P(positive) = logistic(slope * w.x + intercept) for a text with the tf-idf vector x.

    The vector is scaled to length 1.
    """

    features: Features
    idf: Floats
    weights: Floats
    slope: float
    intercept: float

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """The probability that each text is positive."""
        counts = self.features(texts)
        values = weighted(counts, self.idf, len(texts))
        margins = np.bincount(counts.text, values * self.weights[counts.feature], len(texts))
        return [logistic(self.slope * margin + self.intercept) for margin in margins.tolist()]

    def save(self, folder: Path) -> None:
        """Write `classifier.json` and `arrays.npz` into an existing folder."""
        head: dict[str, Any] = {"kind": self.features.kind, "slope": self.slope, "intercept": self.intercept}
        arrays: dict[str, NDArray[Any]] = {"idf": self.idf, "weights": self.weights}
        if isinstance(self.features, WordNgrams):
            head["vocabulary"] = list(self.features.vocabulary)
            arrays["codes"] = self.features.codes
        else:
            head["bits"] = self.features.bits
        (folder / "classifier.json").write_text(json.dumps(head), encoding="utf-8")
        with (folder / "arrays.npz").open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]  # numpy's stub takes one array type

    @staticmethod
    def load(folder: Path) -> Classifier:
        """Read the files of `save`.

        Raises:
            OSError, ValueError, KeyError: a file is missing, damaged or something else.
        """
        head = schema.read(_Head, json_files.loads(opening.whole(folder / "classifier.json")))
        arrays = opening.arrays(folder / "arrays.npz")
        features: Features = CharacterNgrams(head.bits)
        if head.kind == WordNgrams.kind:
            features = WordNgrams({word: i for i, word in enumerate(head.vocabulary, 1)}, arrays["codes"])
        if not len(features) == len(arrays["idf"]) == len(arrays["weights"]):
            raise ValueError(
                f"{folder}: {len(features)} features, {len(arrays['idf'])} idf and "
                f"{len(arrays['weights'])} weights"
            )
        return Classifier(features, arrays["idf"], arrays["weights"], head.slope, head.intercept)


def weighted(counts: Counts, idf: Floats, texts: int) -> Floats:
    """The tf-idf values (1 + log count) * idf of counted features, each text scaled to Euclidean length 1."""
    logs = np.array([0.0, *(1 + math.log(k) for k in range(1, int(counts.times.max(initial=0)) + 1))])
    values = logs[counts.times] * idf[counts.feature]
    norms = np.sqrt(np.bincount(counts.text, values * values, texts))
    scaled: Floats = values / norms[counts.text]
    return scaled


def logistic(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def counted(features: Features, texts: Sequence[str], size: int = 512) -> Counts:
    """The counts of many texts, computed for `size` texts at a time."""
    chunks = []
    for first in range(0, len(texts), size):
        counts = features(texts[first : first + size])
        chunks.append(counts._replace(text=counts.text + first))
    return Counts(*(np.concatenate(part) for part in zip(*chunks, strict=True)))


def _counted(text: Ints, feature: Ints) -> Counts:
    if not len(text):
        return Counts(text, feature, feature)
    width = int(feature.max()) + 1
    keys, count = np.unique(text * width + feature, return_counts=True)
    return Counts(keys // width, keys % width, count.astype(np.int64))
