"""Rows: the layout of an episode in rows of token ids.

Each answer follows exactly the ids that it was drawn after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.core.episode import Episode, Turn
from loquent.core.values import EMPTY, Record
from loquent.errors import BadModel, BadReward
from loquent.models.format.base import HEAD
from loquent.models.format.names import Fit, Format, Place, Written
from loquent.models.tokens.room import Limits, fit


@dataclass(frozen=True, eq=False)
class RowAnswer:
    """An answer in a row."""

    start: int  # the place of its first action token
    length: int  # in action tokens
    number: int  # of the turn in its episode
    turn: Turn
    reward: NDArray[np.float64]  # of each token, weighted


@dataclass(frozen=True, eq=False)
class Row:
    """One row of an episode."""

    ids: list[int]
    turn: list[int]  # the turn of each id; -1: none
    answers: list[RowAnswer]
    ended: bool
    fit: Fit  # what was left out for length
    segment: int = 0  # of its episode


def rows_of(episode: Episode, format: Format, weights: Record, seat: str, limits: Limits) -> list[Row]:
    """The rows of one episode: usually one.

    An answer whose prompt had to drop turns begins a new row, and so does one before which the format's
    template has rewritten earlier turns. A row before another row is not ended. A row that is not ended
    contains the next observation and the markers before the next answer, as far as the row allows; its last
    token is the state whose value is bootstrapped.

    Raises:
        BadModel: an answer does not fit into a row together with the instruction and at least one token of
            its observation, and the limits do not cut answers.
        BadReward: a reward is not finite, or the number of rewards per token differs from the number of
            tokens.
    """
    view = [(number, turn) for number, turn in enumerate(episode.turns) if seat in (turn.seat, turn.to)]
    numbers, turns = [number for number, _ in view], tuple(turn for _, turn in view)
    places = format.answers(episode.instruction, turns, seat)
    counts = [0] * len(turns)
    for place in places:
        counts[place.turn] = len(place.ids)
    rewards = _rewards(episode, view, counts, weights, seat)
    fits: list[tuple[int, Fit]] = []
    for place in places:
        i, count = place.turn, len(place.ids)
        if count:
            own = limits if turns[i].tokens is None else replace(limits, cuts_answers=False)
            try:
                kept = fit(format, episode.instruction, turns[:i], seat, (place.before, count), own)
            except BadModel as error:
                raise _too_long(error, episode, numbers[i], count) from error
            fits.append((i, kept))
    segments = _segmented(format, episode.instruction, turns, seat, places, fits)
    groups = [(kept, [i for i, _ in group]) for kept, group in groupby(segments, key=lambda one: one[1])]
    layout = _Layout(episode, format, rewards, limits.row)
    rows = []
    for n, ((kept, segment), answers) in enumerate(groups):
        stop = groups[n + 1][1][0] if n + 1 < len(groups) else len(turns)
        stop = min(stop, segment.stop)
        written = format.write(episode.instruction, turns[kept.first : stop], seat, kept.keep)
        ended = n + 1 == len(groups) and not episode.bootstraps
        row = layout.row(written, [HEAD, *numbers[kept.first : stop]], kept, answers, ended)
        rows.append(replace(row, segment=segment.number))
    return rows


def answer_row(format: Format, episode: Episode, text: str, limits: Limits) -> tuple[list[int], int]:
    """The ids of a whole text in the place of an episode's last answer, after what stands before it.

    Returns the row up to the text's end, and the place of its first id.

    Raises:
        BadModel: as in `rows_of`.
    """
    turns, seat = episode.turns, episode.learning
    last = max((i for i, turn in enumerate(turns) if turn.seat == seat), default=len(turns))
    answered = replace(episode, turns=(*turns[:last], Turn(seat, text)), ended="end")
    row = rows_of(answered, format, EMPTY, seat, limits)[-1]
    answer = row.answers[-1]
    return row.ids[: answer.start + answer.length], answer.start


class _Segment(NamedTuple):
    """A segment of a conversation, and the first answer after it."""

    number: int
    stop: int


def _segmented(
    format: Format,
    instruction: str,
    turns: Sequence[Turn],
    seat: str,
    places: Sequence[Place],
    fits: Sequence[tuple[int, Fit]],
) -> Iterator[tuple[int, tuple[Fit, _Segment]]]:
    """Answers with what their rows keep, and with the segment among the turns that are kept."""
    for kept, group in groupby(fits, key=lambda pair: pair[1]):
        first, own = 0, places
        if format.rewrites and (kept.first or kept.keep is not None):
            first, own = kept.first, format.answers(instruction, turns[kept.first :], seat, kept.keep)
        number = {place.turn + first: place.segment for place in own}
        for i, _ in group:
            later = (turn for turn, segment in number.items() if turn > i and segment != number[i])
            yield i, (kept, _Segment(number[i], min(later, default=len(turns))))


@dataclass(frozen=True, eq=False)
class _Layout:
    """The inputs that all rows of one episode share."""

    episode: Episode
    format: Format
    rewards: dict[int, NDArray[np.float64]]
    max_length: int

    def row(
        self, written: Written, numbers: Sequence[int], fit: Fit, answers: Sequence[int], ended: bool
    ) -> Row:
        """One row from written pieces.

        Args:
            numbers: the turn of each piece.
            answers: the answers of this row, as places among the seat's turns; only their tokens are actions.
        """
        ids: list[int] = []
        turn: list[int] = []
        placed: list[RowAnswer] = []
        answer_pieces = {answer - fit.first + 1 for answer in answers}
        last = max(answer_pieces)
        for n, piece in enumerate(written.pieces[: last + 1]):
            begin, number = len(ids), numbers[n]
            ids += piece.ids
            if n in answer_pieces:
                start = len(ids) - sum(piece.is_action)
                reward = _kept(self.rewards[number], fit.answer)
                ids[start:] = ids[start:][fit.answer or slice(None)]
                placed.append(RowAnswer(start, len(reward), number, self.episode.turns[number], reward))
            turn += [number] * (len(ids) - begin)
        if len(ids) > self.max_length:  # a text may need more tokens as the first one of a row
            raise BadModel(
                f"turn {numbers[last]} of {self.episode.row}#{self.episode.number} ends at token "
                f"{len(ids)}; a row has at most {self.max_length}; use a larger context or shorter texts"
            )
        if not ended or self.format.closing:
            rest = [(i, numbers[n]) for n, piece in enumerate(written.pieces) if n > last for i in piece.ids]
            follows = rest or any(self.episode.turns[number].text for number in numbers[last + 1 :])
            after = written.owed + self.format.closing if ended else written.opening if follows else ()
            rest = (rest + [(i, HEAD) for i in after])[: self.max_length - len(ids)]
            ids += [i for i, _ in rest]
            turn += [number for _, number in rest]
        return Row(ids, turn, placed, ended, fit)


def _too_long(error: BadModel, episode: Episode, number: int, count: int) -> BadModel:
    """The error for an answer of `count` tokens, turn `number`, whose row has no place for a prompt."""
    return BadModel(
        f"turn {number} of the episode {episode.row}#{episode.number} of {episode.task} is an answer of "
        f"{count} tokens, too long for a row: {error}; use a larger context or shorter texts "
        "(task.text_words)"
    )


def _kept(reward: NDArray[np.float64], answer: slice | None) -> NDArray[np.float64]:
    """The reward of the tokens that stay of an answer; the last one also has that of the others."""
    if answer is None:
        return reward
    kept = reward[answer].copy()
    kept[-1] += reward.sum() - kept.sum()
    return kept


def _rewards(
    episode: Episode, view: Sequence[tuple[int, Turn]], counts: Sequence[int], weights: Record, seat: str
) -> dict[int, NDArray[np.float64]]:
    """The weighted reward of each token of each answer, by the number of the turn.

    The reward of an answer without tokens goes to the answer before it, or to the next one if there is none.
    """
    rewards: dict[int, NDArray[np.float64]] = {}
    owed, latest = 0.0, None
    for (number, turn), count in zip(view, counts, strict=True):
        if turn.seat != seat:
            continue
        amount = sum(weights[name] * float(value) for name, value in turn.rewards.items() if name in weights)
        per_token = np.zeros(count)
        for name, values in turn.token_rewards.items():
            if name in weights:
                if len(values) != count:
                    raise BadReward(
                        f"{name} gives {len(values)} rewards for the {count} tokens of turn {number} of "
                        f"{episode.row}#{episode.number}; each token needs one; score the drawn tokens"
                    )
                per_token += weights[name] * np.asarray(values, dtype=np.float64)
        if count:
            per_token[-1] += amount + owed
            rewards[number], owed, latest = per_token, 0.0, number
        elif latest is not None:
            rewards[latest][-1] += amount
        else:
            owed += amount
        if not np.isfinite(amount) or not np.isfinite(per_token).all():
            raise BadReward(
                f"turn {number} of {episode.row}#{episode.number} has the rewards {turn.rewards!r}, of "
                "which some are not finite, or has such a reward per token; all must be finite; correct the "
                "reward function"
            )
    return rewards
