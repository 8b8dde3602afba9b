"""Rules about learning itself: clones, the learning rate, and the distance of training from validation."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence

from loquent.report.diagnosis.log import ERROR, IMITATION, Finding, Log, NotLogged
from loquent.statistics.tables import short

MEASURES = ("success", "return")
GREEDY = ("greedy", "beam")
IDLE = re.compile(r"learning_rate = 0:|learning rate is 0 after update (\d{1,15})")  # `AlgorithmConfig.idle`
RATES = {"algorithm.learning_rate": "policy", "algorithm.critic_learning_rate": "critic"}


def undertrained_clone(log: Log, *, nats: float = 0.1) -> Finding | None:
    """The loss of a learner that imitates others still falls by 0.1 nats or more in its last quarter.

    A tenth of a nat makes each token 10% likelier. The fall must exceed noise at 1%, and the
    loss on held-out episodes must fall too where it is logged. Study: at most 0.058 nats in the good runs.
    """
    if not log.imitates:
        raise NotLogged("the policy learns from its own answers, so a loss on them is not that of a clone")
    loss = log.series(*IMITATION)
    fall = loss.quarter(2) - loss.end
    if fall < nats or loss.second_half.p_value(-1) > ERROR:
        return None
    held_out = log.find("supervised/held_out_loss")
    if held_out and len(held_out) > 1 and held_out.values[-1] >= held_out.values[-2]:
        return None
    longer = {"algorithm.total_steps": "twice as many"} if log.number("algorithm.total_steps", 0) else {}
    return Finding(
        "undertrained_clone",
        f"{loss.key} fell from {short(loss.quarter(2))} to {short(loss.end)} nats in the last quarter of "
        f"{log.updates} updates, and still falls",
        "the clone was stopped before it had learned its player: sampled answers are often broken",
        log.advice(
            {
                "training.updates": "twice as many, until the loss is level",
                **longer,
                "algorithm.learning_rate": "raise it if the loss falls slowly throughout",
            }
        ),
    )


def greedy_above_sampled(log: Log, *, ratio: float = 0.5, errors: float = 3.0) -> Finding | None:
    """At the start the most likely answers earn far more than the sampled ones that the run learns from.

    The sampled mean lies below the greedy mean by half of the larger of both or more, and by 3 standard
    errors. The error of a share is at most 0.5 / sqrt(episodes); that of a return comes from the spread of
    updates. Study: the evaluations of the good runs are sampled or argmax without sampling, so none was
    judged; half is a choice.
    """
    method, drawn = log.setting("evaluation.method"), log.setting("decoding.method", "sample")
    if log.imitates or method not in GREEDY or drawn != "sample":
        raise NotLogged("the run has no greedy evaluations beside sampled episodes of its own")
    for name in MEASURES:
        greedy, sampled = log.find(f"evaluation/{name}"), log.find(f"rollout/{name}")
        if greedy is None or sampled is None or len(sampled) < 3:
            continue
        if greedy.updates[0] > log.updates / 4:
            raise NotLogged("the first evaluation is too late to show the start")
        values = sampled.values[: max(3, greedy.updates[0])]
        top, low = greedy.values[0], statistics.fmean(values)
        if top - low < max(ratio * max(abs(top), abs(low)), errors * _error(log, name, values), 1e-9):
            return None
        return Finding(
            "greedy_above_sampled",
            f"at update {greedy.updates[0]} greedy answers have a {name} of {short(top)}, the sampled ones "
            f"of the first {len(values)} updates {short(low)}",
            "the start is undertrained: its best answer is right, but its probability is spread over broken "
            "ones, which are most of what the run learns from",
            log.advice(
                {
                    "model.path": "the same clone, trained until its loss is level",
                    "decoding.temperature": "0.7, if the clone cannot be trained longer",
                    "decoding.top_p": "0.9, with algorithm.ratio: support",
                }
            ),
        )
    raise NotLogged("no success or return is logged both evaluated and collected")


def learning_rate_zero(log: Log, *, share: float = 0.05) -> Finding | None:
    """The learning rate is 0 for a twentieth of the updates or more before the last.

    The loop remarks on it as it happens; this rule reads that remark, the setting, and the logged rates. A
    schedule that ends at 0 is 0 in the last update alone. Study: in no good run was it 0 earlier.
    """
    planned = int(log.number("training.updates", 0)) or log.updates
    rate = log.find("learning_rate") or log.find("sb3/learning_rate")
    zero = sum(not value for value in rate.values[:-1]) if rate else 0
    where = f"{rate.key} is 0 in {zero} of {len(rate)} updates" if rate else ""
    if stopped := _rate_of_zero(log):
        zero, where = planned, f"{stopped} is 0"
    for found in filter(None, map(IDLE.search, log.remarks)):
        idle = planned - int(found[1] or 0)  # the remark on the setting names no update
        if idle > zero:
            zero, where = idle, f"the learning rate is 0 in the last {idle} of {planned} updates"
    if rate is None and not where and log.setting("algorithm.learning_rate") is None:
        raise NotLogged("the learner has no learning rate")
    if zero < max(share * planned, 1):
        return None
    return Finding("learning_rate_zero", where, *_why_zero(log))


def _rate_of_zero(log: Log) -> str:
    """The setting of a learning rate that is 0, that of the policy first; "" if none is."""
    return next((name for name in RATES if log.setting(name) == 0), "")


def _why_zero(log: Log) -> tuple[str, str]:
    """The cause of a learning rate of 0, and the settings that have it."""
    if stopped := _rate_of_zero(log):
        cause = f"the rate was set to 0: those updates change no weight of the {RATES[stopped]}"
        return cause, log.advice({stopped: "above 0"})
    total, floor = log.number("algorithm.total_steps", 0), log.number("algorithm.floor", 0)
    settings = {
        **({"algorithm.total_steps": "0, for the whole run"} if total else {}),
        **({"algorithm.floor": "above 0"} if not floor else {}),
        "algorithm.schedule": "constant",
    }
    return "the schedule ends before the run: those updates change no weight", log.advice(settings)


def train_above_validation(
    log: Log, *, share: float = 0.25, loss: float = 0.1, errors: float = 3.0
) -> Finding | None:
    """The values on training rows are far above those on held-out rows, or the held-out loss rises again.

    For success and return the mean gap over the evaluations of the second half exceeds a quarter of the
    larger, by 3 of its standard errors. For the loss, the last held-out loss is a tenth above its least,
    while that on training rows fell. Study: a gap of 0.12 at most in the good runs, on templates of
    sentences that no training row has; no held-out loss rose.
    """
    losses = [log.find(key) for key in ("supervised/held_out_loss", "supervised/loss")]
    if all(losses):
        return _rising_loss(log, loss)
    if log.imitates:
        raise NotLogged("no loss on held-out rows is logged")
    for name in MEASURES:
        held_out, own = log.find(f"evaluation/{name}"), log.find(f"rollout/{name}")
        if held_out is None or own is None or len(held_out) < 6:
            continue
        gaps, level = [], 0.0
        for update, value in list(zip(held_out.updates, held_out.values, strict=True))[len(held_out) // 2 :]:
            near = [v for u, v in zip(own.updates, own.values, strict=True) if u <= update][-3:]
            gaps.append(statistics.fmean(near) - value)
            level = max(level, abs(value), abs(statistics.fmean(near)))
        gap, error = statistics.fmean(gaps), statistics.stdev(gaps) / math.sqrt(len(gaps))
        if gap - errors * error <= share * level:
            return None
        return Finding(
            "train_above_validation",
            f"in the second half {name} on training rows is {short(gap)} ± {short(error)} above {name} on "
            f"held-out rows ({short(held_out.values[-1])} at the end)",
            "the policy learns the training rows by heart, or the splits differ in kind",
            _more_rows(log),
        )
    raise NotLogged("no success or return was evaluated six times beside collected episodes")


def _rising_loss(log: Log, share: float) -> Finding | None:
    held_out = log.series("supervised/held_out_loss", fewest=3)
    loss = log.series("supervised/loss")
    least = min(held_out.values)
    at = held_out.updates[held_out.values.index(least)]
    before = [v for u, v in zip(loss.updates, loss.values, strict=True) if u <= at][-3:]
    if held_out.values[-1] < (1 + share) * least or loss.end >= statistics.fmean(before):
        return None
    return Finding(
        "train_above_validation",
        f"the loss on held-out rows rose from {short(least)} (update {at}) to {short(held_out.values[-1])}, "
        f"while that on training rows fell to {short(loss.end)}",
        "the model learns the training rows by heart",
        _more_rows(log),
    )


def _more_rows(log: Log) -> str:
    return log.advice(
        {
            "training.stop_metric": "a held-out value, with training.patience",
            "training.updates": "fewer",
            "task.limit": "more rows",
            "model.dropout": "0.1",
            "algorithm.weight_decay": "0.01",
        }
    )


def _error(log: Log, name: str, values: Sequence[float]) -> float:
    """The standard error of the difference of an evaluation and the first collected episodes."""
    n = max(1, log.number("training.evaluate_episodes", 1))
    m = max(1, log.number("training.episodes", 1))
    if name == "success":
        return 0.5 * math.sqrt(1 / n + 1 / (m * len(values)))
    return statistics.stdev(values) * math.sqrt(m / n + 1 / len(values))
