"""Benchmarks of QA-DQN: acts and gradient steps against the released agent's way, and two vocabularies.

Both sides have equal weights and play the oracle's games on the built-in paragraphs. The vocabulary is filled
up with made words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import measuring
import torch
from references import imrc_agent

from loquent.agents.baselines import Expert
from loquent.algorithms.deep_q.settings import DQNSettings
from loquent.algorithms.deep_q.transitions import steps_of
from loquent.algorithms.deep_q.turn_dqn import TurnDQN
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.data.sources import limit_rows
from loquent.pretrained.learning.noisy import stir
from loquent.pretrained.learning.optimization import Means
from loquent.tasks.reading.options import Options
from loquent.tasks.reading.task import Reading

ISQUAD = 109_689  # words, table 2 of the paper
GAMES = 20
SIZES: dict[str, dict[str, Any]] = {
    "quick": {
        "width": 8,
        "blocks": 1,
        "encoder_blocks": 1,
        "word_size": 8,
        "character_size": 8,
    },
    "tiny": {},
}


class Wide(Reading):
    """The task with more words, which occur nowhere."""

    def __init__(self, options: Options, count: int) -> None:
        super().__init__(options)
        self.count = count

    def words(self) -> tuple[str, ...]:
        """The training words and made ones, `count` in all."""
        own = super().words()
        return (*own, *(f"w{i}" for i in range(self.count - len(own))))


def made(size: str, words: int) -> tuple[TurnDQN, list[Any]]:
    """A learner with a filled replay, and the episodes of 20 games of the oracle."""
    task = Wide(Options(), 2000 if size == "quick" else words)
    preset = {**DQNSettings.presets["qa_dqn"], "minibatch": 4 if size == "quick" else 64, "replay": 1000}
    config = DQNSettings(
        network="qa",
        network_settings=Record(answers=0, **SIZES[size]),
        noisy=True,
        explore_first=0.0,
        **{**preset, "explore_last": 0.0},
    )
    learner = TurnDQN(config, TurnDQN.make_actor(config, task, Key(0)))
    episodes = play(task, games(limit_rows(task.rows("train"), GAMES)), Expert(task), seed=0)
    for episode in episodes:
        learner.replay.add(steps_of(episode, task.actions, task.spec.rewards))
    return learner, episodes


def acts_of(episodes: Sequence[Any]) -> list[list[Any]]:
    """The observations of the running games at each act."""
    seen = [
        [turn.observation for turn in episode.turns if turn.observation is not None] for episode in episodes
    ]
    most = max(map(len, seen)) - 1  # the last one has no act
    return [[own[t] for own in seen if t < len(own) - 1] for t in range(most)]


def released_acts(episodes: Sequence[Any]) -> list[list[imrc_agent.Situation]]:
    """The situations of all games at each act, of ended games the last."""
    seen = [
        [situation_of(turn.observation) for turn in episode.turns if turn.observation is not None][:-1]
        for episode in episodes
    ]
    return [[own[min(t, len(own) - 1)] for own in seen] for t in range(max(map(len, seen)))]


def situation_of(observation: Any) -> imrc_agent.Situation:
    """The observation as the released agent keeps it."""
    fields = observation.fields
    return imrc_agent.Situation(fields["question"], " ".join(fields["memory"]), fields["queries"])


def transitions_of(episode: Any, plain: Sequence[str]) -> list[imrc_agent.Transition]:
    """The commands of an episode as transitions."""
    found: list[Any] = []
    before = None
    for turn in episode.turns:
        if turn.observation is None:
            verb, _, word = turn.text.partition(" ")
            command = plain.index(verb) if verb in plain else len(plain)
            found.append((before, command, word, sum(turn.rewards.values())))
            continue
        if found:
            found[-1] = (*found[-1][:4], situation_of(turn.observation))
        before = situation_of(turn.observation)
    last = len(found) - 1
    return [imrc_agent.Transition(*step, ended=i == last) for i, step in enumerate(found)]


def act(rounds: int, *, size: str = "tiny", running: bool = False) -> dict[str, Any]:
    """Acts a second in 20 games, each with new noise, from first observations to the last stop.

    Args:
        running: leave ended games out on both sides.
    """
    learner, episodes = made(size, ISQUAD)
    actor, old = learner.actor, released(learner)
    ours, theirs = acts_of(episodes), released_acts(episodes)
    if running:
        theirs = [[situation_of(each) for each in observations] for observations in ours]
    checked = agreement(learner, old, episodes)

    def acting() -> None:
        for t, observations in enumerate(ours):
            stir(actor.policy, Key(t))
            actor.scores([actor.inputs.situation(each) for each in observations]).argmax(1).tolist()

    def acting_old_way() -> None:
        for situations in theirs:
            old.act(situations)

    sides = measuring.alternate(acting, acting_old_way, rounds)
    return {"checked": checked, **measuring.summary(sides, sum(map(len, ours)), "steps")}


def update(rounds: int, *, size: str = "tiny") -> dict[str, Any]:
    """Gradient steps of Q a second: 64 transitions of 1 to 3 steps, double Q, new noise."""
    learner, episodes = made(size, ISQUAD)
    old = released(learner)
    checked = agreement(learner, old, episodes)
    config, plain = learner.config, learner.actor.task.actions.plain
    recorded = [transitions_of(episode, plain) for episode in episodes]

    def learning() -> None:
        learner._learn(Means())

    def learning_old_way() -> None:
        old.learn(old.draw(recorded, config.minibatch, config.n_step))

    sides = measuring.alternate(learning, learning_old_way, rounds)
    return {"checked": checked, **measuring.summary(sides, config.minibatch, "steps")}


def vocabulary(rounds: int, *, size: str = "tiny", learning: bool = False) -> dict[str, Any]:
    """Acts (or gradient steps) with a vocabulary of 200,000 words, against one of 1,000."""
    sides = [made(size, words) for words in (200_000, 1_000)]
    found = [values(learner, episodes) for learner, episodes in sides]
    assert [each.shape for each in found[0]] == [each.shape for each in found[1]]

    def work(learner: TurnDQN, episodes: Sequence[Any]) -> None:
        if learning:
            learner._learn(Means())
        else:
            values(learner, episodes)

    measured = measuring.alternate(lambda: work(*sides[0]), lambda: work(*sides[1]), rounds)
    checked = "the shapes of all values are equal"
    steps = learner_steps(sides[0], learning)
    return {"checked": checked, **measuring.summary(measured, steps, "steps")}


def learner_steps(side: tuple[TurnDQN, list[Any]], learning: bool) -> int:
    """The transitions, or the acts, of one round."""
    learner, episodes = side
    return int(learner.config.minibatch) if learning else sum(map(len, acts_of(episodes)))


def values(learner: TurnDQN, episodes: Sequence[Any]) -> list[torch.Tensor]:
    """The values of all commands at each act, with new noise."""
    actor, found = learner.actor, []
    for t, observations in enumerate(acts_of(episodes)):
        stir(actor.policy, Key(t))
        found.append(actor.scores([actor.inputs.situation(each) for each in observations]))
    return found


def released(learner: TurnDQN) -> imrc_agent.Agent:
    """The reference with the weights of a learner."""
    config = learner.config
    return imrc_agent.Agent(learner.actor, config.learning_rate, config.gamma, config.max_grad_norm)


def agreement(learner: TurnDQN, old: imrc_agent.Agent, episodes: Sequence[Any]) -> str:
    """That both sides have equal values of all legal commands, without noise; AssertionError otherwise."""
    actor, compared = learner.actor, 0
    stir(actor.policy, None)
    for observations in acts_of(episodes):
        own = actor.scores([actor.inputs.situation(each) for each in observations])
        with torch.no_grad():
            theirs = old.values(old.online, [situation_of(each) for each in observations])
        for row, other, each in zip(own, theirs, observations, strict=True):
            columns = [old.action(i, "") for i in range(old.plain)]
            columns += [old.action(old.plain, word) for word in each.fields["queries"]]
            torch.testing.assert_close(row[: len(columns)], other[columns], rtol=1e-4, atol=1e-4)
            compared += len(columns)
    return f"{compared} of {compared} values are equal to the reference's without noise"
