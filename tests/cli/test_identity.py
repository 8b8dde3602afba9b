"""N1 of the specification, through the command line: NLPO that masks nothing is PPO, to the bit.

NLPO that masks a little is not.
"""

import json

import pytest

from loquent.cli.main import main
from loquent.files.run_folder import RunFolder
from loquent.training.checkpoint import load
from loquent.training.run import load_run

SMALL = [
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=2000",
    "model.tokenizer_texts=2000",
]
SHORT = [
    "model.context=256",
    "training.updates=3",
    "training.episodes=6",
    "training.final_episodes=4",
    "decoding.max_new_tokens=8",
    "algorithm.learning_rate=0.003",
]
SAME = ["metrics={diversity: {}}", "rewards={lexicon: 1.0}", "algorithm.minibatch=4", "algorithm.epochs=2"]


def trained(folder, name, *overrides):
    assert main(["train", name, *SMALL, *SHORT, *SAME, *overrides, "--out", str(folder), "--json"]) == 0
    return load_run(folder)


@pytest.mark.sweep("1")
@pytest.mark.parametrize("seed", [0, 1])
def test_nlpo_that_masks_nothing_is_ppo_to_the_bit(tmp_path, capsys, seed):
    ppo = trained(tmp_path / "ppo", "reviews_ppo", f"training.seed={seed}")
    same = trained(tmp_path / "same", "reviews_nlpo", f"training.seed={seed}", "algorithm.top_p=1.0")
    assert json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    logged = [
        {key: value for key, value in line.items() if not key.startswith("nlpo/")} for line in same.metrics
    ]
    assert logged == ppo.metrics
    assert same.evaluation["values"] == ppo.evaluation["values"]
    ours, theirs = (load(RunFolder(run.folder).checkpoints.all()[-1])["actor"] for run in (ppo, same))
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)
    masked = trained(tmp_path / "masked", "reviews_nlpo", f"training.seed={seed}", "algorithm.top_p=0.999")
    assert masked.metrics[-1]["policy/loss"] != ppo.metrics[-1]["policy/loss"]
    assert masked.fingerprint != ppo.fingerprint
