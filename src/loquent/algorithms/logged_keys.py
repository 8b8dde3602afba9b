"""The keys that the built-in algorithms log, with unit and meaning.

The tables stand apart from the algorithms, so that a report can read them without importing torch. A test
compares each with the table of its class.
"""

from __future__ import annotations

from collections.abc import Mapping

from loquent.core.logged import Logged

SCHEDULE = {
    "gradient/steps": Logged("steps", "gradient steps of the update"),
    "learning_rate": Logged("", "learning rate of the last gradient step"),
}

PPO = {
    "policy/loss": Logged(
        "",
        "mean of the negated clipped surrogate over tokens and gradient steps of the update; null "
        "without gradient steps",
    ),
    "policy/entropy": Logged(
        "nats per token",
        "mean entropy of the distribution that tokens are drawn from, with its support and temperature",
    ),
    "policy/ratio": Logged("", "mean of r_t = exp(new log-probability - log-probability when drawn)"),
    "policy/ratio_error": Logged(
        "", "largest |r_t - 1| in the first minibatch, before the first gradient step: 0 up to rounding"
    ),
    "policy/clip_fraction": Logged(
        "share of tokens", "share of tokens with a ratio outside [1 - clip, 1 + clip]"
    ),
    "policy/kl_old": Logged(
        "nats per token",
        "mean of (r_t - 1) - log r_t (k3): divergence of the new policy from the policy that drew the tokens",
    ),
    "critic/loss": Logged(
        "return²",
        "mean squared error between values and their targets; with value_clip, that of clipped values",
    ),
    "critic/explained_variance": Logged(
        "share of variance",
        "1 - Var(target - value) / Var(target) before the update; null if targets do not vary",
    ),
    "gradient/norm": Logged("", "mean norm of the gradient of both networks before clipping"),
    "gradient/steps": Logged(
        "steps", "gradient steps; fewer than epochs x minibatches if stop_kl ended the update"
    ),
    "kl/reference": Logged(
        "nats per token",
        "mean over tokens of log policy - log reference (k1, full softmax) at collection",
        0.0,
    ),
    "kl/reference_k3": Logged(
        "nats per token", "the same divergence by the k3 estimate, which is never negative", 0.0
    ),
    "kl/coefficient": Logged("reward per nat", "beta in the rewards of this update"),
    "kl/coefficient_next": Logged("reward per nat", "beta after the controller's step"),
    "reward/task": Logged(
        "reward per episode", "mean over episodes of the summed reward, without the penalty"
    ),
    "reward/penalty": Logged(
        "reward per episode", "mean over episodes of the summed penalty, - beta * sum of kl"
    ),
    "advantage/mean": Logged("return", "mean advantage over tokens, before normalisation"),
    "advantage/deviation": Logged(
        "return", "standard deviation of advantages over tokens, before normalisation"
    ),
}

A2C = {key: logged for key, logged in PPO.items() if key != "policy/clip_fraction"} | {
    "policy/loss": Logged(
        "", "mean over tokens of the negated advantage x log-probability, before the gradient step"
    ),
    "policy/ratio": Logged(
        "",
        "mean of exp(log-probability - log-probability when drawn): 1 up to rounding, as A2C makes one step",
    ),
    "policy/kl_old": Logged("nats per token", "mean k3 of the two policies: 0 up to rounding"),
    "gradient/steps": Logged("steps", "gradient steps: 1"),
}

TRPO = {
    "policy/loss": Logged("", "mean over tokens of the negated surrogate, before the step"),
    "policy/entropy": PPO["policy/entropy"],
    "policy/ratio_error": Logged("", "largest |r_t - 1| before the step: 0 up to rounding"),
    "trust/kl": Logged(
        "nats per token",
        "mean KL of the policy before the step from the one after it, by the full softmax; 0 without a step",
    ),
    "trust/improvement": Logged("", "growth of the surrogate by the step; 0 without a step"),
    "trust/share": Logged(
        "share of the step", "share of the longest step that the line search accepted; 0: no step"
    ),
    "trust/residual": Logged(
        "", "norm of what conjugate gradients left of the gradient, relative to its norm"
    ),
    "critic/loss": Logged("return²", "mean squared error between values and their targets"),
    "critic/explained_variance": PPO["critic/explained_variance"],
    "gradient/norm": Logged("", "norm of the gradient of the surrogate"),
    "gradient/steps": Logged("steps", "gradient steps of the critic"),
    **{
        key: PPO[key]
        for key in (
            "kl/reference",
            "kl/reference_k3",
            "kl/coefficient",
            "kl/coefficient_next",
            "reward/task",
            "reward/penalty",
            "advantage/mean",
            "advantage/deviation",
        )
    },
}

