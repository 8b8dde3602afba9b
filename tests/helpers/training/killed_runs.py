"""Small runs of learners of language models, to kill and to resume: their recipes, and moments."""

import json
import random

from helpers import killed

WORDS = ("the a good bad poor fine film plot was is and ever never dull bright scene").split()  # noqa: SIM905
SMALL = {
    "task": {"kind": "generation", "source": "path", "prompt_words": 5},
    "model": {"layers": 1, "width": 16, "heads": 2, "vocabulary": 300, "tokenizer_texts": 100, "context": 128,
        "dropout": 0.1},
    "rewards": {"lexicon": 1.0, "length": {"weight": 0.1, "high": 3}},
    "metrics": {"perplexity": {}},
    "decoding": {"max_new_tokens": 5},
    "training": {
        "updates": 20, "episodes": 6, "evaluate_every": 4, "evaluate_episodes": 4, "final_episodes": 4,
        "checkpoint_every": 1,
        "stop_metric": "perplexity", "patience": 99,
    },
}  # fmt: skip
NORMALISED = {
    "lexicon": {"weight": 1.0, "place": "token", "normalization": "running"},
    "length": {"weight": 0.1, "high": 1, "normalization": "running"},
    "shape": {"of": "length", "low": 4, "weight": 0.1, "potential": True, "place": "token"},
}  # fmt: skip
LEARNERS = {
    "supervised": {
        "learning_rate": 0.01,
        "minibatch": 3,
        "schedule": "cosine",
        "warmup": 2,
        "total_steps": 60,
    },
    "ppo": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "beta": 0.1,
        "kl_target": 0.01,
        "schedule": "linear",
        "total_steps": 200,
        "critic_learning_rate": 0.006,
        "critic_schedule": "cosine",
        "critic_rate_warmup": 9,
    },
    "nlpo": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "beta": 0.1,
        "kl_target": 0.01,
        "top_p": 0.6,
        "mu": 2,
    },
    "ilql": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "awac_beta": 0.5,
        "cql_weight": 0.1,
        "target_rate": 0.1,
        "adv_beta": 2.0,
    },
    "ilql_utterance": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "awac_beta": 0.5,
        "target_rate": 0.1,
        "best_of": 2,
    },
    "decision_transformer": {"minibatch": 3, "learning_rate": 0.01, "wanted_return": 2.0},
    "chai": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "candidates": 2,
        "target_rate": 0.1,
        "best_of": 2,
    },
    "chai, nothing kept": {
        "kind": "chai",
        "cache": 0,
        "minibatch": 3,
        "learning_rate": 0.003,
        "candidates": 2,
        "target_rate": 0.1,
        "best_of": 2,
    },
    "a2c": {"learning_rate": 0.003, "beta": 0.1, "kl_target": 0.01},
    "trpo": {
        "learning_rate": 0.003,
        "critic_epochs": 1,
        "critic_minibatch": 3,
        "conjugate_steps": 2,
        "beta": 0.1,
        "kl_target": 0.01,
    },
    "grpo": {"epochs": 2, "minibatch": 3, "learning_rate": 0.003},
    "rloo": {"epochs": 1, "minibatch": 3, "learning_rate": 0.003},
    "dpo": {"epochs": 2, "minibatch": 2, "learning_rate": 0.003, "pairs": "all"},
    "kto": {"epochs": 2, "minibatch": 3, "learning_rate": 0.003, "threshold": 0.0},
    "orpo": {"minibatch": 4, "learning_rate": 0.003},
    "online_dpo": {"epochs": 2, "minibatch": 2, "learning_rate": 0.003, "pairs": "all"},
    "reinforced_self_training": {"epochs": 2, "minibatch": 1, "learning_rate": 0.003},
}
COMPARED = ("grpo", "rloo", "online_dpo", "reinforced_self_training")
RECORDED = (
    "ilql",
    "ilql_utterance",
    "decision_transformer",
    "chai",
    "chai, nothing kept",
    "dpo",
    "kto",
    "orpo",
)
ON_SHAPES = {
    "model": {"tokenizer_texts": 50},
    "rewards": {"lexicon": 1.0},
    "decoding": {"max_new_tokens": 3},
    "training": {"updates": 5, "evaluate_every": 3, "evaluate_episodes": 2, "final_episodes": 2},
}
# (moment, how often it comes in one update, so that the seeded number of a call lies at most an update and a
# half ahead)
MOMENTS = {
    "in_rollout": 6, "in_decoding": 5, "in_update": 2, "in_backward": 2, "in_tensors": 1, "in_policy": 1,
    "in_json": 1, "before_rename": 1,
    "after_rename": 1, "in_removal": 1, "in_log": 1, "after_log": 1, "anywhere": 20_000,
}  # fmt: skip
OF_SHAPES = ("in_decoding", "in_backward", "in_tensors", "in_policy", "before_rename", "after_log")


def texts():
    draw = random.Random(5)
    return [" ".join(draw.choices(WORDS, k=12)) for _ in range(80)]


def recipe(name, folder):
    """The recipe of a learner, such as "ppo", or of one on models of a shape, such as "a2c on t5"."""
    learner, _, shape = name.partition(" on ")
    changes = {
        "task": {"path": str(folder / "texts.txt")},
        "algorithm": {"kind": learner, **LEARNERS[learner]},
    }
    if learner in RECORDED:
        changes["training"] = {"data": str(folder / "games")}
    if learner == "ppo":
        changes["rewards"] = NORMALISED
    if shape:
        groups = learner in COMPARED
        changes |= ON_SHAPES | {"training": ON_SHAPES["training"] | {"answers": 3 if groups else 1}}
        changes["model"] = ON_SHAPES["model"] | {"shape": shape} | ({"critic": "none"} if groups else {})
    if learner == "online_dpo":
        changes["rewards"] = {"length": {"weight": 1.0, "high": 0}}  # or no answer is better
    return SMALL | {
        section: values if section == "rewards" else SMALL.get(section, {}) | values
        for section, values in changes.items()
    }


def wholes(folder):
    """For each learner the file of its recipe and the run that nobody killed, made by the command."""
    (folder / "texts.txt").write_text("\n".join(texts()))
    options = [f"{name}={value}" for name, value in recipe("ppo", folder)["task"].items() if name != "kind"]
    collect = ("collect", "generation", "--agent", "random", "--episodes", "40", "design.answers=2", *options)
    assert killed.loquent(*collect, "--out", str(folder / "games")) == 0

    def make(name):
        file = folder / f"{name.replace(', ', '-').replace(' ', '-')}.yaml"
        file.write_text(json.dumps(recipe(name, folder)))  # JSON is YAML
        assert killed.loquent("train", str(file), "--out", str(file.with_suffix(""))) == 0
        return file, file.with_suffix("")

    return killed.Wholes(make)


def plan(name, kills):
    """Seeded moments: every kind of moment at least once, as far as there are kills enough, and each at a
    seeded call.
    """
    draw = random.Random(f"{name} {kills}")
    if " on " in name:
        return [(each, draw.randint(1, MOMENTS[each])) for each in draw.sample(OF_SHAPES, min(kills, 3))]
    # who learns from others' words draws none in training
    never = ("in_decoding", "in_rollout") if name in RECORDED else ("in_decoding",) * (name == "supervised")
    names = [each for each in MOMENTS if each not in never]
    more = draw.choices(names, k=max(0, kills - len(names)))
    chosen = draw.sample(names, min(kills, len(names))) + more
    draw.shuffle(chosen)
    return [(each, draw.randint(1, max(1, MOMENTS[each] * 3 // 2))) for each in chosen]
