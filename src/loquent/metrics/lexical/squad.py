"""Exact match and token F1 of short answers (SQuAD, arXiv:1606.05250): the best score over the references.

Answers are normalised first: lower case, without ASCII punctuation, without the articles a, an and the, with
single spaces. F1 is the harmonic mean of precision and recall of the two bags of words. Two answers without a
word after normalisation are equal.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.metrics.shared_parts import score_samples, with_means
from loquent.metrics.text import bag_f1

ARTICLE = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class NoOptions:
    """`exact_match` and `token_f1` take no options."""


@dataclass(frozen=True)
class Answers(Share, OneKey):
    """The best `score(prediction, reference)` of a sample over its references.

    Scores are on the words of normalised answers.
    """

    name: str
    score: Callable[[list[str], list[str]], float]

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction against its references."""
        read = cache(answer_words)

        def best(prediction: str, texts: Sequence[str]) -> float:
            return max(self.score(read(prediction), read(text)) for text in texts)

        return with_means({self.name: score_samples(best, samples.predictions, samples.references)})


@takes(NoOptions)
def exact_match(context: Context, options: NoOptions) -> Answers:
    """1 where the normalised answer equals a normalised reference, else 0 (SQuAD)."""
    return Answers("exact_match", _equal)


@takes(NoOptions)
def token_f1(context: Context, options: NoOptions) -> Answers:
    """F1 of the words of an answer against its best reference, normalised (SQuAD)."""
    return Answers("token_f1", partial(bag_f1, empty=1.0))


def answer_words(answer: str) -> list[str]:
    """The words of an answer in lower case, without punctuation and articles."""
    return ARTICLE.sub(" ", answer.lower().translate(PUNCTUATION)).split()


def _equal(prediction: list[str], reference: list[str]) -> float:
    return float(prediction == reference)
