"""How often answers are yes or no: a histogram over episodes, as in ILQL's released evaluation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from loquent.core.episode import Episode
from loquent.errors import BadSetting
from loquent.tasks.dialogue.task import AGENT

WIDTH = 40  # characters of the longest bar


def rates(episodes: Iterable[Episode]) -> NDArray[np.float64]:
    """f64[episodes]: the share of an episode's questions whose answer counts as yes or no.

    What counts is what the task counted when the episodes were played. Episodes without a question are left
    out.
    """
    found = []
    for episode in episodes:
        asked = [turn for turn in episode.turns if turn.seat == AGENT and turn.rewards]
        if asked:
            found.append(sum(turn.rewards.get("yes_no", 0.0) for turn in asked) / len(asked))
    return np.array(found)


def histogram(episodes: Iterable[Episode], bins: int = 10) -> NDArray[np.int64]:
    """i64[bins]: the episodes whose rate is in each part of [0, 1]; the last part includes 1.

    Raises:
        BadSetting: there is less than one bin, or no episode has a question.
    """
    values = rates(episodes)
    if bins < 1 or not len(values):
        raise BadSetting(
            f"{len(values)} episodes with a question and {bins} bins; at least 1 of each is needed"
        )
    counts: NDArray[np.int64] = np.histogram(values, bins=bins, range=(0.0, 1.0))[0].astype(np.int64)
    return counts


def draw_histogram(counts: NDArray[np.int64]) -> str:
    """A histogram as text, a bar for each bin."""
    size, most = len(counts), max(1, int(counts.max()))
    lines = []
    for number, count in enumerate(counts.tolist()):
        bar = "#" * round(WIDTH * count / most)
        lines.append(f"{number / size:4.0%} to {(number + 1) / size:4.0%} {count:6} {bar}".rstrip())
    return "\n".join(lines)
