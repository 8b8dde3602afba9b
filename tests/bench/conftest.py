"""A small suite of one's own in a folder to work in."""

import pytest

SUITE = """
# Small: two methods from one start.
title: Small & <simple>
version: 3
paper: rl4lms
set: {model.path: <base>}
columns:
  words: {metric: diversity/mean_length}
  sentiment: {metric: reward/lexicon, better: higher}
profiles:
  cpu:
    about: "two & two"
    seeds: 2
    set:
      any: {task.limit: 120, "rewards": {lexicon: 1.0}, metrics: {diversity: {}}, training.final_episodes: 4}
  smoke:
    seeds: 2
    set:
      any: {task.limit: 120, "rewards": {lexicon: 1.0}, metrics: {diversity: {}}}
stages:
  base: {recipe: reviews_base}
cells:
  zero: {recipe: reviews_ppo, set: {training.updates: 0}, published: table-5/Zero-Shot}
  ppo: {recipe: reviews_ppo, label: "PPO | <b>", set: {algorithm.gamma: 0.9, algorithm.learning_rate: 0.1}}
  same: {recipe: reviews_ppo, set: {algorithm.gamma: 0.9, algorithm.learning_rate: 0.1}}
  expert: {recipe: reviews_ppo, agent: expert, set: {model.path: ""}}
tables:
  - {title: One, cells: [zero, ppo, same, expert]}
figures:
  - {title: "Return <of> two", cells: [ppo, same], key: rollout/return, unit: reward}
  - {title: Nothing, cells: [ppo], key: nothing/logged}
orderings:
  - {claim: "the expert speaks longer", column: words, rising: [zero, expert], quote: "a <quote>",
      place: here}
  - {claim: "equal runs are equal", column: words, rising: [ppo, same]}
  - {claim: "three in a row", column: words, rising: [ppo, same, expert]}
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The path of the suite's file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SUITE)
    return tmp_path / "small.yaml"


@pytest.fixture(scope="session")
def suite_text():
    """The suite itself."""
    return SUITE
