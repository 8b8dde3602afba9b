"""A Wordle board for a terminal: coloured tiles, and an alphabet coloured by the marks so far."""

from __future__ import annotations

from string import ascii_lowercase

from loquent.tasks.wordle.marks import ABSENT, ANYWHERE, IN_PLACE, LENGTH, Board

TILES = {IN_PLACE: "\x1b[1;30;42m", ANYWHERE: "\x1b[1;30;43m", ABSENT: "\x1b[1;37;100m"}
KEYS = {IN_PLACE: "\x1b[1;32m", ANYWHERE: "\x1b[1;33m", ABSENT: "\x1b[90m"}
PLAIN = "\x1b[0m"


def render_ansi(board: Board, left: int) -> str:
    """The guesses in green, yellow and grey, the remaining turns, and the alphabet.

    A letter of the alphabet has the colour of its best mark.
    """
    best: dict[str, str] = {}
    lines = []
    for guess, marks in board:
        lines.append(
            "".join(
                f"{TILES[mark]} {letter.upper()} {PLAIN}" for letter, mark in zip(guess, marks, strict=True)
            )
        )
        for letter, mark in zip(guess, marks, strict=True):
            best[letter] = max(best.get(letter, ABSENT), mark, key=(ABSENT, ANYWHERE, IN_PLACE).index)
    lines += [" _ " * LENGTH] * left
    lines.append(
        "".join(
            f"{KEYS[best[letter]]}{letter}{PLAIN}" if letter in best else letter for letter in ascii_lowercase
        )
    )
    return "\n".join(lines) + "\n"
