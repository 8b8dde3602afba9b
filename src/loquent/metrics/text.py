"""Words of texts, prompts joined with predictions, and the counts and means that several metrics share."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")


def words(text: str) -> list[str]:
    """Lower-cased words and single punctuation marks, in order. An inner apostrophe belongs to its word."""
    return WORD.findall(text.lower())


def is_punctuation(word: str) -> bool:
    """Whether an item of `words` is a punctuation mark."""
    return not word[0].isalnum()


def without_punctuation(tokens: Sequence[str]) -> list[str]:
    """The items of `words` that are not punctuation marks."""
    return [word for word in tokens if not is_punctuation(word)]


def join_prompt(prompt: str, text: str) -> str:
    """The prompt followed by the text.

    A space is inserted unless a text is empty or there is white space already.
    """
    if not prompt or not text or prompt[-1].isspace() or text[0].isspace():
        return prompt + text
    return f"{prompt} {text}"


def judged_texts(predictions: Sequence[str], prompts: Sequence[str], include_prompt: bool) -> list[str]:
    """The texts a metric reads: the predictions, each after its prompt if `include_prompt`."""
    if not include_prompt:
        return list(predictions)
    return [join_prompt(prompt, prediction) for prompt, prediction in zip(prompts, predictions, strict=True)]


def mean(scores: Sequence[float | None]) -> float | None:
    """The mean of the scores that are not None; None if there is no such score."""
    present = [score for score in scores if score is not None]
    return statistics.fmean(present) if present else None


def shared_count(left: Mapping[Any, int], right: Mapping[Any, int]) -> int:
    """The size of the intersection of two bags (mappings from item to count)."""
    if len(left) > len(right):
        left, right = right, left
    return sum(min(count, right[item]) for item, count in left.items() if item in right)


def f1_from_counts(hits: int, predicted: int, gold: int, empty: float = 0.0) -> float:
    """F1, the harmonic mean of hits / predicted and hits / gold; `empty` if both denominators are 0."""
    return 2 * hits / (predicted + gold) if predicted + gold else empty


def bag_f1(predicted: Sequence[str], gold: Sequence[str], empty: float = 0.0) -> float:
    """F1 of two bags of tokens; `empty` if both bags are empty."""
    return f1_from_counts(shared_count(Counter(predicted), Counter(gold)), len(predicted), len(gold), empty)
