"""An agent that repeats the answers of recorded episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loquent.core.agent import Answer, Question
from loquent.core.episode import TASK, Episode
from loquent.errors import BrokenAgent


class Replay:
    """Repeats the answers of every seat.

    Seed, row and number identify an episode: another seed gives another episode.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self.name = "replay"
        self._answers: dict[tuple[int, str, str], list[Answer]] = {}
        for episode in episodes:
            game, seats = f"{episode.row}#{episode.number}", dict[str, list[Answer]]()
            for turn in episode.turns:
                if turn.seat != TASK:
                    seats.setdefault(turn.seat, []).append(Answer(turn.text, turn.stopped, turn.tokens))
            for seat, answers in seats.items():
                earlier = self._answers.setdefault((episode.seed, game, seat), answers)
                if [answer.text for answer in earlier] != [answer.text for answer in answers]:
                    raise BrokenAgent(
                        f"two records of the game {game} with seed {episode.seed} differ; give only one"
                    )

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question.

        Raises:
            BrokenAgent: no record has this episode, or its record is shorter.
        """
        return [self._recorded(question) for question in asked]

    def _recorded(self, question: Question) -> Answer:
        seat = question.observation.seat
        answers = self._answers.get((question.key.seed, question.game, seat))
        turn = sum(turn.seat == seat for turn in question.turns)
        if answers is None or turn >= len(answers):
            problem = f"ends after {turn} answers" if answers else "is missing"
            raise BrokenAgent(
                f"the record of the game {question.game} with seed {question.key.seed} for the seat {seat!r} "
                f"{problem}; replay a task with the rows, seed and options of its record"
            )
        return answers[turn]
