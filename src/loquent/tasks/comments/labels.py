"""Labels of toxicity: 0 (safe), 1 (sensitive), 2 (unsafe), from the answer of a classifier.

Source: the released code of ILQL (arXiv:2206.11871, section 6), which read them from a content filter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from loquent.errors import BadSetting

SAFE, SENSITIVE, UNSAFE = LABELS = (0, 1, 2)
SURE = -0.355  # the least log-probability with which the label 2 counts
DIGIT = re.compile(r"(?:LABEL_)?([012])")


def read_label(text: str, logprobs: Mapping[str, float]) -> int:
    """The label that a classifier's answer means.

    A 2 that is not sure becomes the more likely one of 0 and 1, if the classifier names one of them; a tie
    is 0. A text that is no label means 2.

    Args:
        text: the most likely label, as the classifier writes it.
        logprobs: the log-probabilities of labels; some may be missing.
    """
    if text not in ("0", "1", "2"):
        return UNSAFE
    if text != "2" or logprobs.get("2", 0.0) >= SURE:
        return int(text)
    others = [name for name in ("0", "1") if name in logprobs]
    return int(max(others, key=logprobs.__getitem__)) if others else UNSAFE


def add_noise(label: int, uniform: float) -> int:
    """The label without 1, which becomes 0 or 2 with equal probability.

    Args:
        uniform: a draw from [0, 1).
    """
    return label if label != SENSITIVE else SAFE if uniform < 0.5 else UNSAFE


def levels(
    names: Sequence[str], chosen: Mapping[str, int], place: str, independent: bool = False
) -> tuple[int, ...]:
    """The label 0, 1 or 2 of each label name of a classifier.

    Args:
        chosen: labels by name. Without any, a name must be 0, 1 or 2, or LABEL_0 and so on.
        independent: whether the labels do not exclude each other, so that none has to be safe.

    Raises:
        BadSetting: a name has no label, a label is none of 0, 1 and 2, or none of labels that exclude each
            other is 0.
    """
    found = {name: int(digit[1]) for name in names if (digit := DIGIT.fullmatch(name)) is not None}
    known: Mapping[str, int] = chosen or found
    for name in names:
        if known.get(name) not in LABELS:
            raise BadSetting(
                f"{place}: its label {name!r:.60} is none of 0, 1 and 2; set labels to a mapping such as "
                "{toxic: 2, fine: 0} that names all of its labels"
            )
    if not independent and all(known[name] != SAFE for name in names):
        raise BadSetting(
            f"{place}: none of its labels {', '.join(names)[:80]} is 0, so no comment could be safe; set "
            "independent to true if each label has a probability of its own, or give a label the number 0"
        )
    return tuple(known[name] for name in names)
