"""The base class of formats.

It turns turns into pieces of ids, chooses the turns that a prompt keeps, and decodes answers.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
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
class Place:
    """The place of an answer: its turn, the number of ids before it, its ids, and its segment.

    A segment is a part of a conversation in which each prompt begins with the one before and its answer.
    """

    turn: int
    before: int
    ids: Ids
    segment: int = 0


@dataclass(frozen=True)
class Head:
    """The beginning of a row."""

    ids: Ids
    fresh: bool = True  # whether the ids hold no text
    lead: str = ""  # what is tokenised together with the first text


@dataclass
class Pen:
    """The state of writing: the fields of `Head`, and the ids that must still close the last answer."""

    fresh: bool
    lead: str
    length: int  # of the ids so far
    answers: int = 0
    owed: Ids = ()


class Format(ABC):
    """Writes a history of turns as token ids for one seat.

    The turns of this seat are answers; all others are observations. The laws:

    - Within a segment, the ids of n turns begin the ids of n + 1 turns.
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
        rewrites: whether a conversation may have several segments.
        parts: whether messages have contents in parts.
        variables: what a server must give a chat template beside messages.
        lead_ids: what stands before the text of an answer, such as empty thoughts; no part of the text.
        lead: the white space before the text of an answer; it is tokenised with the text.
    """

    end: frozenset[int]
    pad: int
    vocabulary: int
    closing: Ids = ()
    takes_system: bool = True
    longest_answer: int = 1 << 30
    rewrites: bool = False
    parts: bool = False
    variables: Mapping[str, Any] = MappingProxyType({})
    lead_ids: Ids = ()
    lead: str = ""

    _observation_close: Ids = ()
    _opening: Ids = ()
    _ending: Ids = ()  # closes an answer; its last id is the end marker
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

    def messages(self, instruction: str, turns: Sequence[Turn], seat: str) -> list[dict[str, Any]]:
        """The messages from which the chat template makes the prompt.

        Turns without text are omitted, except the first and the seat's own.
        """
        messages: list[dict[str, Any]] = []
        if not turns or turns[0].seat == seat:  # a chat begins with a message of the user
            messages.append({"role": "user", "content": ""})
        for number, turn in enumerate(turns):
            if turn.seat == seat or turn.text or not number:
                messages += self._messages_of(turn, seat)
        if instruction and self.takes_system:
            return [{"role": "system", "content": instruction}, *messages]
        if instruction:
            messages[0]["content"] = f"{instruction}\n\n{messages[0]['content']}"
        return messages

    def tools(self, turns: Sequence[Turn]) -> tuple[Any, ...]:
        """The tools that the chat template reads beside the messages."""
        return ()

    def answers(
        self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None
    ) -> list[Place]:
        """The places of the seat's answers; `keep` as in `write`."""
        written = self.write(instruction, turns, seat, keep)
        lengths = self.prompt_lengths(written)
        places = zip(written.pieces[1:], lengths, turns, strict=True)
        return [
            Place(
                piece.turn,
                length,
                tuple(i for i, own in zip(piece.ids, piece.is_action, strict=True) if own),
            )
            for piece, length, turn in places
            if turn.seat == seat
        ]

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
        return self.encoder.encode(self.lead + text, self._fresh_answers) + self._ending

    def text(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """The text of an answer drawn after `before`, without its end marker and special tokens.

        A leading space stays. But some tokenizers put a space before the first text of a row; this space is
        not part of the answer, so the result depends on `before`.
        """
        text_ids = list(ids)
        while text_ids and text_ids[-1] in self.end:
            text_ids.pop()
        text = self.encoder.decode(text_ids, first=not self.encoder.is_text(before))
        return text.removeprefix(self.lead)

    def prompt_lengths(self, written: Written) -> list[int]:
        """For each turn, the number of ids before its answer; of an observation, before what follows it."""
        lengths = accumulate(len(piece.ids) for piece in written.pieces)
        return [end - sum(piece.is_action) for end, piece in zip(lengths, written.pieces, strict=True)][1:]

    def trim_answer(self, text: str) -> str:
        """The text of an answer from a server, without what a template writes before it."""
        lead = self.encoder.decode(self.lead_ids)
        if any(map(self.encoder.is_special, self.lead_ids)):  # the rest may be a word of the answer too
            text = text.removeprefix(lead)
        elif lead:
            text = text.rpartition(lead)[2]
        return text.removeprefix(self.lead)

    def fit(self, instruction: str, turns: Sequence[Turn], seat: str, room: int, side: str = "left") -> Fit:
        """The turns that a prompt of at most `room` ids keeps.

        Whole turns are dropped, oldest first, until the rest begins with an observation and fits. The
        instruction and the newest observation are never dropped. If they alone are too long, the first ids
        of the observation are cut, or with `side` "right" its last ids.

        Raises:
            BadModel: the instruction and the markers alone do not fit.
        """
        if self._length(instruction, turns, seat) <= room:
            return Fit()
        observations = [number for number, turn in enumerate(turns) if turn.seat != seat]
        newest = observations[-1] if observations else 0

        def fits(first: int) -> bool:
            return self._length(instruction, turns[first:], seat) <= room

        later = [first for first in observations if first]
        n = bisect_left(later, True, key=fits)  # the fewer turns, the fewer ids
        if n < len(later):
            return Fit(later[n])
        if self._length(instruction, turns[newest:], seat) <= room:
            return Fit(newest)
        shortest = self._length(instruction, turns[newest:], seat, slice(None))
        text = self._text_length(instruction, turns[newest:], seat) if observations else 0

        def part(count: int) -> slice:
            return slice(count) if side == "right" else slice(-count, None)

        kept = text + room - shortest
        if observations and turns[newest].messages:  # with a message its markers are left out
            kept = bisect_left(
                range(1, text + 1),
                True,
                key=lambda count: self._length(instruction, turns[newest:], seat, part(count)) > room,
            )
        if kept < 1:
            raise BadModel(
                f"a prompt may have {room} tokens, and the instruction and markers alone take "
                f"{shortest - text}; it needs more than that; allow longer prompts or shorten the instruction"
            )
        return Fit(newest, part(kept), max(0, text - kept))

    def write(self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None) -> Written:
        """The row of these turns; of the first turn's text the ids `keep` are written, or all."""
        start = self._head(instruction, turns, seat)
        pen = Pen(start.fresh, start.lead, len(start.ids))
        pieces = [Piece(start.ids, (False,) * len(start.ids), HEAD)]
        for number, turn in enumerate(turns):
            if turn.seat == seat:
                pieces.append(self._write_answer(turn, number, pen))
            else:
                pieces.append(self._write_observation(turn, number, pen, keep if number == 0 else None))
            pen.length += len(pieces[-1].ids)
        return Written(tuple(pieces), self._before_answer(pen), pen.owed)

    def _length(self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None) -> int:
        """The number of ids before the next answer; `keep` as in `write`."""
        written = Format.write(self, instruction, turns, seat, keep)
        return written.length + len(written.opening)

    def _messages_of(self, turn: Turn, seat: str) -> list[dict[str, Any]]:
        """The messages of a turn."""
        return [{"role": self._role(turn, seat), "content": turn.text}]

    def _role(self, turn: Turn, seat: str) -> str:
        """The role of a turn's message."""
        return "assistant" if turn.seat == seat else "user"

    def _prompt_of(self, written: Written) -> Ids:
        return tuple(i for piece in written.pieces for i in piece.ids) + written.opening

    def _write_observation(self, turn: Turn, number: int, pen: Pen, keep: slice | None) -> Piece:
        if not turn.text:
            return Piece((), (), number)
        if keep is None:
            text = self.encoder.encode(pen.lead + turn.text, pen.fresh)
        else:  # the lead is not cut
            lead = self._lead_ids_of(pen)
            text = lead + self.encoder.encode(turn.text, pen.fresh and not lead)[keep]
        ids = pen.owed + text + self._observation_close
        pen.owed, pen.lead, pen.fresh = (), "", pen.fresh and not text
        return Piece(ids, (False,) * len(ids), number)

    def _write_answer(self, turn: Turn, number: int, pen: Pen) -> Piece:
        before = self._before_answer(pen)
        pen.fresh, pen.lead = pen.fresh and not pen.lead, ""
        if turn.tokens is not None:
            ids = tuple(turn.tokens.ids.tolist())
        else:
            ids = self.encoder.encode(self.lead + turn.text, pen.fresh or self._fresh_answers) + (
                self._ending if turn.stopped in ("end", "forced") else ()
            )
        ended = bool(ids) and ids[-1] in self.end
        pen.owed = () if ended else self._ending
        pen.fresh, pen.answers = pen.fresh and not ids, pen.answers + 1
        return Piece(before + ids, (False,) * len(before) + (True,) * len(ids), number)

    def _before_answer(self, pen: Pen) -> Ids:
        return pen.owed + self._lead_ids_of(pen) + self._opening

    def _lead_ids_of(self, pen: Pen) -> Ids:
        return self.encoder.encode(pen.lead, pen.fresh) if pen.lead else ()

    def _text_length(self, instruction: str, turns: Sequence[Turn], seat: str) -> int:
        """The number of ids of the first turn's text, of which a row may keep a part."""
        start = self._head(instruction, turns, seat)
        return len(self.encoder.encode(turns[0].text, start.fresh and not start.lead))


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
