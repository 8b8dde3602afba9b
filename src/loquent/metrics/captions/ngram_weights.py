"""N-grams of many texts as arrays: their counts, weights and norms, and the clipped cosines of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Entries(NamedTuple):
    """The n-grams of one order: text `text[e]` has n-gram `gram[e]` `times[e]` times.

    `names` are the n-grams as texts.
    """

    text: Integers
    gram: Integers
    times: Integers
    names: list[str]


def entries(texts: Sequence[Sequence[str]], orders: int) -> Iterator[Entries]:
    """The entries of orders 1 to `orders`, each sorted by text and n-gram.

    Words must not contain white space.
    """
    words = list(chain.from_iterable(texts))
    vocabulary = list(dict.fromkeys(words))
    number = {word: i for i, word in enumerate(vocabulary)}
    ids = np.fromiter(map(number.__getitem__, words), np.int64, len(words))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    owner = np.repeat(np.arange(len(texts)), lengths)
    # the number of words from each word to the end of its text
    left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(words))
    grams, names, starts = ids, vocabulary, np.arange(len(words))
    yield _entries(owner, grams, names)
    for order in range(2, orders + 1):
        long = left[starts] >= order
        starts, before = starts[long], grams[long]
        keys, grams = np.unique(before * len(vocabulary) + ids[starts + order - 1], return_inverse=True)
        names = [
            f"{names[key // len(vocabulary)]} {vocabulary[key % len(vocabulary)]}" for key in keys.tolist()
        ]
        yield _entries(owner[starts], grams, names)


def _entries(owner: Integers, grams: Integers, names: list[str]) -> Entries:
    size = max(1, len(names))
    keys, times = np.unique(owner * size + grams, return_counts=True)
    return Entries(keys // size, keys % size, times.astype(np.int64), names)


def samples_with(order: Entries, sample_of: Integers) -> Integers:
    """int[n-grams]: the number of samples with each n-gram.

    Text t belongs to sample `sample_of[t]`, or to none (-1).
    """
    size, sample = max(1, len(order.names)), sample_of[order.text]
    keys = np.unique((sample * size + order.gram)[sample >= 0])
    return np.bincount(keys % size, minlength=len(order.names))


def clipped_cosines(
    order: Entries, idf: NDArray[np.float64], left: Integers, right: Integers, texts: int
) -> NDArray[np.float64]:
    """float[pairs]: min(g(left), g(right)) . g(right) / (|g(left)| |g(right)|) for each pair of texts.

    It is 0 for texts without shared weight.

    Args:
        idf: float[n-grams]; g is `times` * idf.
        left, right: int[pairs], numbers of texts; `right` has no duplicates.
    """
    weight = order.times * idf[order.gram]
    norm = np.sqrt(np.bincount(order.text, weight**2, minlength=texts))
    size, partner = max(1, len(order.names)), np.full(texts, -1)
    partner[right] = left
    paired = partner[order.text] >= 0
    other, gram, own = partner[order.text][paired], order.gram[paired], weight[paired]
    keys = order.text * size + order.gram
    place = np.minimum(np.searchsorted(keys, other * size + gram), max(0, len(keys) - 1))
    shared = keys[place] == other * size + gram if len(keys) else np.zeros(0, bool)
    product = np.minimum(own, weight[place], where=shared, out=np.zeros(len(own))) * own
    total = np.bincount(order.text[paired], product, minlength=texts)[right]
    scale = norm[left] * norm[right]
    return np.divide(total, scale, out=np.zeros(len(right)), where=total > 0)
