"""Prompts for an endpoint with an unknown model format: messages, or one text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from loquent.core.actions import ActionSet
from loquent.core.agent import Question
from loquent.core.episode import Turn
from loquent.data.tables.forms import as_text, content_of, tools_of
from loquent.errors import BadModel, BrokenAgent

if TYPE_CHECKING:
    from loquent.models.format.names import Format

LONE = re.compile("[\ud800-\udfff]")  # half of a character, which endpoints reject
QUOTED = 80  # characters quoted from an invalid answer
MOST_ACTIONS = 1000  # the most actions that are searched for a line break


def messages(question: Question, first: int, nothing: str) -> list[dict[str, str]]:
    """The messages of a chat.

    The system gives the instruction. The assistant's messages are the answers of the seat. The user's
    messages are all other turns. After an answer that the task could not read, the next message gives the
    task's reason.

    Args:
        first: the first turn that is written.
        nothing: replaces an empty text in a message.
    """
    seat, turns = question.observation.seat, question.turns[first:]
    lines = [line for before, turn in zip((None, *turns), turns) for line in _lines(before, turn, seat)]
    messages = [{"role": "system", "content": clean(question.instruction)}] if question.instruction else []
    for own, group in groupby(lines, key=lambda line: line[0]):
        text = "\n".join(text for _, text in group if text)
        messages.append({"role": "assistant" if own else "user", "content": text or nothing})
    return messages


def text(question: Question, first: int) -> str:
    """One text: the instruction on its own line, then the texts of the turns as they are.

    A line break follows an answer if there is no other white space before the next text.
    """
    seat, written = (
        question.observation.seat,
        clean(question.instruction) + "\n" if question.instruction else "",
    )
    own = False
    for turn in question.turns[first:]:
        text = clean(turn.text)
        if own and text and not written[-1:].isspace() and not text[0].isspace():
            written += "\n"
        written += text
        own = turn.seat == seat if text else own
    return written + "\n" if own and not written[-1:].isspace() else written


def line_stops(actions: ActionSet | None, legal: object) -> tuple[str, ...]:
    """A line break, if every action is a single line; else nothing.

    Without this stop string a model without an end token would go on and invent the task's next lines.
    """
    if actions is None:
        return ()
    texts = (
        actions.text(i, legal) for i in range(min(len(actions), MOST_ACTIONS)) if actions.contains(legal, i)
    )
    return () if any("\n" in text for text in texts) else ("\n",)


def next_first(turns: Sequence[Turn], seat: str, first: int) -> int | None:
    """The first turn of a shorter history: the next turn of another seat.

    None if only the newest turn is left.
    """
    return next((i for i in range(first + 1, len(turns)) if turns[i].seat != seat), None)


def clean(text: str) -> str:
    """The text without lone surrogates, which JSON and tokenizers reject."""
    return text if text.isascii() else LONE.sub("\ufffd", text)


def _lines(before: Turn | None, turn: Turn, seat: str) -> list[tuple[bool, str]]:
    """The texts of a turn, each with whether it is an assistant's."""
    if turn.messages:
        tools = [(False, clean(as_text(turn.messages).partition("\n")[0]))] if tools_of(turn.messages) else []
        return [*tools, *((one[0] == "assistant", clean(content_of(one))) for one in turn.messages)]
    return [(turn.seat == seat, _written(before, turn, seat))]


def _written(before: Turn | None, turn: Turn, seat: str) -> str:
    """The text of a turn; after an invalid answer with the reason before it."""
    text = clean(turn.text)
    if turn.seat == seat or before is None or not before.invalid:
        return text
    reason = f"{clean(before.text)[:QUOTED]!r} is no valid answer: {before.invalid}"
    return f"{reason}\n{text}" if text else reason


def check_fits(format: Format, question: Question, room: int, who: str) -> None:
    """Check that a prompt is written whole; BrokenAgent if it has more tokens than `room`."""
    try:
        fitted = format.fit(question.instruction, question.turns, question.observation.seat, room)
    except BadModel as error:
        raise BrokenAgent(f"{who}: {error}") from error
    if fitted.first or fitted.cut:
        raise BrokenAgent(f"{who}: the prompt has more than the {room} tokens that the model has room for")
