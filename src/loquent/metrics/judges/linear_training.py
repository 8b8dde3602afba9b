"""Training of linear classifiers with scikit-learn, on the features of `linear.py`.

Their optimum is unique, and scikit-learn finds it, so the trainer of networks has no part in it.

The judge has other training rows, other features and another model than `sentiment`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.errors import MissingExtra
from loquent.metrics.judges.linear import (
    WORD_BITS,
    CharacterNgrams,
    Classifier,
    Counts,
    Features,
    Floats,
    Linear,
    WordNgrams,
    count_features,
    tf_idf,
)
from loquent.metrics.text import words

MOST_NGRAMS = 100_000
FOLDS = 3
SMOOTHING = 0.1  # added by the judge to the count of each n-gram in both classes
Labels = NDArray[np.bool_]


def train_sentiment(texts: Sequence[str], positive: Labels) -> Classifier:
    """Logistic regression on word 1-, 2- and 3-grams. Both classes have the same total weight."""
    linear_model = _sklearn()
    features = word_features(texts)
    idf, x = _matrix(features, texts)
    fitted = linear_model.LogisticRegression(C=10.0, max_iter=300).fit(
        x, positive, sample_weight=_balanced(positive)
    )
    return Classifier(features, idf, fitted.coef_[0].astype(np.float64), 1.0, float(fitted.intercept_[0]))


def train_thresholds(texts: Sequence[str], levels: NDArray[np.int64], labels: Sequence[str]) -> Linear:
    """A classifier with ordered labels: a logistic regression for each level but the lowest.

    Args:
        levels: the level of each text; the sorted levels belong to the labels.
    """
    parts = tuple(train_sentiment(texts, levels >= level) for level in np.unique(levels)[1:])
    return Linear(tuple(labels), parts)


def train_judge(texts: Sequence[str], positive: Labels) -> Classifier:
    """Multinomial naive Bayes on character 4-, 5- and 6-grams, with one slope that calibrates its log odds.

    The slope is fitted on folds that the counts do not include, on whole texts and on prefixes, because the
    judge also scores unfinished answers. If those folds show no effect, the slope is 0 and the judge returns
    0.5 for every text. There is no intercept: a text without evidence scores 0.5 at any length. (A support
    vector machine trained on long texts is biased on short texts.) Both classes use the same number of rows,
    the first of each. Otherwise n-grams that occur once would favour the larger class.
    """
    linear_model = _sklearn()
    chosen = _equal_sides(positive)
    texts, positive = [texts[i] for i in chosen], positive[chosen]
    features = CharacterNgrams()
    even = np.ones(len(features))
    batches = [count_features(features, texts), count_features(features, _prefixes(texts))]
    values = [tf_idf(counts, even, len(texts)) for counts in batches]
    fold = np.arange(len(texts)) % FOLDS
    margins = np.zeros((len(batches), len(texts)))
    for k in range(FOLDS):
        weights = log_odds(batches[0], positive, fold != k, len(features))
        for row, counts, value in zip(margins, batches, values, strict=True):
            row[fold == k] = np.bincount(counts.text, value * weights[counts.feature], len(texts))[fold == k]
    labels = np.tile(positive, len(batches))
    curve = linear_model.LogisticRegression(C=100.0, fit_intercept=False)
    curve.fit(margins.reshape(-1, 1), labels)
    weights = log_odds(batches[0], positive, fold >= 0, len(features))
    return Classifier(features, even, weights, max(0.0, float(curve.coef_[0, 0])), 0.0)


def log_odds(counts: Counts, positive: Labels, chosen: Labels, features: int) -> Floats:
    """float64[features]: log P(feature | positive) - log P(feature | negative) over the chosen texts.

    A feature that occurs n times in a text counts 1 + log n.
    """
    mass = 1 + np.log(counts.times)
    shares = []
    for side in (positive, ~positive):
        own = (side & chosen)[counts.text]
        total = np.bincount(counts.feature[own], mass[own], features) + SMOOTHING
        shares.append(np.log(total) - np.log(total.sum()))
    odds: Floats = shares[0] - shares[1]
    return odds


def word_features(texts: Sequence[str]) -> WordNgrams:
    """The vocabulary and n-grams of a corpus, the most frequent first.

    They occur in at least two texts, or in at least three from 1000 texts on.
    """
    least = 3 if len(texts) >= 1000 else 2
    frequency = Counter(word for text in texts for word in set(words(text)))
    frequent = sorted(
        (word for word, n in frequency.items() if n >= least), key=lambda word: (-frequency[word], word)
    )
    vocabulary = {word: i for i, word in enumerate(frequent[: (1 << WORD_BITS) - 1], 1)}
    everything = WordNgrams(vocabulary, np.zeros(0, dtype=np.int64))
    chunks = []
    for first in range(0, len(texts), 512):
        text, code = everything.ngrams(texts[first : first + 512])
        chunks.append(np.unique(np.stack([code, text]), axis=1)[0] if len(code) else code)
    codes, documents = np.unique(np.concatenate(chunks), return_counts=True)
    codes, documents = codes[documents >= least], documents[documents >= least]
    most = np.sort(np.argsort(-documents, kind="stable")[:MOST_NGRAMS])
    return WordNgrams(vocabulary, codes[most])


def _matrix(features: Features, texts: Sequence[str]) -> tuple[Floats, Any]:
    """The idf of each feature, smoothed as in scikit-learn, and the sparse matrix of tf-idf rows.

    Each row has length 1.
    """
    from scipy.sparse import csr_matrix

    counts = count_features(features, texts)
    documents = np.bincount(counts.feature, minlength=len(features))
    idf = np.log((1 + len(texts)) / (1 + documents)) + 1
    values = tf_idf(counts, idf, len(texts))
    return idf, csr_matrix((values, (counts.text, counts.feature)), shape=(len(texts), len(features)))


def _balanced(positive: Labels) -> Floats:
    share = positive.mean()
    return np.where(positive, 0.5 / share, 0.5 / (1 - share))


def _equal_sides(positive: Labels) -> NDArray[np.int64]:
    """The places of the first n rows of each class in order, where n is the size of the smaller class."""
    sides = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    return np.sort(np.concatenate([side[: min(map(len, sides))] for side in sides]))


def _prefixes(texts: Sequence[str]) -> list[str]:
    """A random prefix of each text, of a quarter to all of its words."""
    shares = Key(0, ("judge", "beginnings")).generator().uniform(0.25, 1.0, len(texts)).tolist()
    pieces = [text.split() for text in texts]
    return [
        " ".join(piece[: max(1, round(share * len(piece)))])
        for piece, share in zip(pieces, shares, strict=True)
    ]


def _sklearn() -> Any:
    try:
        from sklearn import linear_model
    except ImportError as error:
        raise MissingExtra("training a linear classifier", "train") from error
    return linear_model
