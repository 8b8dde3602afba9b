"""Candidate answers to states, drawn once from a policy that never changes; their features.

And values over features (CHAI).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent.core.seeding import Key, borrowed
from loquent.errors import BadCheckpoint
from loquent.models.choose.best_of import log_probability
from loquent.models.decode.drawn import Drawn
from loquent.models.decode.loop import decode
from loquent.models.decoding_settings import Decoding
from loquent.models.format.names import Format
from loquent.models.values.networks import Head
from loquent.pretrained import context, evaluating, exact, groups, hidden, padded
from loquent.pretrained.torch_private import lerp_

Ids = Sequence[int]


def running_mean(states: Float[Tensor, "B T H"]) -> Float[Tensor, "B T H"]:
    """The mean of a row's states up to each position."""
    count = torch.arange(1, states.shape[1] + 1, device=states.device, dtype=states.dtype)
    return states.cumsum(1) / count[:, None]


class FeatureValues(nn.Module):
    """One or two Q-heads over features, and their targets, which never require a gradient."""

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
        with borrowed(key.child("values")):
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
        return (
            values
            if self.value_min is None and self.value_max is None
            else values.clamp(self.value_min, self.value_max)
        )

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Each target head moves by `rate` towards its online one; 1 copies."""
        lerp_(list(self.target_heads.parameters()), list(self.q_heads.parameters()), rate)


@torch.no_grad()
def features_of(module: Any, rows: Sequence[Ids], pad: int, token_budget: int) -> Float[Tensor, "N H"]:
    """The mean of a causal model's last hidden states over each row of ids; dropout off."""
    found: list[Any] = [None] * len(rows)
    with evaluating(module):
        for some in groups([len(row) for row in rows], token_budget):
            tokens, real = padded([rows[i] for i in some], pad, module.device)
            means = running_mean(hidden(module, tokens).to(exact(module.dtype)))[
                torch.arange(len(some)), real.sum(1) - 1
            ]
            for i, mean in zip(some, means, strict=True):
                found[i] = mean
    return torch.stack(found)


@dataclass(frozen=True)
class FeatureScore:
    """Target Q of a prompt with its answer: the score by which the best of several answers is taken.

    Args:
        module: the policy whose hidden states the features are.
        pad: fills rows of unequal length.
        token_budget: padded tokens of one forward pass.
    """

    module: Any
    values: FeatureValues
    pad: int
    token_budget: int = 8192

    def __call__(self, prompts: Sequence[Ids], answers: Sequence[Drawn]) -> list[float]:
        """One score an answer."""
        rows = [
            [*prompt, *answer.tokens.ids.tolist()] for prompt, answer in zip(prompts, answers, strict=True)
        ]
        found: list[float] = self.values.target_q(
            features_of(self.module, rows, self.pad, self.token_budget)
        ).tolist()
        return found


class Candidates:
    """So many answers to each state, drawn from a policy that never changes, as features and
    log-probabilities.

    A state is the ids before the answer. What is drawn depends on the key and these ids; what was drawn is
    kept as far as the memory allows.

    Args:
        number: candidates of a state.
        megabytes: most that are kept; a state beyond that is drawn again each time it is met.
    """

    def __init__(
        self,
        module: Any,
        format: Format,
        decoding: Decoding | None,
        *,
        number: int,
        megabytes: int,
        token_budget: int,
        key: Key,
    ) -> None:
        self.module, self.format, self.decoding = module, format, Decoding() if decoding is None else decoding
        self.number, self.token_budget, self.key = number, token_budget, key
        self.room = context(module) - self.decoding.max_new_tokens
        self._megabytes, self._left = megabytes, megabytes << 20
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, states: Sequence[Ids]) -> tuple[Float[Tensor, "N K H"], Float[Tensor, "N K"]]:
        """The features and the log-probabilities of the candidates of N states.

        Of a state that leaves no room its newest ids count.
        """
        cut = [tuple(ids[-self.room :]) for ids in states]
        names = [name_of(ids) for ids in cut]
        missing = {name: ids for name, ids in zip(names, cut, strict=True) if name not in self._kept}
        found = self._kept | self._drawn(missing) if missing else self._kept
        features, logprob = (
            torch.stack(column).to(self.module.device)
            for column in zip(*(found[name] for name in names), strict=True)
        )
        return features, logprob

    def state_dict(self) -> dict[str, Any]:
        """All that is kept, as one tensor each."""
        if not self._kept:
            return {"states": []}
        features, logprob = (torch.stack(column) for column in zip(*self._kept.values(), strict=True))
        return {"states": list(self._kept), "features": features, "logprob": logprob}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave.

        Raises:
            BadCheckpoint: it is not whole.
        """
        self._kept, self._left = {}, self._megabytes << 20
        if not (names := state["states"]):
            return
        features, logprob = state["features"], state["logprob"]
        if not (len(names) == len(features) == len(logprob) and logprob.shape[1] == self.number):
            sizes = (
                f"{len(names)} states, {tuple(features.shape)} features and {tuple(logprob.shape)} "
                "log-probabilities"
            )
            raise BadCheckpoint(f"the candidates are not whole, or not {self.number} a state: {sizes}")
        for name, *pair in zip(names, features, logprob, strict=True):
            self._keep(name, (pair[0].clone(), pair[1].clone()))

    def _drawn(self, states: Mapping[str, Ids]) -> dict[str, tuple[Tensor, Tensor]]:
        prompts = [list(ids) for ids in states.values() for _ in range(self.number)]
        keys = [self.key.child(name, i) for name in states for i in range(self.number)]
        format = self.format
        answers = decode(
            self.module,
            prompts,
            keys,
            self.decoding,
            end=format.end,
            pad=format.pad,
            vocabulary=format.vocabulary,
        )
        rows = [
            [*prompt, *answer.tokens.ids.tolist()] for prompt, answer in zip(prompts, answers, strict=True)
        ]
        features = (
            features_of(self.module, rows, self.format.pad, self.token_budget)
            .cpu()
            .view(len(states), self.number, -1)
        )
        logprob = torch.tensor(log_probability(prompts, answers), dtype=features.dtype).view(
            len(states), self.number
        )
        found = {name: (features[i].clone(), logprob[i].clone()) for i, name in enumerate(states)}
        for name, pair in found.items():
            self._keep(name, pair)
        return found

    def _keep(self, name: str, pair: tuple[Tensor, Tensor]) -> None:
        size = sum(tensor.numel() * tensor.element_size() for tensor in pair)
        if size <= self._left:
            self._left -= size
            self._kept[name] = pair


def name_of(ids: Ids) -> str:
    """A hash of ids: the name of a state."""
    return hashlib.blake2b(np.asarray(ids, dtype=np.int64).tobytes(), digest_size=16).hexdigest()
