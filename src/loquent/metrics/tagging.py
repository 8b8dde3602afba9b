"""Scores of labelled sequences: F1 over tokens, as the NLPGym paper computes it, and F1 over whole spans, as CoNLL does.

A sequence is a list of labels; "" stands for no label and is a class of its own. Nothing here changes its arguments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

OUTSIDE = "O"
BEGINS, INSIDE, ENDS, ALONE = "B", "I", "EL", "SU"  # IOB2, IOBES and BILOU
PREFIXES = (BEGINS, INSIDE, *ENDS, *ALONE)
NO_SPANS = 1.0  # F1 where there is nothing to find and nothing was found
Span = tuple[int, int, str]  # first token, one past the last, type
Labels = Sequence[str]


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1."""

    precision: float
    recall: float
    f1: float


def token_accuracy(gold: Labels, predicted: Labels) -> float:
    """The share of right labels; 0 for none at all."""
    _check([gold], [predicted])
    return sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold) if gold else 0.0


def token_f1(gold: Labels, predicted: Labels, average: str = "micro") -> float:
    """F1 over tokens, 0 for none: equal to scikit-learn's `f1_score`. "micro" is accuracy, "O" counted (arXiv:2011.08272 calls it entity-level)."""
    if average == "micro":
        return token_accuracy(gold, predicted)
    _check([gold], [predicted])
    return averaged(Counter(gold), Counter(predicted), Counter(a for a, b in zip(gold, predicted, strict=True) if a == b), average)


def averaged(gold: Counter[str], predicted: Counter[str], right: Counter[str], average: str) -> float:
    """The mean F1 of the classes that occur ("macro"), or weighted by how often each is right ("weighted"); 0 where none occurs."""
    classes = [label for label in gold.keys() | predicted.keys() if gold[label] or predicted[label]]
    each = {label: 2 * right[label] / (gold[label] + predicted[label]) for label in classes}
    if average == "macro":
        return math.fsum(each.values()) / len(each) if each else 0.0  # fsum: the same whatever the order of a set
    total = sum(gold.values())
    return math.fsum(each[label] * gold[label] for label in classes) / total if total else 0.0


def corpus_token_f1(gold: Iterable[Labels], predicted: Iterable[Labels], average: str = "micro") -> float:
    """F1 over the tokens of all sentences together."""
    gold, predicted = list(gold), list(predicted)
    _check(gold, predicted)
    return token_f1([label for one in gold for label in one], [label for one in predicted for label in one], average)


def scheme_of(labels: Iterable[str]) -> str:
    """How labels make spans, told by their prefixes: "bioes" (also BILOU, whose L and U are E and S), "bio", or "io" where they have none.

    A prefix is B-, I-, E-, S-, L- or U-, or the letter alone where spans have no type. Labels have prefixes where all but O do (letters
    alone: with B or I among them), or where one begins with B- or I-: other labels without a prefix then make spans by their runs.
    """
    named = [label for label in labels if label != OUTSIDE]
    prefixes = {_parts(label)[0] for label in named}
    typed = {label[0] for label in named if label[1:2] == "-" and _parts(label)[0]}
    sure = {BEGINS, INSIDE} & (typed if "" in prefixes else prefixes)
    if not sure and ("" in prefixes or not typed):
        return "io"
    return "bioes" if prefixes & {*ENDS, *ALONE} else "bio"


@lru_cache(maxsize=1 << 14)
def kind(label: str, scheme: str) -> str:
    """The type of a label's span: the label itself under "io", else what follows its prefix, "_" after a bare one; "" outside."""
    if label in ("", OUTSIDE):
        return ""
    return label if scheme == "io" else _parts(label)[1]


@lru_cache(maxsize=1 << 16)
def goes_on(before: str, label: str, scheme: str) -> bool:
    """Whether a label goes on with the span of the label before it. A span begun by I- or E- is one, as in CoNLL's own evaluation."""
    if not kind(label, scheme) or kind(before, scheme) != kind(label, scheme):
        return False
    if scheme == "io":
        return True
    last, prefix = _parts(before)[0], _parts(label)[0]
    if not prefix or not last:
        return before == label
    return prefix in (INSIDE, *ENDS) and not (scheme == "bioes" and last in (*ENDS, *ALONE))


def _parts(label: str) -> tuple[str, str]:
    """The prefix of a label ("" for none) and the type of its span ("_" where the prefix is all there is)."""
    if label[:1] not in PREFIXES or label[1:2] not in ("", "-") or len(label) == 2:
        return "", label
    return label[0], label[2:] or "_"


def spans(labels: Labels, scheme: str = "bio") -> list[Span]:
    """The spans of a sequence under "io" (runs of one label), "bio" or "bioes" (also BILOU)."""
    found: list[Span] = []
    begun, before = -1, ""
    for place, label in enumerate(labels):
        if label == before == OUTSIDE:
            continue
        if goes_on(before, label, scheme):
            before = label
            continue
        if begun >= 0:
            found.append((begun, place, kind(before, scheme)))
        begun, before = place if kind(label, scheme) else -1, label
    if begun >= 0:
        found.append((begun, len(labels), kind(before, scheme)))
    return found


def span_scores(gold: Iterable[Labels], predicted: Iterable[Labels], scheme: str = "bio") -> Scores:
    """Precision, recall and F1 of spans over a corpus: a span is right when its bounds and its type are."""
    gold, predicted = list(gold), list(predicted)
    _check(gold, predicted)
    wanted = [{(number, *span) for span in spans(one, scheme)} for number, one in enumerate(gold)]
    found = [{(number, *span) for span in spans(one, scheme)} for number, one in enumerate(predicted)]
    right = sum(len(a & b) for a, b in zip(wanted, found, strict=True))
    return scores(right, sum(map(len, found)), sum(map(len, wanted)))


def span_f1(gold: Labels, predicted: Labels, scheme: str = "bio") -> float:
    """F1 of the spans of one sequence; 1 where there are none and none were found."""
    _check([gold], [predicted])
    wanted, found = _spans(tuple(gold), scheme), spans(predicted, scheme)
    right = sum(span in wanted for span in found)
    return 2 * right / (len(wanted) + len(found)) if wanted or found else NO_SPANS


_spans = lru_cache(maxsize=1 << 14)(spans)  # right labels come again and again


def scores(right: int, found: int, wanted: int) -> Scores:
    """The three figures from counts; nothing wanted and nothing found is perfect."""
    if not found and not wanted:
        return Scores(NO_SPANS, NO_SPANS, NO_SPANS)
    return Scores(right / found if found else 0.0, right / wanted if wanted else 0.0, 2 * right / (found + wanted))


def _check(gold: Sequence[Labels], predicted: Sequence[Labels]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} sequences are scored against {len(predicted)}")
    for number, (a, b) in enumerate(zip(gold, predicted, strict=True)):
        if len(a) != len(b):
            raise ValueError(f"sequence {number} has {len(a)} labels, and {len(b)} were predicted")
