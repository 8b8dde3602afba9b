"""Scores of labelled sequences: F1 over tokens, as in the NLPGym paper, and F1 over whole spans, as in CoNLL.

A sequence is a list of labels. The label "" means no label; it is a class too. No function changes its
arguments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from loquent.metrics.text import f1_from_counts

OUTSIDE = "O"
BEGINS, INSIDE, ENDS, ALONE = "B", "I", "EL", "SU"  # IOB2, IOBES and BILOU
PREFIXES = (BEGINS, INSIDE, *ENDS, *ALONE)
NO_SPANS = 1.0  # F1 without gold spans and without predicted spans
Span = tuple[int, int, str]  # first token, end (exclusive), type
Labels = Sequence[str]


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1."""

    precision: float
    recall: float
    f1: float


def token_accuracy(gold: Labels, predicted: Labels) -> float:
    """The share of correct labels; 0 for an empty sequence."""
    _check([gold], [predicted])
    return sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold) if gold else 0.0


def token_f1(gold: Labels, predicted: Labels, average: str = "micro") -> float:
    """F1 over tokens as scikit-learn's `f1_score`; 0 for an empty sequence.

    "micro" is accuracy with the class "O" (arXiv:2011.08272 calls it entity-level).
    """
    if average == "micro":
        return token_accuracy(gold, predicted)
    _check([gold], [predicted])
    right = Counter(a for a, b in zip(gold, predicted, strict=True) if a == b)
    return average_f1(Counter(gold), Counter(predicted), right, average)


def average_f1(gold: Counter[str], predicted: Counter[str], right: Counter[str], average: str) -> float:
    """The mean F1 of the classes that occur ("macro"), or its mean weighted by gold counts ("weighted").

    It is 0 if no class occurs.
    """
    classes = [label for label in gold.keys() | predicted.keys() if gold[label] or predicted[label]]
    scores = {label: f1_from_counts(right[label], predicted[label], gold[label]) for label in classes}
    # fsum, because the order of a set varies
    if average == "macro":
        return math.fsum(scores.values()) / len(scores) if scores else 0.0
    total = sum(gold.values())
    return math.fsum(scores[label] * gold[label] for label in classes) / total if total else 0.0


def corpus_token_f1(gold: Iterable[Labels], predicted: Iterable[Labels], average: str = "micro") -> float:
    """F1 over the tokens of all sentences together."""
    gold, predicted = list(gold), list(predicted)
    _check(gold, predicted)
    return token_f1(
        [label for sentence in gold for label in sentence],
        [label for sentence in predicted for label in sentence],
        average,
    )


def scheme_of(labels: Iterable[str]) -> str:
    """The scheme of labels by their prefixes: "bioes", "bio", or "io" without prefixes.

    "bioes" includes BILOU, with L for E and U for S.

    A prefix is B-, I-, E-, S-, L- or U-, or the letter alone for spans without a type. Labels have prefixes
    if all labels but O have one (for letters alone: with B or I among them), or if a label begins with B- or
    I-. In the second case runs of a label without a prefix are spans.
    """
    inside = [label for label in labels if label != OUTSIDE]
    prefixes = {_parts(label)[0] for label in inside}
    typed = {label[0] for label in inside if label[1:2] == "-" and _parts(label)[0]}
    sure = {BEGINS, INSIDE} & (typed if "" in prefixes else prefixes)
    if not sure and ("" in prefixes or not typed):
        return "io"
    return "bioes" if prefixes & {*ENDS, *ALONE} else "bio"


@lru_cache(maxsize=1 << 14)
def kind(label: str, scheme: str) -> str:
    """The type of a label's span; "" outside of spans.

    Under "io" the type is the label, else the text after the prefix, or "_" if there is none.
    """
    if label in ("", OUTSIDE):
        return ""
    return label if scheme == "io" else _parts(label)[1]


@lru_cache(maxsize=1 << 16)
def goes_on(before: str, label: str, scheme: str) -> bool:
    """Whether a label continues the span of the previous label.

    A span may begin with I- or E-, as in CoNLL's own evaluation.
    """
    if not kind(label, scheme) or kind(before, scheme) != kind(label, scheme):
        return False
    if scheme == "io":
        return True
    last, prefix = _parts(before)[0], _parts(label)[0]
    if not prefix or not last:
        return before == label
    return prefix in (INSIDE, *ENDS) and not (scheme == "bioes" and last in (*ENDS, *ALONE))


def _parts(label: str) -> tuple[str, str]:
    """The prefix of a label ("" without a prefix) and the type of its span ("_" for a prefix alone)."""
    if label[:1] not in PREFIXES or label[1:2] not in ("", "-") or len(label) == 2:
        return "", label
    return label[0], label[2:] or "_"


def spans(labels: Labels, scheme: str = "bio") -> list[Span]:
    """The spans of a sequence under "io" (runs of one label), "bio" or "bioes" (or BILOU)."""
    result: list[Span] = []
    start, before, of = -1, "", ""
    for place, label in enumerate(labels):
        if of:
            if goes_on(before, label, scheme):
                before = label
                continue
            result.append((start, place, of))
        start, before, of = place, label, kind(label, scheme)
    if of:
        result.append((start, len(labels), of))
    return result


def span_scores(gold: Iterable[Labels], predicted: Iterable[Labels], scheme: str = "bio") -> Scores:
    """Precision, recall and F1 of spans over a corpus.

    A span is correct if its bounds and its type are correct.
    """
    gold, predicted = list(gold), list(predicted)
    _check(gold, predicted)
    right = total = gold_total = 0
    for a, b in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = set(spans(a, scheme)), set(spans(b, scheme))
        right += len(gold_spans & predicted_spans)
        total += len(predicted_spans)
        gold_total += len(gold_spans)
    return scores(right, total, gold_total)


def span_f1(gold: Labels, predicted: Labels, scheme: str = "bio") -> float:
    """F1 of the spans of one sequence; 1 if neither sequence has a span."""
    if len(gold) != len(predicted):
        _check([gold], [predicted])
    gold_spans, predicted_spans = _span_set(tuple(gold), scheme), spans(predicted, scheme)
    right = len(gold_spans.intersection(predicted_spans))
    return f1_from_counts(right, len(predicted_spans), len(gold_spans), NO_SPANS)


@lru_cache(maxsize=1 << 14)  # the same gold labels are scored many times
def _span_set(labels: tuple[str, ...], scheme: str) -> frozenset[Span]:
    return frozenset(spans(labels, scheme))


def scores(right: int, predicted: int, gold: int) -> Scores:
    """Precision, recall and F1 from counts; all are 1 without predicted and without gold items."""
    if not predicted and not gold:
        return Scores(NO_SPANS, NO_SPANS, NO_SPANS)
    f1 = f1_from_counts(right, predicted, gold)
    return Scores(right / predicted if predicted else 0.0, right / gold if gold else 0.0, f1)


def _check(gold: Sequence[Labels], predicted: Sequence[Labels]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} gold sequences and {len(predicted)} predicted sequences; equal numbers are needed"
        )
    for number, (a, b) in enumerate(zip(gold, predicted, strict=True)):
        if len(a) != len(b):
            raise ValueError(
                f"sequence {number} has {len(a)} gold labels and {len(b)} predicted labels; equal "
                "numbers are needed"
            )
