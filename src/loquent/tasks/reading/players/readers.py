"""Readers: functions from a question and sentences to an answer, for agents that only gather sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loquent.core import registry
from loquent.tasks.reading.corpus.stopwords import is_query
from loquent.tasks.reading.search.similar import stem

Reader = Callable[[str, Sequence[str]], str]
LONGEST = 6  # tokens of an answer


def overlap(question: str, sentences: Sequence[str]) -> str:
    """An answer without a model: from the sentence that shares most words with the question, oldest first.

    The answer is the run of at most 6 tokens that are neither stop words nor words of the question, and that
    stands nearest to the last shared word. Words are compared by their stems.

    Args:
        question, sentences: tokens with single spaces between them.
    """
    wanted = {stem(word) for word in question.split() if is_query(word)}
    best, most = "", -1
    for sentence in sentences:
        shared = len({stem(word) for word in sentence.split()} & wanted)
        if shared > most:
            best, most = sentence, shared
    words = best.split()
    shared_at = [i for i, word in enumerate(words) if stem(word) in wanted] or [0]
    runs = _runs(words, wanted)
    if not runs:
        return best
    first, last = min(runs, key=lambda run: (min(abs(run[0] - i) for i in shared_at), -(run[1] - run[0])))
    return " ".join(words[first : min(last, first + LONGEST)])


def _runs(words: Sequence[str], wanted: set[str]) -> list[tuple[int, int]]:
    """The maximal runs of tokens that may answer."""
    runs, first = [], None
    for i, word in enumerate([*words, ""]):
        fits = bool(word) and is_query(word) and stem(word) not in wanted
        if fits and first is None:
            first = i
        elif not fits and first is not None:
            runs.append((first, i))
            first = None
    return runs


READERS: dict[str, Reader] = {"overlap": overlap}


def reader(name: str) -> Reader:
    """The reader with a name, or the function "module:Name".

    Raises:
        UnknownName, BadSetting: there is no such function.
    """
    return READERS[name] if name in READERS else registry.function(name, "reader")
