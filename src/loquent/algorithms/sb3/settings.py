"""Settings of the learners of Stable-Baselines3, under Loquent's names.

Defaults are those of arXiv:2011.08272. Where the paper gives none, they are those of Stable Baselines 2,
which its code used.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from loquent.core.algorithm import AlgorithmConfig, StepSettings
from loquent.core.settings import check_ranges, redefault, setting
from loquent.core.values import EMPTY, Record
from loquent.data.features.making import resolve_settings
from loquent.data.features.views import ANSWERING
from loquent.errors import BadSetting

PAPER = "2011.08272 sec. 3"
GAP = "Stable Baselines 2's default"
RATE, NORM = "learning rate of the library's optimizer", "largest norm of the gradient"


@dataclass(frozen=True, kw_only=True)
class Shared(AlgorithmConfig):
    """Settings of all these learners: the amount of play, the view, and the network."""

    games: int = setting(1, "live games at a time", low=1)
    steps: int = setting(
        1024, "actions in one update, over all games; checkpoints and evaluations come between updates", low=1
    )
    features: Record = setting(
        EMPTY,
        "the featurizer, as in {kind: hashed, dimension: 512}; docs/features.md lists kinds and options",
    )
    answering: str = setting(
        "informed", "view of multiple-choice tasks: two cosines, or three vectors", choices=ANSWERING
    )
    progress: bool = setting(
        False, "whether multiple-choice tasks also show the share of choices that have passed"
    )
    view: str = setting("", "module:NAME of a pair (space, function of the observation), instead of features")
    network: tuple[int, ...] = setting((100, 100), "sizes of the hidden layers", source=PAPER)
    activation: str = setting("tanh", "activation between layers", choices=("tanh", "relu"))
    learning_rate: float = redefault(StepSettings, "learning_rate", 5e-4, source=PAPER, why=RATE)
    schedule: str = setting(
        "constant",
        "learning rate over the run: constant, or linear decay to 0",
        choices=("constant", "linear"),
    )
    gamma: float = setting(0.99, "discount", source=PAPER, low=0.0, high=1.0)
    sampled: bool = setting(False, "whether evaluation samples actions, instead of the best one")
    device: str = setting(
        "cpu", "device of the network; small networks are fastest on the CPU", choices=("cpu", "cuda", "auto")
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if not all(isinstance(size, int) and size >= 1 for size in self.network):
            raise BadSetting(f"network = {list(self.network)} is out of range; give sizes of at least 1")
        if self.view and self.features:
            raise BadSetting(
                f"features = {dict(self.features)} has no effect beside view = {self.view!r}; set "
                "only one of the two"
            )
        if not self.view:
            object.__setattr__(self, "features", resolve_settings(self.features))
        self._check_steps(self.games)

    def shortest(self) -> Self:
        """The same settings with the shortest update: one phase of acting and learning."""
        raise NotImplementedError

    def spread_over_run(self) -> str:
        """The settings that are a schedule over all updates."""
        return "schedule = 'linear' (the learning rate is 0 at the last update)" * (self.schedule == "linear")

    def _check_steps(self, unit: int) -> None:
        if self.steps % unit:
            raise BadSetting(
                f"steps = {self.steps} is no multiple of the {unit} actions between phases of "
                "learning; set a multiple"
            )


@dataclass(frozen=True, kw_only=True)
class DoubleDQNSettings(Shared):
    """Settings of `sb3/double_dqn`."""

    activation: str = setting("relu", "activation between layers", choices=("tanh", "relu"))
    minibatch: int = setting(32, "turns in one gradient step", source=PAPER, low=1)
    replay: int = setting(50_000, "turns in the replay", source=GAP, low=1)
    learning_starts: int = setting(
        1000, "actions, all at random, before the first gradient step", source=GAP, low=0
    )
    learn_every: int = setting(1, "steps of all games between gradient steps", source=GAP, low=1)
    gradient_steps: int = setting(1, "gradient steps in each phase of learning", source=GAP, low=1)
    target_every: int = setting(500, "actions between copies to the target network", source=GAP, low=1)
    explore_first: float = setting(1.0, "share of random actions at the start", source=GAP, low=0.0, high=1.0)
    explore_last: float = setting(0.02, "share of random actions at the end", source=GAP, low=0.0, high=1.0)
    explore_share: float = setting(
        0.1,
        "share of the run over which exploration falls",
        source="2011.08272, its code",
        low=1e-6,
        high=1.0,
    )
    max_grad_norm: float = redefault(StepSettings, "max_grad_norm", 10.0, source=GAP, why=NORM)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_steps(self.games * self.learn_every)

    def spread_over_run(self) -> str:
        """The settings that are a schedule over all updates."""
        falls = self.explore_first != self.explore_last
        exploration = f"explore_share = {self.explore_share} (a share of all updates)" if falls else ""
        return " and ".join(filter(None, (super().spread_over_run(), exploration)))

    def shortest(self) -> Self:
        """The same settings with about 64 actions in an update and learning after each step."""
        return replace(self, steps=self.games * max(1, 64 // self.games), learning_starts=0, learn_every=1)


@dataclass(frozen=True, kw_only=True)
class OnPolicy(Shared):
    """Settings of the on-policy learners."""

    rollout: int = setting(256, "actions of each game between two phases of learning", source=GAP, low=1)
    lam: float = setting(0.95, "λ of arXiv:1506.02438, eq. (16)", source=GAP, low=0.0, high=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_steps(self.rollout * self.games)
        if self.rollout * self.games < 2:
            raise BadSetting(
                "rollout = 1 with games = 1: advantages of a single action cannot be normalised; "
                "set a product of at least 2"
            )

    def shortest(self) -> Self:
        """The same settings with one collection in an update."""
        return replace(self, steps=self.games * self.rollout)


@dataclass(frozen=True, kw_only=True)
class PPOSettings(OnPolicy):
    """Settings of `sb3/ppo` and `sb3/maskable_ppo`."""

    minibatch: int = setting(64, "turns in one gradient step", source=PAPER, low=2)
    epochs: int = setting(4, "passes over one collection", source=GAP, low=1)
    clip: float = setting(0.2, "ε of arXiv:1707.06347v2, eq. (7)", source=PAPER, low=0.0)
    entropy_coefficient: float = setting(0.0, "weight of the entropy bonus", source=PAPER, low=0.0)
    value_coefficient: float = setting(0.5, "weight of the value loss", source=GAP, low=0.0)
    max_grad_norm: float = redefault(StepSettings, "max_grad_norm", 0.5, source=GAP, why=NORM)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.rollout * self.games) % self.minibatch == 1:
            problem = (
                f"minibatch = {self.minibatch} leaves a single turn of {self.rollout * self.games}, "
                "which cannot be normalised"
            )
            raise BadSetting(f"{problem}; set another size")


@dataclass(frozen=True, kw_only=True)
class A2CSettings(OnPolicy):
    """Settings of `sb3/a2c`."""

    rollout: int = setting(5, "actions of each game between two gradient steps", source=GAP, low=1)
    steps: int = setting(
        1000, "actions in one update, over all games; checkpoints and evaluations come between updates", low=1
    )
    lam: float = setting(
        1.0, "λ of arXiv:1506.02438, eq. (16); 1: the returns themselves", source=GAP, low=0.0, high=1.0
    )
    learning_rate: float = redefault(StepSettings, "learning_rate", 7e-4, source=GAP, why=RATE)
    entropy_coefficient: float = setting(0.0, "weight of the entropy bonus", low=0.0)
    value_coefficient: float = setting(
        0.5, "weight of the value loss", source="Stable-Baselines3's default", low=0.0
    )
    max_grad_norm: float = redefault(StepSettings, "max_grad_norm", 0.5, source=GAP, why=NORM)


@dataclass(frozen=True, kw_only=True)
class TRPOSettings(OnPolicy):
    """Settings of `sb3/trpo`."""

    minibatch: int = setting(
        128, "turns in one gradient step of the value", source="sb3-contrib's default", low=1
    )
    radius: float = setting(
        0.01, "δ of arXiv:1502.05477, eq. (14): largest KL of one step of the policy", source=GAP, low=1e-8
    )
    critic_epochs: int = setting(
        10, "passes of the value over one collection", source="sb3-contrib's default", low=1
    )
    conjugate_steps: int = setting(
        15, "steps of the conjugate gradient", source="sb3-contrib's default", low=1
    )
    damping: float = setting(
        0.1, "damping of the Hessian-vector products", source="sb3-contrib's default", low=0.0
    )


@dataclass(frozen=True, kw_only=True)
class CloningSettings(Shared):
    """Settings of `sb3/cloning`."""

    rollout: int = setting(256, "actions of each game between two phases of learning", low=1)
    minibatch: int = setting(64, "turns in one gradient step", low=2)
    epochs: int = setting(1, "passes over one collection", low=1)
    max_grad_norm: float = redefault(StepSettings, "max_grad_norm", 0.5, source=GAP, why=NORM)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_steps(self.rollout * self.games)

    def shortest(self) -> Self:
        """The same settings with one collection in an update."""
        return replace(self, steps=self.games * self.rollout)


def arguments(config: Any) -> dict[str, Any]:
    """Arguments of the library's constructor for these settings."""
    constructor: dict[str, Any] = {"gamma": config.gamma, "device": config.device, "verbose": 0}
    rate = config.learning_rate
    constructor["learning_rate"] = (
        (lambda remaining: rate * max(remaining, 0.0)) if config.schedule == "linear" else rate
    )
    theirs = {
        "minibatch": "batch_size",
        "replay": "buffer_size",
        "learning_starts": "learning_starts",
        "learn_every": "train_freq",
        "gradient_steps": "gradient_steps",
        "target_every": "target_update_interval",
        "explore_first": "exploration_initial_eps",
        "explore_last": "exploration_final_eps",
        "explore_share": "exploration_fraction",
        "max_grad_norm": "max_grad_norm",
        "rollout": "n_steps",
        "lam": "gae_lambda",
        "epochs": "n_epochs",
        "clip": "clip_range",
        "entropy_coefficient": "ent_coef",
        "value_coefficient": "vf_coef",
        "radius": "target_kl",
        "critic_epochs": "n_critic_updates",
        "conjugate_steps": "cg_max_steps",
        "damping": "cg_damping",
    }
    own = {field.name for field in fields(config)}
    return constructor | {name: getattr(config, ours) for ours, name in theirs.items() if ours in own}
