"""The preset `trl` has the defaults of TRL's own configuration object, and its KL is that of its own code."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest

from loquent.algorithms.policy_gradient import grpo, rloo

trl = pytest.importorskip("trl", reason="trl is not installed: pip install -c constraints.txt -e '.[dev]'")
NAMES = {
    "learning_rate": "learning_rate",
    "weight_decay": "weight_decay",
    "max_grad_norm": "max_grad_norm",
    "optimizer": "optim",
    "schedule": "lr_scheduler_type",
    "warmup": "warmup_steps",
    "epochs": "num_iterations",
    "clip": "epsilon",
    "clip_high": "epsilon_high",
    "cap": "delta",
    "sapo_positive": "sapo_temperature_pos",
    "sapo_negative": "sapo_temperature_neg",
    "length": "loss_type",
    "surrogate": "loss_type",
    "deviation": "scale_rewards",
    "importance": "importance_sampling_level",
    "drop_overlong": "mask_truncated_completions",
    "kl_correction": "use_bias_correction_kl",
    "beta": "beta",
    "entropy_coefficient": "entropy_coef",
    "engine_weight": "vllm_importance_sampling_mode",
    "engine_weight_max": "vllm_importance_sampling_clip_max",
    "engine_weight_min": "vllm_importance_sampling_clip_min",
    "normalize_advantages": "normalize_advantages",
}
OURS = {("optim", "adamw_torch_fused"): "adamw", ("loss_type", "dapo"): ("token", "clip")}
# TRL has no choice of them; one step on all answers of an update is its default batch
FIXED = {"baseline", "minibatch", "drop_equal", "kl", "kl_temperature", "ratio"}
MACHINE = re.compile(  # where and how fast it draws, what it logs, and what data and models it takes
    r"vllm_(?!importance)|use_vllm|use_transformers|transformers_continuous|log_|num_completions_to_print|ds3_"
    r"|cache_impl|pad_to|generation_kwargs|chat_template|trust_remote|model_init|remove_unused|num_gen.*_eval$"
    r"|vllm_importance_sampling_cap$"
)
PAGE = Path(__file__).parents[3] / "docs" / "defaults.md"


def defaults(config, folder):
    """The values of a configuration of TRL that sets nothing, as plain values."""
    made = getattr(trl, config)(str(folder), use_cpu=True, report_to="none")
    return {name: getattr(value, "value", value) for name, value in vars(made).items()}


@pytest.mark.parametrize(("kind", "config"), [(grpo, "GRPOConfig"), (rloo, "RLOOConfig")])
def test_the_preset_has_every_default(kind, config, tmp_path):
    preset, theirs = kind.Config.presets["trl"], defaults(config, tmp_path)
    assert preset.keys() - NAMES.keys() <= FIXED
    shared = {ours: name for ours, name in NAMES.items() if ours in preset}
    assert len(shared) >= 9
    for ours, name in shared.items():
        value = OURS.get((name, theirs[name]), theirs[name])
        assert preset[ours] == value or (isinstance(value, tuple) and preset[ours] in value), (ours, value)
    fields = {f.name for f in dataclasses.fields(kind.Config)}
    without = {"token_budget", "total_steps", "floor"}  # of our own, or after the schedule
    assert fields - preset.keys() <= without


def test_the_page_has_every_default_of_an_algorithm(tmp_path):
    table = PAGE.read_text().partition("<!-- GRPOConfig -->")[2].partition("<!-- end -->")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", table, re.MULTILINE))
    theirs = defaults("GRPOConfig", tmp_path)
    assert rows == {name: str(theirs[name]) for name in rows}
    own = {name for cls in (trl.GRPOConfig, trl.GRPOConfig.__mro__[1]) for name in cls.__annotations__}
    of_base = {"logging_steps", "lr_scheduler_kwargs", "use_liger_kernel", "torch_empty_cache_steps"}
    own -= of_base | {name for name in own if name.startswith("_")}
    assert {name for name in own - rows.keys() if not MACHINE.match(name)} == set()


def test_the_golden_numbers_are_those_of_their_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "perf")
    from references import trl_groups

    trl_groups.main(str(tmp_path / "groups.json"))
    made = json.loads((tmp_path / "groups.json").read_text())
    kept = json.loads((Path(__file__).parent / "trl_groups.json").read_text())
    for name, case in made["cases"].items():
        assert case["loss"] == pytest.approx(kept["cases"][name]["loss"], abs=1e-12), name
    sys.modules.pop("references", None)
