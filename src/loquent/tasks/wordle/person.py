"""A human player of Wordle at the terminal, who may ask another player for a hint."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.agent import TerminalPerson
from loquent.core.settings import setting
from loquent.core.values import Record


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """The options of wordle/person."""

    hint: str | Record = setting(
        "wordle/optimal",
        "the agent that guesses for you when you type ?, as a name or {kind: NAME, OPTION: VALUE}; "
        "empty: none",
    )


class Person(TerminalPerson):
    """You, at the terminal. Typing ? makes the guess of the hint's player.

    After an invalid word you are asked again.
    """

    Options, kind = PersonOptions, "wordle/person"
