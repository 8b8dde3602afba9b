"""Recipes in layers: bases and profiles."""

import pytest

from loquent.errors import BadSetting, UnknownName
from loquent.training import recipes

BASE = """
task: {kind: generation, dataset: commongen, limit: 50}
rewards: {meteor: 1.0}
algorithm: {kind: supervised, learning_rate: 1.0e-3}
training: {updates: 7, episodes: 5}
profiles:
  cpu: {training.updates: 3, "decoding": {max_new_tokens: 9}, task.source: builtin}
  big: {training.episodes: 50}
"""
UPPER = """
base: lower
algorithm: {kind: ppo, clip: 0.3}
training: {episodes: 6}
profiles:
  cpu: {training.updates: 4, algorithm.epochs: 2}
"""


@pytest.fixture
def upper(tmp_path):
    (tmp_path / "lower.yaml").write_text(BASE)
    (tmp_path / "upper.yaml").write_text(UPPER)
    return tmp_path / "upper.yaml"


def test_a_file_replaces_settings_of_its_base(upper):
    found = recipes.load(upper)
    assert (found.name, found.algorithm, found.config.clip) == ("upper", "ppo", 0.3)
    assert found.config.learning_rate == recipes.load("reviews_ppo").config.__class__().learning_rate, (
        "the settings of another kind are not taken over"
    )
    assert (found.training.updates, found.training.episodes, found.options.limit) == (7, 6, 50)
    assert "meteor" in found.rewards


def test_a_profile_is_over_the_file_and_under_overrides(upper):
    assert set(recipes.profiles(upper)) == {"cpu", "big"}
    found = recipes.load(upper, ["training.episodes=9"], profile="cpu")
    assert (found.training.updates, found.config.epochs, found.decoding.max_new_tokens) == (4, 2, 9)
    assert found.training.episodes == 9
    assert recipes.load(upper, profile="big").training.episodes == 50
    assert recipes.load(upper, profile="smoke").training.updates == 2
    written = upper.with_name("again.yaml")
    written.write_text(found.yaml())
    assert recipes.load(written).fingerprint == found.fingerprint


def test_a_setting_of_a_profile_is_over_a_whole_section_of_the_base(upper):
    upper.write_text("base: lower\nprofiles: {cpu: {training: {updates: 5, episodes: 8}}}\n")
    top = upper.with_name("top.yaml")
    top.write_text("base: upper\nprofiles: {cpu: {training.updates: 6}}\n")
    found = recipes.load(top, profile="cpu").training
    assert (found.updates, found.episodes) == (6, 8)


def test_mistakes_in_layers_are_named(upper):
    with pytest.raises(UnknownName, match=r"profile of this recipe.*cpu"):
        recipes.load(upper, profile="cpuu")
    with pytest.raises(UnknownName, match="smoke"):
        recipes.load("reviews_ppo", profile="cpu")
    for wrong in ("nowhere", "../lower", "[1]"):
        upper.write_text(f"base: {wrong}\n")
        with pytest.raises(BadSetting, match=r"upper\.yaml:1: base must be"):
            recipes.load(upper)
    upper.write_text("base: upper\n")
    with pytest.raises(BadSetting, match="circle"):
        recipes.load(upper)
    upper.write_text("profiles: {cpu: 3}\n")
    with pytest.raises(BadSetting, match=r"profiles\.cpu"):
        recipes.load(upper, profile="cpu")
    upper.write_text("base: lower\nprofiles: {cpu: {training.updatess: 3}}\n")
    with pytest.raises(BadSetting, match="updates"):
        recipes.load(upper, profile="cpu")
