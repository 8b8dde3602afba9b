"""`model.autocast` and `model.recompute`: the same learning in less memory, resumed and loaded alike."""

import pytest
import torch

from helpers.training.small_runs import recipe_of, results
from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadModel
from loquent.files.machine.memory import Saved
from loquent.pretrained.footprint import mix, products, recompute
from loquent.training.extending import extend_recipe
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer

LEARNERS = ("ppo", "nlpo", "a2c", "trpo", "grpo", "rloo", "supervised", "ilql")
MIXED, AGAIN = "model.autocast=bfloat16", "model.recompute=true"


def learned(trainer):
    return {name: p.detach().clone() for name, p in trainer.algorithm.parameters.items()}


@pytest.mark.sweep("ppo", "grpo", "supervised")
@pytest.mark.parametrize("learner", LEARNERS)
def test_recomputed_activations_give_the_same_update(learner, recorded):
    rate = () if learner == "trpo" else ("algorithm.learning_rate=0.001",)
    rate = (*rate, "model.dropout=0")  # with dropout, layers that are computed again draw other units
    first, second = (Trainer(recipe_of(learner, recorded, *rate, *more)) for more in ((), (AGAIN,)))
    before = learned(first)
    logs, again = first.update(), second.update()
    assert logs["episodes"] == again["episodes"]
    mine, theirs = learned(first), learned(second)
    assert logs["gradient/norm"] == pytest.approx(again["gradient/norm"], rel=1e-4, abs=1e-6)
    if learner == "trpo":  # conjugate gradients enlarge rounding errors
        assert logs["trust/kl"] == pytest.approx(again["trust/kl"], rel=0.01)
    elif logs.get("advantage/deviation", 1.0):  # without a gradient AdamW steps by its rounding errors
        assert max(float((mine[name] - theirs[name]).abs().max()) for name in mine) < 1e-4
        assert any(not torch.equal(before[name], mine[name]) for name in mine)
    if learner in LEARNERS[:6]:
        assert again["kl/reference"] == 0.0
        assert again["policy/ratio_error"] < 1e-5


def test_recomputed_layers_save_their_inputs_alone():
    saved = {}
    for name in ("whole", "again"):
        made = pretrained.build(
            ["a b c d e f"], layers=4, width=32, heads=2, context=64, key=Key(0), device="cpu"
        )
        if name == "again":
            recompute(made.module)
        weights = frozenset(p.untyped_storage().data_ptr() for p in made.module.parameters())
        with Saved(weights) as counted:
            states = pretrained.hidden(made.module, torch.ones(4, 60, dtype=torch.long))
            saved[name] = counted.live
        states.sum().backward()
        saved[f"{name} gradient"] = made.module.transformer.h[0].mlp.c_fc.weight.grad.clone()
    assert saved["again"] < saved["whole"] / 4
    assert torch.allclose(saved["again gradient"], saved["whole gradient"], atol=1e-5)


def test_a_network_without_such_layers_is_refused():
    with pytest.raises(BadModel, match="Linear has no layers that transformers can compute again"):
        recompute(torch.nn.Linear(2, 2))


@pytest.mark.sweep("ppo", "grpo", "supervised")
@pytest.mark.parametrize("learner", LEARNERS)
def test_products_are_in_bfloat16_and_the_ratio_is_near_1(learner, recorded):
    trainer = Trainer(recipe_of(learner, recorded, MIXED))
    policy = trainer.actor.policy
    assert policy.dtype == torch.float32
    with products(policy):
        assert torch.nn.functional.linear(torch.ones(1, 2), torch.ones(1, 2)).dtype == torch.bfloat16
    seen = []
    layer = policy.base_model.h[0].mlp.act
    layer.register_forward_hook(lambda part, given, made: seen.append(made.dtype))
    logs = trainer.update()
    assert set(seen) == {torch.bfloat16}
    if learner in LEARNERS[:6]:
        assert logs["kl/reference"] == 0.0
        assert logs["policy/ratio_error"] < 2e-2  # spec A5


def test_a_reference_by_path_has_the_same_type_of_products(short):
    paths = (f"model.path={short.folder}", f"model.reference={short.folder}")
    trainer = Trainer(recipe_of("ppo", None, MIXED, *paths))
    assert trainer.actor.reference is not trainer.actor.policy
    assert trainer.update()["kl/reference"] == 0.0


def test_products_read_the_weights_of_the_last_step():
    made = pretrained.build(
        ["a b c d e f"], layers=1, width=32, heads=2, context=64, key=Key(0), device="cpu", dropout=0.0
    )
    module, ids = made.module, torch.ones(1, 6, dtype=torch.long)
    mix(module, "bfloat16")
    with products(module, learns=True):
        pretrained.hidden(module, ids)
        with torch.no_grad():
            for weight in module.parameters():
                weight.mul_(1.5)
        stepped = pretrained.hidden(module, ids)
    with products(module):
        assert torch.equal(pretrained.hidden(module, ids), stepped)


@pytest.mark.parametrize(("learner", "key"), [("ppo", "policy/kl_old"), ("trpo", "trust/kl")])
def test_products_in_bfloat16_measure_the_policy_that_a_step_wrote(learner, key):
    more = ("algorithm.epochs=4", "algorithm.learning_rate=0.01") if learner == "ppo" else ()
    logs = [Trainer(recipe_of(learner, None, *more, *mixed)).update() for mixed in ((), (MIXED,))]
    assert logs[1][key] == pytest.approx(logs[0][key], rel=0.3)  # bfloat16 has 8 bits


@pytest.mark.parametrize("learner", ["ppo", "grpo"])
def test_a_run_with_both_is_resumed_to_the_bit_and_loads(learner, tmp_path):
    recipe = recipe_of(learner, None, MIXED, AGAIN)
    run = train(recipe, tmp_path / "run", progress=False)
    train(extend_recipe(run, ["training.updates=2"]), run.folder, progress=False, resume=True)
    whole = train(recipe.replace("training.updates=2"), tmp_path / "whole", progress=False)
    assert results(run.folder) == results(whole.folder)
    again = load_run(whole.folder).evaluate(episodes=recipe.training.final_episodes)
    assert again.values == whole.evaluation["values"]
