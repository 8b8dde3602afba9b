"""The rewards and metrics of an RL4LMs file.

A table gives the counterpart of each. An option of a reward that has no counterpart changes the objective.

RL4LMs reads the references of METEOR, and of ROUGE with `use_single_ref: False`, as one text (`str(list)`).
The conversion keeps its formulas but not such mistakes; a note names the option `legacy` that repeats them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from loquent.cli.convert.source import Source
from loquent.cli.convert.tables import TABLES, WHY, Score
from loquent.core import registry
from loquent.core.options import Node, options_of
from loquent.errors import BadSetting, UnknownName

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
SCORES = TABLES.scores
STRINGIFIED = SCORES["meteor"].remark
NEEDED = {"spice": ("jar",)}  # options that have a default, but that most machines need
NO_REWARD = ("perplexity", "diversity")  # metrics that do not score a single answer


def rewards(source: Source) -> dict[str, Any]:
    """`reward_fn` as the terms of `rewards`.

    If it has no counterpart, a note says that the objective is changed.
    """
    terms: dict[str, Any] = {}
    if source.node("reward_fn") is not None:
        name = source.get("reward_fn.id", str)
        if name == "intent_accuracy":
            terms = _intent(source)
        elif name == "spider":
            source.missing("reward_fn.id", "rewards.spice.jar", WHY["reward_fn.spider"])
            terms = _summed(source, name, "")
        else:
            if name == "common_gen_preference_model":
                source.missing("reward_fn.id", "rewards.concept_preference.path", WHY[f"reward_fn.{name}"])
            terms = _term(source, name)
        for option in _open_options(source, "reward_fn.args"):
            source.note_change(f"reward_fn.args.{option}", f"{name} has no such option in Loquent")
    return terms


def metrics(source: Source) -> dict[str, Any]:
    """`train_evaluation.metrics`; a metric without a counterpart is left out, with a note of the reason."""
    section: dict[str, Any] = {}
    count = len(source.get("train_evaluation.metrics", list, []))
    for number in range(count):
        _add_metric(source, f"train_evaluation.metrics[{number}]", section)
    if not count:
        source.same("train_evaluation.metrics")
    return section


def _add_metric(source: Source, key: str, section: dict[str, Any]) -> None:
    """Put the metric at `key` into the metrics of the recipe, or note why it has no counterpart."""
    name = source.get(f"{key}.id", str)
    score = SCORES.get(name, Score(name))
    if score.name not in registry.names("metric"):
        source.note_left(key, f"Loquent has no metric {name!r}; `loquent list metrics` shows its metrics")
        return
    if needed := _needed("metric", score):
        source.note_left(
            key, f"{score.name} needs {needed}, which the file does not give; name it in the recipe"
        )
        return
    options = _options(source, f"{key}.args", "metric", score, source.note_left)
    if score.name == "perplexity" and source.get("datapool.id", str) == "imdb":
        options["field"] = "text"  # whose references are whole reviews
    name_in_recipe = _free_name(score.name, options, section)
    if name_in_recipe in section:
        source.note_left(f"{key}.id", f"{score.name} is in the list twice, with the same options")
    else:
        same_name = name_in_recipe == score.name
        section[name_in_recipe] = options if same_name else {"of": score.name, **options}
    source.note_taken(f"{key}.id", f"metrics.{name_in_recipe}", score.remark)
    for option in _open_options(source, f"{key}.args"):
        source.note_left(f"{key}.args.{option}", f"{score.name} has no such option in Loquent")


def _free_name(name: str, options: dict[str, Any], section: Mapping[str, Any]) -> str:
    """The name of a metric in the recipe: its own name, or NAME_2 and so on if that has other options.

    If an equal metric is in `section` already, the name of that one.
    """
    free, number = name, 1
    while free in section and {"of": name, **section[free]} != {"of": name, **options}:
        free, number = f"{name}_{number + 1}", number + 1
    return free


def _term(source: Source, name: str) -> dict[str, Any]:
    """A reward that is one term in the recipe."""
    score = SCORES.get(name, Score(name))
    kind = "reward" if score.name in registry.names("reward") else "metric"
    if score.name not in registry.names(kind) or score.name in NO_REWARD:
        source.note_change(
            "reward_fn",
            f"there is no reward {name!r} in Loquent, and without a reward nothing but the KL penalty is "
            "learned; `loquent list rewards` shows its rewards",
        )
        return {}
    if needed := _needed(kind, score):
        why = f"{score.name} needs {needed}, which the file does not give; name it in the recipe"
        source.note_change("reward_fn", why)
        return {}
    term: dict[str, Any] = {"weight": 1.0}
    if name == "rouge":
        term["key"] = f"rouge/{_rouge(source)}"
    source.note_taken("reward_fn.id", f"rewards.{score.name}", score.remark)
    _shaping(source)
    return {score.name: term | _options(source, "reward_fn.args", kind, score, source.note_change)}


def _rouge(source: Source) -> str:
    """The kind of ROUGE that is the reward."""
    key = "reward_fn.args.rouge_type"
    kind: str = source.get(key, str)
    if kind not in KINDS:
        raise BadSetting(f"{source.place(key)}: {UnknownName('ROUGE of RL4LMs', kind, KINDS)}")
    source.note_taken(key, "rewards.rouge.key")
    return kind


def _intent(source: Source) -> dict[str, Any]:
    """The accuracy of intents and, unless `shape` is false, METEOR, each with its coefficient."""
    shaped = source.get("reward_fn.args.shape", bool, True)
    terms = _summed(source, "intent_accuracy", WHY["reward_fn.intent_accuracy"])
    terms["intent_accuracy"] |= SCORES["intent_accuracy"].fixed
    if not shaped:
        del terms["meteor"]
    source.note_taken("reward_fn.args.shape", "rewards.meteor")
    return terms


def _summed(source: Source, name: str, remark: str) -> dict[str, Any]:
    """A reward that is a weighted sum of two scores."""
    terms: dict[str, Any] = {}
    for coefficient, term in TABLES.sums[name].items():
        key = f"reward_fn.args.{coefficient}"
        terms[term] = {"weight": source.get(key, float, 1.0)}
        source.note_taken(key, f"rewards.{term}.weight")
    source.note_taken("reward_fn.id", ", ".join(f"rewards.{term}" for term in terms), remark)
    _shaping(source)
    return terms


def _shaping(source: Source) -> None:
    """Note a function that RL4LMs adds to the reward; Loquent has none of them."""
    key = "reward_fn.args.shaping_fn"
    shaping = source.get(key, str, None)
    if shaping is None:
        source.same(key)
    else:
        source.note_change(
            key,
            f"{shaping} is not added to the reward, because Loquent does not have it; a function of yours "
            "may be a second reward (of: module:function)",
        )


def _needed(kind: str, score: Score) -> str:
    """The options that a score needs and that no file of RL4LMs has, joined by commas."""
    schema = options_of(registry.find(kind, score.name))
    fields = dataclasses.fields(schema) if schema else ()
    required = [option.name for option in fields if option.default is dataclasses.MISSING]
    return ", ".join((*(name for name in required if name not in score.fixed), *NEEDED.get(score.name, ())))


def _options(
    source: Source, key: str, kind: str, score: Score, refuse: Callable[[str, str], None]
) -> dict[str, Any]:
    """The options under `key` by Loquent's names; `refuse` notes a value that Loquent does not have."""
    schema = options_of(registry.find(kind, score.name))
    known = {option.name for option in dataclasses.fields(schema)} if schema else set()
    options = dict(score.fixed)
    for name, node in _open_options(source, key).items():
        option, place = score.options.get(name, name), f"{key}.{name}"
        if name in score.free:
            source.note_left(place, score.free[name])
        elif name in score.always:
            if (bool(node.value) if score.always[name] is True else node.value) != score.always[name]:
                refuse(place, f"{score.name} is computed as with {name}: {score.always[name]}")
            source.same(place)
        elif node.value is None:
            source.same(place)
        elif option in known:
            value, remark = _value(name, node.bare())
            if value is None:
                refuse(place, remark)
            else:
                options[option] = value
                source.note_taken(place, f"{kind}s.{score.name}.{option}", remark)
    return options


def _value(name: str, value: Any) -> tuple[Any, str]:
    """Loquent's value of an option of RL4LMs, and a remark on it; None if Loquent has no such value."""
    if name == "use_single_ref":
        return ("first", "") if value else ("best", STRINGIFIED)
    if name == "use_text_from_meta_data":
        return "text" if value else "", ""
    if name == "language":
        encoder = TABLES.encoders.get(value) if isinstance(value, str) else None
        remark = f"no encoder is known for the language {value!r}; name one with the option path"
        return encoder, "" if encoder else remark
    return value, ""


def _open_options(source: Source, key: str) -> dict[str, Node]:
    """The options under `key` that have no note yet."""
    node = source.node(key)
    items: Mapping[str, Node] = node.mapping(key) if node is not None and node.value is not None else {}
    return {name: item for name, item in items.items() if f"{key}.{name}" not in source.noted}
