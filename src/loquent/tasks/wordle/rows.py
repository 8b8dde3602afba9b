"""The words of Wordle: a built-in list, or a file with one word per line. Each row has one secret."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from loquent.core.guards import opening
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import content
from loquent.errors import BadRow, BadSetting

LENGTH = 5
WORD = re.compile("[a-z]{5}")
BUILTIN = "builtin"
BUILTIN_WORDS = Path(__file__).with_name("words.txt")
DRAWN_ONCE = Key(0, ("wordle", "limit"))  # the same smaller list in every run


def read(words: str, limit: int = 0) -> tuple[str, ...]:
    """The sorted word list, or `limit` of its words.

    The chosen words are the same in every run; a larger limit adds words.

    Args:
        words: "builtin", or the path of a file with one word of five letters a-z per line (empty lines are
            skipped). Of a general vocabulary, where fewer than half of the lines have five characters, these
            lines are used.

    Raises:
        BadRow: the file cannot be read or is empty, or a line is not a word or repeats one;
            names file and line.
        BadSetting: the limit is larger than the list.

    Warns:
        Remark: the file is a general vocabulary; says how many lines are used.
    """
    listed = tuple(BUILTIN_WORDS.read_text("utf-8").split()) if words == BUILTIN else _file(words)
    if limit > len(listed):
        raise BadSetting(
            f"limit = {limit} is more than the {len(listed)} words of {words}; set at most that, or 0 for all"
        )
    if not limit:
        return listed
    return tuple(sorted(listed[i] for i in DRAWN_ONCE.generator().permutation(len(listed))[:limit]))


def rows(words: tuple[str, ...], split: str) -> tuple[Row, ...]:
    """One row per secret.

    Every split has the same secrets under its own ids, because a player may know the list.
    """
    return tuple(Row(f"{split}:{word}", Record(secret=word)) for word in words)


@content.cache_reads(8)
def _file(path: str) -> tuple[str, ...]:
    try:
        lines = opening.whole(Path(path)).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = f"the word list cannot be read ({error}); use 'builtin' or a file with one word per line"
        raise BadRow(why, file=path) from error
    listed = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    of_five = [(number, word) for number, word in listed if len(word) == LENGTH]
    if of_five and 2 * len(of_five) < len(listed):
        warnings.warn(
            f"{path} is a general vocabulary: its {len(of_five):,} lines with five characters are used, the "
            f"other {len(listed) - len(of_five):,} are left out",
            Remark,
            stacklevel=2,
        )
        listed = of_five
    lines_of: dict[str, int] = {}
    for number, word in listed:
        if not WORD.fullmatch(word):
            raise BadRow(f"{word[:40]!r} is not a word of five letters a-z", file=path, line=number)
        if word in lines_of:
            raise BadRow(
                f"{word!r} repeats line {lines_of[word]}; remove one of the lines", file=path, line=number
            )
        lines_of[word] = number
    if not lines_of:
        raise BadRow("the word list is empty; write one word per line", file=path)
    return tuple(sorted(lines_of))
