"""PPO: the identities A5 to A11 of the specification, exact accumulation, and its cost in passes."""

from dataclasses import fields, replace

import pytest
import torch

from helpers.algorithms.letters import (
    actor,
    gradients,
    one_update,
    padded,
    parameters,
    ratio_error,
    same,
    scored,
)
from loquent.algorithms.policy_gradient.actor_critic import penalise_rewards
from loquent.algorithms.policy_gradient.on_policy import divergence
from loquent.algorithms.policy_gradient.ppo import PPO, Config
from loquent.errors import BadSetting
from loquent.models.decode.loop import Decoding
from loquent.models.score.tokens import score
from loquent.pretrained.learning.optimization import trainable

QUICK = {"learning_rate": 3e-3, "minibatch": 6, "epochs": 2, "beta": 0.1}
DECODINGS = [
    Decoding(max_new_tokens=6),
    Decoding(max_new_tokens=6, top_k=4, temperature=0.7),
    Decoding(max_new_tokens=6, top_p=0.8, min_new_tokens=3),
]


def hand_made():
    """Two rows of one prompt token.

    The first has three action tokens and ends, the second has two and is cut; all columns by hand.
    """
    model = actor()
    batch = scored(PPO(Config(), model), model, 2)

    def row(*numbers):
        return torch.tensor(numbers, dtype=torch.float32)

    is_action = torch.tensor([[False, True, True, True], [False, True, True, False]])
    return replace(
        batch,
        tokens=torch.tensor([[0, 1, 2, 0], [0, 3, 4, 0]]),
        real=torch.tensor([[True] * 4, [True, True, True, False]]),
        is_action=is_action,
        turn=torch.tensor([[-1, 1, 1, 1], [-1, 1, 1, 0]]),
        reward=torch.stack([row(0, 0, 0, 1), row(0, 0, 0.0625, 0)]),
        ended=torch.tensor([True, False]),
        episode=torch.tensor([0, 1]),
        drawn_logprob=torch.zeros(2, 4),
        policy_logprob=torch.stack([row(9, -1, -2, -3), row(9, -1, -2, 9)]),
        reference_logprob=torch.stack([row(0, -1.125, -2.25, -2.625), row(0, -1, -1.875, 0)]),
        value=torch.stack([row(5, 0.5, 0.5, 0.5), row(5, 0.25, 0.25, 5)]),
        bootstrap=row(7, 0.5),
        advantage=None,
        target=None,
        support=None,
    )


@pytest.mark.parametrize("decoding", DECODINGS)
def test_a5_the_ratio_is_one_and_kl_is_zero_before_the_first_step(decoding):
    model = actor(decoding=decoding)
    algorithm = PPO(Config(**QUICK), model)
    batch = algorithm.prepare(scored(algorithm, model, 24))
    assert len({int(n) for n in batch.real.sum(1)}) > 1  # prompts and answers of unequal length
    assert not divergence(batch).any()  # exactly
    assert ratio_error(algorithm, model, batch) < 1e-4
    raw = PPO(Config(**QUICK, ratio="raw"), model)
    assert ratio_error(raw, model, batch) < 1e-6
    logs = algorithm.update(model, batch)
    assert logs["policy/ratio_error"] < 1e-4
    assert logs["kl/reference"] == logs["kl/reference_k3"] == 0.0
    assert ratio_error(algorithm, model, batch) > 1e-3  # and it moves once the policy has
    assert float(divergence(score(model, batch)).abs().max()) > 1e-3


@pytest.mark.parametrize("decoding", DECODINGS)
def test_a5_in_float64_the_ratio_is_one_to_nine_digits(decoding):
    model = actor(decoding=decoding, dtype=torch.float64)
    algorithm = PPO(Config(**QUICK), model)
    batch = algorithm.prepare(scored(algorithm, model, 24))  # played, and made a batch by token_batch
    real = {
        field.name: getattr(batch, field.name)
        for field in fields(batch)
        if isinstance(getattr(batch, field.name), torch.Tensor)
    }
    assert {column.dtype for column in real.values() if column.is_floating_point()} == {torch.float64}
    assert algorithm.update(model, batch)["policy/ratio_error"] <= 1e-9
    single = replace(batch, drawn_logprob=batch.drawn_logprob.float())
    again = PPO(Config(**QUICK), actor(decoding=decoding, dtype=torch.float64))
    # what float32 would leave
    assert again.update(actor(decoding=decoding, dtype=torch.float64), single)["policy/ratio_error"] > 1e-9


