"""Sequence tagging: one label per token, in order.

Observation  the current token and a slash, such as "York/". A complete episode reads "NEW/LOC YORK/LOC
             1996-08-22/O". With `lookahead`, the current and the next tokens come first, on a line of their
             own; with lookahead=-1, the whole sentence comes first, once.
Action       a label. Any other text is a wrong label.
Reward       token_f1 (with "micro" the share of right labels; the paper calls it entity-level F1) or span_f1,
             as `reward` chooses: its change at each token, or the score at the end. The other score is
             recorded at the end with weight 0.
Ends         "tagged", after one answer per token; it is a rule, so nothing is bootstrapped.
Rows         `tokens` and `labels`: 4,000 built-in sentences with named entities, CoNLL and CoNLL-U files,
             JSON lines, the hub, or samples.
Paper        arXiv:2011.08272.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from loquent.core.actions import Texts
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row
from loquent.core.values import Record
from loquent.data.annotated.rows import CUSTOM, GameTask, Rows
from loquent.metrics.labels import span_scores
from loquent.tasks.tagging import rows
from loquent.tasks.tagging.scores import Tally, running

SCORES = ("token_f1", "span_f1")


class State(NamedTuple):
    """A sentence, its target labels, the labels so far, and the running score with its tally.

    `previous` is the number of the last label.
    """

    tokens: tuple[str, ...]
    gold: tuple[str, ...]
    labels: tuple[str, ...]
    previous: int
    tally: Tally
    score: float


class Tagging(GameTask):
    """Label the tokens of a sentence, one after the other.

    Example:
        >>> task = Tagging()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "O").observation.fields["labels"]
        ('O',)
    """

    Options = rows.Options
    options: rows.Options
    annotation: ClassVar[str] = "tags"
    views: ClassVar[Mapping[str, str]] = {
        "dict": "loquent.tasks.tagging.views:fields",
        "ansi": "loquent.tasks.tagging.views:render",
    }
    vector_view: ClassVar[str] = "loquent.tasks.tagging.views:TaggingView"

    def __init__(self, options: rows.Options | None = None) -> None:
        super().__init__(options)
        options = self.options
        self.labels = rows.labels(options)
        self.actions: Texts = Texts(self.labels)
        self.scheme = span_scores.scheme_of(self.labels) if options.scheme == "auto" else options.scheme
        self.spec = self.game_spec(
            *SCORES,
            id="tagging",
            instruction=f"Label each token: {', '.join(self.labels)}." if options.instruct else "",
            invalid=("no label",),
        )
        self._chosen, self._dense = options.reward, options.dense
        self._running = running(options.reward, options.average, self.scheme, options.unlabelled == "wrong")
        self._none, self._ahead = len(self.labels), options.lookahead
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        self._rows = Rows(self.spec.id, partial(rows.load, options), options.check, self.labels)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the first token; there is no randomness."""
        state = State(row["tokens"], row["labels"], (), self._none, self._running.start, 0.0)
        return Opening(state, self._observation(state))

    def read(self, state: State, text: str) -> str | Invalid:
        """The label; surrounding white space is ignored."""
        label = text if text in self._numbers else text.strip()
        return label if label in self._numbers else Invalid("no label", text)

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Store the label and go on to the next token; text that is not a label is stored as ""."""
        label = move if isinstance(move, str) else ""
        gold, labels, running = state.gold, state.labels, self._running
        tally = running.after(state.tally, gold, labels, label)
        score = running.score(tally)
        after = State(
            state.tokens, gold, (*labels, label), self._numbers.get(label, self._none), tally, score
        )
        if self.reward is not None:
            rewards = {
                CUSTOM: float(
                    self.reward(
                        self._observation(state), move.text if isinstance(move, Invalid) else label, gold
                    )
                )
            }
        else:
            rewards = {self._chosen: score - state.score} if self._dense else {}
        ended = len(labels) + 1 == len(gold)
        if ended:
            rewards = {**self._final(after), **rewards}
        return Outcome(after, self._observation(after), Record(rewards), "tagged" if ended else None)

    def expert(self, state: State) -> str:
        """The target label."""
        return state.gold[len(state.labels)]

    def solution(self, state: State) -> str:
        """The tokens with their target labels."""
        return " ".join(f"{token}/{label}" for token, label in zip(state.tokens, state.gold, strict=True))

    def info(self, state: State, ended: str | None) -> dict[str, Any]:
        """Further keys of `info`: the score so far; after the end also prediction, target and success."""
        if ended is None:
            return {"score": state.score}
        score, labels = state.score, state.labels
        return {
            "score": score,
            "episode_score": score,
            "prediction": labels,
            "target": state.gold,
            "is_success": labels == state.gold,
        }

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Corpus scores: `token_f1` (over all tokens), `span_f1`, `span_precision`, `span_recall`, `exact`.

        `exact` is the share of sentences with correct labels only.
        """
        pairs = [(row["labels"], last.fields["labels"]) for row, last in ended]
        gold, predictions = [a for a, _ in pairs], [b for _, b in pairs]
        spans = span_scores.span_scores(gold, predictions, self.scheme)
        return Record(
            token_f1=span_scores.corpus_token_f1(gold, predictions, self.options.average),
            span_f1=spans.f1,
            span_precision=spans.precision,
            span_recall=spans.recall,
            exact=sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0,
        )

    def _final(self, state: State) -> dict[str, float]:
        """Both scores of a complete sentence; the running score is already known."""
        if self.options.reward == "span_f1":
            return {
                "token_f1": span_scores.token_f1(state.gold, state.labels, self.options.average),
                "span_f1": state.score,
            }
        return {
            "token_f1": state.score,
            "span_f1": span_scores.span_f1(state.gold, state.labels, self.scheme),
        }

    def _observation(self, state: State) -> Observation:
        tokens, labels = state.tokens, state.labels
        place, ahead = len(labels), self._ahead
        if place == len(tokens):
            text = ""
        elif not ahead or (ahead < 0 and place):
            text = f" {tokens[place]}/" if place else f"{tokens[0]}/"
        else:
            shown = tokens if ahead < 0 else tokens[place : place + 1 + ahead]
            text = f"{chr(10) if place else ''}{' '.join(shown)}\n{tokens[place]}/"
        return Observation(
            text, Record(tokens=tokens, position=place, labels=labels, previous=state.previous)
        )
