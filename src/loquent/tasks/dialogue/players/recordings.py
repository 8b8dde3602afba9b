"""Replays recorded dialogues: their questions, their answers, and the recorded progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loquent.core.agent import Question
from loquent.core.settings import setting
from loquent.errors import BrokenAgent
from loquent.tasks.dialogue.game.options import AGENT_STOPS
from loquent.tasks.dialogue.game.rules import TURNS
from loquent.tasks.dialogue.players.seats import Player
from loquent.tasks.dialogue.state import JUDGING, State
from loquent.tasks.dialogue.task import AGENT, ANSWERER, JUDGE, STOP


@dataclass(frozen=True, kw_only=True)
class RecordedOptions:
    """The options of dialogue/recorded."""

    stops: bool = setting(
        False,
        "seat agent, mode=agent_stops: episode n of a row stops after n questions, and episode 10 does not "
        "stop; collect 11 episodes for each row",
        source="§5.1",
    )


class Recorded(Player):
    """Repeats the dialogue of the row in any seat."""

    Options: ClassVar[type] = RecordedOptions
    kind, seats = "dialogue/recorded", (AGENT, ANSWERER, JUDGE)

    def text(self, question: Question, state: State) -> str:
        """The recorded text.

        Raises:
            BrokenAgent: the row records no such round, or no progress; or another question was asked.
        """
        assert question.row is not None
        seat, number = question.observation.seat, len(state.history)
        if seat == JUDGE:
            return self._progress(question, number if state.stage == JUDGING else 0)
        if seat == AGENT and self.options.stops and self.task.options.mode == AGENT_STOPS:
            episode = question.game.rpartition("#")[2]
            if not episode.isdecimal():
                raise BrokenAgent(
                    f"{question.game}: stops=true needs episodes with a number, such as val-3#0"
                )
            after = int(episode) % (TURNS + 1)
            if number >= after and after < TURNS:
                return STOP
        dialog = question.row.get("dialog", ())
        if number >= len(dialog):
            raise BrokenAgent(
                f"{question.game}: the row records {len(dialog)} rounds, and round {number + 1} is needed; "
                "choose another agent for this seat"
            )
        asked, answer = dialog[number]
        if seat == AGENT:
            return str(asked)
        if state.question != " ".join(asked.split()):
            raise BrokenAgent(
                f"{question.game}: {state.question!r:.80} was asked, and the row records an answer to "
                f"{asked!r:.80} only; set task.answerer to another agent"
            )
        return str(answer)

    def _progress(self, question: Question, number: int) -> str:
        assert question.row is not None
        progress = question.row.get("progress")
        if progress is None:
            raise BrokenAgent(
                f"{question.game}: the row records no progress; set task.progress to a folder with it, or "
                "task.judge to another agent"
            )
        return repr(progress[number])