def test_a_float32_model_has_float32_batches():
    model = actor()
    algorithm = PPO(Config(**QUICK), model)
    batch = algorithm.prepare(scored(algorithm, model, 4))
    columns = (
        batch.reward,
        batch.drawn_logprob,
        batch.policy_logprob,
        batch.reference_logprob,
        batch.value,
        batch.bootstrap,
        batch.advantage,
    )
    assert {column.dtype for column in columns} == {torch.float32}


def test_a5_a_score_outside_the_support_would_be_seen():
    model = actor(decoding=DECODINGS[1])
    algorithm = PPO(Config(**QUICK), model)
    batch = algorithm.prepare(scored(algorithm, model, 24))
    mixed = replace(batch, drawn_logprob=batch.policy_logprob)
    assert ratio_error(algorithm, model, mixed) > 0.01


def test_a7_rewards_stand_on_the_last_token_and_the_penalty_on_every_one():
    batch = hand_made()
    # k1 = (1/8, 1/4, -3/8) and (0, -1/8); reward - k1 / 2
    assert penalise_rewards(batch, 0.5).tolist() == [[0, -0.0625, -0.125, 1.1875], [0, 0, 0.125, 0]]
    kl = divergence(batch)
    # sum of rewards = R - beta * sum of kl
    assert float(penalise_rewards(batch, 0.5).sum()) == float(batch.reward.sum() - 0.5 * kl.sum())
    assert float(penalise_rewards(batch, 0.25).sum()) != float(batch.reward.sum() - 0.5 * kl.sum())
    model = actor()
    drawn = scored(PPO(Config(), model), model, 24)
    last = drawn.is_action & ~torch.nn.functional.pad(drawn.is_action[:, 1:], (0, 1))
    assert not drawn.reward[~last].any()
    assert drawn.reward.sum() > 0


def test_a7_advantages_by_hand():
    # beta 1/2, gamma 1, lambda 1/2. Row 0, ended: δ = (-1/16, -1/8, 11/16);
    #   A_2 = 11/16, A_1 = -1/8 + 11/32 = 7/32, A_0 = -1/16 + 7/64 = 3/64
    # row 1, cut, V(end) = 1/2: δ = (0, 1/8 + 1/2 - 1/4 = 3/8);  A_1 = 3/8, A_0 = 3/16;  targets A + V
    algorithm = PPO(Config(beta=0.5, gamma=1.0, lam=0.5), actor())
    batch = hand_made()
    before = {field.name: getattr(batch, field.name) for field in fields(batch)}
    prepared = algorithm.prepare(batch)
    assert prepared.advantage.tolist() == [[0, 0.046875, 0.21875, 0.6875], [0, 0.1875, 0.375, 0]]
    assert prepared.target.tolist() == [[0, 0.546875, 0.71875, 1.1875], [0, 0.4375, 0.625, 0]]
    assert all(getattr(batch, name) is value for name, value in before.items())  # prepare is pure
    ended = algorithm.prepare(replace(batch, ended=torch.tensor([True, True])))
    assert ended.advantage[1].tolist() == [0, -0.0625, -0.125, 0]  # nothing is bootstrapped: δ_1 = 1/8 - 1/4
    assert ended.advantage[0].tolist() == prepared.advantage[0].tolist()


def test_discounting_by_turns():
    batch = replace(
        hand_made(),
        turn=torch.tensor([[-1, 1, 1, 3], [-1, 1, 2, 0]]),
        value=torch.zeros(2, 4),
        bootstrap=torch.zeros(2),
    )
    settings = {"beta": 0.0, "gamma": 0.5, "lam": 1.0}
    by_turn = PPO(Config(**settings, discount="turn"), actor()).prepare(batch)
    by_token = PPO(Config(**settings, discount="token"), actor()).prepare(batch)
    assert by_turn.advantage[0].tolist() == [0, 0.5, 0.5, 1]
    assert by_token.advantage[0].tolist() == [0, 0.25, 0.5, 1]
    assert by_turn.advantage[1].tolist() == by_token.advantage[1].tolist() == [0, 0.03125, 0.0625, 0]


