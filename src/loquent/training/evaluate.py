"""Evaluation: an agent plays held-out rows, and every number comes with its error and its n."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loquent.core import registry
from loquent.core.agent import Agent, Chooser
from loquent.core.episode import Episode
from loquent.core.metric import Context, Measured, Metric, traits
from loquent.core.seeding import Key
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.data import outcomes
from loquent.errors import BadSetting, LoquentError
from loquent.rewards import compose
from loquent.rollout.loop import games, play

WATCHED = (
    "`success`, `return`, reward/NAME, score/NAME of the task, or a value of a metric that has a "
    "direction is right"
)


@dataclass(frozen=True)
class Evaluation:
    """What an agent reached. `values` by key, as `data.outcomes` and the metrics give them.

    `errors`: the standard error where a key is a mean over episodes, `outcomes.share_error` where it is a
        share of them.
    """

    task: str
    split: str
    n: int
    values: dict[str, float]
    errors: dict[str, float] = field(default_factory=dict)
    episodes: tuple[Episode, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """What is logged: everything but the episodes."""
        return {
            "task": self.task,
            "split": self.split,
            "n": self.n,
            "values": self.values,
            "errors": self.errors,
        }


def evaluate_agent(
    task: Task,
    agent: Agent | Mapping[str, Agent],
    *,
    split: str = "test",
    episodes: int = 200,
    seed: int = 0,
    metrics: Sequence[Metric] = (),
    terms: Sequence[Any] = (),
    weights: Record | None = None,
    only: Record = EMPTY,
    learning: str = "agent",
    live: int = 256,
) -> Evaluation:
    """Play `episodes` games on the split's rows in their order (again from the first when they run out) and
    score them.

    The streams depend on seed, row and number alone, so two agents with the same seed meet the same games. An
    agent that departs from its policy (by values, or by choosing among answers) has `kl` and `entropy` too.
    """
    rows = held_out(task, split, episodes, only)
    numbered = [game for i, chunk in enumerate(rows) for game in games(chunk, first=i)]
    played = play(
        task, numbered, agent, seed=evaluation_seed(seed), split=split, learning=learning, live=live
    )
    by_id = {game.row.id: game.row for game in numbered}
    played = compose.apply(terms, played, by_id)
    weights = task.spec.rewards if weights is None else weights
    acting = agent.get(learning) if isinstance(agent, Mapping) else agent
    values, errors = _means(
        {
            **outcomes.columns(played, task.spec, weights),
            **_divergences(played, acting.kl_of_choice if isinstance(acting, Chooser) else None),
        }
    )
    ended = [
        (by_id[episode.row], episode.turns[-1].observation) for episode in played if episode.ended is not None
    ]
    values |= {
        f"score/{name}": value
        for name, value in task.measure([(row, seen) for row, seen in ended if seen is not None]).items()
    }
    values |= measure(metrics, played, by_id)
    return Evaluation(task.identity, split, len(played), values, errors, tuple(played))


def evaluation_seed(seed: int) -> int:
    """The seed of all evaluations of a run: streams that training never uses."""
    return Key(seed, ("evaluation",)).integer(53)


def chosen_rows(task: Task, split: str, only: Record = EMPTY) -> list[Row]:
    """The rows of a split whose fields have the values of `only`; LoquentError when there is none."""
    rows = [
        row for row in task.rows(split) if all(row.fields.get(name) == value for name, value in only.items())
    ]
    if not rows:
        raise LoquentError(
            f"{task.identity} has no rows in its split {split!r}" + (f" with {dict(only)}" if only else "")
        )
    return rows


def held_out(task: Task, split: str, count: int, only: Record = EMPTY) -> list[list[Row]]:
    """So many rows of a split, in rounds: the whole split as often as needed, then its beginning.

    Raises:
        BadSetting: `count` is less than 1. LoquentError: the split has no such rows.
    """
    if count < 1:
        raise BadSetting(f"episodes = {count!r}: the number of episodes must be at least 1")
    rows = chosen_rows(task, split, only)
    return [rows[: count - done] for done in range(0, count, len(rows))]


def measure(
    metrics: Sequence[Metric], episodes: Sequence[Episode], rows: Mapping[str, Row]
) -> dict[str, float]:
    """The corpus scores of all metrics on the episodes' last answers.

    A metric may not apply to an episode: `scored/KEY` is then the share of episodes that have a score under
    KEY, over which its mean is.
    """
    texts = [compose.episode_texts(episode) for episode in episodes]
    prompts, predictions = [prompt for prompt, _ in texts], [prediction for _, prediction in texts]
    own = [rows[episode.row] for episode in episodes]
    references = [compose.references_of(row) for row in own]
    values: dict[str, float] = {}
    for metric in metrics:
        measured = metric(predictions, references, prompts, own)
        corpus = measured.corpus
        if twice := sorted(values.keys() & corpus.keys()):
            raise _twice(twice[0])
        values |= corpus
        values |= {
            f"scored/{key}": share
            for key, scores in measured.samples.items()
            if (share := _scored(scores)) < 1
        }
    return values


def _scored(scores: Sequence[float | None]) -> float:
    return sum(score is not None for score in scores) / len(scores) if scores else 1.0


class Renamed:
    """A metric under a recipe's own name, which stands before its keys: two of one kind do not overwrite each
    other.
    """

    def __init__(self, name: str, metric: Metric) -> None:
        self.name, self.metric = name, metric
        self.version, self.higher_is_better = metric.version, metric.higher_is_better
        own = traits(metric)
        self.keys = tuple(f"{name}/{key}" for key in own.keys)
        self.directions = {f"{name}/{key}": up for key, up in own.directions.items()}

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """What the metric measures, under the new keys."""
        found = self.metric(predictions, references, prompts, rows)
        samples = {f"{self.name}/{key}": scores for key, scores in found.samples.items()}
        return Measured(samples, {f"{self.name}/{key}": value for key, value in found.corpus.items()})


def build_metrics(settings: Record, context: Context) -> list[Metric]:
    """The metrics a recipe names, built with their options.

    One with another name than its `of:` has that name before its keys.

    Raises:
        BadSetting: two metrics would give values of one key.
    """
    built: list[Metric] = []
    known: set[str] = set()
    for name, given in settings.items():
        options = dict(given) if isinstance(given, Mapping) else {}
        of = options.pop("of", name)
        metric = _metric(of, context, options)
        built.append(metric if of == name else Renamed(name, metric))
        keys = set(traits(built[-1]).keys)
        if twice := sorted(known & keys):
            raise _twice(twice[0])
        known |= keys
    return built


def _metric(name: str, context: Context, options: dict[str, Any]) -> Metric:
    """The metric of that name. What was named as "module:Name" may be anything, so it is looked at."""
    factory = registry.named("metric", name)
    if ":" not in name:
        metric: Metric = factory(context, **options)
        return metric
    right = (
        "a class or function that makes a loquent.core.metric.Metric of a loquent.core.metric.Context "
        "is right"
    )
    if not registry.takes(factory, context, **options):
        if registry.takes(factory, context):
            refused = [key for key in options if not registry.takes(factory, context, **{key: options[key]})]
            raise BadSetting(
                f"the metric {name} takes no option {', '.join(refused or options)}; see what its code says"
            )
        raise BadSetting(
            f"{name!r} names {factory!r:.80}, which makes no metric (a reward's function is none); {right}"
        )
    metric = factory(context, **options)
    if not isinstance(metric, Metric):
        raise BadSetting(
            f"{name} made {metric!r:.80}, which is no metric: `name`, `version` and "
            f"`higher_is_better` are wanted; {right}"
        )
    return metric


def higher_is_better(key: str, metrics: Sequence[Metric], weights: Record) -> bool:
    """Whether more of an evaluated value is better, as its metric says or, for a reward, the sign of its
    weight.

    Raises:
        BadSetting: nothing says so; such a value cannot be watched.
    """
    owner = next((metric for metric in metrics if _gives(metric, key)), None)
    if owner is not None:
        up: bool | None = traits(owner).directions.get(key, owner.higher_is_better)
        if up is None:
            raise BadSetting(
                f"{key!r} cannot be watched: its metric {owner.name} says neither up nor down; {WATCHED}"
            )
        return up
    if key in ("return", outcomes.SUCCESS) or key.startswith("score/"):
        return True
    weight = weights.get(key.removeprefix("reward/"), 0.0) if key.startswith("reward/") else 0.0
    if not weight:
        raise BadSetting(
            f"{key!r} cannot be watched: neither a metric nor a reward with a weight says whether "
            f"more of it is better; {WATCHED}"
        )
    return bool(weight > 0)


def _gives(metric: Metric, key: str) -> bool:
    keys = traits(metric).keys
    return key in keys if keys else key == metric.name or key.startswith(f"{metric.name}/")


def _twice(key: str) -> BadSetting:
    return BadSetting(
        f"metrics: two of them give {key!r}; give one another name: metrics={{NAME: {{of: METRIC}}}} "
        "writes NAME before its keys"
    )


def owners(settings: Record, metrics: Sequence[Metric], keys: Iterable[str]) -> dict[str, str]:
    """Which of a recipe's metrics gives each evaluated value, by its name in `metrics:`; values of the task
    and of rewards have no owner.
    """
    named = list(zip(settings, metrics, strict=True))
    return {key: name for key in keys for name, metric in named if _gives(metric, key)}


def directions(metrics: Sequence[Metric], weights: Record, keys: Iterable[str]) -> dict[str, bool | None]:
    """Whether more of each evaluated value is better; None where nothing says so."""
    return {key: _direction(key, metrics, weights) for key in keys}


def _direction(key: str, metrics: Sequence[Metric], weights: Record) -> bool | None:
    try:
        return higher_is_better(key, metrics, weights)
    except BadSetting:
        return None


def mean_and_error(numbers: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error (nan for fewer than two); LoquentError for none, which have no mean."""
    if not numbers:
        raise LoquentError("there is no mean of nothing")
    mean = math.fsum(numbers) / len(numbers)
    if len(numbers) < 2:
        return mean, math.nan
    variance = math.fsum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)
    return mean, math.sqrt(variance / len(numbers))


def _divergences(episodes: Sequence[Episode], choice: float | None) -> dict[str, list[float]]:
    """Of each episode, from its tokens alone: log-probability they were drawn with less the policy's, with
    what each choice of an answer
    adds, and less the former (arXiv:2206.11871, the released code's "kl" and "entropy"). Nothing for agents
    without a `choice`.
    """
    answers = [[turn.tokens for turn in episode.answers()] for episode in episodes]
    if choice is None or not episodes or any(tokens is None for some in answers for tokens in some):
        return {}
    drawn = [
        math.fsum(float(tokens.drawn_logprob.sum()) for tokens in some if tokens is not None)
        for some in answers
    ]
    policy = [
        math.fsum(float(tokens.policy_logprob.sum()) for tokens in some if tokens is not None)
        for some in answers
    ]
    return {
        "kl": [a - b + choice * len(some) for a, b, some in zip(drawn, policy, answers, strict=True)],
        "entropy": [-one for one in drawn],
    }


def _means(columns: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], dict[str, float]]:
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name, column in columns.items():
        values[name], error = mean_and_error(column)
        if outcomes.is_share(name) and len(column) > 1:
            error = outcomes.share_error(values[name], len(column))
        if not math.isnan(error):
            errors[name] = error
    return values, errors
