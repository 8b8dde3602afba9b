"""The preset `trl` has the defaults of TRL's own configuration object, and its KL is that of its own code."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import pytest

from loquent.algorithms.policy_gradient import grpo, rloo
from tools.studies.defaults_page import RECORDED

trl = pytest.importorskip("trl", reason="trl is not installed: pip install -c constraints.txt -e '.[dev]'")
OURS = {("optim", "adamw_torch_fused"): "adamw", ("loss_type", "dapo"): ("token", "clip")}
# TRL has no choice of them; one step on all answers of an update is its default batch
FIXED = {"baseline", "minibatch", "drop_equal", "kl", "kl_temperature", "ratio"}
MACHINE = re.compile(  # where and how fast it draws, what it logs, and what data and models it takes
    r"vllm_(?!importance)|use_vllm|use_transformers|transformers_continuous|log_|num_completions_to_print|ds3_"
    r"|cache_impl|pad_to|generation_kwargs|chat_template|trust_remote|model_init|remove_unused|num_gen.*_eval$"
    r"|vllm_importance_sampling_cap$|_|logging_steps|lr_scheduler_kwargs|use_liger|torch_empty_cache"
)
PAGE = Path(__file__).parents[3] / "docs" / "defaults.md"


def names(algorithm):
    """TRL's name of each of our settings."""
    rows = {ours: row.get("trl") for ours, row in RECORDED[algorithm].items() if ours not in FIXED}
    return {ours: row["name"].split()[0] if isinstance(row, dict) else ours for ours, row in rows.items()}


def defaults(config, folder):
    """The values of a configuration of TRL that sets nothing, as plain values."""
    made = getattr(trl, config)(str(folder), use_cpu=True, report_to="none")
    return {name: getattr(value, "value", value) for name, value in vars(made).items()}


@pytest.mark.parametrize(("kind", "config"), [(grpo, "GRPOConfig"), (rloo, "RLOOConfig")])
def test_the_preset_has_every_default(kind, config, tmp_path):
    preset, theirs = kind.Config.presets["trl"], defaults(config, tmp_path)
    shared = names(kind.__name__.rpartition(".")[2])
    assert shared.keys() == preset.keys() - FIXED
    for ours, name in shared.items():
        value = OURS.get((name, theirs[name]), theirs[name])
        assert preset[ours] == value or (isinstance(value, tuple) and preset[ours] in value), (ours, value)
    ours = {field.name for field in dataclasses.fields(kind.Config)}
    assert ours - preset.keys() <= {"token_budget", "total_steps", "floor"}  # our own, and the schedule's end


def test_the_page_has_every_default_of_an_algorithm(tmp_path):
    table = PAGE.read_text().partition("<!-- GRPOConfig -->")[2].partition("<!-- end -->")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", table, re.MULTILINE))
    theirs = defaults("GRPOConfig", tmp_path)
    assert rows == {name: str(theirs[name]) for name in rows}
    own = {name for cls in (trl.GRPOConfig, trl.GRPOConfig.__mro__[1]) for name in cls.__annotations__}
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
