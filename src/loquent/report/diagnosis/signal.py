"""Rules about the reward: whether there is anything to learn from it, and whether its parts agree."""

from __future__ import annotations

from itertools import permutations

from loquent.report.diagnosis.log import ERROR, QUARTERS, Finding, Log, NotLogged, Series
from loquent.statistics.comparing import holm
from loquent.statistics.tables import short

WEIGHTED = "rollout/weighted/"
DECLARED_UP = ("evaluation/success", "evaluation/return")  # more is better, whatever the task


def no_signal(log: Log, *, episodes: int = 150) -> Finding | None:
    """No episode succeeded, or all had the same return, and the return does not rise.

    Source: the rule of three (Hanley and Lippman-Hand, JAMA 1983): after 150 episodes without a success the
    rate of success is below 3 / 150 = 2% with a confidence of 95%. Study: each good run had successes or
    returns that differ.
    """
    returns = log.own_returns()
    success = log.find("rollout/success")
    values = success.values if success else returns.values
    if max(values) > (0 if success else min(values)) or log.solved():
        return None
    if log.episodes < episodes or returns.moves(1):
        return None
    cut = log.find("rollout/ended/cut")
    all_cut = cut is not None and cut.end >= 0.9
    what = "not one succeeded" if success else f"each had the mean return {short(returns.end)}"
    return Finding(
        "no_signal",
        f"of {log.episodes:g} episodes in {log.updates} updates {what}; the return does not rise "
        f"({short(returns.start)} at first, {short(returns.end)} at the end)",
        f"nearly all answers ({short(cut.end)}) are cut at the horizon, before the reward can be earned"
        if cut and all_cut
        else "the policy at the start never earns the reward, so no update has anything to prefer",
        log.advice(
            {
                **({"decoding.max_new_tokens": "raise it"} if all_cut else {}),
                "model.path": "a start that succeeds now and then, such as a longer trained clone",
                "training.only": "easier rows first",
                "rewards": "a term that pays for parts of the way",
            }
        ),
    )


def groups_without_variance(log: Log, *, share: float = 0.9) -> Finding | None:
    """Nearly all groups of answers to a row have equal returns, before the task is solved.

    Study: at most 0.67 of the groups of the good runs were equal in the last quarter, in a run that had
    nearly solved its task. DAPO (arXiv:2503.14476, sec. 3.2) leaves such groups out, because they have no
    gradient.
    """
    equal = log.series("rollout/rows/equal")
    if equal.end < share or log.solved():
        return None
    returns = log.own_returns()
    return Finding(
        "groups_without_variance",
        f"in the last quarter of the updates {short(equal.end)} of the rows had answers with equal returns "
        f"({short(equal.start)} in the first); the mean return is {short(returns.end)}",
        "answers to a row earn the same, so their advantages are 0: all fail, all succeed, or all are alike",
        log.advice(
            {
                "training.answers": "raise it",
                "decoding.temperature": "1.0",
                "training.only": "rows that are neither too easy nor too hard",
                "algorithm.learning_rate": "a third of it, if answers are alike",
            }
        ),
    )


def rewards_apart(log: Log, *, share: float = 0.25, cost: float = 0.05) -> Finding | None:
    """One named reward rises while another falls by a quarter or more, since the same earlier quarter.

    Both changes exceed, at 1%, noise that lasts for some updates, the fall after Holm's correction over the
    pairs of rewards; a quarter is the deep fall of the watch for reward hacking (`divergence.DEEP`). The fall
    is at least a twentieth of the sizes of all weighted rewards of that quarter. Study: in the good runs it
    was at most 0.022 of them, in the example above 0.24.
    """
    log.own_returns()
    parts = _parts(log)
    moves = [move for since in range(QUARTERS - 1) for move in _apart(parts, since, share, cost)]
    if not moves:
        return None
    riser, faller, since = max(moves, key=lambda move: move[1].quarter(move[2]) - move[1].end)
    name, lost = (part.key.removeprefix(WEIGHTED) for part in (riser, faller))
    scaled = isinstance(log.setting(f"rewards.{name}"), dict)
    words = log.find("rollout/words")
    length, shorter = "", False
    if words and len(words) >= QUARTERS:
        shorter = words.end < 0.5 * words.quarter(since)
        length = f"; answers went from {short(words.quarter(since))} to {short(words.end)} words"
    cause = (
        f"the policy learns to avoid the penalty {name} instead of earning {lost}"
        + (", by answers that hardly say anything" if shorter else "")
        if max(riser.values) <= 0
        else f"{name} is easier to raise than {lost}, and the policy gives up {lost} for it"
    )
    return Finding(
        "rewards_apart",
        f"the weighted reward {name} rose from {short(riser.quarter(since))} to {short(riser.end)}, while "
        f"{lost} fell from {short(faller.quarter(since))} to {short(faller.end)} (quarter {since + 1} and "
        f"the last quarter of the updates){length}",
        cause,
        log.advice(
            {
                f"rewards.{name}{'.weight' if scaled else ''}": "a third of it",
                "algorithm.beta": "raise it, to stay near the start",
                "model.path": f"a start that earns {lost} already",
                "decoding.min_new_tokens": "the length of a short right answer",
            }
        ),
    )


def metric_at_ceiling(log: Log, *, within: float = 0.02) -> Finding | None:
    """A success, a return or a metric is at its greatest possible value from the first evaluation on.

    Study: the lowest value of any metric of the good runs lay 0.08 of the ceiling or more below it.
    """
    high = log.evaluation.get("higher_is_better", {})
    keys = [*DECLARED_UP, *(f"evaluation/{key}" for key, up in high.items() if up)]
    if not log.imitates:
        keys.append("rollout/success")
    series = {key: found for key in dict.fromkeys(keys) if (found := log.find(key)) and len(found) >= 3}
    if not series:
        raise NotLogged("no value was evaluated three times")
    for key, found in series.items():
        top = log.top(key)
        if top and min(found.values) >= top - within * abs(top):
            return Finding(
                "metric_at_ceiling",
                f"{key} is at least {short(min(found.values))} in all of its {len(found)} values; it cannot "
                f"exceed {short(top)}",
                "the task, or this measure of it, is solved at the start, so it cannot show learning",
                log.advice(
                    {
                        "task": "harder rows or options",
                        "metrics": "one that still has room",
                        "training.stop_metric": "such a metric",
                    }
                ),
            )
    return None


def _parts(log: Log) -> dict[str, Series]:
    keys = dict.fromkeys(key for line in log.lines for key in line if key.startswith(WEIGHTED))
    parts = {key: found for key in keys if (found := log.find(key))}
    most = max((len(part) for part in parts.values()), default=0)
    whole = {key: part for key, part in parts.items() if len(part) == most >= 8}
    if len(whole) < 2:
        raise NotLogged("fewer than two rewards have eight values")
    return whole


def _apart(
    parts: dict[str, Series], since: int, share: float, cost: float
) -> list[tuple[Series, Series, int]]:
    """The pairs of a reward that rises and one that falls since a quarter, with the quarter."""
    pairs = list(permutations(parts.values(), 2))
    size = cost * sum(abs(part.quarter(since)) for part in parts.values())
    falls = holm([faller.p_value(-1, since) for _, faller in pairs])
    return [
        (riser, faller, since)
        for (riser, faller), p in zip(pairs, falls, strict=True)
        if p <= ERROR
        and faller.quarter(since) - faller.end
        >= max(share * max(abs(faller.quarter(since)), abs(faller.end)), size)
        and riser.p_value(1, since) <= ERROR
    ]
