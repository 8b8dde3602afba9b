"""Several games side by side for a learner that steps them itself: rows are dealt by a sampler, a game that ends makes room for the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.agent import Agent, Answer
from loquent.data.pools import Sampler
from loquent.episode import Episode
from loquent.errors import BadCheckpoint, BadSetting
from loquent.live import Live
from loquent.rewards import compose
from loquent.rewards.learner import Learner
from loquent.task import Observation, Task
from loquent.values import Record


@dataclass(frozen=True)
class Moved:
    """What followed from one action. `last` is the true last observation of a game that ended, after which another began."""

    observation: Observation
    reward: float
    last: Observation | None = None
    bootstraps: bool = False  # whether a value stands for what was never played, as after "cut"


class Table:
    """Live games on rows that a sampler deals; the rewards of the recipe's terms come with the last step of a game.

    The first games are dealt when somebody looks at them, so the pool may be empty until then.

    Args:
        places: how many games are live at once.
        terms, weights: as `rewards.compose.build` gives them.
        learner: normalises what terms give, by what has ended so far.
        teacher: who plays for a learner that learns from others' games.

    Raises:
        BadSetting: the task has no actions to choose from, or asks other seats than "agent".
    """

    def __init__(
        self,
        task: Task,
        sampler: Sampler,
        *,
        places: int,
        seed: int,
        split: str,
        terms: Sequence[Any] = (),
        weights: Record,
        learner: Learner | None = None,
        teacher: Agent | None = None,
    ) -> None:
        if task.actions is None:
            raise BadSetting(f"{task.identity} takes free text; a learner of turns needs a task with actions")
        self.task, self.sampler, self.seed, self.split = task, sampler, seed, split
        self.terms, self.weights, self.learner, self.teacher = tuple(terms), weights, learner, teacher
        self.places, self.dealt = places, 0
        self.done: list[Episode] = []  # the games that have ended since `take`
        self._games: list[Live] = []

    @property
    def games(self) -> list[Live]:
        """The live games."""
        if not self._games:
            self._games = [self._deal() for _ in range(self.places)]
        return self._games

    @property
    def observations(self) -> list[Observation]:
        """What each game's player sees now."""
        return [game.step.observation for game in self.games]

    def act(self, choices: Sequence[int]) -> list[Moved]:
        """Say the text of one action in each game; an empty slot is an empty answer, which the task judges."""
        gained = [self._said(game, int(choice)) for game, choice in zip(self.games, choices, strict=True)]
        over = [i for i, game in enumerate(self.games) if game.step.ended is not None]
        before = [self.games[i].episode(Record(agent="table")) for i in over]
        rows = {self.games[i].row.id: self.games[i].row for i in over}
        scored = compose.apply(self.terms, before, rows, self.learner) if self.terms else before
        last: dict[int, tuple[Observation, bool]] = {}
        for i, plain, full in zip(over, before, scored, strict=True):
            gained[i] += full.total(self.weights) - plain.total(self.weights) if self.terms else 0.0
            last[i] = self.games[i].step.observation, full.bootstraps
            self.games[i] = self._deal()
        self.done += scored
        nothing = None, False
        return [Moved(game.step.observation, gained[i], *last.get(i, nothing)) for i, game in enumerate(self.games)]

    def taught(self) -> list[int]:
        """The number of the action that the teacher would take in each game.

        Raises:
            BadSetting: what it says is none of the task's actions.
        """
        assert self.teacher is not None
        assert self.task.actions is not None
        asked = [game.asked() for game in self.games]
        found = []
        for one, answer in zip(asked, self.teacher.answer(asked), strict=True):
            number = self.task.actions.index(answer.text, one.observation.legal)
            if number is None:
                raise BadSetting(f"{self.teacher.name} says {answer.text!r:.80} in game {one.game}, which is none of the actions")
            found.append(number)
        return found

    def take(self) -> list[Episode]:
        """The games that have ended since the last call."""
        done, self.done = self.done, []
        return done

    def state_dict(self) -> dict[str, Any]:
        """Where the games stand: their rows and what was said in them. The sampler is saved by whoever owns it."""
        said = [[turn.text for turn in game.turns if turn.seat == "agent"] for game in self._games]
        live = [{"row": g.row.id, "number": g.number, "said": s} for g, s in zip(self._games, said, strict=True)]
        return {"dealt": self.dealt, "games": live}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Play the saved games again up to where they stood.

        Raises:
            BadCheckpoint: there were more or fewer games, or one was on a row that is not in the pool.
        """
        if state["games"] and len(state["games"]) != self.places:
            raise BadCheckpoint(f"{len(state['games'])} games were live, and {self.places} are now")
        rows = {row.id: row for row in self.sampler.pool.rows}
        missing = [saved["row"] for saved in state["games"] if saved["row"] not in rows]
        if missing:
            raise BadCheckpoint(f"a game was live on the row {missing[0]!r}, which is not in the pool")
        self.dealt, self.done = state["dealt"], []
        self._games = [self._begun(rows[saved["row"]], saved["number"]) for saved in state["games"]]
        for game, saved in zip(self._games, state["games"], strict=True):
            for text in saved["said"]:
                game.act(Answer(text))

    def _said(self, game: Live, choice: int) -> float:
        actions = self.task.actions
        assert actions is not None
        try:
            text = actions.text(choice, game.step.observation.legal)
        except LookupError:
            text = ""
        return self.task.total(game.act(Answer(text)), self.weights)

    def _deal(self) -> Live:
        [row] = self.sampler.draw(1)
        self.dealt += 1
        return self._begun(row, self.dealt - 1)

    def _begun(self, row: Any, number: int) -> Live:
        game = Live(self.task, row, number, self.seed, self.split)
        if game.step.ended is not None or game.seat != "agent":
            raise BadSetting(f"{self.task.identity} asks the seat {game.seat!r} first; a learner of turns plays tasks whose one seat is 'agent'")
        return game
