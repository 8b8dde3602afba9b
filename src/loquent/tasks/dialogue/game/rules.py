"""The rules of visual dialogue: when an image is found, and which answers count as yes or no.

Source: arXiv:2206.11871, section 6; the released code's heuristics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

TURNS = 10
MOST_CHARACTERS = 4096  # of a text that a seat reads; a longer one is cut
GOAL = 1.0
ROUNDING = 1e-9  # progress that lacks less than this counts; two ranks among N images differ by 1 / (N + 1)
NONE, SOFT, HARD, CONSERVATIVE = "none", "soft", "hard", "conservative"
CHARACTERS, WORDS = "characters", "words"
YES_NO = ("yes", "no")
VAGUE = (
    "not",
    "don't",
    "don’t",
    "can't",
    "can’t",
    "cannot",
    "fairly",
    "could",
    "think so",
    "okay",
    "maybe",
    "yes",
    "no",
    "looks",
    "appears",
    "tell",
    "mostly just",
)
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # "don't" and "no-one" are one word
PHRASES = {NONE: (), SOFT: YES_NO, HARD: YES_NO, CONSERVATIVE: VAGUE}


def found(initial: float, progress: Sequence[float], share: float) -> bool:
    """Whether the answers so far have closed a share of the gap between the first percentile and 1.

    The rule is sum(progress) >= share * (1 - initial), with a tolerance for rounding: percentiles are
    fractions, and a sum of their differences often closes the share exactly. It holds when there is no gap.

    Args:
        initial: the percentile p_0 before the first question.
        progress: the change of the percentile with each answer.
        share: between 0 and 1; the paper uses 0.5.
    """
    gap = GOAL - initial
    return gap <= 0 or sum(progress) >= share * gap - ROUNDING


def is_yes_no(answer: str, kind: str, match: str = CHARACTERS) -> bool:
    """Whether an answer counts as yes or no.

    Args:
        kind: "none" (never), "soft" (contains yes or no), "hard" (is yes or no), or "conservative" (contains
            one of `VAGUE`).
        match: "characters", as in the released code: "snow" contains "no", and "yes." is not "yes". "words":
            whole words, and punctuation around an answer does not count.
    """
    text = answer.lower()
    if match == CHARACTERS:
        return text in YES_NO if kind == HARD else any(phrase in text for phrase in PHRASES[kind])
    words = WORD.findall(text)
    if kind == HARD:
        return " ".join(words) in YES_NO
    line = f" {' '.join(words)} "
    return any(f" {phrase} " in line for phrase in PHRASES[kind])
