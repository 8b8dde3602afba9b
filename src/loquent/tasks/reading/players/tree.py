"""The policy whose searches are those of `RarestFirst`, and that stops by boosted trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Question
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.core.task import Observation, Row, Task
from loquent.data.sources import limit_rows
from loquent.errors import BadSetting, naming_extras
from loquent.statistics.stopping import best_threshold
from loquent.tasks.reading.commands import SEARCH, STOP, text_of
from loquent.tasks.reading.players.experts import Reads
from loquent.tasks.reading.players.rarity import RarestFirst
from loquent.tasks.reading.search.similar import stem

KINDS = ("who", "when", "where", "how", "which", "why", "what")
Column = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class TreeOptions(Reads):
    """The options of reading/tree."""

    examples: int = setting(4000, "training rows that the trees learn from at most", low=1)
    validation: int = setting(1000, "validation rows that the threshold is chosen on at most", low=1)
    searches: tuple[int, ...] = setting(
        (4, 8, 16),
        "the most searches, the best of these on validation rows; after the last word it begins again",
        low=1,
    )
    trees: int = setting(100, "the number of trees", low=1)
    discount: float = setting(
        0.98, "the threshold has the highest mean of sufficient · discount^commands", low=0.0, high=1.0
    )


class Tree(RarestFirst):
    """Searches for the rarest word first, and stops where trees give the answer in memory enough probability.

    The trees (histograms, gradient boosting) learn from all states of these searches on training rows. The
    threshold is the best on validation rows. It stops when the words are used up, too.

    Raises:
        BadSetting: there are no validation rows, or the training rows do not have states of both kinds.
    """

    kind, Options = "reading/tree", TreeOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        with naming_extras(self.kind):
            from sklearn.ensemble import HistGradientBoostingClassifier

        chosen = self.options
        train, held_out = (
            [self._states(row) for row in limit_rows(self.task.rows(split), count)]
            for split, count in (("train", chosen.examples), ("validation", chosen.validation))
        )
        reached = np.concatenate([np.zeros(0), *(own for _, own in train)])
        if not held_out or len(np.unique(reached)) < 2:
            raise BadSetting(
                f"{self.kind}: {len(held_out)} validation rows, and {int(reached.sum())} of {len(reached)} "
                "states of the training rows have the answer in memory; it needs rows of validation, and "
                "training states of both kinds"
            )
        self.value = -1.0
        for searches in chosen.searches:
            own = [(features[: searches + 1], goal[: searches + 1]) for features, goal in train]
            trees = HistGradientBoostingClassifier(
                max_iter=chosen.trees,
                learning_rate=0.08,
                max_leaf_nodes=15,
                early_stopping=False,
                random_state=0,
            ).fit(*(np.concatenate(column) for column in zip(*own, strict=True)))
            goals = [goal[: searches + 1] for _, goal in held_out]
            threshold, value = best_threshold(
                [
                    _likely(trees, features[:searches][: len(goal) - 1])
                    for (features, _), goal in zip(held_out, goals, strict=True)
                ],
                [goal * chosen.discount ** np.arange(1, len(goal) + 1) for goal in goals],
            )
            if value > self.value:
                self.trees, self.threshold, self.value = trees, threshold, value
                self.searches = min(searches, self.task.options.steps - 1)  # the last command is a stop

    def command(self, question: Question, number: int) -> str:
        words = self.order_words(question.observation)
        if not words or number >= self.searches:
            return STOP
        likely = _likely(self.trees, self._features(question.observation, words, number)[None])[0]
        return STOP if likely >= self.threshold else text_of(SEARCH, words[number % len(words)])

    def _states(self, row: Row) -> tuple[NDArray[np.float64], Column]:
        """The features of all states of the searches, in order, and whether each memory is sufficient."""
        task, step = self.task, self.task.start(row, Key(0))
        words = self.order_words(step.observation)
        features, reached = [self._features(step.observation, words, 0)], [task.sufficient(step.state)]
        for number in range(1, min(max(self.options.searches), task.options.steps - 1) + 1) if words else ():
            step = task.act(step, text_of(SEARCH, words[(number - 1) % len(words)]))
            features.append(self._features(step.observation, words, number))
            reached.append(task.sufficient(step.state))
        return np.array(features), np.array(reached, np.float64)

    def _features(self, observation: Observation, words: Sequence[str], number: int) -> Column:
        """What the trees read: words of the question in memory, their rarity, and how far the search is."""
        fields, weight = observation.fields, self.rarity.weight
        asked = {stem(word): weight(word) for word in words}
        total = sum(asked.values()) or 1.0
        sentences = [sentence.split(" ") for sentence in fields["memory"]]
        overlaps = [{stem(token) for token in sentence} & asked.keys() for sentence in sentences]
        shares = [sum(asked[one] for one in own) / total for own in overlaps]
        best, seen = int(np.argmax(shares)), set[str]().union(*overlaps)
        tokens = fields["question"].split(" ")
        kind = next((i for i, kind in enumerate(KINDS) if kind in tokens), len(KINDS))
        word = words[number % len(words)] if words else ""
        pairs = [len(set(pairwise(sentence)) & set(pairwise(tokens))) for sentence in sentences]
        numbers = [sum(any(map(str.isdigit, token)) for token in sentence) for sentence in sentences]
        return np.array(
            [
                *(len(words), number, len(words) - number, len(sentences), sum(map(len, sentences))),
                *(len(seen), sum(asked[one] for one in seen) / total, max(map(len, overlaps))),
                *(shares[best], shares[-1], len(sentences) - best, len(sentences[best])),
                *(weight(word) / total, stem(word) in seen),
                *(kind, "many" in tokens or "much" in tokens, numbers[best], sum(numbers)),
                *(max(pairs), pairs[-1]),
            ],
            np.float64,
        )


def _likely(trees: Any, features: NDArray[np.float64]) -> Column:
    """P(the memory is sufficient) in each state."""
    likely: Column = trees.predict_proba(features)[:, 1] if len(features) else np.zeros(0)
    return likely
