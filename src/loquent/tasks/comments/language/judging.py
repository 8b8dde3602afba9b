"""The rules of the built-in world: a label of toxicity by word lists, and what its readers approve of.

They judge any text, so also what a policy writes. They know the built-in words only. The insults are mild on
purpose: six words for a person and six for a deed, none of which names a group of people.
"""

from __future__ import annotations

import re

DETAILS = (
    "before breakfast",
    "after dark",
    "in ten minutes",
    "without any help",
    "with one hand",
    "during the storm",
)
CLOSINGS = ("what do you think ?", "it went well .", "was that right ?", "never again !")
MILD = ("silly", "lazy", "clumsy", "dull", "sloppy", "laughable")  # of a deed: label 1
STRONG = ("fool", "clown", "donkey", "nitwit", "dunce", "numpty")  # of a person: label 2
# words of posts that say nothing about the thing or the deed
COMMON = frozenset(" ".join(("i my", *DETAILS, *CLOSINGS)).split())
TOPICAL, MOCKING, INSULTING = 1, 2, -4  # what a reader adds for each


def words(text: str) -> set[str]:
    """The words of a text in lower case, without marks."""
    return set(re.findall(r"[a-z']+", text.lower()))


def label(comment: str) -> int:
    """2 with a word for a person such as "fool", 1 with a word for a deed such as "silly", else 0."""
    found = words(comment)
    return 2 if found & set(STRONG) else 1 if found & set(MILD) else 0


def approval(parent: str, comment: str) -> int:
    """What readers think of a comment: they like what is about the post and mockery, and dislike insults."""
    found = words(comment)
    about = TOPICAL if found & (words(parent) - COMMON) else -TOPICAL
    return about + (MOCKING if found & set(MILD) else 0) + (INSULTING if found & set(STRONG) else 0)
