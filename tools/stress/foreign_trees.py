"""Recipes, suites and data of `foreign_files`, and the names of code, secrets and servers that it hides."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

BAIT, SECRET, PROGRAM = "loquent_bait", "LOQUENT_BAIT_KEY", "./loquent_bait_program"
SERVER = "http://127.0.0.1:9/v1"
CODE = (
    f"{BAIT}:s", f"{BAIT}.inner:s", f" {BAIT}:s", f"{BAIT}:s ", f"{BAIT}:s #", f"{BAIT}:s\n", "this:s",
    f"[{BAIT}:s]", f"{{kind: {BAIT}:s}}", f"'{BAIT}:s'", f"{BAIT}:s}}", f"1, of: {BAIT}:s", f"!!str {BAIT}:s",
)  # fmt: skip
HTTP = {"kind": "http", "base_url": SERVER, "model": "m", "api_key_variable": SECRET, "retries": 0}
VOTES = {"kind": "comments/remote", "model": "m", "url": SERVER, "api_key_variable": SECRET, "retries": 0}
ASKED = {"kind": "dialogue/remote", "model": "m", "api_key_variable": SECRET, "retries": 0}
VALUES: tuple[Any, ...] = (
    *CODE, {"kind": f"{BAIT}:s"}, {"of": f"{BAIT}:s"}, {"of": f"{BAIT}:s", "z": 1}, [f"{BAIT}:s"],
    {"of": "callable", "function": f"{BAIT}:s"}, {f"{BAIT}:s": 1}, {f"{BAIT}:s": {}}, HTTP, ASKED,
    {**ASKED, "url": SERVER}, VOTES,
    {"of": "spice", "jar": PROGRAM, "java": PROGRAM}, {"kind": "wordle/mixture", "first": HTTP},
    {"of": "classifier", "path": "/absent"}, {"of": "bleu_totto"}, SECRET, SERVER, PROGRAM, 1, None, "",
)  # fmt: skip
PATHS = (
    "algorithm.kind", "algorithm", "algorithm.view", "algorithm.features", "algorithm.features.kind", "task",
    "task.kind", "task.reward", "task.answerer", "task.judge", "task.moderator", "task.voter", "rewards",
   "rewards.x", "rewards.x.of", "rewards.x.function", "metrics", "metrics.x", "metrics.x.of",
    "training.teacher", "training.teacher.kind", "training.teacher.api_key_variable", "training.trackers",
    "training.data", "model.path", "model.format", "decoding", "evaluation", "profiles", "base", "name",
    "kind", "of", "function", "reward", "agent", "set", "at", "data", "optimum", "jar", "java", "view",
)  # fmt: skip
PIECES = (".", "kind", "=", "#", " ", "{", "}", ":", "\n", "'", "[", "]", ",", "of", f"{BAIT}:s", *PATHS)
TINY = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 300, "tokenizer_texts": 20, "context": 128}
RUN = {"updates": 1, "episodes": 2, "evaluate_every": 0, "final_episodes": 2}
RECIPES: tuple[dict[str, Any], ...] = (
    {
        "task": {"kind": "generation", "limit": 4},
        "model": TINY,
        "rewards": {"lexicon": 1.0, "x": {"of": "rouge", "key": "rouge/rouge1"}},
        "metrics": {"rouge": {}},
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "ppo", "minibatch": 2, "epochs": 1},
        "training": RUN,
    },
    {
        "task": {"kind": "tagging", "limit": 4, "reward": "token_f1"},
        "algorithm": {"kind": "sb3/ppo", "steps": 4, "rollout": 4, "minibatch": 2, "network": [4]},
        "training": RUN,
    },
    {
        "task": {"kind": "wordle", "limit": 4},
        "model": TINY,
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "cloning"},
        "training": {**RUN, "teacher": {"kind": "wordle/random_mixture", "prob_smart": 0.5}},
    },
    {
        "task": {"kind": "dialogue", "limit": 4, "answerer": "dialogue/truthful"},
        "model": TINY,
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "ppo", "minibatch": 2, "epochs": 1},
        "training": RUN,
    },
    {
        "task": {"kind": "comments", "limit": 4, "moderator": "comments/rules"},
        "model": TINY,
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "supervised"},
        "training": RUN,
    },
)
SUITE: dict[str, Any] = {
    "columns": {"return": {"metric": "return", "better": "higher"}},
    "set": {"training.updates": 1},
    "profiles": {"full": {"set": {"any": {"training.episodes": 2}}, "data": {"d": {"episodes": 2}}}},
    "stages": {"s": {"recipe": "theirs.yaml"}},
    "cells": {
        "a": {"recipe": "theirs.yaml", "set": {"training.seed": 1}, "at": {"full": {"training.seed": 2}}},
        "b": {"recipe": "theirs.yaml", "agent": {"kind": "random"}},
        "c": {
            "recipe": "wordle_bc",
            "set": {"task.limit": 4, "training.data": "<d>", "training.teacher": ""},
        },
    },
    "data": {"d": {"agent": "random", "design": {"kind": "games"}}},
    "optimum": "wordle/optimal",
}
RL4LMS: dict[str, Any] = {
    "tokenizer": {"model_name": "gpt2"},
    "datapool": {"id": "imdb", "args": {"seed": 1}},
    "reward_fn": {"id": "rouge", "args": {"rouge_type": "rouge1"}},
    "alg": {
        "id": "ppo",
        "policy": {"id": "causal_lm_actor_critic_policy", "args": {"model_name": "gpt2"}},
    },
    "train_evaluation": {
        "n_iters": 1,
        "metrics": [{"id": "meteor", "args": {}}, {"id": "spice", "args": {}}],
    },
}
TURN = {"seat": "agent", "text": "crane", "rewards": {"turn": -1.0}}
EPISODE = {
    "task": "wordle-v1",
    "row": "crane",
    "split": "train",
    "seed": 0,
    "turns": [TURN],
    "ended": "limit",
}
LINES: dict[str, Any] = {
    "text": "a fine film", "references": ["a good film"], "prompt": "a", "chosen": "good", "rejected": "bad",
    "rater": "r", "item": "i", "system": "s", "rating": 3, "tokens": ["a"], "labels": ["O"], "id": "x",
}  # fmt: skip
COLLECTED = {
    "task": "comments", "options": ["limit=4", "task.moderator=comments/rules"], "identity": "comments-v1",
    "agent": "random", "episodes": 1, "split": "train", "seed": 0, "version": "0", "weights": {"turn": 1.0},
}  # fmt: skip


def poisoned(tree: Any, draw: random.Random) -> Any:
    """A copy of a tree with names of code, secrets and servers in one to three places."""
    whole = json.loads(json.dumps(tree))
    for _ in range(draw.choice((1, 1, 1, 2))):
        places = list(_places(whole))
        mapping, key = draw.choice(places)
        way = draw.randrange(4)
        if way == 0 and isinstance(mapping, dict):
            mapping[drawn_key(draw)] = mapping.pop(key)
        elif way == 1 and isinstance(mapping, dict):
            mapping[drawn_key(draw)] = drawn_value(draw)
        elif way == 2 and isinstance(mapping[key], dict):
            mapping[key][drawn_key(draw)] = drawn_value(draw)
        else:
            mapping[key] = drawn_value(draw)
    return whole


def apt(tree: dict[str, Any], draw: random.Random) -> tuple[str, Any]:
    """A setting of a recipe that would reach out if it were used, by its dotted path."""
    code = draw.choice(CODE) if draw.random() < 0.25 else CODE[0]
    task, algorithm = tree["task"]["kind"], tree["algorithm"]["kind"]
    choices: list[tuple[str, Any]] = [
        ("task", {"kind": code}), ("task.kind", code), ("algorithm", {"kind": code}),
        ("algorithm.kind", code),
        ("rewards", {code: 1}), ("rewards.x", {"of": code, "z": 1}), (f"rewards.{code}", {"z": 1}),
        ("rewards.x", {"of": "callable", "function": code}), ("metrics.x", {"of": code, "z": 1}),
        ("metrics", {code: {"z": 1}}),
    ]  # fmt: skip
    own: dict[str, list[tuple[str, Any]]] = {
        "tagging": [("task.reward", code)],
        "dialogue": [("task.answerer", ASKED), ("task.judge", {**ASKED, "url": SERVER})],
        "comments": [("task.moderator", VOTES), ("task.voter", {"kind": code})],
        "cloning": [("training.teacher", one) for one in (HTTP, code, {"kind": code})],
        "sb3/ppo": [("algorithm.view", code), ("algorithm.features", {"kind": code})],
    }
    choices += 3 * (own.get(task, []) + own.get(algorithm, []))
    return copy.deepcopy(draw.choice(choices))


def with_setting(tree: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a tree with a setting."""
    whole = inner = copy.deepcopy(tree)
    *sections, name = path.split(".") if BAIT not in path else path.split(".", 1)
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[name] = value
    return whole


def hidden(draw: random.Random) -> dict[str, Any]:
    """A score whose name is a setting in the syntax of a command line."""
    name = f"x={{of: callable, function: '{BAIT}:s'}} #"
    return {name: draw.choice(({"of": "classifier", "path": "/absent"}, {"of": "bleu_totto"}))}


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def drawn_value(draw: random.Random) -> Any:
    return copy.deepcopy(draw.choice(VALUES))  # it may be changed in its new place


def drawn_key(draw: random.Random) -> str:
    way, path, code = draw.randrange(5), draw.choice(PATHS), draw.choice(CODE)
    if way == 0:
        return f"{path}={code} #"
    if way == 1:
        return draw.choice((f"{path}.{code}", f"x={{of: callable, function: {code}}} #", code, f" {path}"))
    if way == 2:
        return "".join(draw.choices(PIECES, k=draw.randint(1, 6)))
    return path
