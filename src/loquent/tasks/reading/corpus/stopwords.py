"""Words that are never queries: function words, question words, parts of contractions and punctuation."""

from __future__ import annotations

from collections.abc import Iterable

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


def is_query(token: str) -> bool:
    """Whether a token in lower case may be a query: it has a letter or a digit, and is no stop word."""
    return token.lstrip("'’") not in STOPWORDS and any(map(str.isalnum, token))


def queries(words: Iterable[str]) -> tuple[str, ...]:
    """The tokens that may be queries, each once, in order."""
    return tuple(word for word in dict.fromkeys(words) if is_query(word))
