"""How a question is written for an endpoint whose model's format nobody knows: as messages, or as one
text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from loquent.core.actions import ActionSet
from loquent.core.agent import Question
from loquent.core.episode import Turn

LONE = re.compile("[\ud800-\udfff]")  # half of a character, which no endpoint takes
QUOTED = 80  # characters of an invalid answer that are repeated
MOST_ACTIONS = 1000  # actions that are looked through for a line break


def messages(asked: Question, first: int, nothing: str) -> list[dict[str, str]]:
    """The messages of a chat: the instruction is the system's, what the seat said the assistant's, all else
    the user's.

    Where the task could not read an answer, the next message says so, with the task's reason.

    Args:
        first: the first turn that is written.
        nothing: stands for a message without text.
    """
    seat, turns = asked.observation.seat, asked.turns[first:]
    lines = [(turn.seat == seat, _told(before, turn, seat)) for before, turn in zip((None, *turns), turns)]
    found = [{"role": "system", "content": clean(asked.instruction)}] if asked.instruction else []
    for own, group in groupby(lines, key=lambda line: line[0]):
        text = "\n".join(text for _, text in group if text)
        found.append({"role": "assistant" if own else "user", "content": text or nothing})
    return found


def text(asked: Question, first: int) -> str:
    """One text: the instruction on a line of its own, then what was said as it is.

    A line break after an answer where nothing else
    parts it from what follows."""
    seat, written = asked.observation.seat, clean(asked.instruction) + "\n" if asked.instruction else ""
    own = False
    for turn in asked.turns[first:]:
        said = clean(turn.text)
        if own and said and not written[-1:].isspace() and not said[0].isspace():
            written += "\n"
        written += said
        own = turn.seat == seat if said else own
    return written + "\n" if own and not written[-1:].isspace() else written


def line_stops(actions: ActionSet | None, legal: object) -> tuple[str, ...]:
    """A line break, where every action is a line: a model without an end would play on through the lines of
    the task.
    """
    if actions is None:
        return ()
    some = (
        actions.text(i, legal) for i in range(min(len(actions), MOST_ACTIONS)) if actions.contains(legal, i)
    )
    return () if any("\n" in action for action in some) else ("\n",)


def next_first(turns: Sequence[Turn], seat: str, first: int) -> int | None:
    """Where a shorter history may begin: at the next turn that the seat was told.

    None where only the newest is left.
    """
    return next((i for i in range(first + 1, len(turns)) if turns[i].seat != seat), None)


def clean(said: str) -> str:
    """A text that JSON and tokenizers take."""
    return said if said.isascii() else LONE.sub("\ufffd", said)


def _told(before: Turn | None, turn: Turn, seat: str) -> str:
    said = clean(turn.text)
    if turn.seat == seat or before is None or not before.invalid:
        return said
    return f"{clean(before.text)[:QUOTED]!r} is no valid answer: {before.invalid}" + (
        f"\n{said}" if said else ""
    )
