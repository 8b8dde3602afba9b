"""Shared parts of metrics with references: scores per sample, means, stems, Treebank tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.metric import Measured, Scores, Tallied
from loquent.errors import MissingExtra
from loquent.metrics.text import mean

Words = tuple[str, ...]
Tally = NDArray[np.float64]  # the counts behind a corpus score: one row per sample, or the sum of the rows
Result = TypeVar("Result")
CACHE_SIZE = 1 << 16  # words whose stems are kept


def score_samples(
    score: Callable[[str, Sequence[str]], Result],
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
) -> list[Result | None]:
    """`score(prediction, references)` of each sample; None for a sample without references."""
    pairs = zip(predictions, references, strict=True)
    return [score(prediction, texts) if len(texts) else None for prediction, texts in pairs]


def with_means(samples: Mapping[str, Sequence[float | None]]) -> Measured:
    """The sample scores, and for the corpus the mean of each key's scores that are not None."""
    means = {key: mean(scores) for key, scores in samples.items()}
    return Measured(
        {key: list(scores) for key, scores in samples.items()},
        {key: value for key, value in means.items() if value is not None},
    )


def of_tallies(metric: Tallied, columns: Scores, tally: Tally) -> Measured:
    """The sample scores, and the corpus scores of the sum of the tallies.

    Args:
        tally: float[samples, numbers].
    """
    total = tally.sum(0)
    return Measured(
        columns, metric.of_tally(total), leave_out=partial(without, metric.of_tally, tally, total)
    )


def without(
    scores: Callable[[Tally], dict[str, float]], tally: Tally, total: Tally, numbers: Sequence[int]
) -> dict[str, float]:
    """The scores of a sum of tallies without the samples of these numbers; with `partial`, a `leave_out`."""
    return scores(total - tally[list(numbers)].sum(0))


def references_as_text(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """The references of each sample as one text: Python's form of the list, with brackets and quotes.

    RL4LMs passed its references to METEOR and ROUGE in this form.
    """
    return [[str(list(texts))] if len(texts) else [] for texts in references]


@lru_cache(maxsize=4)
def stemmer(original: bool = False) -> Callable[[str], str]:
    """Porter's stemmer with a cache: NLTK's extended version, or Porter's version of 1980 if `original`.

    Raises:
        MissingExtra: NLTK is not installed.
    """
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError as error:
        raise MissingExtra("stemming", "metrics") from error
    mode = PorterStemmer.ORIGINAL_ALGORITHM if original else PorterStemmer.NLTK_EXTENSIONS
    return lru_cache(maxsize=CACHE_SIZE)(PorterStemmer(mode=mode).stem)


@lru_cache(maxsize=1)
def treebank() -> Callable[[str], list[str]]:
    """NLTK's Penn Treebank tokenizer, which needs no data. It splits off only the last full stop of a text.

    Its rules are compiled with `re`. NLTK runs each rule with a time limit, which protects against patterns
    from users but takes longer than the rules themselves. Each rule reads a character only a few times.

    Raises:
        MissingExtra: NLTK is not installed.
    """
    try:
        from nltk.tokenize import NLTKWordTokenizer as Treebank
    except ImportError as error:
        raise MissingExtra("splitting text into Treebank tokens (METEOR, CIDEr)", "metrics") from error
    marks = [
        *Treebank.STARTING_QUOTES,
        *Treebank.PUNCTUATION,
        Treebank.PARENS_BRACKETS,
        Treebank.DOUBLE_DASHES,
    ]
    first, last = (
        [_rule(rule.pattern, by) for rule, by in rules] for rules in (marks, Treebank.ENDING_QUOTES)
    )
    # the patterns of words such as "cannot", in any case
    patterns = [rule.pattern for rule in (*Treebank.CONTRACTIONS2, *Treebank.CONTRACTIONS3)]
    contractions = [
        (re.sub(r"\(\?.*?\)|\\b|[() ]", "", pattern), *_rule(pattern, r" \1 \2 ")) for pattern in patterns
    ]

    def tokenize(text: str) -> list[str]:
        for replace, by in first:
            text = replace(by, text)
        text = f" {text} "
        for replace, by in last:
            text = replace(by, text)
        lowered = text.lower() if text.isascii() else None  # outside ASCII, case folding is not one to one
        for word, replace, by in contractions:
            if lowered is None or word in lowered:
                text = replace(by, text)
        return text.split()

    return tokenize


def _rule(pattern: str, by: str) -> tuple[Callable[..., str], str | Callable[[re.Match[str]], str]]:
    """The substitution of a pattern and its replacement.

    A replacement with groups becomes a function, because `re` would parse the template on every call.
    """
    groups = re.sub(r"\\(?:g<(\d)>|(\d))", lambda group: f"{{0[{group[1] or group[2]}]}}", by)
    return re.compile(pattern).sub, by if groups == by else groups.format
