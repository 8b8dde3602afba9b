"""The agent that plays the best fixed sequence of actions: the baseline that reads no sentence."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.core.agent import Answer, Question
from loquent.tasks.blocks import fixed_sequences
from loquent.tasks.blocks.boards import rules
from loquent.tasks.blocks.boards.board import Board
from loquent.tasks.blocks.edits.base import STOP
from loquent.tasks.blocks.task import Blocks

TRIED = 60  # additions of scattered items that the search combines, evenly spaced


class FixedSequence:
    """Plays the sequence with the highest success on the training rows, then `stop`.

    From an empty board it is also the best that an agent without a sentence can do, as far as the search
    finds it. `share` is its success on the training rows.
    """

    name = "blocks/fixed"

    def __init__(self, task: Blocks) -> None:
        self.task, rows, longest = task, task.rows("train"), task.options.horizon - 1
        if task.tower and task.options.start == "scratch":
            found = fixed_sequences.best_towers(rows, longest)
            numbers = [task.actions.number((1, box, color)) for box, color in found.actions]
            self.share = found.share
        else:
            every = range(1, len(task.actions))
            chosen = list(every) if task.tower else list(every[:: max(1, len(every) // TRIED)])
            best = fixed_sequences.best(rows, chosen, self._edited, longest)
            numbers, self.share = list(best.actions), best.share
        texts = [task.actions.text(number) for number in numbers if number is not None]
        self.texts = (*texts, task.actions.text(STOP))

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """The action of the sequence at the turn of each question."""
        turns = (question.observation.fields["turn"] for question in questions)
        return [Answer(self.texts[min(turn, len(self.texts) - 1)]) for turn in turns]

    def _edited(self, board: Board, number: int) -> Board | None:
        """The board after an action; None where it is invalid."""
        if self.task.actions.problem(board, number):
            return None
        edit = self.task.actions.edit(number)
        return rules.with_box(board, edit.box, self.task.apply_edit(board[edit.box], edit))
