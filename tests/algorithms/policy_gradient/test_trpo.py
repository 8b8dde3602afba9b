"""TRPO: conjugate gradients, Fisher-vector products and the step against a dense matrix, the line search."""

import math
from dataclasses import replace

import pytest
import torch

from helpers.algorithms.letters import actor, one_update, parameters, same, scored
from loquent.algorithms.policy_gradient import trpo
from loquent.algorithms.policy_gradient.on_policy import of
from loquent.algorithms.policy_gradient.trpo import TRPO, Config
from loquent.algorithms.shared.trust_region import assign, conjugate_gradients, flat, longest, parts
from loquent.core.seeding import Key
from loquent.errors import BadSetting, LoquentError
from loquent.models.decode.loop import Decoding
from loquent.models.score.fisher import Fisher, action_logits, mean_kl
from loquent.pretrained.learning.optimization import trainable

TINY = {"width": 8, "dtype": torch.float64}


def collected(config=None, count=6, **more):
    model = actor(**{**TINY, **more})
    algorithm = TRPO(config or Config(), model)
    return algorithm, model, algorithm.prepare(scored(algorithm, model, count))


def dense(model, batch):
    """The Fisher matrix by its definition: the mean over tokens of Σ_a π(a) ∇ log π(a) ∇ log π(a)ᵀ."""
    parameters = list(trainable(policy=model.policy).values())
    logprob = action_logits(model.policy, batch).log_softmax(-1)
    total = torch.zeros(2 * [sum(p.numel() for p in parameters)], dtype=torch.float64)
    for row in logprob:
        rows = [
            flat(
                torch.autograd.grad(
                    entry, parameters, retain_graph=True, materialize_grads=True, allow_unused=True
                ),
                torch.float64,
            )
            for entry in row
        ]
        jacobian = torch.stack(rows)
        total += jacobian.T @ (row.detach().exp()[:, None] * jacobian)
    return total / len(logprob)


def system(seed, shift=1.0):
    draw = Key(seed, ("system",)).generator()
    square = torch.from_numpy(draw.normal(size=(20, 20)))
    matrix = square @ square.T + shift * torch.eye(20, dtype=torch.float64)
    return matrix, torch.from_numpy(draw.normal(size=20))


@pytest.mark.parametrize("shift", [1.0, 0.1])
def test_a12_conjugate_gradients_solve_every_system_of_twenty(shift):
    missed = []
    for seed in range(200):
        matrix, right = system(seed, shift)
        solution, residual = conjugate_gradients(lambda v, matrix=matrix: matrix @ v, right, 20)
        assert float((solution - torch.linalg.solve(matrix, right)).abs().max()) < 1e-6
        assert float((right - matrix @ solution).norm() / right.norm()) < 1e-6
        assert residual < 1e-6
        plain, _ = conjugate_gradients(lambda v, matrix=matrix: matrix @ v, right, 20, orthogonal=False)
        missed.append(float((right - matrix @ plain).norm() / right.norm()) > 1e-6)
    assert sum(missed) > 100  # what rounding does to residuals that are not kept orthogonal


def test_the_residual_is_what_is_left():
    matrix, right = system(3)
    for orthogonal in (True, False):
        few, left = conjugate_gradients(lambda v: matrix @ v, right, 4, orthogonal=orthogonal)
        assert not torch.allclose(few, torch.linalg.solve(matrix, right), atol=1e-6)
        assert left == pytest.approx(float((right - matrix @ few).norm() / right.norm()), rel=1e-6)


def test_conjugate_gradients_end_where_there_is_nothing_left():
    zero = torch.zeros(3)
    solution, residual = conjugate_gradients(lambda v: v, zero, 5)
    assert (solution.tolist(), residual) == ([0.0] * 3, 0.0)
    products = []
    conjugate_gradients(lambda v: products.append(1) or 2 * v, torch.ones(3), 50)
    assert len(products) == 1  # of a multiple of the identity


