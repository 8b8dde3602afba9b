"""A person at the terminal as an agent.

Control characters in texts of models and data files are shown as escapes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TextIO

from loquent.core.actions import ActionSet, Legal
from loquent.core.agent import Answer, Person, Question, make
from loquent.core.episode import Episode
from loquent.core.guards.terminal import escape_text, line, read_line, write_own
from loquent.core.settings import setting
from loquent.core.task import Invalid, Observation, Task
from loquent.core.values import Record
from loquent.errors import BadSetting, InputEnded, LoquentError, PlayerLeft, nearest

SHOWN_ACTIONS: Final = 30
LISTED_ACTIONS: Final = 2000  # larger sets are not searched for a similar action
HINT: Final = "?"


@dataclass(frozen=True, kw_only=True)
class HumanOptions:
    """Options of the agent `human`."""

    hint: str | Record = setting(
        "",
        "the agent that answers when you type ?, as a name or {kind: NAME, OPTION: VALUE}; empty: ? is an "
        "ordinary answer",
    )
    again: bool = setting(
        False,
        "ask again after every invalid answer; false: ask again once in a turn, and then take the invalid "
        "answer",
    )


class Human:
    """Shows each observation, reads a line from the person, and answers with it.

    The end of the input ends the game, like Ctrl-C.

    On a terminal a task may show observations in colours. The environment variable NO_COLOR turns colours
    off; FORCE_COLOR turns them on.
    """

    Options: ClassVar[type] = HumanOptions

    def __init__(
        self,
        task: Task | None = None,
        options: Any = None,
        *,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
    ) -> None:
        self.name = "human"
        self.task = task
        self.options = options or HumanOptions()
        self._hint: Any = (
            make(self.options.hint, task, place="human.hint") if self.options.hint and task else None
        )
        if isinstance(self._hint, Person):
            raise BadSetting(
                f"human.hint: {self._hint.name} is a person too; it must be an agent that answers by itself"
            )
        self._in, self._out = stdin, stdout
        self._numbers: dict[str, int] = {}  # of the games, by their names

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order.

        Raises:
            InputEnded: the person ended the input. PlayerLeft: the person pressed Ctrl-C.
        """
        try:
            return [Answer(self._ask(question, name=len(asked) > 1)) for question in asked]
        except PlayerLeft:
            raise
        except KeyboardInterrupt as error:
            raise PlayerLeft("interrupted") from error

    def farewell(self, episode: Episode) -> None:
        """Show the last observation and how the game ended."""
        last = episode.turns[-1]
        self._show_observation(last.observation or Observation(last.text))
        self._show(ending(episode) + "\n")

    def _ask(self, question: Question, *, name: bool) -> str:
        if name:
            number = self._numbers.setdefault(question.game, len(self._numbers) + 1)
            self._show(f"[game {number}]\n")  # the name has the id of the row, which may be the answer
        if len(question.turns) == 1 and question.instruction:
            self._show(question.instruction + "\n")
        self._show_observation(question.observation)
        self._show(list_legal(question.actions, question.observation.legal, first=len(question.turns) == 1))
        corrected = False
        while True:
            text = self._read(f"{question.observation.seat}{' (? plays the hint)' if self._hint else ''}> ")
            if text == HINT and self._hint is not None:
                text = self._hint.answer([question])[0].text
                self._show(f"hint: {text}\n")
            move = self.task.read(question.state, text) if self.task is not None else None
            if not isinstance(move, Invalid):
                return text
            why = f"{move.why}: {text[:80]!r}"
            if corrected and not self.options.again:
                self._show(f"{why}; it counts as your answer\n")
                return text
            corrected = True
            self._show(
                f"{why}; once more{describe_legal(question.actions, question.observation.legal, text)}\n"
            )

    def _read(self, prompt: str) -> str:
        if self._in is None and self._out is None:
            typed = read_line(prompt)
        else:
            self._show(prompt)
            raw = (self._in or sys.stdin).readline()
            typed = raw.removesuffix("\n").removesuffix("\r") if raw else None
        if typed is None:
            self._show("\n")
            raise InputEnded("the input ended")
        return typed

    def _show_observation(self, observation: Observation) -> None:
        """Show an observation: the task's own coloured picture if possible, or its text."""
        out = self._out or sys.stdout
        picture = self.task.render_ansi(observation) if self.task is not None and colours(out) else None
        new = observation.text.rstrip("\n")
        if picture is not None:
            write_own(out, picture)
        else:
            self._show(f"{new}\n" if new else "")

    def _show(self, text: str) -> None:
        if text:
            write_own(self._out or sys.stdout, escape_text(text))


def ending(episode: Episode) -> str:
    """One line that says how a game ended, or that it did not."""
    rewards = ", ".join(f"{line(name)} {value:g}" for name, value in episode.rewards.items()) or "none"
    ended = "is unfinished" if episode.ended is None else f"ended: {line(episode.ended)}"
    return f"The game {ended}. Rewards: {rewards}."


def colours(out: TextIO) -> bool:
    """Whether colours may be written to a stream."""
    return not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or out.isatty())


def describe_legal(actions: ActionSet | None, legal: Legal, text: str) -> str:
    """The end of a sentence about an invalid text: the nearest action and the legal actions.

    Empty without an action set, and for one of more than 2000 actions.
    """
    if actions is None or len(actions) > LISTED_ACTIONS:
        return ""
    texts = [actions.text(i, legal) for i in range(len(actions)) if actions.contains(legal, i)]
    spelled = next((action for action in texts if action.strip().lower() == text.strip().lower()), None)
    meant = spelled or nearest(text, texts)
    near = f"; did you mean {meant}?" if meant else ""
    return near + (f" (allowed: {' | '.join(texts)})" if len(texts) <= SHOWN_ACTIONS else "")


def list_legal(actions: ActionSet | None, legal: Legal, first: bool = True) -> str:
    """A line with the legal actions, if there are at most 30.

    Else, at the first question, a line with the number of actions and an example; later "". "" where none
    is legal, as for an answer in free text.
    """
    if actions is None or actions.asks_text(legal):
        return ""
    if len(actions) <= SHOWN_ACTIONS * 10:
        texts = [actions.text(i, legal) for i in range(len(actions)) if actions.contains(legal, i)]
        if len(texts) <= SHOWN_ACTIONS:
            return f"({' | '.join(texts)})\n"
    if not first:
        return ""
    try:
        example = actions.text(0, legal)
    except (LookupError, LoquentError):
        return ""
    return f"(one of {len(actions):,} actions, such as: {example})\n"
