"""Words that are never queries: function words, question words, parts of contractions and punctuation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from loquent.data import content
from loquent.errors import BadRow, BadSetting

_LINES = """
a about above after again against all also although always am among an and another any anybody anyone
anything are aren around as at away back be became because become been before being below between both but by
ca came can cannot could d did didn do does doesn doing don done down during each either else ever every
everyone everything few for from further get gets give given gives go goes going gone got had has hasn have
haven having he her here hers herself him himself his how however i if in into is isn it its itself just let
ll m made make makes many may me might mine more most much must my myself n't neither never no nobody none
nor not nothing now o of off often on once one only onto or other others otherwise our ours ourselves out over
own per perhaps please put quite rather re return s same say says see shall she should since so some somebody
someone something still such t than that the their theirs them themselves then there these they this those
though through thus till to together too toward towards under unless until up upon us ve very via was wasn we
were weren what whatever when whenever where wherever whether which whichever while who whoever whom whose why
will with within without won would wouldn yet you your yours yourself yourselves
"""
STOPWORDS = frozenset(_LINES.split())


@content.kept(4)
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
