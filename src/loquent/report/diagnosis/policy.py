"""Rules about the policy and its critic: entropy, divergence, ratios and values."""

from __future__ import annotations

from loquent.report.diagnosis.log import ERROR, Finding, Log, NotLogged, Series
from loquent.statistics.tables import short

KL = ("kl/reference_k3", "kl/reference")


def entropy_collapse(log: Log, *, share: float = 0.1) -> Finding | None:
    """The entropy falls below a tenth of its start while the return is stalled and the task is not solved.

    Stalled: the return of the last quarter is not above the first, or it is below that of a middle quarter.
    Study: one good run kept 0.05 of its entropy while its return rose; the others kept 0.27 or more.
    """
    returns = log.own_returns()
    entropy = log.find("policy/entropy")
    if entropy is None:
        lost = log.series("sb3/entropy_loss")
        entropy = Series(lost.key, lost.updates, [-value for value in lost.values])
    if len(entropy) < 8 or entropy.end >= share * entropy.start or log.solved():
        return None
    if returns.moves(1) and not any(returns.p_value(-1, middle) <= ERROR for middle in (1, 2)):
        return None
    return Finding(
        "entropy_collapse",
        f"the policy's entropy fell from {short(entropy.start)} to {short(entropy.end)} nats, and the return "
        f"is {short(returns.end)} ({short(returns.start)} in the first quarter, at most "
        f"{short(max(map(returns.quarter, range(4))))} in a quarter)",
        "the policy became nearly deterministic before it found better answers, so it explores no more",
        log.advice(
            {
                "algorithm.learning_rate": "a third of it",
                "algorithm.entropy_coefficient": "0.01 to 0.02",
                "algorithm.beta": "raise it",
            }
        ),
    )


def kl_explosion(log: Log, *, nats: float = 1.0) -> Finding | None:
    """The policy is further than 1 nat per token from its reference in the last quarter.

    Study: at most 0.30 nats in the good runs, 0.70 in a run without a penalty whose reward is gamed, and 7
    in a run that wrote one word again and again.
    """
    kl = log.series(*KL)
    if kl.end < nats:
        return None
    beta = log.find("kl/coefficient")
    held = f", with a coefficient of {short(beta.end)}" if beta else ""
    penalty = (beta.end if beta else log.number("algorithm.beta", 0)) > 0
    first = "the reward outweighs the penalty" if penalty else "no penalty holds the policy"
    penalties = {"algorithm.beta": "raise it", "algorithm.kl_target": "0.1"}
    return Finding(
        "kl_explosion",
        f"{kl.key} rose from {short(kl.start)} to {short(kl.end)} nats per token{held}",
        f"{first}, or the steps are too large: the policy has left the language of its reference",
        log.advice(
            {
                **(penalties if penalty else {"algorithm.beta": "above 0"}),
                "algorithm.learning_rate": "a third of it",
                "algorithm.stop_kl": "0.02",
            }
        ),
    )


def kl_collapse(log: Log, *, nats: float = 0.001) -> Finding | None:
    """The policy does not leave its reference, though the return does not rise and the task is not solved.

    Study: in the last quarter the good runs with a penalty were 0.03 nats per token or further from their
    reference.
    """
    returns, kl, beta = log.own_returns(), log.series(*KL), log.series("kl/coefficient")
    if beta.end <= 0:
        raise NotLogged("no penalty holds the policy at a reference")
    if log.setting("algorithm.learning_rate") == 0:
        raise NotLogged("algorithm.learning_rate is 0, so the policy cannot leave its reference")
    warmup, planned = log.number("algorithm.critic_warmup", 0), log.number("training.updates", 0)
    if log.updates <= warmup < planned:
        raise NotLogged(f"the critic learns alone in the first {warmup:g} updates (critic_warmup)")
    if abs(kl.end) >= nats or returns.moves(1) or log.solved():
        return None
    if log.updates <= warmup:
        return Finding(
            "kl_collapse",
            f"{kl.key} is {short(kl.end)} nats per token in the last quarter of {log.updates} updates",
            f"the critic learns alone in the first {warmup:g} updates, which are all: the policy does not",
            log.advice({"algorithm.critic_warmup": f"below {planned:g}, the updates of the run"}),
        )
    return Finding(
        "kl_collapse",
        f"{kl.key} is {short(kl.end)} nats per token in the last quarter with a coefficient of "
        f"{short(beta.end)}, and the return does not rise ({short(returns.start)} at first, "
        f"{short(returns.end)} at the end)",
        "the penalty outweighs the reward, or the steps are too small: the policy stays as it was",
        log.advice({"algorithm.beta": "a tenth of it", "algorithm.learning_rate": "three times it"}),
    )


def ratio_off_one(log: Log, *, error: float = 0.01) -> Finding | None:
    """The ratios of the first minibatch differ from 1 before any gradient step, in most updates.

    Study: at most 1.5e-5 in the good runs, which compute in float32. Tokens that an older policy drew
    (`policy/age`) are off for a good reason, and such a run is not judged.
    """
    ratios = log.series("policy/ratio_error", fewest=3)
    if log.find("policy/age") is not None:
        raise NotLogged("an older policy drew some tokens, so ratios need not begin at 1")
    off = sorted(ratios.values)[len(ratios) // 2]
    if off <= error:
        return None
    return Finding(
        "ratio_off_one",
        f"before the first gradient step of an update the largest |ratio - 1| is {short(off)} (median over "
        f"{len(ratios)} updates); it must be 0 up to rounding",
        "drawing and learning compute different probabilities: another precision, another engine, dropout "
        "in one of them, or another temperature or support",
        log.advice(
            {
                "decoding.engine": "ours",
                "model.dtype": "float32",
                "model.autocast": "none",
                "model.dropout": "0",
                "algorithm.ratio": "support, for top_k or top_p",
            }
        ),
    )


def critic_explains_nothing(log: Log, *, most: float = 0.0, errors: float = 2.0) -> Finding | None:
    """The critic is no better than a constant in the last quarter, and not better than in the first.

    A constant has an explained variance of 0. The mean over the last quarter plus 2 of its standard errors
    must not reach above it. A solved task leaves little to explain, and is not named. Study: six of the eight
    good runs with a critic ended above 0; the two that ended below it, after a part of their recipes, were
    getting better.
    """
    explained = log.series("critic/explained_variance", "sb3/explained_variance")
    if explained.moves(1) or explained.end + errors * explained.error > most or log.solved():
        return None
    return Finding(
        "critic_explains_nothing",
        f"{explained.key} is {short(explained.end)} ± {short(explained.error)} in the last quarter of the "
        f"updates ({short(explained.start)} in the first)",
        "the values are no better than a constant, so advantages carry the whole noise of the returns: the "
        "critic learns too slowly, is too small, or sees too little",
        log.advice(
            {
                "algorithm.critic_learning_rate": "three times algorithm.learning_rate",
                "algorithm.epochs": "raise it",
                **(
                    {}
                    if log.number("algorithm.critic_warmup", 0)
                    else {"algorithm.critic_warmup": "5 updates"}
                ),
                "model.critic": "network",
                "algorithm.kind": "grpo or rloo, which have no critic",
            }
        ),
    )
