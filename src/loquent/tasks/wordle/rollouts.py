"""A Monte Carlo player of Wordle: it simulates episodes and makes the guess with the best return.

Another player makes the guesses of the simulated episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.errors import LoquentError
from loquent.tasks.wordle.players import Player
from loquent.tasks.wordle.rules import Situation, Uniform
from loquent.tasks.wordle.task import GUESSES, State


@dataclass(frozen=True, kw_only=True)
class MonteCarloOptions:
    """The options of wordle/monte_carlo."""

    samples: int = setting(100, "the number of simulated episodes before each guess", low=1)
    player: str | Record = setting(
        "wordle/consistent", "the simulating player, as a name or {kind: NAME, OPTION: VALUE}"
    )

    def __post_init__(self) -> None:
        check_ranges(self)


class MonteCarlo(Player):
    """Simulates episodes with another player and makes the first guess with the highest mean return.

    The simulations begin in the current situation.
    """

    Options, kind = MonteCarloOptions, "wordle/monte_carlo"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.sampled = self.player(self.options.player, "player")

    def draw(self, situation: Situation, rng: np.random.Generator) -> str:
        """The first guess with the highest mean return; the earliest simulated guess among equals."""
        returns: dict[str, list[float]] = {}
        for _ in range(self.options.samples):
            first, total = self._game(situation, rng)
            returns.setdefault(first, []).append(total)
        return max(returns, key=lambda first: sum(returns[first]) / len(returns[first]))

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        """Raises LoquentError: the choice depends on simulated episodes."""
        raise LoquentError(f"{self.name} has no rule in closed form; play episodes to estimate its value")

    def _game(self, situation: Situation, rng: np.random.Generator) -> tuple[str, float]:
        """Simulate an episode with a random fitting word as its secret: the first guess and the return."""
        state = State(situation.board, GUESSES - situation.left, self.fitting(situation).draw(rng), None)
        guesses: list[str] = []
        total, ended = 0.0, None
        while ended is None and len(guesses) < max(situation.left, 1):
            guesses.append(
                self.sampled.draw(
                    Situation(state.board, (*situation.guesses, *guesses), situation.left - len(guesses)), rng
                )
            )
            outcome = self.task.play(state, self.task.read(state, guesses[-1]))
            state, ended = outcome.state, outcome.ended
            total += outcome.rewards["guess"]
        return guesses[0], total
