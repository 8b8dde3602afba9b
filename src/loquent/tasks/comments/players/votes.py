"""From the probabilities of a classifier to the text of a seat."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.tasks.comments import labels

UPVOTE = 0.5  # the least probability with which a comment is upvoted, as in the released code
ROUNDED = 0.01  # the sum of probabilities that exclude each other may differ from 1 by this


@dataclass(frozen=True)
class Opinion:
    """What a classifier says of one text: the probability of each of its labels."""

    probabilities: Mapping[str, float]


def label_of(chosen: Record, place: str, independent: bool = False) -> Callable[[Opinion], str]:
    """The function from an opinion to the label of a moderator.

    Probabilities of labels that exclude each other are added by level. Independent ones are not: the
    probability that a comment reaches a level is the largest one of the labels of this level or a higher
    one, and the rest is safe.

    Args:
        chosen: 0, 1 or 2 by the name of each label; empty: the names are these numbers.
        place: the classifier, for errors.
        independent: whether each label has a probability of its own (multi-label, or a single label).

    Raises:
        BadSetting: as `labels.levels`; or the labels exclude each other and none is safe. The function
            raises it too where their probabilities do not sum to 1.
    """
    if chosen:
        labels.levels(tuple(chosen), chosen, place, independent)

    def text(opinion: Opinion) -> str:
        names = tuple(opinion.probabilities)
        by_label = list(
            zip(labels.levels(names, chosen, place, independent), opinion.probabilities.values(), strict=True)
        )
        mass = _of_independent(by_label) if independent else _of_exclusive(by_label, place)
        logprobs = {str(level): math.log(p) if p > 0 else -math.inf for level, p in mass.items()}
        return str(labels.read_label(max(logprobs, key=logprobs.__getitem__), logprobs))

    return text


def _of_exclusive(by_label: Sequence[tuple[int, float]], place: str) -> dict[int, float]:
    """The probability of each level that the classifier knows."""
    total = sum(probability for _, probability in by_label)
    if abs(total - 1.0) > ROUNDED:
        raise BadSetting(
            f"{place}: the probabilities of its labels sum to {total:.4g}, so they do not exclude each other "
            "or some are missing; set independent to true if each label has its own"
        )
    mass: dict[int, float] = {}
    for level, probability in by_label:
        mass[level] = mass.get(level, 0.0) + probability
    return mass


def _of_independent(by_label: Sequence[tuple[int, float]]) -> dict[int, float]:
    """The probability of each level, from the largest probabilities of levels 1 and 2."""
    reached = [1.0, *(max((p for at, p in by_label if at >= level), default=0.0) for level in (1, 2)), 0.0]
    return {level: reached[level] - reached[level + 1] for level in labels.LABELS}


def vote_of(positive: str, place: str) -> Callable[[Opinion], str]:
    """The function from an opinion to a vote; BadSetting where the classifier has no such label."""

    def text(opinion: Opinion) -> str:
        if positive not in opinion.probabilities:
            known = ", ".join(opinion.probabilities)
            raise BadSetting(f"{place}: it has no label {positive!r:.60}; set positive to one of {known}")
        return "1" if opinion.probabilities[positive] >= UPVOTE else "-1"

    return text
