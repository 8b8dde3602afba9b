"""METEOR (Banerjee and Lavie 2005; Lavie and Agarwal 2007): words aligned in three stages, with a penalty for broken order.

Lower-cased words of the prediction are aligned with those of a reference, each with at most one: equal words first, then equal Porter
stems, then WordNet synonyms. With m aligned words in c chunks (runs that are contiguous in both texts)

    P = m / words of the prediction      R = m / words of the reference      F = PR / (alpha P + (1 - alpha) R)
    METEOR = F (1 - gamma (c / m)^beta)

with alpha .9, beta 3, gamma .5; of several references the best counts. These are the scores of NLTK's `meteor_score`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics import wordnet
from loquent.metrics.options import takes
from loquent.metrics.pairs import averaged, each, stemmer, stringified, treebank
from loquent.settings import setting
from loquent.task import Row

Synonyms = Callable[[str], frozenset[str]]
Alignment = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class MeteorOptions:
    """What the metric `meteor` may be told."""

    wordnet: str = setting("auto", "a folder or zip of WordNet; 'auto': NLTK's or Debian's where there is one; 'none': without synonyms")
    tokenizer: str = setting(
        "treebank",
        "Treebank tokens; 'nltk': of each sentence (needs punkt_tab)",
        choices=("treebank", "nltk", "whitespace"),
    )
    synonyms: str = setting("stems", "of what WordNet is asked: of stems, as NLTK does, or of words, as the authors do", choices=("stems", "words"))
    alpha: float = setting(0.9, "the weight of precision in F's denominator, so of recall in F", source="Lavie and Agarwal 2007", low=0.0, high=1.0)
    beta: float = setting(3.0, "the power of the penalty", source="Lavie and Agarwal 2007", low=0.0)
    gamma: float = setting(0.5, "the largest penalty", source="Lavie and Agarwal 2007", low=0.0, high=1.0)
    legacy: bool = setting(False, "the list of references as one text, as RL4LMs' METEOR (arXiv:2210.01241) had it; the key says so")


@dataclass(frozen=True, eq=False)
class Meteor:
    """METEOR by three stages, or by two without `synonyms`, which its name then says."""

    synonyms: Synonyms | None = None
    tokenize: Callable[[str], list[str]] = str.split
    of_words: bool = False
    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    legacy: bool = False
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def name(self) -> str:
        """`meteor`, with `-exact-stem` where there are no synonyms, with `-legacy` in that form."""
        return "meteor" + ("-exact-stem" if self.synonyms is None else "") + ("-legacy" if self.legacy else "")

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction against its references."""
        read = cache(lambda text: [word.lower() for word in self.tokenize(text)])
        wanted = stringified(references) if self.legacy else references
        return averaged({self.name: each(lambda said, own: max(self._score(read(said), read(text)) for text in own), predictions, wanted)})

    def _score(self, said: list[str], wanted: list[str]) -> float:
        pairs = align(said, wanted, stemmer(), self.synonyms, self.of_words)
        if not pairs:
            return 0.0
        precision, recall = len(pairs) / len(said), len(pairs) / len(wanted)
        mean = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        return (1 - self.gamma * (chunks(pairs) / len(pairs)) ** self.beta) * mean


@takes(MeteorOptions)
def meteor(context: Context, options: MeteorOptions) -> Meteor:
    """METEOR by exact words, stems and synonyms; named meteor-exact-stem without WordNet. Needs loquent[metrics].

    Raises:
        BadSetting: `wordnet` names no WordNet, or NLTK's sentence splitter is asked for and its data is not installed.
    """
    path = wordnet.find(options.wordnet)
    synonyms = None if path is None else wordnet.load(path).synonyms
    tokenize = str.split if options.tokenizer == "whitespace" else _nltk() if options.tokenizer == "nltk" else treebank()
    return Meteor(synonyms, tokenize, options.synonyms == "words", options.alpha, options.beta, options.gamma, options.legacy)


def align(said: Sequence[str], wanted: Sequence[str], stem: Callable[[str], str], synonyms: Synonyms | None, of_words: bool = False) -> Alignment:
    """Places of aligned words (said, wanted), in the order of `said`.

    In each stage words of `said` are taken from the last to the first, each with the last free word that matches: NLTK's choice, which
    need not have the fewest chunks. Also as in NLTK, synonyms are those of the stems, "happi" having none, if not `of_words`.
    """
    pairs: Alignment = []
    left = _matched(list(enumerate(said)), list(enumerate(wanted)), pairs=pairs, synonyms=None)
    if left[0] and left[1]:
        left = _matched(*([(place, stem(word)) for place, word in side] for side in left), pairs=pairs, synonyms=None)
    if synonyms is not None and left[0] and left[1]:
        if of_words:
            left = [(place, said[place]) for place, _ in left[0]], [(place, wanted[place]) for place, _ in left[1]]
        _matched(*left, pairs=pairs, synonyms=synonyms)
    return sorted(pairs)


Placed = list[tuple[int, str]]


def _matched(said: Placed, wanted: Placed, *, pairs: Alignment, synonyms: Synonyms | None) -> tuple[Placed, Placed]:
    """Add the pairs of one stage to `pairs`; returns what is left of both sides."""
    free: dict[str, list[int]] = {}
    for place, word in wanted:
        free.setdefault(word, []).append(place)
    left, taken = [], set()
    for place, word in reversed(said):
        if synonyms is not None:
            word = max((word, *(free.keys() & synonyms(word))), key=lambda known: free[known][-1] if free.get(known) else -1)
        if free.get(word):
            taken.add(free[word][-1])
            pairs.append((place, free[word].pop()))
        else:
            left.append((place, word))
    return left[::-1], [pair for pair in wanted if pair[0] not in taken]


def chunks(pairs: Alignment) -> int:
    """The number of runs that are contiguous in both texts."""
    return 1 + sum(b[0] != a[0] + 1 or b[1] != a[1] + 1 for a, b in pairwise(pairs))


def _nltk() -> Callable[[str], list[str]]:
    treebank()  # a missing extra is named first
    from nltk.tokenize import word_tokenize

    try:
        word_tokenize("a")
    except LookupError as error:
        raise BadSetting("meteor.tokenizer = 'nltk' needs NLTK's punkt_tab, which is in none of its folders; 'treebank' needs no data") from error
    tokenize: Callable[[str], list[str]] = word_tokenize
    return tokenize
