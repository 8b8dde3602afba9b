"""Inflected forms of English words: plurals of nouns, and forms of verbs.

They come from spelling rules and a list of irregular forms. The rules do not know the part of speech, so a
word has its forms as a noun and as a verb. Comparatives are not included.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

VOWELS = "aeiou"
SIBILANTS = ("s", "x", "z", "ch", "sh")

# a base form, then the forms that no rule produces
IRREGULAR = Path(__file__).with_name("irregular_forms.txt")


def _irregular_forms() -> dict[str, frozenset[str]]:
    lines = IRREGULAR.read_text("utf-8").splitlines()
    entries = [entry.split() for line in lines for entry in line.split("|")]
    return {base: frozenset(forms) for base, *forms in entries}


IRREGULAR_FORMS = _irregular_forms()


@lru_cache(maxsize=1 << 14)
def forms(word: str) -> frozenset[str]:
    """The word and its inflected forms, in lower case."""
    word = word.lower()
    return frozenset({word, *_plurals(word), *_verbal(word), *IRREGULAR_FORMS.get(word, ())})


def _plurals(word: str) -> tuple[str, ...]:
    """Forms in -s; both spellings after o ("photos", "potatoes")."""
    if _consonant_y(word):
        return (word[:-1] + "ies",)
    return (
        *([word + "es"] if word.endswith((*SIBILANTS, "o")) else []),
        *([word + "s"] if not word.endswith(SIBILANTS) else []),
    )


def _verbal(word: str) -> tuple[str, ...]:
    """Past and -ing forms; both spellings if the final consonant may be doubled ("travelled", "traveled")."""
    if word.endswith("ie"):
        return (word + "d", word[:-2] + "ying")
    if word.endswith(("ee", "oe", "ye")):
        return (word + "d", word + "ing")
    if word.endswith("e"):
        return (word + "d", word[:-1] + "ing")
    if _consonant_y(word):
        return (word[:-1] + "ied", word + "ing")
    doubled = (word + word[-1] + "ed", word + word[-1] + "ing") if _doubles(word) else ()
    plain = (word + "ed", word + "ing")
    return doubled if doubled and _syllables(word) == 1 else (*doubled, *plain)


def _consonant_y(word: str) -> bool:
    return len(word) > 1 and word[-1] == "y" and word[-2] not in VOWELS


def _doubles(word: str) -> bool:
    """Whether the word ends in consonant, vowel, consonant, but not in w, x or y: "stop", "travel".

    The u of "quit" is a consonant.
    """
    before = word[:-2].replace("qu", "qq")
    return (
        len(word) > 2
        and word[-1] not in VOWELS + "wxy"
        and word[-1].isalpha()
        and word[-2] in VOWELS
        and before[-1] not in VOWELS
    )


def _syllables(word: str) -> int:
    """Groups of vowels, y between consonants included."""
    marks = [letter in VOWELS + "y" for letter in word.replace("qu", "qq")]
    return sum(mark and not before for mark, before in zip(marks, [False, *marks]))
