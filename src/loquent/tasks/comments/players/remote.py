"""A moderator or a voter behind HTTP, in the form of Hugging Face's text classification.

A request is {"inputs": [TEXT, ...]}. The response has, for each text, a list of {"label": NAME, "score":
PROBABILITY} with all labels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core import schema
from loquent.core.agent import Question
from loquent.core.guards.secret import check_address
from loquent.core.remote.attempts import Connection
from loquent.core.remote.endpoint import Endpoint
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, BrokenAgent
from loquent.tasks.comments.players.seats import Player, comments_of
from loquent.tasks.comments.players.votes import Opinion, label_of, vote_of
from loquent.tasks.comments.task import MODERATOR, VOTER


@dataclass(frozen=True, kw_only=True)
class RemoteOptions(Connection):
    """The options of comments/remote."""

    model: str = setting(
        why="the name of what answers there, such as a model and its version; episodes under another name "
        "are of another task, whatever the address"
    )
    url: str = setting(why="the address that classifies texts", transport=True)
    labels: Record = setting(
        EMPTY, "seat moderator: 0, 1 or 2 by the name of each label; empty: the names are these numbers"
    )
    independent: bool = setting(
        False,
        "seat moderator: each label has a probability of its own (multi-label, or a single label); else they "
        "exclude each other and sum to 1",
    )
    positive: str = setting("1", "seat voter: the label whose probability above 0.5 is an upvote")
    texts: int = setting(32, "the most texts of a request", low=1, transport=True)

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.model:
            raise BadSetting("model is empty; it must be the name of what answers at the address")
        check_address("url", self.url, "http://127.0.0.1:8080/")


@dataclass(frozen=True)
class _Label:
    label: str
    score: float = setting(low=0.0, high=1.0)


class Remote(Player):
    """Judges by a classifier behind an address."""

    Options: ClassVar[type] = RemoteOptions
    kind, seats = "comments/remote", (MODERATOR, VOTER)

    def __init__(self, task: Task, options: Any) -> None:
        super().__init__(task, options)
        chosen = self.options
        self.endpoint = Endpoint(chosen.url, chosen)
        self._label = label_of(chosen.labels, f"{self.name}: {chosen.url}", chosen.independent)

    def texts(self, seat: str, asked: Sequence[Question]) -> list[str]:
        """Labels or votes; the requests run side by side.

        Raises:
            BrokenAgent: the address failed at every attempt, or its response has another form.
        """
        comments, size, chosen = comments_of(asked), self.options.texts, self.options
        place = f"{self.name}: {self.endpoint.url}"
        of = self._label if seat == MODERATOR else vote_of(chosen.positive, place)
        parts = [comments[first : first + size] for first in range(0, len(comments), size)]

        async def judged(part: list[str]) -> list[Opinion]:
            return await self._judged(part, asked[0])

        found = self.endpoint.each(judged, parts)
        return [of(opinion) for part in found for opinion in part]

    async def _judged(self, comments: list[str], first: Question) -> list[Opinion]:
        who = f"{self.name} (episode {first.game}): {self.endpoint.url}"
        response = await self.endpoint.asked(lambda: self.endpoint.post({"inputs": comments}), first.key, who)
        try:
            entries = schema.check_of(tuple[tuple[_Label, ...], ...], True)(response)
        except ValueError:
            entries = ()
        if len(entries) != len(comments) or not all(entries):
            received = self.endpoint.quote_text(json.dumps(response))
            raise BrokenAgent(
                f"{self.name}: {self.endpoint.url} responded{received}; it must be a list of {len(comments)} "
                "lists of objects with a label and a score"
            )
        return [Opinion({item.label: float(item.score) for item in entry}) for entry in entries]
