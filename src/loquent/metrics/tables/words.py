"""Words as ToTTo's evaluation reads them: lower case, detokenised (Moses), tokenized (sacrebleu's 13a)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from loquent.errors import MissingExtra
from loquent.metrics.tables.moses import detokenise

NULL = "<null>"  # in the official files: an empty prediction, and each missing reference of three
REFERENCES = 3
MARKS = re.compile(r"[!-&(-/:-@\[-`{-~]")  # a text without these characters is split at its spaces only
BREAKS = re.compile(r"[\n\r]+")


@lru_cache(maxsize=1 << 14)
def line(text: str) -> str:
    """A text as in the official files: one line, lower case, detokenised."""
    return detokenise(BREAKS.sub(" ", text).lower())


def answer(prediction: str) -> str:
    """A prediction as `line`; an empty prediction is `<null>`."""
    return line(prediction.strip() or NULL)


def pad_references(references: Sequence[str]) -> tuple[str, ...]:
    """References as `line`, filled up with `<null>` to three, as in the official files."""
    return (*map(line, references), *[NULL] * (REFERENCES - len(references)))


@lru_cache(maxsize=1 << 14)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a `line`."""
    return tuple((tokenizer_13a()(text.strip()) if MARKS.search(text) else text).split())


@cache
def tokenizer_13a() -> Callable[[str], str]:
    """Sacrebleu's tokenizer 13a.

    Raises:
        MissingExtra: sacrebleu is not installed.
    """
    try:
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    except ImportError as error:
        raise MissingExtra("the tokenizer 13a (sacrebleu)", "metrics") from error
    return Tokenizer13a()
