"""Any task as a Gymnasium environment, in three forms.

text    an action is a complete answer; an observation is the new text for the reader.
index   an action is the number of one of the task's actions; an observation is text, or the output of a view.
token   an action is a token (a byte, or a token of a `tokenizer.json`);
an end token or the horizon ends an answer.
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

from loquent import errors
from loquent.adapters.arguments import (
    build_task,
    check_lengths,
    check_names,
    check_players,
    reset_options,
    view_of,
)
from loquent.adapters.drawn_rows import DrawnRows, sample
from loquent.adapters.tokens import Bytes, TokenizerFile, Vocabulary
from loquent.core import registry
from loquent.core.actions import MASK_LIMIT
from loquent.core.agent import Agent, Answer
from loquent.core.episode import TASK, Episode, Tokens
from loquent.core.guards.terminal import escaped
from loquent.core.live import Live
from loquent.core.seeding import Key
from loquent.core.spaces import AnyText
from loquent.core.task import CUT, Row, Stopped, Task
from loquent.core.values import EMPTY, Record
from loquent.errors import (
    BadRenderMode,
    BadSetting,
    BrokenAgent,
    BrokenTask,
    EpisodeOver,
    LoquentError,
    kind_of,
)

NO_EPISODE = "there is no episode; call reset to start one"
FORMS = ("text", "index", "token")
TOO_LONG = "length"  # the rule that ends an episode after an over-long answer in the text form
SHOWN_LEGAL = 256  # `info` lists the legal texts of tasks with at most this number of actions


class InvalidAction(errors.InvalidAction, gym.error.InvalidAction):
    """An action is not in the action space: both Loquent's error and Gymnasium's."""


class ResetNeeded(EpisodeOver, gym.error.ResetNeeded):
    """There is no episode, or it has ended: both Loquent's error and Gymnasium's."""


class Environment(gym.Env[Any, Any]):
    """A task as a Gymnasium environment.

    `info` has these keys:
        ended, bootstrap: the name of the rule that ended the episode, "cut" or None;
            whether the next value is bootstrapped.
        rewards: the named rewards of the step, without weights.
        turn, row, split, number, seat: the turn, and the episode's row id, split, number and seat.
        observation: the task's observation with its fields.
        text: after an answer, its text.
        legal, action_mask: for tasks with actions, the legal texts (up to 256 actions);
            in the index form, the mask.
        is_success: after the end, where the task declares success.
    The task adds its own keys (`Task.told`), such as a score, and after the end the solution.

    Example:
        >>> import gymnasium, loquent
        >>> env = gymnasium.make("loquent/Wordle-v0", rule="official")
        >>> observation, info = env.reset(seed=0)
        >>> env.step("crane")[1]
        -1.0

    Args:
        task: a task, or the name of a registered task, which is built with `options`.
        form: "text", "index" (for tasks with actions) or "token".
        split: the split of the rows.
        seat: the seat of this environment's user; `agents` answer for the other seats.
        view: the form of observations: "text", "vector" (by `featurizer`),
            a view of the task (`task.views`, such as "dict"), a pair (space,
            function from an observation to an array), or "module:NAME" of such a pair.
            Default: "text"; in the index form "dict", where the task has it.
        featurizer: for the view "vector": a `features.Featurizer` or its settings; default: hashed n-grams.
        priority_scale: rows are drawn in proportion to weight ** priority_scale; 0:
            all rows are equally likely.
        terms: reward terms, scored in the last `step` of an episode;
            its total is the same as with `rewards.apply`.
        weights: weights of rewards and terms by name; default: the task's weights, and 1 for each term.
        tokenizer: for the token form: a folder with a tokenizer.json; default: tokens are bytes.
        max_length: the most characters of an answer in the text form. A longer answer is truncated;
            where the task has a horizon, the episode then ends by the rule "length".

    Raises:
        BadSetting: an argument or an option of the task has an unknown name,
            a wrong type or a value outside its range.
        UnknownName: no task has this name.
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
        self.task = build_task(task, options)
        check_names(split=split, seat=seat)
        check_lengths(
            prompt_length=prompt_length,
            answer_length=answer_length,
            max_length=max_length,
            max_observation=max_observation,
        )
        check_players(terms, agents, weights)
        if form not in FORMS:
            raise BadSetting(f"form = {form!r} must be one of {', '.join(FORMS)}")
        if form == "index" and self.task.actions is None:
            what = f"{self.task.identity} takes free text, so it has no index form"
            raise BadSetting(f"{what}; use form='text' or form='token'")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadRenderMode(f"render_mode = {render_mode!r} must be 'ansi', 'human' or None")
        self.form, self.split, self.seat, self.render_mode = form, split, seat, render_mode
        self.agents, self.terms = dict(agents or {}), tuple(terms)
        self.weights = (
            Record(weights)
            if weights is not None
            else Record({**self.task.spec.rewards, **{term.name: 1.0 for term in self.terms}})
        )
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

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode. Episodes are numbered from each seeding on;
        the same seed gives the same rows and episodes.

        Args:
            options: `split`; `index`, `id` or `sample` (a row or its fields) to choose the row;
                `number` to get the episode with this number in `play`.
                An episode on a `sample` does not count in the numbering.

        Raises:
            BadSetting, UnknownName: an option, split or row is unknown,
                more than one option chooses the row, there is no row, or a number or seed is invalid.
            BadRow: the sample is not a valid row of this task.
        """
        seed = None if seed is None else Key(seed).seed
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._count = seed, 0
        elif self._seed is None:
            self._seed = int(self.np_random.integers(2**31))
        options = reset_options(options)
        split, number = options.get("split", self.split), options.get("number", self._count)
        row = self.drawn_rows.chosen(split, options) if options else None
        if "sample" not in options:
            self._count += 1
        row = row or self.drawn_rows.draw(split, number, self._seed)
        self._game = Live(self.task, row, number, self._seed, split, self.seat)
        self._pending, self._over = [], None
        self._others(self._game)
        if self._game.step.ended is not None:
            what = (
                f"{self.task.identity} ended ({self._game.step.ended}) before the seat {self.seat!r} had "
                "a turn"
            )
            raise BrokenTask(
                f"{what}; an episode must ask this seat at least once, so fix the task or choose another seat"
            )
        self._begin_answer(self._game)
        if self.render_mode == "human":
            self.render()
        return self._observe(self._game), self._info(self._game, EMPTY)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Give an answer; in the token form, one token of it.

        Raises:
            InvalidAction: the action is not a string, or not a number in the action space.
                The text of an answer never raises.
            ResetNeeded: there is no episode, or it has ended; call reset.
        """
        game = self._game
        if game is None or self._over is not None:
            what = (
                NO_EPISODE
                if game is None
                else f"the episode of {self.task.identity} has ended ({self._over}); call reset"
            )
            raise ResetNeeded(what)
        if self.form == "index":
            text = self._action_text(game, action)
            rewards = game.choose(text)
        else:
            answer = self._answer(game, action)
            if answer is None:  # the answer is not complete
                return self._observe(game), 0.0, False, False, self._info(game, EMPTY)
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
        return self._observe(game), self.task.total(rewards, self.weights), terminated, truncated, info

    def render(self) -> str | None:
        """The episode so far as text, with control characters escaped:
        returned ("ansi") or printed ("human").
        """
        if self.render_mode is None:
            gym.logger.warn("render has no effect without a render_mode; call make(id, render_mode='ansi')")
            return None
        if self._game is None:
            return None
        if self._picture is not None:
            text = f"Step {self._game.step.turn}\n{escaped(self._picture(self._game.step.observation))}\n"
        else:
            text = "".join(
                f"{turn.seat}: {escaped(turn.text).rstrip(chr(10))}\n" for turn in self._game.turns
            )
        if self.render_mode == "ansi":
            return text
        print(text, end="")
        return None

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[n]: True for legal actions; sb3-contrib's MaskablePPO calls this method.

        Raises:
            LoquentError: the form is not "index", or there are too many actions for a mask.
            ResetNeeded: there is no episode.
        """
        if self.form != "index" or self.task.actions is None:
            raise LoquentError(
                f"form = {self.form!r} has no action masks; only the index form has masks: use form='index'"
            )
        if self._game is None:
            raise ResetNeeded(NO_EPISODE)
        return self.task.actions.mask(self._game.step.observation.legal)

    def add_sample(
        self, value: Row | Mapping[str, Any], weight: float | None = None, *, split: str | None = None
    ) -> Row:
        """Add a row, or the fields of a row, to the rows that are drawn, and return it.
        The running episode is unaffected.

        Args:
            weight: the weight of the row; default: its field `weight`, or 1.

        Raises:
            BadRow: it is not a valid row of this task, or the split has a row with its id.
            BadSetting: the weight is not a finite number of at least 0.
            UnknownName: the task has no such split.
        """
        row = sample(self.task, value)
        self.drawn_rows.add(row, weight, split or self.split)
        return row

    def episode(self) -> Episode:
        """The episode so far, without the scores of terms."""
        if self._game is None:
            raise EpisodeOver(NO_EPISODE)
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
                raise BadSetting(
                    "form = 'token' has its own observations and takes no view; leave out `view`"
                )
            if tokenizer is not None and not isinstance(tokenizer, str | Path):
                what = f"tokenizer = {tokenizer!r:.80} is {kind_of(tokenizer)}"
                raise BadSetting(f"{what}; it must be the path of a folder with a tokenizer.json")
            self._vocabulary = (
                TokenizerFile(tokenizer, prompt_length, answer_length)
                if tokenizer
                else Bytes(prompt_length, answer_length)
            )
            self.action_space, self.observation_space = self._vocabulary.actions, self._vocabulary.space

    def _others(self, game: Live) -> None:
        while game.step.ended is None and game.seat != self.seat:
            agent = self.agents.get(game.seat)
            if agent is None:
                what = f"{self.task.identity} asks the seat {game.seat!r}, which has no agent"
                raise BrokenAgent(f"{what}; set agents={{{game.seat!r}: ...}}")
            answers = agent.answer([game.asked()])
            if len(answers) != 1:
                what = f"the agent {agent.name} got 1 question and returned {len(answers)} answers"
                raise BrokenAgent(f"{what}; `answer` must return one per question")
            self._pending.append(game.act(answers[0]))

    def _begin_answer(self, game: Live) -> None:
        self._drawn = []
        if self._vocabulary is not None:
            instruction = self.task.spec.instruction
            texts = [
                *([instruction] if instruction else []),
                *(turn.text for turn in game.turns if self._visible(turn)),
            ]
            self._prompt = self._vocabulary.encode(
                "\n".join(text.rstrip("\n") if i < len(texts) - 1 else text for i, text in enumerate(texts))
            )

    def _visible(self, turn: Any) -> bool:
        return bool(turn.seat == self.seat or (turn.seat == TASK and turn.to == self.seat))

    def _action_text(self, game: Live, action: Any) -> str:
        """The text of an action's number; "" for an empty slot, which the task judges."""
        number = action if type(action) is int and 0 <= action < self._size else _number(action, self._size)
        actions = self.task.actions
        assert actions is not None  # the form "index" has an action set
        try:
            return actions.text(number, game.step.observation.legal)
        except LookupError:
            return ""

    def _answer(self, game: Live, action: Any) -> Answer | None:
        if self.form == "text":
            if not isinstance(action, str):
                raise InvalidAction(f"the action {action!r:.80} is {kind_of(action)}; it must be a string")
            stopped: Stopped = "length" if len(action) > self.max_length else "end"
            return Answer(action[: self.max_length], stopped)
        assert self._vocabulary is not None
        number = _number(action, self._size)
        self._drawn.append(number)
        ended = number == self._vocabulary.end
        if not ended and len(self._drawn) < self._vocabulary.length:
            return None
        unknown = np.full(len(self._drawn), np.nan)  # the log-probabilities of these tokens are unknown
        tokens = Tokens(np.array(self._drawn, dtype=np.int64), unknown, unknown)
        return Answer(self._vocabulary.text(self._drawn), "end" if ended else "length", tokens)

    def _scored(self, game: Live) -> Record:
        """The rewards that terms add after the end of the episode."""
        if self._over is None or not self.terms:
            return EMPTY
        from loquent import rewards  # imports metrics, which few environments need

        before = self.episode()
        after = rewards.apply(self.terms, [before], {game.row.id: game.row})[0].rewards
        return Record(
            {
                name: value - before.rewards.get(name, 0.0)
                for name, value in after.items()
                if value != before.rewards.get(name)
            }
        )

    def _observe(self, game: Live) -> Any:
        if self._vocabulary is not None:
            return self._vocabulary.array(self._prompt, self._drawn)
        if self.view:
            return self.view[1](game.step.observation)
        text = game.step.observation.text
        if len(text) > self.max_observation:
            what = (
                f"an observation has {len(text):,} characters, more than max_observation = "
                f"{self.max_observation:,}"
            )
            raise BadSetting(f"{what}; set a larger max_observation")
        return text

    def _info(self, game: Live, rewards: Record, text: str | None = None) -> dict[str, Any]:
        step, over = game.step, self._over
        observation = step.observation
        info: dict[str, Any] = {
            "ended": over,
            "bootstrap": over is None or over == CUT,
            "rewards": dict(rewards),
            "turn": step.turn,
            "row": game.row.id,
            "split": game.split,
            "number": game.number,
            "seat": observation.seat,
            "observation": observation,
        }
        if text is not None:
            info["text"] = text
        if step.turn == 0 and self.task.spec.instruction:
            info["instruction"] = self.task.spec.instruction
        if observation.legal is not None:
            info.update(self._choices(observation.legal))
        else:
            if self._legal is not None:
                info["legal"] = self._legal
            if self._mask is not None:
                info["action_mask"] = self._mask.copy()
        if over is not None and self.task.spec.success:
            info["is_success"] = self.task.succeeded(over)
        info.update(self.task.told(step.state, over))
        return info

    def _constants(self) -> dict[str, Any]:
        """`legal` and `action_mask` of tasks whose actions are all legal at every step;
        empty for other tasks.
        """
        try:
            return self._choices(None)
        except LoquentError:
            return {}

    def _choices(self, legal: Any) -> dict[str, Any]:
        actions = self.task.actions
        info: dict[str, Any] = {}
        if actions is None:
            return info
        if len(actions) <= SHOWN_LEGAL:
            info["legal"] = tuple(
                actions.text(i, legal) for i in range(len(actions)) if actions.contains(legal, i)
            )
        if self.form == "index" and len(actions) <= MASK_LIMIT:
            info["action_mask"] = actions.mask(legal).astype(np.int8)
        return info


def _number(action: Any, size: int) -> int:
    """An integer from 0 to size - 1, of Python or numpy, or in an array of one number; else InvalidAction."""
    if isinstance(action, np.ndarray) and action.size == 1:
        action = action.reshape(())[()]
    if (
        isinstance(action, bool | np.bool_)
        or not isinstance(action, int | np.integer)
        or not 0 <= action < size
    ):
        raise InvalidAction(f"{action!r:.80} is not an action; it must be an integer from 0 to {size - 1}")
    return int(action)


def _sum(records: Sequence[Record]) -> Record:
    records = [record for record in records if record]
    if len(records) < 2:
        return records[0] if records else EMPTY
    names = dict.fromkeys(name for record in records for name in record)
    return Record({name: float(sum(record.get(name, 0.0) for record in records)) for name in names})
