"""Deep Q-learning among a task's actions, with the parts of Rainbow (arXiv:1710.02298) as settings.

The parts: double (arXiv:1509.06461) and dueling Q (arXiv:1511.06581), returns of n steps, prioritized replay
(arXiv:1511.05952) and noisy layers (arXiv:1706.10295). Illegal actions are never chosen, neither in acting
nor in exploration nor in the target, unless `legal` is false. With the network that the world of QA-DQN
(arXiv:1908.10449) brings it is that learner.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.adapters.table import Table
from loquent.agents.turns import TurnAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.deep_q import targets
from loquent.algorithms.deep_q.replay import Arrays, Drawn, Prioritized, Queues, Replay
from loquent.algorithms.deep_q.settings import DQNSettings
from loquent.algorithms.deep_q.transitions import steps_of, with_goals
from loquent.core.agent import Agent
from loquent.core.algorithm import Playing
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.task import Row, Task
from loquent.core.values import Record
from loquent.data.tables.rows import by_id
from loquent.files import saved_state
from loquent.files.machine import parallel
from loquent.models.turns.building import build
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.noisy import stir
from loquent.pretrained.learning.optimization import Means, trainable
from loquent.pretrained.learning.stopping import apart, calibrate, goal_loss
from loquent.pretrained.learning.turn_network import Head, Store, TurnNetwork

START = Key(0, ("algorithm",))
COUNTERS = ("rounds", "finished", "learned", "copied")
PER_STEP = ("dqn/loss", "dqn/value", "dqn/error", "gradient/norm")

LOGGED = logged_keys.BUILT_IN["turn_dqn"]


class TurnDQN(Playing):
    """Deep Q-learning among a task's actions, on a `TurnNetwork`.

    rounds: steps of all games. finished: games. learned: gradient steps of Q. copied: copies to the
    target network.
    """

    Config: ClassVar[type] = DQNSettings
    name = "turn_dqn"
    reads = ("play",)
    unused = ("model", "decoding", "evaluation")
    starts = True
    smoke = (
        "algorithm.games=2",
        "algorithm.steps=20",
        "algorithm.learning_starts=1",
        "algorithm.learn_every=5",
        "algorithm.minibatch=4",
        "algorithm.width=16",
        "algorithm.layers=1",
        "algorithm.heads=2",
        "algorithm.replay=100",
    )

    def __init__(self, config: Any, model: TurnNetwork, *, key: Key = START) -> None:
        self.config, self.actor, self.key = config, model, key
        self.target: nn.Module = copy.deepcopy(model.policy).requires_grad_(False)
        modules = (model.policy,) if model.dropout else ()
        self.gradient = GradientStep(trainable(policy=model.policy), config, key, modules)
        self.store = model.store()
        self.replay = _replay(config, self.store)
        self.auxiliary = model.auxiliary(key)
        self.table: Table | None = None
        self.rounds = self.finished = self.learned = self.copied = 0

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Key) -> TurnNetwork:
        """The untrained network for a task."""
        head = Head(critic=False, dueling=config.dueling, sigma=config.sigma if config.noisy else None)
        return build(cls.name, task, config, key, head)

    def agent(self, model: TurnNetwork, evaluating: bool) -> Agent:
        """The network as an agent that takes the best action, without noise."""
        stir(model.policy, None)
        return TurnAgent(self.name, model, greedy=True)

    def calibrate(
        self, model: TurnNetwork, rows: Callable[[], Sequence[Row]], weights: Record, seed: int
    ) -> None:
        """Choose the threshold of the stop head on held-out rows."""
        stir(model.policy, None)
        calibrate(model, self.config, rows, weights, seed)

    def sit(self, table: Table, updates: int) -> None:
        """Start to play at a table; BadSetting if the network would learn a reward that does not count."""
        self.actor.check_rewards(table.weights)
        self.actor.warm()
        self.table = table

    def play(self) -> tuple[list[Episode], dict[str, float]]:
        """One update: `steps` actions, with learning in between.

        Returns the finished episodes and the logged values.
        """
        table, config, means = self.table, self.config, Means()
        assert table is not None
        rows = by_id(table.sampler.pool.rows)
        goals, stop = self.actor.goals(rows), self.actor.stop
        earned = config.gamma * self.actor.stop_earns(table.weights)
        episodes: list[Episode] = []
        for _ in range(config.steps // config.games):
            table.act(self._actions())
            self.rounds += 1
            new = table.take()
            for episode in new:
                steps = steps_of(episode, self.actor.actions, table.weights)
                if goals is not None and stop is not None:
                    steps = with_goals(steps, partial(goals, episode.row), stop, earned)
                self.replay.add(steps)
            self.auxiliary.collect(new, rows)
            self.finished += len(new)
            episodes += new
            ready = self.finished >= config.learning_starts and len(self.replay)
            if ready and self.rounds % config.learn_every == 0:
                for _ in range(config.gradient_steps):
                    self._learn(means)
        return episodes, {
            **dict.fromkeys(PER_STEP, math.nan),
            **self.auxiliary.log_values(),
            **self.actor.stop_values(),
            **means.log_values(),
            "dqn/actions": float(self.rounds * config.games),
            "dqn/exploration": self.exploration,
            "dqn/replay": float(len(self.replay)),
            "gradient/steps": float(self.learned),
            "learning_rate": self.gradient.rate,
        }

    @property
    def exploration(self) -> float:
        """The share of random actions now; all are random before learning starts, without noisy layers."""
        config = self.config
        if not config.noisy and self.finished < config.learning_starts:
            return 1.0
        return targets.exploration(
            self.finished, config.explore_first, config.explore_last, config.explore_games
        )

    @property
    def network(self) -> Any:
        """The network that learns."""
        return self.actor.policy

    @property
    def width(self) -> int:
        """The numbers in one observation."""
        assert self.table is not None
        arrays = self.actor.inputs(self.table.observations[0])
        return sum(array.size for array in arrays.values())

    def buffer_bytes(self) -> dict[str, int]:
        """The bytes of the full replays."""
        assert self.table is not None
        packed = self.store.pack(self.table.observations[0])
        rings = sum(ring.bytes_of(packed) for ring in self.replay.rings)
        return {"replay": rings + self.auxiliary.nbytes, "collection": 0}

    def state_dict(self) -> dict[str, Any]:
        """Everything that affects later updates: optimizer, target network, replays, counters and games."""
        state: dict[str, Any] = {"fits": self.actor.signature}
        if self.table is not None:
            state |= {
                **self.gradient.state_dict(),
                "target": {name: x.detach().clone() for name, x in self.target.state_dict().items()},
                "replay": self.replay.state_dict(),
                "auxiliary": self.auxiliary.state_dict(),
                "counters": {name: getattr(self, name) for name in COUNTERS},
                "table": self.table.state_dict(),
            }
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`; without a table only check the network.

        Raises:
            BadCheckpoint: the network has other inputs, actions or layers.
        """
        self.actor.check_fits(saved_state.part(state, "fits"))
        if self.table is None:
            return
        self.gradient.load_state_dict(state)
        self.target.load_state_dict(dict(saved_state.part(state, "target")))
        counters = saved_state.part(state, "counters")
        for name in COUNTERS:
            setattr(self, name, saved_state.count(counters, name))
        self.table.load_state_dict(dict(saved_state.part(state, "table")))
        packed = self.store.pack(self.table.observations[0]) if self.table.started else {}
        self.replay.load_state_dict(saved_state.part(state, "replay"), packed)
        self.auxiliary.load_state_dict(saved_state.part(state, "auxiliary"))

    def _actions(self) -> list[int | str]:
        """The next action of each game, or its text where the task asks for one."""
        assert self.table is not None
        actor, observations = self.actor, self.table.observations
        asks_text = actor.actions.asks_text
        choices: list[int | str] = [0] * len(observations)
        asked = [i for i, observation in enumerate(observations) if asks_text(observation.legal)]
        running = [i for i in range(len(observations)) if i not in asked]
        for i, text in zip(asked, actor.answers([observations[i] for i in asked]) if asked else ()):
            choices[i] = text
        draws = (
            self.key.child("act", self.rounds)
            .generator()
            .random((len(observations), 2 + (actor.stop is not None)))
        )
        explore, share = draws[running, 0] < self.exploration, draws[running, 1]
        best: NDArray[np.int64] | None = None
        if not explore.all():
            if self.config.noisy:
                stir(actor.policy, self.key.child("noise", "act", self.rounds))
            uniform = None if actor.stop is None else draws[running, 1:]
            best = actor.choose([observations[i] for i in running], uniform)
        for k, i in enumerate(running):
            if explore[k]:
                choices[i] = actor.explore(observations[i], share[k])
            else:
                assert best is not None
                choices[i] = int(best[k])
        return choices

    def _learn(self, means: Means) -> None:
        """A gradient step of Q, one besides, and a copy to the target network when it is due."""
        config, policy = self.config, self.actor.policy
        if isinstance(self.replay, Prioritized):
            risen = min(1.0, self.learned / config.beta_steps)
            self.replay.beta = config.beta + (1 - config.beta) * risen
        drawn = self.replay.draw(config.minibatch, self.key.child("replay", self.learned))
        target = self._target(drawn)
        self._stir(policy, "learn")
        errors = torch.zeros(len(target), dtype=torch.float64)

        def loss(numbers: list[int]) -> Loss:
            part = drawn.take(numbers)
            own, likely = self.actor.values_and_goal(policy, self.store.batch(part.now))
            each, error = targets.q_loss(own, torch.from_numpy(part.action).to(own.device), target[numbers])
            errors[numbers] = error.detach().double().cpu()
            logged = {"dqn/loss": each, "dqn/value": target[numbers], "dqn/error": error.abs()}
            if likely is not None:
                goal = torch.from_numpy(part.goal).to(own.device)
                logged |= {"stop/loss": goal_loss(likely, goal), "stop/goal": goal}
                each = each + config.stop_weight * logged["stop/loss"]
            return Loss((each * torch.from_numpy(part.weight).to(own.device)).sum(), logged)

        norm = self.gradient.learn(list(range(len(target))), loss, means, divisor=len(target))
        means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
        self.replay.note_errors(drawn, parallel.sum_all(errors).numpy())
        self.learned += 1
        self.auxiliary.learn(self.gradient, means)
        if self.finished // config.target_every > self.copied:
            self.copied = self.finished // config.target_every
            self.target.load_state_dict(policy.state_dict())

    @torch.no_grad()
    def _target(self, drawn: Drawn) -> Tensor:
        """The targets of drawn transitions; no dropout, and noise of their own."""
        self._stir(self.actor.policy, "next")
        self._stir(self.target, "target")
        online = self._values(self.actor.policy, drawn.following)
        device = online.device
        return targets.double_q_target(
            torch.from_numpy(drawn.returns).to(device),
            torch.from_numpy(drawn.discount).to(device),
            torch.from_numpy(drawn.alive).to(device),
            online,
            self._values(self.target, drawn.following),
            double=self.config.double,
        )

    def _values(self, network: nn.Module, arrays: Arrays) -> Tensor:
        """The values of the actions that the network chooses among, -inf for others."""
        values, stop = self.actor.values(network, self.store.batch(arrays)), self.actor.stop
        return values if stop is None else values.masked_fill(~apart(values.isfinite(), stop), -torch.inf)

    def _stir(self, network: nn.Module, purpose: str) -> None:
        if self.config.noisy:
            stir(network, self.key.child("noise", purpose, self.learned))


def _replay(config: Any, store: Store) -> Replay:
    sizes, vary = (config.replay, store, config.n_step, config.gamma), config.vary_steps
    if config.draws == "prioritized":
        return Prioritized(*sizes, alpha=config.alpha, beta=config.beta, vary=vary)
    return (Queues if config.draws == "queues" else Replay)(*sizes, vary=vary)
