"""Which rows a split has, by hashes of their ids: for ids of any number, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

SPLITS = ("train", "validation", "test")
ORDER = ("test", "dev", "validation", "train")  # a row that stands twice stays in the first of these
ALIASES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
# Without validation rows, one in 5 train rows becomes one: 25,000 reviews give 20,000 and 5,000 (2210.01241).
VALIDATION_ONE_IN = 5
# The splits that a file of few rows fills, in this order; single rows come from the splits behind them.
GIVERS = {"train": ("validation", "test"), "test": ("validation",), "validation": ()}
Draws = NDArray[np.float64]
Indices = NDArray[np.uint32]  # rows in their order; there are fewer than 2^32


def draw_of(id: str) -> float:
    """A hash of an id as a number in [0, 1). It decides splits and subsets."""
    return float(draws([id])[0])


def draws(ids: Iterable[str]) -> Draws:
    """The numbers of `draw_of` for many ids."""
    hashes = bytearray()
    for id in ids:
        hashes += blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    numbers = np.frombuffer(hashes, ">u8").astype(np.float64)
    numbers /= 2**64
    return numbers


def by_hash(draws: Draws) -> dict[str, Indices]:
    """The rows of each split, about 80 % train, 10 % validation and 10 % test.

    Few rows may leave a split empty. It then gets one row of the largest split, by the hash: train first,
    then test, then validation. So one row is of train, and two rows are of train and test. Where the
    hash fills all splits, appending rows moves no row.
    """
    codes = (draws >= 0.8).astype(np.int8) + (draws >= 0.9)
    for empty, others in GIVERS.items():
        counts = {split: int(np.count_nonzero(codes == code)) for code, split in enumerate(SPLITS)}
        giver = max(SPLITS, key=counts.__getitem__)
        if counts[giver] < 2:
            giver = next((split for split in others if counts[split]), "")
        if giver and not counts[empty]:
            members = np.flatnonzero(codes == SPLITS.index(giver))
            codes[members[np.argmax(draws[members])]] = SPLITS.index(empty)
    found = {split: indices(codes == code) for code, split in enumerate(SPLITS)}
    return {split: members for split, members in found.items() if len(members)}


def for_validation(draws: Draws) -> Indices:
    """A fifth of the rows of train, which a source without validation rows sets aside; ascending."""
    return _first(draws, len(draws) // VALIDATION_ONE_IN)


def limit_draws(draws: Draws, limit: int) -> Indices:
    """At most `limit` rows (0: all), ascending. A smaller limit gives a subset of a larger one."""
    if not limit or len(draws) <= limit:
        return np.arange(len(draws), dtype=np.uint32)
    return _first(draws, limit)


def indices(chosen: NDArray[np.bool_]) -> Indices:
    """Where a mask is true."""
    return np.flatnonzero(chosen).astype(np.uint32)


def _first(draws: Draws, count: int) -> Indices:
    """The rows with the smallest draws, ascending; of equal draws the first ones."""
    if not count:
        return np.zeros(0, np.uint32)
    most = np.partition(draws, count - 1)[count - 1]
    chosen = draws < most
    equal = np.flatnonzero(draws == most)
    chosen[equal[: count - int(np.count_nonzero(chosen))]] = True
    return indices(chosen)


def normal(text: str) -> str:
    """A text without case, and with one space between words; equal rows have equal ones."""
    if text.isprintable() and "  " not in text and text.strip(" ") == text:  # only single spaces
        return text.casefold()
    return " ".join(text.casefold().split())
