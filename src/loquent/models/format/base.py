"""What all formats share: how turns become pieces, which turns a prompt keeps, and how an answer's ids become
text.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.encoder import Encoder, Ids

HEAD = -1  # the turn number of what belongs to no turn: the start token and the instruction


@dataclass(frozen=True)
class Piece:
    """The ids of one turn (`turn`: its place in the sequence, -1 for the head of the row), and which of them
    the reading seat chose.
    """

    ids: Ids
    is_action: tuple[bool, ...]
    turn: int


@dataclass(frozen=True)
class Fit:
    """What a row keeps of a history: turns from `first` on; `keep` ids of that turn's text (None: all), `cut`
    ids of it are gone.
    """

    first: int = 0
    keep: int | None = None
    cut: int = 0


@dataclass(frozen=True)
class Written:
    """A row as pieces (the head, then one for each turn), and `opening`: the ids between the last turn and
    the next answer.

    `owed` is the part of the opening that closes the last answer.
    """

    pieces: tuple[Piece, ...]
    opening: Ids
    owed: Ids

    @property
    def length(self) -> int:
        """How many ids the pieces hold."""
        return sum(len(piece.ids) for piece in self.pieces)


@dataclass(frozen=True)
class Head:
    """How a row begins: its ids, whether they open a message to the reader, whether they hold no text yet,
    what is written before the
    text of the first message."""

    ids: Ids
    open: bool = False
    fresh: bool = True
    lead: str = ""


@dataclass
class _Pen:
    """Where writing stands: as in `Head`, and the ids that close the last answer, which are owed."""

    open: bool
    fresh: bool
    lead: str
    owed: Ids = ()


class Format(ABC):
    """How a history of turns is written in token ids for the seat that reads it.

    The laws: the ids of n turns begin the ids of n + 1 turns; a row never begins with an action; turns with
    tokens are never tokenised again; a marker string inside a text is plain characters; no text raises. An
    observation without text adds nothing. An answer tokenised from text carries its end marker as an action
    where it stopped by "end"; where no end marker was drawn, one is written by the environment as soon as
    something follows.

    `end` are the ids that end an answer, `pad` fills rows, `vocabulary` is how many ids the tokenizer has,
    `closing` is what stands after the last turn of a game that a rule has ended.
    """

    end: frozenset[int]
    pad: int
    vocabulary: int
    closing: Ids = ()
    takes_system: bool = True  # whether an instruction is a part of its own before the first turn

    _told_open: Ids = ()
    _told_close: Ids = ()
    _opening: Ids = ()
    _ending: Ids = ()  # closes an answer; the last of them is the end marker
    _after: Ids = ()  # what is written between an end marker and the next turn
    _lead: str = ""  # white space that a template writes before the text of an answer,
    _told_lead: str = ""  # and before that of a message to the reader: tokenised with it

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.vocabulary = encoder.size

    def __deepcopy__(self, memo: dict[int, Any]) -> Format:
        return self

    @abstractmethod
    def chat_template(self) -> str:
        """This format as a chat template (Jinja), for servers: system is the instruction, assistant the
        reading seat, any other role is
        the task. A template writes one text, which is tokenised whole, so a tokenizer may join what the
        format keeps apart.
        """

    @abstractmethod
    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        """What stands before the first turn."""

    def pieces(self, instruction: str, turns: Sequence[Turn], seat: str) -> list[Piece]:
        """The head and one piece for each turn, as `seat` reads and says them.

        Empty where a turn adds nothing.
        """
        return list(self.write(instruction, turns, seat).pieces)

    def prompt(self, instruction: str, turns: Sequence[Turn], seat: str, room: int) -> tuple[Ids, int]:
        """The ids after which `seat` answers, at most `room` of them, and the first turn that was kept.

        Raises:
            BadModel: the instruction and the markers alone do not fit.
        """
        fit = self.fit(instruction, turns, seat, room)
        written = self.write(instruction, turns[fit.first :], seat, fit.keep)
        return tuple(i for piece in written.pieces for i in piece.ids) + written.opening, fit.first

    def answer(self, text: str) -> Ids:
        """The action ids of an answer that is this text, end marker included, as it stands anywhere but first
        in a row.
        """
        return self.encoder.encode(self._lead + text) + self._ending

    def text(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """The text of an answer drawn after `before`: without its end marker and special tokens, with its
        leading space.

        The leading space that some tokenizers put before the first text of a row is no part of it; so
        `before` matters.
        """
        said = list(ids)
        while said and said[-1] in self.end:
            said.pop()
        text = self.encoder.decode(said, first=not self.encoder.is_text(before))
        return text.removeprefix(self._lead)

    def spoken(self, text: str) -> str:
        """The text of an answer that a server decoded: without the white space that a template writes before
        it.
        """
        return text.removeprefix(self._lead)

    def fit(self, instruction: str, turns: Sequence[Turn], seat: str, room: int) -> Fit:
        """Which turns a prompt of at most `room` ids keeps.

        Whole turns are dropped, oldest first, until what is left begins with something the seat was told and
        fits; never the instruction or the newest observation. Where that alone is too long, its oldest ids
        are cut.

        Raises:
            BadModel: the instruction and the markers alone do not fit.
        """
        written = self.write(instruction, turns, seat)
        if written.length + len(written.opening) <= room:
            return Fit()
        told = [number for number, turn in enumerate(turns) if turn.seat != seat]
        newest = told[-1] if told else 0
        head, *lengths = (len(piece.ids) for piece in written.pieces)
        dropped = [0, *accumulate(lengths)]  # ids of the turns before each turn
        slack = (
            len(self._told_open + self._ending + self._after) + 2
        )  # what a turn may need less where it stands first
        for first in told:
            if first and dropped[-1] - dropped[first] + head + len(written.opening) - slack <= room:
                kept = self.write(instruction, turns[first:], seat)
                if kept.length + len(kept.opening) <= room:
                    return Fit(first)
        kept = self.write(instruction, turns[newest:], seat)
        spare = room - kept.length - len(kept.opening)
        if spare >= 0:
            return Fit(newest)
        text = self._text_length(instruction, turns[newest:], seat) if told else 0
        if text + spare < 1:
            needed = kept.length + len(kept.opening) - text
            raise BadModel(
                f"a prompt may have {room} tokens, and the instruction and markers alone take "
                f"{needed}; give it more room or say less"
            )
        return Fit(newest, text + spare, -spare)

    def write(self, instruction: str, turns: Sequence[Turn], seat: str, keep: int | None = None) -> Written:
        """The row of these turns.

        `keep`: how many ids of the first turn's text are written, the last ones; None for all.
        """
        start = self._head(instruction, turns, seat)
        pen = _Pen(start.open, start.fresh, start.lead)
        pieces = [Piece(start.ids, (False,) * len(start.ids), HEAD)]
        for number, turn in enumerate(turns):
            if turn.seat == seat:
                pieces.append(self._said(turn, number, pen))
            else:
                pieces.append(self._told(turn, number, pen, keep if number == 0 else None))
        return Written(tuple(pieces), self._before_answer(pen), pen.owed)

    def _told(self, turn: Turn, number: int, pen: _Pen, keep: int | None) -> Piece:
        if not turn.text and not pen.open:
            return Piece((), (), number)
        text = self.encoder.encode(pen.lead + turn.text, pen.fresh)
        kept = text if keep is None else text[len(text) - keep :]
        ids = pen.owed + (() if pen.open else self._told_open) + kept + self._told_close
        pen.open, pen.owed, pen.fresh, pen.lead = False, (), pen.fresh and not text, self._told_lead
        return Piece(ids, (False,) * len(ids), number)

    def _said(self, turn: Turn, number: int, pen: _Pen) -> Piece:
        before = self._before_answer(pen)
        if turn.tokens is not None:
            ids = tuple(turn.tokens.ids.tolist())
        else:
            ids = self.encoder.encode(self._lead + turn.text, pen.fresh) + (
                self._ending if turn.stopped == "end" else ()
            )
        ended = bool(ids) and ids[-1] in self.end
        pen.owed = self._after if ended else self._ending + self._after
        pen.open, pen.fresh, pen.lead = False, pen.fresh and not ids, self._told_lead
        return Piece(before + ids, (False,) * len(before) + (True,) * len(ids), number)

    def _before_answer(self, pen: _Pen) -> Ids:
        return pen.owed + (self._told_close if pen.open else ()) + self._opening

    def _text_length(self, instruction: str, turns: Sequence[Turn], seat: str) -> int:
        start = self._head(instruction, turns, seat)
        return len(self.encoder.encode(start.lead + turns[0].text, start.fresh))


def distinct_markers(names: Iterable[str | None]) -> tuple[str, ...]:
    """The marker strings that exist, each once."""
    return tuple(dict.fromkeys(name for name in names if name))


TURNS = (  # the first lines of a chat template: the instruction, and the turns after it
    "{% set system = messages and messages[0].role == 'system' %}"
    "{% set instruction = (messages[0].content or '') if system else '' %}"
    "{% set turns = messages[1:] if system else messages %}"
)


def literal(text: str) -> str:
    """A text as a string in Jinja."""
    return json.dumps(text, ensure_ascii=False)
