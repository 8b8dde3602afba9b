"""Any task as a Gymnasium environment, in three forms.

text    an action is a whole answer, an observation the text that is new for the reader.
index   an action is the number of one of the task's actions; an observation is text, or what a view makes of it.
token   an action is one token (a byte, or a token of a `tokenizer.json`); an answer is over at its end token or at the horizon.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent import errors, registry
from loquent.actions import MASK_LIMIT
from loquent.adapters.arguments import check_lengths, check_names, check_players, made, reset_options, view_of
from loquent.adapters.drawn_rows import DrawnRows, sample
from loquent.adapters.tokens import Bytes, TokenizerFile, Vocabulary
from loquent.agent import Agent, Answer
from loquent.episode import TASK, Episode, Tokens
from loquent.errors import BadRenderMode, BadSetting, BrokenAgent, BrokenTask, EpisodeOver, LoquentError, kind_of
from loquent.live import Live
from loquent.seeding import Key
from loquent.spaces import AnyText
from loquent.task import CUT, Row, Stopped, Task
from loquent.values import EMPTY, Record, escaped

FORMS = ("text", "index", "token")
TOO_LONG = "length"  # the rule by which an over-long answer ends in the text form
SHOWN_LEGAL = 256  # legal texts are listed in `info` up to so many actions


class InvalidAction(errors.InvalidAction, gym.error.InvalidAction):
    """An action is none of the action space: both Loquent's error and Gymnasium's."""


class ResetNeeded(EpisodeOver, gym.error.ResetNeeded):
    """There is no game, or it has ended: both Loquent's error and Gymnasium's."""


class Environment(gym.Env[Any, Any]):
    """A task as a Gymnasium environment.

    `info` holds `ended` (a rule's name, "cut" or None), `bootstrap`, `rewards` (named and raw), `turn`, `row`, `split`, `number`,
    the `observation` itself with its fields, after an answer its `text`, what the task itself tells (`Task.told`: a score, after the end
    what was right), and for tasks with actions `legal` (their texts, up to 256 actions) and in the index form `action_mask`.

    Example:
        >>> import gymnasium, loquent
        >>> env = gymnasium.make("loquent/Wordle-v0", rule="official")
        >>> observation, info = env.reset(seed=0)
        >>> env.step("crane")[1]
        -1.0

    Args:
        task: a task, or the name of a registered one, built with `options`.
        form: "text", "index" (for tasks with actions) or "token".
        split: which rows are played.
        seat: the seat this environment's user takes; `agents` answer for the others.
        view: how an observation is shown: "text", "vector" (by `featurizer`), one of the task's own (`task.views`, such as "dict"), a pair
            (space, function from the observation to an array), or "module:NAME" of one. Without it the text, in the index form the task's
            dictionary where it has one.
        featurizer: of view "vector": a `features.Featurizer`, or the settings of one; hashed n-grams without it.
        priority_scale: a row is drawn in proportion to weight ** priority_scale; 0 draws all alike.
        terms: reward terms, scored inside `step` at the end: an episode has the same total as `rewards.apply` gives it.
        weights: of rewards and terms by name; without them the task's own, and 1 for each term.
        tokenizer: a folder with a tokenizer.json, for the token form; without one tokens are bytes.
        max_length: characters of an answer in the text form; a longer one is stopped there, and ends by the rule "length" where the
            task has a horizon.

    Raises:
        BadSetting: an argument or an option of the task has an unknown name, a wrong type or a value outside its range.
        UnknownName: no task is named so.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own shape

    def __init__(
        self,
        task: Task | str,
        *,
        form: str = "text",
        split: str = "train",
        seat: str = "agent",
        agents: Mapping[str, Agent] | None = None,
        view: tuple[Any, Any] | str | None = None,
        featurizer: Any = None,
        priority_scale: float = 0.0,
        terms: Sequence[Any] = (),
        weights: Mapping[str, float] | None = None,
        tokenizer: str | None = None,
        prompt_length: int = 512,
        answer_length: int = 256,
        max_length: int = 4096,
        max_observation: int = 65_536,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.task = made(task, options)
        check_names(split=split, seat=seat)
        check_lengths(prompt_length=prompt_length, answer_length=answer_length, max_length=max_length, max_observation=max_observation)
        check_players(terms, agents, weights)
        if form not in FORMS:
            raise BadSetting(f"form = {form!r} is none of {', '.join(FORMS)}")
        if form == "index" and self.task.actions is None:
            raise BadSetting(f"{self.task.identity} takes free text and has no index form; text or token is right")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadRenderMode(f"render_mode = {render_mode!r}; 'ansi', 'human' or None is right")
        self.form, self.split, self.seat, self.render_mode = form, split, seat, render_mode
        self.agents, self.terms = dict(agents or {}), tuple(terms)
        self.weights = Record(weights) if weights is not None else Record({**self.task.spec.rewards, **{term.name: 1.0 for term in self.terms}})
        self.view = view_of(self.task, view, featurizer, form)
        self.drawn_rows = DrawnRows(self.task, priority_scale)
        self._picture = registry.imported(self.task.views["ansi"]) if "ansi" in self.task.views else None
        constant = self._constants()
        self._legal, self._mask = constant.get("legal"), constant.get("action_mask")
        self.max_length, self.max_observation = max_length, max_observation
        self._vocabulary: Vocabulary | None = None
        self._set_spaces(tokenizer, prompt_length, answer_length)
        self._size = int(self.action_space.n) if isinstance(self.action_space, spaces.Discrete) else 0
        self._seed: int | None = None
        self._count = 0
        self._game: Live | None = None
        self._pending: list[Record] = []  # rewards since the last answer of this seat
        self._drawn: list[int] = []
        self._prompt: Sequence[int] = ()
        self._over: str | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a game. Games are numbered from each seeding on, and their rows drawn; the same seed gives the same games.

        Args:
            options: `split`; one of `index`, `id` and `sample` (a row, or the fields of one; the numbering does not go on) to choose the
                row; `number` to play the game that `play` gives this number.

        Raises:
            BadSetting, UnknownName: an unknown option, split or row, two rows at once, no row at all, or a number or seed that is none.
            BadRow: the sample is no row of this task.
        """
        seed = None if seed is None else Key(seed).seed
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._count = seed, 0
        elif self._seed is None:
            self._seed = int(self.np_random.integers(2**31))
        asked = reset_options(options)
        split, number = asked.get("split", self.split), asked.get("number", self._count)
        row = self.drawn_rows.chosen(split, asked) if asked else None
        if "sample" not in asked:
            self._count += 1
        row = row or self.drawn_rows.draw(split, number, self._seed)
        self._game = Live(self.task, row, number, self._seed, split, self.seat)
        self._pending, self._over = [], None
        self._others(self._game)
        if self._game.step.ended is not None:
            raise BrokenTask(f"{self.task.identity} ended ({self._game.step.ended}) before the seat {self.seat!r} was asked once")
        self._begin_answer(self._game)
        if self.render_mode == "human":
            self.render()
        return self._seen(self._game), self._info(self._game, EMPTY)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Give an answer, or one token of it.

        Raises:
            InvalidAction: the action is no text, or no number from the action space. An answer's text never raises.
            ResetNeeded: there is no game, or it has ended; call reset.
        """
        game = self._game
        if game is None or self._over is not None:
            raise ResetNeeded("reset begins a game" if game is None else f"{self.task.identity} ended ({self._over}); reset begins another game")
        if self.form == "index":
            text = self._chosen(game, action)
            rewards = game.choose(text)
        else:
            answer = self._answer(game, action)
            if answer is None:  # the answer goes on
                return self._seen(game), 0.0, False, False, self._info(game, EMPTY)
            text = answer.text
            rewards = game.act(answer)
        step = game.step
        if step.ended is None and step.observation.seat != self.seat:
            self._pending.append(rewards)
            self._others(game)
            rewards, step = EMPTY, game.step
        self._over = step.ended
        if self._over == CUT and self.form == "text":
            self._over = TOO_LONG
        if self._pending or (self.terms and self._over is not None):
            rewards = _sum([*self._pending, rewards, self._scored(game)])
            self._pending = []
        if self._vocabulary is not None and (self._over is None or step.observation.text):
            self._begin_answer(game)
        terminated, truncated = (False, False) if self._over is None else self.task.flags(self._over)
        info = self._info(game, rewards, text)
        if self.render_mode == "human":
            self.render()
        return self._seen(game), self.task.total(rewards, self.weights), terminated, truncated, info

    def render(self) -> str | None:  # type: ignore[override]
        """The game so far as text, control characters spelled out: returned ("ansi") or printed ("human")."""
        if self.render_mode is None:
            gym.logger.warn("render was called, and the environment has no render_mode; make(id, render_mode='ansi') gives it one")
            return None
        if self._game is None:
            return None
        if self._picture is not None:
            shown = f"Step {self._game.step.turn}\n{escaped(self._picture(self._game.step.observation))}\n"
        else:
            shown = "".join(f"{turn.seat}: {escaped(turn.text).rstrip(chr(10))}\n" for turn in self._game.turns)
        if self.render_mode == "ansi":
            return shown
        print(shown, end="")
        return None

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[n]: True for each action that is legal now, as sb3-contrib's MaskablePPO asks for it.

        Raises:
            LoquentError: this is not the index form, or the actions are too many. ResetNeeded: there is no game.
        """
        if self.form != "index" or self.task.actions is None:
            raise LoquentError(f"only the index form has masks of actions; this is the form {self.form!r}")
        if self._game is None:
            raise ResetNeeded("reset begins a game")
        return self.task.actions.mask(self._game.step.observation.legal)

    def add_sample(self, given: Row | Mapping[str, Any], weight: float | None = None, *, split: str | None = None) -> Row:
        """Add a row, or the fields of one, to those that are drawn; a game under way is unaffected. Returns the row.

        Args:
            weight: None takes the row's field `weight`, or 1.

        Raises:
            BadRow: it is none of this task, or there is a row of its id. BadSetting: the weight is none. UnknownName: no split is named so.
        """
        row = sample(self.task, given)
        self.drawn_rows.add(row, weight, split or self.split)
        return row

    def episode(self) -> Episode:
        """The record of the game so far, without the scores of terms."""
        if self._game is None:
            raise EpisodeOver("reset begins a game")
        names = Record({self.seat: "gymnasium", **{seat: agent.name for seat, agent in self.agents.items()}})
        return dataclasses.replace(self._game.episode(names), ended=self._over)

    def _set_spaces(self, tokenizer: str | None, prompt_length: int, answer_length: int) -> None:
        text = AnyText(self.max_observation)
        self.observation_space = self.view[0] if self.view else text
        if self.form == "text":
            self.action_space = AnyText(self.max_length)
        elif self.form == "index":
            assert self.task.actions is not None
            self.action_space = spaces.Discrete(len(self.task.actions))
        else:
            if self.view:
                raise BadSetting("the token form has its own view; leave out `view`")
            if tokenizer is not None and not isinstance(tokenizer, str | Path):
                raise BadSetting(f"tokenizer = {tokenizer!r:.80} is {kind_of(tokenizer)}; a folder with a tokenizer.json is right")
            self._vocabulary = TokenizerFile(tokenizer, prompt_length, answer_length) if tokenizer else Bytes(prompt_length, answer_length)
            self.action_space, self.observation_space = self._vocabulary.actions, self._vocabulary.space

    def _others(self, game: Live) -> None:
        while game.step.ended is None and game.seat != self.seat:
            agent = self.agents.get(game.seat)
            if agent is None:
                raise BrokenAgent(f"{self.task.identity} asks the seat {game.seat!r}, and no agent sits there: agents={{{game.seat!r}: ...}}")
            answers = agent.answer([game.asked()])
            if len(answers) != 1:
                raise BrokenAgent(f"{agent.name} was asked 1 question and gave {len(answers)} answers")
            self._pending.append(game.act(answers[0]))

    def _begin_answer(self, game: Live) -> None:
        self._drawn = []
        if self._vocabulary is not None:
            seen = [*([self.task.spec.instruction] if self.task.spec.instruction else []), *(turn.text for turn in game.turns if self._knows(turn))]
            self._prompt = self._vocabulary.encode("\n".join(text.rstrip("\n") if i < len(seen) - 1 else text for i, text in enumerate(seen)))

    def _knows(self, turn: Any) -> bool:
        return turn.seat == self.seat or (turn.seat == TASK and turn.to == self.seat)

    def _chosen(self, game: Live, action: Any) -> str:
        """The text of an action's number; "" for a slot that is empty now: nothing is said, and the task judges that."""
        number = action if type(action) is int and 0 <= action < self._size else _number(action, self._size)
        try:
            return self.task.actions.text(number, game.step.observation.legal)  # type: ignore[union-attr]
        except LookupError:
            return ""

    def _answer(self, game: Live, action: Any) -> Answer | None:
        if self.form == "text":
            if not isinstance(action, str):
                raise InvalidAction(f"{action!r:.80} is {kind_of(action)}; a text is right")
            stopped: Stopped = "length" if len(action) > self.max_length else "end"
            return Answer(action[: self.max_length], stopped)
        assert self._vocabulary is not None
        number = _number(action, self._size)
        self._drawn.append(number)
        ended = number == self._vocabulary.end
        if not ended and len(self._drawn) < self._vocabulary.length:
            return None
        unknown = np.full(len(self._drawn), np.nan)  # who drew these tokens did not tell how likely they were
        tokens = Tokens(np.array(self._drawn, dtype=np.int64), unknown, unknown)
        return Answer(self._vocabulary.text(self._drawn), "end" if ended else "length", tokens)

    def _scored(self, game: Live) -> Record:
        """What terms add to the rewards, once the game is over."""
        if self._over is None or not self.terms:
            return EMPTY
        from loquent import rewards  # metrics are heavy, and few environments have terms

        before = self.episode()
        after = rewards.apply(self.terms, [before], {game.row.id: game.row})[0].rewards
        return Record({name: value - before.rewards.get(name, 0.0) for name, value in after.items() if value != before.rewards.get(name)})

    def _seen(self, game: Live) -> Any:
        if self._vocabulary is not None:
            return self._vocabulary.array(self._prompt, self._drawn)
        if self.view:
            return self.view[1](game.step.observation)
        text = game.step.observation.text
        if len(text) > self.max_observation:
            raise BadSetting(
                f"an observation has {len(text):,} characters; give the environment a larger max_observation than {self.max_observation:,}"
            )
        return text

    def _info(self, game: Live, rewards: Record, said: str | None = None) -> dict[str, Any]:
        step, over = game.step, self._over
        told = step.observation
        info: dict[str, Any] = {
            "ended": over,
            "bootstrap": over is None or over == CUT,
            "rewards": dict(rewards),
            "turn": step.turn,
            "row": game.row.id,
            "split": game.split,
            "number": game.number,
            "seat": told.seat,
            "observation": told,
        }
        if said is not None:
            info["text"] = said
        if step.turn == 0 and self.task.spec.instruction:
            info["instruction"] = self.task.spec.instruction
        if told.legal is not None:
            info.update(self._choices(told.legal))
        else:
            if self._legal is not None:
                info["legal"] = self._legal
            if self._mask is not None:
                info["action_mask"] = self._mask.copy()
        info.update(self.task.told(step.state, over))
        return info

    def _constants(self) -> dict[str, Any]:
        """What `info` tells of the actions where all are always legal; nothing for a set that depends on what is legal now."""
        try:
            return self._choices(None)
        except LoquentError:
            return {}

    def _choices(self, legal: Any) -> dict[str, Any]:
        actions = self.task.actions
        told: dict[str, Any] = {}
        if actions is None:
            return told
        if len(actions) <= SHOWN_LEGAL:
            told["legal"] = tuple(actions.text(i, legal) for i in range(len(actions)) if actions.contains(legal, i))
        if self.form == "index" and len(actions) <= MASK_LIMIT:
            told["action_mask"] = actions.mask(legal).astype(np.int8)
        return told


def _number(action: Any, size: int) -> int:
    """An integer of any kind below `size`, an array of one number too; InvalidAction for anything else."""
    if isinstance(action, np.ndarray) and action.size == 1:
        action = action.reshape(())[()]
    if isinstance(action, bool | np.bool_) or not isinstance(action, int | np.integer) or not 0 <= action < size:
        raise InvalidAction(f"{action!r:.80} is no action; an integer from 0 to {size - 1} is right")
    return int(action)


def _sum(records: Sequence[Record]) -> Record:
    records = [record for record in records if record]
    if len(records) < 2:
        return records[0] if records else EMPTY
    names = dict.fromkeys(name for record in records for name in record)
    return Record({name: float(sum(record.get(name, 0.0) for record in records)) for name in names})
