"""Batches of tokens, made from episodes for algorithms that learn per token.

`positions` says where the actions and their states are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from loquent.core.episode import Episode
from loquent.core.values import Record
from loquent.errors import BadModel, LoquentError
from loquent.models.format.base import HEAD
from loquent.models.format.names import Format
from loquent.models.tokens.room import Limits
from loquent.models.tokens.rows import RowAnswer, rows_of
from loquent.models.tokens.support import Support


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Rows of tokens, padded on the right.

    A number of an action token stands at the token's position; other positions have 0.

    Raises:
        LoquentError: the support does not have one set for each action token.
    """

    tokens: Int64[Tensor, "B T"]
    real: Bool[Tensor, "B T"]  # not padding
    is_action: Bool[Tensor, "B T"]  # chosen by the learning seat
    # number of the utterance in its episode; -1 for the head, padding and tokens after the last turn
    turn: Int64[Tensor, "B T"]
    reward: Float[Tensor, "B T"]  # weighted, without KL; a turn's reward is on its last action token
    ended: Bool[Tensor, " B"]  # by a rule: nothing is bootstrapped
    episode: Int64[Tensor, " B"]  # index into the episodes of the batch
    # in the support, with the temperature: the denominator of the ratio
    drawn_logprob: Float[Tensor, "B T"] | None = None
    policy_logprob: Float[Tensor, "B T"] | None = None  # full softmax, like reference_logprob
    reference_logprob: Float[Tensor, "B T"] | None = None
    # like drawn_logprob, by the learner's own weights, where another engine may have drawn
    own_logprob: Float[Tensor, "B T"] | None = None
    version: Int64[Tensor, "B T"] | None = None  # the number of the policy's weights that drew the token
    value: Float[Tensor, "B T"] | None = None  # of the state of the action token
    advantage: Float[Tensor, "B T"] | None = None
    target: Float[Tensor, "B T"] | None = None
    weight: Float[Tensor, "B T"] | None = None  # of the policy's loss at an action token; None: 1
    bootstrap: Float[Tensor, " B"] | None = None  # value at the last real token
    # the row of the task, numbered within the batch: answers to one row have one number
    group: Int64[Tensor, " B"] | None = None
    segment: Int64[Tensor, " B"] | None = None  # the part of its episode's conversation, from 0
    overlong: Bool[Tensor, " B"] | None = None  # an answer of its episode was cut for its length
    # of the action tokens in the order of is_action.nonzero(); None: all tokens at temperature 1
    support: Support | None = None
    # whether policy_logprob and reference_logprob have the temperatures of the support, instead of 1
    tempered: bool = False
    dropped: int = 0  # turns left out for length
    cut: int = 0  # tokens of observations and answers left out for length
    cut_rows: int = 0  # rows that lost turns or tokens for length
    left_out: int = 0  # episodes without an action token, which have no row
    unpaired: int = 0  # episodes left out because no answer to their row has another return

    def __post_init__(self) -> None:
        if self.support is None:
            return
        sets, actions = len(self.support), int(self.is_action.sum())
        if sets != actions:
            raise LoquentError(
                f"the support has {sets} sets for {actions} action tokens; each action token needs one; "
                "change the support together with is_action"
            )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def unit(self) -> Int64[Tensor, " B"]:
        """What stays in one process (`parallel.own`): the rows of an episode."""
        return self.episode

    @property
    def segments(self) -> int:
        """The number of rows that begin anew because a chat template rewrites earlier turns."""
        return 0 if self.segment is None else int((self.segment > 0).sum())

    def take(self, rows: Sequence[int] | NDArray[Any] | Tensor) -> TokenBatch:
        """The batch of these rows (integers, or one bool per row), in that order and without extra padding.

        The support is reduced to the action tokens of these rows.
        """
        index = torch.as_tensor(rows, device=self.tokens.device)
        index = index.nonzero().flatten() if index.dtype == torch.bool else index.long()
        width = int(self.real[index].sum(1).max()) if len(index) else 0
        chosen: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                chosen[field.name] = value[index] if value.ndim == 1 else value[index, :width]
        if self.support is not None:
            counts = self.is_action.sum(1).cpu().numpy()
            starts = np.cumsum(counts) - counts
            places = [np.arange(starts[i], starts[i] + counts[i]) for i in index.tolist()]
            chosen["support"] = self.support.take(np.concatenate([np.empty(0, dtype=np.int64), *places]))
        return replace(self, **chosen)

    def to(self, target: torch.device | str | torch.dtype) -> TokenBatch:
        """The batch with its tensors on a device, or its floating-point tensors in another type."""
        moved = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if isinstance(getattr(self, field.name), Tensor)
        }
        if isinstance(target, torch.dtype):
            moved = {name: tensor for name, tensor in moved.items() if tensor.is_floating_point()}
        return replace(self, **{name: tensor.to(target) for name, tensor in moved.items()})


