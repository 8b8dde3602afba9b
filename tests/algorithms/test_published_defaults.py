"""Presets and the page of defaults agree with the values recorded from other libraries, and these with the
libraries where they are installed.
"""

import inspect
import re
from pathlib import Path

import pytest
import yaml

from loquent.core import registry
from loquent.errors import BadSetting
from loquent.training import recipes
from tools.studies import defaults_page as page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "defaults.md"

CONFIGS = Path(__file__).resolve().parents[3] / "shared" / "data" / "rl4lms_configs"
OF_RL4LMS = {
    "n_epochs": "epochs",
    "gae_lambda": "lam",
    "vf_coef": "value_coefficient",
    "ent_coef": "entropy_coefficient",
}
SHARED = {
    "ilql": ("shared_by_ilql", "policy_of_ilql"),
    "cql": ("shared_by_ilql", "policy_of_ilql"),
    "psi": ("shared_by_ilql",),
}
FROM_LIBRARIES = ("rl4lms", "trl", "ilql_wordle", "ilql_visdial", "ilql_toxicity")


def presets(algorithm):
    return registry.find("algorithm", algorithm).Config.presets


def recorded(algorithm, name):
    """The recorded settings of a source, in our units."""
    rows = page.RECORDED[algorithm]
    found = {setting: page.in_our_units(row[name]) for setting, row in rows.items() if name in row}
    for shared in SHARED.get(algorithm, ()):
        found |= page.RECORDED[shared]
    return found


ALL = [(algorithm, name) for algorithm in page.ALGORITHMS for name in presets(algorithm)]
CASES = [(algorithm, name) for algorithm, name in ALL if name in FROM_LIBRARIES]


@pytest.mark.parametrize(("algorithm", "name"), CASES)
def test_a_preset_has_the_recorded_values_and_no_others(algorithm, name):
    assert dict(presets(algorithm)[name]) == recorded(algorithm, name)


def test_every_recorded_source_with_a_preset_is_compared():
    columns = {
        (name, column) for name in page.ALGORITHMS for row in page.RECORDED[name].values() for column in row
    }
    assert set(CASES) == {(name, column) for name, column in columns if column not in ("sb3", "verl")}


@pytest.mark.parametrize(("algorithm", "name"), ALL)
def test_a_recipe_takes_the_preset(algorithm, name):
    base = "wordle_ilql" if algorithm in SHARED else "reviews_ppo"
    config = recipes.load(base, [f"algorithm={{kind: {algorithm}, preset: {name}}}"]).config
    for setting, value in presets(algorithm)[name].items():
        assert getattr(config, setting) == value, setting


def test_a_setting_overrides_the_preset_and_an_unknown_preset_names_the_known():
    made = recipes.load("reviews_ppo", ["algorithm={kind: ppo, preset: trl, beta: 0.3}"]).config
    assert (made.beta, made.value_coefficient, made.epochs) == (0.3, 0.05, 4)
    with pytest.raises(BadSetting, match="known: paper, rl4lms, trl"):
        recipes.load("reviews_ppo", ["algorithm={kind: ppo, preset: sb3}"])


def test_a_number_is_not_shown_as_a_truth_value():
    assert [page.shown(value) for value in (1, 0, 5, True, False, None)] == [
        "1", "0", "5", "true", "false", "none",
    ]  # fmt: skip


def test_psi_learns_no_policy_here_and_the_page_says_so():
    fields = registry.find("algorithm", "psi").Config.__dataclass_fields__
    assert not [name for name in fields if name.startswith("awac")]
    assert "`psi` here learns no policy" in PAGE.read_text()


def test_the_page_has_the_tables_of_the_code():
    named = re.findall("<!-- settings: (.*) -->", PAGE.read_text())  # tests/test_pages.py compares them
    assert sorted(named) == sorted([*page.ALGORITHMS, "sources"])


@pytest.mark.parametrize(
    ("algorithm", "place"),
    [("ppo", "stable_baselines3.PPO"), ("a2c", "stable_baselines3.A2C"), ("trpo", "sb3_contrib.TRPO")],
)
def test_the_recorded_values_are_those_of_stable_baselines3(algorithm, place):
    module, _, name = place.partition(".")
    cls = getattr(pytest.importorskip(module), name)
    parameters = inspect.signature(cls.__init__).parameters
    for setting, row in page.RECORDED[algorithm].items():
        entry = row.get("sb3")
        if "sb3" not in row or setting == "optimizer":
            continue
        own = entry["name"] if isinstance(entry, dict) else setting
        assert parameters[own].default == (entry["value"] if isinstance(entry, dict) else entry), setting
    if algorithm == "ppo":
        assert "approx_kl_div > 1.5 * self.target_kl" in inspect.getsource(cls.train), "the factor of stop_kl"
    if algorithm == "a2c":
        assert parameters["use_rms_prop"].default is True


@pytest.mark.data
@pytest.mark.parametrize("algorithm", ["ppo", "nlpo", "a2c"])
def test_the_recorded_values_are_those_of_the_files_of_rl4lms(algorithm):
    if not CONFIGS.is_dir():
        pytest.skip(f"the folder {CONFIGS.name}/ with the files of RL4LMs is not beside this checkout")
    file = CONFIGS / "imdb_text_continuation" / page.RECORDED["sources"]["rl4lms"]["recipes"][algorithm]
    read = yaml.safe_load(file.read_text())["alg"]
    found = {OF_RL4LMS.get(key, key): value for key, value in read["args"].items()}
    found |= {"beta": read["kl_div"]["coeff"], "kl_target": read["kl_div"]["target_kl"]}
    found |= {"top_p": read["policy"]["args"]["top_mask"]} if algorithm == "nlpo" else {}
    known = {setting: row["rl4lms"] for setting, row in page.RECORDED[algorithm].items() if "rl4lms" in row}
    compared = {setting for setting in found if setting in known}
    assert {"learning_rate", "beta", "kl_target"} <= compared
    assert {setting: float(found[setting]) for setting in compared} == {
        setting: float(known[setting]) for setting in compared
    }


def test_what_trl_takes_from_transformers_is_recorded():
    arguments = pytest.importorskip("transformers").TrainingArguments
    for algorithm in ("ppo", "grpo", "rloo", "dpo", "online_dpo", "kto", "orpo"):
        for setting in ("max_grad_norm", "weight_decay"):
            assert page.RECORDED[algorithm][setting]["trl"] == getattr(arguments, setting)
