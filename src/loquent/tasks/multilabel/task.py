"""Multi-label classification: labels are inserted one by one, until "terminate" is said.

Sees    the text and a new line at the start, then a space after each label; so a finished game reads "TEXT / cs.DM cs.IT terminate".
Says    one of the labels, or "terminate". Anything else is a wrong label, and so is one that stands there already.
Earns   f1 (of the set), exact (the set is right), ndcg or prefix (the order counts), whichever is chosen: at each label its change, or at
        the end the score. The others are told at the end and weigh nothing.
Ends    "terminate"; or "out of turns" after `max_steps` answers, which Gymnasium is told as truncated.
Rows    `text` and `labels`, in their order: 4,000 texts of our own, Reuters-21578, AAPD, JSON lines, CSV, the hub, or samples.
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
from loquent.metrics import label_sets
from loquent.seeding import Key
from loquent.task import OUT_OF_TURNS, Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.tasks.multilabel import rows
from loquent.tasks.multilabel.rows import TERMINATE
from loquent.tasks.multilabel.scores import NOTHING, SCORES, Labels, Tally, after_label, score_of
from loquent.values import Record

CUSTOM = "custom"


@dataclass(frozen=True)
class State:
    """A text, its right labels, the labels so far, a bit for each label that is there, what the running scores keep, and the chosen one."""

    text: str
    gold: Labels
    labels: Labels
    inserted: int
    tally: Tally
    score: float
    finished: bool = False

    def __init__(self, text: str, gold: Labels, labels: Labels, inserted: int, tally: Tally, score: float, finished: bool = False) -> None:
        into = self.__dict__  # one is made at every step: the generated __init__ takes twice as long
        into["text"], into["gold"], into["labels"], into["inserted"] = text, gold, labels, inserted
        into["tally"], into["score"], into["finished"] = tally, score, finished


class MultiLabel(Task):
    """Insert the labels of a text, then say "terminate".

    Example:
        >>> task = MultiLabel()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "terminate").ended
        'terminate'
    """

    Options = rows.Options
    options: rows.Options
    views: ClassVar[Mapping[str, str]] = {"dict": "loquent.tasks.multilabel.views:fields", "ansi": "loquent.tasks.multilabel.views:render"}

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        given = self.options
        self.labels = rows.labels(given)
        self.actions: Texts = Texts((*self.labels, TERMINATE))
        self.max_steps = rows.most_steps(given, len(self.labels))
        self.reward: Callable[..., float] | None = None if given.reward in SCORES else registry.imported(given.reward)
        chosen = given.reward if self.reward is None else CUSTOM
        self.spec = TaskSpec(
            id="multilabel",
            instruction=f"Name all labels of the text, then say {TERMINATE}: {', '.join(self.labels)}." if given.instruct else "",
            rewards=Record({name: float(name == chosen) for name in (*SCORES, *([CUSTOM] if self.reward else []))}),
            invalid=("no label", "repeated label"),
            turn_limit=self.max_steps,
            truncates=(OUT_OF_TURNS,),
            return_range=(-given.empty_score if given.dense else 0.0, 1.0) if self.reward is None else None,
            paper="arXiv:2011.08272",
            licences=("Apache-2.0",) if given.source == "builtin" else (),
        )
        self._followed = given.reward if self.reward is None else "f1"
        self._dense, self._repeats, self._empty = given.dense, given.repeats, given.empty_score
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._bits = {label: 1 << number for number, label in enumerate(self.labels)}
        self._all = (1 << len(self.actions)) - 1
        self._rows = Rows(self.spec.id, partial(rows.load, given), given.check, self.labels)

    def rows(self, split: str) -> tuple[Row, ...]:
        """The texts of a split; errors as `data.annotated.rows.Rows.of`."""
        return self._rows.of(split)

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from `text` and `labels`; BadRow where they are none of this task."""
        return self._rows.added(fields)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the text; nothing is drawn."""
        text, gold = row["text"], row["labels"]
        state = State(text, gold, (), 0, NOTHING, self._empty if not gold else 0.0)
        return Opening(state, self._seen(state))

    def read(self, state: State, text: str) -> str | Invalid:
        """The label or "terminate", with nothing but space around it."""
        label = text if text in self._numbers else text.strip()
        if label == TERMINATE:
            return label
        number = self._numbers.get(label)
        if number is None:
            return Invalid("no label", text)
        if not self._repeats and state.inserted >> number & 1:
            return Invalid("repeated label", label)
        return label

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Insert the label, or end; what is no label is inserted as "", and a label that may not be repeated as itself."""
        gold, labels, tally, inserted, score = state.gold, state.labels, state.tally, state.inserted, state.score
        finished = move == TERMINATE
        if not finished:
            label = move if isinstance(move, str) else move.text if move.why == "repeated label" else ""
            tally = after_label(tally, gold, labels, label)
            inserted |= self._bits.get(label, 0)
            labels = (*labels, label)
            score = score_of(self._followed, tally, len(labels), len(gold), self._empty)
        after = State(state.text, gold, labels, inserted, tally, score, finished)
        over = finished or len(labels) >= self.max_steps
        if self.reward is not None:
            earned = {CUSTOM: float(self.reward(self._seen(state), move.text if isinstance(move, Invalid) else move, gold))}
        else:
            earned = {self._followed: score - state.score} if self._dense else {}
        if over:
            earned = {**{name: score_of(name, tally, len(labels), len(gold), self._empty) for name in SCORES}, **earned}
        return Outcome(after, self._seen(after), Record(earned), TERMINATE if finished else None)

    def expert(self, state: State) -> str:
        """The next right label that is not there yet, in the row's order; then "terminate"."""
        return next((label for label in state.gold if label not in state.labels), TERMINATE)

    def told(self, state: State, ended: str | None) -> dict[str, Any]:
        """What `info` tells beside the observation: the score so far, and after the end what was said and what was right."""
        score = state.score
        if ended is None:
            return {"score": score}
        right = bool(label_sets.exact(state.gold, state.labels))
        return {"score": score, "episode_score": score, "prediction": state.labels, "target": state.gold, "is_success": right}

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Over a corpus: `micro_f1`, `macro_f1`, `sample_f1` (the mean of each text's), `exact`, `jaccard`, `ndcg`, `prefix`."""
        pairs = [(row["labels"], seen.fields["labels"]) for row, seen in ended]
        gold, said, empty = [a for a, _ in pairs], [b for _, b in pairs], self.options.empty_score
        means = {
            "exact": label_sets.exact,
            "jaccard": lambda a, b: label_sets.jaccard(a, b, empty),
            "ndcg": lambda a, b: label_sets.ndcg(a, b, empty),
            "prefix": lambda a, b: label_sets.prefix(a, b, empty),
        }
        corpus = {name: getattr(label_sets, name)(gold, said, empty) for name in ("micro_f1", "macro_f1", "sample_f1")}
        return Record({**corpus, **{name: sum(of(a, b) for a, b in pairs) / max(len(pairs), 1) for name, of in means.items()}})

    def _seen(self, state: State) -> Observation:
        labels, finished = state.labels, state.finished
        text = "" if finished else " " if labels else f"{state.text}\n"
        legal = None if self._repeats else (self._all & ~state.inserted).to_bytes(len(self.actions) + 7 >> 3, "little")
        return Observation(text, Record(text=state.text, labels=labels, finished=finished), legal)