def cat(batches: Sequence[TokenBatch], pad: int) -> TokenBatch:
    """The rows of several batches as one batch, padded to the widest.

    A field that is None in one of them is None in the result. `episode` and `group` are copied, so batches of
    different episodes must be numbered consistently before.
    """
    width = max(batch.tokens.shape[1] for batch in batches)
    joined: dict[str, Any] = {}
    for field in fields(TokenBatch):
        values = [getattr(batch, field.name) for batch in batches]
        if isinstance(values[0], bool):
            joined[field.name] = all(values)
        elif isinstance(values[0], int):
            joined[field.name] = sum(values)
        elif any(value is None for value in values):
            joined[field.name] = None
        elif isinstance(values[0], Tensor):
            fill = {"tokens": pad, "turn": HEAD}.get(field.name, 0)
            padded = [
                value if value.ndim == 1 else F.pad(value, (0, width - value.shape[1]), value=fill)
                for value in values
            ]
            joined[field.name] = torch.cat(padded)
        else:
            joined[field.name] = Support.cat(values)
    return TokenBatch(**joined)


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions of the j-th action token of each row, of its state and of its next state.

    They are padded on the right with 0.
    """

    action: Int64[Tensor, "B A"]
    state: Int64[Tensor, "B A"]  # its hidden state predicts the action
    next: Int64[Tensor, "B A"]
    alive: Bool[Tensor, "B A"]  # whether the next state has a value
    real: Bool[Tensor, "B A"]


def positions(batch: TokenBatch) -> Positions:
    """The positions of the actions and states of a batch.

    With action tokens at p_0 < ... < p_{A-1}: state_j = p_j - 1, next_j = state_{j+1}, the last next is the
    last real token, and alive_j is false only for the last action of a row that ended.

    Raises:
        LoquentError: a row begins with an action, which then has no state.
    """
    if batch.is_action[:, :1].any():
        raise LoquentError(
            "a row begins with an action token, which has no state; every row must begin with another "
            "token, whose hidden state is the first state; write rows with a format"
        )
    counts = batch.is_action.sum(1)
    widest = int(counts.max()) if len(batch) else 0
    rank = torch.arange(widest, device=batch.tokens.device)
    real = rank < counts[:, None]
    action = torch.zeros(len(batch), widest, dtype=torch.int64, device=batch.tokens.device)
    action[real] = batch.is_action.nonzero()[:, 1]
    state = (action - 1).clamp(min=0)
    final = rank == counts[:, None] - 1
    following = torch.where(final, batch.real.sum(1, keepdim=True) - 1, state.roll(-1, 1))
    alive = real & ~(final & batch.ended[:, None])
    return Positions(action, state, torch.where(real, following, 0), alive, real)


def token_batch(
    episodes: Sequence[Episode],
    format: Format,
    weights: Record,
    *,
    max_length: int,
    room: int | None = None,
    side: str = "left",
    seat: str | None = None,
    cuts_answers: bool = False,
) -> TokenBatch:
    """The batch of episodes from the view of one seat.

    Its floating-point tensors are float64 until `score` converts them to the model's precision.

    Args:
        weights: the weight of each reward by name; other rewards do not count.
        max_length: the most tokens of a row.
        room: the most tokens of a prompt during the rollout (the context less the new tokens), so that the
            same turns are dropped; `max_length` by default.
        side: the side on which a text loses tokens if it is too long for a prompt, "left" or "right".
        seat: the seat whose tokens are actions; by default the learning seat of each episode.
        cuts_answers: whether an answer that does not fit into `max_length` loses tokens on that side, after
            all of its prompt; only for answers of text.

    Raises:
        BadModel: an answer does not fit into `max_length` and is not cut, a turn has tokens that this
            tokenizer does not have, or a recorded log-probability is not finite.
        BadReward: a reward is not finite, or the number of rewards per token differs from the number of
            tokens.
    """
    room = max_length if room is None else min(room, max_length)
    limits = Limits(max_length, room, side, cuts_answers)
    rows_of_episodes = [
        rows_of(episode, format, weights, seat or episode.learning, limits) for episode in episodes
    ]
    rows = [(index, row) for index, of_episode in enumerate(rows_of_episodes) for row in of_episode]
    groups = {name: n for n, name in enumerate(dict.fromkeys((e.split, e.row) for e in episodes))}
    overlong = [
        any(turn.seat == (seat or episode.learning) and turn.stopped == "length" for turn in episode.turns)
        for episode in episodes
    ]
    shape = len(rows), max((len(row.ids) for _, row in rows), default=0)
    tokens, turn = np.full(shape, format.pad, dtype=np.int64), np.full(shape, HEAD, dtype=np.int64)
    real, is_action = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    reward, drawn, policy = (np.zeros(shape, dtype=np.float64) for _ in range(3))
    version = np.zeros(shape, dtype=np.int64)
    for b, (index, row) in enumerate(rows):
        length = len(row.ids)
        tokens[b, :length], turn[b, :length], real[b, :length] = row.ids, row.turn, True
        for answer in row.answers:
            columns, recorded = slice(answer.start, answer.start + answer.length), answer.turn.tokens
            is_action[b, columns], reward[b, columns] = True, answer.reward
            if recorded is not None:
                _check_tokens(answer, format, episodes[index])
                drawn[b, columns], version[b, columns] = recorded.drawn_logprob, recorded.version
                if recorded.policy_logprob is not None:
                    policy[b, columns] = recorded.policy_logprob
    answers = [answer for _, row in rows for answer in row.answers]
    records = [answer.turn.tokens for answer in answers]
    all_recorded = bool(answers) and all(tokens is not None for tokens in records)
    has_policy = all(tokens is not None and tokens.policy_logprob is not None for tokens in records)
    return TokenBatch(
        tokens=torch.from_numpy(tokens),
        real=torch.from_numpy(real),
        is_action=torch.from_numpy(is_action),
        turn=torch.from_numpy(turn),
        reward=torch.from_numpy(reward),
        ended=torch.tensor([row.ended for _, row in rows], dtype=torch.bool),
        episode=torch.tensor([index for index, _ in rows], dtype=torch.int64),
        group=torch.tensor(
            [groups[episodes[index].split, episodes[index].row] for index, _ in rows], dtype=torch.int64
        ),
        segment=torch.tensor([row.segment for _, row in rows], dtype=torch.int64),
        overlong=torch.tensor([overlong[index] for index, _ in rows], dtype=torch.bool),
        drawn_logprob=torch.from_numpy(drawn) if all_recorded else None,
        policy_logprob=torch.from_numpy(policy) if all_recorded and has_policy else None,
        version=torch.from_numpy(version) if all_recorded else None,
        support=_support(answers),
        dropped=sum(max((row.fit.first for row in of_episode), default=0) for of_episode in rows_of_episodes),
        cut=sum(row.fit.cut for _, row in rows),
        cut_rows=sum(bool(row.fit.first or row.fit.cut) for _, row in rows),
        left_out=sum(not of_episode for of_episode in rows_of_episodes),
    )


def _support(answers: Sequence[RowAnswer]) -> Support | None:
    """The supports of all answers in order, or None if no answer has one.

    An answer without a support has the full one at temperature 1.
    """
    supports = [answer.turn.tokens.support if answer.turn.tokens is not None else None for answer in answers]
    vocabularies = {support.vocabulary for support in supports if support is not None}
    if len(vocabularies) > 1:
        sizes = " and ".join(map(str, sorted(vocabularies)))
        raise BadModel(
            f"the answers were drawn from vocabularies of {sizes} tokens; a batch must have one vocabulary; "
            "separate the episodes by model"
        )
    if not vocabularies:
        return None
    size = vocabularies.pop()
    return Support.cat(
        Support.full(answer.length, size) if support is None else support
        for answer, support in zip(answers, supports, strict=True)
    )


def _check_tokens(answer: RowAnswer, format: Format, episode: Episode) -> None:
    """Raise BadModel if an answer's recorded tokens contradict each other or this tokenizer."""
    tokens: Any = answer.turn.tokens
    place = f"turn {answer.number} of the episode {episode.row}#{episode.number} of {episode.task}"
    recorded = {
        "drawn_logprob": tokens.drawn_logprob,
        "policy_logprob": tokens.policy_logprob,
        "support": tokens.support,
    }
    for name, values in recorded.items():
        if values is not None and len(values) != answer.length:
            raise BadModel(
                f"{place} has {answer.length} tokens, but {name} has {len(values)} entries; each token needs "
                "one; record the episode again"
            )
    for name in ("drawn_logprob", "policy_logprob"):
        numbers = np.asarray(0.0 if recorded[name] is None else recorded[name])
        if not np.isfinite(numbers).all():
            wrong = float(numbers[~np.isfinite(numbers)][0])
            raise BadModel(
                f"{place} has a {name} of {wrong}; the log-probability of a drawn token must be finite; "
                "record it when you draw the token"
            )
    if tokens.ids.min() < 0 or tokens.ids.max() >= format.vocabulary:
        wrong = next(int(i) for i in tokens.ids if not 0 <= i < format.vocabulary)
        raise BadModel(
            f"{place} has the token {wrong}; the tokenizer has 0..{format.vocabulary - 1}; use the tokenizer "
            "that the tokens were drawn with"
        )
    if tokens.support is not None and tokens.support.vocabulary < format.vocabulary:
        raise BadModel(
            f"{place} was drawn from {tokens.support.vocabulary} tokens; the tokenizer has "
            f"{format.vocabulary}; use the tokenizer that the tokens were drawn with"
        )
