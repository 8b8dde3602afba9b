"""What a setting means: its description, default, range and source, as `loquent help` prints them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from loquent.core import registry
from loquent.core.algorithm import Algorithm, AlgorithmConfig
from loquent.core.options import options_of
from loquent.core.settings import default_text, range_text
from loquent.errors import BadSetting, UnknownName
from loquent.models.decoding_settings import Decoding
from loquent.models.lora_settings import Lora
from loquent.training.recipes import kinds
from loquent.training.recipes.sections import ModelSettings, ParallelSettings, TrainingSettings


@dataclasses.dataclass(frozen=True)
class _NoOptions:
    """The options of a factory that declares none."""


def describe(name: str) -> str:
    """One line for each setting with this name, or of the section, algorithm, task, agent or score.

    A line gives the setting's default, range, description and source.

    Args:
        name: a setting (`clip`), a setting of a section (`training.updates`), a section or a registered name,
            or "module:Name".

    Raises:
        UnknownName: nothing has this name.
    """
    if registry.is_import_name(name):
        return _describe_code(name)
    schemas = _schemas()
    section, _, setting = name.rpartition(".")
    titles = [title for title in schemas if {title, title.rpartition(".")[2]} & {name, section}]
    lines: list[str] = []
    for title in titles or schemas:  # importing all algorithms takes seconds, so titles are tried first
        all_of_it = name in (title, title.rpartition(".")[2])
        asked = section in ("", title, *title.split("."))
        try:
            schema = schemas[title]()
        except BadSetting:
            if titles:
                raise
            continue  # an installed package with a broken name does not hide the others
        if all_of_it and not dataclasses.fields(schema):
            lines.append(f"{title} has no settings")
        presets = schema.presets if issubclass(schema, AlgorithmConfig) else {}
        if presets and (all_of_it or (asked and setting == "preset")):
            lines.append(
                f"{title}.preset (one of {', '.join(presets)}): several settings at once; settings of the "
                "same place or of a later one override them (file, profile, command line)"
            )
        lines += [
            f"{title}.{field.name}{_meaning(field)}"
            for field in dataclasses.fields(schema)
            if name and (all_of_it or (asked and field.name == setting))
        ]
    if not lines:
        raise UnknownName("setting", name, _all_settings(schemas) | set(schemas))
    return "\n".join(lines)


def _all_settings(schemas: dict[str, Callable[[], type]]) -> set[str]:
    """The names of all settings but those of packages that cannot be imported."""
    settings: set[str] = set()
    for schema in schemas.values():
        with contextlib.suppress(BadSetting):
            settings |= {field.name for field in dataclasses.fields(schema())}
    return settings


def _schemas() -> dict[str, Callable[[], type]]:
    """The dataclasses of settings by title: sections, and registered names by kind. A call imports one."""
    from loquent.rewards.counting import Counting

    schemas: dict[str, Callable[[], type]] = {
        "rewards": lambda: Counting,
        "model": lambda: ModelSettings,
        "model.lora": lambda: Lora,
        "training": lambda: TrainingSettings,
        "parallel": lambda: ParallelSettings,
        "decoding": lambda: Decoding,
        "evaluation": lambda: Decoding,
    }
    for kind, schema_of in (
        ("algorithm", kinds.config_of),
        ("task", kinds.options_of_task),
        ("featurizer", partial(registry.find, "featurizer")),
        ("metric", partial(_options, "metric")),
        ("reward", partial(_options, "reward")),
        ("agent", partial(_options, "agent")),
        ("design", partial(_options, "design")),
    ):
        schemas |= {f"{kind}.{name}": partial(schema_of, name) for name in registry.names(kind)}
    schemas |= {
        f"network.{name}": partial(_settings_of_network, target)
        for name, target in registry.networks().items()
    }
    return schemas


def _settings_of_network(target: str) -> type:
    """The settings of a network that a task brings."""
    settings: type = registry.import_name(target).Settings
    return settings


def _options(kind: str, name: str) -> type:
    """The options of a metric, a reward, an agent or a design."""
    return options_of(registry.find(kind, name)) or _NoOptions


def _describe_code(name: str) -> str:
    """The settings of "module:Name": the `Config` of an algorithm, the `Options` of anything else.

    A function that scores is described by what it reads, its direction and its range.
    """
    from loquent.metrics.function import FunctionMetric, inputs, of_function  # few recipes need this room

    thing = registry.import_name(name)
    if isinstance(thing, FunctionMetric) or (callable(thing) and inputs(thing, name)):
        return f"{name}: {of_function(thing).description}"
    is_algorithm = isinstance(thing, type) and issubclass(thing, Algorithm)
    schema = thing.Config if is_algorithm else options_of(thing)
    if not dataclasses.is_dataclass(schema):
        return f"{name} has no settings"
    lines = [f"{name}.{field.name}{_meaning(field)}" for field in dataclasses.fields(schema)]
    return "\n".join(lines) or f"{name} has no settings"


def _meaning(field: dataclasses.Field[Any]) -> str:
    """A field's default, range, description and source."""
    default = "required" if field.default is dataclasses.MISSING else f"default {default_text(field)}"
    text = f" ({default}, {range_text(field)})" if range_text(field) else f" ({default})"
    if field.metadata.get("why"):
        text += f": {field.metadata['why']}"
    if field.metadata.get("source"):
        text += f" [{field.metadata['source']}]"
    return text
