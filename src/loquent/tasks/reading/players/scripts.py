"""Fixed scripts: the same commands in every game, then "stop"; and the best of them on training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from loquent.core.task import Row
from loquent.errors import BadSetting
from loquent.tasks.reading.commands import COMMANDS, NEXT, PREVIOUS, SEARCH, text_of
from loquent.tasks.reading.games import Game
from loquent.tasks.reading.scores import sufficient
from loquent.tasks.reading.task import Reading

SLOTS = 6  # scripts search for the first 6 words of a question, as "ctrl+f #1" to "ctrl+f #6"
ROWS = 300  # training rows on which scripts are compared

Script = tuple[str, ...]


def alphabet(mode: str) -> tuple[str, ...]:
    """The commands of scripts: without "stop", and with numbers of words as queries."""
    plain = tuple(verb for verb in COMMANDS[mode] if verb in (PREVIOUS, NEXT))
    return (*plain, *(text_of(SEARCH, f"#{i}") for i in range(1, SLOTS + 1)))


def resolve_command(command: str, words: Sequence[str]) -> str | None:
    """A script's command in a game; None where the question has no word with its number.

    Args:
        words: the words of the question that may be queries.

    Raises:
        BadSetting: it is no command of a script.
    """
    verb, _, query = command.partition(" ")
    if verb != SEARCH and command in (PREVIOUS, NEXT):
        return command
    number = query.removeprefix("#")
    if (
        verb != SEARCH
        or query[:1] != "#"
        or not number.isdecimal()
        or not number.isascii()
        or int(number) < 1
    ):
        raise BadSetting(
            f"{command!r:.60} is no command of a script; use previous, next, or ctrl+f #1 for the first word "
            "of the question"
        )
    return text_of(SEARCH, words[int(number) - 1]) if int(number) <= len(words) else None


def best(task: Reading, rows: Sequence[Row], length: int) -> Script:
    """The script of at most `length` commands that is sufficient most often on some rows.

    Of equally good scripts, it is the shortest, then the first in the order of `alphabet`.
    """
    counts = rates(task, rows, length)
    return max(counts, key=lambda script: (counts[script], -len(script)))


def rates(task: Reading, rows: Sequence[Row], length: int) -> dict[Script, float]:
    """The share of games in which each script of at most `length` commands has a sufficient memory."""
    counts: Counter[Script] = Counter()
    symbols = alphabet(task.options.mode)
    for row in rows:
        game = task.game(row)
        known: dict[tuple[int, ...], bool] = {}
        for script, memory in _walk(task, game, symbols, length):
            if memory not in known:
                known[memory] = _enough(task, game, memory)
            counts[script] += known[memory]
    return {script: count / len(rows) for script, count in counts.items()}


def _walk(
    task: Reading, game: Game, symbols: tuple[str, ...], length: int
) -> Iterator[tuple[Script, tuple[int, ...]]]:
    """Every script with the memory at its end; a search for a word that does not exist stays."""
    document, size, slots = game.document, len(game.document.ranges), task.options.memory
    waiting: list[tuple[Script, int, tuple[int, ...]]] = [((), 0, (document.first_equal[0],))]
    while waiting:
        script, cursor, memory = waiting.pop()
        yield script, memory
        if len(script) == length:
            continue
        for symbol in symbols:
            if symbol == NEXT:
                to = (cursor + 1) % size
            elif symbol == PREVIOUS:
                to = (cursor - 1) % size
            else:
                number = int(symbol.partition("#")[2]) - 1
                exists = number < len(game.queries)
                to = task.find(document, cursor, game.queries[number])[0] if exists else cursor
            place = document.first_equal[to]
            after = memory if place in memory else (*memory, place)[-slots:]
            waiting.append(((*script, symbol), to, after))


def _enough(task: Reading, game: Game, memory: tuple[int, ...]) -> bool:
    return sufficient(game.needles, [game.document.answer_words[i] for i in memory], task.options.match)
