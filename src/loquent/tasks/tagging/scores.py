"""Running scores of a sentence during labelling, at a constant cost per token.

A tally is an immutable value: `after` returns the next tally and `score` reads it. For a complete sentence,
the scores equal those of `metrics.labels.span_scores`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from loquent.metrics.labels.span_scores import average_f1, goes_on, kind, scores

Labels = tuple[str, ...]
Tally = Any  # immutable; its content is private to the running score


class Running(Protocol):
    """A score that is updated label by label."""

    start: Tally

    def after(self, tally: Tally, gold: Labels, labels: Labels, label: str) -> Tally:
        """The tally after `label` follows the labels `labels`; `gold` is the target."""
        ...

    def score(self, tally: Tally) -> float:
        """The score so far; 0 before the first token, so that the changes sum to the final score."""
        ...


class Micro:
    """Micro-averaged token F1, which is the share of right tokens. A tally is (right, all).

    With `whole`, all are the tokens of the sentence, otherwise those with a label.
    """

    start = (0, 0)

    def __init__(self, whole: bool) -> None:
        self.whole = whole

    def after(self, tally: tuple[int, int], gold: Labels, labels: Labels, label: str) -> tuple[int, int]:
        """Add a token."""
        right, place = tally
        return right + (gold[len(labels)] == label), len(gold) if self.whole else place + 1

    def score(self, tally: tuple[int, int]) -> float:
        """Right tokens / all tokens."""
        return tally[0] / tally[1] if tally[1] else 0.0


class Averaged:
    """Token F1 averaged over labels.

    A tally holds three counts per label, as sorted pairs: in the target, predicted, and both. With `whole`,
    the target is that of all tokens, otherwise of those with a label.
    """

    start: tuple[tuple[tuple[str, int], ...], ...] = ((), (), ())

    def __init__(self, average: str, whole: bool) -> None:
        self.average, self.whole = average, whole

    def after(self, tally: Tally, gold: Labels, labels: Labels, label: str) -> Tally:
        """Add a token; the cost is linear in the number of labels."""
        right = gold[len(labels)]
        whole = tally[0] or tuple(sorted(Counter(gold).items())) if self.whole else _more(tally[0], right)
        return (
            whole,
            _more(tally[1], label),
            _more(tally[2], label) if right == label else tally[2],
        )

    def score(self, tally: Tally) -> float:
        """The average F1."""
        return average_f1(
            Counter(dict(tally[0])), Counter(dict(tally[1])), Counter(dict(tally[2])), self.average
        )


class Spans:
    """F1 of whole spans. In an incomplete sentence, the last span counts up to the current token.

    A tally is (agreeing closed spans, target spans, predicted spans,
    whether the open spans agree so far, tokens).
    """

    start = (0, 0, 0, False, 0)

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme

    def after(self, tally: Tally, gold: Labels, labels: Labels, label: str) -> Tally:
        """Add a token."""
        closed, target, predicted, agreeing, tokens = tally
        goes = [
            bool(labels) and goes_on(gold[tokens - 1], gold[tokens], self.scheme),
            bool(labels) and goes_on(labels[-1], label, self.scheme),
        ]
        kinds = [kind(gold[tokens], self.scheme), kind(label, self.scheme)]
        begins = [bool(of) and not on for of, on in zip(kinds, goes, strict=True)]
        if agreeing and not any(goes):
            closed += 1
        agreeing = (agreeing and all(goes)) or (all(begins) and kinds[0] == kinds[1])
        return closed, target + begins[0], predicted + begins[1], agreeing, tokens + 1

    def score(self, tally: Tally) -> float:
        """F1; 1 where neither the target nor the prediction has a span."""
        closed, target, predicted, agreeing, tokens = tally
        return scores(closed + agreeing, predicted, target).f1 if tokens else 0.0


def running(reward: str, average: str, scheme: str, whole: bool = False) -> Running:
    """The running score of the option `reward`; `whole`: tokens without a label yet count as wrong."""
    if reward == "span_f1":
        return Spans(scheme)
    return Micro(whole) if average == "micro" else Averaged(average, whole)


def _more(counts: tuple[tuple[str, int], ...], label: str) -> tuple[tuple[str, int], ...]:
    more = dict(counts)
    more[label] = more.get(label, 0) + 1
    return tuple(sorted(more.items()))
