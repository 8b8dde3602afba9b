"""Rules about what is cut off, and about where the time goes."""

from __future__ import annotations

from loquent.report.diagnosis.log import Finding, Log, NotLogged
from loquent.statistics.tables import short

FIXED = 0.9  # a share of cut answers from which on the horizon is the length that the task wants


def answers_cut(log: Log, *, share: float = 0.25) -> Finding | None:
    """A quarter or more of the answers is cut at the horizon, while others end by themselves.

    Where nine of ten are cut from the first quarter to the last, the length is fixed by design, as in the
    continuations of reviews, and the rule is silent; `no_signal` speaks of it if nothing is ever earned.
    Study: in the good runs the share was 0.98 or more throughout, or at most 0.001.
    """
    log.own_returns()
    cut = log.series("rollout/ended/cut")
    if cut.end < share or all(cut.quarter(i) >= FIXED for i in range(4)):
        return None
    return Finding(
        "answers_cut",
        f"{short(cut.end)} of the episodes of the last quarter of updates end because an answer is cut "
        f"({short(cut.start)} in the first quarter)",
        "answers are longer than the horizon, or the policy does not end them, so rewards judge a fragment",
        log.advice(
            {
                "decoding.max_new_tokens": "raise it",
                "evaluation.max_new_tokens": "the same",
                "task.end_text": "what ends an answer",
                "model.path": "a start that learned to end its answers",
            }
        ),
    )


def prompts_cut(log: Log, *, share: float = 0.05) -> Finding | None:
    """One prompt in twenty or more has lost turns or tokens to the context.

    A run remarks on the first prompt that is cut; this rule says how many. Study: none in the good runs.
    """
    cut = log.series("rollout/cut_prompts", fewest=3)
    mean = sum(cut.values) / len(cut)
    if mean < share:
        return None
    return Finding(
        "prompts_cut",
        f"{short(mean)} of the rows lost turns or tokens of their prompt, as a mean over {len(cut)} updates",
        "prompts and answers together exceed the context of the model, so the policy does not see its task",
        log.advice(
            {
                "decoding.max_prompt_tokens": "raise it, or 0 for no limit of its own",
                "decoding.max_new_tokens": "lower it",
                "model.context": "raise it, for a model trained here",
                "decoding.truncation_side": "the side with what matters least",
                "task.prompt_words": "lower it",
            }
        ),
    )


def one_phase(log: Log, *, share: float = 0.6, seconds: float = 60.0) -> Finding | None:
    """Collecting, scoring or evaluating takes three fifths of the time of a run of a minute or longer.

    Learning may take any share. A run logs seconds, not memory: `loquent train RECIPE --dry-run` prints the
    memory of each part. Study: at most 0.40 in the good runs.
    """
    sums = dict.fromkeys(CAUSES, 0.0) | {"learn": 0.0}
    for line in log.timings:
        for name in sums:
            sums[name] += line.get(name, 0.0)
    total = sum(sums.values())
    if not sums["learn"] or total <= 0:
        raise NotLogged("no seconds of collecting and learning are logged")
    phase = max(CAUSES, key=sums.__getitem__)
    part = sums[phase] / total
    if total < seconds or part < share:
        return None
    recorded = phase == "score" and log.setting("training.data")
    cause, settings = RECORDED if recorded else (CAUSES[phase], SETTINGS[phase])
    return Finding(
        "one_phase",
        f"the phase {phase} took {short(part)} of {short(total)} seconds ({log.updates} updates)",
        cause,
        log.advice(settings),
    )


CAUSES = {
    "collect": "episodes are drawn few at a time, or answers are long",
    "score": "a reward or the reference is slow: a judge, a large classifier, a program",
    "evaluate": "held-out episodes are played too often, or too many, or with slow metrics",
}
SETTINGS = {
    "collect": {
        "decoding.live": "raise it: the episodes that are drawn at the same time",
        "decoding.engine": "another engine",
        "decoding.max_new_tokens": "lower it",
        "algorithm.games": "raise it",
    },
    "score": {"rewards": "a cheaper term, or a cache", "model.reference": "none, with algorithm.beta: 0"},
    "evaluate": {
        "training.evaluate_every": "raise it",
        "training.evaluate_episodes": "lower it",
        "metrics": "cheaper ones",
    },
}
RECORDED = (
    "the policy and the reference score the whole recording once, at the first update, however few of its "
    "episodes are learned",
    {
        "training.data": "a recording with fewer episodes",
        "training.updates": "more, which share that time",
    },
)
