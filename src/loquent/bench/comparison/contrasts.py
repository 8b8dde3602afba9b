"""Players on the same rows with the same random streams, and their differences paired by row.

The tests and verdicts are those of a suite's claims with one seed (`bench.evidence.verdicts`): each value of
a player is compared with that of the first player, over the rows that both played. Holm's method corrects
the tests of all values with a direction together. A verdict is about these policies on such rows. It is not
about the methods that trained them: that takes several seeds, and a suite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from loquent.bench.comparison.comparison import Comparison, Contrast
from loquent.bench.comparison.players import find_recipe, players
from loquent.bench.evidence.episode_scores import Played
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.verdicts import CONTRADICTED, HOLDS, UNDECIDED, decide, step
from loquent.core.agent import Agent
from loquent.core.metric import Context, Scores
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.data.pools import held_out
from loquent.errors import BadSetting
from loquent.rewards import compose
from loquent.statistics import comparing
from loquent.training.evaluate import Evaluation, evaluate_by
from loquent.training.metrics import build_metrics
from loquent.training.recipes import Recipe
from loquent.training.run import Run, for_evaluation

WORDS = {HOLDS: "better", CONTRADICTED: "worse", UNDECIDED: UNDECIDED}


def compare(
    *whos: str | Path | Run | Agent,
    recipe: str | None = None,
    overrides: Sequence[str] = (),
    split: str = "test",
    episodes: int = 200,
    seed: int = 0,
    allow_imports: bool = False,
) -> Comparison:
    """Play the same rows with each player, and compare all players with the first.

    Args:
        whos: folders, names, runs or agents; see `players.players`.
        recipe: the recipe whose task, rewards and metrics are used, by name, file or run. By default that of
            the first run among the players.
        overrides: settings of `evaluation`, `metrics`, `rewards` and `task` that replace the recipe's. Those
            of `evaluation` are for runs too, which otherwise decode as their own recipes say.
        episodes: the episodes of each player. If they are more than the rows, the number is lowered to a
            multiple of these, so that each row is played equally often.

    Raises:
        BadSetting: there is no player or no recipe, or a setting is refused; and errors of `players`.
    """
    from loquent.training.start import make_task

    if not whos:
        raise BadSetting("nothing is compared; name two or more runs, folders of models, or agents")
    chosen = for_evaluation(find_recipe(whos, recipe, allow_imports), overrides)
    task = make_task(chosen)
    decodes = any(text.strip().startswith("evaluation") for text in overrides)
    found = players(whos, chosen, task, allow_imports=allow_imports, evaluation=decodes)
    count = len(held_out(task, split, episodes)[0])  # the rows, or as many as there are episodes
    even = episodes - episodes % count
    notes = [] if even == episodes else [f"{even} of {episodes} episodes are played: {even // count} per row"]
    evaluations = {}
    for player in found:
        agent, language = player.load()
        own = chosen if language is not None else _without_model(chosen, task, player.label, notes)
        evaluations[player.label] = evaluate_by(
            own, task, agent, language, split=split, episodes=even, seed=seed
        )
        del agent, language  # before the next model is loaded
    return Comparison(chosen.name, evaluations, contrasts(evaluations, task, chosen), tuple(notes))


def contrasts(evaluations: Mapping[str, Evaluation], task: Task, recipe: Recipe) -> tuple[Contrast, ...]:
    """All values of each later player against those of the first player."""
    weights = compose.weights(recipe.rewards, task.spec.rewards)
    first, *others = (_row(label, found, task, weights) for label, found in evaluations.items())
    higher = {key: up for found in evaluations.values() for key, up in found.higher.items()}
    made = [
        Contrast(key, other.name, step(key, first, other), higher[key])
        for other in others
        for key in first.values
        if key in other.values
    ]
    tested = [contrast for contrast in made if contrast.higher is not None]
    p = [contrast.p for contrast in tested]
    corrected = comparing.holm([1.0 if value is None else value for value in p])
    decided = {
        (contrast.key, contrast.player): _decided(contrast, None if own is None else value)
        for contrast, own, value in zip(tested, p, corrected, strict=True)
    }
    return tuple(decided.get((contrast.key, contrast.player), contrast) for contrast in made)


def _decided(contrast: Contrast, corrected: float | None) -> Contrast:
    difference = contrast.step.difference
    better = difference is not None and (difference.mean > 0) == contrast.higher
    verdict = WORDS[decide(corrected, better)]
    return Contrast(contrast.key, contrast.player, contrast.step, contrast.higher, corrected, verdict)


def _row(label: str, found: Evaluation, task: Task, weights: Record) -> Row:
    """The evaluation as the row of a suite's table, with one seed."""
    own: Scores = {
        key: list[float | None](column)
        for key, column in outcomes.columns(found.episodes, task.spec, weights).items()
    }
    whole = {key: tuple(column) for key, column in {**own, **found.samples}.items() if len(column) == found.n}
    played = Played(tuple(episode.row for episode in found.episodes), whole)
    values = {key: {0: value} for key, value in found.values.items() if math.isfinite(value)}
    errors = {key: error for key in values if (error := played.error(key)) is not None}
    by_row = {key: numbers for key in values if (numbers := played.by_row(key)) is not None}
    return Row(
        name=label,
        label=label,
        task=found.task,
        n=1,
        episodes=found.n,
        rows=found.rows,
        values=values,
        intervals={},
        paper={},
        source="",
        paper_seeds=None,
        failures={},
        seconds=0.0,
        errors={key: {0: error} for key, error in errors.items()},
        by_row={key: {0: numbers} for key, numbers in by_row.items()},
        decoding=found.decoding,
    )


def _without_model(recipe: Recipe, task: Task, label: str, notes: list[str]) -> Recipe:
    """The recipe without the metrics that a player without a language model cannot have."""
    kept = {}
    for name, setting in recipe.metrics.items():
        try:
            build_metrics(Record({name: setting}), Context(task=task))
            kept[name] = setting
        except BadSetting as error:
            notes.append(f"{label} has no {name}: {error}")
    return recipe if len(kept) == len(recipe.metrics) else replace(recipe, metrics=Record(kept))
