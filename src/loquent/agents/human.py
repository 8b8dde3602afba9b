"""A person at the terminal. What a model or a data file wrote is shown with its control characters spelled out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TextIO

from loquent.actions import ActionSet, Legal
from loquent.agent import Answer, Asked, make
from loquent.episode import Episode
from loquent.errors import BadSetting, LoquentError, PlayerLeft
from loquent.settings import setting
from loquent.task import Invalid, Observation, Task
from loquent.values import Record, escaped

SHOWN_ACTIONS: Final = 30
HINT: Final = "?"


@dataclass(frozen=True, kw_only=True)
class HumanOptions:
    """What human may be told."""

    hint: str | Record = setting("", "the agent that answers when ? is typed, as a name or {kind: NAME, OPTION: VALUE}; empty: ? is an answer")
    again: bool = setting(False, "ask again for what the task cannot read, in place of letting it cost the turn")


class Human:
    """Shows what is new, reads a line, and says it. The end of the input is the end of the game, as Ctrl-C is.

    On a terminal a task may show itself in colours; NO_COLOR in the environment turns them off, FORCE_COLOR on.
    """

    Options: ClassVar[type] = HumanOptions

    def __init__(self, task: Task | None = None, options: Any = None, *, stdin: TextIO | None = None, stdout: TextIO | None = None) -> None:
        self.name = "human"
        self.task = task
        self.options = options or HumanOptions()
        self._hint: Any = make(self.options.hint, task, place="human.hint") if self.options.hint and task else None
        if self._hint is not None and hasattr(self._hint, "farewell"):
            raise BadSetting(f"human.hint: {self._hint.name} is a person too; an agent that answers by itself is right")
        self._in, self._out = stdin, stdout

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One answer per question, asked one after the other.

        Raises:
            PlayerLeft: the person ended the input, or pressed Ctrl-C at it.
        """
        try:
            return [Answer(self._ask(one, name=len(asked) > 1)) for one in asked]
        except PlayerLeft:
            raise
        except KeyboardInterrupt as error:
            raise PlayerLeft("interrupted") from error

    def farewell(self, episode: Episode) -> None:
        """Show what came after the last answer, and how the game ended."""
        last, rewards = episode.turns[-1], ", ".join(f"{name} {value:g}" for name, value in episode.rewards.items()) or "none"
        self._tell(last.observation or Observation(last.text))
        self._show(f"The game ended: {episode.ended}. Rewards: {rewards}.\n")

    def _ask(self, asked: Asked, *, name: bool) -> str:
        if name:
            self._show(f"[{asked.game}]\n")
        if len(asked.turns) == 1 and asked.instruction:
            self._show(asked.instruction + "\n")
        self._tell(asked.observation)
        self._show(offered(asked.actions, asked.observation.legal, first=len(asked.turns) == 1))
        while True:
            said = self._read(f"{asked.observation.seat}{' (? for a hint)' if self._hint else ''}> ")
            if said == HINT and self._hint is not None:
                said = self._hint.answer([asked])[0].text
                self._show(f"hint: {said}\n")
            move = self.task.read(asked.state, said) if self.options.again and self.task is not None else None
            if not isinstance(move, Invalid):
                return said
            self._show(f"{move.why}: {said[:80]!r}; once more\n")

    def _read(self, prompt: str) -> str:
        self._show(prompt)
        line = (self._in or sys.stdin).readline()
        if not line:
            self._show("\n")
            raise PlayerLeft("the input ended")
        return line.removesuffix("\n").removesuffix("\r")

    def _tell(self, observation: Observation) -> None:
        """Show an observation: as the task's own picture in colours, or as what is new in text."""
        out = self._out or sys.stdout
        picture = self.task.coloured(observation) if self.task is not None and colours(out) else None
        new = observation.text.rstrip("\n")
        if picture is not None:
            _write(out, picture)
        else:
            self._show(f"{new}\n" if new else "")

    def _show(self, text: str) -> None:
        if text:
            _write(self._out or sys.stdout, escaped(text))


def colours(out: TextIO) -> bool:
    """Whether colours may be written there."""
    return not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or out.isatty())


def _write(out: TextIO, safe: str) -> None:
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(safe.encode(encoding, "backslashreplace").decode(encoding))
    out.flush()


def offered(actions: ActionSet | None, legal: Legal, first: bool = True) -> str:
    """The legal actions as a line, where there are at most 30; else how many actions there are, at the first question; or ""."""
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
