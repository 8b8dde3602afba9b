"""The oracle: it reads the whole document and finds a shortest way to a sufficient memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Protocol

from loquent.tasks.reading.commands import COMMANDS, NEXT, PREVIOUS, SEARCH, STOP, text_of
from loquent.tasks.reading.games import with_memory
from loquent.tasks.reading.options import QUESTION_MEMORY, VOCABULARY, Options
from loquent.tasks.reading.scores import sufficient
from loquent.tasks.reading.search.backends import Backend
from loquent.tasks.reading.state import State

MOST = 2000  # situations that are searched; beyond them the oracle gives up

Place = tuple[int, tuple[int, ...]]  # a cursor and a memory


class Reader(Protocol):
    """What the oracle asks of the task."""

    options: Options
    find: Backend

    def known(self, word: str) -> bool:
        """Whether a word is in the vocabulary of queries."""
        ...


def command(task: Reader, state: State) -> str:
    """The first command of a shortest way to a sufficient memory, or "stop"; after the end a right answer."""
    if state.ended:
        return state.game.answers[0] if state.game.answers else ""
    way = shortest(task, state, COMMANDS[task.options.mode])
    return way[0] if way else STOP


def shortest(task: Reader, state: State, verbs: tuple[str, ...]) -> list[str] | None:
    """The commands of a shortest way to a sufficient memory; None where the rest of the budget has none.

    Searches are for words of the question, and with queries=question+memory also for words of the memory.

    Args:
        verbs: the commands that may be used.
    """
    start: Place = state.cursor, state.memory
    # with single answer sentences and fixed queries, the way does not depend on the memory
    simple = task.options.queries != QUESTION_MEMORY and _in_one_sentence(task, state)
    if _enough(task, state, state.memory):
        return []
    waiting: deque[tuple[Place, list[str]]] = deque([(start, [])])
    known: set[object] = {state.cursor if simple else start}
    while waiting and len(known) < MOST:
        place, way = waiting.popleft()
        if len(way) >= task.options.steps - state.used:
            continue
        for text, cursor in _moves(task, state, place, verbs):
            memory = _pushed(state, place[1], cursor, task.options.memory)
            if _enough(task, state, memory):
                return [*way, text]
            key: object = cursor if simple else (cursor, memory)
            if key not in known:
                known.add(key)
                waiting.append(((cursor, memory), [*way, text]))
    return None


def _moves(task: Reader, state: State, place: Place, verbs: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Each command with the cursor after it."""
    document, cursor = state.game.document, place[0]
    size = len(document.ranges)
    if SEARCH in verbs:
        queries = state.game.queries
        if task.options.queries == QUESTION_MEMORY:
            queries = with_memory(state.game, [document.sentences[i] for i in place[1]])
        for query in queries:
            if task.options.queries != VOCABULARY or task.known(query):
                index, found, _ = task.find(document, cursor, query)
                if found:
                    yield text_of(SEARCH, query), index
    if NEXT in verbs:
        yield NEXT, (cursor + 1) % size
    if PREVIOUS in verbs:
        yield PREVIOUS, (cursor - 1) % size


def _pushed(state: State, memory: tuple[int, ...], cursor: int, size: int) -> tuple[int, ...]:
    number = state.game.document.first_equal[cursor]
    return memory if number in memory else (*memory, number)[-size:]


def _enough(task: Reader, state: State, memory: tuple[int, ...]) -> bool:
    normalised = state.game.document.answer_words
    return sufficient(state.game.needles, [normalised[i] for i in memory], task.options.match)


def _in_one_sentence(task: Reader, state: State) -> bool:
    return any(_enough(task, state, (i,)) for i in range(len(state.game.document.ranges)))
