"""QA-DQN (arXiv:1908.10449): deep Q-learning of commands and queries, and pointers that learn to answer.

It has the parts of Rainbow (arXiv:1710.02298) that the paper uses: double and dueling Q, returns of n steps,
prioritized replay, noisy layers. The released code differs: its target has no end of episodes, and it adds
the whole rest of the return to the bootstrapped value.
"""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loquent.adapters.table import Table
from loquent.agents.asking import Asker
from loquent.algorithms import logged_keys
from loquent.algorithms.asking import targets
from loquent.algorithms.asking.answers import Answers
from loquent.algorithms.asking.episodes import steps_of, stops_of
from loquent.algorithms.asking.replay import Drawn, Prioritized, Queues, Replay
from loquent.algorithms.asking.settings import DQNSettings
from loquent.core.agent import Agent
from loquent.core.algorithm import Playing
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.task import Task
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import saved_state
from loquent.files.machine.memory import bytes_of_arrays
from loquent.models.asking.actor import AskingActor
from loquent.models.asking.inputs import Situation
from loquent.models.asking.network import Network, values
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.optimization import Means, lazy_adamw, trainable

START = Key(0, ("algorithm",))
EVERYTHING = (-math.inf, math.inf)
COUNTERS = ("rounds", "finished", "learned", "answered", "copied")
PER_STEP = ("dqn/loss", "dqn/value", "dqn/error", "answer/loss", "gradient/norm")

LOGGED = logged_keys.QA_DQN


