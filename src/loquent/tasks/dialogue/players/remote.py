"""A seat behind HTTP, by the protocol of ILQL's visual dialogue server (`protocol.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from loquent.core.agent import Answer, Question
from loquent.core.guards.endpoint import Endpoint, Retries, TooLong, again
from loquent.core.guards.secret import Secret
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.tasks.dialogue import protocol
from loquent.tasks.dialogue.players.seats import Player, state_of
from loquent.tasks.dialogue.state import State
from loquent.tasks.dialogue.task import AGENT, ANSWERER, JUDGE


@dataclass(frozen=True, kw_only=True)
class RemoteOptions:
    """The options of dialogue/remote."""

    model: str = setting(
        why="the name of what answers there, such as a model and its version; episodes under another name "
        "are of another task, whatever the address"
    )
    url: str = setting(
        "http://127.0.0.1:5000", "the server, without the last part of the address", transport=True
    )
    reward: str = setting(
        protocol.RANK,
        "seat judge: the percentile of the image's rank, or the squared error of the guess",
        choices=(protocol.RANK, protocol.REWARD),
    )
    timeout: float = setting(60.0, "seconds for one attempt", low=0.01, transport=True)
    retries: int = setting(4, "further attempts after a failed one", low=0, high=100, transport=True)
    pause: float = setting(
        1.0, "seconds before the second attempt; doubled before each further one", low=0.0, transport=True
    )
    concurrency: int = setting(8, "the most requests at the same time", low=1, high=1024, transport=True)
    max_bytes: int = setting(1 << 20, "the most bytes of a response", low=1024, transport=True)

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.model:
            raise BadSetting("model is empty; it must be the name of what answers at the address")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise BadSetting(f"url = {self.url!r:.80} must be an address such as http://127.0.0.1:5000")


class Remote(Player):
    """Asks a server for the answer, the judge's number, or (seat agent) the next question.

    A response that is no text, or for the judge no number, is an empty answer, which the task counts as
    invalid.
    """

    Options: ClassVar[type] = RemoteOptions
    kind, seats, reads_row = "dialogue/remote", (AGENT, ANSWERER, JUDGE), False

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        paths = {AGENT: protocol.QUESTION, ANSWERER: protocol.ANSWER, JUDGE: self.options.reward}
        self.endpoints = {
            seat: Endpoint(
                f"{self.options.url.rstrip('/')}/{path}",
                {"User-Agent": "loquent"},
                self.options.timeout,
                self.options.max_bytes,
                Secret(),
            )
            for seat, path in paths.items()
        }

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question; the requests run side by side.

        Raises:
            BrokenAgent: the server failed at every attempt; the error has its address and status.
        """
        return self.endpoints[AGENT].wait(self._answers(asked))

    async def _answers(self, asked: Sequence[Question]) -> list[Answer]:
        room = asyncio.Semaphore(self.options.concurrency)

        async def bounded(question: Question) -> Answer:
            async with room:
                return Answer(await self._ask(question, state_of(question)))

        return list(await asyncio.gather(*map(bounded, asked)))

    async def _ask(self, question: Question, state: State) -> str:
        seat = question.observation.seat
        endpoint = self.endpoints[seat]
        image = None
        if seat != AGENT:
            assert question.row is not None
            image = self.task.image(question.row)
        fields = protocol.fields(state.caption, state.history, state.question, image)
        try:
            response = await again(
                lambda: endpoint.post_form(fields),
                Retries(self.options.retries, self.options.pause),
                f"{self.name} (game {question.game}): {endpoint.url}",
            )
        except TooLong:
            return ""
        return _text(response, seat)

    def text(self, question: Question, state: State) -> str:
        """The answer to one question."""
        return self.answer([question])[0].text


def _text(response: Any, seat: str) -> str:
    if seat == JUDGE:
        is_number = isinstance(response, int | float) and not isinstance(response, bool)
        return repr(response) if is_number else ""
    return response if isinstance(response, str) else ""
