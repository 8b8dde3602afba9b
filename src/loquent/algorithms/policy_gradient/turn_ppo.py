"""PPO over the actions of turns: clipped ratios, GAE, and legal actions only.

This is proximal policy optimisation (arXiv:1707.06347v2) on batches of turns (`TurnBatch`). The turn is the
step: its action is one of the task's numbered actions, drawn from the legal ones. Defaults are those that
lilGym's released code uses with its C+BERT model (arXiv:2211.01994), except where a setting says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from loquent.agents.turns import StopForcing, TurnAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.presets import PRESETS
from loquent.algorithms.shared import kl, losses
from loquent.algorithms.shared.gae import gae
from loquent.algorithms.shared.turn_passes import whole_episodes
from loquent.core.agent import Agent
from loquent.core.algorithm import StepSettings, TurnAlgorithm
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.settings import redefault, setting
from loquent.core.task import Row, Task
from loquent.core.values import Record
from loquent.files import saved_state
from loquent.files.machine import parallel
from loquent.models.turns.building import build
from loquent.models.turns.settings import PolicySettings
from loquent.models.turns.turn_scores import ScoredTurns, logprob_of, outputs_of
from loquent.pretrained.learning.gradient_step import GradientStep, Logged, Loss
from loquent.pretrained.learning.optimization import Means, minibatches, trainable
from loquent.pretrained.learning.stopping import calibrate, goal_loss
from loquent.pretrained.learning.turn_network import Head, TurnNetwork

START = Key(0, ("algorithm",))
LILGYM = "lilGym's released code"

LOGGED = logged_keys.BUILT_IN["turn_ppo"]

PER_STEP = (
    "policy/loss",
    "policy/entropy",
    "policy/ratio",
    "policy/clip_fraction",
    "policy/kl_old",
    "critic/loss",
    "gradient/norm",
)


@dataclass(frozen=True, kw_only=True)
class Config(PolicySettings, StepSettings):
    """Settings of `turn_ppo`."""

    clip: float = setting(0.2, "ε: the ratio of a turn is clipped to [1 - ε, 1 + ε]", source=LILGYM, low=0.0)
    value_clip: float | None = setting(
        None, "clip range of values around those at collection; none: no clipping; lilGym: 0.2", low=0.0
    )
    epochs: int = setting(4, "passes over one batch of episodes; lilGym: 10", low=1)
    minibatch: int = setting(512, "turns in one gradient step; lilGym: 64", low=1)
    shuffle: str = setting(
        "turns",
        "order of a pass: turns at random, or whole episodes at random, which is faster with long sentences "
        "because a network encodes equal ones of a minibatch once",
        choices=("turns", "episodes"),
    )
    learning_rate: float = redefault(StepSettings, "learning_rate", 3e-4, source=LILGYM)
    weight_decay: float = redefault(StepSettings, "weight_decay", 0.0)
    value_coefficient: float = setting(0.5, "weight of the loss of the critic", source=LILGYM, low=0.0)
    entropy_coefficient: float = setting(
        0.01,
        "weight of the entropy bonus; lilGym's 0.1 had no gradient in its code, so its effect was that of 0",
        low=0.0,
    )
    gamma: float = setting(0.99, "discount per turn", source=LILGYM, low=0.0, high=1.0)
    lam: float = setting(
        0.95,
        "λ of GAE per turn: 0 relies on the critic, 1 on the return",
        source=LILGYM,
        low=0.0,
        high=1.0,
    )
    normalize_advantages: str = setting(
        "batch",
        "centre and scale advantages over the whole batch, in each minibatch, or not at all",
        source=LILGYM,
        choices=("batch", "minibatch", "none"),
    )
    max_grad_norm: float | None = redefault(StepSettings, "max_grad_norm", 0.5, source=LILGYM)
    stop_kl: float | None = setting(
        None, "a minibatch with a larger kl_old ends the update; none: no limit", low=0.0
    )
    stop_forcing: bool = setting(
        False, "in training only, end an episode as soon as its goal is reached (PPO+SF)"
    )

    presets: ClassVar[Mapping[str, Record]] = PRESETS["turn_ppo"]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.resolve_network()

    def steps_of_update(self, episodes: int) -> int:
        """0: the turns of the episodes decide how many gradient steps an update has."""
        return 0


def by_episode(episode: Int[Tensor, " N"]) -> tuple[Int[Tensor, "B A"], Bool[Tensor, "B A"]]:
    """The numbers of the turns of each episode, in order, and which of them are real (the others are 0)."""
    _, counts = episode.unique_consecutive(return_counts=True)
    starts = counts.cumsum(0) - counts
    column = torch.arange(int(counts.max()), device=episode.device)
    real = column < counts[:, None]
    return (starts[:, None] + column).masked_fill(~real, 0), real


def advantages(
    batch: ScoredTurns, gamma: float, lam: float
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """GAE and λ-returns of each turn (arXiv:1506.02438 eq. 16), episode by episode.

    An episode that ended by a rule has no value behind its last turn; another one has `bootstrap`.
    """
    at, real = by_episode(batch.episode)
    last = real.long().sum(1, keepdim=True) - 1
    alive = real & ~batch.ended[at]
    advantage, target = gae(
        torch.where(real, batch.reward[at], 0.0),
        torch.where(real, batch.value[at], 0.0),
        real,
        alive,
        batch.bootstrap[at.gather(1, last)[:, 0]],
        torch.full(at.shape, gamma, dtype=batch.reward.dtype, device=at.device),
        lam,
    )
    return advantage[real], target[real]


class TurnPPO(TurnAlgorithm):
    """PPO among a task's actions, on a `TurnNetwork` with a value function."""

    Config: ClassVar[type] = Config
    name = "turn_ppo"
    scored = True
    reads = ("play",)
    smoke = ("algorithm.width=16", "algorithm.layers=1", "algorithm.heads=2", "algorithm.minibatch=16")

    def __init__(self, config: Any, model: TurnNetwork, *, key: Key = START) -> None:
        self.config, self.key, self.actor = config, key, model
        if config.stop_forcing:
            StopForcing(TurnAgent(self.name, model, greedy=False), model.task)  # refuses a task without goal
        modules = (model.policy,) if model.dropout else ()
        self.gradient = GradientStep(trainable(policy=model.policy), config, key, modules)
        self.auxiliary = model.auxiliary(key)
        self.updates = 0

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Key) -> TurnNetwork:
        """The untrained network for a task."""
        return build(cls.name, task, config, key, Head())

    def agent(self, model: TurnNetwork, evaluating: bool) -> Agent:
        """The network as an agent: in evaluation the best action, or with `sampled` a drawn one.

        In training actions are drawn, and with `stop_forcing` episodes end as their goal is reached.
        """
        agent = TurnAgent(self.name, model, greedy=evaluating and not self.config.sampled)
        if evaluating:
            return agent
        model.warm()
        return StopForcing(agent, model.task) if self.config.stop_forcing else agent

    def calibrate(
        self, model: TurnNetwork, rows: Callable[[], Sequence[Row]], weights: Record, seed: int
    ) -> None:
        """Choose the threshold of the stop head on held-out rows."""
        calibrate(model, self.config, rows, weights, seed)

    def read_episodes(self, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> None:
        """Let the network read what it learns besides its choices."""
        self.auxiliary.collect(episodes, rows)

    def prepare(self, batch: ScoredTurns) -> ScoredTurns:
        """The scored turns with advantages and value targets; pure."""
        advantage, target = advantages(batch, self.config.gamma, self.config.lam)
        if self.config.normalize_advantages == "batch":
            advantage = losses.normalise(advantage)
        return replace(batch, advantage=advantage, target=target)

    def update(self, model: TurnNetwork, batch: ScoredTurns) -> dict[str, float]:
        """All epochs over one prepared batch; returns means over the whole update, weighted by turns."""
        means, steps = Means(), 0
        for rows in self._schedule(batch.episode):
            norm = self._learn(model, batch.take(rows), means, first=steps == 0)
            if norm is None:
                break
            means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
            steps += 1
        self.auxiliary.learn(self.gradient, means)
        self.updates += 1
        assert batch.target is not None
        explained = losses.explained_variance(batch.value.double(), batch.target.double())
        return {
            **dict.fromkeys(PER_STEP, math.nan),
            **self.auxiliary.log_values(),
            **model.stop_values(),
            **means.log_values(),
            "critic/explained_variance": math.nan if explained is None else explained,
            "gradient/steps": float(steps),
            "learning_rate": self.gradient.rate,
            "turns": float(len(batch)),
        }

    def loss(self, model: TurnNetwork, batch: ScoredTurns) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each turn."""
        chosen, value, likely = outputs_of(model, batch.features, batch.legality)
        new, entropy = logprob_of(chosen, batch.choice), chosen.entropy()
        assert batch.advantage is not None
        assert batch.target is not None
        policy, ratio, clipped = losses.clipped_surrogate(
            new, batch.logprob, batch.advantage, self.config.clip
        )
        critic = losses.squared_error(value, batch.target, batch.value, self.config.value_clip)
        total = policy + self.config.value_coefficient * critic - self.config.entropy_coefficient * entropy
        stopping = {}
        if likely is not None:
            assert batch.goal is not None
            stopping = {"stop/loss": goal_loss(likely, batch.goal), "stop/goal": batch.goal}
            total = total + self.config.stop_weight * stopping["stop/loss"]
        return {
            "total": total,
            **stopping,
            "policy/loss": policy,
            "policy/entropy": entropy,
            "policy/ratio": ratio,
            "policy/clip_fraction": clipped,
            "policy/kl_old": kl.k3(batch.logprob, new),
            "critic/loss": critic,
        }

    def state_dict(self) -> dict[str, Any]:
        """The optimizer by the names of its parameters, the counter, and what the network fits."""
        return {
            "fits": self.actor.signature,
            **self.gradient.state_dict(),
            "auxiliary": self.auxiliary.state_dict(),
            "updates": self.updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`.

        Raises:
            BadCheckpoint: it is from a network with other inputs, actions or layers.
        """
        self.actor.check_fits(saved_state.part(state, "fits"))
        self.gradient.load_state_dict(state)
        self.auxiliary.load_state_dict(saved_state.part(state, "auxiliary"))
        self.updates = saved_state.count(state, "updates")

    def _schedule(self, episode: Int[Tensor, " N"]) -> Iterator[Tensor]:
        """The minibatches of all epochs; each epoch has its own order."""
        rows, size = torch.arange(len(episode), device=episode.device), self.config.minibatch
        for epoch in range(self.config.epochs):
            key = self.key.child("minibatches", self.updates, epoch)
            if self.config.shuffle == "turns":
                yield from minibatches(rows, size, key)
            else:
                yield from whole_episodes(episode, size, key)

    def _learn(
        self, model: TurnNetwork, minibatch: ScoredTurns, means: Means, *, first: bool
    ) -> float | None:
        """One gradient step on a minibatch; its norm, or None if kl_old exceeds `stop_kl`."""
        if self.config.normalize_advantages == "minibatch":
            assert minibatch.advantage is not None
            minibatch = replace(minibatch, advantage=losses.normalise(minibatch.advantage))

        def loss(part: ScoredTurns) -> Loss:
            logged = self.loss(model, part)
            if first:
                means.greatest("policy/ratio_error", (logged["policy/ratio"].detach() - 1).abs())
            return Loss(logged.pop("total").sum(), logged)

        def veto(logged: Logged) -> bool:
            if self.config.stop_kl is None:
                return False
            own = sum((part["policy/kl_old"].sum() for part in logged), torch.zeros(()))
            return float(parallel.sum_all(own) / len(minibatch)) > self.config.stop_kl

        return self.gradient.learn(minibatch, loss, means, divisor=len(minibatch), veto=veto)
