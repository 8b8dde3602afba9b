"""Algorithms: how a model learns, from batches or by playing itself, and how it acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from loquent.core.agent import Agent
from loquent.core.episode import Episode
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record


class AlgorithmConfig:
    """Base of an algorithm's settings: the values of settings that it does not have.

    Settings are frozen dataclasses of `setting` fields. A field with one of these names replaces the value.
    """

    gamma: float = 1.0
    """Discount of rewards."""
    discount: str = "turn"
    """The unit that `gamma` counts: "token" or "turn"."""
    minibatch: int | None = None
    """Episodes in one gradient step; None: all episodes of the update."""
    epochs: int = 1
    """Passes over one batch of episodes."""
    token_budget: int = 8192
    """Padded tokens in one forward pass."""
    presets: ClassVar[Mapping[str, Record]] = {}
    """Sets of values by name, for `preset:` in a recipe."""

    def for_run(self, updates: int, episodes: int) -> Self:
        """The settings of a run of so many updates, each of so many episodes; a schedule may need both."""
        return self

    def idle(self, updates: int, episodes: int) -> str:
        """Why the learning rate is 0 before the last update of a run, as a sentence; "" if it is not."""
        return ""

    def spread_over_run(self) -> str:
        """Which settings are a schedule over all updates, as a phrase for errors; "" if none is.

        A run whose settings depend on its number of updates cannot be extended.
        """
        return ""


class Algorithm(ABC):
    """Base of all algorithms. Derive from `BatchAlgorithm` or `Playing`.

    An algorithm is constructed as `Class(config, model, key=key)`, with the `Config` of its class.
    """

    Config: ClassVar[type[AlgorithmConfig]] = AlgorithmConfig
    """The settings: a frozen dataclass derived from `AlgorithmConfig`; the recipe's section `algorithm:`."""
    name: ClassVar[str]
    """The name in error messages, and the name of its agents."""
    reads: ClassVar[tuple[str, ...]]
    """Sources of episodes that it can learn from; the first is the default.

    "play" is its own agent, "expert" another agent, and "data" recorded episodes.
    """
    experience: ClassVar[str]
    """Where the experience of its updates comes from: "tokens", "turns", "live", or "module:Name" of a class.

    The class derives from `loquent.training.experience.source.Experience`. Recorded episodes have a source of
    their own.
    """
    least_answers: ClassVar[int] = 1
    """The least `training.answers`; at least 2 if it compares the answers to one row."""
    scored: ClassVar[bool] = False
    """Whether its batches need the log-probabilities and values of all networks, from `score`."""
    unused: ClassVar[tuple[str, ...]] = ()
    """Sections of a recipe that have no effect on it."""
    smoke: ClassVar[tuple[str, ...]] = ()
    """Overrides that make it small, for the profile "smoke"."""

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Any) -> Any:
        """The untrained model for a task; None: the language model of the recipe."""
        return None

    @abstractmethod
    def agent(self, model: Any, evaluating: bool) -> Agent:
        """The agent that acts by the model, in training or in evaluation."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything that affects later updates: optimizer, controllers, counters."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`."""


class BatchAlgorithm(Algorithm):
    """An algorithm that learns from batches of episodes; it knows no task, no tokenizer and no file.

    The training loop calls, in this order: `agent`, `prepare`, `update`, `after_update`. Recorded episodes
    are prepared once, as one batch; each update receives some of its rows.
    """

    experience = "tokens"
    working_copies: int = 0
    """Tensors of the policy's size that an update holds beside networks, gradients and the optimizer."""
    tempered: bool = False
    """Whether `score` takes the full softmax at the temperature of decoding; without, at temperature 1."""
    cuts_answers: ClassVar[bool] = False
    """Whether an answer of text that is too long for a row is cut instead of refused."""
    gradient: Any = None
    """The owner of its gradient steps (`algorithms.shared.gradient_step.GradientStep`); None: it has none."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that learn, by name."""
        return EMPTY if self.gradient is None else self.gradient.parameters

    @abstractmethod
    def prepare(self, batch: Any) -> Any:
        """The batch with rewards, advantages and targets; pure."""

    @abstractmethod
    def update(self, model: Any, batch: Any) -> dict[str, float]:
        """Learn from one prepared batch; returns the logged values, as means over the whole update."""

    def after_update(self, model: Any) -> dict[str, float]:
        """Changes between updates, of controllers, target networks or masks; returns more logged values."""
        return {}


class TurnAlgorithm(BatchAlgorithm):
    """An algorithm that chooses among a task's actions and learns from batches of turns (`TurnBatch`).

    Its model, from `make_actor`, is the view of the batches: `model.inputs(observation)` gives arrays by
    name. With `scored`, the trainer calls `model.score(batch)` before `prepare`.
    """

    experience = "turns"
    unused = ("model", "decoding", "evaluation")

    @classmethod
    @abstractmethod
    def make_actor(cls, config: Any, task: Task, key: Any) -> Any:
        """The untrained model for a task."""

    def collected(self, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> None:
        """Read the episodes of an update before their batch is made; by default nothing.

        Args:
            rows: the rows of the run by their ids.
        """


class Playing(Algorithm):
    """An algorithm that collects its own episodes, as learners of other libraries do."""

    experience = "live"

    @property
    @abstractmethod
    def network(self) -> Any:
        """The network that learns, a `torch.nn.Module`."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The numbers in one observation of the network."""

    @abstractmethod
    def kept(self) -> Mapping[str, int]:
        """The bytes of the full arrays that it keeps: its "replay" and its "collection"."""

    @classmethod
    @abstractmethod
    def make_actor(cls, config: Any, task: Task, key: Any) -> Any:
        """The untrained model for a task."""

    @abstractmethod
    def sit(self, table: Any, updates: int) -> None:
        """Start to play at a table of live games (`adapters.table.Table`), for a run of `updates` updates."""

    @abstractmethod
    def play(self) -> tuple[list[Episode], dict[str, float]]:
        """One update: act in the live games and learn.

        Returns the finished episodes and the logged values.
        """
