"""How often Q ranks the better of two answers higher.

Source: arXiv:2206.11871 sec. 5, `q_rank_acc_-k` of the released code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.values import EMPTY
from loquent.errors import LoquentError
from loquent.models.format.names import Format
from loquent.models.inspect.readings import readings
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.models.values.networks import TokenValues
from loquent.statistics.clusters import crossed_number

# task, instruction, and (seat, reader, text) of each earlier turn
State = tuple[str, str, tuple[tuple[str, str, str], ...]]
# of one answer: each token with its Q by the online heads and by the target heads
Tokens = list[tuple[int, float, float]]
Compared = tuple[Tokens, Tokens, tuple[int, int]]
"""The better answer, the other, and the rows of their episodes."""


@dataclass(frozen=True)
class PlaceRanking:
    """The share of pairs in which the better answer's token has the higher Q, at one place of the answers.

    The pairs are those in which both answers have a token at this place, and the tokens up to it differ.
    """

    place: int  # from the end: 1 is the last token, the end marker
    n: int  # the number of pairs
    rows: int  # the number of different rows of the better episodes
    online: float | None  # the share by the online heads; None if n is 0
    target: float | None  # the share by the target heads
    online_error: float | None  # the standard error, clustered by the rows of both episodes of a pair
    target_error: float | None

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)


def q_ranking(
    module: Any,
    values: TokenValues,
    better: TokenBatch,
    other: TokenBatch,
    *,
    last: int = 6,
    token_budget: int = 8192,
) -> tuple[PlaceRanking, ...]:
    """Compare the last answers of two batches, episode by episode and token by token from the end.

    Place 1 compares complete answers (in Wordle, all letters are known there). The largest place compares
    only their first tokens. Errors are clustered by the rows of the episodes, because pairs on one row are
    not independent.

    Args:
        module: the policy; the values may read its hidden states.
        better, other: batches of equally many episodes with the same numbers, each ending with the compared
            answer (`pair_batches` makes them).
        last: the number of places.

    Raises:
        LoquentError: an episode of one batch has no counterpart in the other.
    """
    sides = [_last_answers(module, values, batch, token_budget) for batch in (better, other)]
    if sides[0].keys() != sides[1].keys():
        unpaired = sorted(sides[0].keys() ^ sides[1].keys())
        raise LoquentError(
            f"{len(unpaired)} episodes have no counterpart, number {unpaired[0]} first; both batches must "
            "have the same episode numbers; make them with pair_batches"
        )
    rows = [_rows(batch) for batch in (better, other)]
    pairs = [
        (sides[0][number], sides[1][number], (rows[0][number], rows[1][number]))
        for number in sorted(sides[0])
    ]
    rankings = []
    for place in range(1, last + 1):
        differing = [
            pair
            for pair in pairs
            if min(len(pair[0]), len(pair[1])) >= place
            and _ids_up_to(pair[0], place) != _ids_up_to(pair[1], place)
        ]
        shares = [_share(differing, place, heads) for heads in (1, 2)]
        (online, online_error), (target, target_error) = shares
        count = len({row for *_, (row, _) in differing})
        rankings.append(
            PlaceRanking(place, len(differing), count, online, target, online_error, target_error)
        )
    return tuple(rankings)


def _rows(batch: TokenBatch) -> dict[int, int]:
    """The row of each episode of a batch, by its number; without groups each episode is its own row."""
    numbers = batch.episode.tolist()
    return dict(zip(numbers, numbers if batch.group is None else batch.group.tolist(), strict=True))


def _share(pairs: Sequence[Compared], place: int, heads: int) -> tuple[float | None, float | None]:
    """The share of pairs whose better answer has the higher Q at a place, with its error; None without pairs.

    `heads` is the column of Q in `Tokens`.
    """
    if not pairs:
        return None, None
    wins = [float(better[-place][heads] > other[-place][heads]) for better, other, _ in pairs]
    first, second = zip(*(rows for *_, rows in pairs), strict=True)
    share = sum(wins) / len(wins)
    return share, _error(share, crossed_number(wins, first, second))


def _error(share: float, n: float) -> float | None:
    """The standard error of a share of n independent pairs; None if they do not show their spread."""
    return math.sqrt(share * (1 - share) / (n - 1)) if n > 1 and 0 < share < 1 else None


def shared_states(
    better: Iterable[Episode],
    other: Iterable[Episode],
    key: Key,
    *,
    draws: int = 1000,
    answer: int | None = None,
) -> list[tuple[Episode, Episode, int]]:
    """Pairs (better, other, turn) of episodes that passed through the same state.

    Each draw takes a state that both sides share, then one episode of each side at this state. Two episodes
    share a state if all turns before it are equal. Without a shared state the result is empty.

    Args:
        draws: the number of pairs.
        answer: None for any state; a number for the state before the learning seat's answer of that number,
            counted from 0.
    """
    visits_of_sides = [_visits(side, answer) for side in (better, other)]
    shared = [state for state in visits_of_sides[0] if state in visits_of_sides[1]]
    if not shared:
        return []
    random = key.generator()
    pairs = []
    for _ in range(draws):
        state = shared[int(random.integers(len(shared)))]
        (better_episode, turn), (other_episode, _turn) = (
            visits[state][int(random.integers(len(visits[state])))] for visits in visits_of_sides
        )
        pairs.append((better_episode, other_episode, turn))
    return pairs


def _visits(episodes: Iterable[Episode], answer: int | None) -> dict[State, list[tuple[Episode, int]]]:
    """The episodes that passed through each state, with the turn of their answer, in order."""
    visits: dict[State, list[tuple[Episode, int]]] = {}
    for episode in episodes:
        places = [i for i, turn in enumerate(episode.turns) if turn.seat == episode.learning]
        for place in places if answer is None else places[answer : answer + 1]:
            before = tuple((turn.seat, turn.to, turn.text) for turn in episode.turns[:place])
            visits.setdefault((episode.task, episode.instruction, before), []).append((episode, place))
    return visits


def pair_batches(
    pairs: Sequence[tuple[Episode, Episode, int]], format: Format, *, max_length: int
) -> tuple[TokenBatch, TokenBatch]:
    """The batches of pairs (better, other, turn); each episode is cut after the turn.

    `turn` is the turn whose answers are compared.
    """
    better_episodes = [_up_to(better, turn) for better, _, turn in pairs]
    other_episodes = [_up_to(other, turn) for _, other, turn in pairs]
    return (
        token_batch(better_episodes, format, EMPTY, max_length=max_length),
        token_batch(other_episodes, format, EMPTY, max_length=max_length),
    )


def _up_to(episode: Episode, turn: int) -> Episode:
    return replace(episode, turns=episode.turns[: turn + 1], ended=None)


def _ids_up_to(tokens: Tokens, place: int) -> list[int]:
    """The ids of an answer up to a place counted from the end."""
    return [token for token, _, _ in tokens[: len(tokens) - place + 1]]


def _last_answers(
    module: Any, values: TokenValues, batch: TokenBatch, token_budget: int
) -> dict[int, Tokens]:
    """The last answer of each episode, by its number."""
    read = readings(module, values, batch, token_budget=token_budget)
    answers = {}
    for row, (number, is_action, turn) in enumerate(
        zip(batch.episode.tolist(), batch.is_action.cpu(), batch.turn.cpu(), strict=True)
    ):
        answer = is_action & (turn == turn[is_action][-1])
        columns = (tensor[row].cpu()[answer].tolist() for tensor in (batch.tokens, read.q, read.target_q))
        answers[number] = list(zip(*columns, strict=True))  # a later row of an episode has a later answer
    return answers
