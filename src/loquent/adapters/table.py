"""Parallel episodes for a learner that steps them itself.

A sampler draws their rows, and an ended episode is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.agent import Agent, Answer
from loquent.core.episode import Episode
from loquent.core.live import Live
from loquent.core.task import Observation, Task
from loquent.core.values import Record
from loquent.data.pools import Sampler
from loquent.data.tables.rows import by_id
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import saved_state
from loquent.rewards import compose
from loquent.rewards.learner import Learner


@dataclass(frozen=True)
class Transition:
    """The result of an action.

    If the episode ended, `last` is its last observation, and `observation` the next episode's first.
    """

    observation: Observation
    reward: float
    last: Observation | None = None
    bootstraps: bool = False  # whether the value of `last` is bootstrapped, as after "cut"


class Table:
    """Parallel episodes on rows from a sampler.

    The rewards of the recipe's terms are added to an episode's last step. The first episodes start on first
    access, so the sampler's pool may be empty before.

    Args:
        places: the number of parallel episodes.
        terms, weights: as `rewards.compose.build` returns them.
        learner: normalises the rewards of terms by the episodes that have ended so far.
        teacher: the agent whose actions a cloning learner imitates.

    Raises:
        BadSetting: the task has no set of actions, or asks another seat than "agent".
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
            raise BadSetting(
                f"{task.identity} takes free text; choose a task with a set of actions, or a learner "
                "of tokens"
            )
        self.task, self.sampler, self.seed, self.split = task, sampler, seed, split
        self.terms, self.weights, self.learner, self.teacher = tuple(terms), weights, learner, teacher
        self.places, self.started = places, 0
        self.done: list[Episode] = []  # the episodes that have ended since `take`
        self._games: list[Live] = []

    @property
    def games(self) -> list[Live]:
        """The running episodes."""
        if not self._games:
            self._games = [self._start_next() for _ in range(self.places)]
        return self._games

    @property
    def observations(self) -> list[Observation]:
        """The current observation of each episode."""
        return [game.step.observation for game in self.games]

    def act(self, choices: Sequence[int | str]) -> list[Transition]:
        """Take one action in each episode: the action with a number, or a text.

        The number of an empty slot gives the answer "", which the task judges.
        """
        rewards = [self._step(game, choice) for game, choice in zip(self.games, choices, strict=True)]
        over = [i for i, game in enumerate(self.games) if game.step.ended is not None]
        before = [self.games[i].episode(Record(agent="table")) for i in over]
        rows = {self.games[i].row.id: self.games[i].row for i in over}
        scored = compose.apply(self.terms, before, rows, self.learner) if self.terms else before
        last: dict[int, tuple[Observation, bool]] = {}
        for i, plain, full in zip(over, before, scored, strict=True):
            rewards[i] += full.total(self.weights) - plain.total(self.weights) if self.terms else 0.0
            last[i] = self.games[i].step.observation, full.bootstraps
            self.games[i] = self._start_next()
        self.done += scored
        nothing = None, False
        return [
            Transition(game.step.observation, rewards[i], *last.get(i, nothing))
            for i, game in enumerate(self.games)
        ]

    def teacher_actions(self) -> list[int]:
        """The number of the action that the teacher takes in each episode.

        Raises:
            BadSetting: the teacher's answer is not a legal action of the task.
        """
        assert self.teacher is not None
        assert self.task.actions is not None
        questions = [game.question() for game in self.games]
        numbers = []
        for question, answer in zip(questions, self.teacher.answer(questions), strict=True):
            number = self.task.actions.index(answer.text, question.observation.legal)
            if number is None:
                what = (
                    f"the teacher {self.teacher.name} answers {answer.text!r:.80} in episode {question.game}"
                )
                raise BadSetting(
                    f"{what}, which is not a legal action; choose a teacher that takes legal actions"
                )
            numbers.append(number)
        return numbers

    def take(self) -> list[Episode]:
        """The episodes that have ended since the last call."""
        done, self.done = self.done, []
        return done

    def state_dict(self) -> dict[str, Any]:
        """The running episodes: their rows, numbers and answers so far.

        The sampler's owner saves the sampler.
        """
        games = [
            {
                "row": game.row.id,
                "number": game.number,
                "said": [turn.text for turn in game.turns if turn.seat == "agent"],
            }
            for game in self._games
        ]
        return {"dealt": self.started, "games": games}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replay the saved episodes up to their current step.

        Raises:
            BadCheckpoint: the number of episodes differs, or the pool lacks the row of one.
        """
        games, dealt = saved_state.items(state, "games"), saved_state.count(state, "dealt")
        if games and len(games) != self.places:
            what = f"the checkpoint has {len(games)} running episodes, and the settings ask for {self.places}"
            raise BadCheckpoint(f"{what}; resume with the settings of the run")
        rows = by_id(self.sampler.pool.rows)
        missing = [row for saved in games if (row := saved_state.text(saved, "row")) not in rows]
        if missing:
            what = f"the checkpoint has a running episode on the row {missing[0]!r}, which is not in the pool"
            raise BadCheckpoint(f"{what}; resume with the data of the run")
        self.started, self.done = dealt, []
        self._games = [
            self._start(rows[saved["row"]], saved_state.count(saved, "number", most=dealt - 1))
            for saved in games
        ]
        for game, saved in zip(self._games, games, strict=True):
            for text in saved_state.items(saved, "said"):
                if not isinstance(text, str) or game.step.ended is not None:
                    raise saved_state.wrong(
                        "said", saved["said"], "the answers of an episode that has not ended"
                    )
                game.act(Answer(text))

    def _step(self, game: Live, choice: int | str) -> float:
        actions = self.task.actions
        assert actions is not None
        try:
            legal = game.step.observation.legal
            text = choice if isinstance(choice, str) else actions.text(int(choice), legal)
        except LookupError:
            text = ""
        return self.task.total(game.act(Answer(text)), self.weights)

    def _start_next(self) -> Live:
        [row] = self.sampler.draw(1)
        self.started += 1
        return self._start(row, self.started - 1)

    def _start(self, row: Any, number: int) -> Live:
        game = Live(self.task, row, number, self.seed, self.split)
        if game.step.ended is not None or game.seat != "agent":
            what = f"{self.task.identity} asks the seat {game.seat!r} first"
            raise BadSetting(f"{what}; choose a task whose only seat is 'agent'")
        return game
