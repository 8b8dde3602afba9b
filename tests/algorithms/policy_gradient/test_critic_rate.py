"""The critic's own learning rate, schedule and warm-up, in PPO, NLPO and A2C; the default discount of all."""

import dataclasses

import pytest
import torch

from helpers.algorithms import letters
from helpers.algorithms.letters import actor, one_update, parameters, same
from loquent.algorithms.policy_gradient import a2c, nlpo, ppo, trpo
from loquent.core.algorithm import step_size
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.models.actor import Actor
from loquent.models.decode.loop import Decoding
from loquent.pretrained import lora
from loquent.training import recipes

LEARNERS = [ppo.PPO, nlpo.NLPO, a2c.A2C]
OF_CRITIC = {"critic_learning_rate": 2e-3, "critic_schedule": "cosine", "critic_rate_warmup": 4}
OF_POLICY = {"learning_rate": 1e-3, "schedule": "linear", "warmup": 2, "total_steps": 10, "floor": 0.5}
PLAIN = {"learning_rate": 1e-3}


def adapted():
    """An actor whose policy and critic learn adapters."""
    made, decoding = letters.language(dtype=torch.float64), Decoding(max_new_tokens=6)
    options = {"rank": 2, "alpha": 4.0, "dropout": 0.0, "targets": (), "path": "x", "revision": ""}
    lora.adapt(made.module, **options, key=Key(0))
    return Actor.build(made, critic="network", decoding=decoding, evaluation=decoding, key=Key(0))


ACTORS = {
    "network": lambda: actor(dtype=torch.float64),
    "head": lambda: actor(dtype=torch.float64, critic="head"),
    "adapters": adapted,
}


@pytest.mark.parametrize("critic", ACTORS)
@pytest.mark.parametrize("kind", LEARNERS)
def test_the_critic_moves_by_its_own_rate(kind, critic):
    """Gradient descent by hand: a parameter changes by its rate times its gradient."""
    model, whole = ACTORS[critic](), {} if kind is a2c.A2C else {"epochs": 1, "minibatch": 64}
    rates = {"optimizer": "sgd", "learning_rate": 0.25, "critic_learning_rate": 0.5, "max_grad_norm": None}
    algorithm = kind(kind.Config(**rates, **whole, beta=0.0), model)
    batch = algorithm.prepare(letters.scored(algorithm, model))
    gradient = letters.gradients(algorithm, model, batch)
    before = {name: p.detach().clone() for name, p in algorithm.parameters.items()}
    assert algorithm.update(model, batch)["critic/learning_rate"] == 0.5
    critics = {name for name in before if name.startswith("critic.")}
    assert critics == {"critic.head.weight"} if critic == "head" else len(critics) > 5
    for name, p in algorithm.parameters.items():
        rate = 0.5 if name in critics else 0.25
        assert torch.allclose(p, before[name] - rate * gradient[name], atol=1e-12, rtol=0), name
    assert max(float(gradient[name].abs().max()) for name in critics) > 1e-3


@pytest.mark.parametrize(("critic", "alone"), [("network", True), ("head", False)])
def test_the_policy_of_an_update_does_not_depend_on_the_rate_of_a_critic_with_its_own_trunk(critic, alone):
    ends = []
    for rate in (None, 0.03):
        model = actor(critic=critic)
        settings = {"learning_rate": 3e-3, "minibatch": 6, "epochs": 2, "max_grad_norm": None}
        one_update(ppo.PPO(ppo.Config(**settings, critic_learning_rate=rate), model), model, 0)
        ends.append((parameters(model.policy), parameters(model.critic.head)))
    (policy, head), (other_policy, other_head) = ends
    assert not same(head, other_head)
    assert same(policy, other_policy) == alone  # a head reads the policy's trunk, which both losses train


def test_the_rates_of_policy_and_critic_by_hand():
    config = ppo.Config(**OF_POLICY, **OF_CRITIC, minibatch=8, epochs=2)
    critic = config.own_rates["critic"]
    # policy: 1/2, 1 of 1e-3, then from 1 to 1/2 in eight steps; critic: quarters of 2e-3, a cosine in six
    assert [step_size(step, config) for step in range(12)] == pytest.approx(
        [5e-4, 1e-3, 1e-3, *(1e-3 * (0.5 + 0.5 * (8 - n) / 8) for n in range(1, 8)), 5e-4, 5e-4]
    )
    assert [step_size(step, critic) for step in (0, 1, 2, 3, 4, 7, 10, 11)] == pytest.approx(
        [5e-4, 1e-3, 1.5e-3, 2e-3, 2e-3, 1.5e-3, 1e-3, 1e-3]
    )
    model, used = actor(), []
    algorithm = ppo.PPO(config, model)
    algorithm.gradient.optimizer.register_step_pre_hook(
        lambda optimizer, *_: used.append({group["network"]: group["lr"] for group in optimizer.param_groups})
    )
    logs = [one_update(algorithm, model, number)[1]["critic/learning_rate"] for number in range(3)]
    assert used == [{"": step_size(n, config), "critic": step_size(n, critic)} for n in range(12)]
    assert logs == [step_size(n, critic) for n in (3, 7, 11)]


@pytest.mark.parametrize("name", OF_CRITIC)
def test_what_the_critic_does_not_set_is_the_policys(name):
    rate = ppo.Config(**OF_POLICY, **{name: OF_CRITIC[name]}).own_rates["critic"]
    expected = {**OF_POLICY, name.replace("rate_", "").removeprefix("critic_"): OF_CRITIC[name]}
    assert {setting: getattr(rate, setting) for setting in OF_POLICY} == expected
    assert not ppo.Config(**OF_POLICY).own_rates


