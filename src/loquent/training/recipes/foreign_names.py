"""The names of settings in other libraries, and the settings of Loquent that do the same.

They stand in `training/foreign_names.yaml` and are read for errors alone: a recipe with such a name is
refused, and the error has the right setting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from loquent.core import registry, safe_yaml
from loquent.models.decoding_settings import Decoding
from loquent.training.recipes import kinds
from loquent.training.recipes.sections import ModelSettings, TrainingSettings

SHARED = {"training": TrainingSettings, "model": ModelSettings, "decoding": Decoding}
MOST = 3  # learners that an error names


class Foreign(NamedTuple):
    """A name of another library: whose it is, our settings (the first ones first), and what to know."""

    owner: str
    settings: Sequence[str] = ()
    note: str = ""


def _names() -> dict[str, Foreign]:
    return {
        name: Foreign(owner, *entry)
        for owner, names in safe_yaml.own(Path(__file__).parents[1] / "foreign_names.yaml").items()
        for name, entry in names.items()
    }


NAMES = _names()


def hint(section: str, name: str, algorithm: str) -> str:
    """The refusal of a setting whose name is another library's, for a learner; "" if it is nobody's.

    Args:
        section: the section that has the name, or "a recipe" for a name outside of all sections.
    """
    found = NAMES.get(name)
    if found is None:
        return ""
    what = f"{section} has no setting {name!r}, a name of {found.owner}"
    more = f" ({found.note})" if found.note else ""
    fitting = [setting for setting in found.settings if fits(setting, algorithm)]
    if fitting:
        return f"{what}; with {algorithm} set {' or '.join(fitting)}{more}"
    if found.settings:
        owners = "; ".join(_owned(setting) for setting in found.settings)
        return f"{what}, and {algorithm} has nothing of the kind; {owners}{more}"
    return f"{what}; leave it out: {found.note or 'Loquent has nothing of the kind'}"


def fits(setting: str, algorithm: str) -> bool:
    """Whether a setting, or a whole section, has an effect with a learner."""
    section, _, name = setting.partition(".")
    if section == "algorithm":
        return name in kinds.settings_of(algorithm)
    if section in kinds.unused_sections(algorithm):
        return setting == "model.path" and kinds.starts(algorithm)
    return section == "rewards" or name in {field.name for field in dataclasses.fields(SHARED[section])}


def _owned(setting: str) -> str:
    """A setting with some of the learners that have it."""
    owners = [name for name in registry.names("algorithm") if fits(setting, name)]
    return f"{setting} is a setting of {', '.join(owners[:MOST])}"
