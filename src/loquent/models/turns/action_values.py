"""Values of actions over features: dueling and noisy heads behind an encoder, and their replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.core.actions import MASK_LIMIT, Slots
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Observation, Task
from loquent.errors import BadSetting
from loquent.models.turns import encoders
from loquent.models.turns.actor import FeatureNetwork
from loquent.models.turns.inputs import Inputs
from loquent.models.turns.settings import NetworkSettings
from loquent.pretrained.learning.noisy import linear, noisy
from loquent.pretrained.learning.stopping import StopHead, apart
from loquent.pretrained.learning.turn_network import Head, Store

Read = tuple[dict[str, Tensor], Bool[Tensor, "N n"]]  # features and legal actions


class Values(nn.Module):
    """Q of `count` actions: a dueling head is V + A - mean A (arXiv:1511.06581 eq. 9), the mean over all.

    With `sigma` all linear layers behind the encoder are noisy.
    """

    def __init__(self, inputs: Inputs, count: int, head: Head) -> None:
        super().__init__()
        self.encoder = encoders.build(inputs)
        advantage, value, widths = encoders.hidden_layers(self.encoder)
        self.advantage = nn.Sequential(noisy(advantage, head.sigma), linear(widths[0], count, head.sigma))
        self.value = None
        if head.dueling:
            self.value = nn.Sequential(noisy(value, head.sigma), linear(widths[1], 1, head.sigma))
        self.stop = StopHead(self.encoder.width) if head.stop else None

    def forward(
        self, features: Mapping[str, Tensor]
    ) -> tuple[Float[Tensor, "N n"], Float[Tensor, " N"] | None]:
        """The values of all actions, legal or not, and the logits of P(the goal holds)."""
        state = self.encoder(features)
        values: Tensor = self.advantage(state)
        if self.value is not None:
            values = values - values.mean(1, keepdim=True) + self.value(state)
        return values, None if self.stop is None else self.stop(state)


class ValueActor(FeatureNetwork):
    """Values of all actions over features.

    Raises:
        BadSetting: the settings do not fit the task.
    """

    def __init__(self, task: Task, settings: NetworkSettings, key: Key, head: Head) -> None:
        super().__init__(task, settings)
        count = len(self.actions)
        if not self.dense:
            raise BadSetting(
                f"{task.identity} has {count:,} actions, and values are learned of at most {MASK_LIMIT:,}; "
                "choose a learner of a policy, such as turn_ppo"
            )
        if not settings.legal and isinstance(self.actions, Slots):
            raise BadSetting(
                f"legal = false: the actions of {task.identity} change from turn to turn, and an empty place "
                "has no text; set legal to true"
            )
        self.sizes = (count,)
        with borrow_generators(key.child("network")):
            self.policy = Values(self.inputs, count, head)
        self.policy.eval()

    @torch.no_grad()
    def propose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """The legal action with the greatest value for each observation, and P(the goal holds)."""
        legal = torch.as_tensor(self.mask([each.legal for each in observations]), device=self.device)
        legal = legal if self.stop is None else apart(legal, self.stop)
        values, goal = self.values_and_goal(self.policy, (self.features(observations), legal))
        return values.argmax(1).cpu().numpy(), self.likely(goal, observations)

    def explore(self, observation: Observation, uniform: float) -> int:
        """An action at random: a legal one, or any without the setting `legal`."""
        [mask] = self.mask([observation.legal])
        legal = np.flatnonzero(mask)
        return int(legal[int(uniform * len(legal))])

    def values(self, module: nn.Module, batch: Read) -> Float[Tensor, "N n"]:
        """The values of all actions, -inf for illegal ones."""
        return self.values_and_goal(module, batch)[0]

    def values_and_goal(
        self, module: nn.Module, batch: Read
    ) -> tuple[Float[Tensor, "N n"], Float[Tensor, " N"] | None]:
        """The values, and the logits of P(the goal holds)."""
        features, legal = batch
        values, goal = module(features)
        return values.masked_fill(~legal, -torch.inf), goal

    def store(self) -> Packed:
        """A replay keeps the arrays of the inputs, and the legal actions as bits."""
        return Packed(self)


class Packed(Store):
    """The arrays of the inputs, and `legal` u8[bits of all actions / 8]."""

    def __init__(self, network: ValueActor) -> None:
        self.network = network

    def pack(self, observation: Observation) -> dict[str, NDArray[Any]]:
        """The arrays of an observation; at the end of an episode there may be no legal action."""
        network, count = self.network, len(self.network.actions)
        legal = (
            network.actions.mask(observation.legal) if network.settings.legal else np.ones(count, np.bool_)
        )
        return {**network.inputs(observation), "legal": np.packbits(legal)}

    def batch(self, arrays: Mapping[str, NDArray[Any]]) -> Read:
        """Features and legal actions as tensors."""
        device, count = self.network.device, len(self.network.actions)
        legal = np.unpackbits(arrays["legal"], axis=1, count=count).astype(np.bool_)
        features = {
            name: torch.as_tensor(array, device=device) for name, array in arrays.items() if name != "legal"
        }
        return features, torch.as_tensor(legal, device=device)
