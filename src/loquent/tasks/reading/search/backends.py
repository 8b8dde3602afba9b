"""How a query is found: as a token, as a phrase, or by similar tokens.

A backend is a function `(document, cursor, query) -> Found`. It scans the sentences after the cursor, goes on
at the first sentence, and ends with the sentence at the cursor itself. A search without a result stays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache

from loquent.core import registry
from loquent.tasks.reading.corpus import tokens
from loquent.tasks.reading.corpus.documents import Document
from loquent.tasks.reading.search.similar import similar

# the new cursor, whether the query was found, whether the search wrapped; a plain tuple is made fastest
Found = tuple[int, bool, bool]
Backend = Callable[[Document, int, str], Found]


def exact(document: Document, cursor: int, query: str) -> Found:
    """The next sentence with a token equal to the query; a query of several tokens finds nothing."""
    return following(document.index.get(query, ()), cursor)


def phrase(document: Document, cursor: int, query: str) -> Found:
    """The next sentence with the tokens of the query one after the other."""
    return following(_with_phrase(document, query), cursor)


def fuzzy(document: Document, cursor: int, query: str) -> Found:
    """The next sentence with a token that is similar to each token of the query (`similar`)."""
    return following(_with_similar(document, query), cursor)


def following(places: Sequence[int], cursor: int) -> Found:
    """The first of the sorted places after the cursor, cyclically."""
    if not places:
        return cursor, False, False
    i = bisect_right(places, cursor)
    return (places[i], True, False) if i < len(places) else (places[0], True, True)


BACKENDS: dict[str, Backend] = {"exact": exact, "phrase": phrase, "fuzzy": fuzzy}


def backend(name: str) -> Backend:
    """The backend with a name, or the function "module:Name".

    Raises:
        UnknownName, BadSetting: there is no such function.
    """
    return BACKENDS[name] if name in BACKENDS else registry.function(name, "reading.search")


@lru_cache(maxsize=1 << 14)
def _with_phrase(document: Document, query: str) -> tuple[int, ...]:
    words = tokens.lower_tokens(query)
    if not words:
        return ()
    rarest = min((document.index.get(word, ()) for word in words), key=len)
    wanted = f" {' '.join(words)} "
    return tuple(i for i in rarest if wanted in f" {document.sentences[i]} ")


@lru_cache(maxsize=1 << 14)
def _with_similar(document: Document, query: str) -> tuple[int, ...]:
    places: set[int] | None = None
    for word in tokens.lower_tokens(query):
        alike = {i for token, at in document.index.items() if similar(word, token) for i in at}
        places = alike if places is None else places & alike
    return tuple(sorted(places or ()))
