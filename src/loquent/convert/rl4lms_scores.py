"""The rewards and metrics of an RL4LMs file.

Each has a counterpart by a table; an option of a reward without one is a changed objective.

RL4LMs reads the references of METEOR, and of ROUGE with `use_single_ref: False`, as one text (`str(list)`).
Its formulas are taken over and such mistakes are not; a note names the option `legacy` that repeats them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loquent.convert.source import Source
from loquent.core import registry
from loquent.core.options import Node, options_of
from loquent.errors import BadSetting, UnknownName

INTENTS = "rajkumarrrk/roberta-daily-dialog-intent-classifier"  # the classifier that the library itself names
ENCODERS = {
    "en": "roberta-large",
    "de": "bert-base-multilingual-cased",
    "zh": "bert-base-chinese",
}  # bert-score's choice by language
KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
STRINGIFIED = (
    "references are read one by one; RL4LMs reads the list of them as one text, as legacy: true does"
)
LOOSE = "legacy: true repeats what RL4LMs counts beyond that: "
COEFFICIENTS = {
    "intent_accuracy": {"intent_coeff": "intent_accuracy", "auto_coeff": "meteor"},
    "spider": {"spice_coeff": "spice", "cider_coeff": "cider"},
}


@dataclass(frozen=True)
class Score:
    """A counterpart: its name here, its options by their names there, and what both sides have in common.

    Attributes:
        fixed: options here that say what is so there without an option.
        always: options there whose value is fixed here; True stands for whatever Python takes for true.
        free: options there that do not touch the score, with the reason.
        remark: how the two differ.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    free: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


CLASSIFIED = Score(
    "sentiment",
    {"model_name": "classifier", "label_ix": "label", "include_prompt_for_eval": "include_prompt"},
    free={"batch_size": "texts are batched by length"},
)
SCORES = {
    "learned_reward": CLASSIFIED,
    "meteor": Score("meteor", remark=STRINGIFIED),
    "rouge": Score("rouge", {"use_single_ref": "references"}, {"references": "first"}),
    "rouge_combined": Score("rouge", fixed={"references": "first"}),
    "rouge_l_max": Score(
        "rouge_l_max",
        {"length_limit": "limit", "alpha": "alpha", "weight_factor": "root", "stemming": "stem"},
        always={"limit_length": True, "length_limit_type": "words", "apply_avg": True, "apply_best": True},
        free={"max_n": "n-grams are not in ROUGE-L", "metrics": "ROUGE-L alone is computed"},
    ),
    "bleu": Score("bleu", fixed={"tokenizer": "whitespace"}),
    "sacre_bleu": Score("sacrebleu"),
    "bert_score": Score("bert_score", {"language": "path"}, {"path": ENCODERS["en"]}),
    "increasing_numbers": Score("increasing_numbers", remark=f"{LOOSE}'nan' and 'inf' as numbers"),
    "sentences_with_dates": Score("dates", remark=f"{LOOSE}dates with further digits before or behind them"),
    "dates": Score("dates", remark=f"{LOOSE}dates with further digits before or behind them"),
    "intent_accuracy": Score(
        "intent_accuracy", fixed={"path": INTENTS}, remark="separator: '' asks the classifier as RL4LMs does"
    ),
    "diversity": Score("diversity", {"window_size": "window"}),
    "causal_perplexity": Score(
        "perplexity",
        {"use_text_from_meta_data": "field"},
        {"stride": 512},
        free={
            "tokenizer_id": "the policy's own tokenizer is used",
            "model_type": "the policy's own kind is used",
        },
    ),
    "parent": Score("parent"),
    "parent_totto": Score("parent"),
    "summaCZS": Score("summac_zs"),
    "summaCConv": Score("summac_conv"),
}
NEEDED = {
    "spice": ("jar",)
}  # options with a default of their own, without which nothing can be measured on most machines
NO_REWARD = ("perplexity", "diversity")  # they score no single answer


def rewards(source: Source) -> dict[str, Any]:
    """`reward_fn` as the terms of `rewards`.

    Where it has no counterpart, the notes say that the objective is changed.
    """
    made: dict[str, Any] = {}
    if source.node("reward_fn") is not None:
        name = source.get("reward_fn.id", str)
        if name == "intent_accuracy":
            made = _intent(source)
        elif name == "spider":
            source.missing(
                "reward_fn.id",
                "rewards.spice.jar",
                "SPICE needs Java and its official jar, named here or in the cache",
            )
            made = _summed(source, name, "")
        else:
            made = _term(source, name)
        for rest in _inside(source, "reward_fn.args"):
            source.changed(f"reward_fn.args.{rest}", f"{name} has no such option here")
    return made


def metrics(source: Source) -> dict[str, Any]:
    """`train_evaluation.metrics`; what has no counterpart is left out with its reason."""
    made: dict[str, Any] = {}
    for number in range(len(source.get("train_evaluation.metrics", list, []))):
        key = f"train_evaluation.metrics[{number}]"
        name = source.get(f"{key}.id", str)
        score = SCORES.get(name, Score(name))
        if score.name not in registry.names("metric"):
            source.left(key, f"there is no metric {name!r} here; loquent list metrics shows what there is")
        elif needed := _needed("metric", score):
            source.left(key, f"{score.name} needs {needed}, which is not said there; name it in the recipe")
        else:
            options = _options(source, f"{key}.args", "metric", score, source.left)
            own = _own_name(score.name, options, made)
            if own in made:
                source.left(f"{key}.id", f"{score.name} stands in the list twice, with the same options")
            else:
                made[own] = options if own == score.name else {"of": score.name, **options}
            source.taken(f"{key}.id", f"metrics.{own}", score.remark)
            for rest in _inside(source, f"{key}.args"):
                source.left(f"{key}.args.{rest}", f"{score.name} has no such option here")
            if not _inside(source, f"{key}.args"):
                source.same(f"{key}.args")
    if not source.get("train_evaluation.metrics", list, []):
        source.same("train_evaluation.metrics")
    return made


