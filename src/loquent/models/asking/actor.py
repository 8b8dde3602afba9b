"""The actor of learners of QA-DQN: the network with its inputs, its actions and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from loquent.core.seeding import Key, borrowed
from loquent.core.task import Observation, Task
from loquent.files.tensor_files import save_network
from loquent.models.asking.inputs import Inputs, Situation
from loquent.models.asking.network import Network, log_probabilities, values
from loquent.models.asking.pointer import best_spans
from loquent.models.asking.settings import NetworkSettings
from loquent.pretrained.pytorch import devices


class AskingActor:
    """The network of a task, with the inputs that it reads and the actions that it chooses among.

    Args:
        critic: whether the network has a value function beside its scores; then these are the logits of a
            policy, else values of actions.

    Raises:
        BadSetting: the task is none that `models.asking.inputs.Asking` describes.
    """

    language: None = None  # it has no language model

    def __init__(self, task: Task, settings: NetworkSettings, key: Key, *, critic: bool = False) -> None:
        self.task, self.settings, self.critic = task, settings, critic
        self.inputs = Inputs(task, settings)
        self.actions = self.inputs.actions
        with borrowed(key.child("network")):
            self.policy = Network(self.inputs, critic=critic).to(devices.device(settings.device))
        self.policy.eval()

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return next(self.policy.parameters()).device

    @property
    def described(self) -> dict[str, Any]:
        """What a saved network must fit: its commands, its words and its shape."""
        shape = {name: list(tensor.shape) for name, tensor in self.policy.state_dict().items()}
        return {
            "commands": self.inputs.plain + 1,
            "queries": self.inputs.slots,
            "inputs": self.inputs.identity,
            "encoder": self.settings.encoder,
            "shape": shape,
        }

    def save(self, folder: Path) -> None:
        """Write `model.safetensors`, and `config.json` with what the network fits."""
        save_network(self.policy, {"task": self.task.identity, **self.described}, folder)

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors of the network."""
        return {f"policy.{name}": x.detach().clone() for name, x in self.policy.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state from `state_dict`."""
        self.policy.load_state_dict({name.removeprefix("policy."): x for name, x in state.items()})

    @property
    def draws(self) -> int:
        """The uniform numbers that one action needs."""
        return 1

    @torch.no_grad()
    def scores(self, situations: Sequence[Situation]) -> Float[Tensor, "N B"]:
        """f32[N, B] on the CPU: Q of the actions, or with a critic their log-probabilities.

        -inf for illegal ones. B is the number of plain commands and the most queries of a situation.
        """
        scores = self.policy(self.inputs.batch(situations).to(self.device))
        flat = log_probabilities(scores) if self.critic else values(scores, self.settings.combine)
        return flat.cpu()

    def choose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """The number of a legal action for each observation.

        Args:
            uniform: f64[N, 1] in [0, 1), which draw the actions of a network with a critic; None takes the
                best action.
        """
        scores = self.scores([self.inputs.situation(observation) for observation in observations])
        if uniform is None:
            return scores.argmax(1).numpy()
        reached = scores.double().exp().numpy().cumsum(1)
        drawn = (uniform * reached[:, -1:] >= reached).sum(1)
        last = np.isfinite(scores.numpy()).cumsum(1).argmax(1)  # rounding must not reach an illegal action
        return np.minimum(drawn, last)

    @torch.no_grad()
    def answers(self, observations: Sequence[Observation]) -> list[str]:
        """The answer to the question of each observation: a range of the tokens of its memory."""
        read = [self.inputs.situation(observation) for observation in observations]
        situations = [Situation(each.question, each.memory, "") for each in read]  # as the pointer learned
        batch = self.inputs.batch(situations).to(self.device)
        spans = best_spans(*self.policy.point(batch), self.settings.longest_answer).tolist()
        texts = []
        for situation, (start, end) in zip(situations, spans, strict=True):
            tokens, cut = " ".join(situation.memory).split(" "), self.inputs.cut(situation.memory)
            texts.append(" ".join(tokens[cut + start : cut + end]))
        return texts