class QADQN(Playing):
    """Q-learning on the network of an `AskingActor`.

    rounds: steps of all games. finished: games. learned, answered: gradient steps of Q and of the pointers.
    copied: copies to the target network.
    """

    Config: ClassVar[type] = DQNSettings
    name = "qa_dqn"
    reads = ("play",)
    unused = ("model", "decoding", "evaluation")
    smoke = (
        "algorithm.games=2",
        "algorithm.steps=20",
        "algorithm.learning_starts=1",
        "algorithm.learn_every=5",
        "algorithm.minibatch=4",
        "algorithm.width=8",
        "algorithm.blocks=1",
        "algorithm.replay=100",
    )

    def __init__(self, config: Any, model: AskingActor, key: Key = START) -> None:
        self.config, self.actor, self.key = config, model, key
        self.target: Network = copy.deepcopy(model.policy).requires_grad_(False)
        self.gradient = GradientStep(
            trainable(policy=model.policy), config, key, (model.policy,), make=lazy_adamw
        )
        self.replay = _replay(config, model.inputs.sentences)
        self.answers = Answers(config.answer_replay, model.inputs.sentences)
        self.table: Table | None = None
        self.rounds = self.finished = self.learned = self.answered = self.copied = 0

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Key) -> AskingActor:
        """The untrained network for a task."""
        return AskingActor(task, config, key)

    def agent(self, model: AskingActor, evaluating: bool) -> Agent:
        """The network as an agent that takes the best command, without noise."""
        model.policy.stir(None)
        return Asker(self.name, model, greedy=True)

    def sit(self, table: Table, updates: int) -> None:
        """Start to play at a table.

        Raises:
            BadSetting: `every_stop` would learn a reward that does not count.
        """
        if self.config.every_stop and not dict(table.weights).get("sufficient"):
            raise BadSetting(
                "every_stop = true learns the reward `sufficient`, which does not count here; "
                "set every_stop to false"
            )
        self.table = table

    def play(self) -> tuple[list[Episode], dict[str, float]]:
        """One update: `steps` commands, with learning in between.

        Returns the finished episodes and the logged values.
        """
        table, config, means = self.table, self.config, Means()
        assert table is not None
        rows = {row.id: row for row in table.sampler.pool.rows}
        episodes: list[Episode] = []
        for _ in range(config.steps // config.games):
            table.act(self._commands())
            self.rounds += 1
            new = table.take()
            for episode in new:
                self.replay.add(steps_of(episode, self.actor.inputs, table.weights))
                if config.every_stop:
                    row, weight = rows[episode.row], table.weights["sufficient"]
                    self.replay.add(stops_of(episode, self.actor, row, weight))
            if config.answers:
                self.answers.collect(self.actor, new, rows)
            self.finished += len(new)
            episodes += new
            ready = self.finished >= config.learning_starts and len(self.replay)
            if ready and self.rounds % config.learn_every == 0:
                for _ in range(config.gradient_steps):
                    self._learn(means)
        return episodes, {
            **dict.fromkeys(PER_STEP, math.nan),
            **means.logged(),
            "dqn/actions": float(self.rounds * config.games),
            "dqn/exploration": self.exploration,
            "dqn/replay": float(len(self.replay)),
            "answer/replay": float(len(self.answers)),
            "gradient/steps": float(self.learned),
            "learning_rate": self.gradient.rate,
        }

    @property
    def exploration(self) -> float:
        """The share of random commands now; all are random before learning starts, without noisy layers."""
        config = self.config
        if not config.noisy and self.finished < config.learning_starts:
            return 1.0
        return targets.exploration(
            self.finished, config.explore_first, config.explore_last, config.explore_games
        )

    @property
    def network(self) -> Any:
        """The network of commands and answers."""
        return self.actor.policy

    @property
    def width(self) -> int:
        """The tokens of one observation."""
        return self.actor.inputs.width

    def kept(self) -> dict[str, int]:
        """The bytes of the full replays."""
        return {"replay": sum(map(bytes_of_arrays, (*self.replay.rings, self.answers))), "collection": 0}

    def state_dict(self) -> dict[str, Any]:
        """Everything that affects later updates: optimizer, target network, replays, counters and games."""
        state: dict[str, Any] = {"fits": self.actor.described}
        if self.table is not None:
            state |= {
                **self.gradient.state_dict(),
                "target": {name: x.detach().clone() for name, x in self.target.state_dict().items()},
                "replay": self.replay.state_dict(),
                "answers": self.answers.state_dict(),
                "counters": {name: getattr(self, name) for name in COUNTERS},
                "table": self.table.state_dict(),
            }
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`; without a table only check the network.

        Raises:
            BadCheckpoint: the network has other commands, words or layers.
        """
        check_fits(self.actor.described, saved_state.part(state, "fits"))
        if self.table is None:
            return
        self.gradient.load_state_dict(state)
        self.target.load_state_dict(dict(saved_state.part(state, "target")))
        self.replay.load_state_dict(saved_state.part(state, "replay"))
        self.answers.load_state_dict(saved_state.part(state, "answers"))
        counters = saved_state.part(state, "counters")
        for name in COUNTERS:
            setattr(self, name, saved_state.count(counters, name))
        self.table.load_state_dict(dict(saved_state.part(state, "table")))

    def _commands(self) -> list[int | str]:
        """The next command of each game, or its answer where the game has halted."""
        assert self.table is not None
        actor, observations = self.actor, self.table.observations
        choices: list[int | str] = [0] * len(observations)
        halted = [i for i, observation in enumerate(observations) if observation.legal == ()]
        running = [i for i in range(len(observations)) if i not in halted]
        for i, text in zip(halted, actor.answers([observations[i] for i in halted]) if halted else ()):
            choices[i] = text
        situations = [actor.inputs.situation(observations[i]) for i in running]
        draws = self.key.child("act", self.rounds).generator().random((len(observations), 2))
        explore, share = draws[running, 0] < self.exploration, draws[running, 1]
        best: NDArray[np.int64] | None = None
        if not explore.all():
            if self.config.noisy:
                actor.policy.stir(self.key.child("noise", "act", self.rounds))
            best = actor.scores(situations).argmax(1).numpy()
        for k, i in enumerate(running):
            if explore[k]:
                count = actor.inputs.plain + actor.inputs.count(situations[k])
                choices[i] = int(share[k] * count)
            else:
                assert best is not None
                choices[i] = int(best[k])
        return choices

    def _learn(self, means: Means) -> None:
        """A gradient step of Q, one of the pointers, and a copy to the target network when it is due."""
        config, policy = self.config, self.actor.policy
        if isinstance(self.replay, Prioritized):
            risen = min(1.0, self.learned / config.beta_steps)
            self.replay.beta = config.beta + (1 - config.beta) * risen
        drawn = self.replay.draw(config.minibatch, self.key.child("replay", self.learned))
        target = self._target(drawn)
        self._stir(policy, "learn")
        errors: list[Tensor] = []

        def loss(part: Drawn) -> Loss:
            own = self._values(policy, part.situations)
            each, error = targets.q_loss(own, torch.from_numpy(part.action).to(own.device), target)
            errors.append(error)
            logged = {"dqn/loss": each, "dqn/value": target, "dqn/error": error.abs()}
            return Loss((each * torch.from_numpy(part.weight).to(own.device)).sum(), logged)

        norm = self.gradient.learn(drawn, loss, means, divisor=len(target))
        means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
        self.replay.learned(drawn, errors[0].double().cpu().numpy())
        self.learned += 1
        if config.answers and len(self.answers):
            key = self.key.child("answers", self.answered)
            self.answers.learn(self.actor, self.gradient, self.config.answers, key, means)
            self.answered += 1
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
            bounds=(self.config.bounded and self.actor.task.spec.return_range) or EVERYTHING,
        )

    def _values(self, network: Network, situations: list[Situation]) -> Tensor:
        batch = self.actor.inputs.batch(situations).to(self.actor.device)
        return values(network(batch), self.config.combine)

    def _stir(self, network: Network, purpose: str) -> None:
        if self.config.noisy:
            network.stir(self.key.child("noise", purpose, self.learned))


def check_fits(own: dict[str, Any], saved: Any) -> None:
    """Raise BadCheckpoint unless a saved network has the commands, words and layers of this one."""
    for name in ("commands", "queries", "inputs", "encoder", "shape"):
        if saved.get(name) != own[name]:
            raise BadCheckpoint(
                f"the {name} of the saved network: {saved.get(name)!r:.200}; those of this one: "
                f"{own[name]!r:.200}; use the recipe of the run"
            )


def _replay(config: Any, sentences: int) -> Replay:
    sizes = config.replay, sentences, config.n_step, config.gamma
    if config.draws == "prioritized":
        return Prioritized(*sizes, alpha=config.alpha, beta=config.beta)
    return (Queues if config.draws == "queues" else Replay)(*sizes)
