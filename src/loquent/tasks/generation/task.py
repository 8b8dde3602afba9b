"""Text generation: write the answer to a prompt, or the answers of a conversation.

Observation  a prompt: the first part of a text, a prompt from a source of prompts and references, or the
             messages of a row; then what the user says next.
Action       the continuation or the answer, any text; it ends before the first of the texts `stop`.
Seats        agent answers; user replies to it (`user`); judge says whether the conversation is over
             (`judge`). Without `user` the later user messages of a row are the replies.
Reward       none of its own. The terms of a run (a sentiment classifier, a metric, a function) give rewards,
             at the end, per turn or per token.
Ends         "end" after the answer, or where the user says nothing more; "length" where an answer has more
             than `max_words` words; in a conversation "out of turns" after `turns` answers, "end text"
             after `end_text`, "judge", and "no reply" or "no judge" where the agent of that seat failed:
             nobody learns from such an episode. All are rules, so nothing is bootstrapped. An answer that a
             decoder stopped at its horizon ends with "cut", and its value is bootstrapped; with
             `horizon="terminal"` it ends by the rules above, as in the paper's code.
Rows         `prompt`, `references` (continuations; prompt + reference == text), `text`, `label` (or None),
             and `messages` where the row has them. Built in: 24,000 synthetic film reviews; or files, or a
             dataset of the hub. `dataset` names one of GRUE's datasets (`corpora/`), whose rows have
             `prompt`, `references` and fields of their own, or the orders of a guest (`orders.py`).
Paper        arXiv:2210.01241.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from loquent.core.agent import before_first
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import (
    OUT_OF_TURNS,
    Invalid,
    Observation,
    Opening,
    Outcome,
    Row,
    Task,
    TaskSpec,
)
from loquent.core.values import Record
from loquent.tasks.generation import experts, judging, preferences, rows
from loquent.tasks.generation.conversation import Line, fill, script
from loquent.tasks.generation.corpora.table import DATASETS
from loquent.tasks.generation.state import AGENT, JUDGE, USER, State

PAPER = "arXiv:2210.01241"
END, LENGTH, END_TEXT = "end", "length", "end text"
NO_REPLY, NO_JUDGE, NO_VERDICT = "no reply", "no judge", "no verdict"
INVALID = {USER: (NO_REPLY,), JUDGE: (NO_VERDICT, NO_JUDGE)}
FAILURES = {USER: NO_REPLY, JUDGE: NO_JUDGE}  # of the agent of a seat
SEEN = 100  # rows of a split in which a second message is searched


class Generation(Task):
    """The token-level MDP of RL4LMs (arXiv:2210.01241 sec. 3.1), as an episode with one answer.

    Example:
        >>> task = Generation()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, " and that is all .").ended
        'end'
    """

    Options = rows.Options
    options: rows.Options
    failure_text: ClassVar[str | None] = "\0no reply"

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        entry = DATASETS.get(self.options.dataset)
        self._rows: dict[str, Sequence[Row]] = {}
        chosen = {USER: self.options.user, JUDGE: self.options.judge}
        self.seats = {seat: agent for seat, agent in chosen.items() if agent}
        self.spec = TaskSpec(
            id="generation",
            instruction=self.options.instruction,
            invalid=tuple(reason for seat in self.seats for reason in INVALID[seat]),
            failures=tuple(FAILURES[seat] for seat in self.seats),
            horizon="cut" if self.options.horizon == "cut" else "end",
            paper=PAPER if entry is None else f"{PAPER}, {entry.paper}",
            licences=("Apache-2.0",) if self.options.source == "builtin" else (),
        )

    def rows(self, split: str) -> Sequence[Row]:
        """The rows of a split, with prompt and references.

        Raises:
            UnknownName: the source has no such split.
            BadRow: a text is too short for a prompt.
            BadRow, BadSetting, MissingExtra: as in `data.sources.load`.

        Warns:
            Remark: several turns have no effect on these rows.
        """
        if split not in self._rows:
            self._rows[split] = rows.rows(self.options, split)
            self._remark_turns(split)
        return self._rows[split]

    def _remark_turns(self, split: str) -> None:
        """Show a remark if nobody says anything after the first answer."""
        first = self._rows[split][:SEEN]
        if self.options.reads_script and all(len(row.fields.get("turn_references", ())) < 2 for row in first):
            warnings.warn(
                f"task.turns = {self.options.turns} has no effect: there is no `user`, and none of the first "
                f"{len(first)} rows of {split} has a message after an answer; set user, or leave turns at 1",
                Remark,
                stacklevel=3,
            )

    def instruction(self, row: Row, seat: str) -> str:
        """The row's own system message, or `instruction`; for the user's agent `user_instruction`."""
        own = script(row.fields, self.options)
        if seat == USER:
            fields = {**row.fields, "prompt": own.lines[0].text}
            return fill(self.options.user_instruction, fields)
        return "" if seat == JUDGE else own.instruction or self.options.instruction

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the prompt; there is no randomness."""
        first, *later = script(row.fields, self.options).lines
        state = State(first.text, first.references, tuple(later), messages=first.messages)
        return Opening(state, self._observation(state, first.text))

    def read(self, state: State, text: str) -> str | bool | Invalid:
        """Any text is an answer or a reply; a judge says [[yes]] or [[no]]."""
        if state.seat == AGENT:
            return before_first(text, self.options.stop)
        if text == self.failure_text:
            return Invalid(FAILURES[state.seat], text)
        if state.seat == USER:
            return text
        over = judging.is_over(text)
        return Invalid(NO_VERDICT, text) if over is None else over

    def play(self, state: State, move: str | bool | Invalid) -> Outcome:
        """Store the answer or the reply, and ask who is next."""
        if isinstance(move, Invalid) and move.why in FAILURES.values():
            return self._next(state, "", move.why)
        if state.seat == JUDGE:
            return self._next(state, state.exchanges[-1][1], JUDGE if move is True else None)
        if state.seat == USER:
            if not isinstance(move, str) or not move.strip():
                return self._next(state, "", END)
            return self._after_reply(state, Line(move, (), state.references))
        assert isinstance(move, str)
        return self._after_answer(replace(state, exchanges=(*state.exchanges, (move, ""))), move)

    def _after_answer(self, state: State, answer: str) -> Outcome:
        chosen = self.options
        if chosen.max_words and len(answer.split()) > chosen.max_words:
            return self._next(state, "", LENGTH)
        if chosen.turns == 1:
            return self._next(state, "", END)
        if chosen.end_text and chosen.end_text in answer:
            return self._next(state, "", END_TEXT)
        if len(state.exchanges) == chosen.turns:
            return self._next(state, "", OUT_OF_TURNS)
        if USER in self.seats:
            after = replace(state, seat=USER)
            return Outcome(after, Observation(answer, _fields(after), seat=USER))
        if not state.later:
            return self._next(state, "", END)
        return self._after_reply(replace(state, later=state.later[1:]), state.later[0])

    def _after_reply(self, state: State, line: Line) -> Outcome:
        """What the user said, and whether it ends the conversation."""
        exchanges = (*state.exchanges[:-1], (state.exchanges[-1][0], line.text))
        after = replace(state, exchanges=exchanges, references=line.references, messages=line.messages)
        if self.options.end_text and self.options.end_text in line.text:
            return self._next(after, line.text, END_TEXT)
        if JUDGE in self.seats:
            after = replace(after, seat=JUDGE)
            question = judging.question(after, self.options.judge_rule)
            return Outcome(after, Observation(question, _fields(after), seat=JUDGE))
        return self._next(after, line.text)

    def _next(self, state: State, text: str, ended: str | None = None) -> Outcome:
        """The agent is next, or the episode ended; `text` is what the agent reads."""
        after = replace(state, seat=AGENT)
        return Outcome(after, self._observation(after, text), ended=ended)

    def _observation(self, state: State, text: str) -> Observation:
        messages = state.messages if text else ()
        return Observation(text, _fields(state), stop=self.options.stop, messages=messages)

    def expert(self, state: State) -> str | None:
        """The first reference of the next answer; None for another seat."""
        return experts.reference(state.references) if state.seat == AGENT else None

    def judged_answers(self, id: str, record: Mapping[str, Any]) -> list[tuple[Row, float]]:
        """The answers of a record with `chosen` and `rejected`, or with `completion` and `label`."""
        return preferences.answers(self.options, id, record)

    def solution(self, state: State) -> str | None:
        """The first reference."""
        return state.references[0] if state.references else None


def _fields(state: State) -> Record:
    """What was said before the last answer, one text per line, and this answer; "" once there is a reply."""
    texts = state.texts
    waits = bool(state.exchanges) and not state.exchanges[-1][1]
    before = texts[:-2] if waits else texts
    return Record(prompt="\n".join(before), answer=state.answer if waits else "")
