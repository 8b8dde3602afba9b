"""Views of multiple choice: a dictionary for Gymnasium, a vector for networks, and a text
for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core.task import Observation, Task
from loquent.data.features.base import Featurizer, VectorCache
from loquent.data.features.spaces import AnyText, check_lengths
from loquent.data.features.views import ANSWERING, Inputs, View
from loquent.errors import BadSetting

LONGEST_TEXT = 1 << 20  # characters
COSINES_BYTES = 1 << 20  # the size limit of a view's cache: the cosines of 130,000 choices

Choice = tuple[str, tuple[str, ...], str]  # a question, its facts, and one of its choices


def dictionary(observation: Observation) -> dict[str, Any]:
    """The question as a dictionary.

    `question`; `facts`, joined by spaces; `choice`, the current choice; `place`, its number;
    `count`, the number of choices.

    Raises:
        BadRow: at the first choice, where a text of the question is too long for the space.
    """
    fields = observation.fields
    facts = " ".join(fields["facts"])
    if not fields["place"]:
        check_lengths("a text of the question", (fields["question"], facts, *fields["choices"]), LONGEST_TEXT)
    texts = {"question": fields["question"], "facts": facts, "choice": fields["choices"][fields["place"]]}
    return {**texts, "place": fields["place"], "count": len(fields["choices"])}


def fields(task: Task) -> tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]:
    """The view "dict" of a multiple-choice task: its space, and `dictionary`."""
    most = task.options.max_choices
    texts = {name: AnyText(LONGEST_TEXT) for name in ("question", "facts", "choice")}
    return spaces.Dict(
        {**texts, "place": spaces.Discrete(most), "count": spaces.Discrete(most + 1)}
    ), dictionary


class AnsweringView(View):
    """The current choice of a question.

    informed  [cosine of question and choice; cosine of facts and choice], 0 for a vector of zeros.
    simple    [the question; the facts; the choice].
    With `progress` the last number is the share of choices so far.
    """

    options: ClassVar[tuple[str, ...]] = ("answering", "progress")

    def __init__(
        self, task: Task, featurizer: Featurizer, answering: str = "informed", progress: bool = False
    ) -> None:
        if answering not in ANSWERING:
            raise BadSetting(f"answering = {answering!r}; it must be one of {', '.join(ANSWERING)}")
        self.informed, self.progress = answering == "informed", progress
        self._cache: VectorCache[Choice] = VectorCache(COSINES_BYTES)
        first = (
            (2, -1.0, 1.0)
            if self.informed
            else (3 * featurizer.dimension, -featurizer.bound, featurizer.bound)
        )
        super().__init__(featurizer, [first, (1, 0, 1)] if progress else [first])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields = observation.fields
        choices, place = fields["choices"], fields["place"]
        choice = fields["question"], fields["facts"], choices[place]
        array = self._cosines(choice).copy() if self.informed else np.concatenate(self._vectors(choice))
        return np.append(array, np.float32((place + 1) / len(choices))) if self.progress else array

    def _cosines(self, choice: Choice) -> NDArray[np.float32]:
        """float32[2], cached and read-only."""
        cosines = self._cache.get(choice)
        if cosines is None:
            question, facts, text = self._vectors(choice)
            cosines = np.array([cosine(question, text), cosine(facts, text)], np.float32)
            self._cache.put(choice, cosines)
        return cosines

    def _vectors(self, choice: Choice) -> list[NDArray[np.float32]]:
        question, facts, text = choice
        return [self.featurizer.vector(part) for part in (question, join_facts(facts), text)]

    def inputs(self, observation: Observation) -> Inputs:
        """The question, the facts and all choices."""
        fields = observation.fields
        return [fields["question"], join_facts(fields["facts"]), *fields["choices"]], []


def join_facts(facts: Sequence[str]) -> str:
    """The facts as one text, joined by a full stop and a space."""
    return ". ".join(facts)


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """The cosine of two vectors, within [-1, 1]; 0 if one of them is zero."""
    size = float(np.sqrt(a.dot(a) * b.dot(b)))
    return max(-1.0, min(1.0, float(a.dot(b)) / size)) if size > 0 else 0.0


def render(observation: Observation) -> str:
    """The question, the facts, and the choices shown so far."""
    fields = observation.fields
    count = len(fields["choices"]) if fields["passed"] else fields["place"] + 1
    lines = [f"Question: {fields['question']}", *(f"Fact: {fact}" for fact in fields["facts"])]
    lines += [
        f"Choice {id}: {text}"
        for id, text in list(zip(fields["ids"], fields["choices"], strict=True))[:count]
    ]
    return "\n".join([*lines, f"Taken: {fields['selected']}"] if fields["selected"] else lines)
