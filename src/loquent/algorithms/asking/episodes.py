"""Episodes as transitions between situations."""

from __future__ import annotations

from typing import Any

from loquent.algorithms.asking.replay import CUT, ENDED, GOES_ON, Step
from loquent.core.episode import Episode
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import LoquentError
from loquent.models.asking.actor import AskingActor
from loquent.models.asking.inputs import Asking, Inputs, Situation


def steps_of(episode: Episode, inputs: Inputs, weights: Record) -> list[Step]:
    """The commands of an episode as transitions; the reward of an answer belongs to the last command.

    Args:
        weights: the weight of each reward by name; other rewards do not count.

    Raises:
        LoquentError: an answer of the agent is not an action of the task.
    """
    situations: list[Situation] = []
    actions: list[int] = []
    rewards: list[float] = []
    observation = None
    for turn in episode.turns:
        if turn.observation is not None:
            observation = turn.observation
            situations.append(inputs.situation(observation))
            continue
        reward = sum(weights[name] * value for name, value in turn.rewards.items() if name in weights)
        assert observation is not None
        if observation.legal == ():  # the answer to the question
            rewards[-1] += reward
            continue
        action = inputs.actions.index(turn.text, observation.legal)
        if action is None:
            raise LoquentError(
                f"{turn.text!r:.80} is not an action of {episode.task}, so nothing is learned from it"
            )
        actions.append(action)
        rewards.append(reward)
    last = len(actions) - 1
    end = CUT if episode.bootstraps else ENDED
    return [
        Step(situations[i], action, rewards[i], situations[i + 1], end if i == last else GOES_ON)
        for i, action in enumerate(actions)
    ]


def stops_of(episode: Episode, actor: AskingActor, row: Row, weight: float) -> list[Step]:
    """For each command of an episode, a transition that stops in its situation instead.

    Args:
        weight: the reward of a stop where the memory holds a right answer; elsewhere it is 0.
    """
    task: Any = actor.task
    assert isinstance(task, Asking)
    steps, observation = [], None
    for turn in episode.turns:
        if turn.observation is not None:
            observation = turn.observation
        elif observation is not None and observation.legal != ():
            situation = actor.inputs.situation(observation)
            stop = actor.inputs.actions.index("stop", observation.legal)
            assert stop is not None
            reward = weight * bool(task.spans(row, observation))
            steps.append(Step(situation, stop, reward, situation, ENDED))
    return steps
