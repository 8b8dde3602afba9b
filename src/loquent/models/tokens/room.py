"""What a row keeps where a history and an answer are longer than the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.names import Fit, Format


@dataclass(frozen=True)
class Limits:
    """The most ids of a row and of a prompt, and what becomes of longer ones.

    Attributes:
        row: the most ids of a row.
        prompt: the most ids of a prompt.
        side: the side on which a text loses ids.
        cuts_answers: whether an answer that does not fit loses ids, after all of its prompt, instead of being
            refused.
    """

    row: int
    prompt: int
    side: str = "left"
    cuts_answers: bool = False


def fit(
    format: Format, instruction: str, turns: Sequence[Turn], seat: str, ids: tuple[int, int], limits: Limits
) -> Fit:
    """What a row keeps of the turns before an answer, and of the answer.

    Args:
        format: the format of the row.
        instruction: the instruction of the episode.
        turns: the turns before the answer.
        seat: the seat of the answer.
        ids: the numbers of ids of the whole prompt and of the whole answer.
        limits: the limits.

    Raises:
        BadModel: the answer does not fit, or the instruction and markers alone do not.
    """
    length, count = ids
    kept = min(count, format.longest_answer)
    if kept < count and not limits.cuts_answers:
        raise BadModel(f"the decoder takes at most {kept}")
    budget = min(limits.prompt, limits.row - kept)
    try:
        found = Fit() if length <= budget else format.fit(instruction, turns, seat, budget, limits.side)
    except BadModel:
        found, prompt = _without_text(format, instruction, turns, seat)
        if not limits.cuts_answers or prompt > limits.prompt or prompt >= limits.row:
            raise
        kept = min(kept, limits.row - prompt)
    if kept == count:
        return found
    answer = slice(kept) if limits.side == "right" else slice(count - kept, count)
    return replace(found, cut=found.cut + count - kept, answer=answer)


def _without_text(format: Format, instruction: str, turns: Sequence[Turn], seat: str) -> tuple[Fit, int]:
    """The prompt without the text of the newest observation, and its number of ids."""
    newest = max((number for number, turn in enumerate(turns) if turn.seat != seat), default=0)
    whole = format.write(instruction, turns[newest:], seat)
    bare = format.write(instruction, turns[newest:], seat, slice(0))
    return Fit(newest, slice(0), whole.length - bare.length), bare.length + len(bare.opening)
