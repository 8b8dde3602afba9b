"""Knowing when to stop: a head for P(the goal holds), beside a network that chooses among the other actions.

The task says when its goal holds (`Task.goal`), of a training row and an observation. The head learns this in
every visited state, by cross-entropy; observations do not have it. In training it stops with the probability
that it gives. In evaluation it stops where this probability is at least a threshold, which is chosen on
held-out rows and saved with the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from loquent.core.agent import Answer
from loquent.core.live import Live
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.statistics.stopping import best_threshold

TOGETHER = 256  # episodes that are played at a time


class StopHead(nn.Module):
    """The logit of P(the goal holds), from states f[N, width]; and the threshold of evaluation, f64[1]."""

    threshold: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = nn.Linear(width, 1)
        self.register_buffer("threshold", torch.full((1,), 0.5, dtype=torch.float64))

    def forward(self, state: Float[Tensor, "N d"]) -> Float[Tensor, " N"]:
        logits: Tensor = self.out(state)[:, 0]
        return logits


def goal_loss(logits: Float[Tensor, " N"], goal: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """The cross-entropy of P(the goal holds) in each state, in nats."""
    return binary_cross_entropy_with_logits(logits, goal, reduction="none")


def apart(
    legal: Bool[Tensor, "N n"], stop: int, stopped: Bool[Tensor, " N"] | None = None
) -> Bool[Tensor, "N n"]:
    """The actions that remain where a head decides on the action `stop`.

    They are `stop` alone where it `stopped` or nothing else is legal, and elsewhere all others.
    """
    others, only = legal.clone(), torch.zeros_like(legal)
    others[:, stop], only[:, stop] = False, legal[:, stop]
    alone = ~others.any(1) if stopped is None else ~others.any(1) | stopped & legal[:, stop]
    return torch.where(alone[:, None], only, others)


def calibrate(
    network: Any, settings: Any, rows: Callable[[], Sequence[Row]], weights: Record, seed: int
) -> None:
    """Give the stop head of a network, if it has one, the best threshold on rows.

    Args:
        network: a `TurnNetwork`.
        settings: has `stop_rows` and `stop_discount`.
    """
    if network.stop is not None:
        chosen = rows()[: settings.stop_rows]
        network.threshold = choose_threshold(network, chosen, weights, settings.stop_discount, seed)


def choose_threshold(network: Any, rows: Sequence[Row], weights: Record, discount: float, seed: int) -> float:
    """The threshold with the highest mean of discount^answers · return over episodes on rows.

    Each episode is played once and to its end, by the best actions other than `stop`. In each of its states
    `stop` is tried too, so that the return of every threshold is known. Returns are of the task's rewards.
    """
    scores, values = [], []
    for first in range(0, len(rows), TOGETHER):
        games = [
            Live(network.task, row, first + i, seed) for i, row in enumerate(rows[first : first + TOGETHER])
        ]
        for game in _play_on(network, games, weights, discount):
            scores.append(np.array(game[0]))
            values.append(np.array(game[1]))
    return best_threshold(scores, values)[0]


def _play_on(
    network: Any, games: Sequence[Live], weights: Record, discount: float
) -> list[tuple[list[float], list[float]]]:
    """Per episode the scores of its states, and the discounted returns of stopping in each and in none."""
    task, actions = network.task, network.actions
    stop = network.stop
    assert stop is not None
    found: list[tuple[list[float], list[float]]] = [([], []) for _ in games]
    returns = [0.0 for _ in games]
    live = list(range(len(games)))
    while live:
        observations = [games[i].step.observation for i in live]
        choices, likely = network.propose(observations, None)
        assert likely is not None
        for i, choice, score in zip(list(live), choices.tolist(), likely.tolist(), strict=True):
            step, (scores, values) = games[i].step, found[i]
            tried = task.act(step, actions.text(stop, step.observation.legal))
            count = len(scores) + 1
            scores.append(score)
            values.append(discount**count * (returns[i] + task.total(tried.rewards, weights)))
            if choice == stop:
                values.append(values[-1])
                live.remove(i)
                continue
            returns[i] += task.total(
                games[i].act(Answer(actions.text(choice, step.observation.legal))), weights
            )
            ended = games[i].step
            if ended.ended is not None or actions.asks_text(ended.observation.legal):
                values.append(discount**count * returns[i])
                live.remove(i)
    return found


def decide(
    likely: NDArray[np.float64], threshold: float, uniform: NDArray[np.float64] | None
) -> NDArray[np.bool_]:
    """Whether to stop: by the threshold, or if there are uniform numbers, with the probability itself."""
    stops: NDArray[np.bool_] = likely >= threshold if uniform is None else uniform < likely
    return stops