@pytest.mark.parametrize(
    "settings", [{"critic_schedule": "linear"}, {"critic_rate_warmup": 0.25}, {"schedule": "cosine"}]
)
def test_a_rate_that_spans_the_run_gets_its_end(settings):
    config = ppo.Config(minibatch=8, epochs=2, **settings)
    assert next(iter(settings)) in config.spread_over_run()
    assert config.for_run(updates=3, episodes=16) == dataclasses.replace(config, total_steps=12)
    with pytest.raises(BadSetting, match="outside a run"):
        step_size(0, config)


@pytest.mark.parametrize(
    ("before", "after"),
    [({**OF_POLICY, **OF_CRITIC}, {}), (PLAIN, {"critic_learning_rate": 1e-3})],
    ids=["both schedules", "the state of a learner with one rate"],
)
def test_resumed_is_the_same_run_to_the_bit(before, after):
    """Checkpoints name parameters, not their groups."""
    straight, again = actor(3), actor(3)
    algorithm = ppo.PPO(ppo.Config(**before, minibatch=6, epochs=2), straight, key=Key(5))
    one_update(algorithm, straight, 0)
    again.load_state_dict(straight.state_dict())
    resumed = ppo.PPO(dataclasses.replace(algorithm.config, **after), again, key=Key(5))
    resumed.load_state_dict(letters.through_json(algorithm.state_dict()))
    logs = [one_update(a, m, 1)[1] for a, m in ((algorithm, straight), (resumed, again))]
    assert logs[0] == logs[1]
    assert same(parameters(straight), parameters(again))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critic_rate_warmup": 9, "total_steps": 9, "critic_schedule": "linear"}, "critic_rate_warmup"),
        ({"critic_learning_rate": 0.1, "value_coefficient": 0.0}, "critic_learning_rate = 0.1 .* no loss"),
        ({"critic_rate_warmup": 2, "value_coefficient": 0.0}, "critic_rate_warmup = 2 .* no loss"),
        ({"critic_learning_rate": -1.0}, "critic_learning_rate must be at least 0"),
        ({"critic_schedule": "step"}, "critic_schedule must be one of 'same'"),
    ],
)
def test_contradictions_are_refused(settings, message):
    for kind in LEARNERS:
        with pytest.raises(BadSetting, match=message):
            kind.Config(**settings)


def test_a_policy_that_stays_is_not_a_run_in_vain():
    assert ppo.Config(learning_rate=0.0).idle(4, 16) == "learning_rate = 0: no update changes a weight"
    own = ppo.Config(learning_rate=0.0, critic_learning_rate=1e-3)
    assert own.idle(4, 16) == "learning_rate = 0: no update changes a weight but those of the critic"


@pytest.mark.parametrize("kind", [ppo, nlpo])
def test_a_warm_up_of_the_critic_over_the_whole_run_is_named(kind):
    warm = kind.Config(critic_warmup=4)
    assert warm.idle(4, 16) == (
        "critic_warmup = 4 of 4 updates: the critic learns alone, and no update changes the policy; set "
        "critic_warmup below 4"
    )
    assert warm.idle(5, 16) == ""
    assert "critic_warmup" not in dataclasses.replace(warm, learning_rate=0.0).idle(4, 16)


def test_a_critic_that_stops_before_the_end_is_named():
    shape = {"minibatch": 8, "epochs": 1}  # two gradient steps in each of four updates
    stays = ppo.Config(critic_learning_rate=0.0, **shape).idle(4, 16)
    assert stays == "critic_learning_rate = 0: no update changes the critic"
    early = ppo.Config(critic_schedule="linear", total_steps=5, **shape)
    assert early.idle(4, 16).startswith(
        "critic_schedule = 'linear' with total_steps = 5 and floor = 0: the learning rate of the critic is 0 "
        "after update 3 of 4"
    )
    assert dataclasses.replace(early, total_steps=7).idle(4, 16) == ""
    assert dataclasses.replace(early, floor=0.1).idle(4, 16) == ""
    both = dataclasses.replace(early, critic_schedule="same", schedule="cosine", critic_learning_rate=1e-3)
    assert both.idle(4, 16).startswith("schedule = 'cosine' with total_steps = 5 and floor = 0: the learning")
    alone = dataclasses.replace(both, critic_schedule="constant", critic_learning_rate=0.0).idle(4, 16)
    assert alone.startswith(f"{stays}; schedule = 'cosine'")
    rests = ppo.Config(learning_rate=0.0, critic_schedule="linear", total_steps=5, **shape)
    assert rests.idle(4, 16) == "learning_rate = 0: no update changes a weight"
    moves = dataclasses.replace(rests, critic_learning_rate=1e-3).idle(4, 16)
    assert "but those of the critic; critic_schedule = 'linear' with total_steps = 5" in moves


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("reviews_grpo", "grpo has nothing of the kind; algorithm.critic_learning_rate is a setting of a2c"),
        ("reviews_trpo", "the rate of trpo's critic is algorithm.learning_rate"),
    ],
)
def test_learners_without_the_setting_refuse_it(recipe, says):
    with pytest.raises(BadSetting, match=says):
        recipes.load(recipe, ["algorithm.critic_learning_rate=1e-3"])


@pytest.mark.parametrize("kind", [*LEARNERS, trpo.TRPO])
def test_a_reward_at_the_end_is_not_discounted_by_default(kind):
    """With gamma 1 and lambda 1 the return of every token is the reward of the answer."""
    assert all("gamma" in preset for preset in kind.Config.presets.values())
    model = actor()
    algorithm = kind(kind.Config(beta=0.0, lam=1.0), model)
    batch = algorithm.prepare(letters.scored(algorithm, model))
    whole = batch.reward.sum(1, keepdim=True).expand_as(batch.target)
    assert torch.allclose(batch.target[batch.is_action], whole[batch.is_action], atol=1e-6)
