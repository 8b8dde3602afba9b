"""A run of PPO on a model with a soft cap, killed and resumed when its logits have grown, is the run that was
never killed: to the bit.

The cap looks linear on the fresh model and does not later: whatever is found out about the output layer must
not depend on when.
"""

import json

import pytest
import torch

from helpers import killed
from helpers.states import difference
from helpers.training import killed_runs
from loquent import pretrained
from loquent.core.seeding import Key, borrow_generators
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint

CAP = 1.0
SMALL = {
    "task": {"kind": "generation", "source": "path", "prompt_words": 5},
    "rewards": {"lexicon": 1.0, "length": {"weight": 0.1, "high": 3}},
    "decoding": {"max_new_tokens": 4},
    "algorithm": {"kind": "ppo", "epochs": 2, "minibatch": 3, "learning_rate": 0.03, "beta": 0.01,
        "max_grad_norm": None},
    "training": {"updates": 8, "episodes": 6, "evaluate_every": 4, "evaluate_episodes": 4,
        "final_episodes": 4, "checkpoint_every": 1,
                 "stop_metric": "return", "patience": 99},
}  # fmt: skip


@pytest.fixture
def recipe(tmp_path):
    from transformers import Gemma2Config, Gemma2ForCausalLM

    texts = killed_runs.texts()
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    tokenizer = pretrained.build(
        texts, vocabulary=300, layers=1, width=16, heads=2, context=128, key=Key(0), device="cpu"
    ).tokenizer
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    marks = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), tokenizer.eos_token_id)
    more = {
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 128,
        "final_logit_softcapping": CAP,
        "initializer_range": 1e-3,
    }
    with borrow_generators(Key(0, ("capped",))):
        module = Gemma2ForCausalLM(Gemma2Config(**sizes, **marks, **more, tie_word_embeddings=False))
    pretrained.save(pretrained.LanguageModel(module, tokenizer), tmp_path / "capped")
    file = tmp_path / "capped.yaml"
    task = {**SMALL["task"], "path": str(tmp_path / "texts.txt")}
    # JSON is YAML
    file.write_text(json.dumps({**SMALL, "task": task, "model": {"path": str(tmp_path / "capped")}}))
    return file


def test_a_soft_capped_run_resumed_is_the_run_that_was_never_stopped(recipe, tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert killed.loquent("train", str(recipe), "--out", str(whole)) == 0
    assert killed.loquent("train", str(recipe), "--out", str(run), point="after_log", count=6) == -9
    assert killed.loquent("resume", str(run)) == 0
    assert difference(whole, run) is None
    module = pretrained.load(tmp_path / "capped", device="cpu").module
    policy = {
        name.removeprefix("policy."): tensor
        for name, tensor in checkpoint.load(RunFolder(whole).checkpoints.all()[-1])["actor"].items()
    }
    module.load_state_dict({name: policy[name] for name in module.state_dict()})
    with torch.no_grad():
        largest = float(module.lm_head(module.model(torch.arange(2, 20)[None]).last_hidden_state).abs().max())
    assert largest > CAP / 2, "the cap bends the logits by now"
