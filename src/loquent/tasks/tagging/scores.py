"""Running scores of a sentence that is being labelled: each step costs the same, however long the sentence is.

A tally is a value; `after` gives the next one and `score` reads it. What they say of a whole sentence equals `metrics.tagging`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from loquent.metrics.tagging import averaged, goes_on, kind, scores

Tally = Any  # a value; what it holds is the running score's own business


class Running(Protocol):
    """A score that follows a sentence label by label."""

    start: Tally

    def after(self, tally: Tally, before: tuple[str, str], label: tuple[str, str]) -> Tally:
        """The tally one token on; `before` and `label` are pairs (right, said), ("", "") before the first token."""
        ...

    def score(self, tally: Tally) -> float:
        """The score so far; 0 before the first token, so that the changes add up to the last score."""
        ...


class Micro:
    """Token F1 averaged over tokens, which is the share of right ones. A tally is (right, all)."""

    start = (0, 0)

    def after(self, tally: tuple[int, int], before: tuple[str, str], label: tuple[str, str]) -> tuple[int, int]:
        """One token more."""
        return tally[0] + (label[0] == label[1]), tally[1] + 1

    def score(self, tally: tuple[int, int]) -> float:
        """Right over all."""
        return tally[0] / tally[1] if tally[1] else 0.0


class Averaged:
    """Token F1 averaged over labels. A tally is a triple of counts (as sorted pairs): right labels, said ones, and where both agree."""

    start: tuple[tuple[tuple[str, int], ...], ...] = ((), (), ())

    def __init__(self, average: str) -> None:
        self.average = average

    def after(self, tally: Tally, before: tuple[str, str], label: tuple[str, str]) -> Tally:
        """One token more; the cost is in the number of labels."""
        gold, said = label
        return _more(tally[0], gold), _more(tally[1], said), _more(tally[2], gold) if gold == said else tally[2]

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

    def after(self, tally: Tally, before: tuple[str, str], label: tuple[str, str]) -> Tally:
        """One token more."""
        closed, wanted, found, agreeing, tokens = tally
        goes = [goes_on(a, b, self.scheme) for a, b in zip(before, label, strict=True)]
        kinds = [kind(one, self.scheme) for one in label]
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