def test_a7_padding_changes_no_advantage_and_no_gradient():
    model = actor()
    algorithm = PPO(Config(**{**QUICK, "epochs": 1, "minibatch": 64, "entropy_coefficient": 0.01}), model)
    short = scored(algorithm, model, 12)
    long = padded(short, 5)
    a, b = algorithm.prepare(short), algorithm.prepare(long)
    assert torch.equal(a.advantage, b.advantage[:, :-5])
    assert not b.advantage[:, -5:].any()
    assert not b.target[:, -5:].any()
    plain, other = gradients(algorithm, model, a), gradients(PPO(algorithm.config, model), model, b)
    assert max(float((plain[name] - other[name]).abs().max()) for name in plain) < 1e-6
    assert max(float(g.abs().max()) for g in plain.values()) > 1e-3


def test_accumulation_is_exact():
    model = actor(dtype=torch.float64)
    whole, single = (
        PPO(
            Config(
                **{**QUICK, "minibatch": 64, "epochs": 1, "entropy_coefficient": 0.01, "token_budget": budget}
            ),
            model,
        )
        for budget in (9999, 1)
    )
    batch = whole.prepare(scored(whole, model, 16))
    a, b = gradients(whole, model, batch), gradients(single, model, batch)
    assert max(float((a[name] - b[name]).abs().max()) for name in a) < 1e-6
    less = gradients(PPO(whole.config, model), model, batch.take(torch.arange(8)))
    # gradients do depend on what is in the minibatch
    assert max(float((a[name] - less[name]).abs().max()) for name in a) > 1e-4


@pytest.mark.parametrize("critic", ["network", "head"])
def test_a8_nothing_to_learn_changes_nothing(critic):
    model = actor(critic=critic)
    algorithm = PPO(Config(**QUICK, value_coefficient=0.0, weight_decay=0.0), model)
    batch = algorithm.prepare(scored(algorithm, model))
    before = parameters(model)
    algorithm.update(model, replace(batch, advantage=torch.zeros_like(batch.advantage)))
    assert same(before, parameters(model))  # to the bit
    algorithm.update(model, batch)
    assert not same(before, parameters(model))


def test_a9_without_beta_the_task_reward_is_all():
    batch = hand_made()
    assert torch.equal(penalise_rewards(batch, 0.0), batch.reward)
    assert not torch.equal(penalise_rewards(batch, 0.1), batch.reward)
    model = actor(reference="none")
    algorithm = PPO(Config(**{**QUICK, "beta": 0.0}), model)
    _, logs = one_update(algorithm, model, 0)
    assert logs["reward/penalty"] == 0.0
    with pytest.raises(BadSetting, match="needs a reference"):
        PPO(Config(beta=0.1), model)


def test_a10_dropout_is_off_in_rollouts_and_updates():
    model = actor(dropout=0.5)
    algorithm = PPO(Config(**QUICK), model)
    batch = algorithm.prepare(scored(algorithm, model))
    model.train()  # whoever left it so
    algorithm.update(model, batch)
    assert not any(module.training for module in model.modules())
    with torch.no_grad():
        assert same(*(algorithm.loss(model, batch)["total"] for _ in range(2)))
        model.policy.train()
        assert not same(*(algorithm.loss(model, batch)["total"] for _ in range(2)))


def test_a11_the_first_gradient_is_that_of_the_policy_gradient():
    model = actor(dtype=torch.float64)
    algorithm = PPO(
        Config(
            **{**QUICK, "epochs": 1, "minibatch": 64, "normalize_advantages": False, "max_grad_norm": None}
        ),
        model,
    )
    batch = algorithm.prepare(scored(algorithm, model))
    got = gradients(algorithm, model, batch)
    model.zero_grad()
    chosen = batch.is_action
    logits = model.policy(batch.tokens, attention_mask=batch.real.long()).logits[:, :-1].log_softmax(-1)
    logprob = logits.gather(2, batch.tokens[:, 1:, None])[..., 0][chosen[:, 1:]]
    (-(batch.advantage[chosen] * logprob).mean()).backward()  # A2C's: -mean(A log pi)
    for name, p in model.policy.named_parameters():
        assert torch.allclose(got[f"policy.{name}"], p.grad, atol=1e-6)
    assert float(got["policy.transformer.wte.weight"].abs().max()) > 1e-3


