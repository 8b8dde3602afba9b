"""Small settings of each learner of language models, and what they learn from."""

from helpers.algorithms.letters import TASK
from loquent.agents.baselines import Expert, Random
from loquent.core import registry
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import token_batch

STEPS = {"learning_rate": 3e-3, "minibatch": 6, "epochs": 2}
ON_POLICY = {
    "ppo": STEPS,
    "nlpo": {**STEPS, "top_p": 0.7, "mu": 2},
    "a2c": {"learning_rate": 3e-3},
    "trpo": {"learning_rate": 3e-3, "critic_epochs": 1, "critic_minibatch": 6, "conjugate_steps": 4},
    "grpo": STEPS,
    "rloo": STEPS,
}
ONE_PASS = {"learning_rate": 3e-3, "minibatch": 6}
OWN_ANSWERS = {
    "online_dpo": {**STEPS, "minibatch": 2},
    "reinforced_self_training": ONE_PASS,
}  # they compare them, without a ratio
OFFLINE = {
    "supervised": ONE_PASS,
    "cloning": ONE_PASS,
    "filtered_cloning": {**ONE_PASS, "top": 0.5},
    "decision_transformer": ONE_PASS,
    "monte_carlo": STEPS,
    "ilql": {**STEPS, "awac_beta": 0.5, "cql_weight": 0.1},
    "cql": STEPS,
    "psi": STEPS,
    "ilql_utterance": {**STEPS, "best_of": 2},
    "chai": {**STEPS, "candidates": 2, "best_of": 2},
    **dict.fromkeys(("dpo", "kto", "orpo"), STEPS),
}


def learner(name, model):
    kind = registry.find("algorithm", name)
    return kind(kind.Config(**{**ON_POLICY, **OWN_ANSWERS, **OFFLINE}[name]), model, key=Key(5))


def recorded(model):
    """Random games and the expert's on the same rows, as a batch for learners from recorded episodes."""
    rows = TASK.rows("train")[:12]
    played = [
        *play(TASK, games(rows), Random(TASK), seed=1),
        *play(TASK, games(rows), Expert(TASK), seed=2),
    ]
    batch = token_batch(played, model.format, TASK.spec.rewards, max_length=32)
    return batch if model.reference is None else score(model, batch)
