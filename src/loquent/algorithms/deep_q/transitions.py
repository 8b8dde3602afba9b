"""Episodes as transitions between observations."""

from __future__ import annotations

from loquent.algorithms.deep_q.replay import CUT, ENDED, GOES_ON, Step
from loquent.core.actions import ActionSet
from loquent.core.episode import Episode
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import LoquentError


def steps_of(episode: Episode, actions: ActionSet, weights: Record) -> list[Step]:
    """The actions of an episode as transitions.

    The reward of a text that the task asks for belongs to the action before it.

    Args:
        weights: the weight of each reward by name; other rewards do not count.

    Raises:
        LoquentError: an answer of the agent is not an action of the task.
    """
    observations: list[Observation] = []
    chosen: list[int] = []
    rewards: list[float] = []
    for turn in episode.turns:
        if turn.observation is not None:
            observations.append(turn.observation)
            continue
        reward = sum(weights[name] * value for name, value in turn.rewards.items() if name in weights)
        observation = observations[-1]
        if actions.asks_text(observation.legal) and chosen:
            rewards[-1] += reward
            continue
        action = actions.index(turn.text, observation.legal)
        if action is None:
            raise LoquentError(
                f"{turn.text!r:.80} is not an action of {episode.task}, so nothing is learned from it"
            )
        chosen.append(action)
        rewards.append(reward)
    last = len(chosen) - 1
    end = CUT if episode.bootstraps else ENDED
    return [
        Step(observations[i], action, rewards[i], observations[i + 1], end if i == last else GOES_ON)
        for i, action in enumerate(chosen)
    ]
