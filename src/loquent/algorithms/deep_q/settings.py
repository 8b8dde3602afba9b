"""The settings of deep Q-learning, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from loquent.algorithms.presets import PRESETS
from loquent.core.algorithm import StepSettings
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.models.turns.settings import NetworkSettings

MNIH = "Mnih et al. 2015, Nature 518, extended data table 1"
DOUBLE = "1509.06461 eq. 4"
DUELING = "1511.06581 eq. 9"
PRIORITIZED = "1511.05952 sec. 4"
NOISY = "1706.10295 sec. 3.2"
RAINBOW = "1710.02298 table 1"


@dataclass(frozen=True, kw_only=True)
class DQNSettings(NetworkSettings, StepSettings):
    """Settings of `turn_dqn`."""

    learning_rate: float = redefault(StepSettings, "learning_rate", 5e-4, low=1e-9)
    max_grad_norm: float | None = redefault(
        StepSettings, "max_grad_norm", 10.0, source="1511.06581", low=1e-9
    )
    weight_decay: float = redefault(StepSettings, "weight_decay", 0.0)
    gamma: float = setting(0.99, "discount per action", source=MNIH, low=0.0, high=1.0)
    games: int = setting(10, "live games at a time", low=1)
    steps: int = setting(
        2000, "actions in one update, over all games; checkpoints and evaluations come between", low=1
    )
    minibatch: int = setting(32, "transitions in one gradient step", source=MNIH, low=1)
    learn_every: int = setting(1, "steps of all games between phases of learning", low=1)
    gradient_steps: int = setting(1, "gradient steps in one phase of learning", low=1)
    learning_starts: int = setting(
        100, "games before the first gradient step, played at random or with noise", low=0
    )
    target_every: int = setting(100, "games between copies of the network to the target network", low=1)
    double: bool = setting(
        True,
        "whether the online network chooses the action that the target network values",
        source=DOUBLE,
    )
    dueling: bool = setting(
        True, "whether the values are a state's value and centred advantages", source=DUELING
    )
    n_step: int = setting(3, "steps of a transition, fewer at the end of an episode", source=RAINBOW, low=1)
    vary_steps: bool = setting(
        False,
        "give each transition 1 to n_step steps, drawn uniformly each time (1908.10449's released code)",
    )
    replay: int = setting(100_000, "transitions that are kept", low=1)
    draws: str = setting(
        "prioritized",
        "how transitions are drawn: prioritized by their errors, uniform, or from two queues, one of them "
        "for games with a positive return (1908.10449 sec. 4.3.2)",
        source=PRIORITIZED,
        choices=("prioritized", "uniform", "queues"),
    )
    alpha: float = setting(0.6, "prioritized: exponent of the error", source=PRIORITIZED, low=0.0, high=1.0)
    beta: float = setting(
        0.4,
        "prioritized: exponent of the weights of importance sampling at the start",
        source=PRIORITIZED,
        low=0.0,
        high=1.0,
    )
    beta_steps: int = setting(
        100_000, "prioritized: gradient steps over which this exponent rises to 1", low=1
    )
    noisy: bool = setting(False, "noisy layers behind the encoder, in place of random actions", source=NOISY)
    sigma: float = setting(0.5, "σ0 of noisy layers", source=NOISY, low=0.0)
    explore_first: float = setting(
        1.0, "share of random actions at the start; 0 with noisy layers", source=MNIH, low=0.0, high=1.0
    )
    explore_last: float = setting(
        0.05, "share of random actions at the end; 0 with noisy layers", low=0.0, high=1.0
    )
    explore_games: int = setting(1000, "games over which this share falls, linearly", low=1)

    presets: ClassVar[Mapping[str, Record]] = PRESETS["turn_dqn"]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.resolve_network()
        if self.steps % (self.games * self.learn_every):
            raise BadSetting(
                f"steps = {self.steps} is no multiple of games · learn_every = "
                f"{self.games * self.learn_every}, the actions between phases of learning; set a multiple"
            )
        if self.noisy and (self.explore_first or self.explore_last):
            raise BadSetting(
                "noisy layers explore in place of random actions; set explore_first and explore_last to 0"
            )

    def steps_of_update(self, episodes: int) -> int:
        """The steps of Q, and as many of what the network learns besides, once learning has started."""
        phases = self.steps // (self.games * self.learn_every)
        return phases * self.gradient_steps * (1 + self.learns_besides)

    def shortest(self) -> Self:
        """The same settings with about 20 steps of all games in an update, and learning from the start."""
        rounds = self.learn_every * max(1, 20 // self.learn_every)
        return replace(self, steps=self.games * rounds, learning_starts=0)
