"""Which prompts are read together: equal ones once, and no more tokens in a pass than a budget."""

from __future__ import annotations

from collections.abc import Sequence

PREFILL = 4096  # the most padded tokens of one pass over prompts, or a single prompt


def distinct(prompts: Sequence[Sequence[int]]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The different prompts in the order of their first occurrence, and the number of each row's prompt."""
    numbers: dict[tuple[int, ...], int] = {}
    which = [numbers.setdefault(tuple(prompt), len(numbers)) for prompt in prompts]
    return list(numbers), which


def passes(lengths: Sequence[int], budget: int) -> list[int]:
    """The numbers of successive rows that are read together.

    Padded to the longest of them, they have at most `budget` tokens; a longer row is read alone.
    """
    sizes: list[int] = []
    longest = 0
    for length in lengths:
        if sizes and (sizes[-1] + 1) * max(longest, length) <= budget:
            sizes[-1], longest = sizes[-1] + 1, max(longest, length)
        else:
            sizes.append(1)
            longest = length
    return sizes
