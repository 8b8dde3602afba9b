"""The state of a game, as a value."""

from __future__ import annotations

from typing import NamedTuple

from loquent.tasks.reading.games import Game


class State(NamedTuple):
    """A game and its progress.

    cursor: the number of the current sentence.
    memory: the numbers of the last different sentences, oldest first; of equal sentences, the first's number.
    used: the commands so far, invalid ones and "stop" included.
    searched, hits: the queries of the searches so far, and how many of them were found.
    last: the last command's search: (found, wrapped), or None if it was no search.
    ended: "" while the agent gives commands; then the name of the ending.
    answer: the answer after the game halted; None: there is none yet.
    """

    game: Game
    cursor: int
    memory: tuple[int, ...]
    used: int = 0
    searched: tuple[str, ...] = ()
    hits: int = 0
    last: tuple[bool, bool] | None = None
    ended: str = ""
    answer: str | None = None
