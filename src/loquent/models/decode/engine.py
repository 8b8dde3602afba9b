"""Our engine: the decoding loop on the learner's own module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from loquent.models.decode.loop import decode
from loquent.models.decode.weights import copy_weights
from loquent.models.engine import Ask, Capabilities, Drawn, Engine, Given, Logprobs, Weights
from loquent.models.score.action_scores import answer_logprobs


class LoopEngine(Engine):
    """Draws with the decoding loop, and scores with the teacher-forced pass of learning.

    It runs the learner's own module, so its weights are always the newest. Training copies nothing, and only
    sets `version` to the number of the update.
    """

    name = "ours"
    can = replace(Capabilities(**dict.fromkeys(vars(Capabilities()), True)), kept_states=False)
    version = 0  # where nobody counts

    def draw(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Drawn]]:
        """The answers to the requests; those with the same settings are decoded together."""
        alike: dict[Any, list[int]] = {}
        for number, ask in enumerate(asks):
            settings = ask.decoding, id(ask.nucleus), id(ask.perturbation)
            alike.setdefault(settings, []).append(number)
        for numbers in alike.values():
            yield from zip(numbers, self._decode([asks[i] for i in numbers]), strict=True)

    def score(self, given: Sequence[Given]) -> list[Logprobs]:
        """The log-probabilities of given answers, those of the learner."""
        return answer_logprobs(self.module, given, self.format.pad)

    def load(self, weights: Weights, version: int) -> None:
        """Copy weights into the learner's module, in place; a run never needs it."""
        copy_weights(self.module, weights)
        self.version = version

    def _decode(self, asks: Sequence[Ask]) -> list[Drawn]:
        first, format = asks[0], self.format
        answers = decode(
            self.module,
            [ask.ids for ask in asks],
            [ask.key for ask in asks],
            first.decoding,
            end=format.end,
            pad=format.pad,
            stop=[self._stop(ask.stop, ask.ids) for ask in asks],
            allowed=[ask.legal for ask in asks],
            nucleus=first.nucleus,
            perturbation=first.perturbation,
            vocabulary=format.vocabulary,
        )
        if not self.version:
            return answers
        return [Drawn(replace(answer.tokens, version=self.version), answer.stopped) for answer in answers]

    def _stop(self, strings: tuple[str, ...], prompt: Sequence[int]) -> Callable[[list[int]], bool] | None:
        """A test whether the newest id completes a stop string; None without stop strings.

        Each byte of a stop string takes at most one id, so the test reads only the last ids.
        """
        if not any(strings):
            return None
        longest = max(len(string.encode("utf-8", "replace")) for string in strings) + 4

        def stops(ids: list[int]) -> bool:
            text = self.format.text(ids[-longest:], ids[:-longest] or prompt)
            return any(string in text for string in strings if string)

        return stops
