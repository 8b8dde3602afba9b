"""What learners of turns ask of a network that chooses among a task's actions.

The networks over features are `models.turns.actor.TurnActor`. A world brings its own by a line in its
`names.py` (`registry.networks`); anybody else by "module:Name".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.core.actions import ActionSet
from loquent.core.episode import Episode
from loquent.core.guards import json_files
from loquent.core.options import from_values
from loquent.core.seeding import Key
from loquent.core.task import NoOptions, Observation, Row, Task
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.files.tensor_files import read_tensors, save_network
from loquent.pretrained.learning.gradient_step import GradientStep
from loquent.pretrained.learning.optimization import Means
from loquent.pretrained.learning.stopping import StopHead, decide

STOP = "stop"  # the module that is a `StopHead`


@dataclass(frozen=True)
class Head:
    """What the scores of a network are: with `critic` the logits of a policy, else values of actions.

    dueling: whether the values are a state's value and centred advantages (arXiv:1511.06581).
    sigma: σ0 of noisy layers (arXiv:1706.10295); None: no noise.
    stop: whether `policy` has a `StopHead` under the name `stop`.
    """

    critic: bool = True
    dueling: bool = False
    sigma: float | None = None
    stop: bool = False


class TurnNetwork:
    """A network of a task, with the inputs that it reads and the actions that it chooses among.

    A class that a world brings is constructed as `Class(task, settings, key, head)`, with its `Settings`, a
    frozen dataclass of `setting` fields. `inputs` maps an observation to arrays by name. `policy` is the
    module that learns.
    """

    Settings: ClassVar[type] = NoOptions
    language: None = None  # it has no language model
    draws: int = 1
    """The uniform numbers that one action needs."""
    dropout: ClassVar[bool] = False
    """Whether it is in training mode, with dropout, during a gradient step."""
    head_modules: ClassVar[tuple[str, ...]] = ()
    """The modules of `policy` behind its trunk, whose outputs are what `Head` says."""
    head: Head = Head()
    stop: int | None = None
    """The number of the task's answer `stop` if a head decides on it (`decide_stops`); else None."""
    task: Task
    actions: ActionSet
    inputs: Any
    policy: nn.Module

    def __init__(self, task: Task, settings: Any, key: Key, head: Head) -> None:
        raise NotImplementedError

    @classmethod
    def fill_settings(cls, settings: Mapping[str, Any]) -> Any:
        """The `Settings` with these values; BadSetting for an unknown or wrong one."""
        return from_values(cls.Settings, settings, "network_settings", "algorithm")

    @classmethod
    def learns_besides(cls, settings: Any) -> bool:
        """Whether `auxiliary` takes gradient steps with these settings."""
        return False

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return next(self.policy.parameters()).device

    @property
    def signature(self) -> dict[str, Any]:
        """What a saved network must fit: its inputs, its actions and its shape."""
        raise NotImplementedError

    @property
    def shape(self) -> dict[str, list[int]]:
        """The shapes of the tensors, by name."""
        return {name: list(tensor.shape) for name, tensor in self.policy.state_dict().items()}

    def check_fits(self, saved: Mapping[str, Any]) -> None:
        """Raise BadCheckpoint unless a saved network has the inputs, actions and layers of this one."""
        own = self.signature
        for name in [*own, *saved]:
            if saved.get(name) != own.get(name):
                raise BadCheckpoint(
                    f"the {name} of the saved network was {saved.get(name)!r:.200} and is "
                    f"{own.get(name)!r:.200} now; use the recipe of the run"
                )

    def save(self, folder: Path) -> None:
        """Write `model.safetensors`, and `config.json` with what the network fits."""
        content = {"task": self.task.identity, "scores": self._scores, **self.signature}
        save_network(self.policy, content, folder)

    @property
    def _scores(self) -> str:
        return "policy" if self.head.critic else "values"

    def start_from(self, folder: Path, place: str) -> list[str]:
        """Take the weights of a network that `save` wrote; returns the names of the modules that stay new.

        The trunk must fit. Behind it, the logits of a policy are no values of actions and the reverse, so
        such modules stay new; so do modules that the saved network lacks. A stop head is the same in both.

        Args:
            place: names the folder in errors, such as "model.path = 'runs/clone'".

        Raises:
            BadSetting: the folder has no network of this task, or one with another trunk.
            BadCheckpoint: its tensors cannot be read.
        """
        saved = json_files.load_object(folder / "config.json")
        _check_start(saved, {"task": self.task.identity, **self.signature}, place)
        try:
            own, tensors = self.policy.state_dict(), read_tensors(folder / "model.safetensors")
        except (FileNotFoundError, ValueError) as error:
            raise BadCheckpoint(f"{place}: {error}; name an undamaged run") from error
        same_head, new = saved.get("scores") == self._scores, []
        for name, tensor in own.items():
            module = name.partition(".")[0]
            stops = module == STOP and self._stop_head is not None
            if (stops or module in self.head_modules) and not (name in tensors and (stops or same_head)):
                new.append(module)
                tensors[name] = tensor
            elif name not in tensors or tensors[name].shape != tensor.shape:
                was = f"the shape {list(tensors[name].shape)}" if name in tensors else "no such tensor"
                raise BadSetting(
                    f"{place}: {name} has the shape {list(tensor.shape)} here, and the saved network has "
                    f"{was}; use the run's settings of the network (width, layers, heads, choose)"
                )
        if same_head and self._stop_head is None and f"{STOP}.threshold" in tensors:
            new.append(f"the choice of `{self.task.stop}`, which a head of that run made")
        self.policy.load_state_dict({name: tensors[name] for name in own})
        return list(dict.fromkeys(new))

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors of the network."""
        return {f"policy.{name}": x.detach().clone() for name, x in self.policy.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state from `state_dict`."""
        self.policy.load_state_dict({name.removeprefix("policy."): x for name, x in state.items()})

    def warm(self) -> None:
        """Prepare caches of inputs before the first episode, in an order that a resumed run repeats."""

    def choose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """The number of a legal action for each observation; without `uniform` the best action.

        Args:
            uniform: f64[N, draws] in [0, 1), which draw the actions of a policy. With a stop head the last
                ones draw whether it stops; without `uniform` its threshold decides.
        """
        actions, likely = self.propose(observations, uniform)
        if likely is None or self.stop is None:
            return actions
        stops = decide(likely, self.threshold, None if uniform is None else uniform[:, -1])
        return np.where(stops, self.stop, actions)

    def propose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """The actions of `choose` before a stop head decides, and P(the goal holds), f64[N].

        With a stop head they are other actions than `stop` where there are any; without one there is no
        probability. It is -inf where `stop` is illegal. The arguments are those of `choose`.
        """
        raise NotImplementedError

    def decide_stops(self) -> None:
        """Let the stop head of `policy` decide on the task's answer `stop`.

        Raises:
            BadSetting: the network has no such head, or the task has no such answer.
        """
        text, defines = self.task.stop, type(self.task).goal is not Task.goal
        number = self.actions.index(text) if isinstance(text, str) and text and defines else None
        if number is None or self._stop_head is None:
            raise BadSetting(
                f"stop_head = true: {self.task.identity} with {type(self).__name__} has no answer that ends "
                "an episode where a goal holds, or the network has no head for it; set it to false"
            )
        self.stop, self.draws = number, self.draws + 1

    @property
    def threshold(self) -> float:
        """The least P(the goal holds) at which evaluation stops."""
        assert self._stop_head is not None
        return float(self._stop_head.threshold)

    @threshold.setter
    def threshold(self, value: float) -> None:
        assert self._stop_head is not None
        self._stop_head.threshold.fill_(value)

    @property
    def _stop_head(self) -> StopHead | None:
        head = dict(self.policy.named_children()).get(STOP)
        return head if isinstance(head, StopHead) else None

    def goals(self, rows: Mapping[str, Row]) -> Callable[[str, Observation], bool] | None:
        """Whether the goal of the row with an id holds in an observation; None without a stop head.

        Args:
            rows: training rows by their ids.
        """
        return None if self.stop is None else lambda row, observation: self.task.goal(rows[row], observation)

    def stop_earns(self, weights: Record) -> float:
        """The weighted rewards of `stop` where the goal holds."""
        return self.task.total(self.task.stop_rewards, weights)

    def explore(self, observation: Observation, uniform: float) -> int:
        """A legal action at random, by a uniform number in [0, 1)."""
        legal = np.flatnonzero(self.actions.mask(observation.legal))
        return int(legal[int(uniform * len(legal))])

    def answers(self, observations: Sequence[Observation]) -> list[str]:
        """The texts to observations that ask for a text instead of an action (`ActionSet.asks_text`)."""
        raise BadSetting(
            f"{self.task.identity} asks for a text, and this network only chooses among actions; choose "
            "another network"
        )

    def stuck(self) -> LoquentError:
        """The error of an observation without a legal action."""
        return LoquentError(
            f"an observation of {self.task.identity} has no legal action, so none can be chosen; correct the "
            "task"
        )

    def values(self, module: nn.Module, batch: Any) -> Float[Tensor, "N B"]:
        """The values of all actions, -inf for illegal ones; only of a network without a critic.

        Args:
            module: `policy` or a copy of it. batch: what `store().batch` returns.
        """
        raise NotImplementedError

    def values_and_goal(
        self, module: nn.Module, batch: Any
    ) -> tuple[Float[Tensor, "N B"], Float[Tensor, " N"] | None]:
        """`values`, and the logits of P(the goal holds); None without a stop head."""
        return self.values(module, batch), None

    def store(self) -> Store:
        """How a replay keeps what the network reads."""
        raise NotImplementedError

    def distribution(self, features: Mapping[str, Tensor], legality: Any) -> tuple[Any, Float[Tensor, " N"]]:
        """The policy and the values of states; only of a network with a critic.

        The policy is the log-probabilities of all actions, f[N, B], -inf for illegal ones.

        Args:
            features: the arrays of `inputs`. legality: what `legality` returns for the same turns.
        """
        raise NotImplementedError

    def distribution_and_goal(
        self, features: Mapping[str, Tensor], legality: Any
    ) -> tuple[Any, Float[Tensor, " N"], Float[Tensor, " N"] | None]:
        """`distribution`, and the logits of P(the goal holds); None without a stop head."""
        return *self.distribution(features, legality), None

    def state_values(self, features: Mapping[str, Tensor]) -> Float[Tensor, " N"]:
        """The values of states; only of a network with a critic."""
        raise NotImplementedError

    def legality(self, batch: Any) -> Any:
        """The legal actions of a `TurnBatch` for `distribution`; None: it reads them in the features."""
        return None

    def auxiliary(self, key: Key) -> Auxiliary:
        """What the network learns besides its choices, with draws from a key; by default nothing."""
        return Auxiliary()

    @property
    def legend(self) -> list[str]:
        """What the numbers in the arrays of `inputs` name, if these depend on the order of their use."""
        return []

    def renumber(self, features: Mapping[str, Tensor], legend: Sequence[str]) -> dict[str, Tensor]:
        """Saved arrays of `inputs` with the numbers of this network; `legend` is that of the saved ones."""
        return dict(features)

    def stop_values(self) -> dict[str, float]:
        """The values to log of a stop head, with nan for those that gradient steps add to the means."""
        if self.stop is None:
            return {}
        return {"stop/loss": nan, "stop/goal": nan, "stop/threshold": self.threshold}

    def check_rewards(self, weights: Record) -> None:
        """Raise BadSetting if a stop head decides on `stop`, and nothing is earned by it."""
        if self.stop is not None and self.stop_earns(weights) <= 0:
            raise BadSetting(
                f"stop_head = true: `{self.task.stop}` must earn a reward where the goal holds, and "
                f"{', '.join(self.task.stop_rewards)} does not count here; set stop_head to false, or "
                "give it a weight"
            )


