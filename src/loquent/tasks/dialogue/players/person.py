"""A person who asks at the terminal, sees how far the image is known, and may ask for a hint."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.agent import Question, TerminalPerson
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.tasks.dialogue.terminal import standing


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """The options of dialogue/person."""

    hint: str | Record = setting(
        "",
        "the agent that asks for you when you type ?, as a name or {kind: NAME, OPTION: VALUE}, such as "
        "dialogue/careful; empty: none",
    )


class Person(TerminalPerson):
    """You, at the terminal: after each answer you see where the image stands among all images."""

    Options, kind = PersonOptions, "dialogue/person"

    def notice(self, question: Question) -> str:
        """The percentile so far."""
        return standing(question.observation)
