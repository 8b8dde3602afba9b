"""The utterances, or the n-grams of tokens, with the highest and lowest advantages.

The values are those of ILQL (arXiv:2206.11871).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from loquent.errors import BadSetting
from loquent.models.format.names import Format
from loquent.models.inspect.readings import readings
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.networks import TokenValues


@dataclass(frozen=True)
class TextAdvantage:
    """A text with its advantage."""

    text: str
    advantage: float  # the sum over its tokens, averaged over its occurrences
    count: int  # of its occurrences


def advantages_of_texts(
    module: Any,
    values: TokenValues,
    batch: TokenBatch,
    format: Format,
    *,
    n: int | None = None,
    min_count: int = 1,
    token_budget: int = 8192,
) -> list[TextAdvantage]:
    """The sum of T - V over the tokens of each utterance without its end marker.

    The highest comes first; equal ones are sorted by text.

    Args:
        module: the policy; the values may read its hidden states.
        n: the length of n-grams in tokens, all of which are examined; None: complete utterances.
        min_count: texts with fewer occurrences are left out.

    Raises:
        BadSetting: n or `min_count` is less than 1.
    """
    for name, number in (("n", n), ("min_count", min_count)):
        if number is not None and number < 1:
            raise BadSetting(f"{name} must be an integer of at least 1, got {number}; raise it")
    advantage = readings(module, values, batch, token_budget=token_budget).advantage.double().tolist()
    sums: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for row, utterances in enumerate(_utterances(batch, format)):
        for utterance in utterances:
            tokens = [token for _, token in utterance]
            advantages = [advantage[row][place] for place, _ in utterance]
            size = len(tokens) if n is None else n
            for i in range(len(tokens) - size + 1 if size else 0):
                sums[tuple(tokens[i : i + size])].append(sum(advantages[i : i + size]))
    texts: dict[str, list[float]] = defaultdict(list)
    for ids, numbers in sums.items():
        texts[format.text(list(ids))] += numbers
    averages = [
        TextAdvantage(text, sum(numbers) / len(numbers), len(numbers))
        for text, numbers in texts.items()
        if len(numbers) >= min_count
    ]
    return sorted(averages, key=lambda average: (-average.advantage, average.text))


def _utterances(batch: TokenBatch, format: Format) -> list[list[list[tuple[int, int]]]]:
    """For each row its answers, each as (place, token) without end markers."""
    utterances = []
    for tokens, is_action, turn in zip(
        batch.tokens.tolist(), batch.is_action.tolist(), batch.turn.tolist(), strict=True
    ):
        answers: dict[int, list[tuple[int, int]]] = {}
        for place, (token, chosen, number) in enumerate(zip(tokens, is_action, turn, strict=True)):
            if chosen and token not in format.end:
                answers.setdefault(number, []).append((place, token))
        utterances.append(list(answers.values()))
    return utterances
