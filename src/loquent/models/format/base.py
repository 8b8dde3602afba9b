"""The base class of formats.

It turns turns into pieces of ids, chooses the turns that a prompt keeps, and decodes answers.
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

HEAD = -1  # the turn number of ids that belong to no turn: the start token and the instruction


@dataclass(frozen=True)
class Piece:
    """The ids of one turn, and which of them the answering seat chose.

    `turn` is the turn's place in the history, -1 for the head of the row.
    """

    ids: Ids
    is_action: tuple[bool, ...]
    turn: int


@dataclass(frozen=True)
class Fit:
    """The part of a history that a row keeps: the turns from `first` on.

    Of the first turn's text the ids `keep` stay (None: all), of the answers the ids `answer`, and `cut` ids
    are removed.
    """

    first: int = 0
    keep: slice | None = None
    cut: int = 0
    answer: slice | None = None


@dataclass(frozen=True)
class Written:
    """A row as pieces: the head, then one piece for each turn.

    `opening` holds the ids between the last turn and the next answer; its part `owed` closes the last answer.
    """

    pieces: tuple[Piece, ...]
    opening: Ids
    owed: Ids

    @property
    def length(self) -> int:
        """The number of ids in the pieces."""
        return sum(len(piece.ids) for piece in self.pieces)


@dataclass(frozen=True)
class Head:
    """The beginning of a row."""

    ids: Ids
    open: bool = False  # whether the ids open an observation
    fresh: bool = True  # whether the ids hold no text
    lead: str = ""  # what is written before the text of the first observation


@dataclass
class _Pen:
    """The state of writing: the fields of `Head`, and the ids that must still close the last answer."""

    open: bool
    fresh: bool
    lead: str
    owed: Ids = ()


class Format(ABC):
    """Writes a history of turns as token ids for one seat.

    The turns of this seat are answers; all others are observations. The laws:

    - The ids of n turns begin the ids of n + 1 turns.
    - A row never begins with an action.
    - Turns with tokens are never tokenised again.
    - A marker string inside a text is plain characters.
    - No text raises. An observation without text adds nothing.
    - An answer tokenised from text has its end marker as an action if it stopped by "end". If no end marker
      was drawn, the environment writes one as soon as something follows.

    Attributes:
        end: the ids that end an answer.
        pad: the id that fills rows.
        vocabulary: the number of ids of the tokenizer.
        closing: the ids after the last turn of an episode that a rule ended.
        takes_system: whether an instruction is a message of its own before the first turn.
        longest_answer: the most ids of an answer, where a reader of its own reads it.
    """

    end: frozenset[int]
    pad: int
    vocabulary: int
    closing: Ids = ()
    takes_system: bool = True
    longest_answer: int = 1 << 30

    _observation_open: Ids = ()
    _observation_close: Ids = ()
    _opening: Ids = ()
    _ending: Ids = ()  # closes an answer; its last id is the end marker
    _after: Ids = ()  # the ids between an end marker and the next turn
    _lead: str = ""  # the white space before the text of an answer; it is tokenised with the text
    _observation_lead: str = ""  # the same for an observation
    _fresh_answers: bool = False  # whether an answer is the first text of what its reader reads

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.vocabulary = encoder.size

    def __deepcopy__(self, memo: dict[int, Any]) -> Format:
        return self

    @abstractmethod
    def chat_template(self) -> str:
        """This format as a chat template (Jinja), for servers.

        The system message is the instruction, assistant messages are answers, all others observations. A
        server tokenises the template's text as a whole, so a tokenizer may join what the format keeps apart.
        """

    @abstractmethod
    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        """The part of a row before the first turn."""

    def pieces(self, instruction: str, turns: Sequence[Turn], seat: str) -> list[Piece]:
        """The head and one piece for each turn, from the view of `seat`.

        A piece is empty if its turn adds nothing.
        """
        return list(self.write(instruction, turns, seat).pieces)

    def prompt(
        self, instruction: str, turns: Sequence[Turn], seat: str, room: int, side: str = "left"
    ) -> tuple[Ids, int]:
        """The ids before the next answer of `seat`, at most `room`, and the first turn that they keep.

        `side`: as in `fit`.

        Raises:
            BadModel: the instruction and the markers alone do not fit.
        """
        fit = self.fit(instruction, turns, seat, room, side)
        written = self.write(instruction, turns[fit.first :], seat, fit.keep)
        return self._prompt_of(written), fit.first

    def answer(self, text: str) -> Ids:
        """The action ids of an answer with this text, end marker included, anywhere but first in a row."""
        return self.encoder.encode(self._lead + text, self._fresh_answers) + self._ending

    def text(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """The text of an answer drawn after `before`, without its end marker and special tokens.

        A leading space stays. But some tokenizers put a space before the first text of a row; this space is
        not part of the answer, so the result depends on `before`.
        """
        text_ids = list(ids)
        while text_ids and text_ids[-1] in self.end:
            text_ids.pop()
        text = self.encoder.decode(text_ids, first=not self.encoder.is_text(before))
        return text.removeprefix(self._lead)

    def prompt_lengths(self, written: Written) -> list[int]:
        """For each turn, the number of ids before its answer; of an observation, before what follows it."""
        lengths = accumulate(len(piece.ids) for piece in written.pieces)
        return [end - sum(piece.is_action) for end, piece in zip(lengths, written.pieces, strict=True)][1:]

    def spoken(self, text: str) -> str:
        """The text of an answer from a server, without the white space that a template writes before it."""
        return text.removeprefix(self._lead)

    def fit(self, instruction: str, turns: Sequence[Turn], seat: str, room: int, side: str = "left") -> Fit:
        """The turns that a prompt of at most `room` ids keeps.

        Whole turns are dropped, oldest first, until the rest begins with an observation and fits. The
        instruction and the newest observation are never dropped. If they alone are too long, the first ids
        of the observation are cut, or with `side` "right" its last ids.

        Raises:
            BadModel: the instruction and the markers alone do not fit.
        """
        written = Format.write(self, instruction, turns, seat)
        if written.length + len(written.opening) <= room:
            return Fit()
        observations = [number for number, turn in enumerate(turns) if turn.seat != seat]
        newest = observations[-1] if observations else 0
        head, *lengths = (len(piece.ids) for piece in written.pieces)
        dropped = [0, *accumulate(lengths)]  # ids of the turns before each turn
        slack = len(self._observation_open + self._ending + self._after) + 2  # a first turn may be shorter
        for first in observations:
            if first and dropped[-1] - dropped[first] + head + len(written.opening) - slack <= room:
                shorter = Format.write(self, instruction, turns[first:], seat)
                if shorter.length + len(shorter.opening) <= room:
                    return Fit(first)
        shortest = Format.write(self, instruction, turns[newest:], seat)
        spare = room - shortest.length - len(shortest.opening)
        if spare >= 0:
            return Fit(newest)
        text = self._text_length(instruction, turns[newest:], seat) if observations else 0
        if text + spare < 1:
            needed = shortest.length + len(shortest.opening) - text
            raise BadModel(
                f"a prompt may have {room} tokens, and the instruction and markers alone take {needed}; it "
                "needs more than that; allow longer prompts or shorten the instruction"
            )
        kept = text + spare
        return Fit(newest, slice(kept) if side == "right" else slice(-kept, None), -spare)

    def write(self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None) -> Written:
        """The row of these turns; of the first turn's text the ids `keep` are written, or all."""
        start = self._head(instruction, turns, seat)
        pen = _Pen(start.open, start.fresh, start.lead)
        pieces = [Piece(start.ids, (False,) * len(start.ids), HEAD)]
        for number, turn in enumerate(turns):
            if turn.seat == seat:
                pieces.append(self._write_answer(turn, number, pen))
            else:
                pieces.append(self._write_observation(turn, number, pen, keep if number == 0 else None))
        return Written(tuple(pieces), self._before_answer(pen), pen.owed)

    def _prompt_of(self, written: Written) -> Ids:
        return tuple(i for piece in written.pieces for i in piece.ids) + written.opening

    def _write_observation(self, turn: Turn, number: int, pen: _Pen, keep: slice | None) -> Piece:
        if not turn.text and not pen.open:
            return Piece((), (), number)
        text = self.encoder.encode(pen.lead + turn.text, pen.fresh)
        kept = text if keep is None else text[keep]
        ids = pen.owed + (() if pen.open else self._observation_open) + kept + self._observation_close
        pen.open, pen.owed, pen.fresh = False, (), pen.fresh and not text
        pen.lead = self._observation_lead
        return Piece(ids, (False,) * len(ids), number)

    def _write_answer(self, turn: Turn, number: int, pen: _Pen) -> Piece:
        before = self._before_answer(pen)
        if turn.tokens is not None:
            ids = tuple(turn.tokens.ids.tolist())
        else:
            ids = self.encoder.encode(self._lead + turn.text, pen.fresh or self._fresh_answers) + (
                self._ending if turn.stopped in ("end", "forced") else ()
            )
        ended = bool(ids) and ids[-1] in self.end
        pen.owed = self._after if ended else self._ending + self._after
        pen.open, pen.fresh, pen.lead = False, pen.fresh and not ids, self._observation_lead
        return Piece(before + ids, (False,) * len(before) + (True,) * len(ids), number)

    def _before_answer(self, pen: _Pen) -> Ids:
        return pen.owed + (self._observation_close if pen.open else ()) + self._opening

    def _text_length(self, instruction: str, turns: Sequence[Turn], seat: str) -> int:
        start = self._head(instruction, turns, seat)
        return len(self.encoder.encode(start.lead + turns[0].text, start.fresh))


def distinct_markers(names: Iterable[str | None]) -> tuple[str, ...]:
    """The marker strings that are not None or empty, without repetitions."""
    return tuple(dict.fromkeys(name for name in names if name))


TURNS = (  # the first lines of a chat template: the instruction, and the turns after it
    "{% set system = messages and messages[0].role == 'system' %}"
    "{% set instruction = (messages[0].content or '') if system else '' %}"
    "{% set turns = messages[1:] if system else messages %}"
)


def literal(text: str) -> str:
    """A text as a string literal of Jinja."""
    return json.dumps(text, ensure_ascii=False)
