"""A seat behind HTTP, by the protocol of ILQL's visual dialogue server (`protocol.py`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.guards.json_files import is_number
from loquent.core.guards.secret import check_address
from loquent.core.remote.attempts import Connection
from loquent.core.remote.endpoint import Endpoint
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.errors import BadSetting, BrokenAgent
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.players.seats import Player, require_no_cutoff, state_of
from loquent.tasks.dialogue.state import State
from loquent.tasks.dialogue.task import AGENT, ANSWERER, JUDGE


@dataclass(frozen=True, kw_only=True)
class RemoteOptions(Connection):
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

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.model:
            raise BadSetting("model is empty; it must be the name of what answers at the address")
        check_address("url", self.url, "http://127.0.0.1:5000")


class Remote(Player):
    """Asks a server for the answer, the judge's number, or (seat agent) the next question."""

    Options: ClassVar[type] = RemoteOptions
    kind, seats, reads_row = "dialogue/remote", (AGENT, ANSWERER, JUDGE), False

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        paths = {AGENT: protocol.QUESTION, ANSWERER: protocol.ANSWER, JUDGE: self.options.reward}
        url = self.options.url.rstrip("/")
        self.endpoints = {seat: Endpoint(f"{url}/{path}", self.options) for seat, path in paths.items()}

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question; the requests run side by side.

        Raises:
            BrokenAgent: the server failed at every attempt, or its response is no text (of a judge: no finite
                number); the error has its address and status.
        """
        return self.endpoints[AGENT].each(self._answered, asked)

    async def _answered(self, question: Question) -> Answer:
        return Answer(await self._ask(question, state_of(question)))

    async def _ask(self, question: Question, state: State) -> str:
        seat = question.observation.seat
        endpoint = self.endpoints[seat]
        image = None
        if seat == JUDGE and self.options.reward == protocol.REWARD:
            require_no_cutoff(self, f"reward = {protocol.REWARD!r}")
        if seat != AGENT:
            assert question.row is not None
            image = self.task.image(question.row)
        fields = protocol.fields(state.caption, state.history, state.question, image)
        who = f"{self.name} (game {question.game}): {endpoint.url}"
        response = await endpoint.asked(lambda: endpoint.post_form(fields), question.key, who)
        return _text(response, seat, endpoint, who)

    def text(self, question: Question, state: State) -> str:
        """The answer to one question."""
        return self.answer([question])[0].text


def _text(response: Any, seat: str, endpoint: Endpoint, who: str) -> str:
    """The text of a response: a number with every digit, or a text."""
    if seat == JUDGE and is_number(response):
        return repr(float(response))
    if seat != JUDGE and isinstance(response, str):
        return response
    right = "a finite number" if seat == JUDGE else "a text"
    raise BrokenAgent(f"{who} responded{endpoint.quote_text(json.dumps(response))}; it must be {right}")