def _check_start(saved: Mapping[str, Any], own: Mapping[str, Any], place: str) -> None:
    """Raise BadSetting unless a saved network is of the same task, and reads what the own one reads."""
    if "shape" not in saved or "inputs" not in saved:
        raise BadSetting(
            f"{place} has no network that chooses among actions; name a run of a learner such as "
            "turn_cloning, turn_ppo or turn_dqn"
        )
    task, here = (str(content.get("task")).partition("#")[0] for content in (saved, own))
    if task != here:
        raise BadSetting(f"{place}: its network is of the task {task}, not of {here}; name a run of {here}")
    for name in ("network", "encoder", "actions", "names", "commands", "queries", "inputs"):
        if saved.get(name) != own.get(name):
            values = "" if name == "inputs" else f" ({saved.get(name)!r:.80}, here {own.get(name)!r:.80})"
            raise BadSetting(
                f"{place} does not fit this recipe: its {name} differ{values}; use the run's settings of the "
                "task and of the network, such as network, view, text, numbers and features"
            )


class Store:
    """How a replay keeps observations: as arrays by name, each name with one shape and type."""

    def pack(self, observation: Observation) -> dict[str, NDArray[Any]]:
        """The arrays of an observation."""
        raise NotImplementedError

    def batch(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """What the network reads, from N of each array."""
        raise NotImplementedError

    def tidy(self, arrays: Sequence[Mapping[str, NDArray[Any]]]) -> None:
        """Forget what none of these arrays names; may change them in place.

        A replay calls it each time that it begins to overwrite its oldest observations.
        """

    def check(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Raise BadCheckpoint if restored arrays are not those of this store."""

    def state_dict(self) -> dict[str, Any]:
        """What the arrays refer to."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`."""


class Auxiliary:
    """What a network learns besides its choices, from the episodes that a learner collects; here nothing."""

    steps: int = 0
    """Gradient steps so far."""
    nbytes: int = 0
    """The bytes of the arrays that it keeps."""

    def collect(self, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> None:
        """Read episodes; `rows` are those of the run by their ids."""

    def learn(self, gradient: GradientStep, means: Means) -> None:
        """Take one gradient step, if there is anything to learn from."""

    def log_values(self) -> dict[str, float]:
        """The values to log, with nan for those that `learn` adds to the means."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Everything that affects later steps."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`."""
