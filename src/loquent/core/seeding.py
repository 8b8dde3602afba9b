"""Keyed random streams: a draw depends on its key, not on the order of the computation.

A `Key` is a value: a run's seed and a path of names. `key.draw(turn, purpose)` returns a fresh numpy
generator on a Philox stream of its own. Third-party code that can only use global generators runs inside
`borrow_generators(key)`.
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
    """The name of a random stream; hashable, picklable and comparable, so a task's state may hold it.

    Raises:
        BadSetting: the seed is not an integer of at least 0.
    """

    seed: int
    path: tuple[Name, ...] = ()

    def __init__(self, seed: int, path: tuple[Name, ...] = ()) -> None:
        if type(seed) is not int or seed < 0:
            seed = as_integer(seed, f"seed must be an integer of at least 0, got {seed!r}")
        values = self.__dict__  # a key is created for every episode; a generated __init__ takes twice as long
        values["seed"], values["path"] = seed, path

    def child(self, *names: Name) -> Key:
        """The key with one or more names appended to its path."""
        key = object.__new__(Key)  # skips the check of the seed, which has been made
        key.__dict__["seed"], key.__dict__["path"] = self.seed, self.path + names
        return key

    def draw(self, turn: int, purpose: str) -> np.random.Generator:
        """A fresh generator for a purpose at a turn; equal arguments always give the same stream."""
        return self.child(turn, purpose).generator()

    def generator(self) -> np.random.Generator:
        """A fresh generator at the start of this key's own Philox stream."""
        return np.random.Generator(np.random.Philox(key=self.integer(128)))

    def integer(self, bits: int = 63) -> int:
        """An integer of `bits` bits that depends on the whole key, as a seed for other code."""
        text = json.dumps([self.seed, *self.path], ensure_ascii=True).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little") >> (128 - bits)


def as_integer(value: Any, problem: str, low: int = 0) -> int:
    """A Python or numpy integer as a Python integer.

    Raises:
        BadSetting: the value is a bool, not an integer, or less than `low`; `problem` is the message.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise BadSetting(problem) from None
    if isinstance(value, bool) or number < low:
        raise BadSetting(problem)
    return number


@contextmanager
def borrow_generators(key: Key) -> Iterator[None]:
    """Seed the global generators of Python, numpy and torch from `key`, and restore them at the end.

    Torch's generators are included only when torch has been imported.
    """
    torch: Any = sys.modules.get("torch")
    before_python, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - restored below
    before_torch = torch.default_generator.get_state() if torch else None
    on_gpu = bool(torch) and torch.cuda.is_available() and torch.cuda.is_initialized()
    before_cuda = torch.cuda.get_rng_state_all() if torch and on_gpu else None
    random.seed(key.integer())
    np.random.seed(key.integer(32))  # noqa: NPY002 - the point of this function
    if torch:
        torch.default_generator.manual_seed(key.integer())
        if on_gpu:  # before CUDA is initialized, torch would queue the seed, and it could not be undone
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
