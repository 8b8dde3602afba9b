"""Linear text classifiers: counted n-grams, tf-idf, one weight per feature, and a logistic function.

scikit-learn trains them (`linear_training.py`), and this module scores with numpy. The score of a text does
not depend on the other texts of the batch, bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.core import schema
from loquent.core.settings import setting
from loquent.errors import BadSetting
from loquent.metrics.judges import card
from loquent.metrics.text import words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

KIND, ADVICE = "linear", "name a folder of a linear classifier"
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
    """All but the arrays, as the card has it."""

    features: Literal["word n-grams", "character n-grams"]
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
        values = tf_idf(counts, self.idf, len(texts))
        margins = np.bincount(counts.text, values * self.weights[counts.feature], len(texts))
        return [logistic(self.slope * margin + self.intercept) for margin in margins.tolist()]

    def head(self) -> dict[str, Any]:
        """All but the arrays, as JSON values."""
        head: dict[str, Any] = {
            "features": self.features.kind,
            "slope": self.slope,
            "intercept": self.intercept,
        }
        if isinstance(self.features, WordNgrams):
            return head | {"vocabulary": list(self.features.vocabulary)}
        return head | {"bits": self.features.bits}

    def arrays(self) -> card.Arrays:
        """The arrays by name."""
        arrays: card.Arrays = {"idf": self.idf, "weights": self.weights}
        return arrays | ({"codes": self.features.codes} if isinstance(self.features, WordNgrams) else {})

    @staticmethod
    def of(value: Any, arrays: card.Arrays) -> Classifier:
        """The classifier of a head and its arrays; ValueError or KeyError if they do not fit."""
        head = schema.read(_Head, value)
        features: Features = CharacterNgrams(head.bits)
        if head.features == WordNgrams.kind:
            features = WordNgrams({word: i for i, word in enumerate(head.vocabulary, 1)}, arrays["codes"])
        if not (len(features),) == arrays["idf"].shape == arrays["weights"].shape:
            raise ValueError(
                f"{len(features)} features, {arrays['idf'].shape} idf and {arrays['weights'].shape} weights"
            )
        return Classifier(features, arrays["idf"], arrays["weights"], head.slope, head.intercept)


@dataclass(frozen=True, eq=False)
class Linear:
    """A classifier with ordered labels: one `Classifier` for each label but the lowest.

    A `Classifier` has the probability that a text reaches or exceeds its label.
    """

    labels: tuple[str, ...]
    thresholds: tuple[Classifier, ...]

    def __call__(self, texts: Sequence[str]) -> Floats:
        """f64[n, labels]: the probability of each label; rows sum to 1."""
        reached = [np.ones(len(texts)), *(np.array(part(texts)) for part in self.thresholds)]
        reached = list(np.minimum.accumulate([*reached, np.zeros(len(texts))]))
        return np.stack([here - above for here, above in pairwise(reached)], axis=1)

    def save(self, folder: Path, content: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Write the classifier to a folder, which must not exist or be empty.

        Args:
            content: more content of the card.
        """
        arrays = {
            f"{i}.{name}": array
            for i, part in enumerate(self.thresholds)
            for name, array in part.arrays().items()
        }
        heads = [part.head() for part in self.thresholds]
        card.save(folder, KIND, {"labels": list(self.labels), "thresholds": heads, **content}, arrays)

    @staticmethod
    def load(folder: Path) -> Linear:
        """The classifier of a folder; BadSetting where it is damaged or something else."""
        content, arrays = card.load(folder, KIND, ADVICE)
        labels, heads = content.get("labels"), content.get("thresholds")
        if (
            not isinstance(labels, list)
            or len(labels) < 2
            or not all(isinstance(name, str) for name in labels)
        ):
            raise BadSetting(f"{folder / card.CARD}: its labels are {labels!r:.80}; {ADVICE}")
        try:
            if not isinstance(heads, list) or len(heads) != len(labels) - 1:
                raise ValueError(f"{len(labels)} labels need {len(labels) - 1} thresholds")
            parts = [
                Classifier.of(head, {name: arrays[f"{i}.{name}"] for name in _names(head)})
                for i, head in enumerate(heads)
            ]
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise BadSetting(f"{folder}: it cannot be read ({error}); {ADVICE}") from error
        return Linear(tuple(labels), tuple(parts))


def _names(head: Any) -> tuple[str, ...]:
    return ("idf", "weights", "codes") if "vocabulary" in head else ("idf", "weights")


def tf_idf(counts: Counts, idf: Floats, texts: int) -> Floats:
    """The tf-idf values (1 + log count) * idf of counted features, each text scaled to Euclidean length 1."""
    logs = np.array([0.0, *(1 + math.log(k) for k in range(1, int(counts.times.max(initial=0)) + 1))])
    values = logs[counts.times] * idf[counts.feature]
    norms = np.sqrt(np.bincount(counts.text, values * values, texts))
    scaled: Floats = values / norms[counts.text]
    return scaled


def logistic(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def count_features(features: Features, texts: Sequence[str], size: int = 512) -> Counts:
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
