"""The KL-regularised optimum of a bandit of one token: every learner reaches its own to variation 0.01, on a
causal model and on an encoder-decoder.

With the KL in the reward it is softmax(log reference + r / β), the maximiser of
E[r] - β KL(policy, reference). GRPO with k3 in the loss maximises E[r] - β KL(reference, policy) instead.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.algorithms import tiny_models
from helpers.algorithms.letters import actor
from loquent.algorithms.policy_gradient.a2c import A2C
from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.algorithms.policy_gradient.nlpo import NLPO
from loquent.algorithms.policy_gradient.ppo import PPO
from loquent.algorithms.policy_gradient.rloo import RLOO
from loquent.algorithms.policy_gradient.trpo import TRPO
from loquent.core.seeding import Key
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained import logits

BETA, DRAWS = 0.5, 256
REWARD = torch.tensor([0.1, 0.9, 0.3, 0.0, 0.6, 0.2, 1.0, 0.4, 0.5, 0.7])  # a causal model has nine tokens
PROMPTS = {"causal": [0], "t5": [~1, tiny_models.START]}
WITH_VALUES = {"beta": BETA, "normalize_advantages": False, "learning_rate": 1e-2, "max_grad_norm": None}
ONE_STEP = {"epochs": 1, "minibatch": DRAWS}
LEARNERS = {
    "ppo": (PPO, {**WITH_VALUES, **ONE_STEP}),
    "nlpo, no mask": (NLPO, {**WITH_VALUES, **ONE_STEP, "top_p": 1.0}),
    "a2c": (A2C, {**WITH_VALUES, "optimizer": "adamw"}),
    "trpo": (TRPO, {"beta": BETA, "normalize_advantages": False, "learning_rate": 1e-2,
                    "critic_minibatch": DRAWS, "critic_epochs": 2, "conjugate_steps": 8}),
    "grpo, kl in the reward": (GRPO, {"beta": BETA, "kl": "reward", "deviation": "none",
                                      "learning_rate": 1e-2}),
    "grpo, corrected k3 in the loss": (GRPO, {"beta": BETA, "deviation": "none", "learning_rate": 1e-2}),
    "grpo, k3 in the loss": (GRPO, {"beta": BETA, "kl_correction": False, "deviation": "none",
                                    "learning_rate": 1e-2}),
    "rloo": (RLOO, {"beta": BETA, "learning_rate": 1e-2}),
}  # fmt: skip
STAGES = ((45, 1.0), (30, 0.2), (20, 0.04))  # updates, and the share of the first step size


def made(shape, **more):
    return actor(2, width=16, **more) if shape == "causal" else tiny_models.actor(shape, 2, **more)


def probabilities(module, prompt):
    with torch.no_grad():
        return logits(module, torch.tensor([prompt]))[0, -1].double().softmax(-1)


def draws(model, key, group, prompt):
    """A batch of one-token answers, drawn by systematic sampling from the policy, in groups of `group`."""
    policy = probabilities(model.policy, prompt)
    uniform = (torch.arange(DRAWS) + key.generator().random()) / DRAWS
    drawn = torch.searchsorted(policy.cumsum(0), uniform.double()).clamp(max=len(policy) - 1)
    drawn = drawn[torch.from_numpy(key.child("order").generator().permutation(DRAWS))]
    tokens = torch.cat([torch.tensor(prompt).expand(DRAWS, -1), drawn[:, None]], 1)
    is_action = torch.zeros(tokens.shape, dtype=torch.bool)
    is_action[:, -1] = True
    reward, logprob = torch.zeros(tokens.shape), torch.zeros(tokens.shape)
    reward[:, -1], logprob[:, -1] = REWARD[drawn], policy.log()[drawn].float()
    return TokenBatch(
        tokens=tokens,
        real=torch.ones(tokens.shape, dtype=torch.bool),
        is_action=is_action,
        turn=torch.where(is_action, 1, -1),
        reward=reward,
        ended=torch.ones(DRAWS, dtype=torch.bool),
        episode=torch.arange(DRAWS),
        group=torch.arange(DRAWS) // group,
        drawn_logprob=logprob,
        policy_logprob=logprob,
    )


def in_the_reward(reference):
    return (reference.log() + REWARD[: len(reference)].double() / BETA).softmax(-1)


def in_the_loss(reference):
    """The maximiser of E[r] - β KL(reference, π): π(a) = β reference(a) / (λ - r(a)), whose sum is 1."""
    reward = REWARD[: len(reference)].double()
    low, high = float(reward.max()) + 1e-9, float(reward.max()) + 10.0
    for _ in range(200):
        middle = (low + high) / 2
        above = float((BETA * reference / (middle - reward)).sum()) > 1
        low, high = (middle, high) if above else (low, middle)
    return BETA * reference / (low - reward)


def variation(one, other):
    return float((one - other).abs().sum()) / 2


@pytest.mark.sweep("ppo-causal", "grpo, k3 in the loss-causal", "rloo-t5")
@pytest.mark.parametrize("shape", PROMPTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_it_reaches_its_optimum(name, shape):
    kind, settings = LEARNERS[name]
    model, prompt = (
        made(shape, critic="network" if kind in (PPO, NLPO, A2C, TRPO) else "none"),
        PROMPTS[shape],
    )
    reference = probabilities(model.reference, prompt)
    own, other = in_the_reward(reference), in_the_loss(reference)
    if name == "grpo, k3 in the loss":
        own, other = other, own
    assert variation(own, other) > 0.03  # the two optima differ
    assert variation(probabilities(model.policy, prompt), own) > 0.1
    algorithm, number = kind(kind.Config(**settings), model), 0
    group = DRAWS if kind is GRPO else 8  # the mean of a small group holds the answer itself
    for updates, share in STAGES:
        if kind is not TRPO:
            rate = settings["learning_rate"] * share
            algorithm.gradient.settings = replace(algorithm.gradient.settings, learning_rate=rate)
        if kind is TRPO:
            algorithm.config = replace(algorithm.config, radius=0.01 * share**3)
        for _ in range(updates // 2 if kind is TRPO else updates):
            number += 1
            batch = score(model, draws(model, Key(7, ("draw", number)), group, prompt))
            algorithm.update(model, algorithm.prepare(batch))
    assert variation(probabilities(model.policy, prompt), own) <= 0.01
    assert variation(probabilities(model.policy, prompt), other) > 0.02


def test_the_optima_are_maxima():
    reference = probabilities(made("causal").policy, PROMPTS["causal"])
    reward = REWARD[: len(reference)].double()

    def by_reward(policy):
        return float((policy * (reward - BETA * (policy / reference).log())).sum())

    def by_loss(policy):
        return float((policy * reward).sum() - BETA * (reference * (reference / policy).log()).sum())

    for value, best in ((by_reward, in_the_reward(reference)), (by_loss, in_the_loss(reference))):
        assert float(best.sum()) == pytest.approx(1, abs=1e-9)
        for seed in range(20):
            noise = torch.from_numpy(np.exp(0.05 * Key(seed).generator().normal(size=len(reference))))
            assert value(best * noise / (best * noise).sum()) < value(best)
