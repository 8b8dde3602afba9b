"""An agent that plays in turns with its teacher, and notes what the teacher would do (arXiv:1011.0686)."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.core.agent import Agent, Answer, Question, check_answers


class Mixture:
    """Answers as a teacher or as a learner, at random for each answer.

    The teacher is asked every question. `notes` has the texts of its answers to the questions of an episode,
    in their order, by the episode's name and the seat.

    Args:
        share: the probability of the teacher's answer, drawn from the stream of the question.
    """

    def __init__(self, teacher: Agent, learner: Agent, share: float) -> None:
        self.name = f"{learner.name} and {teacher.name}"
        self.teacher, self.learner, self.share = teacher, learner, share
        self.notes: dict[tuple[str, str], list[str]] = {}

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer per question, the teacher's or the learner's."""
        answers = list(self.teacher.answer(questions))
        check_answers(self.teacher, answers, len(questions))
        for question, answer in zip(questions, answers, strict=True):
            self.notes.setdefault((question.game, question.observation.seat), []).append(answer.text)
        own = [i for i, question in enumerate(questions) if not self._asks_teacher(question)]
        learned = self.learner.answer([questions[i] for i in own]) if own else ()
        for i, answer in zip(own, learned, strict=True):
            answers[i] = answer
        return answers

    def _asks_teacher(self, question: Question) -> bool:
        return bool(question.key.child("mixture").generator().random() < self.share)