RLOO = {
    "policy/loss": Logged(
        "", "mean of the negated clipped surrogate over gradient steps; each token has that of its answer"
    ),
    **{
        key: PPO[key]
        for key in (
            "policy/entropy",
            "policy/ratio",
            "policy/ratio_error",
            "policy/clip_fraction",
            "policy/kl_old",
        )
    },
    "gradient/norm": Logged("", "mean norm of the policy's gradient before clipping"),
    "gradient/steps": Logged("steps", "gradient steps of the update"),
    "kl/reference": PPO["kl/reference"],
    "kl/reference_k3": PPO["kl/reference_k3"],
    "kl/coefficient": Logged("reward per nat", "beta of the penalty, which is constant"),
    "reward/task": PPO["reward/task"],
    "reward/penalty": Logged(
        "reward per episode", "mean over episodes of the penalty in the returns; 0 with the KL in the loss"
    ),
    "advantage/mean": Logged("return", "mean advantage over episodes"),
    "advantage/deviation": Logged("return", "standard deviation of advantages over episodes"),
    "groups/learned": Logged(
        "share of episodes", "share of the episodes that gradient steps use; below 1 with drop_equal"
    ),
}

GRPO = {
    **RLOO,
    "policy/loss": Logged("", "mean of the negated clipped surrogate over tokens and gradient steps"),
    "kl/loss": Logged(
        "nats per token",
        "mean over tokens and gradient steps of the k3 estimate in the loss; only with the KL in the loss",
    ),
}

NLPO = {
    **PPO,
    "nlpo/age": Logged(
        "updates", "updates since the last synchronisation of the masking policy; 0 right after it"
    ),
}

SUPERVISED = {
    "supervised/loss": Logged(
        "nats per token", "mean negative log-likelihood of the learned tokens over the update, with dropout"
    ),
    "supervised/held_out_loss": Logged(
        "nats per token",
        "mean negative log-likelihood of the learned tokens of held-out episodes, without dropout: of the "
        "teacher, or where episodes are recorded, of the task's expert; logged with each evaluation",
    ),
    "supervised/held_out_perplexity": Logged("", "exp of supervised/held_out_loss"),
    "supervised/tokens": Logged("tokens", "learned tokens of the batch, each counted once"),
    "gradient/norm": Logged("", "mean norm of the gradient before clipping"),
    **SCHEDULE,
}

TOKEN_VALUES = {
    "values/q_loss": Logged(
        "return²", "mean over action tokens of the squared error of Q, summed over heads"
    ),
    "values/v_loss": Logged("return²", "mean over action tokens of the expectile loss of V"),
    "values/cql_loss": Logged(
        "nats per token", "mean over action tokens of logsumexp Q - Q of the action, summed over heads"
    ),
    "values/margin_loss": Logged(
        "return²", "mean over action tokens of the squared large margin, summed over heads"
    ),
    "values/q": Logged("return", "mean Q of the actions, over heads"),
    "values/v": Logged("return", "mean V of the states"),
    "values/target_q": Logged("return", "mean target Q of the actions"),
    "values/advantage": Logged("return", "mean of target Q - V over the actions"),
    "policy/loss": Logged("nats per token", "mean weighted negative log-likelihood of the action tokens"),
    "policy/weight": Logged("", "mean weight of an action token in the policy's loss"),
    "gradient/norm": Logged("", "mean norm of the gradient of all networks before clipping"),
    **SCHEDULE,
}

UTTERANCE_VALUES = {
    "answers/q_loss": Logged("return²", "mean over answers of the squared error of Q, summed over heads"),
    "answers/v_loss": Logged("return²", "mean over answers of the expectile loss of V"),
    "answers/q": Logged("return", "mean Q of the recorded answers, over heads"),
    "answers/v": Logged("return", "mean V of the states before answers"),
    "answers/target_q": Logged("return", "mean target Q of the recorded answers"),
    "answers/advantage": Logged("return", "mean of target Q - V over the recorded answers"),
    "policy/loss": Logged("nats per token", "mean weighted negative log-likelihood of the action tokens"),
    "policy/weight": Logged("", "mean weight of an action token in the policy's loss"),
    "gradient/norm": Logged("", "mean norm of the gradient of all networks before clipping"),
    **SCHEDULE,
}

CHAI = {
    "answers/q_loss": Logged("return²", "mean over answers of the squared error of Q, summed over heads"),
    "answers/cql_loss": Logged(
        "return",
        "mean over answers of the log-mean-exp of Q over candidates and random features - Q, summed "
        "over heads",
    ),
    "answers/q": Logged("return", "mean Q of the recorded answers, over heads"),
    "answers/best_q": Logged("return", "mean over next states of the highest target Q of their candidates"),
    "candidates/states": Logged("states", "states with cached candidates"),
    "gradient/norm": Logged("", "mean norm of the gradient of all networks before clipping"),
    **SCHEDULE,
}

ANSWERS = {
    "answer/loss": Logged("nats", "mean negative log-likelihood of the right ranges of answers"),
    "answer/replay": Logged("memories", "memories with an answer that are kept to learn from"),
}

