"""A network of Stable-Baselines3 with what it sees through: the model of a run whose learner chooses among actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors.torch import save_file

from loquent import features, registry
from loquent.algorithms.sb3.settings import Shared, arguments
from loquent.errors import BadSetting, MissingExtra
from loquent.features.views import View
from loquent.seeding import Key, borrowed
from loquent.task import Observation, Task
from loquent.values import digest


@dataclass(frozen=True, eq=False)
class TurnActor:
    """The library's model, which holds the network and steps `games`; and the view from an observation to an array."""

    model: Any  # a stable_baselines3 BaseAlgorithm
    games: Any  # adapters.sb3.Games
    see: Any
    described: Mapping[str, Any]  # what a saved network must fit: its kind, its actions in their order, what it sees

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return torch.device(self.model.device)

    @property
    def language(self) -> None:
        """There is no language model in it."""

    def save(self, folder: Path) -> None:
        """Write `model.safetensors`, and `config.json` with what the network must fit."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in self.model.policy.state_dict().items()}, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(dict(self.described), indent=1), encoding="utf-8")

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The network's tensors, those of a target network included."""
        return {f"policy.{name}": tensor.detach().clone() for name, tensor in self.model.policy.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Take back what `state_dict` gave."""
        self.model.policy.load_state_dict({name.removeprefix("policy."): tensor for name, tensor in state.items()})

    def pictures(self, observations: Sequence[Observation]) -> torch.Tensor:
        """[n, ...] on the network's device: what it sees of some observations."""
        if isinstance(self.see, View):
            self.see.warm(observations)
        seen: torch.Tensor = self.model.policy.obs_to_tensor(np.stack([self.see(observation) for observation in observations]))[0]
        return seen


def build(kind: str, library: type, policy: str, config: Shared, task: Task, key: Key) -> TurnActor:
    """The untrained network for a task.

    Raises:
        BadSetting: the task has no actions, or `view` names no view. MissingExtra: the library is not installed.
    """
    from loquent.adapters.sb3 import Games

    if task.actions is None:
        raise BadSetting(f"algorithm.kind = {kind!r} chooses among actions, and {task.identity} takes free text; a task with actions is right")
    space, see, name = _view(config, task)
    games = Games(config.games, space, see, task.actions)
    layers = {"net_arch": list(config.network), "activation_fn": {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[config.activation]}
    with borrowed(key.child("network")):
        model = library(policy, games, policy_kwargs=layers, **arguments(config))
    texts = [task.actions.text(i) for i in range(len(task.actions))] if len(task.actions) <= 1000 else []
    described = {"kind": kind, "task": task.identity, "actions": len(task.actions), "names": texts, "sees": name, "network": list(config.network)}
    return TurnActor(model, games, see, described)


def need(extra: str = "sb3") -> None:
    """MissingExtra where the libraries are not installed."""
    try:
        import sb3_contrib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("a learner of Stable-Baselines3", extra) from error


def _view(config: Shared, task: Task) -> tuple[spaces.Space[Any], Any, str]:
    """The space, the view, and what tells it from others."""
    if not config.view:
        made = features.make(config.features)
        space, see = features.view(task, made, answering=config.answering, progress=config.progress)
        return space, see, f"{type(see).__name__}[{see.size}] of {made.identity}"
    found = registry.imported(config.view)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], spaces.Space) and callable(found[1])):
        raise BadSetting(f"algorithm.view = {config.view!r}: a pair (space, function from the observation to an array) is right")
    return found[0], found[1], f"{config.view} {digest(str(found[0]))}"


def scores(actor: TurnActor, observations: Sequence[Observation], masked: bool) -> NDArray[np.float64]:
    """f64[n, actions]: values of a Q-network; log-probabilities of a policy, -inf where a masked one may not choose."""
    policy, seen = actor.model.policy, actor.pictures(observations)
    policy.set_training_mode(False)
    with torch.no_grad():
        if hasattr(policy, "q_net"):
            found = policy.q_net(seen)
        elif masked:
            legal = np.stack([actor.games.actions.mask(observation.legal) for observation in observations])
            found = policy.get_distribution(seen, action_masks=legal).distribution.logits.masked_fill(
                ~torch.as_tensor(legal, device=seen.device), -torch.inf
            )
        else:
            found = policy.get_distribution(seen).distribution.logits
    numbers: NDArray[np.float64] = found.double().cpu().numpy()
    return numbers
