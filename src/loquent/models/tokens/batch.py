"""Batches of tokens: what every token learner reads, made from episodes.

And `positions`, where actions and their states stand.
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
from loquent.models.support import Support
from loquent.models.tokens.rows import Said, rows_of


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Rows of tokens, padded on the right.

    What is recorded of an action token stands at its own position, 0 elsewhere.

    Raises:
        LoquentError: the support has not one set for each action token.
    """

    tokens: Int64[Tensor, "B T"]
    real: Bool[Tensor, "B T"]  # no padding
    is_action: Bool[Tensor, "B T"]  # chosen by the learning seat
    turn: Int64[
        Tensor, "B T"
    ]  # number of the utterance in its episode; -1 for head, padding and what follows the last turn
    reward: Float[Tensor, "B T"]  # weighted, KL left out; a turn's on its last action token
    ended: Bool[Tensor, " B"]  # by a rule: nothing is bootstrapped
    episode: Int64[Tensor, " B"]  # index into the episodes the batch was made from
    drawn_logprob: Float[Tensor, "B T"] | None = (
        None  # in the support, temperature included: the ratio's denominator
    )
    policy_logprob: Float[Tensor, "B T"] | None = None  # full softmax, as is reference_logprob
    reference_logprob: Float[Tensor, "B T"] | None = None
    value: Float[Tensor, "B T"] | None = None  # of the state of the action token
    advantage: Float[Tensor, "B T"] | None = None
    target: Float[Tensor, "B T"] | None = None
    bootstrap: Float[Tensor, " B"] | None = None  # value at the last real token
    support: Support | None = (
        None  # of the action tokens, in the order of is_action.nonzero(); None: everything, at temperature 1
    )
    dropped: int = 0  # turns left out for length
    cut: int = 0  # tokens of observations left out for length
    left_out: int = 0  # episodes without an action token, which have no row

    def __post_init__(self) -> None:
        if self.support is None:
            return
        sets, actions = len(self.support), int(self.is_action.sum())
        if sets != actions:
            raise LoquentError(
                f"the support has {sets} sets for {actions} action tokens; where is_action changes, "
                "the support must too"
            )

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, rows: Sequence[int] | NDArray[Any] | Tensor) -> TokenBatch:
        """The batch of these rows (integers, or one bool a row) in that order, as narrow as they allow, with
        their support.
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
        """The same batch with its tensors on a device, or with its real numbers in a floating-point type."""
        moved = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if isinstance(getattr(self, field.name), Tensor)
        }
        if isinstance(target, torch.dtype):
            moved = {name: tensor for name, tensor in moved.items() if tensor.is_floating_point()}
        return replace(self, **{name: tensor.to(target) for name, tensor in moved.items()})


def cat(batches: Sequence[TokenBatch], pad: int) -> TokenBatch:
    """The rows of several batches as one, filled up to the widest; what not all of them have is left out.

    `episode` is taken as it is: whoever joins batches of different episodes numbers them first.
    """
    width = max(batch.tokens.shape[1] for batch in batches)
    joined: dict[str, Any] = {}
    for field in fields(TokenBatch):
        values = [getattr(batch, field.name) for batch in batches]
        if isinstance(values[0], int):
            joined[field.name] = sum(values)
        elif any(value is None for value in values):
            joined[field.name] = None
        elif isinstance(values[0], Tensor):
            fill = {"tokens": pad, "turn": HEAD}.get(field.name, 0)
            wide = [
                value if value.ndim == 1 else F.pad(value, (0, width - value.shape[1]), value=fill)
                for value in values
            ]
            joined[field.name] = torch.cat(wide)
        else:
            joined[field.name] = Support.cat(values)
    return TokenBatch(**joined)


@dataclass(frozen=True, eq=False)
class Positions:
    """Where the j-th action token of each row stands, where its state and its next state are.

    Padded on the right with 0.
    """

    action: Int64[Tensor, "B A"]
    state: Int64[Tensor, "B A"]  # its hidden predicts the action
    next: Int64[Tensor, "B A"]
    alive: Bool[Tensor, "B A"]  # whether the next state has a value
    real: Bool[Tensor, "B A"]


def positions(batch: TokenBatch) -> Positions:
    """Actions and states of a batch.

    With action tokens at p_0 < ... < p_{A-1}: state_j = p_j - 1, next_j = state_{j+1}, the last next is the
    last real token, and alive_j is false only for the last action of a row that ended.

    Raises:
        LoquentError: a row begins with an action, which then has no state.
    """
    if batch.is_action[:, :1].any():
        raise LoquentError(
            "a row begins with an action token; every row begins with a start token, whose hidden "
            "is the first state"
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
    seat: str | None = None,
) -> TokenBatch:
    """The batch of episodes as one seat read and said them.

    Its numbers are float64 until `score` gives them the model's precision.

    Args:
        weights: name of a reward -> weight; names without one do not count.
        max_length: most tokens of a row.
        room: most tokens of a prompt when the answers were drawn (the context less the new tokens allowed),
            so that the same turns are dropped as then; `max_length` by default.
        seat: whose tokens are actions; by default the learning seat of each episode.

    Raises:
        BadModel: an answer does not fit into `max_length`, or turns hold tokens that this tokenizer does not
            have, or whose log-probabilities are not finite.
        BadReward: a reward is not finite, or a reward per token has another length than the answer.
    """
    room = max_length if room is None else min(room, max_length)
    laid = [
        rows_of(episode, format, weights, seat or episode.learning, max_length, room) for episode in episodes
    ]
    rows = [(index, row) for index, several in enumerate(laid) for row in several]
    shape = len(rows), max((len(row.ids) for _, row in rows), default=0)
    tokens, turn = np.full(shape, format.pad, dtype=np.int64), np.full(shape, HEAD, dtype=np.int64)
    real, is_action = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    reward, drawn, policy = (np.zeros(shape, dtype=np.float64) for _ in range(3))
    for b, (index, row) in enumerate(rows):
        length = len(row.ids)
        tokens[b, :length], turn[b, :length], real[b, :length] = row.ids, row.turn, True
        for said in row.said:
            here = slice(said.start, said.start + said.length)
            is_action[b, here], reward[b, here] = True, said.reward
            if said.turn.tokens is not None:
                _check(said, format, episodes[index])
                drawn[b, here], policy[b, here] = (
                    said.turn.tokens.drawn_logprob,
                    said.turn.tokens.policy_logprob,
                )
    answers = [said for _, row in rows for said in row.said]
    recorded = bool(answers) and all(said.turn.tokens is not None for said in answers)
    return TokenBatch(
        tokens=torch.from_numpy(tokens),
        real=torch.from_numpy(real),
        is_action=torch.from_numpy(is_action),
        turn=torch.from_numpy(turn),
        reward=torch.from_numpy(reward),
        ended=torch.tensor([row.ended for _, row in rows], dtype=torch.bool),
        episode=torch.tensor([index for index, _ in rows], dtype=torch.int64),
        drawn_logprob=torch.from_numpy(drawn) if recorded else None,
        policy_logprob=torch.from_numpy(policy) if recorded else None,
        support=_support(answers),
        dropped=sum(max((row.fit.first for row in several), default=0) for several in laid),
        cut=sum(row.fit.cut for _, row in rows),
        left_out=sum(not several for several in laid),
    )


def _support(answers: Sequence[Said]) -> Support | None:
    """The supports of all answers in order; answers without one may hold anything, at temperature 1.

    None when none has one.
    """
    known = [said.turn.tokens.support if said.turn.tokens is not None else None for said in answers]
    vocabularies = {support.vocabulary for support in known if support is not None}
    if len(vocabularies) > 1:
        raise BadModel(
            "the answers were drawn from vocabularies of "
            f"{' and '.join(map(str, sorted(vocabularies)))} words; a batch has one"
        )
    if not vocabularies:
        return None
    size = vocabularies.pop()
    return Support.cat(
        Support.full(said.length, size) if support is None else support
        for said, support in zip(answers, known, strict=True)
    )


def _check(said: Said, format: Format, episode: Episode) -> None:
    """Raise BadModel where the recorded tokens of a turn cannot be of this tokenizer, or do not fit
    together.
    """
    tokens: Any = said.turn.tokens
    place = f"turn {said.number} of the game {episode.row}#{episode.number} of {episode.task}"
    recorded = {
        "drawn_logprob": tokens.drawn_logprob,
        "policy_logprob": tokens.policy_logprob,
        "support": tokens.support,
    }
    for name, values in recorded.items():
        if values is not None and len(values) != said.length:
            raise BadModel(f"{place} holds {said.length} tokens, but {name} has {len(values)} entries")
    for name in ("drawn_logprob", "policy_logprob"):
        numbers = np.asarray(recorded[name])
        if not np.isfinite(numbers).all():
            wrong = float(numbers[~np.isfinite(numbers)][0])
            raise BadModel(
                f"{place} holds a {name} of {wrong}, which no drawn token can have: whoever draws "
                "tokens records how likely they were"
            )
    if tokens.ids.min() < 0 or tokens.ids.max() >= format.vocabulary:
        wrong = next(int(i) for i in tokens.ids if not 0 <= i < format.vocabulary)
        raise BadModel(
            f"{place} holds the token {wrong}; the tokenizer has 0..{format.vocabulary - 1}: they "
            "were drawn with another one"
        )
    if tokens.support is not None and tokens.support.vocabulary < format.vocabulary:
        raise BadModel(
            f"{place} was drawn from {tokens.support.vocabulary} words; the tokenizer has {format.vocabulary}"
        )
