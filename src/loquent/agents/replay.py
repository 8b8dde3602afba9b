"""An agent that says what was said: the answers of recorded episodes, in the same games."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loquent.core.agent import Answer, Question
from loquent.core.episode import TASK, Episode
from loquent.errors import BrokenAgent


class Replay:
    """Repeats the answers of every seat.

    A game is known by seed, row and number: under another seed it would be another game.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self.name = "replay"
        self._said: dict[tuple[int, str, str], list[Answer]] = {}
        for episode in episodes:
            game, fresh = f"{episode.row}#{episode.number}", dict[str, list[Answer]]()
            for turn in episode.turns:
                if turn.seat != TASK:
                    fresh.setdefault(turn.seat, []).append(Answer(turn.text, turn.stopped, turn.tokens))
            for seat, answers in fresh.items():
                before = self._said.setdefault((episode.seed, game, seat), answers)
                if [a.text for a in before] != [a.text for a in answers]:
                    raise BrokenAgent(
                        f"two records of the game {game} with seed {episode.seed} differ; give one of them"
                    )

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question.

        Raises:
            BrokenAgent: no record has this game, or its record is shorter.
        """
        return [self._say(one) for one in asked]

    def _say(self, asked: Question) -> Answer:
        seat = asked.observation.seat
        said = self._said.get((asked.key.seed, asked.game, seat))
        spoken = sum(turn.seat == seat for turn in asked.turns)
        if said is None or spoken >= len(said):
            what = f"ends after {spoken} answers" if said else "is missing"
            raise BrokenAgent(
                f"the record of the game {asked.game} with seed {asked.key.seed} for the seat {seat!r} {what}"
            )
        return said[spoken]
