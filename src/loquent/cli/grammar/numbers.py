"""The numbers that arguments take; anything else is refused with the allowed range."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """An integer of at least 1."""
    return _integer(text, 1)


def seed(text: str) -> int:
    """A seed: an integer of at least 0."""
    return _integer(text, 0)


def share(text: str) -> float:
    """A share in (0, 1]."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share in (0, 1]")
    return number


def resamples(text: str) -> int:
    """A number of bootstrap samples: 0 for no intervals, or at least 100."""
    number = _integer(text, 0)
    if 0 < number < 100:
        raise argparse.ArgumentTypeError(
            f"{text!r} resamples are too few for an interval: give at least 100, or 0 for no intervals"
        )
    return number


def port(text: str) -> int:
    """A port from 0 to 65,535."""
    number = _integer(text, 0)
    if number > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return number


def level(text: str) -> float:
    """The confidence level of an interval, in [0.5, 0.999]."""
    number = share(text)
    if not 0.5 <= number <= 0.999:
        raise argparse.ArgumentTypeError(f"{text!r} is not a level between 0.5 and 0.999")
    return number


def weight(text: str) -> float:
    """A finite weight of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number of at least 0")
    return number


def _integer(text: str, lowest: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = lowest - 1
    if number < lowest:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {lowest}")
    return number
