"""What a server answers: an answerer, a judge and an agent that asks, applied to a request's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Question, make
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.core.values import EMPTY, Record
from loquent.errors import BadRow, BadSetting, BrokenAgent
from loquent.tasks.dialogue import rows
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.players.remote import Remote
from loquent.tasks.dialogue.players.seats import Player
from loquent.tasks.dialogue.players.truthful import DISTANCE, PERCENTILE, Judge
from loquent.tasks.dialogue.serving.lookup import Lookup
from loquent.tasks.dialogue.state import ANSWERING, ASKING, State
from loquent.tasks.dialogue.task import AGENT, ANSWERER, JUDGE, Dialogue

MEASURES = {
    protocol.REWARD: DISTANCE,
    protocol.STEP: DISTANCE,
    protocol.RANK: PERCENTILE,
    protocol.STEP_RANK: PERCENTILE,
}


class Seats:
    """The agents that a server speaks for; it keeps nothing of a request.

    Args:
        asker: the agent that asks.
    """

    def __init__(self, task: Dialogue, asker: Any) -> None:
        self.task, self.asker = task, asker
        self.answerer = make(task.options.answerer, task, place="task.answerer")
        self.judges = {
            measure: make(task.options.judge, task, {"measure": measure}, place="task.judge")
            for measure in (PERCENTILE, DISTANCE)
        }
        for name, agent, kind in (
            (ANSWERER, self.answerer, Player),
            (JUDGE, self.judges[PERCENTILE], Judge),
            (AGENT, self.asker, Player),
        ):
            if not isinstance(agent, kind):
                raise BadSetting(f"{name}: a server cannot use the agent {agent.name}; choose another one")
        self.width = task.features(next(iter(rows.sizes(task.options)))).shape[1]
        self.known = Lookup(task) if self.answerer.reads_row else None

    def respond(self, path: str, fields: Mapping[str, str]) -> Any:
        """The response to a request, a JSON value.

        Raises:
            BadRow: a field is missing or malformed. BadSetting: the answerer does not know the image.
        """
        caption = _field(fields, "caption")
        protocol.check_length("caption", caption)
        history, question = protocol.history_of(_field(fields, "history"))
        protocol.check_settings(fields.get("generation_kwargs", "{}"))
        if path == protocol.QUESTION:
            return _text(self.asker, State(caption, stage=ASKING, history=history), AGENT, EMPTY)
        image = protocol.image_of(_field(fields, "img_features"))
        if len(image) != self.width:
            raise BadRow(f"img_features has {len(image)} numbers; images here have {self.width}")
        if path in (protocol.REWARD, protocol.RANK):
            return self._progress(MEASURES[path], caption, history, image)
        if not question:
            raise BadRow(
                "history has no question without an answer at its end, so there is nothing to answer"
            )
        row = None if self.known is None else self.known.row(image, caption)
        answer = _text(
            self.answerer,
            State(caption, stage=ANSWERING, history=history, question=question),
            ANSWERER,
            Record(caption=caption, features=tuple(image.tolist())) if row is None else row,
        )
        if path == protocol.ANSWER:
            return answer
        return [answer, self._progress(MEASURES[path], caption, (*history, (question, answer)), image)]

    def _progress(
        self, measure: str, caption: str, history: protocol.History, image: NDArray[np.float32]
    ) -> float:
        """The measure without rounds; with some, its change with the last one."""
        judge = self.judges[measure]
        now = judge.measure(caption, history, image)
        return float(now - judge.measure(caption, history[:-1], image) if history else now)


def _text(player: Player, state: State, seat: str, row: Record) -> str:
    """What an agent says; a request that it cannot answer, such as one about an unknown image, is BadRow."""
    observation = Observation(state.question, seat=seat)
    asked = Question("request", (), observation, Key(0, ("dialogue", "server")), state=state, row=row)
    try:
        return player.text(asked, state)
    except BrokenAgent as error:
        if isinstance(player, Remote):  # the failure of another server
            raise
        raise BadRow(str(error)) from error


def _field(fields: Mapping[str, str], name: str) -> str:
    if name not in fields:
        raise BadRow(f"the field {name} is missing")
    return fields[name]
