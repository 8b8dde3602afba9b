"""The actor of learners that choose among a task's actions: its networks, its inputs and its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.core.actions import Slots
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Observation, Task
from loquent.errors import BadSetting
from loquent.models.tokens.turns import TurnBatch
from loquent.models.turns import encoders
from loquent.models.turns.inputs import Inputs
from loquent.models.turns.parts import (
    FEW,
    Dense,
    Path,
    Tree,
    draw_entries,
    is_dense,
    legal_parts,
    masked_log_softmax,
)
from loquent.models.turns.settings import NetworkSettings, PolicySettings
from loquent.models.turns.turn_scores import Legality, distribution
from loquent.pretrained.learning.stopping import StopHead, apart
from loquent.pretrained.learning.turn_network import TurnNetwork


class Network(nn.Module):
    """An encoder with the heads of a policy and of a value function.

    `sizes` are the numbers of logits: one for all actions, or one for each part.
    """

    def __init__(self, inputs: Inputs, settings: PolicySettings, sizes: Sequence[int]) -> None:
        super().__init__()
        self.encoder = encoders.build(inputs)
        self.own = encoders.build(inputs) if settings.critic == "network" else None  # the critic's encoder
        self.policy_hidden, self.value_hidden, widths = encoders.hidden_layers(self.encoder)
        self.policy, self.value = nn.Linear(widths[0], sum(sizes)), nn.Linear(widths[1], 1)
        self.stop = StopHead(self.encoder.width) if settings.stop_head else None
        self.sizes, self.bounded = list(sizes), settings.value == "tanh"
        for head, gain in ((self.policy, 0.01), (self.value, 1.0)):
            nn.init.orthogonal_(head.weight, gain)
            nn.init.zeros_(head.bias)

    def forward(
        self, features: Mapping[str, Tensor]
    ) -> tuple[tuple[Tensor, ...], Float[Tensor, " N"], Float[Tensor, " N"] | None]:
        """The logits, f[N, size] for each of `sizes`, the values, and the logits of P(the goal holds)."""
        state = self.encoder(features)
        logits = self.policy(self.policy_hidden(state)).split(self.sizes, 1)
        other = state if self.own is None else self.own(features)
        value = self.value(self.value_hidden(other))[:, 0]
        goal = None if self.stop is None else self.stop(state)
        return logits, value.tanh() if self.bounded else value, goal


class FeatureNetwork(TurnNetwork):
    """A network over features of a task's observations."""

    head_modules = ("policy_hidden", "value_hidden", "policy", "value", "own", "advantage")
    inputs: Inputs
    settings: NetworkSettings
    sizes: Sequence[int]
    """The numbers of outputs: one for all actions, or one for each part."""

    def __init__(self, task: Task, settings: NetworkSettings) -> None:
        assert task.actions is not None
        self.task, self.actions, self.settings = task, task.actions, settings
        self.inputs = Inputs(task, settings)
        self.dense = is_dense(self.actions)
        self._warm = False

    @property
    def signature(self) -> dict[str, Any]:
        """What a saved network must fit: its inputs, its actions and its shape."""
        few = self.dense and len(self.actions) <= FEW and not isinstance(self.actions, Slots)
        return {
            "actions": len(self.actions),
            "names": [self.actions.text(i) for i in range(len(self.actions))] if few else [],
            "parts": list(self.sizes),
            "inputs": self.inputs.identity,
            "network": self.settings.network,
            "shape": self.shape,
        }

    def warm(self) -> None:
        """Encode the sentences of all rows in fixed batches, so that a resumed run has equal vectors."""
        if not self._warm and self.inputs.batched:
            for split in self.task.spec.splits:
                self.inputs.warm(self.task, self.task.rows(split))
        self._warm = True

    def likely(self, goal: Tensor | None, observations: Sequence[Observation]) -> NDArray[np.float64] | None:
        """P(the goal holds) by its logits; -inf where `stop` is illegal. None without a stop head."""
        if goal is None or self.stop is None:
            return None
        contains, stop = self.actions.contains, self.stop
        legal = [not self.settings.legal or contains(each.legal, stop) for each in observations]
        return np.where(legal, goal.double().sigmoid().cpu().numpy(), -np.inf)

    def features(self, observations: Sequence[Observation]) -> dict[str, Tensor]:
        """The arrays of observations as tensors, stacked by name."""
        arrays = [self.inputs(observation) for observation in observations]
        return {
            name: torch.as_tensor(np.stack([array[name] for array in arrays]), device=self.device)
            for name in arrays[0]
        }

    def mask(self, legal: Sequence[Any]) -> NDArray[np.bool_]:
        """bool[N, n]: the legal actions; all of them without the setting `legal`.

        Raises:
            LoquentError: an observation has no legal action.
        """
        if not self.settings.legal:
            return np.ones((len(legal), len(self.actions)), dtype=np.bool_)
        mask = np.stack([self.actions.mask(value) for value in legal])
        if not mask.any(1).all():
            raise self.stuck()
        return mask


