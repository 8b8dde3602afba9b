"""Settings that a recipe names in vain, and those that rarely serve: one remark for each.

A setting without effect has a place in the recipe, and another setting that makes it so. Defaults and the
settings of a profile are not mentioned.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from loquent.core.algorithm import AlgorithmConfig, RateSettings
from loquent.core.options import Node
from loquent.core.settings import Remark
from loquent.errors import BadSetting
from loquent.models.decoding_settings import OURS
from loquent.training.recipes import kinds
from loquent.training.recipes.overrides import PROFILE, rank
from loquent.training.recipes.sections import TrainingSettings

SAMPLED = ("temperature", "top_k", "top_p")
LOW_RATE = 1e-5  # below it, adapters hardly move: 2e-4 in arXiv:2106.09685, table 11


def remark(sections: Mapping[str, Node], made: Mapping[str, Any]) -> None:
    """Show the remarks on the settings of a recipe.

    Args:
        sections: the nodes of the sections.
        made: the fields of the recipe.

    Warns:
        Remark: a setting has no effect, or a learning rate is too low for adapters.
    """
    for text in (*_in_vain(sections, made), *_adapters(made)):
        warnings.warn(text, Remark, stacklevel=5)


def chooses_by_final_rows(training: TrainingSettings) -> bool:
    """Whether early stopping keeps the checkpoint that is best on the split of the final evaluation."""
    return bool(training.stop_metric and training.updates) and training.evaluate_split == training.final_split


def refuse_choice(training: TrainingSettings, root: Node) -> None:
    """Raise BadSetting for early stopping on the split of the final evaluation.

    Args:
        root: the recipe's tree; the last of the settings that make it so is named with its place.
    """
    if chooses_by_final_rows(training):
        nodes, split = _nodes(root.mapping("a recipe"), "training"), training.final_split
        causes = [nodes[name] for name in ("stop_metric", "evaluate_split", "final_split") if name in nodes]
        cause = "evaluate_split=validation" if split == "test" else "final_split=test"
        raise BadSetting(
            f"{max(causes, key=rank).place}: training.stop_metric = {training.stop_metric!r} keeps the "
            f"checkpoint that is best on the split {split!r} (training.evaluate_split), and "
            f"training.final_split = {split!r} evaluates it on the same rows, so its numbers would be too "
            f"good. Set training.{cause}, or leave stop_metric empty"
        )


def _in_vain(sections: Mapping[str, Node], made: Mapping[str, Any]) -> Iterator[str]:
    for section, name, reason, decider in _without_effect(made):
        nodes = _nodes(sections, section)
        node, later = nodes.get(name), nodes.get(decider)
        if node is None or node.source == PROFILE or (later is not None and rank(later) > rank(node)):
            continue
        settings = made["config" if section == "algorithm" else section]
        value = getattr(settings, name)
        inherited = made["decoding"] if section == "evaluation" else None
        if value not in (_default(settings, name), getattr(inherited, name, None)):
            yield f"{node.place}: {section}.{name} = {value!r} has no effect: {reason}"


def _without_effect(made: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """The settings that have no effect in a recipe: section, name, reason, and the setting that decides it.

    A decider that was set at a later place than the setting gives no remark: somebody overrode both.
    """
    for section in ("decoding", "evaluation"):
        method = made[section].method
        why = f"it serves {{}}, and {section}.method = {method!r}"
        if method != "sample":
            yield from ((section, name, why.format("sampling only"), "method") for name in SAMPLED)
        if method != "beam":
            yield section, "beams", why.format("beam search only"), "method"
    training = made["training"]
    if not training.stop_metric:
        for name in ("patience", "margin"):
            yield (
                "training",
                name,
                "training.stop_metric is empty, so there is no early stopping",
                "stop_metric",
            )
    if not training.evaluate_every:
        for name in ("evaluate_episodes", "evaluate_split", "evaluate_first"):
            yield (
                "training",
                name,
                "training.evaluate_every = 0, so only the end is evaluated",
                "evaluate_every",
            )
    if training.data:
        yield "training", "priority", "training.data gives the episodes, so no rows are drawn", "data"
    own_engine = made["decoding"].engine == OURS
    if isinstance(made["config"], AlgorithmConfig):
        for name, reason, decider in made["config"].without_effect(own_engine):
            yield "algorithm", name, reason, decider
    unused = kinds.unused_of_model(made["algorithm"])
    if "critic" in unused or made["model"].critic == "none":
        yield "model", "critic_head", "there is no critic", "critic"
    for name in unused:
        if getattr(made["model"], name, "none") != "none":
            yield "model", name, f"{made['algorithm']} does not use it", ""


def _adapters(made: Mapping[str, Any]) -> Iterator[str]:
    """Adapters with the learning rate of a whole model, or with a dropout that the algorithm does not use."""
    config, rank, dropout = made["config"], made["model"].lora.rank, made["model"].lora.dropout
    if rank and dropout and "lora.dropout" in kinds.unused_of_model(made["algorithm"]):
        yield f"model.lora.dropout = {dropout:g} has no effect: {made['algorithm']} does not use it"
    rate = config.learning_rate if isinstance(config, RateSettings) else None
    if rank and rate and rate < LOW_RATE:
        yield (
            f"algorithm.learning_rate = {rate:g} with model.lora.rank = {rank}: adapters usually need 1e-5 "
            "to 1e-3, about ten times the rate of the whole model; 2e-4 is a usual start (arXiv:2106.09685)"
        )


def _nodes(sections: Mapping[str, Node], name: str) -> Mapping[str, Node]:
    node = sections.get(name)
    return node.mapping(name) if node is not None and isinstance(node.value, dict) else {}


def _default(settings: Any, name: str) -> Any:
    """The default of a setting; "none" is always worth a remark where something else has no effect."""
    if name in ("critic", "reference"):
        return "none"
    return next(field.default for field in dataclasses.fields(settings) if field.name == name)
