"""What a server answers: an answerer, a judge and an agent that asks, applied to a request's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Question, make
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting
from loquent.tasks.dialogue import protocol, rows
from loquent.tasks.dialogue.players.seats import Player
from loquent.tasks.dialogue.players.truthful import DISTANCE, PERCENTILE, Judge
from loquent.tasks.dialogue.state import ANSWERING, ASKING, State
from loquent.tasks.dialogue.task import AGENT, ANSWERER, JUDGE, Dialogue

MEASURES = {
    protocol.REWARD: DISTANCE,
    protocol.STEP: DISTANCE,
    protocol.RANK: PERCENTILE,
    protocol.STEP_RANK: PERCENTILE,
}
DECIMALS = 5  # by which the features of a request are compared with those of the task


class Seats:
    """The agents that a server speaks for; it keeps nothing of a request."""

    def __init__(self, task: Dialogue, asker: str) -> None:
        self.task = task
        self.answerer = make(task.options.answerer, task, place="task.answerer")
        self.judges = {
            measure: make(task.options.judge, task, {"measure": measure}, place="task.judge")
            for measure in (PERCENTILE, DISTANCE)
        }
        self.asker = make(asker, task, place="asker")
        for name, agent, kind in (
            (ANSWERER, self.answerer, Player),
            (JUDGE, self.judges[PERCENTILE], Judge),
            (AGENT, self.asker, Player),
        ):
            if not isinstance(agent, kind):
                raise BadSetting(f"{name}: a server cannot use the agent {agent.name}; choose another one")
        self.known = {
            _mark(task.image(row.fields)): row.fields
            for split in rows.everything(task.options).values()
            for row in split
        }

    def respond(self, path: str, fields: Mapping[str, str]) -> Any:
        """The response to a request, a JSON value.

        Raises:
            BadRow: a field is missing or malformed. BadSetting: the answerer does not know the image.
        """
        caption = _field(fields, "caption")
        history, question = protocol.history_of(_field(fields, "history"))
        protocol.check_settings(fields.get("generation_kwargs", "{}"))
        if path == protocol.QUESTION:
            return self.asker.text(*_question(State(caption, stage=ASKING, history=history), AGENT, Record()))
        image = protocol.image_of(_field(fields, "img_features"))
        width = self.task.features("train").shape[1]
        if len(image) != width:
            raise BadRow(f"img_features has {len(image)} numbers; images here have {width}")
        if path in (protocol.REWARD, protocol.RANK):
            return self._progress(MEASURES[path], caption, history, image)
        if not question:
            raise BadRow(
                "history has no question without an answer at its end, so there is nothing to answer"
            )
        row = self.known.get(_mark(image), Record(caption=caption, features=tuple(image.tolist())))
        answer = self.answerer.text(
            *_question(State(caption, stage=ANSWERING, history=history, question=question), ANSWERER, row)
        )
        if path == protocol.ANSWER:
            return answer
        return [answer, self._progress(MEASURES[path], caption, (*history, (question, answer)), image)]

    def _progress(
        self, measure: str, caption: str, history: protocol.History, image: NDArray[np.float32]
    ) -> float:
        """The measure without rounds; with some, its change with the last one."""
        judge = self.judges[measure]
        now = judge.measured(caption, history, image)
        return float(now - judge.measured(caption, history[:-1], image) if history else now)


def _question(state: State, seat: str, row: Record) -> tuple[Question, State]:
    observation = Observation(state.question, seat=seat)
    return Question("request", (), observation, Key(0, ("dialogue", "server")), state=state, row=row), state


def _mark(image: NDArray[np.floating]) -> bytes:
    return np.round(image.astype(np.float64), DECIMALS).tobytes()


def _field(fields: Mapping[str, str], name: str) -> str:
    if name not in fields:
        raise BadRow(f"the field {name} is missing")
    return fields[name]
