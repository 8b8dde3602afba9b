"""Does Q rank the better of two answers higher?

(arXiv:2206.11871 sec. 5; the released code's `q_rank_acc_-k`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.values import EMPTY
from loquent.data.outcomes import share_error
from loquent.errors import LoquentError
from loquent.models.format.names import Format
from loquent.models.inspect.readings import readings
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.models.values.networks import TokenValues

State = tuple[str, str, tuple[tuple[str, str, str], ...]]


@dataclass(frozen=True)
class Ranked:
    """How often Q of the better answer's token is above that of the other's, comparing the tokens at one
    place of the answers.

    `online` and `target` are shares of the n pairs whose answers both have so many tokens, and differ in this
    one or before it (else there is nothing to rank); None where there is none.
    """

    place: int  # from the end: 1 is the last token, the end marker
    n: int
    online: float | None
    target: float | None

    @staticmethod
    def error(share: float | None, n: int) -> float | None:
        """The error of a share of n pairs, as `share_error`; None for none."""
        return None if share is None or not n else share_error(share, n)

    def as_json(self) -> dict[str, Any]:
        """All of it by name, with the errors."""
        errors = {
            f"{name}_error": self.error(share, self.n)
            for name, share in (("online", self.online), ("target", self.target))
        }
        return {"place": self.place, "n": self.n, "online": self.online, "target": self.target, **errors}


def q_ranking(
    module: Any,
    values: TokenValues,
    better: TokenBatch,
    other: TokenBatch,
    *,
    last: int = 6,
    token_budget: int = 8192,
) -> tuple[Ranked, ...]:
    """Compare the last answers of two batches, episode by episode, token by token from their ends.

    Place 1 asks for the whole answer (in Wordle, all letters are known there), the largest for its first
    token alone.

    Args:
        module: the policy, whose hidden states values may share.
        better, other: batches of as many episodes, numbered alike, each ending with the answer that is
            compared (`pair_batches` makes them).
        last: how many places.

    Raises:
        LoquentError: an episode of one batch has no counterpart in the other.
    """
    sides = [_last_answers(module, values, batch, token_budget) for batch in (better, other)]
    if sides[0].keys() != sides[1].keys():
        lonely = sorted(sides[0].keys() ^ sides[1].keys())
        raise LoquentError(
            f"{len(lonely)} episodes have no counterpart, number {lonely[0]} first: the batches to "
            "compare are numbered alike"
        )
    pairs = [(sides[0][number], sides[1][number]) for number in sorted(sides[0])]
    found = []
    for place in range(1, last + 1):
        known = [
            pair
            for pair in pairs
            if min(map(len, pair)) >= place and _said(pair[0], place) != _said(pair[1], place)
        ]
        shares = [
            sum(mine[-place][kind] > its[-place][kind] for mine, its in known) / len(known) if known else None
            for kind in (1, 2)
        ]
        found.append(Ranked(place, len(known), *shares))
    return tuple(found)


def shared_states(
    better: Iterable[Episode],
    other: Iterable[Episode],
    key: Key,
    *,
    draws: int = 1000,
    answer: int | None = None,
) -> list[tuple[Episode, Episode, int]]:
    """Pairs (better, other, turn) drawn at states that games of both sides met: a state, then for each side
    one of its games there.

    Two games are in one state where all turns before are the same. `answer` None: any state; a number: the
    state before the learning seat's answer of that number, from 0. No state is shared: no pair.
    """
    known = [_states(side, answer) for side in (better, other)]
    shared = [state for state in known[0] if state in known[1]]
    if not shared:
        return []
    random = key.generator()
    found = []
    for _ in range(draws):
        state = shared[int(random.integers(len(shared)))]
        mine, its = (some[state][int(random.integers(len(some[state])))] for some in known)
        found.append((mine[0], its[0], mine[1]))
    return found


def _states(episodes: Iterable[Episode], answer: int | None) -> dict[State, list[tuple[Episode, int]]]:
    """All games that met a state, with the turn at which they answered, in the order of the games."""
    found: dict[State, list[tuple[Episode, int]]] = {}
    for one in episodes:
        places = [i for i, turn in enumerate(one.turns) if turn.seat == one.learning]
        for place in places if answer is None else places[answer : answer + 1]:
            before = tuple((turn.seat, turn.to, turn.text) for turn in one.turns[:place])
            found.setdefault((one.task, one.instruction, before), []).append((one, place))
    return found


def pair_batches(
    pairs: Sequence[tuple[Episode, Episode, int]], format: Format, *, max_length: int
) -> tuple[TokenBatch, TokenBatch]:
    """The batches of games (better, other, the turn whose answers are compared), each game cut behind that
    turn.
    """
    mine = [_upto(better, turn) for better, _, turn in pairs]
    its = [_upto(other, turn) for _, other, turn in pairs]
    return token_batch(mine, format, EMPTY, max_length=max_length), token_batch(
        its, format, EMPTY, max_length=max_length
    )


def _upto(episode: Episode, turn: int) -> Episode:
    return replace(episode, turns=episode.turns[: turn + 1], ended=None)


Tokens = list[
    tuple[int, float, float]
]  # of one answer: each token with Q by the online and by the target heads


def _said(tokens: Tokens, place: int) -> list[int]:
    return [token for token, _, _ in tokens[: len(tokens) - place + 1]]


def _last_answers(
    module: Any, values: TokenValues, batch: TokenBatch, token_budget: int
) -> dict[int, Tokens]:
    """The last answer of each episode, by its number."""
    read = readings(module, values, batch, token_budget=token_budget)
    found = {}
    for row, (number, is_action, turn) in enumerate(
        zip(batch.episode.tolist(), batch.is_action.cpu(), batch.turn.cpu(), strict=True)
    ):
        answer = is_action & (turn == turn[is_action][-1])
        columns = (one[row].cpu()[answer].tolist() for one in (batch.tokens, read.q, read.target_q))
        found[number] = list(zip(*columns, strict=True))  # a later row of an episode holds a later answer
    return found
