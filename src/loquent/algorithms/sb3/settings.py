"""The settings of the learners of Stable-Baselines3, under Loquent's names. Defaults are the paper's, arXiv:2011.08272, or fill its gaps.

What the paper does not say is Stable Baselines 2's default, which its code ran on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.errors import BadSetting
from loquent.features.making import resolved
from loquent.features.views import ANSWERING
from loquent.settings import check_ranges, setting
from loquent.values import EMPTY, Record

PAPER = "2011.08272 sec. 3"
GAP = "Stable Baselines 2's default"


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all of them have: how much is played, what is seen, and the network."""

    games: int = setting(1, "games live at once", low=1)
    steps: int = setting(1024, "actions in one update, over all games; checkpoints and evaluations come between updates", low=1)
    features: Record = setting(EMPTY, "the featurizer: {kind: hashed, dimension: 512}; its kinds and their options are in docs/features.md")
    answering: str = setting("informed", "what a multiple-choice task shows: two cosines, or three vectors", choices=ANSWERING)
    progress: bool = setting(False, "whether such a task also shows which share of the choices has gone by")
    view: str = setting("", "module:NAME of a pair (space, function of the observation), in place of features")
    network: tuple[int, ...] = setting((100, 100), "sizes of the hidden layers", source=PAPER)
    activation: str = setting("tanh", "between the layers", choices=("tanh", "relu"))
    learning_rate: float = setting(5e-4, "of the optimizer", source=PAPER, low=0.0)
    schedule: str = setting("constant", "whether the learning rate stays, or falls to 0 over the run", choices=("constant", "linear"))
    gamma: float = setting(0.99, "the discount", source=PAPER, low=0.0, high=1.0)
    sampled: bool = setting(False, "whether evaluation draws actions, in place of the best one")
    device: str = setting("cpu", "where the network lives; so small a one is fastest on the CPU", choices=("cpu", "cuda", "auto"))

    def __post_init__(self) -> None:
        check_ranges(self)
        if not all(isinstance(size, int) and size >= 1 for size in self.network):
            raise BadSetting(f"network = {list(self.network)}: sizes of at least 1 are right")
        if self.view and self.features:
            raise BadSetting(f"features = {dict(self.features)} has no effect beside view = {self.view!r}; one of the two is right")
        if not self.view:
            object.__setattr__(self, "features", resolved(self.features))
        self._check_steps(self.games)

    def _check_steps(self, unit: int) -> None:
        if self.steps % unit:
            raise BadSetting(f"steps = {self.steps} is no multiple of the {unit} actions after which this learner learns")


