"""The estimate counts the vectors that TRPO holds, and measures its memory without repeated passes."""

from loquent.algorithms.policy_gradient.trpo import TRPO
from loquent.training import recipes
from loquent.training.estimate import estimate
from loquent.training.estimates import language_models

SMALL = (
    "task.limit=60",
    "model={layers: 1, width: 16, vocabulary: 300}",
    "metrics={}",
    "rewards={lexicon: 1.0}",
)


def small(kind, *more):
    return recipes.load(f"reviews_{kind}", [*SMALL, *more], profile="smoke")


def test_the_vectors_of_the_trust_region_are_counted():
    by_trpo, by_ppo = estimate(small("trpo")), estimate(small("ppo"))
    policy = 4 * by_trpo.parameters["policy"]
    assert by_trpo.memory["optimizer"] > TRPO.working_copies * policy
    assert by_ppo.memory["optimizer"] < TRPO.working_copies * policy
    more = estimate(small("trpo", "algorithm.orthogonal=true"))
    assert more.memory["optimizer"] - by_trpo.memory["optimizer"] == 15 * policy  # one for each iteration
    assert by_trpo.memory["weights"] == by_ppo.memory["weights"]


def test_where_a_minibatch_takes_long_bytes_are_measured_without_repetitions_and_times_with_them(monkeypatch):
    measured, measure = [], language_models.measure

    def recorded(trainer, rows, *, counting):
        config = trainer.algorithm.config
        measured.append((counting, config.conjugate_steps, config.searches, config.critic_epochs))
        return measure(trainer, rows, counting=counting)

    monkeypatch.setattr(language_models, "measure", recorded)
    monkeypatch.setattr(language_models, "PATIENCE", 0.0)
    recipe = small("trpo")
    full = (recipe.config.conjugate_steps, recipe.config.searches, recipe.config.critic_epochs)
    estimate(recipe)
    assert measured[-2:] == [(True, 1, 1, 1), (False, *full)]
    assert full > (1, 1, 1)
