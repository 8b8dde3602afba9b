"""An n-gram language model over words, interpolated Kneser-Ney: the yardstick that stands beside a language model's perplexity."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from loquent.errors import LoquentError

Context = tuple[str, ...]
START, END, UNKNOWN = "<s>", "</s>", "<unk>"


class NGram:
    """Interpolated Kneser-Ney with one absolute discount for each order (Chen & Goodman 1999, sec. 3.1 and eq. 20-22).

    A text is its whitespace-separated words and an end marker. The vocabulary is that of the training texts and one unknown
    word; below the unigrams stands the uniform distribution over it, so no text has probability 0.

    Example:
        >>> model = NGram(2).fit(["a b", "a c"])
        >>> round(model.probability("b", ("a",)), 4)
        0.284
    """

    def __init__(self, order: int = 5) -> None:
        if order < 1:
            raise LoquentError(f"an n-gram model has order 1 or more, not {order}")
        self.order = order
        self._counts: list[dict[Context, dict[str, int]]] = []  # by length of the context
        self._totals: list[dict[Context, int]] = []
        self._discounts: list[float] = []
        self._words: set[str] = set()

    def fit(self, texts: Iterable[str]) -> NGram:
        """Count the texts, forgetting any fitted before; returns self.

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
            raise LoquentError("an n-gram model cannot be fitted to no texts")
        self._counts = [highest]
        while len(self._counts) < self.order:
            self._counts.insert(0, _continuations(self._counts[0]))
        self._totals = [{context: sum(words.values()) for context, words in level.items()} for level in self._counts]
        self._discounts = [_discount(level) for level in self._counts]
        return self

    def probability(self, word: str, context: Sequence[str] = ()) -> float:
        """P(word | the last order - 1 words of the context); unseen words are one word, the unknown one."""
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
            probability = (max(counts.get(word, 0) - discount, 0.0) + discount * len(counts) * probability) / total
        return probability

    def nll(self, text: str) -> tuple[float, int]:
        """The negative log-likelihood of a text in nats, and its number of words, the end marker counted."""
        words = self._padded(text)
        first = self.order - 1
        context = [word if word in self._words or word == START else UNKNOWN for word in words]
        total = sum(math.log(self.probability(words[i], context[i - first : i])) for i in range(first, len(words)))
        return -total, len(words) - first

    def perplexity(self, texts: Iterable[str]) -> float:
        """The exponential of the mean negative log-likelihood per word, end markers counted.

        Raises:
            LoquentError: there is no text, or the model is not fitted.
        """
        if not self._counts:
            raise LoquentError("this n-gram model has seen no text yet: call fit(texts) first")
        scored = [self.nll(text) for text in texts]
        if not scored:
            raise LoquentError("the perplexity of no texts has no value")
        return math.exp(sum(nll for nll, _ in scored) / sum(count for _, count in scored))

    def _padded(self, text: str) -> list[str]:
        return [START] * (self.order - 1) + text.split() + [END]


def _continuations(higher: dict[Context, dict[str, int]]) -> dict[Context, dict[str, int]]:
    """In how many different words' wake an n-gram occurs: the counts of the next lower order."""
    lower: dict[Context, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for context, words in higher.items():
        for word in words:
            lower[context[1:]][word] += 1
    return lower


def _discount(level: dict[Context, dict[str, int]]) -> float:
    """D = n1 / (n1 + 2 n2) of the n-grams seen once and twice (eq. 22); 1/2 where either is missing."""
    seen = [count for words in level.values() for count in words.values() if count <= 2]
    once = seen.count(1)
    twice = len(seen) - once
    return once / (once + 2 * twice) if once and twice else 0.5
