"""`examples/ppo_in_one_file.py` has the losses and gradients of the library's PPO, and learns."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from loquent.algorithms.policy_gradient.ppo import PPO, Config
from loquent.core.seeding import Key
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained import LanguageModel

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TEXTS = [f"i saw it {word} and i {other} it ." for word in ("once", "twice") for other in ("loved", "left")]


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        import ppo_in_one_file

        yield ppo_in_one_file
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def episodes(example):
    """Networks in float64 and six episodes, of which some end early; the policy has moved since."""
    torch.set_default_dtype(torch.float64)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(3)
            tokenizer = example.make_tokenizer(TEXTS)
            reference = example.make_policy(tokenizer)
            policy = example.make_policy(tokenizer)
            critic = example.Critic(example.make_policy(tokenizer).transformer)
            prompts = torch.randint(1, 200, (6, 5))
            tokens, real = example.draw_answers(policy, prompts, 7, torch.Generator().manual_seed(0))
            real = real & (torch.arange(7) < torch.tensor([7, 1, 3, 7, 5, 2])[:, None])
            tokens[:, 5:] = torch.where(real, tokens[:, 5:], 0)
            returns = torch.tensor([2.0, 0.0, 1.0, 3.0, 0.5, 0.0])
        yield tokenizer, policy, critic, reference, tokens, real, returns
    finally:
        torch.set_default_dtype(torch.float32)


def gradients_of_example(example, episodes, chosen):
    """The prepared batch, the loss and the gradients by the example."""
    _, policy, critic, reference, tokens, real, returns = episodes
    batch = example.with_advantages(example.score(policy, critic, reference, tokens, real, returns), chosen)
    shifted = example.Batch(**{**vars(batch), "old": batch.old - 0.3 * torch.sin(batch.old * 9)})
    for network in (policy, critic):
        network.zero_grad()
    loss = example.ppo_loss(policy, critic, shifted, chosen)
    loss.backward()
    names = {f"policy.{name}": p for name, p in policy.named_parameters()}
    names |= {f"critic.{name}": p for name, p in critic.named_parameters()}
    return batch, shifted, loss.item(), {n: p.grad.clone() for n, p in names.items() if p.grad is not None}


def gradients_of_library(episodes, chosen, old):
    """The same by the library; `old`: the log-probabilities in the denominator of the ratio."""
    tokenizer, policy, critic, reference, tokens, real, returns = episodes
    actor = Actor.build(
        LanguageModel(policy, tokenizer),
        reference=LanguageModel(reference, tokenizer),
        decoding=Decoding(),
        key=Key(0),
    ).double()
    actor.critic.load_state_dict(critic.state_dict())
    is_action = torch.cat([torch.zeros(6, 5, dtype=torch.bool), real], 1)
    reward, drawn = torch.zeros(tokens.shape), torch.zeros(tokens.shape)
    reward[torch.arange(6), 4 + real.sum(1)] = returns
    drawn[is_action] = old[real]
    batch = TokenBatch(
        tokens=tokens,
        real=torch.cat([torch.ones(6, 5, dtype=torch.bool), real], 1),
        is_action=is_action,
        turn=is_action.long(),
        reward=reward,
        ended=torch.ones(6, dtype=torch.bool),
        episode=torch.arange(6),
        drawn_logprob=drawn,
    )
    names = vars(chosen).keys() & Config.__dataclass_fields__.keys()
    algorithm = PPO(Config(**{name: getattr(chosen, name) for name in names}), actor)
    prepared = algorithm.prepare(score(actor, batch))
    minibatch = algorithm.centre_advantages(prepared)
    loss = algorithm.loss(actor, minibatch)["total"].sum() / algorithm.divisor(minibatch)
    for parameter in algorithm.parameters.values():
        parameter.grad = None
    loss.backward()
    return prepared, is_action, loss.item(), {name: p.grad for name, p in algorithm.parameters.items()}


@pytest.mark.parametrize(
    "changes",
    [{}, {"gamma": 0.9, "lam": 0.5, "beta": 0.3, "clip": 0.05, "entropy_coefficient": 0.1}],
    ids=["defaults", "others"],
)
def test_losses_and_gradients_are_those_of_the_library(example, episodes, changes):
    chosen = replace(example.Settings(), **changes)
    batch, shifted, loss, gradients = gradients_of_example(example, episodes, chosen)
    prepared, is_action, expected_loss, expected = gradients_of_library(episodes, chosen, shifted.old)
    real = batch.real
    for ours, theirs in (
        (batch.old, prepared.policy_logprob),
        (batch.reference, prepared.reference_logprob),
        (batch.value, prepared.value),
        (batch.advantage, prepared.advantage),
        (batch.target, prepared.target),
    ):
        torch.testing.assert_close(ours[real], theirs[is_action], rtol=1e-10, atol=1e-12)
    assert float((shifted.old - batch.old).abs()[real].max()) > 0.1  # some ratios are clipped
    assert loss == pytest.approx(expected_loss, rel=1e-10)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-8, atol=1e-12)


def test_the_comparison_can_fail(example, episodes):
    chosen = example.Settings()
    _, shifted, loss, _ = gradients_of_example(example, episodes, chosen)
    for wrong in ({"clip": 0.1}, {"lam": 0.9}, {"beta": 0.06}, {"value_coefficient": 0.4}):
        other = gradients_of_library(episodes, replace(chosen, **wrong), shifted.old)[2]
        assert loss != pytest.approx(other, rel=1e-6)


def test_it_runs(example, capsys):
    with torch.random.fork_rng():
        means = example.main(replace(example.Settings(), reading=1, updates=2, episodes=4, epochs=1))
    assert len(means) == 2
    assert "update 2: reward 0" in capsys.readouterr().out


@pytest.mark.slow
def test_it_learns(example):
    with torch.random.fork_rng():
        means = example.main(replace(example.Settings(), updates=7))
    assert max(means[:2]) < 0.2 < 0.4 < means[-1]
