"""The settings of the learners of QA-DQN's network, and its presets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from loquent.core.algorithm import RateSettings
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.models.asking.settings import PAPER, NetworkSettings

CODE = "the released code"
RELEASED = Record(pool="max", combine="mean", pointer="shared", pointer_hidden=96, noisy=True)


@dataclass(frozen=True, kw_only=True)
class Shared(NetworkSettings, RateSettings):
    """Settings of both learners."""

    learning_rate: float = redefault(RateSettings, "learning_rate", 2.5e-4, source=PAPER, low=1e-9)
    max_grad_norm: float | None = redefault(RateSettings, "max_grad_norm", 5.0, source=PAPER, low=1e-9)
    gamma: float = setting(0.9, "discount per command", source=PAPER, low=0.0, high=1.0)
    answers: int = setting(
        64,
        "memories in one gradient step of the question answerer; 0: it does not learn",
        source=PAPER,
        low=0,
    )
    answer_replay: int = setting(100_000, "memories with an answer that are kept", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_network()


@dataclass(frozen=True, kw_only=True)
class A2CSettings(Shared):
    """Settings of `qa_a2c`; an update has `training.episodes` games, 20 in the paper."""

    dueling: bool = setting(False, "always false: the logits of a policy have no value to add to")
    value_coefficient: float = setting(0.5, "weight of the loss of the critic", source=PAPER, low=0.0)
    entropy_coefficient: float = setting(0.01, "weight of the entropy bonus", source=PAPER, low=0.0)

    presets: ClassVar[Any] = {"paper": Record()}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noisy or self.dueling:
            name = "noisy" if self.noisy else "dueling"
            raise BadSetting(f"{name} = true is for values of actions, not for a policy; set {name} to false")

    def steps_of_update(self, episodes: int) -> int:
        """One step of the policy, and one of the pointers if they learn."""
        return 1 + bool(self.answers)


@dataclass(frozen=True, kw_only=True)
class DQNSettings(Shared):
    """Settings of `qa_dqn`."""

    games: int = setting(20, "live games at a time", source=CODE, low=1)
    steps: int = setting(
        2000,
        "commands and answers in one update, over all games; checkpoints and evaluations come between",
        low=1,
    )
    minibatch: int = setting(64, "transitions in one gradient step", source=PAPER, low=1)
    learn_every: int = setting(5, "steps of all games between phases of learning", source=PAPER, low=1)
    gradient_steps: int = setting(1, "gradient steps in one phase of learning", low=1)
    learning_starts: int = setting(
        5000, "games before the first gradient step, played at random or with noise", source=CODE, low=0
    )
    target_every: int = setting(
        1000, "games between copies of the network to the target network", source=CODE, low=1
    )
    double: bool = setting(
        True, "whether the online network chooses the action that the target network values", source=CODE
    )
    bounded: bool = setting(
        False,
        "clamp the values that targets are made of to the range of the task's returns; without it a command "
        "that changes nothing can get a value above all returns",
    )
    every_stop: bool = setting(
        False,
        "learn from every situation of a training game what stopping there earns, which its right answers "
        "tell; else only where the game stopped",
    )
    n_step: int = setting(
        3, "a transition has 1 to this many steps, drawn uniformly each time", source=CODE, low=1
    )
    replay: int = setting(500_000, "transitions that are kept", source=CODE, low=1)
    draws: str = setting(
        "prioritized",
        "how transitions are drawn: prioritized by their errors, uniform, or from the two queues of the "
        "released code, one of them for games with a reward",
        source="sec. 4.3.2",
        choices=("prioritized", "uniform", "queues"),
    )
    alpha: float = setting(
        0.6, "prioritized: exponent of the error", source="1511.05952 sec. 4", low=0.0, high=1.0
    )
    beta: float = setting(
        0.4,
        "prioritized: exponent of the weights of importance sampling at the start",
        source="1511.05952 sec. 4",
        low=0.0,
        high=1.0,
    )
    beta_steps: int = setting(
        100_000, "prioritized: gradient steps over which this exponent rises to 1", low=1
    )
    explore_first: float = setting(
        1.0, "share of random commands at the start; 0 with noisy layers", source=CODE, low=0.0, high=1.0
    )
    explore_last: float = setting(
        0.1, "share of random commands at the end; 0 with noisy layers", source=CODE, low=0.0, high=1.0
    )
    explore_games: int = setting(100_000, "games over which this share falls, linearly", source=CODE, low=1)

    presets: ClassVar[Any] = {
        "paper": Record(),
        "released": RELEASED.with_(
            learn_every=2, minibatch=32, answers=32, draws="queues", explore_first=0.0, explore_last=0.0
        ),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps % (self.games * self.learn_every):
            raise BadSetting(
                f"steps = {self.steps} is no multiple of games · learn_every = "
                f"{self.games * self.learn_every}, the commands between phases of learning; set a multiple"
            )
        if self.noisy and (self.explore_first or self.explore_last):
            raise BadSetting(
                "noisy layers explore in place of random commands; set explore_first and explore_last to 0"
            )

    def steps_of_update(self, episodes: int) -> int:
        """The steps of Q, and as many of the pointers if they learn, once learning has started."""
        phases = self.steps // (self.games * self.learn_every)
        return phases * self.gradient_steps * (1 + bool(self.answers))

    def shortest(self) -> Self:
        """The same settings with about 20 steps of all games in an update, and learning from the start."""
        rounds = self.learn_every * max(1, 20 // self.learn_every)
        return replace(self, steps=self.games * rounds, learning_starts=0)
