"""Samplers: the settings of the next trial, from a key and the trials so far.

A proposal depends on nothing else, so a search that goes on in another process proposes the same trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from loquent.bench.search.space import Choices, Dimension, Point
from loquent.core.seeding import Key
from loquent.core.values import freeze
from loquent.errors import naming_extras

Trials = Sequence[tuple[Point, float | None]]
"""The trials so far: the point of each, and its value after the first rung; None: it failed."""


def propose(
    sampler: str, space: Sequence[Dimension], key: Key, earlier: Trials, higher: bool
) -> dict[str, Any]:
    """The point of the next trial, which no earlier trial has.

    Args:
        sampler: "random" draws every setting by itself; "tpe" asks Optuna, whose points that were tried
            before are replaced by random ones.
        key: the key of the search.
        higher: whether a higher value is better.
    """
    tried = {freeze(point) for point, _ in earlier}
    if sampler == "tpe":
        point = _tpe(space, key.child("tpe", len(earlier)), earlier, higher)
        if freeze(point) not in tried:
            return point
    draws = (_random(space, key.child("random", len(earlier), number)) for number in count())
    return next(point for point in draws if freeze(point) not in tried)


def _random(space: Sequence[Dimension], key: Key) -> dict[str, Any]:
    """A point of which each setting has a stream of its own."""
    return {dimension.path: dimension.draw(key.child(dimension.path)) for dimension in space}


def _tpe(space: Sequence[Dimension], key: Key, earlier: Trials, higher: bool) -> dict[str, Any]:
    """The point that the tree-structured Parzen estimator proposes; its first 10 points are random.

    Source: Bergstra et al. 2011, "Algorithms for Hyper-Parameter Optimization", as in Optuna. The study is
    in memory and made anew for every trial, and so is the sampler.
    """
    with naming_extras("the sampler tpe"):
        import optuna
    from optuna import distributions as kinds
    from optuna.trial import TrialState, create_trial

    distributions: dict[str, Any] = {}
    for dimension in space:
        if isinstance(dimension, Choices):  # by number: Optuna knows no lists
            distributions[dimension.path] = kinds.CategoricalDistribution(range(len(dimension.values)))
        else:
            kind: Any = kinds.IntDistribution if dimension.whole else kinds.FloatDistribution
            distributions[dimension.path] = kind(dimension.low, dimension.high, log=dimension.log)

    def trial(point: Point, value: float | None) -> Any:
        numbers = {
            dimension.path: dimension.values.index(point[dimension.path])
            if isinstance(dimension, Choices)
            else point[dimension.path]
            for dimension in space
        }
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        return create_trial(params=numbers, distributions=distributions, value=value, state=state)

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(
            direction="maximize" if higher else "minimize",
            sampler=optuna.samplers.TPESampler(seed=key.integer(32)),
        )
        study.add_trials([trial(*one) for one in earlier])
        numbers = study.ask(distributions).params
    finally:
        optuna.logging.set_verbosity(before)
    return {
        dimension.path: dimension.values[numbers[dimension.path]]
        if isinstance(dimension, Choices)
        else numbers[dimension.path]
        for dimension in space
    }