def _own_name(name: str, options: dict[str, Any], made: Mapping[str, Any]) -> str:
    """The name of a metric in the recipe: its own, or NAME_2 and so on behind one with other options.

    That of its equal where there is one.
    """
    own, number = name, 1
    while own in made and {"of": name, **made[own]} != {"of": name, **options}:
        own, number = f"{name}_{number + 1}", number + 1
    return own


def _term(source: Source, name: str) -> dict[str, Any]:
    """A reward that is one term here."""
    score = SCORES.get(name, Score(name))
    kind = "reward" if score.name in registry.names("reward") else "metric"
    if score.name not in registry.names(kind) or score.name in NO_REWARD:
        source.changed(
            "reward_fn",
            f"there is no reward {name!r} here, and without a reward nothing but the KL penalty is "
            "learned. loquent list rewards shows what there is",
        )
        return {}
    if needed := _needed(kind, score):
        source.changed(
            "reward_fn", f"{score.name} needs {needed}, which is not said there; name it in the recipe"
        )
        return {}
    made: dict[str, Any] = {"weight": 1.0}
    if name == "rouge":
        made["key"] = f"rouge/{_rouge(source)}"
    source.taken("reward_fn.id", f"rewards.{score.name}", score.remark)
    _shaping(source)
    return {score.name: made | _options(source, "reward_fn.args", kind, score, source.changed)}


def _rouge(source: Source) -> str:
    """Which ROUGE is the reward."""
    key = "reward_fn.args.rouge_type"
    kind = source.get(key, str)
    if kind not in KINDS:
        found = source.node(key)
        raise BadSetting(
            f"{found.place if found else source.root.file}: {UnknownName('ROUGE of RL4LMs', kind, KINDS)}"
        )
    source.taken(key, "rewards.rouge.key")
    return kind


def _intent(source: Source) -> dict[str, Any]:
    """The accuracy of intents and, unless `shape` is false, METEOR beside it, each with its coefficient."""
    shaped = source.get("reward_fn.args.shape", bool, True)
    made = _summed(source, "intent_accuracy", f"{SCORES['intent_accuracy'].remark}; {STRINGIFIED}")
    made["intent_accuracy"]["path"] = INTENTS
    if not shaped:
        del made["meteor"]
    source.taken("reward_fn.args.shape", "rewards.meteor")
    return made


def _summed(source: Source, name: str, remark: str) -> dict[str, Any]:
    """A reward that is a weighted sum of two scores."""
    made: dict[str, Any] = {}
    for coefficient, ours in COEFFICIENTS[name].items():
        key = f"reward_fn.args.{coefficient}"
        made[ours] = {"weight": source.get(key, float, 1.0)}
        source.taken(key, f"rewards.{ours}.weight")
    source.taken("reward_fn.id", ", ".join(f"rewards.{ours}" for ours in made), remark)
    _shaping(source)
    return made


def _shaping(source: Source) -> None:
    """A function that is added to the reward there; none of them is here."""
    key = "reward_fn.args.shaping_fn"
    shaping = source.get(key, str, None)
    if shaping is None:
        source.same(key)
    else:
        source.changed(
            key,
            f"{shaping} is not added to the reward: it is not here; a function of yours may be a "
            "second reward (of: module:function)",
        )


def _needed(kind: str, score: Score) -> str:
    """The options without which it cannot be made, and that no file of RL4LMs has, as words."""
    schema = options_of(registry.find(kind, score.name))
    bare = (
        [one.name for one in dataclasses.fields(schema) if one.default is dataclasses.MISSING]
        if schema
        else []
    )
    return ", ".join((*(name for name in bare if name not in score.fixed), *NEEDED.get(score.name, ())))


def _options(
    source: Source, key: str, kind: str, score: Score, other: Callable[[str, str], None]
) -> dict[str, Any]:
    """The options under `key` by our names; `other` notes one whose value cannot be had here."""
    schema = options_of(registry.find(kind, score.name))
    known = {one.name for one in dataclasses.fields(schema)} if schema else set()
    made = dict(score.fixed)
    for name, node in _inside(source, key).items():
        own, place = score.options.get(name, name), f"{key}.{name}"
        if name in score.free:
            source.left(place, score.free[name])
        elif name in score.always:
            if (bool(node.value) if score.always[name] is True else node.value) != score.always[name]:
                other(place, f"{score.name} is computed as with {name}: {score.always[name]}")
            source.same(place)
        elif node.value is None:
            source.same(place)
        elif own in known:
            value, why = _value(name, node.bare())
            if value is None:
                other(place, why)
            else:
                made[own] = value
                source.taken(place, f"{kind}s.{score.name}.{own}", why)
    return made


def _value(name: str, given: Any) -> tuple[Any, str]:
    """The value of an option as we have it, and what is to be said of it.

    None where there is no such value here.
    """
    if name == "use_single_ref":
        return ("first", "") if given else ("best", STRINGIFIED)
    if name == "use_text_from_meta_data":
        return "text" if given else "", ""
    if name == "language":
        known = ENCODERS.get(given) if isinstance(given, str) else None
        return (
            known,
            "" if known else f"no encoder is known here for the language {given!r}: name one by path",
        )
    return given, ""


def _inside(source: Source, key: str) -> dict[str, Node]:
    """The options under `key` of which nothing has been said."""
    found = source.node(key)
    inside: Mapping[str, Node] = found.mapping(key) if found is not None and found.value is not None else {}
    return {name: node for name, node in inside.items() if f"{key}.{name}" not in source.seen}
