"""From the probabilities of a classifier to the text of a seat."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.tasks.comments import labels

UPVOTE = 0.5  # the probability above which a comment is upvoted


@dataclass(frozen=True)
class Opinion:
    """What a classifier says of one text: the probability of each of its labels."""

    probabilities: Mapping[str, float]


def label_of(chosen: Record, place: str) -> Callable[[Opinion], str]:
    """The function from an opinion to the label of a moderator.

    Labels of the same level are added. Raises BadSetting as `labels.levels` does.
    """

    def text(opinion: Opinion) -> str:
        names = tuple(opinion.probabilities)
        mass: dict[str, float] = {}
        for level, probability in zip(
            labels.levels(names, chosen, place), opinion.probabilities.values(), strict=True
        ):
            mass[str(level)] = mass.get(str(level), 0.0) + probability
        logprobs = {name: math.log(p) if p > 0 else -math.inf for name, p in mass.items()}
        return str(labels.decided(max(logprobs, key=logprobs.__getitem__), logprobs))

    return text


def vote_of(positive: str, place: str) -> Callable[[Opinion], str]:
    """The function from an opinion to a vote; BadSetting where the classifier has no such label."""

    def text(opinion: Opinion) -> str:
        if positive not in opinion.probabilities:
            known = ", ".join(opinion.probabilities)
            raise BadSetting(f"{place}: it has no label {positive!r:.60}; set positive to one of {known}")
        return "1" if opinion.probabilities[positive] > UPVOTE else "-1"

    return text
