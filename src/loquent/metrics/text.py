"""Words of a text, and a prompt with what was said after it: shared by all metrics that read words."""

from __future__ import annotations

import re
from collections.abc import Sequence

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")


def words(text: str) -> list[str]:
    """Lower-cased words (an inner apostrophe belongs to its word) and single punctuation marks, in order."""
    return WORD.findall(text.lower())


def is_punctuation(word: str) -> bool:
    """Whether one of `words` is a punctuation mark."""
    return not word[0].isalnum()


def joined(prompt: str, said: str) -> str:
    """The prompt and what was said after it, with one space between where neither brings white space."""
    if not prompt or not said or prompt[-1].isspace() or said[0].isspace():
        return prompt + said
    return f"{prompt} {said}"


def judged(predictions: Sequence[str], prompts: Sequence[str], include_prompt: bool) -> list[str]:
    """The texts a metric reads: predictions, after their prompts where those count."""
    if not include_prompt:
        return list(predictions)
    return [joined(prompt, said) for prompt, said in zip(prompts, predictions, strict=True)]


def mean(scores: Sequence[float | None]) -> float | None:
    """The mean of the scores that exist; None when none does."""
    present = [score for score in scores if score is not None]
    return sum(present) / len(present) if present else None
