"""The presets of the built-in algorithms: published settings, which stand in `presets.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loquent.core import safe_yaml
from loquent.core.values import Record

PRESETS: Mapping[str, Mapping[str, Record]] = {
    learner: {name: Record(settings) for name, settings in presets.items()}
    for learner, presets in safe_yaml.own(Path(__file__).with_name("presets.yaml"))["learners"].items()
}
"""The presets of an algorithm by its registered name."""
