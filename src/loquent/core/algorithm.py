"""Algorithms: how a model learns, from batches or by playing itself, and how it acts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from loquent.core.agent import Agent
from loquent.core.episode import Episode
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting

OPTIMIZERS = ("adamw", "rmsprop", "sgd")
SCHEDULES = ("constant", "linear", "cosine")


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

    @property
    def alone(self) -> bool:
        """Whether an answer counts without others to its row, even if the class has `least_answers`."""
        return False

    def without_effect(self, own_engine: bool) -> Iterable[tuple[str, str, str]]:
        """The settings without effect beside the others: name, reason, and the setting that decides it.

        Args:
            own_engine: whether our own engine draws.
        """
        return ()

    def for_run(self, updates: int, episodes: int) -> Self:
        """The settings of a run of so many updates, each of so many episodes; a schedule may need both."""
        return self

    def idle(self, updates: int, episodes: int) -> str:
        """Why a learning rate is 0 before the last update of a run, as a sentence; "" if none is."""
        return ""

    def spread_over_run(self) -> str:
        """Which settings are a schedule over all updates, as a phrase for errors; "" if none is.

        A run whose settings depend on its number of updates cannot be extended.
        """
        return ""


@dataclass(frozen=True, kw_only=True)
class RateSettings(AlgorithmConfig):
    """Learning rate, its schedule in gradient steps, and clipping; base of all learners that take steps.

    Source of the cosine decay: Loshchilov and Hutter, arXiv:1608.03983.
    """

    learning_rate: float = setting(
        1e-5,
        "peak learning rate; 1e-3 suits small models trained from scratch",
        source="2210.01241 sec. B.3.1",
        low=0.0,
    )
    max_grad_norm: float | None = setting(
        1.0, "largest norm of the gradient; none: no clipping", source="transformers, Trainer", low=0.0
    )
    schedule: str = setting(
        "constant",
        "learning rate after the warm-up: constant, or linear or cosine decay to `floor`",
        choices=SCHEDULES,
    )
    warmup: float = setting(
        0.0,
        "gradient steps of linear warm-up from 0; below 1: their share of total_steps",
        source="transformers, warmup_steps",
        low=0.0,
    )
    total_steps: int = setting(
        0,
        "gradient step at which the decay reaches `floor`; 0: the last one of the run",
        source="1608.03983 eq. 5",
        low=0,
    )
    floor: float = setting(
        0.0,
        "share of the learning rate at the end of the decay and after it",
        source="1608.03983 eq. 5",
        low=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if _needs_end(self) and 0 < self.total_steps <= self.warmup:
            raise BadSetting(
                f"Config.total_steps = {self.total_steps} with schedule = {self.schedule!r}; set it above "
                f"warmup = {self.warmup:g}, to the gradient steps of the run, or to 0 for the whole run"
            )
        if self._spans_run and not self.total_steps and not self.steps_of_update(1):
            raise BadSetting(
                f"Config.total_steps = 0 with {self._schedule}: the gradient steps of an update are known "
                "only then, as its episodes decide how many turns, pairs or answers are learned; set "
                "total_steps to the gradient steps of the run"
            )

    @property
    def own_rates(self) -> Mapping[str, RateSettings]:
        """The rates of networks that do not learn at this rate, by the network's name (`trainable`)."""
        return EMPTY

    @property
    def _rates(self) -> tuple[RateSettings, ...]:
        return self, *self.own_rates.values()

    @property
    def _spans_run(self) -> bool:
        """Whether a learning rate depends on `total_steps`."""
        return any(map(_needs_end, self._rates))

    @property
    def _schedule(self) -> str:
        share = f" and warmup = {self.warmup:g}" if 0 < self.warmup < 1 else ""
        return f"schedule = {self.schedule!r}{share}"

    def steps_of_update(self, episodes: int) -> int:
        """The gradient steps of an update from so many episodes of one row; 0: something else decides."""
        return self.epochs * math.ceil(episodes / (self.minibatch or episodes))

    def for_run(self, updates: int, episodes: int) -> Self:
        """The settings with the gradient steps of the run as `total_steps`, if it is 0 and needed."""
        if self.total_steps or not self._spans_run:
            return self
        least = int(max(rate.warmup for rate in self._rates)) + 1
        return replace(self, total_steps=max(updates * self.steps_of_update(episodes), least))

    def idle(self, updates: int, episodes: int) -> str:
        """Why a learning rate is 0 before the last update, as a sentence; "" if none is, or unknown."""
        each, reasons = self.steps_of_update(episodes), []
        learning = [name for name, rate in self.own_rates.items() if rate.learning_rate]
        if updates and not self.learning_rate:
            others = f" but those of the {' and the '.join(learning)}" if learning else ""
            reasons.append(f"learning_rate = 0: no update changes a weight{others}")
        elif updates:
            reasons += [
                f"{name}_learning_rate = 0: no update changes the {name}"
                for name in self.own_rates
                if name not in learning
            ]
        if not self.floor and 0 < self.total_steps <= (updates - 1) * each:
            reasons += [self._decay(updates, each)]
        return "; ".join(filter(None, reasons))

    def _decay(self, updates: int, each: int) -> str:
        """What ends a schedule before the last update, as a sentence; "" if no learning rate decays.

        Args:
            each: the gradient steps of an update.
        """
        rates = {"": self, **self.own_rates}
        decays = [name for name, rate in rates.items() if rate.schedule != "constant" and rate.learning_rate]
        if not decays:
            return ""
        prefix, whose = (f"{decays[0]}_", f" of the {decays[0]}") if decays[0] else ("", "")
        return (
            f"{prefix}schedule = {rates[decays[0]].schedule!r} with total_steps = {self.total_steps} and "
            f"floor = 0: the learning rate{whose} is 0 after update {math.ceil(self.total_steps / each)} of "
            f"{updates}, as an update has {each} gradient steps; set total_steps to 0 for the whole run, or "
            "floor above 0"
        )

    def spread_over_run(self) -> str:
        """Which settings are a schedule over all updates, as a phrase for errors; "" if none is."""
        if self.total_steps or not self._spans_run:
            return ""
        return f"{self._schedule} with total_steps = 0 (the rate depends on the length of the run)"


