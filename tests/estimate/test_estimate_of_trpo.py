"""The estimate counts the vectors that TRPO holds during an update."""

from loquent import recipes
from loquent.algorithms.policy_gradient.trpo import TRPO
from loquent.estimate.language_models import estimate


def test_the_vectors_of_the_trust_region_are_counted():
    by_trpo, by_ppo = (
        estimate(recipes.load(f"reviews_{kind}", ["metrics={}", "rewards={lexicon: 1.0}"], profile="smoke"))
        for kind in ("trpo", "ppo")
    )
    policy = 4 * by_trpo.parameters["policy"]
    assert by_trpo.memory["optimizer"] > TRPO.working_copies * policy
    assert by_ppo.memory["optimizer"] < TRPO.working_copies * policy
    orthogonal = ["metrics={}", "rewards={lexicon: 1.0}", "algorithm.orthogonal=true"]
    more = estimate(recipes.load("reviews_trpo", orthogonal, profile="smoke"))
    assert more.memory["optimizer"] - by_trpo.memory["optimizer"] == 15 * policy  # one for each iteration
    assert by_trpo.memory["weights"] == by_ppo.memory["weights"]
