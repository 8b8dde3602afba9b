"""A person who reads by asking at the terminal, with hints."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.agent import Question, TerminalPerson
from loquent.core.settings import setting
from loquent.core.values import Record


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """The options of reading/person."""

    hint: str | Record = setting(
        "expert",
        "the agent that gives a command for you when you type ?, as a name or {kind: NAME, OPTION: VALUE}; "
        "empty: none",
    )


class Person(TerminalPerson):
    """You, at the terminal: p, n, s and cf WORD are short for previous, next, stop and ctrl+f WORD.

    Typing ? gives the command of the hint's agent. After an invalid command you are asked again.
    """

    Options, kind = PersonOptions, "reading/person"

    def notice(self, question: Question) -> str:
        """The number of commands left."""
        fields = question.observation.fields
        return "" if "ended" in fields else f"{fields['left']} commands left"
