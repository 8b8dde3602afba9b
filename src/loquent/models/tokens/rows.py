"""Rows: how an episode is laid out in rows of token ids, each answer after exactly the ids it was drawn
after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

import numpy as np
from numpy.typing import NDArray

from loquent.core.episode import Episode, Turn
from loquent.core.values import Record
from loquent.errors import BadModel, BadReward
from loquent.models.format.base import HEAD
from loquent.models.format.names import Fit, Format, Written


@dataclass(frozen=True, eq=False)
class Said:
    """An answer in a row: where its action tokens begin, how many there are, the turn, and the weighted
    reward of each token.
    """

    start: int
    length: int
    number: int  # of the turn in its episode
    turn: Turn
    reward: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Row:
    """One row: ids, the turn each belongs to (-1: none), its answers, and what was left out for length."""

    ids: list[int]
    turn: list[int]
    said: list[Said]
    ended: bool
    fit: Fit


def rows_of(
    episode: Episode, format: Format, weights: Record, seat: str, max_length: int, room: int
) -> list[Row]:
    """The rows of one episode: normally one; an answer before which turns had to be dropped begins another.

    A row that is continued by another is not ended. A row that is not ended goes on to the next observation,
    and to the markers before the next answer, as far as `max_length` allows: its last token is the state
    whose value stands for what follows.

    Raises:
        BadModel: an answer does not fit into `max_length` tokens together with the instruction and a token it
            answers.
        BadReward: a reward is not finite, or a reward per token has another length than the answer.
    """
    view = [(number, turn) for number, turn in enumerate(episode.turns) if seat in (turn.seat, turn.to)]
    numbers, turns = [number for number, _ in view], tuple(turn for _, turn in view)
    whole = format.write(episode.instruction, turns, seat)
    lengths = [len(piece.ids) for piece in whole.pieces]
    before = list(accumulate(lengths))  # ids before the piece of turn i
    counts = [sum(piece.is_action) for piece in whole.pieces[1:]]
    rewards = _rewards(episode, view, counts, weights, seat)
    fits: list[tuple[int, Fit]] = []
    for i, count in enumerate(counts):
        if count:
            length = before[i] + lengths[i + 1] - count
            budget = min(room, max_length - count)
            fits.append(
                (
                    i,
                    Fit()
                    if length <= budget
                    else _fitted(episode, format, turns[:i], seat, budget, numbers[i], count),
                )
            )
    groups = [(fit, [i for i, _ in group]) for fit, group in groupby(fits, key=lambda pair: pair[1])]
    layout = _Layout(episode, format, rewards, max_length)
    rows = []
    for n, (fit, answers) in enumerate(groups):
        stop = groups[n + 1][1][0] if n + 1 < len(groups) else len(turns)
        untouched = fit == Fit() and stop == len(turns)
        written = (
            whole if untouched else format.write(episode.instruction, turns[fit.first : stop], seat, fit.keep)
        )
        ended = n + 1 == len(groups) and not episode.bootstraps
        rows.append(layout.row(written, [HEAD, *numbers[fit.first : stop]], fit, answers, ended))
    return rows


@dataclass(frozen=True, eq=False)
class _Layout:
    """What the rows of one episode have in common."""

    episode: Episode
    format: Format
    rewards: dict[int, NDArray[np.float64]]
    max_length: int

    def row(
        self, written: Written, numbers: Sequence[int], fit: Fit, answers: Sequence[int], ended: bool
    ) -> Row:
        """One row of what was written, its pieces belonging to the turns `numbers`; only `answers` (places in
        the view) are its actions.
        """
        ids: list[int] = []
        turn: list[int] = []
        said: list[Said] = []
        wanted = {answer - fit.first + 1 for answer in answers}
        last = max(wanted)
        for n, piece in enumerate(written.pieces[: last + 1]):
            ids += piece.ids
            turn += [numbers[n]] * len(piece.ids)
            if n in wanted:
                count = sum(piece.is_action)
                said.append(
                    Said(
                        len(ids) - count,
                        count,
                        numbers[n],
                        self.episode.turns[numbers[n]],
                        self.rewards[numbers[n]],
                    )
                )
        if len(ids) > self.max_length:  # a text may take more tokens where it comes to stand first in a row
            raise BadModel(
                f"turn {numbers[last]} of {self.episode.row}#{self.episode.number} ends at token "
                f"{len(ids)}; a row has {self.max_length}"
            )
        if not ended or self.format.closing:
            rest = [(i, numbers[n]) for n, piece in enumerate(written.pieces) if n > last for i in piece.ids]
            after = written.owed + self.format.closing if ended else written.opening if rest else ()
            rest = (rest + [(i, HEAD) for i in after])[: self.max_length - len(ids)]
            ids += [i for i, _ in rest]
            turn += [number for _, number in rest]
        return Row(ids, turn, said, ended, fit)


def _fitted(
    episode: Episode, format: Format, turns: Sequence[Turn], seat: str, budget: int, number: int, count: int
) -> Fit:
    try:
        return format.fit(episode.instruction, turns, seat, budget)
    except BadModel as error:
        place = f"turn {number} of the game {episode.row}#{episode.number} of {episode.task}"
        raise BadModel(
            f"{place} is an answer of {count} tokens, too long for a row: {error}; a larger context "
            "holds it, or shorter texts (task.text_words)"
        ) from error


def _rewards(
    episode: Episode, view: Sequence[tuple[int, Turn]], counts: Sequence[int], weights: Record, seat: str
) -> dict[int, NDArray[np.float64]]:
    """The weighted reward of each token of each answer, by the number of its turn.

    An answer without tokens gives its to its neighbour.
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
                        f"{name} gives {len(values)} rewards for the {count} tokens of turn {number} "
                        f"of {episode.row}#{episode.number}; a reward per token needs the tokens "
                        "that were drawn"
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
                f"turn {number} of {episode.row}#{episode.number} has the rewards {turn.rewards!r}, "
                "of which some are not finite"
            )
    return rewards
