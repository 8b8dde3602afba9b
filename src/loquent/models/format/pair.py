"""`Pair`: the texts before an answer for the encoder, and the answer for the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Turn
from loquent.models.format.base import Piece, Written
from loquent.models.format.encoder import Ids
from loquent.models.format.plain import Plain
from loquent.pretrained.encoder_decoders import around, source_ids


class Pair(Plain):
    """The plain format of encoder-decoder models.

    The encoder reads all texts before the answer, between what the tokenizer writes before and after a text
    (after it at least the end token). The decoder reads its start and the answer. So a row has for each
    answer a source, with all earlier turns in it, then the start and the answer; `pretrained.pairs` says how
    the two sides share a row.

    Args:
        start: the ids that the decoder reads before an answer.
        longest: the most ids that the decoder reads.

    Raises:
        BadModel: the tokenizer has neither a bos nor an eos token.
    """

    _fresh_answers = True

    def __init__(self, tokenizer: Any, start: Ids, longest: int = 1 << 30) -> None:
        super().__init__(tokenizer)
        self._prefix, suffix = around(tokenizer)
        eos = tokenizer.eos_token_id
        end = tokenizer.bos_token_id if eos is None else eos
        self._suffix: Ids = ()  # but after the texts before each answer:
        self._opening = suffix or (end,)
        self.start = start
        self.end, self.longest_answer = frozenset({end}), longest - len(start)

    @property
    def around(self) -> tuple[Ids, Ids]:
        """What the encoder reads before all texts, and after those before an answer."""
        return self._prefix, self._opening

    def write(self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None) -> Written:
        """The row of these turns; an observation stands in the sources of later answers."""
        flat = super().write(instruction, turns, seat, keep)
        before: Ids = ()
        pieces = []
        for piece in flat.pieces:
            count = sum(piece.is_action)
            prompt = piece.ids[: len(piece.ids) - count]
            if count:
                ids = self._prompt(before + prompt)
                is_action = (False,) * len(ids) + (True,) * count
                pieces.append(Piece(ids + piece.ids[len(prompt) :], is_action, piece.turn))
            else:
                pieces.append(Piece((), (), piece.turn))
            before += piece.ids
        return Written(tuple(pieces), self._prompt(before + flat.opening), flat.owed)

    def text(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """The text of an answer; after a whole prompt it is the first text that the decoder reads."""
        return super().text(ids, () if any(i < 0 for i in before) else before)

    def prompt_lengths(self, written: Written) -> list[int]:
        """The number of ids of each turn's source, 0 for observations."""
        prompts = (piece.is_action.count(False) for piece in written.pieces[1:])
        return [max(0, count - len(self.start)) for count in prompts]

    def _prompt_of(self, written: Written) -> Ids:
        return written.opening

    def _prompt(self, ids: Ids) -> Ids:
        return source_ids(ids) + self.start