def _needs_end(rate: RateSettings) -> bool:
    """Whether a learning rate depends on `total_steps`."""
    return rate.schedule != "constant" or 0 < rate.warmup < 1


@dataclass(frozen=True, kw_only=True)
class StepSettings(RateSettings):
    """Settings of gradient steps with a choice of the optimizer."""

    optimizer: str = setting("adamw", "the optimizer; weight_decay counts for adamw only", choices=OPTIMIZERS)
    weight_decay: float = setting(
        0.01, "weight decay of AdamW, on matrices only", source="1711.05101, PyTorch's default", low=0.0
    )


def step_size(step: int, settings: RateSettings) -> float:
    """The learning rate of gradient step `step`, from 0; BadSetting if the schedule has no end."""
    peak, total = settings.learning_rate, settings.total_steps
    if reason := settings.spread_over_run():
        raise BadSetting(
            f"{reason} outside a run; set total_steps to the number of gradient steps, or take "
            "Config.for_run(updates, episodes)"
        )
    warmup = int(settings.warmup * total if settings.warmup < 1 else settings.warmup)
    if step < warmup:
        return peak * (step + 1) / warmup
    if settings.schedule == "constant":
        return peak
    if settings.schedule == "linear":
        share = max(0, total - step) / (total - warmup)
    else:
        share = (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup)))) / 2
    return peak * (settings.floor + (1 - settings.floor) * share)


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
    """Where the experience of its updates comes from: "tokens", "turns", "lessons", "live", or "module:Name".

    A class of yours derives from `loquent.training.experience.source.Experience`. Recorded episodes have a
    source of their own.
    """
    least_answers: int = 1
    """The least `training.answers`; at least 2 if it compares the answers to one row."""
    single_process: ClassVar[bool] = False
    """Whether it cannot learn in several processes together."""
    scored: ClassVar[bool] = False
    """Whether its batches need the log-probabilities and values of all networks, from `score`."""
    unused: ClassVar[tuple[str, ...]] = ()
    """Sections of a recipe that have no effect on it."""
    starts: ClassVar[bool] = False
    """Whether `model.path` names a run whose network it starts from, if the rest of `model` is unused."""
    unused_of_model: ClassVar[tuple[str, ...]] = ()
    """Settings of the section `model:` that have no effect on it."""
    acting: ClassVar[tuple[str, ...]] = ()
    """Its settings that only acting reads, so an evaluation of a finished run may change them."""
    smoke: ClassVar[tuple[str, ...]] = ()
    """Overrides that make it small, for the profile "smoke"."""

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Any) -> Any:
        """The untrained model for a task; None: the language model of the recipe."""
        return None

    @abstractmethod
    def agent(self, model: Any, evaluating: bool) -> Agent:
        """The agent that acts by the model, in training or in evaluation."""

    def calibrate(  # noqa: B027
        self, model: Any, rows: Callable[[], Sequence[Row]], weights: Record, seed: int
    ) -> None:
        """Choose on held-out rows what only evaluation uses, such as a threshold; by default nothing.

        It is called before an evaluation and before a checkpoint, and must not change later updates.

        Args:
            rows: returns the held-out rows; an error if there are none.
            weights: the weight of each reward by name.
        """

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
    rescores: bool = False
    """Whether `score` also takes each token's probability in its support, where another engine drew it."""
    cuts_answers: ClassVar[bool] = False
    """Whether an answer of text that is too long for a row is cut instead of refused."""
    gradient: Any = None
    """Its gradient steps, a `pretrained.learning.gradient_step.GradientStep`; None: it has none."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that learn, by name."""
        return EMPTY if self.gradient is None else self.gradient.parameters

    @property
    def least_recorded(self) -> int:
        """The least recorded answers to a row that it learns from."""
        return self.least_answers

    def remark(self, batch: Any) -> str:
        """What a user should know of the recorded answers to learn from; "" for nothing."""
        return ""

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
    name. With `scored`, it is a `TurnNetwork`, and batches have its log-probabilities and values.
    """

    experience = "turns"
    unused = ("model", "decoding", "evaluation")
    starts = True

    @classmethod
    @abstractmethod
    def make_actor(cls, config: Any, task: Task, key: Any) -> Any:
        """The untrained model for a task."""

    def read_episodes(self, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> None:
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
    def buffer_bytes(self) -> Mapping[str, int]:
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