def test_the_longest_step_by_hand():
    # xᵀA x = 8, δ = 1: √(2 / 8)
    assert longest(torch.tensor([2.0]), torch.tensor([4.0]), 1.0) == 0.5
    assert longest(torch.zeros(1), torch.zeros(1), 1.0) == 0.0
    tensors = [torch.arange(6.0).view(2, 3), torch.ones(2)]
    assert [
        same(a, b) for a, b in zip(parts(flat(tensors, torch.float32), tensors), tensors, strict=True)
    ] == [True] * 2


def test_fisher_vector_products_are_those_of_the_dense_matrix():
    _, model, batch = collected()
    matrix = dense(model, batch)
    own = list(trainable(policy=model.policy).values())
    vector = torch.from_numpy(Key(1).generator().normal(size=len(matrix)))
    for budget in (9999, 1):  # one micro-batch with its graph kept, and one for each row
        got = flat(Fisher(model.policy, batch, own, budget).product(parts(vector, own)), torch.float64)
        assert torch.allclose(got, matrix @ vector, atol=1e-12)
        assert float(got.abs().max()) > 1e-3
    assert torch.allclose(matrix, matrix.T)
    assert float(torch.linalg.eigvalsh(matrix)[0]) > -1e-12


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("decoding", [None, Decoding(max_new_tokens=6, top_k=4, temperature=0.7)])
def test_the_step_is_that_of_the_dense_fisher_matrix(decoding, orthogonal):
    config = Config(conjugate_steps=300, normalize_advantages=False, orthogonal=orthogonal)
    algorithm, model, batch = collected(config, decoding=decoding)
    own = list(trainable(policy=model.policy).values())
    loss = -algorithm.loss(model, batch)["total"].mean()
    gradient = flat(torch.autograd.grad(loss, own, materialize_grads=True, allow_unused=True), torch.float64)
    matrix = dense(model, batch) + config.damping * torch.eye(len(gradient), dtype=torch.float64)
    solution = torch.linalg.solve(matrix, gradient)
    expected = solution * (2 * config.radius / (solution @ matrix @ solution)).sqrt()
    got, residual = algorithm.direction(model, batch, gradient)
    assert float((got - expected).norm() / expected.norm()) < 1e-8
    assert residual < 1e-8
    before = flat(own, torch.float64)
    logs = algorithm.update(model, batch)
    moved = flat(own, torch.float64) - before
    assert float((moved - logs["trust/share"] * expected).norm() / expected.norm()) < 1e-8
    plain = gradient * (2 * config.radius / (gradient @ matrix @ gradient)).sqrt()
    assert float((got - plain).norm() / expected.norm()) > 0.01  # it is not the plain gradient


def test_the_kl_is_exact_and_of_the_full_softmax():
    _, model, batch = collected(decoding=Decoding(max_new_tokens=6, top_k=3))
    other = actor(seed=4, **TINY)
    assert mean_kl(model.policy, model.policy, batch, 9999) == 0.0
    with torch.no_grad():
        before, after = (action_logits(m.policy, batch).log_softmax(-1) for m in (model, other))
    expected = float((before.exp() * (before - after)).sum(1).mean())
    assert mean_kl(model.policy, other.policy, batch, 1) == pytest.approx(expected, rel=1e-12)
    assert mean_kl(other.policy, model.policy, batch, 9999) != pytest.approx(expected, rel=1e-3)


def test_a12_an_accepted_step_is_in_the_trust_region_and_improves():
    for radius in (1e-4, 1e-2, 0.3):
        algorithm, model, batch = collected(Config(radius=radius), count=24, dtype=torch.float32, width=32)
        old = actor(dtype=torch.float32, width=32).policy
        logs = algorithm.update(model, batch)
        assert 0 < logs["trust/kl"] <= radius
        assert logs["trust/kl"] == pytest.approx(mean_kl(old, model.policy, batch, 9999), rel=1e-6)
        assert logs["trust/improvement"] > 0
        advantage = algorithm.centre_advantages(batch)
        new = -algorithm.loss(model, advantage)["total"].mean()
        start = of(advantage.advantage, batch.is_action).mean()
        assert float((new - start).detach()) == pytest.approx(logs["trust/improvement"], abs=1e-5)


