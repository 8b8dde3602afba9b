"""Multiple choice: the choices are shown one by one, until one is taken.

Sees    the question, the facts and the first choice, then one choice after the other, each on a line of its own with a colon behind it.
Says    ANSWER, which takes the choice now shown, or CONTINUE, which goes on to the next; at the last one of the last pass that takes it.
        Anything else goes on, and at the last one ends the game without an answer.
Earns   correct: 1 for the right choice, else 0. There is no cost of a step.
Ends    "answered", "last choice" (taken by going on), "no answer"; all are rules, so nothing is bootstrapped.
Rows    `question`, `facts`, `choices`, `ids`, `answer`: 4,000 questions of our own, QASC, ARC, JSON lines, the hub, or samples.
Paper   arXiv:2011.08272.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from loquent import registry
from loquent.actions import Texts
from loquent.data.annotated.rows import Rows
from loquent.metrics.label_sets import accuracy
from loquent.seeding import Key
from loquent.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.tasks.multiple_choice import rows
from loquent.values import EMPTY, Record

ANSWER, CONTINUE = "ANSWER", "CONTINUE"
CORRECT, CUSTOM = "correct", "custom"
INSTRUCTION = f"The choices come one by one. Say {ANSWER} to take the one that is shown, {CONTINUE} to see the next."


@dataclass(frozen=True)
class State:
    """A question with facts, choices and ids in the order shown; the right choice's id; and where the game stands."""

    question: Record
    answer: str
    place: int = 0
    passed: int = 0
    selected: str = ""
    forced: bool = False

    def __init__(self, question: Record, answer: str, place: int = 0, passed: int = 0, selected: str = "", forced: bool = False) -> None:
        into = self.__dict__  # one is made at every step: the generated __init__ takes twice as long
        into["question"], into["answer"], into["place"], into["passed"] = question, answer, place, passed
        into["selected"], into["forced"] = selected, forced


class MultipleChoice(Task):
    """Take one of the choices of a question.

    Example:
        >>> task = MultipleChoice()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "ANSWER").ended
        'answered'
    """

    Options = rows.Options
    options: rows.Options
    views: ClassVar[Mapping[str, str]] = {"dict": "loquent.tasks.multiple_choice.views:fields", "ansi": "loquent.tasks.multiple_choice.views:render"}

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        given = self.options
        self.actions: Texts = Texts((ANSWER, CONTINUE))
        self.reward: Callable[..., float] | None = None if given.reward == CORRECT else registry.imported(given.reward)
        self.spec = TaskSpec(
            id="multiple_choice",
            instruction=INSTRUCTION if given.instruct else "",
            rewards=Record(correct=1.0) if self.reward is None else Record(correct=0.0, custom=1.0),
            invalid=("neither ANSWER nor CONTINUE",),
            return_range=(0.0, 1.0) if self.reward is None else None,
            paper="arXiv:2011.08272",
            licences=("Apache-2.0",) if given.source == "builtin" else (),
        )
        self._rows = Rows(self.spec.id, partial(rows.load, given), given.check)

    def rows(self, split: str) -> tuple[Row, ...]:
        """The questions of a split; errors as `data.annotated.rows.Rows.of`."""
        return self._rows.of(split)

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from `question`, `choices`, `answer` and maybe `facts`, in any form that `data.annotated.questions.check` reads; else BadRow."""
        return self._rows.added(fields)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the first choice; with `shuffle` their order is drawn."""
        told = row.fields
        asked, facts, choices, ids = told["question"], told["facts"], told["choices"], told["ids"]
        if self.options.shuffle:
            order = rng.draw(0, "order").permutation(len(ids)).tolist()
            choices, ids = tuple(choices[i] for i in order), tuple(ids[i] for i in order)
        state = State(Record(question=asked, facts=facts, choices=choices, ids=ids), told["answer"])
        return Opening(state, _seen(state, "\n".join((asked, *facts, f"{choices[0]}:"))))

    def read(self, state: State, text: str) -> str | Invalid:
        """ANSWER or CONTINUE, with nothing but space around it."""
        said = text.strip()
        return said if said in (ANSWER, CONTINUE) else Invalid("neither ANSWER nor CONTINUE", text)

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Take the choice, or go on to the next."""
        choices, ids = state.question["choices"], state.question["ids"]
        at_last = state.place == len(choices) - 1
        if move == ANSWER or (at_last and state.passed == self.options.passes - 1):
            invalid = isinstance(move, Invalid)
            after = State(state.question, state.answer, state.place, state.passed, "" if invalid else ids[state.place], move == CONTINUE)
            ended = "answered" if move == ANSWER else "no answer" if invalid else "last choice"
            earned = Record(correct=float(after.selected == state.answer))
            return Outcome(after, _seen(after, ""), self._with_custom(earned, state, move), ended)
        place = 0 if at_last else state.place + 1
        after = State(state.question, state.answer, place, state.passed + at_last)
        return Outcome(after, _seen(after, f"\n{choices[place]}:"), self._with_custom(EMPTY, state, move))

    def expert(self, state: State) -> str:
        """ANSWER where the right choice is shown, else CONTINUE."""
        return ANSWER if state.question["ids"][state.place] == state.answer else CONTINUE

    def told(self, state: State, ended: str | None) -> dict[str, Any]:
        """What `info` tells after the end: the choice taken, the right one, and whether going on took it."""
        if ended is None:
            return {"score": 0.0}
        score, right = float(state.selected == state.answer), state.selected == state.answer
        choice = {"selected_choice": state.selected, "forced_answer": state.forced}
        return {**choice, "score": score, "episode_score": score, "prediction": state.selected, "target": state.answer, "is_success": right}

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Over a corpus: `accuracy`."""
        return Record(accuracy=accuracy([row["answer"] for row, _ in ended], [seen.fields["selected"] for _, seen in ended]))

    def _with_custom(self, earned: Record, state: State, move: str | Invalid) -> Record:
        if self.reward is None:
            return earned
        said = move.text if isinstance(move, Invalid) else move
        return earned.with_(custom=float(self.reward(_seen(state, ""), said, state.answer)))


def _seen(state: State, text: str) -> Observation:
    return Observation(text, Record(state.question, place=state.place, passed=state.passed, selected=state.selected))
