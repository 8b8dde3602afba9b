"""The classes behind the kinds that a recipe names, and the dataclasses of their settings."""

from __future__ import annotations

import dataclasses
from typing import Any

from loquent.core import registry
from loquent.core.algorithm import Algorithm, AlgorithmConfig
from loquent.core.task import Task
from loquent.errors import BadSetting, LoquentError, NotImported


def options_of_task(task: str) -> type:
    """The dataclass of a task's options.

    Raises:
        BadSetting: the name is not that of a task. NotImported: it names code that is not imported.
    """
    cls = registry.resolve("task", task)
    if not (isinstance(cls, type) and issubclass(cls, Task)):
        raise BadSetting(
            f"{task!r} names {cls!r:.80}, which is no task; name a class derived from loquent.core.task.Task"
        )
    return cls.Options


DECLARED = ("name", "reads", "experience")  # attributes of an algorithm's class that have no default


def config_of(algorithm: str) -> type[AlgorithmConfig]:
    """The dataclass of an algorithm's settings; raises as `algorithm_class`."""
    return algorithm_class(algorithm).Config


def settings_of(algorithm: str) -> set[str]:
    """The names of an algorithm's settings; none where it needs a library that is not installed."""
    try:
        config: Any = config_of(algorithm)
        return {field.name for field in dataclasses.fields(config)}
    except LoquentError:
        return set()


def algorithm_class(name: str) -> type[Algorithm]:
    """The class of an algorithm.

    Raises:
        BadSetting: the name is not that of an algorithm, or its `Config` is not a dataclass of settings.
            NotImported: it names code that is not imported.
    """
    cls = registry.resolve("algorithm", name)
    if not (isinstance(cls, type) and issubclass(cls, Algorithm)):
        raise BadSetting(
            f"{name!r} names {cls!r:.80}, which is no algorithm; name a class derived from "
            "loquent.core.algorithm.Algorithm"
        )
    config = cls.Config
    if not (issubclass(config, AlgorithmConfig) and dataclasses.is_dataclass(config)):
        raise BadSetting(
            f"the Config of {name!r} is {config!r:.80}; make it a frozen dataclass derived from "
            "loquent.core.algorithm.AlgorithmConfig"
        )
    if missing := [attribute for attribute in DECLARED if not hasattr(cls, attribute)]:
        raise BadSetting(
            f"the algorithm {name!r} ({cls.__name__}) does not declare {', '.join(missing)}; set them in "
            "the class, and derive from BatchAlgorithm or Playing, which set `experience`"
        )
    return cls


def unused_of_model(algorithm: str) -> tuple[str, ...]:
    """The settings of `model:` that have no effect on this algorithm; none if it is not imported."""
    try:
        return algorithm_class(algorithm).unused_of_model
    except NotImported:
        return ()


def starts(algorithm: str) -> bool:
    """Whether `model.path` has an effect on this algorithm, as the run that it starts from."""
    return "model" not in unused_sections(algorithm) or algorithm_class(algorithm).starts


def unused_sections(algorithm: str) -> tuple[str, ...]:
    """The sections of a recipe that have no effect on this algorithm; none if it is not imported."""
    try:
        return algorithm_class(algorithm).unused
    except NotImported:
        return ()
