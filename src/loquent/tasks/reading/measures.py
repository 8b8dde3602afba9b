"""What an evaluation says of a corpus of ended games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from loquent.core.task import Observation, Row
from loquent.core.values import Record

Ended = Sequence[tuple[Row, Observation]]  # each game's row and last observation
SMALLER_IS_BETTER = ("steps_mean", "steps_mean_penalised")
NO_DIRECTION = ("n_games", "stop_rate")
DISCOUNT = 0.98  # of one command, in `discounted`


def summary(ended: Ended, budget: int, score: Callable[[Row, str], tuple[float, float]]) -> dict[str, float]:
    """The measures of the paper and of its code, by name; empty for no game.

    sufficient: the share of games whose memory holds a right answer at the end.
    discounted: the mean of sufficient · 0.98^steps: each command costs 2 % of what a sufficient memory earns.
    steps_mean: the mean number of commands. stop_rate: the share of games that the agent stopped itself.
    found_rate: the share of searches that found their query; absent without a search.
    n_games: the number of games.
    f1, em: the mean F1 and exact match of the answers; f1_info: the mean F1 of the games with a sufficient
        memory. steps_mean_penalised: as steps_mean, but a game with F1 = 0 counts `budget` steps, as in the
        paper's code. These are absent where the games have no answer; f1_info where no game is sufficient.

    Args:
        score: F1 and exact match of an answer to a row's question: `Reading.score`.
    """
    if not ended:
        return {}
    fields = [last.fields for _, last in ended]
    steps = [budget - field["left"] for field in fields]
    searches = sum(field["searches"] for field in fields)
    values = {
        "sufficient": fmean(field["sufficient"] for field in fields),
        "discounted": fmean(
            field["sufficient"] * DISCOUNT**count for field, count in zip(fields, steps, strict=True)
        ),
        "steps_mean": fmean(steps),
        "stop_rate": fmean(field["ended"] == "stopped" for field in fields),
        "n_games": float(len(fields)),
    }
    if searches:
        values["found_rate"] = sum(field["hits"] for field in fields) / searches
    if all(field["answer"] is not None for field in fields):
        both = [score(row, field["answer"]) for (row, _), field in zip(ended, fields, strict=True)]
        scored = [f1 for f1, _ in both]
        values["f1"] = fmean(scored)
        values["em"] = fmean(em for _, em in both)
        values["steps_mean_penalised"] = fmean(
            step if score else budget for step, score in zip(steps, scored, strict=True)
        )
        informed = [score for score, field in zip(scored, fields, strict=True) if field["sufficient"]]
        if informed:
            values["f1_info"] = fmean(informed)
    return values


def better_when_larger(values: dict[str, float]) -> Record:
    """The measures of which a larger value is better."""
    left_out = (*SMALLER_IS_BETTER, *NO_DIRECTION)
    return Record({name: value for name, value in values.items() if name not in left_out})
