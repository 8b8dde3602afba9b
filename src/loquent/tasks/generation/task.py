"""Text generation: a prompt is continued, once.

Sees    a prompt: the first part of a text, or a prompt of its own from a source of pairs.
Says    the continuation, one answer of any text.
Earns   nothing of its own: rewards are terms of a run (a sentiment classifier, a metric, a function), at the end or per token.
Ends    "end" when the answer is said; "length" when it has more than `max_words` words; both are rules, so nothing is bootstrapped.
        An answer that a decoder stopped at its horizon ends with "cut" and is bootstrapped; with `horizon="terminal"` it ends by
        the rules above, as in the paper's code.
Rows    `prompt`, `references` (what may follow it; prompt + reference == text), `text`, `label` (None where there is none).
        Built in: 24,000 film reviews of our own; or files, or a dataset of the hub.        Paper: arXiv:2210.01241.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loquent.seeding import Key
from loquent.task import Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.tasks.generation import experts, rows
from loquent.values import Record


@dataclass(frozen=True)
class State:
    """A prompt, what may follow it, and the answer once it is said."""

    prompt: str
    references: tuple[str, ...] = ()
    answer: str = ""


class Generation(Task):
    """The token-level MDP of RL4LMs (arXiv:2210.01241 sec. 3.1) as a game of one answer.

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
        self.spec = TaskSpec(
            id="generation",
            horizon="cut" if self.options.horizon == "cut" else "end",
            paper="arXiv:2210.01241",
            licences=("Apache-2.0",) if self.options.source == "builtin" else (),
        )

    def rows(self, split: str) -> Sequence[Row]:
        """The rows of a split, cut into prompt and references.

        Raises:
            UnknownName: the source has no such split.
            BadRow, BadSetting, MissingExtra: as `data.sources.load`; and a text too short for its prompt.
        """
        return rows.rows(self.options, split)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the prompt; nothing is drawn."""
        state = State(row["prompt"], tuple(row.fields.get("references", ())))
        return Opening(state, _shown(state, row["prompt"]))

    def read(self, state: State, text: str) -> str:
        """Any text is an answer."""
        return text

    def play(self, state: State, move: str) -> Outcome:
        """Take the answer and end."""
        after = State(state.prompt, state.references, move)
        too_long = self.options.max_words and len(move.split()) > self.options.max_words
        return Outcome(after, _shown(after, ""), ended="length" if too_long else "end")

    def expert(self, state: State) -> str | None:
        """The first reference."""
        return experts.reference(state.references)


def _shown(state: State, text: str) -> Observation:
    return Observation(text, Record(prompt=state.prompt, answer=state.answer))
