"""Online DPO: it is DPO on the answers of an update, and learns nothing from equally good answers."""

import math
from dataclasses import replace

import pytest
import torch

from helpers.algorithms.letters import actor, parameters, same, scored
from loquent.algorithms.preference.dpo import DPO
from loquent.algorithms.preference.online_dpo import OnlineDPO
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score

SETTINGS = {"learning_rate": 1e-2, "minibatch": 4, "epochs": 2}


def made(model, kind=OnlineDPO, **settings):
    return kind(kind.Config(**{**SETTINGS, **settings}), model, key=Key(3))


@pytest.mark.parametrize("pairs", ["best_worst", "all"])
def test_it_is_dpo_on_the_answers_of_the_update(pairs):
    models = [actor(critic="none") for _ in range(2)]
    own, other = made(models[0], pairs=pairs), made(models[1], DPO, pairs=pairs)
    for number in range(2):
        batch = scored(own, models[0], number=number)
        logs = own.update(models[0], own.prepare(batch))
        wanted = other.update(models[1], other.prepare(score(models[1], batch)))
        assert wanted == {key: logs[key] for key in wanted}
    assert same(parameters(models[0].policy), parameters(models[1].policy))
    assert same(parameters(models[0].reference), parameters(actor(critic="none").policy))
    assert logs["kl/reference_k3"] > 0


def test_answers_that_are_equally_good_teach_nothing():
    model = actor(critic="none")
    algorithm = made(model)
    batch = scored(algorithm, model, 8)
    chosen = batch.is_action & (batch.episode == 2)[:, None]
    tied = replace(batch, reward=torch.where(chosen, 1.0, 0.0))
    logs = algorithm.update(model, algorithm.prepare(tied))
    assert (logs["preference/compared"], logs["preference/left_out"]) == (1.0, 6.0)
    before = parameters(model)
    equal = replace(batch, reward=torch.zeros_like(batch.reward))
    none = algorithm.update(model, algorithm.prepare(equal))
    assert same(before, parameters(model))
    assert none.keys() == logs.keys()
    assert (none["preference/compared"], none["preference/left_out"], none["gradient/steps"]) == (0, 8, 0)
    assert math.isnan(none["preference/loss"])


def test_decoding_that_does_not_sample_is_refused():
    with pytest.raises(BadSetting, match=r"decoding.method = 'greedy' does not sample, but online_dpo"):
        made(actor(critic="none", decoding=Decoding(method="greedy", max_new_tokens=6)))
