"""A person at the terminal.

What a model or a data file wrote is shown with its control characters spelled out.
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
from loquent.core.guards.terminal import escaped, line, read_line, write_own
from loquent.core.settings import setting
from loquent.core.task import Invalid, Observation, Task
from loquent.core.values import Record
from loquent.errors import BadSetting, InputEnded, LoquentError, PlayerLeft, nearest

SHOWN_ACTIONS: Final = 30
LISTED_ACTIONS: Final = 2000  # a set of more is not searched for what somebody may have meant
HINT: Final = "?"


@dataclass(frozen=True, kw_only=True)
class HumanOptions:
    """What human may be told."""

    hint: str | Record = setting(
        "",
        "the agent that answers when ? is typed, as a name or {kind: NAME, OPTION: VALUE}; empty: ? "
        "is an answer",
    )
    again: bool = setting(
        False,
        "ask again for what the task cannot read however often; else once in a turn, and then it is "
        "the answer",
    )


class Human:
    """Shows what is new, reads a line, and says it.

    The end of the input is the end of the game, as Ctrl-C is.

    On a terminal a task may show itself in colours; NO_COLOR in the environment turns them off, FORCE_COLOR
    on.
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
                f"human.hint: {self._hint.name} is a person too; an agent that answers by itself is right"
            )
        self._in, self._out = stdin, stdout

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, asked one after the other.

        Raises:
            InputEnded: the person ended the input. PlayerLeft: the person pressed Ctrl-C at it.
        """
        try:
            return [Answer(self._ask(one, name=len(asked) > 1)) for one in asked]
        except PlayerLeft:
            raise
        except KeyboardInterrupt as error:
            raise PlayerLeft("interrupted") from error

    def farewell(self, episode: Episode) -> None:
        """Show what came after the last answer, and how the game ended."""
        last = episode.turns[-1]
        self._tell(last.observation or Observation(last.text))
        self._show(ending(episode) + "\n")

    def _ask(self, asked: Question, *, name: bool) -> str:
        if name:
            self._show(f"[{asked.game}]\n")
        if len(asked.turns) == 1 and asked.instruction:
            self._show(asked.instruction + "\n")
        self._tell(asked.observation)
        self._show(offered(asked.actions, asked.observation.legal, first=len(asked.turns) == 1))
        corrected = False
        while True:
            said = self._read(f"{asked.observation.seat}{' (? for a hint)' if self._hint else ''}> ")
            if said == HINT and self._hint is not None:
                said = self._hint.answer([asked])[0].text
                self._show(f"hint: {said}\n")
            move = self.task.read(asked.state, said) if self.task is not None else None
            if not isinstance(move, Invalid):
                return said
            why = f"{move.why}: {said[:80]!r}"
            if corrected and not self.options.again:
                self._show(f"{why}; it counts as your answer\n")
                return said
            corrected = True
            self._show(f"{why}; once more{allowed(asked.actions, asked.observation.legal, said)}\n")

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

    def _tell(self, observation: Observation) -> None:
        """Show an observation: as the task's own picture in colours, or as what is new in text."""
        out = self._out or sys.stdout
        picture = self.task.coloured(observation) if self.task is not None and colours(out) else None
        new = observation.text.rstrip("\n")
        if picture is not None:
            write_own(out, picture)
        else:
            self._show(f"{new}\n" if new else "")

    def _show(self, text: str) -> None:
        if text:
            write_own(self._out or sys.stdout, escaped(text))


def ending(episode: Episode) -> str:
    """How a game ended, in a line."""
    rewards = ", ".join(f"{line(name)} {value:g}" for name, value in episode.rewards.items()) or "none"
    return f"The game ended: {line(episode.ended)}. Rewards: {rewards}."


def colours(out: TextIO) -> bool:
    """Whether colours may be written there."""
    return not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or out.isatty())


def allowed(actions: ActionSet | None, legal: Legal, said: str) -> str:
    """What may be said in place of a text that may not, for the end of a sentence; "" where nobody knows."""
    if actions is None or len(actions) > LISTED_ACTIONS:
        return ""
    texts = [actions.text(i, legal) for i in range(len(actions)) if actions.contains(legal, i)]
    meant = next((text for text in texts if text.strip().lower() == said.strip().lower()), None) or nearest(
        said, texts
    )
    near = f"; did you mean {meant}?" if meant else ""
    return near + (f" (allowed: {' | '.join(texts)})" if len(texts) <= SHOWN_ACTIONS else "")


def offered(actions: ActionSet | None, legal: Legal, first: bool = True) -> str:
    """The legal actions as a line, where there are at most 30.

    Else how many actions there are, at the first question; or "".
    """
    if actions is None:
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
