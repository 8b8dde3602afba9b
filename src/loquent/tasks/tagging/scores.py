"""Running scores of a sentence that is being labelled: each step costs the same, however long the sentence is.

A tally is a value; `after` gives the next one and `score` reads it. What they say of a whole sentence equals `metrics.tagging`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from loquent.metrics.tagging import averaged, goes_on, kind, scores

Labels = tuple[str, ...]
Tally = Any  # a value; what it holds is the running score's own business


class Running(Protocol):
    """A score that follows a sentence label by label."""

    start: Tally

    def after(self, tally: Tally, gold: Labels, said: Labels, label: str) -> Tally:
        """The tally once `label` is said behind the labels `said`, where `gold` are the right ones."""
        ...

    def score(self, tally: Tally) -> float:
        """The score so far; 0 before the first token, so that the changes add up to the last score."""
        ...


class Micro:
    """Token F1 averaged over tokens, which is the share of right ones. A tally is (right, all)."""

    start = (0, 0)

    def after(self, tally: tuple[int, int], gold: Labels, said: Labels, label: str) -> tuple[int, int]:
        """One token more."""
        right, place = tally
        return right + (gold[place] == label), place + 1

    def score(self, tally: tuple[int, int]) -> float:
        """Right over all."""
        return tally[0] / tally[1] if tally[1] else 0.0


class Averaged:
    """Token F1 averaged over labels. A tally is a triple of counts (as sorted pairs): right labels, said ones, and where both agree."""

    start: tuple[tuple[tuple[str, int], ...], ...] = ((), (), ())

    def __init__(self, average: str) -> None:
        self.average = average

    def after(self, tally: Tally, gold: Labels, said: Labels, label: str) -> Tally:
        """One token more; the cost is in the number of labels."""
        right = gold[len(said)]
        return _more(tally[0], right), _more(tally[1], label), _more(tally[2], label) if right == label else tally[2]

    def score(self, tally: Tally) -> float:
        """The average F1."""
        return averaged(Counter(dict(tally[0])), Counter(dict(tally[1])), Counter(dict(tally[2])), self.average)


class Spans:
    """F1 of whole spans; the last one of a beginning counts as far as it has come.

    A tally is (closed spans that agree, right spans, said spans, whether the last right and the last said span agree and go on, tokens).
    """

    start = (0, 0, 0, False, 0)

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme

    def after(self, tally: Tally, gold: Labels, said: Labels, label: str) -> Tally:
        """One token more."""
        closed, wanted, found, agreeing, tokens = tally
        goes = [bool(said) and goes_on(gold[tokens - 1], gold[tokens], self.scheme), bool(said) and goes_on(said[-1], label, self.scheme)]
        kinds = [kind(gold[tokens], self.scheme), kind(label, self.scheme)]
        begins = [bool(of) and not on for of, on in zip(kinds, goes, strict=True)]
        if agreeing and not any(goes):
            closed += 1
        agreeing = (agreeing and all(goes)) or (all(begins) and kinds[0] == kinds[1])
        return closed, wanted + begins[0], found + begins[1], agreeing, tokens + 1

    def score(self, tally: Tally) -> float:
        """F1; 1 where there is no span and none was said."""
        closed, wanted, found, agreeing, tokens = tally
        return scores(closed + agreeing, found, wanted).f1 if tokens else 0.0


def running(reward: str, average: str, scheme: str) -> Running:
    """The running form of a score by name."""
    if reward == "span_f1":
        return Spans(scheme)
    return Micro() if average == "micro" else Averaged(average)


def _more(counts: tuple[tuple[str, int], ...], label: str) -> tuple[tuple[str, int], ...]:
    found = dict(counts)
    found[label] = found.get(label, 0) + 1
    return tuple(sorted(found.items()))