def test_a12_without_an_acceptable_step_the_weights_are_restored_to_the_bit(monkeypatch):
    algorithm, model, batch = collected(count=24, dtype=torch.float32)
    before, tried = parameters(model.policy), []
    measure = algorithm._measure

    def refused(*given):
        tried.append(measure(*given))
        return algorithm.config.radius * 1.01, 1.0  # outside, although it improves

    monkeypatch.setattr(algorithm, "_measure", refused)
    critic = parameters(model.critic)
    logs = algorithm.update(model, batch)
    assert len(tried) == algorithm.config.searches
    assert [kl for kl, _ in tried] == sorted((kl for kl, _ in tried), reverse=True)  # ever shorter
    assert same(before, parameters(model.policy))
    assert (logs["trust/kl"], logs["trust/improvement"], logs["trust/share"]) == (0.0, 0.0, 0.0)
    assert not same(critic, parameters(model.critic))  # the critic learns all the same


def test_a_step_that_does_not_improve_is_refused(monkeypatch):
    algorithm, model, batch = collected(count=24, dtype=torch.float32)
    before = parameters(model.policy)
    monkeypatch.setattr(algorithm, "direction", lambda m, b, g: (-0.01 * g, 0.0))  # downhill
    assert algorithm.update(model, batch)["trust/share"] == 0.0
    assert same(before, parameters(model.policy))


def test_a_head_does_not_move_the_policy():
    algorithm, model, batch = collected(critic="head", count=24, dtype=torch.float32)
    before, head = parameters(model.policy), model.critic.head.weight.detach().clone()
    algorithm.update(model, replace(batch, advantage=torch.zeros_like(batch.advantage)))
    assert same(before, parameters(model.policy))
    assert not torch.equal(head, model.critic.head.weight)


def test_a_critic_whose_gradient_is_not_finite_stops_the_run_before_its_step():
    algorithm, model, batch = collected()
    batch.target[batch.is_action] = math.inf
    before = parameters(model.critic)
    with pytest.raises(LoquentError, match="norm of the gradient is"):
        algorithm.update(model, batch)
    assert same(before, parameters(model.critic))


def test_small_steps_of_16_bits_add_up():
    model = actor(dtype=torch.bfloat16)
    algorithm = TRPO(Config(radius=1e-6, searches=30), model)
    start = algorithm._flat().clone()
    for number in range(2):
        one_update(algorithm, model, number)
    exact = algorithm._flat()
    assert exact.dtype == torch.float32
    assert float((exact - start).norm()) > 0
    rounded = flat(list(trainable(policy=model.policy).values()), torch.float32)
    assert torch.equal(exact.bfloat16().float(), rounded)


def test_the_preset_is_the_released_code():
    config = Config(**trpo.Config.presets["rl4lms"])
    assert (config.radius, config.conjugate_steps, config.damping) == (0.01, 15, 0.1)
    assert (config.shrink, config.searches, config.critic_epochs) == (0.8, 10, 10)
    assert (config.learning_rate, config.gamma, config.lam) == (1e-3, 0.99, 0.95)


def test_assigning_a_flat_vector_is_the_inverse_of_reading_it():
    model = actor()
    own = list(trainable(policy=model.policy).values())
    before = parameters(model.policy)
    vector = flat(own, torch.float32)
    assign(own, vector + 1)
    assert not same(before, parameters(model.policy))
    assign(own, vector)
    assert same(before, parameters(model.policy))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("radius", 0.0, "never move; set it above 0"),
        ("shrink", 0.0, "between 0 and 1, both excluded"),
        ("shrink", 1.0, "between 0 and 1, both excluded"),
    ],
)
def test_a_step_that_cannot_move_or_cannot_shrink_is_refused(name, value, message):
    with pytest.raises(BadSetting, match=f"{name} = {value:g} is out of range.*{message}"):
        Config(**{name: value})
