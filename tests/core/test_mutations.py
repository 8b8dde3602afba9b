"""Mutations of the shipped recipes, suites and papers, and of RL4LMs' files where they are at hand: no
traceback.
"""

import random
import warnings
from collections import Counter

import pytest

from tools.stress import mutations


@pytest.mark.parametrize("count", [250, pytest.param(4000, marks=pytest.mark.slow)])
def test_mutated_files_end_in_a_value_or_an_error_of_ours(count, tmp_path):
    folder = mutations.HOUSE.parents[2] / "shared" / "data" / "rl4lms_configs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mutations.run(count, 1, folder if folder.is_dir() else None, tmp_path, longest=1000)
    assert not found["failures"], found["failures"][0]
    # neither all is refused nor all is read
    assert min(found["ended"]["read"], found["ended"]["BadSetting"]) > count / 20


def test_every_kind_of_file_is_mutated():
    assert {"recipe", "suite", "paper"} <= {kind for kind, _, _ in mutations.sources(None)}


def test_mutations_are_of_many_kinds():
    """They change what they are given, and the same seed gives the same ones."""
    text = mutations.sources(None)[0][2]
    made = [mutations.mutated(text, random.Random(seed)) for seed in range(300)]
    assert made == [mutations.mutated(text, random.Random(seed)) for seed in range(300)]
    assert len(set(made)) > 250
    assert sum(one == text.encode() for one in made) < 15


def test_a_traceback_would_be_seen(tmp_path, monkeypatch):
    def broken(file):
        raise ZeroDivisionError

    monkeypatch.setitem(mutations.READERS, "train", ("recipe", 15, broken))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mutations.run(40, 0, None, tmp_path)
    assert Counter(
        one["error"].rpartition("\n")[0].rpartition("\n")[2] or one["error"] for one in found["failures"]
    )
    assert found["ended"]["traceback ZeroDivisionError"] > 3
