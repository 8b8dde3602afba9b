"""The model of learners that choose among actions: a network of Stable-Baselines3 and its view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.algorithms.sb3.settings import Shared, arguments
from loquent.core import registry
from loquent.core.actions import Slots
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Observation, Task
from loquent.core.values import digest
from loquent.data import features
from loquent.data.features.views import View
from loquent.errors import BadSetting, MissingExtra
from loquent.files.tensor_files import save_network


@dataclass(frozen=True, eq=False)
class TurnActor:
    """The library's model with its network and environments (`games`), and the view.

    The view makes arrays from observations.
    """

    model: Any  # a stable_baselines3 BaseAlgorithm
    games: Any  # adapters.sb3.Games
    view: Any
    signature: Mapping[str, Any]  # compared with a saved network: kind, ordered actions, view

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return torch.device(self.model.device)

    @property
    def language(self) -> None:
        """None: it has no language model."""

    def save(self, folder: Path) -> None:
        """Write `model.safetensors`, and `config.json` with `signature`."""
        save_network(self.model.policy, self.signature, folder)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The tensors of the network and its target network."""
        return {
            f"policy.{name}": tensor.detach().clone()
            for name, tensor in self.model.policy.state_dict().items()
        }

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restore a state from `state_dict`."""
        self.model.policy.load_state_dict(
            {name.removeprefix("policy."): tensor for name, tensor in state.items()}
        )

    def inputs(self, observations: Sequence[Observation]) -> torch.Tensor:
        """The network's inputs for n observations: [n, ...] on its device."""
        if isinstance(self.view, View):
            self.view.warm(observations)
        inputs: torch.Tensor = self.model.policy.obs_to_tensor(
            np.stack([self.view(observation) for observation in observations])
        )[0]
        return inputs


def build(kind: str, library: type, policy: str, config: Shared, task: Task, key: Key) -> TurnActor:
    """The untrained network for a task.

    Raises:
        BadSetting: the task has no actions, or `view` names no view. MissingExtra: the library is not
            installed.
    """
    from loquent.adapters.sb3 import Games

    if task.actions is None:
        raise BadSetting(
            f"algorithm.kind = {kind!r} chooses among actions, but {task.identity} takes free text; "
            "use a task with actions"
        )
    space, view, name = _view(config, task)
    games = Games(config.games, space, view, task.actions)
    layers = {
        "net_arch": list(config.network),
        "activation_fn": {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[config.activation],
    }
    with borrow_generators(key.child("network")):
        model = library(policy, games, policy_kwargs=layers, **arguments(config))
    known = len(task.actions) <= 1000 and not isinstance(task.actions, Slots)  # texts of slots change
    texts = [task.actions.text(i) for i in range(len(task.actions))] if known else []
    described = {
        "kind": kind,
        "task": task.identity,
        "actions": len(task.actions),
        "names": texts,
        "sees": name,
        "network": list(config.network),
    }
    return TurnActor(model, games, view, described)


def need(extra: str = "sb3") -> None:
    """Check that the libraries are installed.

    Raises:
        MissingExtra: they are not.
    """
    try:
        import sb3_contrib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("a learner of Stable-Baselines3", extra) from error


def _view(config: Shared, task: Task) -> tuple[spaces.Space[Any], Any, str]:
    """The space, the view, and the identity of the view."""
    if not config.view:
        featurizer = features.make(config.features)
        space, view = features.view(task, featurizer, answering=config.answering, progress=config.progress)
        return space, view, f"{type(view).__name__}[{view.size}] of {featurizer.identity}"
    pair = registry.import_name(config.view)
    if not (
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], spaces.Space) and callable(pair[1])
    ):
        raise BadSetting(
            f"algorithm.view = {config.view!r} names {pair!r:.80}; name a pair (space, function from "
            "the observation to an array)"
        )
    return pair[0], pair[1], f"{config.view} {digest(str(pair[0]))}"


def scores(actor: TurnActor, observations: Sequence[Observation], masked: bool) -> NDArray[np.float64]:
    """Scores f64[n, actions]: values of a Q-network or log-probabilities of a policy.

    Masked actions have -inf.
    """
    policy, inputs = actor.model.policy, actor.inputs(observations)
    policy.set_training_mode(False)
    with torch.no_grad():
        legal = None
        if masked:
            legal = np.stack([actor.games.actions.mask(observation.legal) for observation in observations])
        if hasattr(policy, "q_net"):
            values = policy.q_net(inputs)
        elif masked:
            values = policy.get_distribution(inputs, action_masks=legal).distribution.logits
        else:
            values = policy.get_distribution(inputs).distribution.logits
        if legal is not None:
            values = values.masked_fill(~torch.as_tensor(legal, device=inputs.device), -torch.inf)
    numbers: NDArray[np.float64] = values.double().cpu().numpy()
    return numbers
