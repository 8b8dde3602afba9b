"""Effects, intervals, decisions and sizes as texts, which all pages of a suite share."""

from __future__ import annotations

from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.verdicts import BOTH, HOLDS, MISSING, ROWS, SEEDS, Step, Verdict
from loquent.statistics.intervals import FEWEST, Interval
from loquent.statistics.tables import number

VARIES = (
    "Intervals in the columns of values are over seeds on the same test rows: they say how much training "
    "varies, and leave out what other rows would change."
)
LEAST = 0.0001  # smaller p-values are printed as "below 0.0001"
METHOD = (
    "Mean and 95 % interval over seeds: Student's t, whose end on the long side of skewed values lies "
    f"further out. Fewer than {FEWEST} seeds, or equal numbers, have no interval. A rare outcome that no "
    "seed shows is in no interval."
)


def interval_text(interval: Interval | None) -> str:
    """A mean with its interval, such as "0.725 [0.701, 0.749]"; a dash for None.

    Without an interval, the text is the mean alone.
    """
    if interval is None:
        return "–"
    if interval.low is None or interval.high is None:
        return number(interval.mean)
    return f"{number(interval.mean)} [{number(interval.low)}, {number(interval.high)}]"


def step_text(step: Step) -> str:
    """One comparison as text: the difference with its interval and verdict, and the paper's figures."""
    paper = f"; paper: {step.paper[0]} → {step.paper[1]}" if step.paper else ""
    if step.difference is None:
        return f"{step.low} → {step.high}: {step.verdict}{paper}"
    varies = _seeds_text(step) if step.over == ROWS else f"n = {step.difference.n}"
    alone = "uncorrected" if step.over == BOTH else "on these rows, uncorrected"
    return (
        f"{step.low} → {step.high}: {difference_text(step)} ({varies}; {played_text(step)}); {alone}: "
        f"{step.verdict}{paper}"
    )


def difference_text(step: Step) -> str:
    """A difference with the interval of its test, and what varies in it."""
    difference = step.difference
    if difference is None:
        return "no difference"
    text = f"difference {interval_text(difference)}"
    if difference.low is not None:
        return f"{text} over {step.over}"
    if difference.error:
        paired = " that are not paired" * (step.over == ROWS)
        return f"{text} ± {number(difference.error)} over {step.over}{paired}, without an interval"
    if difference.tail is not None:
        return f"{text} over rows by Fisher's exact test, without an interval"
    return text


def played_text(step: Step) -> str:
    """The episodes and the rows of the evaluations of both cells."""
    texts = [size_text(*sizes) for sizes in zip(step.episodes, step.rows, strict=True)]
    played = " and ".join(dict.fromkeys(texts))
    fewer = 0 < step.compared < max(step.rows)
    return f"{played}, compared on the {step.compared} rows of all runs" if fewer else played


def _seeds_text(step: Step) -> str:
    """The seeds of a comparison over rows, such as "one seed" or "1 seed against 3"."""
    low, high = step.seeds
    return "one seed" if max(low, high) == 1 else f"{low} seed{'s' * (low > 1)} against {high}"


def size_text(episodes: int, rows: int) -> str:
    """A number of episodes and rows, such as "200 episodes on 50 rows"."""
    return f"{episodes} episodes on {rows or 'an unknown number of'} rows"


def effect_text(verdict: Verdict) -> str:
    """The effect of a claim with its intervals: the difference of its last cell and its first."""
    return difference_text(verdict.effect)


def decision_text(verdict: Verdict) -> str:
    """The decision about a claim, with its p-values and what it is about."""
    decision = verdict.verdict
    if verdict.verdict == MISSING:
        return decision
    if verdict.on_rows:
        seeds = " and ".join(dict.fromkeys(_seeds_text(step) for step in verdict.steps if step.over == ROWS))
        decision = f"{verdict.verdict} about the methods ({seeds}); on these rows: {verdict.on_rows}"
    elif verdict.over == SEEDS:
        decision = f"{verdict.verdict} on these rows"
    if verdict.p is None or verdict.corrected is None:
        return f"{decision} (no test: {_without_test(verdict)})"
    uncorrected = "" if verdict.uncorrected == (verdict.on_rows or verdict.verdict) else verdict.uncorrected
    also = f", uncorrected it {uncorrected}" if uncorrected == HOLDS else ""
    also = f", uncorrected it is {uncorrected}" if uncorrected and not also else also
    equals = "" if verdict.p < LEAST else "= "
    return (
        f"{decision} (p {equals}{p_text(verdict.p)}, of {tests_text(verdict.tests)} "
        f"{p_text(verdict.corrected)}{also})"
    )


def _without_test(verdict: Verdict) -> str:
    """Why an ordering whose cells were all measured has no test."""
    if any(step.over == BOTH and not step.compared for step in verdict.steps):
        return "the runs have numbers on different rows, and share fewer than half of them"
    for step in verdict.steps:
        if step.over == SEEDS and step.difference and step.difference.n == 1:
            if max(step.seeds) == 1:
                return "a cell has one seed, and its difference no error over rows"
            return f"{_seeds_text(step)}, and no values on shared rows"
    return "the values of a step do not vary over seeds"


def tests_text(count: int) -> str:
    """A number of tests, such as "1 test"."""
    return f"{count} test{'' if count == 1 else 's'}"


def p_text(p: float) -> str:
    """A p-value with two significant digits."""
    return f"below {LEAST}" if p < LEAST else f"{p:.2g}"


def both_text(row: Row, column: str) -> str:
    """The interval of a column over seeds and rows; a dash if there is none."""
    found = row.both.get(column)
    if found is None or found.low is None or found.high is None:
        return "–"
    return f"[{number(found.low)}, {number(found.high)}]"


def sizes(row: Row) -> list[str]:
    """The numbers of episodes and rows of a row's evaluations, as texts."""
    return [str(row.episodes), str(row.rows or "unknown")]
