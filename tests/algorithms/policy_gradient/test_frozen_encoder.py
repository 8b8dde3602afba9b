"""A frozen encoder of an encoder-decoder reads each prompt once, and nothing else changes."""

import pytest
import torch

from helpers.algorithms.every_learner import OFFLINE, learner, recorded
from helpers.algorithms.letters import actor as causal
from helpers.algorithms.letters import one_update, parameters, ratio_error, scored
from helpers.algorithms.tiny_models import PAIRS, actor
from loquent.algorithms.policy_gradient.on_policy import divergence
from loquent.core import registry
from loquent.core.seeding import Key
from loquent.errors import BadModel
from loquent.pretrained import hidden


def counting(encoder, read):
    return encoder.register_forward_pre_hook(
        lambda _, args, kwargs: read.append(kwargs["input_ids"].shape), with_kwargs=True
    )


@pytest.mark.parametrize("shape", PAIRS)
def test_the_encoder_reads_each_prompt_once_in_sampling_scoring_and_all_gradient_steps(shape):
    model = actor(shape)
    model.freeze_encoder()
    algorithm = learner("ppo", model)
    read: dict[str, list] = {"policy": [], "critic": [], "reference": []}
    networks = {"policy": model.policy, "critic": model.critic.trunk, "reference": model.reference}
    for name, network in networks.items():
        counting(network.get_encoder(), read[name])
    batch = algorithm.prepare(scored(algorithm, model, 12))
    assert not divergence(batch).any()
    assert ratio_error(algorithm, model, batch) < 1e-4
    before = parameters(model)
    algorithm.update(model, batch)
    one_update(algorithm, model, 1, count=12)
    sources = {tuple(row[row < 0].tolist()) for row in batch.tokens}
    # the comparison of the cache reads three more prompts at the start
    assert all(len(shapes) <= len(sources) + 6 for shapes in read.values()), "once for each prompt"
    assert all(rows == 1 for shapes in read.values() for rows, _ in shapes), "each alone"
    after = parameters(model)
    moved = {name for name in after if not torch.equal(before[name], after[name])}
    assert moved
    assert not any(".encoder." in name for name in moved)


def test_other_weights_are_read_anew():
    model, other = actor("t5"), actor("t5", 1)
    model.freeze_encoder()
    tokens = torch.tensor([[~3, ~4, 9, 2]])
    before = hidden(model.policy, tokens)
    torch.testing.assert_close(hidden(actor("t5").policy, tokens), before)
    model.policy.load_state_dict(other.policy.state_dict())
    torch.testing.assert_close(hidden(model.policy, tokens), hidden(other.policy, tokens))


def test_frozen_values_read_each_row_once():
    model = actor("t5", critic="none", reference="none")
    kind = registry.find("algorithm", "ilql")
    settings = {**OFFLINE["ilql"], "backbones": "frozen", "awac_weight": 0.0}
    algorithm = kind(kind.Config(**settings), model, key=Key(5))
    batch = algorithm.prepare(recorded(model))
    read = []
    counting(model.policy.get_encoder(), read)
    algorithm.update(model, batch)
    first = len(read)
    algorithm.update(model, batch)
    assert first == len({tuple(row.tolist()) for row in batch.tokens}), "two epochs, one pass a row"
    assert len(read) == first


def test_a_causal_model_has_no_encoder():
    with pytest.raises(BadModel, match="gpt2 is no encoder-decoder"):
        causal().freeze_encoder()
