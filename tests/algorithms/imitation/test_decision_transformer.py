"""The Decision Transformer: what it is conditioned on, where, and that it says what the wanted return asks
for.
"""

from dataclasses import replace

import pytest
import torch

from helpers.algorithms import fork
from helpers.algorithms.letters import parameters, same
from loquent.algorithms.imitation.cloning import Cloning
from loquent.algorithms.imitation.decision_transformer import DecisionTransformer, episode_returns
from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.models.conditioning import shift_embeddings
from loquent.models.decoding_settings import Decoding
from loquent.models.tokens.batch import cat
from loquent.pretrained import hidden

KEY = Key(3)


def made(*, seed=0, layers=1, width=16, **settings):
    model = fork.actor(seed, layers=layers, width=width)
    model.evaluation = Decoding(method="greedy", max_new_tokens=2)
    settings = {"minibatch": 12, "learning_rate": 1e-2, **settings}
    algorithm = DecisionTransformer(DecisionTransformer.Config(**settings), model, key=KEY)
    return model, algorithm, algorithm.prepare(fork.recorded(model))


def test_a_row_is_told_the_return_of_its_whole_episode():
    _, algorithm, batch = made()
    assert batch.target[:, 0].tolist() == [-1.5] * 6 + [-3.0] * 5 + [0.0]
    assert bool((batch.target == batch.target[:, :1]).all())
    several = replace(cat([batch, batch], 0), episode=torch.tensor([*range(12), *range(12)]))
    assert episode_returns(several).tolist() == [-3.0] * 6 + [-6.0] * 5 + [0.0] + [-3.0] * 6 + [-6.0] * 5 + [
        0.0
    ]
    with pytest.raises(LoquentError, match="has not been prepared"):
        algorithm._nll(fork.actor(0), replace(batch, target=None))


def test_the_shift_is_a_linear_map_of_the_return_added_to_the_first_embedding():
    model, _, batch = made()
    shift, tokens = model.conditioning(torch.tensor([-3.0, 2.0])), batch.tokens[6:8]
    layer = model.conditioning.layer
    assert torch.allclose(shift, torch.tensor([[-3.0], [2.0]]) * layer.weight[:, 0] + layer.bias)
    trunk = model.policy.base_model
    embedded = trunk.wte(tokens).clone()
    embedded[:, 0] += shift
    expected = trunk(inputs_embeds=embedded).last_hidden_state
    with shift_embeddings(model.policy, shift):
        assert torch.allclose(hidden(model.policy, tokens), expected, atol=1e-5)
        assert torch.allclose(
            model.policy(input_ids=tokens, use_cache=False).logits, model.policy.lm_head(expected), atol=1e-5
        )
    plain = hidden(model.policy, tokens)
    assert torch.allclose(plain, trunk(tokens).last_hidden_state, atol=1e-5), "nothing is left behind"
    assert not torch.allclose(plain, expected, atol=1e-3)
    assert not torch.allclose(plain[:, -1], expected[:, -1], atol=1e-4), "later positions read it"


def test_decoding_with_a_cache_is_the_pass_over_whole_rows():
    model, algorithm, batch = made(wanted_return=-3.0, layers=2)
    algorithm.update(model, batch)
    asked = []
    agent = algorithm.agent(model, True)
    agent.answer, answer = (lambda questions: (asked.extend(questions), answer(questions))[1]), agent.answer
    fork.greedy_return(agent)
    for one, said in zip(asked, answer(asked), strict=True):
        row = list(model.format.prompt(one.instruction, one.turns, one.observation.seat, 64)[0])
        for token in said.tokens.ids.tolist():
            with torch.no_grad(), shift_embeddings(model.policy, model.conditioning(torch.tensor([-3.0]))):
                assert (
                    int(model.policy(input_ids=torch.tensor([row]), use_cache=False).logits[0, -1].argmax())
                    == token
                )
            row.append(token)


def test_with_a_shift_of_nothing_its_loss_is_cloning_s():
    model, algorithm, batch = made()
    for parameter in model.conditioning.parameters():
        torch.nn.init.zeros_(parameter)
    cloned = Cloning(Cloning.Config(), fork.actor(0, layers=1, width=16))._nll(model, batch)[1]
    assert torch.allclose(algorithm._nll(model, batch)[1], cloned, atol=1e-5)
    torch.nn.init.normal_(model.conditioning.layer.weight, generator=torch.Generator().manual_seed(0))
    assert not torch.allclose(algorithm._nll(model, batch)[1], cloned, atol=1e-2)


@pytest.mark.sweep("1")
@pytest.mark.parametrize("seed", [0, 1])
def test_it_reaches_the_return_that_is_wanted(seed):
    model, algorithm, batch = made(seed=seed, layers=2, width=32, epochs=150)
    algorithm.update(model, batch)
    reached = {}
    for wanted in (0.0, -1.5, -3.0):
        algorithm.config = replace(algorithm.config, wanted_return=wanted)
        reached[wanted] = fork.greedy_return(algorithm.agent(model, True))
    assert reached == {0.0: 0.0, -1.5: -1.5, -3.0: -3.0}


def test_resumed_it_is_the_same_run_to_the_bit():
    model, algorithm, batch = made(minibatch=5)
    before = parameters(model.conditioning)
    algorithm.update(model, batch)
    assert not same(parameters(model.conditioning), before)
    state, weights = (
        algorithm.state_dict(),
        {key: tensor.clone() for key, tensor in model.state_dict().items()},
    )
    assert "conditioning.layer.weight" in weights
    logs = algorithm.update(model, batch)
    again, other, _ = made(seed=1, minibatch=5)
    again.load_state_dict(weights)
    other.load_state_dict(state)
    assert other.update(again, batch) == logs
    assert all(torch.equal(tensor, again.state_dict()[key]) for key, tensor in model.state_dict().items())
