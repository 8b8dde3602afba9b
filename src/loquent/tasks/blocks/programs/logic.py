"""Functions of numbers and truth values, which check the types of their arguments, as lilGym does."""

from __future__ import annotations

from typing import Any


def le(a: Any, b: Any) -> bool:
    """a <= b, of integers."""
    return _integers(a, b) and bool(a <= b)


def ge(a: Any, b: Any) -> bool:
    """a >= b, of integers."""
    return _integers(a, b) and bool(a >= b)


def lt(a: Any, b: Any) -> bool:
    """a < b, of integers."""
    return _integers(a, b) and bool(a < b)


def gt(a: Any, b: Any) -> bool:
    """a > b, of integers."""
    return _integers(a, b) and bool(a > b)


def equal_int(a: Any, b: Any) -> bool:
    """a == b, of integers."""
    return _integers(a, b) and bool(a == b)


def AND(a: Any, b: Any) -> bool:
    """Whether both are true; both are computed before."""
    return _truths(a, b) and bool(a and b)


def OR(a: Any, b: Any) -> bool:
    """Whether at least one is true; both are computed before."""
    return _truths(a, b) and bool(a or b)


def NOT(a: Any) -> bool:
    """Whether it is false."""
    return _truths(a, a) and not a


def check_np_bool_convert(a: Any) -> Any:
    """The value itself: programs here have no truth values of NumPy."""
    return a


def _integers(a: Any, b: Any) -> bool:
    """True where both are integers and no truth values; otherwise a TypeError."""
    for value in (a, b):
        if type(value) is not int:
            raise TypeError(f"integers are needed, got {type(value).__name__}")
    return True


def _truths(a: Any, b: Any) -> bool:
    """True where both are truth values; otherwise a TypeError."""
    for value in (a, b):
        if type(value) is not bool:
            raise TypeError(f"truth values are needed, got {type(value).__name__}")
    return True
