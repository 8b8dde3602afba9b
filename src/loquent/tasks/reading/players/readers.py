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
    begins nearest to a shared word. Words are compared by their stems. It is "" where no sentence has such a
    run.

    Args:
        question, sentences: tokens with single spaces between them.
    """
    wanted = {stem(word) for word in question.split() if is_query(word)}
    best: tuple[int, str] = (-1, "")
    for sentence in sentences:
        words = sentence.split()
        shared_at = [i for i, word in enumerate(words) if stem(word) in wanted]
        shared, runs = len({stem(words[i]) for i in shared_at}), _runs(words, wanted)
        if shared > best[0] and runs:
            first, last = min(runs, key=lambda run: _distance(run, shared_at))
            best = shared, " ".join(words[first : min(last, first + LONGEST)])
    return best[1]


def _distance(run: tuple[int, int], shared_at: Sequence[int]) -> tuple[int, int]:
    """How far a run is from the nearest shared word; of equally near runs, the longer one comes first."""
    return min((abs(run[0] - i) for i in shared_at), default=0), run[0] - run[1]


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
