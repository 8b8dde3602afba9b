"""Any task as a Gymnasium environment, in three forms.

text    an action is a complete answer; an observation is the new text for the reader.
index   an action is the number of one of the task's actions; an observation is text, or the output of a view.
token   an action is a token (a byte, or a token of a `tokenizer.json`); an end token or the horizon ends an
        answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from loquent.adapters import step_rewards
from loquent.adapters.arguments import (
    build_task,
    check_form,
    check_lengths,
    check_names,
    check_players,
    reset_options,
    view_of,
)
from loquent.adapters.drawn_rows import DrawnRows, sample
from loquent.adapters.gymnasium_errors import NO_EPISODE, ResetNeeded
from loquent.adapters.info import InfoBuilder
from loquent.adapters.spaces import Form, IndexForm, TextForm, TokenForm, vocabulary_of
from loquent.core import registry
from loquent.core.agent import Agent, own_agents
from loquent.core.episode import Episode
from loquent.core.guards.terminal import escape_text
from loquent.core.live import Live
from loquent.core.seeding import Key
from loquent.core.task import CUT, Row, Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BadRenderMode, BadSetting, BrokenTask, EpisodeOver, LoquentError

TOO_LONG = "length"  # the rule that ends an episode after an over-long answer in the text form


class Environment(gym.Env[Any, Any]):
    """A task as a Gymnasium environment.

    `info` has these keys:
        ended, bootstrap: the name of the rule that ended the episode, "cut" or None; whether the next value
            is bootstrapped.
        rewards: the named rewards of the step, without weights.
        turn, row, split, number, seat: the turn, and the episode's row id, split, number and seat.
        observation: the task's observation with its fields.
        text: after an answer, its text.
        legal, action_mask: for tasks with actions, the legal texts (up to 256 actions); in the index form,
            the mask.
        is_success: after the end, where the task declares success.
        unjudged: after the end, the names of the terms that could not judge the episode, and of the ending if
            it is a failure, if there are any.
    The task adds its own keys (`Task.info`), such as a score, and after the end the solution.

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
        seat: the seat of this environment's user; `agents` answer for the other seats, and `task.seats`
            where `agents` has none.
        view: the form of observations: "text", "vector" (by `featurizer`), a view of the task (`task.views`,
            such as "dict"), a pair (space, function from an observation to an array), or "module:NAME" of
            such a pair. Default: "text"; in the index form "dict", where the task has it.
        featurizer: for the view "vector": a `features.Featurizer` or its settings; default: hashed n-grams.
        priority_scale: rows are drawn in proportion to weight ** priority_scale; 0: all rows are equally
            likely.
        terms: reward terms, scored in the last `step` of an episode; its total is the same as with
            `rewards.apply`.
        weights: weights of rewards and terms by name; default: the task's weights, and 1 for each term.
        tokenizer: for the token form: a folder with a tokenizer.json; default: tokens are bytes.
        max_length: the most characters of an answer in the text form. A longer answer is truncated; where the
            task has a horizon, the episode then ends by the rule "length".

    Raises:
        BadSetting: an argument or an option of the task has an unknown name, a wrong type or a value outside
            its range.
        UnknownName: no task has this name.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own shape

    def __init__(
        self,
        task: Task | str | None = None,
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
        check_form(self.task, form)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadRenderMode(f"render_mode = {render_mode!r} must be 'ansi', 'human' or None")
        self.form, self.split, self.seat, self.render_mode = form, split, seat, render_mode
        self.agents = {**own_agents(self.task, {seat, *(agents or {})}), **(agents or {})}
        self.terms = tuple(terms)
        own_weights = {**self.task.spec.rewards, **{term.name: 1.0 for term in self.terms}}
        self.weights = Record(own_weights if weights is None else weights)
        self.view = view_of(self.task, view, featurizer, form)
        self.drawn_rows = DrawnRows(self.task, priority_scale)
        self._picture = registry.import_name(self.task.views["ansi"]) if "ansi" in self.task.views else None
        self._info = InfoBuilder(self.task, masked=form == "index")
        self.max_length, self.max_observation = max_length, max_observation
        self._form = self._build_form(tokenizer, prompt_length, answer_length)
        self.action_space, self.observation_space = self._form.action_space, self._form.observation_space
        self._seed: int | None = None
        self._count = 0
        self._game: Live | None = None
        self._pending: list[Record] = []  # rewards since the last answer of this seat
        self._over: str | None = None

    def _build_form(self, tokenizer: str | None, prompt_length: int, answer_length: int) -> Form:
        if self.form == "text":
            return TextForm(self.view, self.max_observation, self.max_length)
        if self.form == "index":
            assert self.task.actions is not None  # checked by `check_form`
            return IndexForm(self.view, self.max_observation, self.task.actions)
        if self.view:
            raise BadSetting("form = 'token' has its own observations and takes no view; leave out `view`")
        vocabulary = vocabulary_of(tokenizer, prompt_length, answer_length)
        return TokenForm(vocabulary, self.seat)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Episodes are numbered from each seeding on; the same seed gives the same rows and episodes.

        Args:
            options: `split`; `index`, `id` or `sample` (a row or its fields) to choose the row; `number` to
                get the episode with this number in `play`. An episode on a `sample` does not count in the
                numbering.

        Raises:
            BadSetting, UnknownName: an option, split or row is unknown, more than one option chooses the row,
                there is no row, or a number or seed is invalid.
            BadRow: the sample is not a valid row of this task.
        """
        seed = None if seed is None else Key(seed).seed
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._count = seed, 0
        elif self._seed is None:
            self._seed = int(self.np_random.integers(2**31))
        game = self._game = self._begin(reset_options(options), self._seed)
        self._over = None
        self._pending = step_rewards.of_other_seats(game, self.seat, self.agents)
        if game.step.ended is not None:
            what = f"{self.task.identity} ended ({game.step.ended}) before the seat {self.seat!r} had a turn"
            raise BrokenTask(
                f"{what}; an episode must ask this seat at least once, so fix the task or choose another seat"
            )
        self._form.begin(game)
        if self.render_mode == "human":
            self.render()
        return self._form.observe(game), self._info.build(game, None, EMPTY, None)

    def _begin(self, options: Mapping[str, Any], seed: int) -> Live:
        """A new episode, on the row that the options choose or on a drawn one."""
        split, number = options.get("split", self.split), options.get("number", self._count)
        row = self.drawn_rows.find_row(split, options) if options else None
        if "sample" not in options:
            self._count += 1
        row = row or self.drawn_rows.draw(split, number, seed)
        return Live(self.task, row, number, seed, split, self.seat)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Give an answer; in the token form, one token of it.

        Raises:
            InvalidAction: the action is not a string, or not a number in the action space. The text of an
                answer never raises.
            ResetNeeded: there is no episode, or it has ended; call reset.
        """
        game = self._game
        if game is None:
            raise ResetNeeded(NO_EPISODE)
        if self._over is not None:
            what = f"the episode of {self.task.identity} has ended ({self._over})"
            raise ResetNeeded(f"{what}; call reset")
        answered = self._form.act(game, action)
        if answered is None:  # the answer is not complete
            return self._form.observe(game), 0.0, False, False, self._info.build(game, None, EMPTY, None)
        text, rewards = answered
        if game.step.ended is None and game.step.observation.seat != self.seat:
            others = step_rewards.of_other_seats(game, self.seat, self.agents)
            self._pending += [rewards, *others]
            rewards = EMPTY
        self._over = over = TOO_LONG if game.step.ended == CUT and self.form == "text" else game.step.ended
        unjudged: tuple[str, ...] = (over,) if over is not None and over in self.task.spec.failures else ()
        if self._pending or (self.terms and over is not None):
            gained, unknown = self._scored(game)
            unjudged = unknown or unjudged
            rewards = step_rewards.sum_records([*self._pending, rewards, gained])
            self._pending = []
        if over is None or game.step.observation.text:
            self._form.begin(game)
        terminated, truncated = (False, False) if over is None else self.task.flags(over)
        info = self._info.build(game, over, rewards, text)
        if unjudged:
            info["unjudged"] = unjudged
        if self.render_mode == "human":
            self.render()
        total = self.task.total(rewards, self.weights)
        return self._form.observe(game), total, terminated, truncated, info

    def _scored(self, game: Live) -> tuple[Record, tuple[str, ...]]:
        """The rewards that terms add after the end of the episode, and the names of those not judged."""
        if self._over is None or not self.terms:
            return EMPTY, ()
        return step_rewards.of_terms(self.terms, self.episode(), game.row)

    def render(self) -> str | None:
        """The episode so far as text: returned ("ansi") or printed ("human").

        Control characters are escaped.
        """
        if self.render_mode is None:
            gym.logger.warn("render has no effect without a render_mode; call make(id, render_mode='ansi')")
            return None
        if self._game is None:
            return None
        if self._picture is not None:
            text = f"Step {self._game.step.turn}\n{escape_text(self._picture(self._game.step.observation))}\n"
        else:
            text = "".join(
                f"{turn.seat}: {escape_text(turn.text).rstrip(chr(10))}\n" for turn in self._game.turns
            )
        if self.render_mode == "ansi":
            return text
        print(text, end="")
        return None

    def finishing(self) -> Any:
        """The action that ends the episode with success now (`Task.finishing`); None: there is none.

        Raises:
            ResetNeeded: there is no episode; call reset.
        """
        if self._game is None:
            raise ResetNeeded(NO_EPISODE)
        step, actions = self._game.step, self.task.actions
        text = None if step.ended is not None else self.task.finishing(step.state)
        if text is None or self.form != "index" or actions is None:
            return text
        return actions.index(text, step.observation.legal)

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
