"""Many games at once as one Gymnasium vector environment: the same steps as single environments, faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.core.spaces import AnyText
from loquent.errors import BadSetting, InvalidAction
from loquent.tasks.reading import games
from loquent.tasks.reading.actions import Commands, Vocabulary
from loquent.tasks.reading.commands import NEXT, NOT_A_COMMAND, STOP
from loquent.tasks.reading.games import Game
from loquent.tasks.reading.options import QUESTION_MEMORY
from loquent.tasks.reading.scores import sufficient
from loquent.tasks.reading.task import Reading

BLOCK = 256  # rows are drawn in blocks of episodes, as single environments draw them
MOST_CHARACTERS = 65_536


class ReadingVector(gym.vector.VectorEnv[Any, Any, Any]):
    """Games of reading that are stepped together; each game that ended begins anew at the next step.

    Game i is the single environment `loquent/Reading-v0` (form "index", view "text") with the seed
    `seed + i`: equal actions give equal texts, rewards and ends. An action is a number of `task.actions`; a
    factored policy makes it with `task.actions.number(command, query)`.

    `infos` is empty at most steps, for speed; what a network reads is asked for: `question`, `memory`,
    `queries`, `action_masks`.

    Raises:
        BadSetting: the task has an answer phase, or takes any text.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - Gymnasium's own shape

    def __init__(self, task: Reading, num_envs: int = 20, *, split: str = "train") -> None:
        if task.options.answer_phase or not isinstance(task.actions, Commands):
            raise BadSetting(
                "a vector environment has numbered commands only; set answer_phase=false, and queries other "
                "than 'any'"
            )
        self.task, self.num_envs, self.split = task, num_envs, split
        self._actions = task.actions
        self.single_observation_space = AnyText(MOST_CHARACTERS)
        self.single_action_space = spaces.Discrete(len(task.actions))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rows = task.rows(split)
        if not self._rows:
            raise BadSetting(f"{task.identity} has no row in {split} to draw from")
        self._plain = task.actions.plain
        self._words = task.actions.words if isinstance(task.actions, Vocabulary) else ()
        self._dynamic = task.options.queries == QUESTION_MEMORY
        self._seed = 0
        self._games: list[Game] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin all games; the same seed gives the same games.

        Raises:
            BadSetting: there are options; single environments have them.
        """
        if options:
            raise BadSetting(f"options = {options!r:.80}: the vector environment takes none")
        super().reset(seed=seed)
        if seed is not None or not self._games:
            self._seed = int(self.np_random.integers(2**31)) if seed is None else Key(seed).seed
            self._number = [0] * self.num_envs
            self._blocks: list[list[float]] = [[] for _ in range(self.num_envs)]
        self._games = [self.task.game(self._rows[0])] * self.num_envs  # replaced below
        self._cursor, self._used = [0] * self.num_envs, [0] * self.num_envs
        self._memory: list[tuple[int, ...]] = [()] * self.num_envs
        self._over = [False] * self.num_envs
        return tuple([self._begin(i) for i in range(self.num_envs)]), {}

    def _begin(self, i: int) -> str:
        """Begin the next game of a place; returns its first text."""
        number, seed = self._number[i], self._seed + i
        self._number[i] = number + 1
        block, place = divmod(number, BLOCK)
        if not place:
            draws = Key(seed, ("reset", self.split, block)).generator().random(BLOCK)
            self._blocks[i] = draws.tolist()
        row = self._rows[int(self._blocks[i][place] * len(self._rows))]
        step = self.task.start(row, Key(seed, (row.id, number, "task")))
        state = step.state
        self._games[i], self._cursor[i], self._memory[i] = state.game, state.cursor, state.memory
        self._used[i], self._over[i] = 0, False
        return step.observation.text

    def step(
        self, actions: Sequence[int] | NDArray[np.integer[Any]]
    ) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act in every game.

        Raises:
            InvalidAction: an action is not a number in the action space, or there are too few or too many.
        """
        numbers = actions.tolist() if isinstance(actions, np.ndarray) else actions
        if len(numbers) != self.num_envs or not all(0 <= n < len(self._actions) for n in numbers):
            raise InvalidAction(
                f"the actions {numbers!r:.80} are wrong; there must be {self.num_envs} numbers from 0 to "
                f"{len(self._actions) - 1}"
            )
        cursors, memories, budget = self._cursor, self._memory, self.task.options.steps
        rewards, ended = [0.0] * self.num_envs, [False] * self.num_envs
        texts = []
        for i, action in enumerate(numbers):
            if self._over[i]:
                texts.append(self._begin(i))
                continue
            used = self._used[i] = self._used[i] + 1
            moved = self._moved(i, action)
            if moved is None:  # the action is "stop"
                texts.append("")
            elif moved < 0:
                rewards[i] = -self.task.spec.rewards["invalid"]
                texts.append(f"{NOT_A_COMMAND}\n")
            else:
                document, memory = self._games[i].document, memories[i]
                texts.append(self._text(i, moved, action))
                cursors[i], place = moved, document.first_equal[moved]
                if place not in memory:
                    memories[i] = (*memory, place)[-self.task.options.memory :]
            if moved is None or used >= budget:
                rewards[i] += self.task.spec.rewards["sufficient"] * self._sufficient(i)
                ended[i] = self._over[i] = True
        flags = np.array(ended)
        return tuple(texts), np.array(rewards), flags, np.zeros(self.num_envs, np.bool_), {}

    def _moved(self, i: int, action: int) -> int | None:
        """The cursor after an action; None for "stop", -1 for a slot without a query."""
        cursor, document, m = self._cursor[i], self._games[i].document, len(self._plain)
        if action < m:
            verb = self._plain[action]
            if verb == STOP:
                return None
            return (cursor + (1 if verb == NEXT else -1)) % len(document.ranges)
        queries = self._words or self._games[i].queries
        if self._dynamic:
            queries = self.queries(i)
        if action - m >= min(len(queries), self._actions.size):
            return -1
        found = self.task.find(document, cursor, queries[action - m])
        self._missed = not found[1]
        return found[0]

    def _text(self, i: int, cursor: int, action: int) -> str:
        options, shown = self.task.options, self._games[i].document.shown
        if options.expose_found and action >= len(self._plain) and self._missed:
            return "not found\n"
        return (
            f"{cursor + 1}/{len(shown)} {shown[cursor]}\n"
            if options.reveal_position
            else f"{shown[cursor]}\n"
        )

    def _sufficient(self, i: int) -> bool:
        game = self._games[i]
        normalised = game.document.normalised
        memory = [normalised[place] for place in self._memory[i]]
        return sufficient(game.needles, memory, self.task.options.match)

    def question(self, i: int) -> str:
        """The question of a game: its tokens with spaces between them."""
        return self._games[i].question

    def memory(self, i: int) -> tuple[str, ...]:
        """The sentences in the memory of a game, oldest first."""
        sentences = self._games[i].document.sentences
        return tuple([sentences[place] for place in self._memory[i]])

    def queries(self, i: int) -> tuple[str, ...]:
        """The legal queries of a game, in the order of the actions."""
        if self._words:
            return self._words
        queries = self._games[i].queries
        return games.with_memory(queries, self.memory(i)) if self._dynamic else queries

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[num_envs, actions]: True for legal actions."""
        counts = [len(self._plain) + len(self.queries(i)) for i in range(self.num_envs)]
        return np.arange(len(self._actions))[None] < np.array(counts)[:, None]
