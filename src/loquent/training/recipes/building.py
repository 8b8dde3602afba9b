"""From the YAML tree of a recipe to the settings of each section, in frozen dataclasses.

An unknown key or a bad value is reported with file and line, the nearest key and the range.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core import registry
from loquent.core.algorithm import AlgorithmConfig
from loquent.core.catalogue import DEFAULT_TASK
from loquent.core.options import COMMAND_LINE, Node, fill, unknown
from loquent.core.settings import Remark
from loquent.errors import BadSetting, NotImported, UnknownName
from loquent.files.run_folder import Tuning
from loquent.models.decoding_settings import Decoding
from loquent.training.recipes import effects, foreign_names, kinds, scores
from loquent.training.recipes.overrides import PROFILE, rank
from loquent.training.recipes.sections import ModelSettings, ParallelSettings, TrainingSettings

SECTIONS = (
    "task",
    "model",
    "rewards",
    "metrics",
    "decoding",
    "evaluation",
    "algorithm",
    "training",
    "parallel",
)
# settings of a new model, without effect on an existing one
NEW_MODEL = ("shape", "layers", "width", "heads", "context", "vocabulary", "tokenizer_texts", "dropout")


def settings(root: Node) -> dict[str, Any]:
    """The fields of a `Recipe` from its YAML tree.

    Raises:
        BadSetting: an unknown key or a bad value, with file and line.

    Warns:
        Remark: a setting or a section has no effect.
    """
    sections: dict[str, Node] = root.mapping("a recipe")
    known = ("name", *SECTIONS, "tuning")
    _check_foreign(sections, known)
    for key, node in sections.items():
        if key not in known:
            raise unknown(node, key, known, "a recipe")
    task, options = _kind(sections.get("task"), "task", DEFAULT_TASK, kinds.options_of_task)
    algorithm, config = _kind(sections.get("algorithm"), "algorithm", "ppo", kinds.config_of)
    for name in kinds.unused_sections(algorithm):
        _drop(sections, name, algorithm)
    decoding = sections.get("decoding")
    evaluation = _evaluation(decoding, sections.get("evaluation"))
    made = {
        "name": str(sections["name"].value) if "name" in sections else "unnamed",
        "task": task,
        "options": options,
        "model": _model(sections.get("model")),
        "rewards": scores.rewards(sections.get("rewards"), task, options),
        "metrics": scores.metrics(sections.get("metrics"), task, options, "rewards" in sections),
        "decoding": fill(Decoding, decoding, "decoding"),
        "evaluation": fill(Decoding, evaluation, "evaluation"),
        "algorithm": algorithm,
        "config": config,
        "training": fill(TrainingSettings, sections.get("training"), "training"),
        "parallel": fill(ParallelSettings, sections.get("parallel"), "parallel"),
        "tuning": fill(Tuning, sections["tuning"], "tuning") if "tuning" in sections else None,
    }
    effects.remark(sections, made)
    return made


def _check_foreign(sections: Mapping[str, Node], known: Sequence[str]) -> None:
    """Raise BadSetting, with our setting, if a name is that of another library."""
    chosen = sections.get("algorithm")
    inside = chosen.value if chosen else None
    kind = inside.get("kind") if isinstance(inside, dict) else chosen
    algorithm = kind.value if kind else "ppo"
    own = kinds.settings_of(algorithm) if isinstance(algorithm, str) else set()
    if not own:  # no algorithm's name, which is reported below
        return
    places: dict[str, tuple[Any, set[str]]] = {"a recipe": (sections, set(known)), "algorithm": (inside, own)}
    for section, cls in (*foreign_names.SHARED.items(), ("evaluation", Decoding)):
        node = sections.get(section)
        places[section] = node.value if node else None, {field.name for field in dataclasses.fields(cls)}
    for section, (nodes, names) in places.items():
        for key in nodes if isinstance(nodes, dict) else ():
            if key in names:
                continue
            # a file's setting of another of our learners is left to the checks of the kind
            is_ours = section == "algorithm" and not nodes[key].is_override and _owners(key)
            if not is_ours and (hint := foreign_names.hint(section, key, algorithm)):
                raise BadSetting(f"{nodes[key].place}: {hint}")


def unused_of_model(model: ModelSettings) -> tuple[str, ...]:
    """The settings of a model that have no effect with this path, or without a path."""
    return NEW_MODEL if model.path else ("revision",)


def _drop(sections: dict[str, Node], name: str, algorithm: str) -> None:
    """Remove a section without effect; a remark says so, unless the section came from a profile.

    Of `model`, an algorithm that starts from a run keeps the path.
    """
    node = sections.pop(name, None)
    if node is None:
        return
    named, what = [(name, node)], "has no language model"
    if name == "model" and kinds.starts(algorithm):
        nodes = dict(node.mapping(name))
        sections[name] = Node({k: x for k, x in nodes.items() if k == "path"}, node.file, node.line)
        named = [(f"model.{setting}", x) for setting, x in nodes.items() if setting != "path"]
        what += "; of model, it reads the path of a run"
    for setting, found in named:
        if found.source != PROFILE:
            text = f"{found.place}: {setting} has no effect: {algorithm} {what}"
            warnings.warn(text, Remark, stacklevel=4)


def _model(node: Node | None) -> ModelSettings:
    """The model's settings.

    A setting without effect keeps its default. A remark names it, unless the path was set at a later place.
    """
    nodes = node.mapping("model") if node else {}
    path = nodes.get("path")
    _check_adapters(nodes)
    model: ModelSettings = fill(ModelSettings, node, "model")
    for name in _asked_in_vain(model, nodes):
        value = f"{nodes[name].place}: model.{name} = {getattr(model, name)!r} has no effect"
        where = f" ({path.place})" if path else ""
        reason = (
            f"model.path = {model.path!r}{where} names an existing model; `model.path=` makes a new one"
            if model.path
            else "it is the revision of a model.path, and there is none"
        )
        warnings.warn(f"{value}: {reason}", Remark, stacklevel=4)
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(ModelSettings)}
    return dataclasses.replace(model, **{name: defaults[name] for name in unused_of_model(model)})


def _check_adapters(nodes: Mapping[str, Node]) -> None:
    """Raise BadSetting if an override asks for adapters on a model that a profile removed."""
    path, lora = nodes.get("path"), nodes.get("lora")
    rank = lora.value.get("rank") if lora and isinstance(lora.value, dict) else None
    if (
        rank
        and rank.value
        and rank.source == COMMAND_LINE
        and path
        and path.source == PROFILE
        and not path.value
    ):
        raise BadSetting(
            f"{rank.place}: model.lora.rank = {rank.value!r} needs an existing model, whose weights it "
            "freezes, and the profile removes model.path; add model.path=FOLDER, which overrides the "
            "profile, or set model.lora.rank to 0"
        )


def _asked_in_vain(model: ModelSettings, nodes: Mapping[str, Node]) -> list[str]:
    """The settings without effect that were set no earlier than the path."""
    path = nodes.get("path")
    return [
        name
        for name in unused_of_model(model)
        if name in nodes and getattr(model, name) and (path is None or rank(nodes[name]) >= rank(path))
    ]


def _kind(node: Node | None, section: str, default: str, schema_of: Any) -> tuple[str, Any]:
    """The kind that a section names, and its settings.

    The settings stay plain values where the kind is code that is not imported.
    """
    nodes = dict(node.mapping(section)) if node and not isinstance(node.value, str) else {}
    kind = nodes.pop("kind", None) or (node if node and isinstance(node.value, str) else None)
    name = scores.text(kind, f"{section}.kind") if kind else default
    try:
        cls = schema_of(name)
    except NotImported:
        return name, Node(nodes, "", None).plain()
    except (UnknownName, BadSetting) as error:
        place = kind or node
        raise BadSetting(f"{place.place}: {error}" if place else str(error)) from error
    if section == "algorithm" and "preset" in nodes:
        nodes = _with_preset(nodes, name, cls)
    if section == "algorithm":
        _check_owners(nodes, name, cls)
    if kind and kind.is_override:
        _check_settings_of_file(nodes, kind, section, name, cls)
    try:
        return name, fill(cls, Node(nodes, node.file, node.line) if node else None, section)
    except NotImported:
        return name, Node(nodes, "", None).plain()


def _check_settings_of_file(
    nodes: Mapping[str, Node], kind: Node, section: str, name: str, cls: type
) -> None:
    """Raise BadSetting if an override changes the kind and the file has settings that the new kind lacks."""
    known = {field.name for field in dataclasses.fields(cls)}
    missing = [key for key, node in nodes.items() if key not in known and not node.is_override]
    if missing:
        raise BadSetting(
            f"{kind.place}: {section}.kind={name} changes the kind, and {name} has no setting "
            f"{', '.join(missing)} ({nodes[missing[0]].place}); leave the kind as it is, or remove these "
            "settings from a copy of the file"
        )


def _check_owners(nodes: Mapping[str, Node], name: str, cls: type) -> None:
    """Raise BadSetting if a setting belongs to other algorithms alone; names up to three of them."""
    known = {field.name for field in dataclasses.fields(cls)}
    for key, node in nodes.items():
        if key in known or not node.is_override:
            continue
        if others := _owners(key):
            raise BadSetting(
                f"{node.place}: algorithm has no setting {key!r} with kind = {name!r}; it is a setting of "
                f"{', '.join(others[:3])}; change algorithm.kind, or remove it"
            )


def _owners(setting: str) -> list[str]:
    """The algorithms that have a setting of this name."""
    return [name for name in registry.names("algorithm") if setting in kinds.settings_of(name)]


def _with_preset(nodes: Mapping[str, Node], kind: str, config: type[AlgorithmConfig]) -> dict[str, Node]:
    """The settings of an algorithm with those of its `preset:`.

    A setting of the same place or of a later one overrides the preset; the preset overrides settings of
    earlier places. The places are in this order: file of the base, file, profile, suite, command line.
    """
    chosen, known = nodes["preset"], config.presets
    name = scores.text(chosen, "algorithm.preset")
    if name not in known:
        raise BadSetting(
            f"{chosen.place}: {kind} has no preset {name!r}; known: {', '.join(known) or 'none'}"
        )
    made = {
        setting: Node(value, chosen.file, chosen.line, chosen.origin)
        for setting, value in known[name].items()
    }
    own, below = dict(nodes), True
    for setting, node in nodes.items():  # those of a base's file stand before the preset
        below = below and setting != "preset"
        earlier = below and node.source != chosen.source and rank(node) == rank(chosen)
        if setting in made and (rank(node) < rank(chosen) or earlier):
            del own[setting]
    del own["preset"]
    return {**made, **own}


def _evaluation(decoding: Node | None, evaluation: Node | None) -> Node | None:
    """The decoding of evaluations: that of training, with the settings of `evaluation:` on top."""
    if decoding is None or evaluation is None:
        return evaluation or decoding
    return Node(
        {**decoding.mapping("decoding"), **evaluation.mapping("evaluation")}, evaluation.file, evaluation.line
    )
