"""Episodes as transitions between observations."""

from __future__ import annotations

from collections.abc import Callable

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


def with_goals(
    steps: list[Step], goal: Callable[[Observation], bool], stop: int, earned: float
) -> list[Step]:
    """The transitions if `stop` came exactly where the goal holds, so that values are those of the search.

    An action that reaches the goal ends the episode, with what `stop` earns next. An action before a wrong
    `stop` is cut there. `stop` itself keeps its reward, and its state, from which P(the goal holds) learns.

    Args:
        goal: whether the goal holds in an observation.
        stop: the number of the action.
        earned: what it earns where the goal holds, discounted by one action.
    """
    held = [goal(step.observation) for step in steps]
    changed = []
    for i, step in enumerate(steps):
        step = step._replace(goal=held[i])
        if step.action != stop and i + 1 < len(steps):
            if held[i + 1]:
                step = step._replace(reward=step.reward + earned, end=ENDED)
            elif steps[i + 1].action == stop:
                step = step._replace(end=CUT)
        changed.append(step)
    return changed
