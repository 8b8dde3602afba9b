"""Candidate answers for states, drawn once from a frozen policy, with features and values (CHAI)."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadCheckpoint
from loquent.models.actor import Actor
from loquent.models.choose.best_of import log_probability
from loquent.models.decode.transfer import engine_for
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import Ask, Drawn, draw
from loquent.models.values.networks import Head
from loquent.pretrained import encoder_decoders, evaluating, exact, groups, hidden, pad_rows, prompt_room
from loquent.pretrained.pytorch.torch_private import lerp_

Ids = Sequence[int]


def running_mean(states: Float[Tensor, "B T H"]) -> Float[Tensor, "B T H"]:
    """The mean of a row's states up to each position."""
    count = torch.arange(1, states.shape[1] + 1, device=states.device, dtype=states.dtype)
    return states.cumsum(1) / count[:, None]


def mean_states(module: Any, tokens: Int64[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
    """The mean of a model's last hidden states of a row up to each position.

    Those of an encoder-decoder are its decoder's, from its start before the answer on.
    """
    states = hidden(module, tokens).to(exact(module.dtype))
    return (
        encoder_decoders.means(states, tokens) if encoder_decoders.is_pair(module) else running_mean(states)
    )


class FeatureValues(nn.Module):
    """One or two Q-heads over features, and their target heads, which never require a gradient."""

    def __init__(
        self,
        width: int,
        *,
        double: bool = True,
        initial: float | None = None,
        value_min: float | None = None,
        value_max: float | None = None,
        key: Key,
    ) -> None:
        super().__init__()
        self.value_min, self.value_max = value_min, value_max
        with borrow_generators(key.child("values")):
            self.q_heads = nn.ModuleList(Head(width, 1, initial) for _ in range(2 if double else 1))
        self.target_heads = copy.deepcopy(self.q_heads).requires_grad_(False)
        self.eval()

    def q(self, features: Float[Tensor, "*N H"]) -> tuple[Float[Tensor, " *N"], ...]:
        """Q by each online head."""
        return tuple(head(features)[..., 0] for head in self.q_heads)

    @torch.no_grad()
    def target_q(self, features: Float[Tensor, "*N H"]) -> Float[Tensor, " *N"]:
        """The smaller Q of the target heads, clipped."""
        values = torch.stack([head(features)[..., 0] for head in self.target_heads]).amin(0)
        if self.value_min is None and self.value_max is None:
            return values
        return values.clamp(self.value_min, self.value_max)

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Move each target head by `rate` towards its online head; a rate of 1 copies it."""
        lerp_(list(self.target_heads.parameters()), list(self.q_heads.parameters()), rate)


@torch.no_grad()
def features_of(module: Any, rows: Sequence[Ids], pad: int, token_budget: int) -> Float[Tensor, "N H"]:
    """The mean of a causal model's last hidden states over each row of ids, without dropout."""
    features: list[Any] = [None] * len(rows)
    with evaluating(module):
        for group in groups([len(row) for row in rows], token_budget):
            tokens, real = pad_rows([rows[i] for i in group], pad, module.device)
            means = mean_states(module, tokens)
            for i, mean in zip(group, means[torch.arange(len(group)), real.sum(1) - 1], strict=True):
                features[i] = mean
    return torch.stack(features)


@dataclass(frozen=True)
class FeatureScore:
    """The score of an answer: target Q of the prompt with the answer.

    Args:
        module: the policy, whose mean hidden states are the features.
        pad: the id of padding.
        token_budget: the most padded tokens of a forward pass.
    """

    module: Any
    values: FeatureValues
    pad: int
    token_budget: int = 8192

    def __call__(self, prompts: Sequence[Ids], answers: Sequence[Drawn]) -> list[float]:
        """One score for each answer."""
        rows = [
            [*prompt, *answer.tokens.ids.tolist()] for prompt, answer in zip(prompts, answers, strict=True)
        ]
        features = features_of(self.module, rows, self.pad, self.token_budget)
        scores: list[float] = self.values.target_q(features).tolist()
        return scores


class Candidates:
    """Candidate answers for each state as features and log-probabilities, drawn from a frozen policy.

    A state is the ids before the answer. The candidates depend only on the key and these ids. They are
    stored up to a limit of memory.

    Args:
        actor: has the policy, which does not learn, its format and its decoding.
        number: the candidates of a state.
        megabytes: the limit of stored candidates. Those of further states are drawn again at each use.
    """

    def __init__(self, actor: Actor, *, number: int, megabytes: int, token_budget: int, key: Key) -> None:
        self.actor, self.module, self.decoding = actor, actor.policy, actor.decoding or Decoding()
        self.number, self.token_budget, self.key = number, token_budget, key
        self.room = prompt_room(self.module, self.decoding.max_new_tokens)
        self._megabytes, self._left = megabytes, megabytes << 20
        self._stored: dict[str, tuple[Tensor, Tensor]] = {}

    def __len__(self) -> int:
        return len(self._stored)

    def of(self, states: Sequence[Ids]) -> tuple[Float[Tensor, "N K H"], Float[Tensor, "N K"]]:
        """The features and the log-probabilities of the candidates of N states.

        Of a state that is too long only the newest ids count.
        """
        cut = [self._cut(ids) for ids in states]
        names = [name_of(ids) for ids in cut]
        missing = {name: ids for name, ids in zip(names, cut, strict=True) if name not in self._stored}
        candidates = self._stored | self._drawn(missing) if missing else self._stored
        features, logprob = (
            torch.stack(column).to(self.module.device)
            for column in zip(*(candidates[name] for name in names), strict=True)
        )
        return features, logprob

    def state_dict(self) -> dict[str, Any]:
        """All stored candidates: one tensor of features and one of log-probabilities."""
        if not self._stored:
            return {"states": []}
        features, logprob = (torch.stack(column) for column in zip(*self._stored.values(), strict=True))
        return {"states": list(self._stored), "features": features, "logprob": logprob}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`.

        Raises:
            BadCheckpoint: the state is incomplete, or has another number of candidates.
        """
        self._stored, self._left = {}, self._megabytes << 20
        if not (names := state["states"]):
            return
        features, logprob = state["features"], state["logprob"]
        if not (len(names) == len(features) == len(logprob) and logprob.shape[1] == self.number):
            raise BadCheckpoint(
                f"the saved candidates must have {self.number} features and log-probabilities for each "
                f"state, got {len(names)} states, {tuple(features.shape)} features and "
                f"{tuple(logprob.shape)} log-probabilities; resume from another checkpoint"
            )
        for name, *pair in zip(names, features, logprob, strict=True):
            self._store(name, (pair[0].clone(), pair[1].clone()))

    def _cut(self, ids: Ids) -> tuple[int, ...]:
        if not encoder_decoders.is_pair(self.module):
            return tuple(ids[-self.room :])
        last = encoder_decoders.last_pair(ids)
        return tuple(last[max(0, sum(i < 0 for i in last) - self.room) :])

    def _drawn(self, states: Mapping[str, Ids]) -> dict[str, tuple[Tensor, Tensor]]:
        asks = [
            Ask(ids, self.key.child(name, i), self.decoding)
            for name, ids in states.items()
            for i in range(self.number)
        ]
        prompts, pad = [ask.ids for ask in asks], self.actor.format.pad
        answers = draw(engine_for(self.actor, self.decoding, 0), asks)
        rows = [
            [*prompt, *answer.tokens.ids.tolist()] for prompt, answer in zip(prompts, answers, strict=True)
        ]
        size = len(states), self.number
        features = features_of(self.module, rows, pad, self.token_budget).cpu().view(*size, -1)
        logprob = torch.tensor(log_probability(prompts, answers), dtype=features.dtype).view(size)
        candidates = {name: (features[i].clone(), logprob[i].clone()) for i, name in enumerate(states)}
        for name, pair in candidates.items():
            self._store(name, pair)
        return candidates

    def _store(self, name: str, pair: tuple[Tensor, Tensor]) -> None:
        size = sum(tensor.numel() * tensor.element_size() for tensor in pair)
        if size <= self._left:
            self._left -= size
            self._stored[name] = pair


def name_of(ids: Ids) -> str:
    """The name of a state: a hash of its ids."""
    return hashlib.blake2b(np.asarray(ids, dtype=np.int64).tobytes(), digest_size=16).hexdigest()
