"""A player of Wordle that tries out: it plays games to the end by another player's rule, and says what went best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.errors import LoquentError
from loquent.settings import check_ranges, setting
from loquent.task import Task
from loquent.tasks.wordle.players import Player, Seen, Uniform
from loquent.tasks.wordle.task import GUESSES, State
from loquent.values import Record


@dataclass(frozen=True, kw_only=True)
class MonteCarloOptions:
    """What wordle/monte_carlo may be told."""

    samples: int = setting(100, "games played to the end before each guess", low=1)
    player: str | Record = setting("wordle/consistent", "the player that plays them, as a name or {kind: NAME, OPTION: VALUE}")

    def __post_init__(self) -> None:
        check_ranges(self)


class MonteCarlo(Player):
    """Plays games from here to the end by another player's rule, and says the first guess of those that returned most on average."""

    Options, kind = MonteCarloOptions, "wordle/monte_carlo"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.sampled = self.player(self.options.player, "player")

    def draw(self, seen: Seen, rng: np.random.Generator) -> str:
        """The first guess with the highest mean return; of equal ones the one that was tried first."""
        returns: dict[str, list[float]] = {}
        for _ in range(self.options.samples):
            first, total = self._game(seen, rng)
            returns.setdefault(first, []).append(total)
        return max(returns, key=lambda first: sum(returns[first]) / len(returns[first]))

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        """Refused: what it says depends on games it plays."""
        raise LoquentError(f"{self.name} has no rule in closed form; play games to estimate its value")

    def _game(self, seen: Seen, rng: np.random.Generator) -> tuple[str, float]:
        """A game from here with one of the words that fit as its secret: the first guess, and the return."""
        state = State(seen.board, GUESSES - seen.left, self.fitting(seen).draw(rng), None)
        said: list[str] = []
        total, ended = 0.0, None
        while ended is None and len(said) < max(seen.left, 1):
            said.append(self.sampled.draw(Seen(state.board, (*seen.said, *said), seen.left - len(said)), rng))
            outcome = self.task.play(state, self.task.read(state, said[-1]))
            state, ended = outcome.state, outcome.ended
            total += outcome.rewards["guess"]
        return said[0], total
