"""ROUGE-L as RL4LMs measures it on NarrativeQA: the best F over the references, as py-rouge.

Texts are cut to 100 words and lower-cased. All characters but a-z and 0-9 become spaces, and words of more
than three letters are stemmed. Lines are sentences. With `hits` the words of the union of longest common
subsequences,

    P = (hits / words of the prediction)^(1/w)     R = (hits / words of the reference)^(1/w)
    F = PR / ((1 - alpha) P + alpha R)

py-rouge applies the root of ROUGE-W (w = 1.2) to ROUGE-L too, which raises all scores below 1. With w = 1
there is no root.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.lexical.rouge import UNSTEMMED
from loquent.metrics.lexical.subsequences import union_hits
from loquent.metrics.lexical.wordnet import exceptions
from loquent.metrics.shared_parts import Words, score_samples, stemmer, with_means

OTHER = re.compile("[^a-z0-9]")
# the Treebank rules that still apply without punctuation; "cannot" is not split
SPLIT = {"gimme": "gim me", "gonna": "gon na", "gotta": "got ta", "lemme": "lem me", "wanna": "wan na"}


@dataclass(frozen=True, kw_only=True)
class RougeLMaxOptions:
    """Options of the metric `rouge_l_max`; the defaults are those of RL4LMs for NarrativeQA."""

    limit: int = setting(
        100, "the words of a text that are read; 0: all words", source="RL4LMs, NarrativeQA", low=0
    )
    alpha: float = setting(0.5, "the weight of recall in F", source="RL4LMs, NarrativeQA", low=0.0, high=1.0)
    root: float = setting(
        1.2, "the root w of precision and recall; 1: no root", source="RL4LMs, NarrativeQA", low=1.0
    )
    stem: bool = setting(True, "stem words (needs NLTK)", source="RL4LMs, NarrativeQA")
    wordnet: str = setting(
        "",
        "a folder or zip of WordNet, whose exceptions (went: go) replace stems as in py-rouge; empty: none",
        file=True,
    )


@dataclass(frozen=True)
class RougeLMax(Share, OneKey):
    """The best F of ROUGE-L over the references of a sample."""

    limit: int = 100
    alpha: float = 0.5
    root: float = 1.2
    stem: bool = True
    irregular: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar[str] = "rouge_l_max"

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction against its references."""
        read: Callable[[str], tuple[Words, ...]] = cache(self._lines)

        def best(prediction: str, texts: Sequence[str]) -> float:
            return max(self._f(read(prediction), read(text)) for text in texts)

        return with_means({self.name: score_samples(best, samples.predictions, samples.references)})

    def _lines(self, text: str) -> tuple[Words, ...]:
        lines, left = [], self.limit or len(text) + 1
        for line in text.split("\n"):
            words = line.split()[:left]
            left -= len(words)
            lines.append(tuple(self._stem(word) for word in _words(" ".join(words).lower())))
        return tuple(filter(None, lines))

    def _stem(self, word: str) -> str:
        if not self.stem or len(word) <= UNSTEMMED:
            return word
        return self.irregular.get(word) or stemmer(original=True)(word)

    def _f(self, prediction: Sequence[Words], reference: Sequence[Words]) -> float:
        hits = union_hits(reference, prediction)
        if not hits:
            return 0.0
        precision = (hits / sum(map(len, prediction))) ** (1 / self.root)
        recall = (hits / sum(map(len, reference))) ** (1 / self.root)
        return precision * recall / ((1 - self.alpha) * precision + self.alpha * recall)


@takes(RougeLMaxOptions)
def rouge_l_max(context: Context, options: RougeLMaxOptions) -> RougeLMax:
    """ROUGE-L, the best F over the references (NarrativeQA). Needs loquent[metrics], except with stem=false.

    Raises:
        BadSetting: there is no WordNet at `wordnet`.
    """
    irregular = exceptions(options.wordnet) if options.wordnet else {}
    return RougeLMax(options.limit, options.alpha, options.root, options.stem, irregular)


def _words(line: str) -> list[str]:
    return " ".join(SPLIT.get(word, word) for word in OTHER.sub(" ", line).split()).split()