@dataclass(frozen=True, kw_only=True)
class DoubleDQNSettings(Shared):
    """What `algorithm:` may hold when it is sb3/double_dqn."""

    activation: str = setting("relu", "between the layers", choices=("tanh", "relu"))
    minibatch: int = setting(32, "turns in one gradient step", source=PAPER, low=1)
    replay: int = setting(50_000, "turns that are remembered", source=GAP, low=1)
    learning_starts: int = setting(1000, "actions, all at random, before the first gradient step", source=GAP, low=0)
    learn_every: int = setting(1, "steps of all games between gradient steps", source=GAP, low=1)
    gradient_steps: int = setting(1, "gradient steps each time", source=GAP, low=1)
    target_every: int = setting(500, "actions after which the target network becomes the learning one", source=GAP, low=1)
    explore_first: float = setting(1.0, "share of random actions at the start", source=GAP, low=0.0, high=1.0)
    explore_last: float = setting(0.02, "share of random actions at the end", source=GAP, low=0.0, high=1.0)
    explore_share: float = setting(0.1, "share of the run over which exploration falls", source="2011.08272, its code", low=1e-6, high=1.0)
    gradient_norm: float = setting(10.0, "gradients are scaled down to this norm", source=GAP, low=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_steps(self.games * self.learn_every)


@dataclass(frozen=True, kw_only=True)
class OnPolicy(Shared):
    """What the learners have that throw away what they learned from."""

    rollout: int = setting(256, "actions of each game between two phases of learning", source=GAP, low=1)
    gae_lambda: float = setting(0.95, "λ of arXiv:1506.02438, eq. (16)", source=GAP, low=0.0, high=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_steps(self.rollout * self.games)
        if self.rollout * self.games < 2:
            raise BadSetting("rollout = 1 with games = 1: advantages of a single action cannot be normalised; 2 or more together are right")


@dataclass(frozen=True, kw_only=True)
class PPOSettings(OnPolicy):
    """What `algorithm:` may hold when it is sb3/ppo or sb3/maskable_ppo."""

    minibatch: int = setting(64, "turns in one gradient step", source=PAPER, low=2)
    epochs: int = setting(4, "passes over one collection", source=GAP, low=1)
    clip: float = setting(0.2, "ε of arXiv:1707.06347v2, eq. (7)", source=PAPER, low=0.0)
    entropy: float = setting(0.0, "weight of the entropy bonus", source=PAPER, low=0.0)
    value_weight: float = setting(0.5, "weight of the value's loss", source=GAP, low=0.0)
    gradient_norm: float = setting(0.5, "gradients are scaled down to this norm", source=GAP, low=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.rollout * self.games) % self.minibatch == 1:
            raise BadSetting(f"minibatch = {self.minibatch} leaves a single turn of {self.rollout * self.games} over, which cannot be normalised")


@dataclass(frozen=True, kw_only=True)
class A2CSettings(OnPolicy):
    """What `algorithm:` may hold when it is sb3/a2c."""

    rollout: int = setting(5, "actions of each game between two gradient steps", source=GAP, low=1)
    steps: int = setting(1000, "actions in one update, over all games; checkpoints and evaluations come between updates", low=1)
    gae_lambda: float = setting(1.0, "λ of arXiv:1506.02438, eq. (16); 1: the returns themselves", source=GAP, low=0.0, high=1.0)
    learning_rate: float = setting(7e-4, "of RMSprop", source=GAP, low=0.0)
    entropy: float = setting(0.0, "weight of the entropy bonus", low=0.0)
    value_weight: float = setting(0.5, "weight of the value's loss", source="Stable-Baselines3's default", low=0.0)
    gradient_norm: float = setting(0.5, "gradients are scaled down to this norm", source=GAP, low=0.0)


@dataclass(frozen=True, kw_only=True)
class TRPOSettings(OnPolicy):
    """What `algorithm:` may hold when it is sb3/trpo."""

    minibatch: int = setting(128, "turns in one gradient step of the value", source="sb3-contrib's default", low=1)
    target_kl: float = setting(0.01, "δ of arXiv:1502.05477, eq. (14): how far one step may move the policy", source=GAP, low=1e-8)
    critic_epochs: int = setting(10, "passes of the value over one collection", source="sb3-contrib's default", low=1)
    conjugate_steps: int = setting(15, "steps of the conjugate gradient", source="sb3-contrib's default", low=1)
    damping: float = setting(0.1, "of the Hessian's products", source="sb3-contrib's default", low=0.0)


@dataclass(frozen=True, kw_only=True)
class CloningSettings(Shared):
    """What `algorithm:` may hold when it is sb3/cloning."""

    rollout: int = setting(256, "actions of each game between two phases of learning", low=1)
    minibatch: int = setting(64, "turns in one gradient step", low=2)
    epochs: int = setting(1, "passes over one collection", low=1)
    gradient_norm: float = setting(0.5, "gradients are scaled down to this norm", source=GAP, low=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_steps(self.rollout * self.games)


def arguments(config: Any) -> dict[str, Any]:
    """What the library calls these settings, for its constructor."""
    found: dict[str, Any] = {"gamma": config.gamma, "device": config.device, "verbose": 0}
    rate = config.learning_rate
    found["learning_rate"] = (lambda left: rate * max(left, 0.0)) if config.schedule == "linear" else rate
    theirs = {
        "minibatch": "batch_size", "replay": "buffer_size", "learning_starts": "learning_starts", "learn_every": "train_freq",
        "gradient_steps": "gradient_steps", "target_every": "target_update_interval", "explore_first": "exploration_initial_eps",
        "explore_last": "exploration_final_eps", "explore_share": "exploration_fraction", "gradient_norm": "max_grad_norm",
        "rollout": "n_steps", "gae_lambda": "gae_lambda", "epochs": "n_epochs", "clip": "clip_range", "entropy": "ent_coef",
        "value_weight": "vf_coef", "target_kl": "target_kl", "critic_epochs": "n_critic_updates", "conjugate_steps": "cg_max_steps",
        "damping": "cg_damping",
    }  # fmt: skip
    return found | {name: getattr(config, ours) for ours, name in theirs.items() if hasattr(config, ours)}
