"""The keys that a run logs, each with its unit and its meaning.

The documentation prints this table, and the report takes its axes from it. The keys of all runs are in
`logged.yaml`; an algorithm's own keys are in a table `LOGGED` in the module of its class. A key without a
definition is logged with the warning `UndefinedKey`, which is an error in the tests.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from loquent.core import safe_yaml

SUCCESS_ERROR = "success_error"
EPISODES = ("rollout/", "evaluation/")  # the prefixes of keys of episodes in metrics.jsonl


class Logged(NamedTuple):
    """The unit and the meaning of a key; an empty unit means a plain number."""

    unit: str
    meaning: str
    least: float = -math.inf  # the least possible mean


class UndefinedKey(UserWarning):
    """A run logs a key that no table defines."""


def entries(table: Mapping[str, Sequence[Any]]) -> dict[str, Logged]:
    """The keys of a table with their units, their meanings and, where it is known, their least mean."""
    return {key: Logged(*entry) for key, entry in table.items()}


LOGGED = entries(safe_yaml.own(Path(__file__).with_name("logged.yaml")))


def table(algorithm: type) -> dict[str, Logged]:
    """All keys that a run with this algorithm may log.

    They are the keys of all runs and those in the modules of the algorithm's class and of its bases.
    """
    keys = dict(LOGGED)
    for cls in reversed(algorithm.__mro__):
        keys |= getattr(sys.modules.get(cls.__module__), "LOGGED", {})
    return keys


def definition(key: str, known: Mapping[str, Logged]) -> Logged | None:
    """The definition of a key, or of its family; None when there is neither.

    A key such as `evaluation/perplexity` belongs to the family `evaluation/*`.
    """
    parts = key.split("/")
    families = ("/".join((*parts[:n], "*")) for n in range(len(parts) - 1, 0, -1))
    return next((known[name] for name in (key, *families) if name in known), None)


def value(line: Mapping[str, Any], key: str) -> Any:
    """The value of a key in a line of metrics.jsonl or in the values of an evaluation; None when absent.

    Only endings that occurred are logged. An absent ending has the share 0 when the line has other endings.
    """
    if key in line:
        return line[key]
    head, separator, _ = key.partition("ended/")
    of_episodes = bool(separator) and head in ("", *EPISODES)
    return 0.0 if of_episodes and any(name.startswith(f"{head}ended/") for name in line) else None


def check(keys: Iterable[str], known: Mapping[str, Logged]) -> None:
    """Warn about keys that no table defines."""
    missing = [key for key in keys if definition(key, known) is None]
    if missing:
        warnings.warn(
            UndefinedKey(
                f"{missing[0]!r} is logged but not defined; add it to the table LOGGED of the algorithm's "
                "module"
            ),
            stacklevel=2,
        )
