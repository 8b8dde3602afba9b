"""What metrics of predictions against references share: a score per sample that has references, means, stems, Treebank tokens."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from loquent.errors import MissingExtra
from loquent.metric import Measured, Scores

Words = tuple[str, ...]
Tally = NDArray[np.float64]  # what samples add to a corpus score, one row each, or their sum
Kind = TypeVar("Kind")
KNOWN = 1 << 16  # words whose stems are kept


def each(score: Callable[[str, Sequence[str]], Kind], predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[Kind | None]:
    """`score(prediction, references)` of each sample; None where a sample has no reference."""
    return [score(said, own) if len(own) else None for said, own in zip(predictions, references, strict=True)]


def averaged(samples: Scores) -> Measured:
    """These scores, and for the corpus the mean of those that exist."""
    present = {key: [score for score in scores if score is not None] for key, scores in samples.items()}
    return Measured(samples, {key: statistics.fmean(scores) for key, scores in present.items() if scores})


def stringified(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Each sample's list of references as one reference, brackets and quotes included: what RL4LMs gave to METEOR and ROUGE."""
    return [[str(list(own))] if len(own) else [] for own in references]


@lru_cache(maxsize=4)
def stemmer(original: bool = False) -> Callable[[str], str]:
    """Porter's stemmer with a memory: as NLTK extends it, or Porter's of 1980.

    Raises:
        MissingExtra: NLTK is not installed.
    """
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError as error:
        raise MissingExtra("stemming", "metrics") from error
    mode = PorterStemmer.ORIGINAL_ALGORITHM if original else PorterStemmer.NLTK_EXTENSIONS
    return lru_cache(maxsize=KNOWN)(PorterStemmer(mode=mode).stem)


@lru_cache(maxsize=1)
def treebank() -> Callable[[str], list[str]]:
    """NLTK's tokeniser after the Penn Treebank, which needs no data: of full stops, only a last one is split off.

    Its rules are compiled by `re`: NLTK runs each under a clock, against patterns that users give, which takes longer than the rules do.
    None of them looks at a place of a text more than a few times.

    Raises:
        MissingExtra: NLTK is not installed.
    """
    try:
        from nltk.tokenize import NLTKWordTokenizer as Treebank
    except ImportError as error:
        raise MissingExtra("Treebank tokens", "metrics") from error
    marks = [*Treebank.STARTING_QUOTES, *Treebank.PUNCTUATION, Treebank.PARENS_BRACKETS, Treebank.DOUBLE_DASHES]
    first, last = ([_rule(rule.pattern, by) for rule, by in rules] for rules in (marks, Treebank.ENDING_QUOTES))
    cuts = [rule.pattern for rule in (*Treebank.CONTRACTIONS2, *Treebank.CONTRACTIONS3)]  # of "cannot", in any case
    contractions = [(re.sub(r"\(\?.*?\)|\\b|[() ]", "", cut), *_rule(cut, r" \1 \2 ")) for cut in cuts]

    def tokenize(text: str) -> list[str]:
        for replace, by in first:
            text = replace(by, text)
        text = f" {text} "
        for replace, by in last:
            text = replace(by, text)
        there = text.lower() if text.isascii() else None  # letters such as the long s are some other letter's case
        for word, replace, by in contractions:
            if there is None or word in there:
                text = replace(by, text)
        return text.split()

    return tokenize


def _rule(pattern: str, by: str) -> tuple[Callable[..., str], str | Callable[[re.Match[str]], str]]:
    """A replacement; `re` would look up one that names groups at every call, though nothing is found."""
    groups = re.sub(r"\\(?:g<(\d)>|(\d))", lambda group: f"{{0[{group[1] or group[2]}]}}", by)
    return re.compile(pattern).sub, by if groups == by else groups.format
