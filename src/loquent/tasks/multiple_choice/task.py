"""Multiple choice: the choices of a question are shown one by one, until the agent takes one.

Observation  the question, the facts and the first choice; then one choice after the other. Each choice is on
             its own line, followed by a colon.
Action       ANSWER takes the current choice. CONTINUE goes on to the next; at the last choice of the last
             pass, it takes that choice. Any other text goes on; at the last choice of the last pass, it ends
             the episode without an answer.
Reward       correct: 1 for the right choice, else 0. Steps cost nothing.
Ends         "answered", "last choice" (taken by CONTINUE), "no answer"; all are rules, so nothing is
             bootstrapped.
Rows         `question`, `facts`, `choices`, `ids`, `answer`: 4,000 built-in questions, QASC, ARC, JSON lines,
             the hub, or samples.
Paper        arXiv:2011.08272.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from loquent.core.actions import Texts
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row
from loquent.core.values import EMPTY, Record
from loquent.data.annotated.rows import GameTask, Rows
from loquent.metrics.labels.set_scores import accuracy
from loquent.tasks.multiple_choice import rows

ANSWER, CONTINUE = "ANSWER", "CONTINUE"
CORRECT = "correct"
INSTRUCTION = (
    f"The choices come one by one. Say {ANSWER} to take the one that is shown, {CONTINUE} to see the next."
)


class State(NamedTuple):
    """A question with facts, choices and ids in the order shown, and the progress of the episode.

    `answer` is the id of the correct choice, `place` the number of the current choice, `passed` the number of
    complete passes, and `selected` the id of the choice taken. `forced` is True if CONTINUE at the end took
    this choice.
    """

    question: Record
    answer: str
    place: int = 0
    passed: int = 0
    selected: str = ""
    forced: bool = False


class MultipleChoice(GameTask):
    """Choose the answer to a question.

    Example:
        >>> task = MultipleChoice()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "ANSWER").ended
        'answered'
    """

    Options = rows.Options
    options: rows.Options
    annotation: ClassVar[str] = "choice"
    views: ClassVar[Mapping[str, str]] = {
        "dict": "loquent.tasks.multiple_choice.views:fields",
        "ansi": "loquent.tasks.multiple_choice.views:render",
    }
    vector_view: ClassVar[str] = "loquent.tasks.multiple_choice.views:AnsweringView"

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        options = self.options
        self.actions: Texts = Texts((ANSWER, CONTINUE))
        self.spec = self.game_spec(
            CORRECT,
            id="multiple_choice",
            instruction=INSTRUCTION if options.instruct else "",
            invalid=("neither ANSWER nor CONTINUE",),
        )
        self._rows = Rows(self.spec.id, partial(rows.load, options), options.check)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the first choice; with `shuffle`, draw the order of the choices."""
        fields = row.fields
        question, facts, choices, ids = fields["question"], fields["facts"], fields["choices"], fields["ids"]
        if self.options.shuffle:
            order = rng.draw(0, "order").permutation(len(ids)).tolist()
            choices, ids = tuple(choices[i] for i in order), tuple(ids[i] for i in order)
        state = State(Record(question=question, facts=facts, choices=choices, ids=ids), fields["answer"])
        return Opening(state, _observation(state, "\n".join((question, *facts, f"{choices[0]}:"))))

    def read(self, state: State, text: str) -> str | Invalid:
        """ANSWER or CONTINUE; surrounding white space is ignored."""
        word = text.strip()
        return word if word in (ANSWER, CONTINUE) else Invalid("neither ANSWER nor CONTINUE", text)

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Take the current choice, or go on to the next."""
        choices, ids = state.question["choices"], state.question["ids"]
        at_last = state.place == len(choices) - 1
        if move == ANSWER or (at_last and state.passed == self.options.passes - 1):
            invalid = isinstance(move, Invalid)
            after = State(
                state.question,
                state.answer,
                state.place,
                state.passed,
                "" if invalid else ids[state.place],
                move == CONTINUE,
            )
            ended = "answered" if move == ANSWER else "no answer" if invalid else "last choice"
            rewards = Record(correct=float(after.selected == state.answer))
            return Outcome(after, _observation(after, ""), self._with_custom(rewards, state, move), ended)
        place = 0 if at_last else state.place + 1
        after = State(state.question, state.answer, place, state.passed + at_last)
        return Outcome(
            after, _observation(after, f"\n{choices[place]}:"), self._with_custom(EMPTY, state, move)
        )

    def expert(self, state: State) -> str:
        """ANSWER at the right choice, else CONTINUE."""
        return ANSWER if state.question["ids"][state.place] == state.answer else CONTINUE

    def solution(self, state: State) -> str | None:
        """The text of the right choice."""
        return dict(zip(state.question["ids"], state.question["choices"], strict=True)).get(state.answer)

    def info(self, state: State, ended: str | None) -> dict[str, Any]:
        """Further keys of `info`: the score; after the end also the choice, target and success."""
        if ended is None:
            return {"score": 0.0}
        score, right = float(state.selected == state.answer), state.selected == state.answer
        choice = {"selected_choice": state.selected, "forced_answer": state.forced}
        return {
            **choice,
            "score": score,
            "episode_score": score,
            "prediction": state.selected,
            "target": state.answer,
            "is_success": right,
        }

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Over a corpus: `accuracy`."""
        return Record(
            accuracy=accuracy(
                [row["answer"] for row, _ in ended], [last.fields["selected"] for _, last in ended]
            )
        )

    def _with_custom(self, rewards: Record, state: State, move: str | Invalid) -> Record:
        if self.reward is None:
            return rewards
        action = move.text if isinstance(move, Invalid) else move
        return rewards.with_(custom=float(self.reward(_observation(state, ""), action, state.answer)))


def _observation(state: State, text: str) -> Observation:
    return Observation(
        text, Record(state.question, place=state.place, passed=state.passed, selected=state.selected)
    )
