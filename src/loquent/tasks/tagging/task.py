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
from functools import partial
from typing import Any, ClassVar

from loquent import registry
from loquent.actions import Texts
from loquent.data.annotated.rows import Rows
from loquent.metrics import tagging
from loquent.seeding import Key
from loquent.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.tasks.tagging import rows
from loquent.tasks.tagging.scores import Labels, Tally, running
from loquent.values import Record

SCORES = ("token_f1", "span_f1")
CUSTOM = "custom"


@dataclass(frozen=True)
class State:
    """A sentence, its right labels, the labels so far, the number of the last, and the running score with what it keeps."""

    tokens: tuple[str, ...]
    gold: tuple[str, ...]
    labels: tuple[str, ...]
    previous: int
    tally: Tally
    score: float

    def __init__(self, tokens: Labels, gold: Labels, labels: Labels, previous: int, tally: Tally, score: float) -> None:
        into = self.__dict__  # one is made at every step: the generated __init__ takes twice as long
        into["tokens"], into["gold"], into["labels"], into["previous"], into["tally"], into["score"] = tokens, gold, labels, previous, tally, score


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
        self._chosen, self._dense, self._running = chosen, given.dense, running(given.reward, given.average, self.scheme)
        self._none, self._ahead = len(self.labels), given.lookahead
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._rows = Rows(self.spec.id, partial(rows.load, given), given.check, self.labels)

    def rows(self, split: str) -> tuple[Row, ...]:
        """The sentences of a split; errors as `data.annotated.rows.Rows.of`."""
        return self._rows.of(split)

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from `tokens` (or `text`, cut at its spaces) and `labels`; BadRow where they are none of this task."""
        return self._rows.added(fields)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the first token; nothing is drawn."""
        state = State(row["tokens"], row["labels"], (), self._none, self._running.start, 0.0)
        return Opening(state, self._seen(state))

    def read(self, state: State, text: str) -> str | Invalid:
        """The label, with nothing but space around it."""
        label = text if text in self._numbers else text.strip()
        return label if label in self._numbers else Invalid("no label", text)

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Write the label down and go on to the next token; what is no label is written as ""."""
        label = move if isinstance(move, str) else ""
        gold, said, running = state.gold, state.labels, self._running
        tally = running.after(state.tally, gold, said, label)
        score = running.score(tally)
        after = State(state.tokens, gold, (*said, label), self._numbers.get(label, self._none), tally, score)
        if self.reward is not None:
            earned = {CUSTOM: float(self.reward(self._seen(state), move.text if isinstance(move, Invalid) else label, gold))}
        else:
            earned = {self._chosen: score - state.score} if self._dense else {}
        ended = len(said) + 1 == len(gold)
        if ended:
            earned = {**self._final(after), **earned}
        return Outcome(after, self._seen(after), Record(earned), "tagged" if ended else None)

    def expert(self, state: State) -> str:
        """The right label."""
        return state.gold[len(state.labels)]

    def told(self, state: State, ended: str | None) -> dict[str, Any]:
        """What `info` tells beside the observation: the score so far, and after the end what was said and what was right."""
        if ended is None:
            return {"score": state.score}
        score, said = state.score, state.labels
        return {"score": score, "episode_score": score, "prediction": said, "target": state.gold, "is_success": said == state.gold}

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

    def _final(self, state: State) -> dict[str, float]:
        """Both scores of a whole sentence; the one that was followed is known."""
        if self.options.reward == "span_f1":
            return {"token_f1": tagging.token_f1(state.gold, state.labels, self.options.average), "span_f1": state.score}
        return {"token_f1": state.score, "span_f1": tagging.span_f1(state.gold, state.labels, self.scheme)}

    def _seen(self, state: State) -> Observation:
        tokens, labels = state.tokens, state.labels
        place, ahead = len(labels), self._ahead
        if place == len(tokens):
            text = ""
        elif not ahead or (ahead < 0 and place):
            text = f" {tokens[place]}/" if place else f"{tokens[0]}/"
        else:
            text = f"{chr(10) if place else ''}{' '.join(tokens if ahead < 0 else tokens[place : place + 1 + ahead])}\n{tokens[place]}/"
        return Observation(text, Record(tokens=tokens, position=place, labels=labels, previous=state.previous))
