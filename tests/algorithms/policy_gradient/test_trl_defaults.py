"""The preset `trl` has the defaults of TRL's own configuration object, and its KL is that of its own code."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from loquent.algorithms.policy_gradient import grpo, rloo

trl = pytest.importorskip("trl", reason="trl is not installed: pip install -c constraints.txt -e '.[dev]'")
NAMES = {
    "learning_rate": "learning_rate",
    "epochs": "num_iterations",
    "clip": "epsilon",
    "beta": "beta",
    "importance": "importance_sampling_level",
    "kl_correction": "use_bias_correction_kl",
    "deviation": "scale_rewards",
    "clip_high": "epsilon_high",
    "weight_decay": "weight_decay",
    "max_grad_norm": "max_grad_norm",
    "normalize_advantages": "normalize_advantages",
}


@pytest.mark.parametrize(
    ("preset", "theirs"),
    [(grpo.Config.presets["trl"], "GRPOConfig"), (rloo.Config.presets["trl"], "RLOOConfig")],
)
def test_the_preset_has_their_defaults(preset, theirs):
    defaults = {field.name: field.default for field in dataclasses.fields(getattr(trl, theirs))}
    shared = {ours: name for ours, name in NAMES.items() if ours in preset and name in defaults}
    assert len(shared) >= 4
    assert {ours: preset[ours] for ours in shared} == {ours: defaults[name] for ours, name in shared.items()}


def test_the_golden_numbers_are_those_of_their_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "perf")
    from references import trl_groups

    trl_groups.main(str(tmp_path / "groups.json"))
    made = json.loads((tmp_path / "groups.json").read_text())
    kept = json.loads((Path(__file__).parent / "trl_groups.json").read_text())
    for name, case in made["cases"].items():
        assert case["loss"] == pytest.approx(kept["cases"][name]["loss"], abs=1e-12), name
    sys.modules.pop("references", None)
