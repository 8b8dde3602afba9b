"""Many games at once as one Gymnasium vector environment: the same steps as single environments, faster."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from loquent.core import registry
from loquent.core.options import from_values
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.data.features.spaces import AnyText
from loquent.errors import BadSetting, InvalidAction
from loquent.tasks.reading import games
from loquent.tasks.reading.actions import Commands, Vocabulary
from loquent.tasks.reading.commands import NEXT, NOT_A_COMMAND, STOP
from loquent.tasks.reading.corpus.documents import Document
from loquent.tasks.reading.games import Game
from loquent.tasks.reading.options import QUESTION_MEMORY
from loquent.tasks.reading.scores import sufficient
from loquent.tasks.reading.search.backends import exact
from loquent.tasks.reading.task import NOT_FOUND, Reading

BLOCK = 256  # rows are drawn in blocks of episodes, as single environments draw them
MOST_CHARACTERS = 65_536
_INVALID = f"{NOT_A_COMMAND}\n"


class ReadingVector(gym.vector.VectorEnv[Any, Any, Any]):
    """Games of reading that are stepped together; each game that ended begins anew at the next step.

    Game i is the single environment `loquent/Reading-v0` (form "index", view "text") with the seed
    `seed + i`: equal actions give equal texts, rewards and ends. An action is a number of `task.actions`; a
    factored policy makes it with `task.actions.join((command, query))`.

    `infos` is empty at most steps, for speed; what a network reads is asked for: `row`, `question`,
    `memory`, `queries`, `action_masks`.

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
        self._size, self._slots = len(task.actions), task.options.memory
        self._exact, self._revealed = task.find is exact, task.options.reveal_position
        self._simple = task.options.start == "first" and not task.options.distractors
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
        self._documents = [game.document for game in self._games]
        self._row = [self._rows[0]] * self.num_envs
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
        row = self._row[i] = self._rows[int(self._blocks[i][place] * len(self._rows))]
        self._used[i], self._over[i] = 0, False
        if self._simple:  # as `task.start`, without its key and observation
            game, cursor = self.task.game(row), 0
        else:
            state = self.task.start(row, Key(seed, (row.id, number, "task"))).state
            game, cursor = state.game, state.cursor
        document = game.document
        self._games[i], self._documents[i], self._cursor[i] = game, document, cursor
        self._memory[i] = (document.first_equal[cursor],)
        return f"Question: {game.asked}\n{self.task.line(document, cursor)}"

    def step(
        self, actions: Sequence[int] | NDArray[np.integer[Any]]
    ) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act in every game.

        Raises:
            InvalidAction: an action is not a number in the action space, or there are too few or too many.
        """
        numbers = actions.tolist() if isinstance(actions, np.ndarray) else actions
        if len(numbers) != self.num_envs or min(numbers) < 0 or max(numbers) >= self._size:
            raise InvalidAction(
                f"the actions {numbers!r:.80} are wrong; there must be {self.num_envs} numbers from 0 to "
                f"{self._size - 1}"
            )
        rewards, ended = [0.0] * self.num_envs, [False] * self.num_envs
        texts = []
        plain, m, over, used, cursors = self._plain, len(self._plain), self._over, self._used, self._cursor
        documents, memories, budget = self._documents, self._memory, self.task.options.steps
        for i, action in enumerate(numbers):
            if over[i]:
                texts.append(self._begin(i))
                continue
            count = used[i] = used[i] + 1
            document, moved, halted = documents[i], cursors[i], False
            if action >= m:
                moved, text = self._searched(i, action - m, document, moved)
            else:
                verb = plain[action]
                if verb == STOP:
                    halted, text = True, ""
                else:
                    moved = (moved + (1 if verb == NEXT else -1)) % len(document.ranges)
                    text = None
            if text is None:
                cursors[i] = moved
                text = self.task.line(document, moved) if self._revealed else document.lines[moved]
                place, memory = document.first_equal[moved], memories[i]
                if place not in memory:
                    memories[i] = (*memory, place)[-self._slots :]
            elif text == _INVALID:
                rewards[i] = -self.task.spec.rewards["invalid"]
            texts.append(text)
            if halted or count >= budget:
                rewards[i] += self.task.spec.rewards["sufficient"] * self._sufficient(i)
                ended[i] = over[i] = True
        return tuple(texts), np.array(rewards), np.array(ended), np.zeros(self.num_envs, np.bool_), {}

    def _searched(self, i: int, slot: int, document: Document, cursor: int) -> tuple[int, str | None]:
        """The cursor after a search, and the text if it is not the sentence there."""
        queries = self.queries(i) if self._dynamic else self._words or self._games[i].queries
        if slot >= len(queries):
            return cursor, _INVALID
        if self._exact:
            places = document.index.get(queries[slot])
            if places is not None:
                after = bisect_right(places, cursor)
                return (places[after] if after < len(places) else places[0]), None
            found = False
        else:
            cursor, found, _ = self.task.find(document, cursor, queries[slot])
        return cursor, NOT_FOUND if self.task.options.expose_found and not found else None

    def _sufficient(self, i: int) -> bool:
        game = self._games[i]
        normalised = game.document.answer_words
        memory = [normalised[place] for place in self._memory[i]]
        return sufficient(game.needles, memory, self.task.options.match)

    def row(self, i: int) -> Row:
        """The row of a game."""
        return self._row[i]

    def question(self, i: int) -> str:
        """The question of a game: its tokens with spaces between them."""
        return self._games[i].question

    def sentence(self, i: int) -> str:
        """The current sentence of a game: its tokens with spaces between them."""
        return self._games[i].document.sentences[self._cursor[i]]

    def memory(self, i: int) -> tuple[str, ...]:
        """The sentences in the memory of a game, oldest first."""
        sentences = self._games[i].document.sentences
        return tuple([sentences[place] for place in self._memory[i]])

    def queries(self, i: int) -> tuple[str, ...]:
        """The legal queries of a game, in the order of the actions."""
        if self._words:
            return self._words
        game = self._games[i]
        return games.with_memory(game, self.memory(i)) if self._dynamic else game.queries

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[num_envs, actions]: True for legal actions."""
        counts = [len(self._plain) + len(self.queries(i)) for i in range(self.num_envs)]
        return np.arange(len(self._actions))[None] < np.array(counts)[:, None]


def make(
    num_envs: int = 1,
    *,
    task: str = "reading",
    split: str = "train",
    form: str = "index",
    view: str = "text",
    **options: Any,
) -> ReadingVector:
    """The vector environment of `gymnasium.make_vec(id, n, vectorization_mode="vector_entry_point")`.

    Args:
        form, view: must be "index" and "text".
        options: those of the task.

    Raises:
        BadSetting: an option is unknown or has a wrong type, or the form or the view is another one.
    """
    for name, value, only in (("form", form, "index"), ("view", view, "text")):
        if value != only:
            raise BadSetting(
                f"{name} = {value!r:.80}: must be {only!r}; use gymnasium.make_vec(id, "
                'vectorization_mode="sync") for all others'
            )
    kind = registry.resolve("task", task)
    return ReadingVector(kind(from_values(kind.Options, options, f"task {task}")), num_envs, split=split)
