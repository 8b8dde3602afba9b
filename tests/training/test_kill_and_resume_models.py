"""The same for A2C, TRPO, GRPO and RLOO, each on a causal model and on an encoder-decoder."""

import json
import random

import pytest

from helpers import killed
from tests.training import test_kill_and_resume as house

LEARNERS = {
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
}
SHAPES = {"a2c": ("gpt2", "t5"), "trpo": ("llama", "bart"), "grpo": ("gpt2", "t5"), "rloo": ("llama", "bart")}
MOMENTS = ("in_decoding", "in_backward", "in_tensors", "in_policy", "before_rename", "after_log")
SMALL = {
    **house.SMALL,
    "rewards": {"lexicon": 1.0},
    "decoding": {"max_new_tokens": 3},
    "training": {
        **house.SMALL["training"], "updates": 5, "evaluate_every": 3, "evaluate_episodes": 2,
        "final_episodes": 2,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    file, draw = tmp_path_factory.mktemp("texts") / "texts.txt", random.Random(5)
    file.write_text("\n".join(" ".join(draw.choices(house.WORDS, k=12)) for _ in range(80)))
    return file


@pytest.mark.sweep("a2c-gpt2", "trpo-bart", "rloo-llama")
@pytest.mark.parametrize(("kind", "shape"), [(kind, shape) for kind in SHAPES for shape in SHAPES[kind]])
def test_a_run_killed_again_and_again_is_the_same_run(kind, shape, texts, tmp_path):
    file, whole, run = tmp_path / "recipe.yaml", tmp_path / "whole", tmp_path / "run"
    training = {**SMALL["training"], "answers": 3 if kind in ("grpo", "rloo") else 1}
    compared = {"critic": "none"} if kind in ("grpo", "rloo") else {}
    model = {**SMALL["model"], "shape": shape, "tokenizer_texts": 50, **compared}
    file.write_text(
        json.dumps(
            {
                **SMALL,
                "task": {**SMALL["task"], "path": str(texts)},
                "model": model,
                "training": training,
                "algorithm": {"kind": kind, **LEARNERS[kind]},
            }
        )
    )
    assert killed.loquent("train", str(file), "--out", str(whole)) == 0
    draw = random.Random(f"{kind} {shape}")
    words = ("train", str(file), "--out", str(run))
    for moment in draw.sample(MOMENTS, 3):
        count = draw.randint(1, max(1, house.MOMENTS.get(moment, 1)))
        assert killed.loquent(*words, point=moment, count=count) == -9, f"not killed {moment}, call {count}"
        if (run / "config.yaml").exists():
            words = ("resume", str(run))
    assert killed.loquent(*words) == 0
    assert house.difference(whole, run) is None
    assert not list((run / "checkpoints").glob(".*")), "nothing is left of what was being written"
