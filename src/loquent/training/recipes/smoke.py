"""The profile "smoke": overrides that make a run tiny and independent of other runs, networks and files."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Mapping
from typing import Any

from loquent.core import registry
from loquent.core.catalogue import DEFAULT_TASK
from loquent.core.options import Node, from_values, tree
from loquent.core.settings import Remark
from loquent.errors import BadSetting
from loquent.metrics.making import declared_trait
from loquent.training.recipes import kinds, scores
from loquent.training.recipes.overrides import PROFILE, Override, Overrides, override, path_of

Sections = Mapping[str, Mapping[str, Node]]

SMOKE = (
    "training.updates=2",
    "training.episodes=4",
    "training.evaluate_every=0",
    "training.stop_metric=",
    "training.evaluate_episodes=4",
    "training.final_episodes=4",
    "decoding.max_new_tokens=8",
    "decoding.min_new_tokens=0",
    "model.path=",  # the run that a recipe starts from may not exist yet
    "model.revision=",
    "model.lora.rank=0",  # adapters need an existing model
    "model.format=auto",  # a tokenizer that is trained here has no markers of others
    "model.layers=1",
    "model.width=32",
    "model.heads=2",
    "model.vocabulary=300",
    "model.context=1024",  # a small vocabulary cuts texts into many tokens
    "model.tokenizer_texts=200",
)
SHORT = {"max_new_tokens": 8, "min_new_tokens": 0}
# in place of recorded episodes, which may not be collected yet
PLAYED = (
    "training.data=",
    "training.data_top=1.0",
    "training.data_bottom=1.0",
    "training.data_cutoff=none",
    "training.data_question=",
    "training.teacher=random",
    "training.answers=2",  # of learners that compare the answers to a row
)
BUILT_IN_COLUMNS = (("columns", "{}"), ("text_field", "text"), ("label_field", ""), ("labels", "[]"))
DEFAULTS_OF_CLASSIFIER = {"classifier": "", "label": 1, "revision": ""}


def overrides_of(profile: str | None, root: Node, overrides: Overrides) -> Overrides:
    """The overrides of the profile "smoke" for this recipe; none for another profile.

    They also shorten the recipe's own evaluation and replace what may be absent here: its
    reference model, its rows, its classifiers and its recorded episodes.
    """
    if profile != "smoke":
        return ()
    sections = {name: node.value for name, node in root.value.items() if isinstance(node.value, dict)}
    texts = [
        f"evaluation.{name}={value}"
        for name, value in SHORT.items()
        if name in sections.get("evaluation", {})
    ]
    reference = sections.get("model", {}).get("reference")
    if reference and reference.value not in ("copy", "none"):
        texts.append("model.reference=copy")
    if "data" in sections.get("training", {}) and not any(
        path_of(item) == "training.data" for item in overrides
    ):
        texts += PLAYED
    if "answers" in sections.get("training", {}):
        texts.append("training.answers=2")  # of 4 episodes
    algorithm = sections.get("algorithm", {})
    if "kind" in algorithm and algorithm["kind"].value == "filtered_cloning":
        texts.append("algorithm.top=1.0")  # a small share of a few episodes is empty
    texts += _networks(algorithm)
    rows = _rows(sections, overrides)
    small = _algorithm(override(copy.deepcopy(root), overrides))
    dataset = sections.get("task", {}).get("dataset")
    builtin = {"dataset": dataset.value} if dataset else {}
    return (*SMOKE, *texts, *small, *rows, *_scores(sections, builtin if rows else None))


def _rows(sections: Sections, overrides: Overrides) -> list[str]:
    """Overrides that use the built-in reviews in place of a hub dataset or of an absent file or folder.

    A remark says so for a file or folder.
    """
    task = sections.get("task", {})
    kind, source, path = (task[name].value if name in task else None for name in ("kind", "source", "path"))
    absent = kind == DEFAULT_TASK and source == "path" and not _exists(path)
    if not (source == "hub" or absent) or any(
        path_of(item) in ("task.path", "task.source") for item in overrides
    ):
        return []
    if absent:
        message = f"there is no file or folder {path}; the profile smoke takes built-in rows in its place"
        warnings.warn(f"{task['source'].place}: task.path: {message}", Remark, stacklevel=4)
    texts = [
        "task.source=builtin",
        *(f"task.{name}=" for name in ("path", "name", "revision", "subset") if name in task),
    ]
    if kind == DEFAULT_TASK:  # the built-in rows have their own columns
        texts += [f"task.{name}={value}" for name, value in BUILT_IN_COLUMNS if name in task]
        texts += ["training.only={}"] if "only" in sections.get("training", {}) else []
    return texts


def _networks(algorithm: Mapping[str, Node]) -> list[str]:
    """Overrides that put small new networks in place of the pretrained ones of an algorithm."""
    texts = []
    if "path" in algorithm and "network" in algorithm:
        texts += ["algorithm.path=", "algorithm.network=patches"]
    features = algorithm["features"].value if "features" in algorithm else None
    if isinstance(features, dict) and "model" in features:
        texts.append("algorithm.features={}")
    return texts


def _scores(sections: Sections, builtin: Mapping[str, Any] | None) -> list[Override]:
    """Overrides of rewards and metrics that need absent networks, programs or fields of rows, or a judge.

    They get their default classifier, or the metric `lexicon` replaces them.

    Args:
        builtin: the task's options with built-in rows; None if the rows are the recipe's own.
    """
    found: list[Override] = []
    for section in ("rewards", "metrics"):
        for name, node in sections.get(section, {}).items():
            options = node.value if isinstance(node.value, dict) else {}
            of = options["of"].value if "of" in options else name
            absent = any(key in options and not _exists(options[key].value) for key in ("path", "jar"))
            absent = absent or "judge" in options  # a folder that may be absent, or an endpoint
            if "classifier" in options:
                found += [
                    Override((section, name, key), tree(value, PROFILE, None))
                    for key, value in DEFAULTS_OF_CLASSIFIER.items()
                    if key in options
                ]
            elif isinstance(of, str) and ":" not in of and (absent or _lacks(of, builtin)):
                _check(section, name, node)
                weight = {"weight": options["weight"]} if "weight" in options else {}
                lexicon = {"of": tree("lexicon", PROFILE, None), **weight}
                found.append(Override((section, name), Node(lexicon, PROFILE, None)))
    return found


def _lacks(of: str, builtin: Mapping[str, Any] | None) -> bool:
    """Whether the built-in rows do not have a field that a registered metric needs."""
    needs = declared_trait(of, "needs", ()) if of in registry.names("metric") else ()
    if builtin is None or not needs:
        return False
    try:
        options = from_values(kinds.options_of_task(DEFAULT_TASK), builtin, "task")
    except BadSetting:  # reported when the recipe is built
        return False
    rows = registry.find("task", DEFAULT_TASK)(options).rows("train")
    return not set(needs) <= rows[0].fields.keys()


def _check(section: str, name: str, node: Node) -> None:
    """Raise BadSetting for a wrong reward or metric, which an override is about to hide."""
    alone = Node({name: node}, node.file, node.line)
    if section == "rewards":
        scores.rewards(alone, DEFAULT_TASK, kinds.options_of_task(DEFAULT_TASK)())
    else:
        scores.metrics(alone, DEFAULT_TASK, None, False)


def _exists(path: Any) -> bool:
    return isinstance(path, str) and os.path.exists(os.path.expanduser(path))


def _algorithm(root: Node) -> list[str]:
    """The overrides with which the algorithm's class makes itself small.

    None for a wrong name, which is reported when the recipe is built.
    """
    node = root.value.get("algorithm")
    kind = node.value.get("kind") if node and isinstance(node.value, dict) else node
    name = kind.value if kind is not None else None
    if not isinstance(name, str) or not (":" in name or name in registry.names("algorithm")):
        return []
    try:
        return list(kinds.algorithm_class(name).smoke)
    except BadSetting:
        return []
