"""An n-gram language model over words (interpolated Kneser-Ney), a baseline for a model's perplexity."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from loquent.errors import LoquentError

Context = tuple[str, ...]
START, END, UNKNOWN = "<s>", "</s>", "<unk>"


class NGram:
    """Interpolated Kneser-Ney with one absolute discount per order (Chen & Goodman 1999, 3.1, eq. 20-22).

    A text is its whitespace-separated words and an end marker. The vocabulary has the words of the training
    texts and one unknown word. Unigrams are interpolated with the uniform distribution over the vocabulary,
    so no text has probability 0.

    Example:
        >>> model = NGram(2).fit(["a b", "a c"])
        >>> round(model.probability("b", ("a",)), 4)
        0.284
    """

    def __init__(self, order: int = 5) -> None:
        if order < 1:
            raise LoquentError(f"the order of an n-gram model is {order}; it must be 1 or more")
        self.order = order
        self._counts: list[dict[Context, dict[str, int]]] = []  # by length of the context
        self._totals: list[dict[Context, int]] = []
        self._discounts: list[float] = []
        self._words: set[str] = set()

    def fit(self, texts: Iterable[str]) -> NGram:
        """Count the n-grams of the texts, in place of any earlier counts; return self.

        Raises:
            LoquentError: there is no text.
        """
        highest: dict[Context, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._words = {END, UNKNOWN}
        for text in texts:
            words = self._padded(text)
            self._words.update(words[self.order - 1 :])
            for i in range(self.order - 1, len(words)):
                highest[tuple(words[i - self.order + 1 : i])][words[i]] += 1
        if not highest:
            raise LoquentError("no texts to fit an n-gram model to; give at least one text")
        self._counts = [highest]
        while len(self._counts) < self.order:
            self._counts.insert(0, _continuations(self._counts[0]))
        self._totals = [
            {context: sum(words.values()) for context, words in level.items()} for level in self._counts
        ]
        self._discounts = [_discount(level) for level in self._counts]
        return self

    def probability(self, word: str, context: Sequence[str] = ()) -> float:
        """P(word | the last order - 1 words of the context).

        All words outside the vocabulary are one unknown word.
        """
        if word not in self._words:
            word = UNKNOWN
        last = tuple(context)[max(0, len(context) - self.order + 1) :]
        probability = 1 / len(self._words)
        for length in range(len(last) + 1):
            tail = last[len(last) - length :]
            total = self._totals[length].get(tail)
            if total is None:
                break
            counts, discount = self._counts[length][tail], self._discounts[length]
            probability = (
                max(counts.get(word, 0) - discount, 0.0) + discount * len(counts) * probability
            ) / total
        return probability

    def nll(self, text: str) -> tuple[float, int]:
        """The negative log-likelihood of a text in nats, and its number of words with the end marker."""
        words = self._padded(text)
        first = self.order - 1
        context = [word if word in self._words or word == START else UNKNOWN for word in words]
        total = sum(
            math.log(self.probability(words[i], context[i - first : i])) for i in range(first, len(words))
        )
        return -total, len(words) - first

    def perplexity(self, texts: Iterable[str]) -> float:
        """The exponential of the mean negative log-likelihood per word, with end markers.

        Raises:
            LoquentError: there is no text, or the model is not fitted.
        """
        if not self._counts:
            raise LoquentError("this n-gram model is not fitted; call fit(texts) first")
        scored = [self.nll(text) for text in texts]
        if not scored:
            raise LoquentError("the perplexity of no texts is undefined; give at least one text")
        return math.exp(sum(nll for nll, _ in scored) / sum(count for _, count in scored))

    def _padded(self, text: str) -> list[str]:
        return [START] * (self.order - 1) + text.split() + [END]


def _continuations(higher: dict[Context, dict[str, int]]) -> dict[Context, dict[str, int]]:
    """The counts of the next lower order: for each n-gram the number of different words before it."""
    lower: dict[Context, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for context, words in higher.items():
        for word in words:
            lower[context[1:]][word] += 1
    return lower


def _discount(level: dict[Context, dict[str, int]]) -> float:
    """The discount D = n1 / (n1 + 2 n2) (eq. 22), or 1/2 where n1 or n2 is 0.

    n1 and n2 are the numbers of n-grams that occur once and twice.
    """
    low = [count for words in level.values() for count in words.values() if count <= 2]
    once = low.count(1)
    twice = len(low) - once
    return once / (once + 2 * twice) if once and twice else 0.5
