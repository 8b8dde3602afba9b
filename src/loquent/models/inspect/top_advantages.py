"""Which utterances, or which n-grams of tokens, values hold for better or worse than what else could be said
(notes on arXiv:2206.11871).
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
class Valued:
    """A text, the mean of its summed advantages over all the places where it was said, and how many those
    are.
    """

    text: str
    advantage: float
    count: int


def advantages_of_texts(
    module: Any,
    values: TokenValues,
    batch: TokenBatch,
    format: Format,
    *,
    n: int | None = None,
    least: int = 1,
    token_budget: int = 8192,
) -> list[Valued]:
    """The sum of T - V over the tokens of each utterance, its end marker left out.

    Best first, of equal ones by text.

    Args:
        module: the policy, whose hidden states values may share.
        n: look at all runs of so many tokens within utterances; None: at whole utterances.
        least: texts said less often are left out.

    Raises:
        BadSetting: n or `least` is less than 1.
    """
    for name, number in (("n", n), ("least", least)):
        if number is not None and number < 1:
            raise BadSetting(f"{name} = {number}; a whole number of at least 1 is right")
    advantage = readings(module, values, batch, token_budget=token_budget).advantage.double().tolist()
    sums: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for row, ids in enumerate(_utterances(batch, format)):
        for places in ids:
            said, gained = [token for _, token in places], [advantage[row][place] for place, _ in places]
            size = len(said) if n is None else n
            for i in range(len(said) - size + 1 if size else 0):
                sums[tuple(said[i : i + size])].append(sum(gained[i : i + size]))
    texts: dict[str, list[float]] = defaultdict(list)
    for tokens, numbers in sums.items():
        texts[format.text(list(tokens))] += numbers
    found = [
        Valued(text, sum(numbers) / len(numbers), len(numbers))
        for text, numbers in texts.items()
        if len(numbers) >= least
    ]
    return sorted(found, key=lambda one: (-one.advantage, one.text))


def _utterances(batch: TokenBatch, format: Format) -> list[list[list[tuple[int, int]]]]:
    """For each row its answers, each as (place, token) without end markers."""
    found = []
    for tokens, is_action, turn in zip(
        batch.tokens.tolist(), batch.is_action.tolist(), batch.turn.tolist(), strict=True
    ):
        answers: dict[int, list[tuple[int, int]]] = {}
        for place, (token, chosen, number) in enumerate(zip(tokens, is_action, turn, strict=True)):
            if chosen and token not in format.end:
                answers.setdefault(number, []).append((place, token))
        found.append(list(answers.values()))
    return found
