"""Training of the two classifiers by scikit-learn, on features that `classifier.py` counts: the judge shares neither rows nor features nor model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.errors import MissingExtra
from loquent.metrics.classifier import WORD_BITS, CharacterNgrams, Classifier, Counts, Features, Floats, WordNgrams, in_chunks, weighted
from loquent.metrics.text import words

MOST_NGRAMS = 100_000
Labels = NDArray[np.bool_]


def train_sentiment(texts: Sequence[str], positive: Labels) -> Classifier:
    """Logistic regression on word 1-2-3-grams; both classes weigh the same, however many rows each has."""
    linear_model, _, _ = _sklearn()
    features = word_features(texts)
    idf, x = _matrix(features, texts)
    fitted = linear_model.LogisticRegression(C=10.0, max_iter=300).fit(x, positive, sample_weight=_balanced(positive))
    return Classifier(features, idf, fitted.coef_[0].astype(np.float64), 1.0, float(fitted.intercept_[0]))


def train_judge(texts: Sequence[str], positive: Labels) -> Classifier:
    """A linear support vector machine on character 4-5-6-grams; its margins become probabilities by Platt's curve, fitted out of fold."""
    _, svm, calibration = _sklearn()
    features = CharacterNgrams()
    idf, x = _matrix(features, texts)
    folds = int(min(3, positive.sum(), (~positive).sum()))
    machine = svm.LinearSVC(C=1.0, random_state=0)
    fitted = calibration.CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False)
    fitted.fit(x, positive, sample_weight=_balanced(positive))
    inner = fitted.calibrated_classifiers_[0]
    curve = inner.calibrators[0]  # P = 1 / (1 + exp(a f + b))
    bias = float(inner.estimator.intercept_[0])
    weights = inner.estimator.coef_[0].astype(np.float64)
    return Classifier(features, idf, weights, -float(curve.a_), -float(curve.a_) * bias - float(curve.b_))


def word_features(texts: Sequence[str]) -> WordNgrams:
    """The vocabulary and n-grams of a corpus: what stands in at least two texts (three from a thousand on), the most frequent first."""
    least = 3 if len(texts) >= 1000 else 2
    frequency = Counter(word for text in texts for word in set(words(text)))
    kept = sorted((word for word, n in frequency.items() if n >= least), key=lambda word: (-frequency[word], word))
    vocabulary = {word: i for i, word in enumerate(kept[: (1 << WORD_BITS) - 1], 1)}
    everything = WordNgrams(vocabulary, np.zeros(0, dtype=np.int64))
    found = []
    for first in range(0, len(texts), 512):
        text, code = everything.ngrams(texts[first : first + 512])
        found.append(np.unique(np.stack([code, text]), axis=1)[0] if len(code) else code)
    codes, documents = np.unique(np.concatenate(found), return_counts=True)
    codes, documents = codes[documents >= least], documents[documents >= least]
    most = np.sort(np.argsort(-documents, kind="stable")[:MOST_NGRAMS])
    return WordNgrams(vocabulary, codes[most])


def _matrix(features: Features, texts: Sequence[str]) -> tuple[Floats, Any]:
    """The idf of each feature, smoothed as scikit-learn does, and the sparse matrix of unit tf-idf rows."""
    from scipy.sparse import csr_matrix

    chunks = list(in_chunks(features, texts))
    counts = Counts(*(np.concatenate(part) for part in zip(*chunks, strict=True)))
    documents = np.bincount(counts.feature, minlength=len(features))
    idf = np.log((1 + len(texts)) / (1 + documents)) + 1
    values = weighted(counts, idf, len(texts))
    return idf, csr_matrix((values, (counts.text, counts.feature)), shape=(len(texts), len(features)))


def _balanced(positive: Labels) -> Floats:
    share = positive.mean()
    return np.where(positive, 0.5 / share, 0.5 / (1 - share))


def _sklearn() -> tuple[Any, Any, Any]:
    try:
        from sklearn import calibration, linear_model, svm
    except ImportError as error:
        raise MissingExtra("training the sentiment classifier", "train") from error
    return linear_model, svm, calibration