TURN_PPO = {
    "turns": Logged("turns", "actions of the collected episodes"),
    "policy/loss": Logged(
        "", "mean of the negated clipped surrogate over turns and gradient steps of the update"
    ),
    "policy/entropy": Logged(
        "nats per turn",
        "mean entropy of the distribution over legal actions; an unbiased estimate beyond 100,000 actions",
    ),
    "policy/ratio": Logged("", "mean of r_t = exp(new log-probability - log-probability at collection)"),
    "policy/ratio_error": PPO["policy/ratio_error"],
    "policy/clip_fraction": Logged(
        "share of turns", "share of turns with a ratio outside [1 - clip, 1 + clip]"
    ),
    "policy/kl_old": Logged(
        "nats per turn",
        "mean of (r_t - 1) - log r_t (k3): divergence of the new policy from the policy at collection",
    ),
    "critic/loss": PPO["critic/loss"],
    "critic/explained_variance": PPO["critic/explained_variance"],
    "gradient/norm": Logged("", "mean norm of the gradient before clipping"),
    "gradient/steps": PPO["gradient/steps"],
    "learning_rate": Logged("", "learning rate of the last gradient step"),
    **ANSWERS,
}

TURN_DQN = {
    "dqn/actions": Logged("actions", "actions so far, over all games"),
    "dqn/exploration": Logged("share of actions", "the share of random actions at the end of the update"),
    "dqn/replay": Logged("transitions", "transitions in the replay"),
    "dqn/loss": Logged("", "mean Huber loss of the drawn transitions, before weights of importance"),
    "dqn/value": Logged("", "mean target of the drawn transitions"),
    "dqn/error": Logged("", "mean absolute difference of target and value"),
    "gradient/norm": Logged("", "mean norm of the gradient of Q before clipping"),
    "gradient/steps": Logged("steps", "gradient steps of Q so far"),
    "learning_rate": Logged("", "learning rate of the last gradient step"),
    **ANSWERS,
}

SB3 = {
    "sb3/actions": Logged("actions", "actions so far, over all games"),
    "sb3/learning_rate": Logged("", "the optimizer's learning rate at the end of the update"),
    "sb3/exploration": Logged(
        "share of actions", "double DQN: the share of random actions at the end of the update"
    ),
    "sb3/loss": Logged(
        "",
        "double DQN: the mean Huber loss. PPO: the whole loss of the last minibatch of each "
        "collection, a mean over them",
    ),
    "sb3/value": Logged("reward per episode", "double DQN: the mean value of actions in the replay"),
    "sb3/policy_loss": Logged(
        "", "PPO: the clipped surrogate, negated. A2C: advantage times log-probability, negated"
    ),
    "sb3/objective": Logged("", "TRPO: the surrogate after the line search"),
    "sb3/value_loss": Logged("reward squared", "the squared error of the value"),
    "sb3/entropy_loss": Logged("nats", "the entropy of the policy, negated"),
    "sb3/approx_kl": Logged("nats", "PPO: (r - 1) - log r over the last epoch of each collection"),
    "sb3/kl": Logged("nats", "TRPO: KL from the policy before the step"),
    "sb3/clip_fraction": Logged("share of actions", "PPO: share with a ratio outside the clipping range"),
    "sb3/explained_variance": Logged(
        "", "1 - Var[return - value] / Var[return] of each collection, before learning from it"
    ),
    "sb3/line_search": Logged("share of steps", "TRPO: share of steps that the line search accepted"),
}

SB3_CLONING = {
    "sb3/cloning_loss": Logged(
        "nats per action",
        "cloning: mean negative log-likelihood of the teacher's actions, before each gradient step",
    ),
    "sb3/agreement": Logged(
        "share of actions",
        "cloning: share where the most likely action is the teacher's, before each gradient step",
    ),
}


BUILT_IN: Mapping[str, Mapping[str, Logged]] = {
    "ppo": PPO,
    "turn_ppo": TURN_PPO,
    "turn_dqn": TURN_DQN,
    "nlpo": NLPO,
    "a2c": A2C,
    "trpo": TRPO,
    "grpo": GRPO,
    "rloo": RLOO,
    **dict.fromkeys(("supervised", "cloning", "filtered_cloning", "decision_transformer"), SUPERVISED),
    **dict.fromkeys(("ilql", "cql", "psi", "monte_carlo"), TOKEN_VALUES),
    "ilql_utterance": UTTERANCE_VALUES,
    "chai": CHAI,
    **dict.fromkeys(("sb3/ppo", "sb3/maskable_ppo", "sb3/a2c", "sb3/trpo"), SB3),
    **dict.fromkeys(("sb3/double_dqn", "sb3/maskable_double_dqn"), SB3),
    "sb3/cloning": {**SB3, **SB3_CLONING},
}
"""The keys of each built-in algorithm by its registered name, besides those of every run."""
