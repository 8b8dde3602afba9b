"""ROUGE-L as NarrativeQA's scores of RL4LMs have it: the best F over the references, with the conventions of the package py-rouge.

Texts are cut to 100 words and lower-cased, all but a-z and 0-9 becomes space; words of more than three letters are stemmed. With
hits the words of the union of longest common subsequences (lines are sentences)

    P = (hits / words of the prediction)^(1/w)     R = (hits / words of the reference)^(1/w)     F = PR / ((1 - alpha) P + alpha R)

py-rouge applies the root of ROUGE-W (w = 1.2) to ROUGE-L too, which raises all scores below 1; w = 1 leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import Words, averaged, each, stemmer
from loquent.metrics.rouge import SHORT
from loquent.metrics.subsequences import union_hits
from loquent.metrics.wordnet import exceptions
from loquent.settings import setting
from loquent.task import Row

OTHER = re.compile("[^a-z0-9]")
# what the Treebank's rules still split once punctuation is gone; "cannot" stays whole
SPLIT = {"gimme": "gim me", "gonna": "gon na", "gotta": "got ta", "lemme": "lem me", "wanna": "wan na"}


@dataclass(frozen=True, kw_only=True)
class RougeLMaxOptions:
    """What the metric `rouge_l_max` may be told; the defaults are NarrativeQA's in RL4LMs."""

    limit: int = setting(100, "words of a text that are read; 0: all", source="RL4LMs, NarrativeQA", low=0)
    alpha: float = setting(0.5, "the weight of recall in F", source="RL4LMs, NarrativeQA", low=0.0, high=1.0)
    root: float = setting(1.2, "the root taken of precision and recall; 1: none", source="RL4LMs, NarrativeQA", low=1.0)
    stem: bool = setting(True, "stem words (needs NLTK)", source="RL4LMs, NarrativeQA")
    wordnet: str = setting("", "a folder or zip of WordNet, whose exceptions (went: go) come before stems, as py-rouge has them; empty: none")


@dataclass(frozen=True)
class RougeLMax:
    """The best F of ROUGE-L over the references of a sample."""

    limit: int = 100
    alpha: float = 0.5
    root: float = 1.2
    stem: bool = True
    irregular: Mapping[str, str] = field(default_factory=dict)
    name: ClassVar[str] = "rouge_l_max"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction against its references."""
        read: Callable[[str], tuple[Words, ...]] = cache(self._lines)
        return averaged({self.name: each(lambda said, own: max(self._f(read(said), read(text)) for text in own), predictions, references)})

    def _lines(self, text: str) -> tuple[Words, ...]:
        lines, left = [], self.limit or len(text) + 1
        for line in text.split("\n"):
            words = line.split()[:left]
            left -= len(words)
            lines.append(tuple(self._stem(word) for word in _words(" ".join(words).lower())))
        return tuple(filter(None, lines))

    def _stem(self, word: str) -> str:
        if not self.stem or len(word) <= SHORT:
            return word
        return self.irregular.get(word) or stemmer(original=True)(word)

    def _f(self, said: Sequence[Words], wanted: Sequence[Words]) -> float:
        hits = union_hits(wanted, said)
        if not hits:
            return 0.0
        precision = (hits / sum(map(len, said))) ** (1 / self.root)
        recall = (hits / sum(map(len, wanted))) ** (1 / self.root)
        return precision * recall / ((1 - self.alpha) * precision + self.alpha * recall)


@takes(RougeLMaxOptions)
def rouge_l_max(context: Context, options: RougeLMaxOptions) -> RougeLMax:
    """ROUGE-L, the best F over the references, as for NarrativeQA (py-rouge's conventions). Needs loquent[metrics] to stem.

    Raises:
        BadSetting: `wordnet` names no WordNet.
    """
    irregular = exceptions(options.wordnet) if options.wordnet else {}
    return RougeLMax(options.limit, options.alpha, options.root, options.stem, irregular)


def _words(line: str) -> list[str]:
    return " ".join(SPLIT.get(word, word) for word in OTHER.sub(" ", line).split()).split()