def by_the_papers(model, batch, advantage, config):
    """The objective and its gradient, written anew: 1707.06347 eq. 7 and 9, a mean over action tokens."""
    chosen = batch.is_action
    given = {"attention_mask": batch.real.long(), "output_hidden_states": True}
    logprob = model.policy(batch.tokens, **given).logits[:, :-1].log_softmax(-1)
    new = logprob.gather(2, batch.tokens[:, 1:, None])[..., 0][chosen[:, 1:]]
    entropy = -(logprob.exp() * logprob).sum(-1)[chosen[:, 1:]]
    value = model.critic.head(model.critic.trunk(batch.tokens, **given).last_hidden_state)[:, :-1, 0][
        chosen[:, 1:]
    ]
    ratio = torch.exp(new - batch.drawn_logprob[chosen])
    surrogate = torch.minimum(
        ratio * advantage, torch.clamp(ratio, 1 - config.clip, 1 + config.clip) * advantage
    )
    old, target = batch.value[chosen], batch.target[chosen]
    kept = torch.minimum(torch.maximum(value, old - config.value_clip), old + config.value_clip)
    error = torch.maximum((value - target) ** 2, (kept - target) ** 2)
    model.zero_grad()
    (-surrogate + config.value_coefficient * error - config.entropy_coefficient * entropy).mean().backward()
    return (
        {name: p.grad.clone() for name, p in trainable(policy=model.policy, critic=model.critic).items()},
        ratio.detach(),
        value.detach(),
    )


@pytest.mark.parametrize("normalize", [True, False])
def test_the_objective_is_the_papers(normalize):
    changes = {
        "epochs": 1,
        "minibatch": 64,
        "value_clip": 0.6,
        "entropy_coefficient": 0.1,
        "max_grad_norm": None,
    }
    config = Config(**{**QUICK, **changes, "normalize_advantages": normalize})
    model = actor(dtype=torch.float64)
    algorithm = PPO(config, model)
    batch = algorithm.prepare(scored(algorithm, model))
    advantage = batch.advantage[batch.is_action]
    if normalize:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    _, ratio, value = by_the_papers(model, batch, advantage, config)
    # value(new) = value(old), A5
    assert torch.allclose(value, batch.value[batch.is_action], atol=1e-9, rtol=0)
    assert float((ratio - 1).abs().max()) < 1e-9
    for _ in range(2):
        algorithm.update(model, batch)
    got = gradients(algorithm, model, batch)
    expected, ratio, value = by_the_papers(model, batch, advantage, config)
    # some ratios are clipped, some are not
    assert 0.1 < float(((ratio - 1).abs() > config.clip).double().mean()) < 0.9
    assert (
        0.1 < float(((value - batch.value[batch.is_action]).abs() > config.value_clip).double().mean()) < 0.9
    )
    for name, gradient in expected.items():
        assert torch.allclose(got[name], gradient, atol=1e-6), name
        assert float(gradient.abs().max()) > 1e-6 or "k_proj" in name, name


def test_the_coefficient_follows_the_divergence_of_this_update():
    model = actor()
    algorithm = PPO(Config(**QUICK, kl_target=0.05), model)
    for number in range(3):
        _, logs = one_update(algorithm, model, number)
        error = min(max((logs["kl/reference"] - 0.05) / 0.05, -0.2), 0.2)
        assert logs["kl/coefficient_next"] == pytest.approx(
            logs["kl/coefficient"] * (1 + 0.1 * error), rel=1e-12
        )
    assert logs["kl/reference"] > 0.05  # it rose above the target, so beta grew
    assert logs["kl/coefficient_next"] > logs["kl/coefficient"]


@pytest.mark.parametrize("critic", ["network", "head"])
def test_e8_one_forward_and_one_backward_per_sequence_epoch_and_network(critic):
    model = actor(critic=critic)
    algorithm = PPO(Config(**{**QUICK, "epochs": 3, "token_budget": 40}), model)
    batch = algorithm.prepare(scored(algorithm, model, 16))
    passes: dict[str, list[int]] = {}

    def count(name, module):
        passes[name] = [0, 0]
        module.register_forward_hook(
            lambda m, given, out: passes[name].__setitem__(0, passes[name][0] + len(out))
        )
        module.register_full_backward_hook(
            lambda m, into, out: passes[name].__setitem__(1, passes[name][1] + len(out[0]))
        )

    last_norms = [module for name, module in model.named_modules() if name.endswith("ln_f")]
    for i, module in enumerate(last_norms):
        count(f"{i}", module)
    algorithm.update(model, batch)
    learning = [tuple(counted) for counted in passes.values() if counted != [0, 0]]
    assert learning == [(16 * 3, 16 * 3)] * (2 if critic == "network" else 1)
