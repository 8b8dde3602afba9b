"""Sequence tagging: one label per token, in order.

Sees    the current token and a slash, such as "York/", and with `lookahead` the tokens behind it; so a finished game reads
        "NEW/LOC YORK/LOC 1996-08-22/O". With lookahead=-1 the whole sentence stands before it.
Says    one of the labels. Anything else is a wrong label.
Earns   token_f1 (with "micro" the share of right labels, which the paper calls entity-level F1) or span_f1, whichever is chosen: at each
        token its change, or at the end the score. The other one is told at the end and weighs nothing.
Ends    "tagged", after as many answers as there are tokens; it is a rule, so nothing is bootstrapped.
Rows    `tokens` and `labels`: 4,000 sentences of our own with named entities, CoNLL and CoNLL-U files, JSON lines, the hub, or samples.
Paper   arXiv:2011.08272.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent import registry
from loquent.actions import Texts
from loquent.data.annotated import placed
from loquent.metrics import tagging
from loquent.seeding import Key
from loquent.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.tasks.tagging import rows
from loquent.tasks.tagging.scores import Tally, running
from loquent.values import EMPTY, Record

SCORES = ("token_f1", "span_f1")
CUSTOM = "custom"


@dataclass(frozen=True)
class State:
    """A sentence, its right labels, the labels so far, and what the running score keeps."""

    tokens: tuple[str, ...]
    gold: tuple[str, ...]
    labels: tuple[str, ...] = ()
    previous: int = 0
    tally: Tally = None


class Tagging(Task):
    """Label the tokens of a sentence, one after the other.

    Example:
        >>> task = Tagging()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "O").observation.fields["labels"]
        ('O',)
    """

    Options = rows.Options
    options: rows.Options
    views: ClassVar[Mapping[str, str]] = {"dict": "loquent.tasks.tagging.views:fields", "ansi": "loquent.tasks.tagging.views:render"}

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        given = self.options
        self.labels = rows.labels(given)
        self.actions: Texts = Texts(self.labels)
        self.scheme = tagging.scheme_of(self.labels) if given.scheme == "auto" else given.scheme
        self.reward: Callable[..., float] | None = None if given.reward in SCORES else registry.imported(given.reward)
        chosen = given.reward if self.reward is None else CUSTOM
        self.spec = TaskSpec(
            id="tagging",
            instruction=f"Label each token: {', '.join(self.labels)}." if given.instruct else "",
            rewards=Record({name: float(name == chosen) for name in (*SCORES, *([CUSTOM] if self.reward else []))}),
            invalid=("no label",),
            return_range=(0.0, 1.0) if self.reward is None else None,
            paper="arXiv:2011.08272",
            licences=("Apache-2.0",) if given.source == "builtin" else (),
        )
        self._chosen, self._running = chosen, running(given.reward, given.average, self.scheme)
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._rows: dict[str, tuple[Row, ...]] = {}

    def rows(self, split: str) -> tuple[Row, ...]:
        """The sentences of a split; errors as `data.annotated.placed.rows_of`."""
        if split not in self._rows:
            self._rows[split] = placed.rows_of(rows.load(self.options), split, self.spec.id, self.labels)
        return self._rows[split]

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from `tokens` (or `text`, cut at its spaces) and `labels`; BadRow where they are none of this task."""
        row = placed.added(fields, self.options.check)
        placed.known_labels(row.fields, set(self.labels), "the sample")
        return row

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the first token; nothing is drawn."""
        state = State(row["tokens"], row["labels"], (), len(self.labels), self._running.start)
        return Opening(state, self._seen(state))

    def read(self, state: State, text: str) -> str | Invalid:
        """The label, with nothing but space around it."""
        label = text if text in self._numbers else text.strip()
        return label if label in self._numbers else Invalid("no label", text)

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Write the label down and go on to the next token; what is no label is written as ""."""
        label = "" if isinstance(move, Invalid) else move
        labels, place = (*state.labels, label), len(state.labels)
        before = (state.gold[place - 1], state.labels[-1]) if place else ("", "")
        tally = self._running.after(state.tally, before, (state.gold[place], label))
        after = State(state.tokens, state.gold, labels, self._numbers.get(label, len(self.labels)), tally)
        ended = len(labels) == len(state.tokens)
        return Outcome(after, self._seen(after), self._earned(state, after, move, ended), "tagged" if ended else None)

    def expert(self, state: State) -> str:
        """The right label."""
        return state.gold[len(state.labels)]

    def told(self, state: State, ended: str | None) -> Record:
        """What `info` tells beside the observation: the score so far, and after the end what was said and what was right."""
        said = state.labels
        score = self._running.score(state.tally)
        if ended is None:
            return Record(score=score)
        return Record(score=score, episode_score=score, prediction=said, target=state.gold, is_success=said == state.gold)

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Over a corpus: `token_f1` (all tokens together), `span_f1`, `span_precision`, `span_recall`, and `exact` (whole sentences)."""
        pairs = [(row["labels"], seen.fields["labels"]) for row, seen in ended]
        gold, said = [a for a, _ in pairs], [b for _, b in pairs]
        spans = tagging.span_scores(gold, said, self.scheme)
        return Record(
            token_f1=tagging.corpus_token_f1(gold, said, self.options.average),
            span_f1=spans.f1,
            span_precision=spans.precision,
            span_recall=spans.recall,
            exact=sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0,
        )

    def _earned(self, state: State, after: State, move: str | Invalid, ended: bool) -> Record:
        earned = {}
        if self.reward is not None:
            said = move.text if isinstance(move, Invalid) else move
            earned[CUSTOM] = float(self.reward(self._seen(state), said, state.gold))
        elif self.options.dense:
            earned[self._chosen] = self._running.score(after.tally) - self._running.score(state.tally)
        elif not ended:
            return EMPTY
        if ended:
            scores = {"token_f1": tagging.token_f1(after.gold, after.labels, self.options.average)}
            scores["span_f1"] = tagging.span_f1(after.gold, after.labels, self.scheme)
            earned = {**scores, **earned}
        return Record(earned)

    def _seen(self, state: State) -> Observation:
        place = len(state.labels)
        fields = Record(tokens=state.tokens, position=place, labels=state.labels, previous=state.previous)
        return Observation(self._text(state.tokens, place), fields)

    def _text(self, tokens: tuple[str, ...], place: int) -> str:
        if place == len(tokens):
            return ""
        ahead = self.options.lookahead
        if ahead > 0:
            return f"{chr(10) if place else ''}{' '.join(tokens[place : place + 1 + ahead])}\n{tokens[place]}/"
        opening = " ".join(tokens) + "\n" if ahead < 0 and not place else ""
        return f"{opening}{' ' if place else ''}{tokens[place]}/"
