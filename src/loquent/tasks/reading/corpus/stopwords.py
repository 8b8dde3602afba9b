"""Words that are never queries: function words, question words, parts of contractions and punctuation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from loquent.data import content
from loquent.errors import BadRow, BadSetting

FILE = Path(__file__).with_name("stopwords.txt")
STOPWORDS = frozenset(FILE.read_text("utf-8").split())


@content.cache_reads(4)
def read(path: str) -> frozenset[str]:
    """The words of a file in lower case, one a line.

    Raises:
        BadSetting: there is no file. BadRow: a line is not one word; names file and line.
    """
    from loquent.data.readers import lines

    file = Path(path).expanduser()
    if not file.is_file():
        raise BadSetting(
            f"stop_words = {path!r}: there is no such file; set it to a file with one word a line"
        )
    words = set()
    for number, line in lines(file):
        if len(line.split()) != 1:
            raise BadRow(f"the line is {line!r:.80}; a line must be one word", file=file, line=number)
        words.add(line.strip().lower())
    return frozenset(words)


def is_query(token: str, stop_words: frozenset[str] | None = None) -> bool:
    """Whether a token in lower case may be a query.

    Args:
        stop_words: the tokens that may not, as in the paper's code. None: those of this list, with or without
            an apostrophe before them, and tokens without a letter or a digit.
    """
    if stop_words is not None:
        return token not in stop_words
    return token.lstrip("'’") not in STOPWORDS and any(map(str.isalnum, token))


def queries(words: Iterable[str], stop_words: frozenset[str] | None = None) -> tuple[str, ...]:
    """The tokens that may be queries, each once, in order; `stop_words` as in `is_query`."""
    return tuple(word for word in dict.fromkeys(words) if is_query(word, stop_words))