class TurnActor(FeatureNetwork):
    """A policy and a value function over features.

    Raises:
        BadSetting: the settings do not fit the task.
    """

    settings: PolicySettings

    def __init__(self, task: Task, settings: PolicySettings, key: Key) -> None:
        super().__init__(task, settings)
        count = len(self.actions)
        by_parts = settings.choose == "parts" or (settings.choose == "auto" and count > FEW)
        if not self.dense and not by_parts:
            raise BadSetting(
                f"choose = {settings.choose!r} with {count:,} actions; a larger set than 100,000 needs "
                "choose = 'parts'"
            )
        self.tree = Tree(self.actions) if self.dense and by_parts else None
        self.sizes = self.actions.parts if by_parts else (count,)
        self.draws = 1 if self.dense else len(self.actions.parts)
        with borrow_generators(key.child("network")):
            self.policy = Network(self.inputs, settings, self.sizes)
        self.policy.eval()

    @torch.no_grad()
    def propose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """The number of a legal action for each observation, and P(the goal holds).

        Args:
            uniform: f64[N, draws] in [0, 1), which draw the actions; None takes the most probable number of
                the action, or of each part in turn.
        """
        logits, _, goal = self.policy(self.features(observations))
        likely = self.likely(goal, observations)
        if not self.dense:
            return self._walk(logits, observations, uniform), likely
        mask = self._mask([observation.legal for observation in observations])
        legality = Legality(mask if self.stop is None else apart(mask, self.stop))
        chosen = distribution(logits, legality, self.tree)
        assert isinstance(chosen, Dense)
        return chosen.best() if uniform is None else chosen.draw(uniform[:, 0]), likely

    def distribution(
        self, features: Mapping[str, Tensor], legality: Legality
    ) -> tuple[Dense | Path, Float[Tensor, " N"]]:
        """The distribution over legal actions, and the values."""
        return self.distribution_and_goal(features, legality)[:2]

    def distribution_and_goal(
        self, features: Mapping[str, Tensor], legality: Legality
    ) -> tuple[Dense | Path, Float[Tensor, " N"], Float[Tensor, " N"] | None]:
        """The distribution over legal actions, the values, and the logits of P(the goal holds)."""
        logits, value, goal = self.policy(features)
        return distribution(logits, legality, self.tree), value, goal

    def state_values(self, features: Mapping[str, Tensor]) -> Float[Tensor, " N"]:
        """The values of states, whatever is legal in them."""
        values: Tensor = self.policy(features)[1]
        return values

    def legality(self, batch: TurnBatch) -> Legality:
        """The legal actions of turns, and the numbers of the parts of those that were taken.

        With a stop head `stop` is the only action where it was taken, and elsewhere none.
        """
        stopped = (
            None if self.stop is None else torch.as_tensor(batch.choice == self.stop, device=self.device)
        )
        if self.dense:
            mask = self._mask(batch.legal)
            return Legality(mask if self.stop is None else apart(mask, self.stop, stopped))
        numbers = np.full((len(batch), len(self.actions.parts)), -1, dtype=np.int64)
        for row, choice in enumerate(batch.choice.tolist()):
            own = self.actions.split(choice)
            numbers[row, : len(own)] = own
        parts = legal_parts(self.actions, batch.legal, numbers, obey=self.settings.legal)
        device = self.device
        tensors = [torch.as_tensor(part, device=device) for part in parts]
        if self.stop is not None:
            tensors[0] = apart(tensors[0], self._stop_number, stopped)
        return Legality(
            None,
            tuple(tensors),
            torch.as_tensor(numbers, device=device),
        )

    @property
    def _stop_number(self) -> int:
        """The number of `stop` in the first part of actions, which no other action has."""
        assert self.stop is not None
        return self.actions.split(self.stop)[0]

    def _mask(self, legal: Sequence[Any]) -> Tensor:
        return torch.as_tensor(self.mask(legal), device=self.device)

    def _walk(
        self,
        logits: Sequence[Tensor],
        observations: Sequence[Observation],
        uniform: NDArray[np.float64] | None,
    ) -> NDArray[np.int64]:
        """Choose the numbers of each action, part by part."""
        numbers: list[list[int]] = [[] for _ in observations]
        for k, part in enumerate(logits):
            masks = [
                self.actions.following(observation.legal, own)
                for observation, own in zip(observations, numbers, strict=True)
            ]
            rows = [i for i, mask in enumerate(masks) if len(mask)]
            if not rows:
                break
            legal = np.stack([masks[i] if self.settings.legal else np.ones_like(masks[i]) for i in rows])
            if not legal.any(1).all():
                raise self.stuck()
            allowed = torch.as_tensor(legal, device=self.device)
            if self.stop is not None and not k:
                allowed = apart(allowed, self._stop_number)
            scores = masked_log_softmax(part[rows], allowed).double().cpu().numpy()
            values = scores.argmax(1) if uniform is None else draw_entries(scores, uniform[rows, k])
            for i, value in zip(rows, values.tolist(), strict=True):
                numbers[i].append(value)
        return np.array([self.actions.join(own) for own in numbers], dtype=np.int64)
