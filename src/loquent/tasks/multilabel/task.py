"""Multi-label classification: name the labels of a text one by one, then "terminate".

Observation  the text and a new line at the start, then a space after each label. A complete episode reads
             "TEXT / cs.DM cs.IT terminate".
Action       a label, or "terminate". Any other text is a wrong label, and so is a repeated label.
Reward       f1 or exact (of the set), ndcg or prefix (of the order), as `reward` chooses: its change at each
             label, or the score at the end. The other scores are recorded at the end with weight 0.
Ends         "terminate"; or "out of turns" after `max_steps` answers, which Gymnasium gets as truncated.
Rows         `text` and `labels` in their order: 4,000 built-in texts, Reuters-21578, AAPD, JSON lines, CSV,
             the hub, or samples.
Paper        arXiv:2011.08272.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from loquent.core.actions import Texts
from loquent.core.seeding import Key
from loquent.core.task import OUT_OF_TURNS, Invalid, Observation, Opening, Outcome, Row
from loquent.core.values import Record
from loquent.data.annotated.rows import CUSTOM, GameTask, Rows
from loquent.metrics.labels import set_scores
from loquent.tasks.multilabel import rows
from loquent.tasks.multilabel.rows import TERMINATE
from loquent.tasks.multilabel.scores import NOTHING, SCORES, Labels, Tally, after_label, score_of


class State(NamedTuple):
    """A text, its target labels, the labels so far, and the running score.

    `inserted` has a bit for each inserted label.
    """

    text: str
    gold: Labels
    labels: Labels
    inserted: int
    tally: Tally
    score: float
    finished: bool = False


class MultiLabel(GameTask):
    """Insert the labels of a text, then say "terminate".

    Example:
        >>> task = MultiLabel()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "terminate").ended
        'terminate'
    """

    Options = rows.Options
    options: rows.Options
    annotation: ClassVar[str] = "labels"
    views: ClassVar[Mapping[str, str]] = {
        "dict": "loquent.tasks.multilabel.views:fields",
        "ansi": "loquent.tasks.multilabel.views:render",
    }
    vector_view: ClassVar[str] = "loquent.tasks.multilabel.views:MultiLabelView"

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        options = self.options
        self.labels = rows.labels(options)
        self.actions: Texts = Texts((*self.labels, TERMINATE))
        self.max_steps = rows.most_steps(options, len(self.labels))
        self.spec = self.game_spec(
            *SCORES,
            low=-options.empty_score if options.dense else 0.0,
            id="multilabel",
            instruction=f"Name all labels of the text, then say {TERMINATE}: {', '.join(self.labels)}."
            if options.instruct
            else "",
            invalid=("no label", "repeated label"),
            turn_limit=self.max_steps,
            truncates=(OUT_OF_TURNS,),
        )
        self._followed = options.reward if self.reward is None else "f1"
        self._dense, self._repeats, self._empty = options.dense, options.repeats, options.empty_score
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._bits = {label: 1 << number for number, label in enumerate(self.labels)}
        self._all = (1 << len(self.actions)) - 1
        self._rows = Rows(self.spec.id, partial(rows.load, options), options.check, self.labels)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the text; there is no randomness."""
        text, gold = row["text"], row["labels"]
        state = State(text, gold, (), 0, NOTHING, self._empty if not gold else 0.0)
        return Opening(state, self._observation(state))

    def read(self, state: State, text: str) -> str | Invalid:
        """The label or "terminate"; surrounding white space is ignored."""
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
        """Insert the label, or end.

        Text that is not a label is inserted as "", a forbidden repeated label as itself.
        """
        gold, labels, tally, inserted, score = (
            state.gold,
            state.labels,
            state.tally,
            state.inserted,
            state.score,
        )
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
            rewards = {
                CUSTOM: float(
                    self.reward(
                        self._observation(state), move.text if isinstance(move, Invalid) else move, gold
                    )
                )
            }
        else:
            rewards = {self._followed: score - state.score} if self._dense else {}
        if over:
            rewards = {
                **{name: score_of(name, tally, len(labels), len(gold), self._empty) for name in SCORES},
                **rewards,
            }
        return Outcome(after, self._observation(after), Record(rewards), TERMINATE if finished else None)

    def expert(self, state: State) -> str:
        """The next missing target label, in the row's order; then "terminate"."""
        return next((label for label in state.gold if label not in state.labels), TERMINATE)

    def solution(self, state: State) -> str:
        """The target labels."""
        return ", ".join(state.gold) or "no label"

    def info(self, state: State, ended: str | None) -> dict[str, Any]:
        """Further keys of `info`: the score so far; after the end also prediction, target and success."""
        score = state.score
        if ended is None:
            return {"score": score}
        success = bool(set_scores.exact(state.gold, state.labels))
        return {
            "score": score,
            "episode_score": score,
            "prediction": state.labels,
            "target": state.gold,
            "is_success": success,
        }

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Corpus scores: `micro_f1`, `macro_f1`, `sample_f1`, `exact`, `jaccard`, `ndcg`, `prefix`.

        `sample_f1` is the mean over texts.
        """
        pairs = [(row["labels"], last.fields["labels"]) for row, last in ended]
        gold, predictions, empty = [a for a, _ in pairs], [b for _, b in pairs], self.options.empty_score
        means = {
            "exact": set_scores.exact,
            "jaccard": lambda a, b: set_scores.jaccard(a, b, empty),
            "ndcg": lambda a, b: set_scores.ndcg(a, b, empty),
            "prefix": lambda a, b: set_scores.prefix(a, b, empty),
        }
        corpus = {
            name: getattr(set_scores, name)(gold, predictions, empty)
            for name in ("micro_f1", "macro_f1", "sample_f1")
        }
        return Record(
            {
                **corpus,
                **{name: sum(of(a, b) for a, b in pairs) / max(len(pairs), 1) for name, of in means.items()},
            }
        )

    def _observation(self, state: State) -> Observation:
        labels, finished = state.labels, state.finished
        text = "" if finished else " " if labels else f"{state.text}\n"
        legal = (
            None
            if self._repeats
            else (self._all & ~state.inserted).to_bytes(len(self.actions) + 7 >> 3, "little")
        )
        return Observation(text, Record(text=state.text, labels=labels, finished=finished), legal)
