"""Keyed random streams: every draw is named by where it happens, so no order of work can change it.

A `Key` is a value (a run's seed and a path of names). `key.draw(turn, purpose)` gives a fresh numpy generator
on a Philox stream that belongs to that place alone. Third-party code that can only draw globally runs inside
`borrowed(key)`.
"""

from __future__ import annotations

import hashlib
import json
import operator
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.errors import BadSetting

Name = str | int


@dataclass(frozen=True)
class Key:
    """The name of a random stream; hashable, picklable and comparable, so it may stand in a task's state.

    Raises:
        BadSetting: the seed is no whole number of at least 0.
    """

    seed: int
    path: tuple[Name, ...] = ()

    def __init__(self, seed: int, path: tuple[Name, ...] = ()) -> None:
        if type(seed) is not int or seed < 0:
            seed = as_integer(seed, f"seed = {seed!r}: a seed is a whole number of at least 0")
        into = self.__dict__  # one is made for every game: the generated __init__ takes twice as long
        into["seed"], into["path"] = seed, path

    def child(self, *names: Name) -> Key:
        """The key one or more names further down."""
        key = object.__new__(Key)
        # the seed is known to be one
        key.__dict__["seed"], key.__dict__["path"] = (self.seed, self.path + names)
        return key

    def draw(self, turn: int, purpose: str) -> np.random.Generator:
        """A fresh generator for one purpose at one turn; the same arguments always give the same stream."""
        return self.child(turn, purpose).generator()

    def generator(self) -> np.random.Generator:
        """A fresh generator at the start of this key's own Philox stream."""
        return np.random.Generator(np.random.Philox(key=self.integer(128)))

    def integer(self, bits: int = 63) -> int:
        """An integer of so many bits that depends on the whole key (a seed for code that wants one)."""
        named = json.dumps([self.seed, *self.path], ensure_ascii=True).encode()
        return int.from_bytes(hashlib.blake2b(named, digest_size=16).digest(), "little") >> (128 - bits)


def as_integer(given: Any, problem: str, low: int = 0) -> int:
    """An integer of any kind, numpy's too, as Python's.

    BadSetting with `problem` for anything else, a bool, or less than `low`.
    """
    try:
        number = operator.index(given)
    except TypeError:
        raise BadSetting(problem) from None
    if isinstance(given, bool) or number < low:
        raise BadSetting(problem)
    return number


@contextmanager
def borrowed(key: Key) -> Iterator[None]:
    """Seed the global generators of Python, numpy and (if loaded) torch from `key`, and give them back
    unchanged.
    """
    torch: Any = sys.modules.get("torch")
    before_python, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - saved, to be restored
    before_torch = torch.default_generator.get_state() if torch else None
    on_gpu = bool(torch) and torch.cuda.is_available() and torch.cuda.is_initialized()
    before_cuda = torch.cuda.get_rng_state_all() if torch and on_gpu else None
    random.seed(key.integer())
    np.random.seed(key.integer(32))  # noqa: NPY002 - the point of this function
    if torch:
        torch.default_generator.manual_seed(key.integer())
        if on_gpu:  # before CUDA is there, torch.manual_seed would queue a seed that nobody could give back
            torch.cuda.manual_seed_all(key.integer())
    try:
        yield
    finally:
        random.setstate(before_python)
        np.random.set_state(before_numpy)  # noqa: NPY002
        if torch:
            torch.default_generator.set_state(before_torch)
            if before_cuda is not None:
                torch.cuda.set_rng_state_all(before_cuda)
