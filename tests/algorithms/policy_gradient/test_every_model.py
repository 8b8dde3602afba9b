"""Every learner of language models on every architecture: what all must keep, in one suite.

On-policy learners run on causal models and on encoder-decoders; learners from recorded episodes run here on
encoder-decoders (causal models have `test_value_learners.py` and `test_offline_learners.py`).
"""

import math

import pytest
import torch

from helpers.algorithms.every_learner import OFFLINE, ON_POLICY, OWN_ANSWERS, learner, recorded
from helpers.algorithms.letters import TASK, one_update, parameters, ratio_error, same, scored, through_json
from helpers.algorithms.tiny_models import PAIRS, SHAPES, actor
from loquent.algorithms.policy_gradient.on_policy import divergence
from loquent.core import registry
from loquent.core.algorithm import BatchAlgorithm, TurnAlgorithm
from loquent.core.rollout.loop import games, play
from loquent.training.recipes.sections import ModelSettings


def test_no_learner_and_no_architecture_is_missing():
    token_learners = {
        name
        for name in registry.names("algorithm")
        if issubclass(kind := registry.find("algorithm", name), BatchAlgorithm)
        and not issubclass(kind, TurnAlgorithm)
    }
    assert token_learners == {*ON_POLICY, *OWN_ANSWERS, *OFFLINE}
    for name in token_learners:
        plays = name in {**ON_POLICY, **OWN_ANSWERS}
        assert (registry.find("algorithm", name).reads == ("play",)) == plays
    assert {"t5", "bart", "gpt2", "llama", "qwen"} == set(SHAPES)
    new_models = set(ModelSettings.__dataclass_fields__["shape"].metadata["choices"])
    assert new_models <= set(SHAPES), "an architecture of new models is not in this suite"


def continued(name, shape, state, more):
    """A fresh learner and actor with the state of another, after two more updates by `more`."""
    model = actor(shape, 1)
    algorithm = learner(name, model)
    model.load_state_dict(state["actor"])
    algorithm.load_state_dict(through_json(state["algorithm"]))
    for number in (1, 2):
        more(algorithm, model, number)
    return parameters(model)


def state_of(algorithm, model):
    actor_state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    return {"actor": actor_state, "algorithm": through_json(algorithm.state_dict())}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ON_POLICY)
def test_every_on_policy_learner_on_every_model(name, shape):
    model = actor(shape)
    algorithm = learner(name, model)
    batch = algorithm.prepare(scored(algorithm, model, 12))
    assert len({int(n) for n in batch.real.sum(1)}) > 1, "prompts and answers of unequal length"
    assert not divergence(batch).any(), "the KL of equal models is exactly 0"
    assert ratio_error(algorithm, model, batch) < 1e-4
    before = parameters(model)
    logs = algorithm.update(model, batch)
    logs |= algorithm.after_update(model)
    assert logs["policy/ratio_error"] < 1e-4
    assert logs["kl/reference"] == 0.0
    assert all(math.isfinite(value) for value in logs.values())
    after = parameters(model)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    moved = {key.split(".")[0] for key in after if not torch.equal(before[key], after[key])}
    assert moved == ({"policy"} if name in ("grpo", "rloo") else {"policy", "critic"})
    check_resuming(name, shape, algorithm, model)


def check_resuming(name, shape, algorithm, model):
    """Two more updates are equal to the bit if another learner makes them from the saved state."""
    state = state_of(algorithm, model)
    for number in (1, 2):
        one_update(algorithm, model, number, count=12)

    def more(algorithm, model, number):
        one_update(algorithm, model, number, count=12)

    assert same(continued(name, shape, state, more), parameters(model)), "resumed to the bit"


@pytest.mark.sweep(2)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OWN_ANSWERS)
def test_every_learner_from_its_own_answers_on_every_model(name, shape):
    model = actor(shape)
    algorithm = learner(name, model)
    before, rest = parameters(model.policy), parameters(model.critic)
    _, logs = one_update(algorithm, model, 0, count=12)
    assert all(math.isfinite(value) for value in logs.values())
    assert logs["gradient/norm"] > 0
    assert not same(before, parameters(model.policy))
    assert same(rest, parameters(model.critic)), "only the policy learns"
    check_resuming(name, shape, algorithm, model)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("shape", PAIRS)
@pytest.mark.parametrize("name", OFFLINE)
def test_every_offline_learner_on_encoder_decoders(name, shape):
    reference = "copy" if registry.find("algorithm", name).scored else "none"
    model = actor(shape, critic="none", reference=reference)
    algorithm = learner(name, model)
    batch = algorithm.prepare(recorded(model))
    before = parameters(model)
    logs = algorithm.update(model, batch.take(batch.group % 2 == 0)) | algorithm.after_update(model)
    assert all(math.isfinite(value) for value in logs.values())
    after = parameters(model)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in after.values())
    moved = {key.split(".")[0] for key in after if not torch.equal(before[key], after[key])}
    assert moved, "something learns"
    played = play(TASK, games(TASK.rows("test")[:3]), algorithm.agent(model, True), seed=3)
    assert len(played) == 3
    state = state_of(algorithm, model)

    def more(algorithm, model, number):
        algorithm.update(model, batch.take(batch.group % 2 == number % 2))
        algorithm.after_update(model)

    for number in (1, 2):
        more(algorithm, model, number)
    other = actor(shape, 1, critic="none", reference=reference)
    resumed = learner(name, other)
    other.load_state_dict(state["actor"])
    resumed.load_state_dict(state["algorithm"])
    for number in (1, 2):
        more(resumed, other, number)
    assert same(parameters(other), parameters(model)), "resumed to the bit"
