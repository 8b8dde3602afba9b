"""The one table of logged keys: every key has its line, and one that has none is an error here."""

import warnings

import pytest

from loquent.algorithms import logged_keys
from loquent.algorithms.imitation.supervised import Supervised
from loquent.algorithms.policy_gradient.nlpo import NLPO
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.core import log_keys, registry
from loquent.core.log_keys import Logged, UndefinedKey


def test_a_key_is_known_by_itself_or_by_its_family():
    known = log_keys.table(PPO)
    assert log_keys.definition("rollout/return", known).unit == "reward per episode"
    assert log_keys.definition("rollout/reward/sentiment", known) is known["rollout/reward/*"]
    assert log_keys.definition("evaluation/diversity/distinct-2", known) is known["evaluation/*"]
    assert log_keys.definition("kl/reference", known).unit == "nats per token"
    for unknown in ("rollout/retrun", "evaluation", "rollout/reward", "nlpo/age", ""):
        assert log_keys.definition(unknown, known) is None


def test_an_algorithm_brings_its_own_keys_and_its_parents():
    assert "nlpo/age" in log_keys.table(NLPO)
    assert "policy/loss" in log_keys.table(NLPO)
    assert "policy/loss" not in log_keys.table(Supervised)
    assert log_keys.table(Supervised)["gradient/norm"] != log_keys.table(PPO)["gradient/norm"]


def test_the_tables_that_reports_read_are_those_of_the_classes():
    for name in registry.names("algorithm"):
        table = log_keys.table(registry.find("algorithm", name))
        assert {**log_keys.LOGGED, **logged_keys.BUILT_IN[name]} == table, name
    assert log_keys.table(NLPO) != {**log_keys.LOGGED, **logged_keys.BUILT_IN["ppo"]}


def test_an_unknown_key_is_an_error_in_tests_and_a_warning_for_users():
    known = {"a": Logged("", "one")}
    log_keys.check(["a"], known)
    with pytest.raises(UndefinedKey, match="'b' is logged but not defined"):
        log_keys.check(["a", "b"], known)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default", UndefinedKey)
        log_keys.check(["a", "b"], known)
    assert [one.category for one in seen] == [UndefinedKey]


def test_every_meaning_is_a_phrase_and_every_unit_is_short():
    for key, one in {**log_keys.LOGGED, **log_keys.table(NLPO), **log_keys.table(Supervised)}.items():
        assert len(one.meaning.split()) > 2, key
        assert len(one.unit) < 24, key
