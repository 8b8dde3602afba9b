"""The keys that the built-in algorithms log, with unit and meaning; they stand in `logged_keys.yaml`.

The tables stand apart from the algorithms, so that a report can read them without importing torch. A test
compares each with the table of its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loquent.core import log_keys, safe_yaml
from loquent.core.log_keys import Logged

BUILT_IN: Mapping[str, Mapping[str, Logged]] = {
    name: log_keys.entries(keys)
    for name, keys in safe_yaml.own(Path(__file__).with_name("logged_keys.yaml"))["learners"].items()
}
"""The keys of each built-in algorithm by its registered name, besides those of every run."""
