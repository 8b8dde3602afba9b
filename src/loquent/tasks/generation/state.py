"""The state of an episode of text generation, a value."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.core.task import Messages
from loquent.tasks.generation.conversation import Line

AGENT, USER, JUDGE = "agent", "user", "judge"


@dataclass(frozen=True)
class State:
    """What was said so far, and who speaks next.

    `exchanges` holds each answer with its reply, "" until there is one. `later` are the row's next lines.
    `references` are those of the next answer, or after the end of the last one, and `messages` those of the
    row's last line.
    """

    prompt: str
    references: tuple[str, ...] = ()
    later: tuple[Line, ...] = ()
    exchanges: tuple[tuple[str, str], ...] = ()
    messages: Messages = ()
    seat: str = AGENT

    @property
    def answer(self) -> str:
        """The last answer; "" before the first."""
        return self.exchanges[-1][0] if self.exchanges else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The prompt, the answers and the replies in their order."""
        return (self.prompt, *(text for pair in self.exchanges for text in pair))
