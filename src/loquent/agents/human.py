"""A person at the terminal. What a model or a data file wrote is shown with its control characters spelled out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, TextIO

from loquent.actions import ActionSet, Legal
from loquent.agent import Answer, Asked
from loquent.episode import Episode
from loquent.errors import LoquentError, PlayerLeft
from loquent.task import Task
from loquent.values import escaped

SHOWN_ACTIONS: Final = 30


class Human:
    """Shows what is new, reads a line, and says it. The end of the input is the end of the game, as Ctrl-C is."""

    def __init__(self, task: Task | None = None, *, stdin: TextIO | None = None, stdout: TextIO | None = None) -> None:
        self.name = "human"
        self.task = task
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
        last = episode.turns[-1].text.rstrip("\n")
        rewards = ", ".join(f"{name} {value:g}" for name, value in episode.rewards.items()) or "none"
        self._show(f"{last}\n" if last else "")
        self._show(f"The game ended: {episode.ended}. Rewards: {rewards}.\n")

    def _ask(self, asked: Asked, *, name: bool) -> str:
        if name:
            self._show(f"[{asked.game}]\n")
        if len(asked.turns) == 1 and asked.instruction:
            self._show(asked.instruction + "\n")
        new = asked.observation.text.rstrip("\n")
        self._show(f"{new}\n" if new else "")
        self._show(offered(asked.actions, asked.observation.legal))
        self._show(f"{asked.observation.seat}> ")
        line = (self._in or sys.stdin).readline()
        if not line:
            self._show("\n")
            raise PlayerLeft("the input ended")
        return line.removesuffix("\n").removesuffix("\r")

    def _show(self, text: str) -> None:
        if not text:
            return
        out = self._out or sys.stdout
        safe = escaped(text)
        encoding = getattr(out, "encoding", None) or "utf-8"
        out.write(safe.encode(encoding, "backslashreplace").decode(encoding))
        out.flush()


def offered(actions: ActionSet | None, legal: Legal) -> str:
    """The legal actions as a line, where there are at most 30; else "" or how many actions there are."""
    if actions is None:
        return ""
    if len(actions) <= SHOWN_ACTIONS * 10:
        texts = [actions.text(i, legal) for i in range(len(actions)) if actions.contains(legal, i)]
        if len(texts) <= SHOWN_ACTIONS:
            return f"({' | '.join(texts)})\n"
    try:
        example = actions.text(0, legal)
    except (LookupError, LoquentError):
        return ""
    return f"(one of {len(actions):,} actions, such as: {example})\n"
