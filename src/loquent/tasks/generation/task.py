"""Text generation: write one continuation of a prompt.

Observation  a prompt: the first part of a text, or a prompt from a source of prompts and references.
Action       the continuation: one answer, any text.
Reward       none of its own. The terms of a run (a sentiment classifier, a metric, a function) give rewards,
             at the end or per token.
Ends         "end" after the answer; "length" where the answer has more than `max_words` words. Both are
             rules, so nothing is bootstrapped. An answer that a decoder stopped at its horizon ends with
             "cut", and its value is bootstrapped; with `horizon="terminal"` it ends by the rules above, as in
             the paper's code.
Rows         `prompt`, `references` (continuations; prompt + reference == text), `text`, `label` (or None).
             Built in: 24,000 synthetic film reviews; or files, or a dataset of the hub. `dataset` names one
             of GRUE's datasets (`corpora/`), whose rows have `prompt`, `references` and fields of their own.
Paper        arXiv:2210.01241.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loquent.core.seeding import Key
from loquent.core.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.tasks.generation import experts, rows
from loquent.tasks.generation.corpora.table import DATASETS

PAPER = "arXiv:2210.01241"


@dataclass(frozen=True)
class State:
    """A prompt, its references, and the answer ("" before it is given)."""

    prompt: str
    references: tuple[str, ...] = ()
    answer: str = ""


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

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        entry = DATASETS.get(self.options.dataset)
        self._rows: dict[str, Sequence[Row]] = {}
        self.spec = TaskSpec(
            id="generation",
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
        """
        if split not in self._rows:
            self._rows[split] = rows.rows(self.options, split)
        return self._rows[split]

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the prompt; there is no randomness."""
        state = State(row["prompt"], tuple(row.fields.get("references", ())))
        return Opening(state, _observation(state, row["prompt"]))

    def read(self, state: State, text: str) -> str:
        """Any text is an answer."""
        return text

    def play(self, state: State, move: str) -> Outcome:
        """Store the answer and end the episode."""
        after = State(state.prompt, state.references, move)
        too_long = self.options.max_words and len(move.split()) > self.options.max_words
        return Outcome(after, _observation(after, ""), ended="length" if too_long else "end")

    def expert(self, state: State) -> str | None:
        """The first reference."""
        return experts.reference(state.references)

    def solution(self, state: State) -> str | None:
        """The first reference."""
        return state.references[0] if state.references else None


def _observation(state: State, text: str) -> Observation:
    return Observation(text, Record(prompt=state.prompt, answer=state.answer))
