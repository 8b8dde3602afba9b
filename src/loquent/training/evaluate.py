"""Evaluation: an agent plays held-out rows, and each value has its error and the number of episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from loquent.core.agent import Agent, Chooser, Reader, decoding_text
from loquent.core.episode import Episode
from loquent.core.guards.terminal import escape_text
from loquent.core.metric import Context, Measured, Metric, Range, Scores, traits
from loquent.core.rollout.loop import Game, games
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.data import outcomes
from loquent.data.groups import Groups
from loquent.data.pools import evaluation_seed, held_out
from loquent.files import final_evaluation
from loquent.metrics.jackknife import pseudo_values
from loquent.metrics.scoring import finite
from loquent.metrics.shared_parts import with_means
from loquent.rewards import compose
from loquent.rewards.terms import Term
from loquent.statistics.tables import Table, safe
from loquent.training.metrics import build_metrics, directions, ranges, same_key

if TYPE_CHECKING:
    from loquent.training.recipes import Recipe

MOST_ROWS = 1_000  # a task measures again without each row, which takes the square of their number


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of an evaluation, which prints as a table.

    values: the values of `data.outcomes` and of the metrics, by key.
    errors: by key, the standard error of a mean over episodes, clustered by row: playing a row again is no
        new evidence. With a single row, or if all episodes agree, there is none.
    n: the number of episodes; `rows` is the number of different rows.
    decoding: how the agent chose its answers (`core.agent.decoding_text`).
    ranges: by key, the least and the greatest possible value.
    samples: by key, one score per episode of each metric whose value is the mean of such scores; None where
        it does not apply.
    higher: by key, whether a higher value is better; None for a value without direction.
    by_row: by key, one number per episode where they were asked for: what is counted of a mean over
        episodes, and the pseudo-values of other scores (`metrics.jackknife`); None where it does not apply.
    """

    task: str
    split: str
    n: int
    values: dict[str, float]
    errors: dict[str, float] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    samples: Scores = field(default_factory=dict)
    episodes: tuple[Episode, ...] = ()
    decoding: str = ""
    higher: dict[str, bool | None] = field(default_factory=dict)
    by_row: Scores = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of different rows that were played."""
        return len({episode.row for episode in self.episodes})

    @property
    def heading(self) -> str:
        """The task, the split, the number of episodes and rows, and the decoding."""
        return final_evaluation.heading(self.as_json())

    def table(self) -> Table:
        """The values with their standard errors."""
        lines = [
            [key, _written(value, 4), _written(self.errors.get(key), 2)] for key, value in self.values.items()
        ]
        return Table(["value", "", "± standard error"], lines)

    def __repr__(self) -> str:
        return f"{escape_text(self.heading)}\n{self.table().terminal()}"

    def _repr_html_(self) -> str:
        return f"<p>{safe(self.heading)}</p>{self.table().__html__()}"

    def as_json(self) -> dict[str, Any]:
        """The part that is logged: everything except the episodes and their scores."""
        return {
            "task": self.task,
            "split": self.split,
            "n": self.n,
            "episodes": self.n,
            "rows": self.rows,
            "decoding": self.decoding,
            "values": self.values,
            "errors": self.errors,
            final_evaluation.RANGES: final_evaluation.ranges_as_json(self.ranges),
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
    groups: Groups | None = None,
    learning: str = "agent",
    live: int = 256,
    by_row: bool = False,
) -> Evaluation:
    """Play `episodes` episodes on the rows of a split, in order, and score them.

    When the rows run out, the first one follows the last one. The random streams depend on seed, row and
    number alone, so two agents with the same seed get the same episodes. For an agent that departs from its
    policy (by values, or by choosing among answers), `values` has `kl` and `entropy` too.

    Args:
        by_row: whether to keep the values by row, for which a score of all episodes is computed without each
            of the rows.
    """
    numbered, played = play_held_out(
        task, agent, split=split, episodes=episodes, seed=seed, only=only, learning=learning, live=live
    )
    by_id = {game.row.id: game.row for game in numbered}
    played = compose.apply(terms, played, by_id)
    weights = task.spec.rewards if weights is None else weights
    acting = agent.get(learning) if isinstance(agent, Mapping) else agent
    decoding = decoding_text(acting) if acting is not None else ""
    choice = acting.kl_of_choice if isinstance(acting, Chooser) else None
    columns = {**outcomes.columns(played, task.spec, weights), **_divergences(played, choice)}
    values, errors = _means(columns, played)
    fallible = [term.name for term in terms if isinstance(term, Term) and term.fallible]
    values |= outcomes.count_unjudged(played, [*fallible, *task.spec.failures])
    if groups is not None:
        shares, of_groups = groups.values(task, played, by_id)
        values, errors = values | shares, errors | of_groups
    of_task = _task_scores(task, played, by_id)
    measured, of_rows = _with_rows(metrics, played, by_id, by_row)
    values |= of_task.corpus | measured.corpus
    samples = {
        key: column for key, column in measured.samples.items() if _is_mean(column, measured.corpus.get(key))
    }
    ends = compose.ranges(terms, weights, task.spec) | ranges(metrics, task.spec, values)
    own = {key: outcomes.by_episode(column, played, key) for key, column in columns.items()} | samples
    return Evaluation(
        task.identity,
        split,
        len(played),
        values,
        errors,
        ranges={key: ends[key] for key in values if key in ends},
        samples=samples,
        episodes=tuple(played),
        decoding=decoding,
        higher=directions(metrics, weights, values),
        by_row=own | _of_task_by_row(task, of_task, played) | of_rows if by_row else {},
    )


def play_held_out(
    task: Task,
    agent: Agent | Mapping[str, Agent],
    *,
    split: str,
    episodes: int,
    seed: int,
    only: Record = EMPTY,
    learning: str = "agent",
    live: int = 256,
) -> tuple[list[Game], list[Episode]]:
    """The games of an evaluation, and their episodes, which all processes of a run play together."""
    from loquent.training.experience import shared_play

    rows = held_out(task, split, episodes, only)
    queue = [game for i, chunk in enumerate(rows) for game in games(chunk, first=i)]
    seed = evaluation_seed(seed)
    return queue, shared_play.play(task, queue, agent, seed=seed, split=split, learning=learning, live=live)


def evaluate_by(
    recipe: Recipe,
    task: Task,
    agent: Agent,
    language: Any = None,
    *,
    split: str = "test",
    episodes: int = 200,
    seed: int = 0,
) -> Evaluation:
    """Evaluate any agent on a recipe's task by its rewards and metrics.

    Args:
        task: the recipe's task, which `training.start.make_task` makes.
        language: the agent's language model, which some metrics read; None for an agent without one.
    """
    rows = agent.answer_rows if isinstance(agent, Reader) else None
    context = Context(task=task, model=language, answer_rows=rows)
    terms, weights = compose.build(recipe.rewards, context)
    metrics = build_metrics(recipe.metrics, context)
    return evaluate_agent(
        task, agent, split=split, episodes=episodes, seed=seed, metrics=metrics, terms=terms, weights=weights
    )


def measure(
    metrics: Sequence[Metric], episodes: Sequence[Episode], rows: Mapping[str, Row]
) -> dict[str, float]:
    """The corpus scores of `scores`."""
    return scores(metrics, episodes, rows).corpus


def scores(metrics: Sequence[Metric], episodes: Sequence[Episode], rows: Mapping[str, Row]) -> Measured:
    """The scores of all metrics on the last answers of the episodes: per episode and for the corpus.

    If a metric does not apply to some episodes, `scored/KEY` is the share of episodes that have a score under
    KEY; the mean is over these. `unjudged/KEY` is the number of episodes that a fallible metric could not
    judge; if it could judge none, the value is nan. An episode that ended by a failure has no score.
    """
    return _with_rows(metrics, episodes, rows)[0]


def _with_rows(
    metrics: Sequence[Metric], episodes: Sequence[Episode], rows: Mapping[str, Row], by_row: bool = False
) -> tuple[Measured, Scores]:
    """The scores of all metrics, and if `by_row` the pseudo-values of their corpus scores."""
    known = [i for i, episode in enumerate(episodes) if not outcomes.has_failed(episode)]
    played = [episodes[i] for i in known]
    own = [rows[episode.row] for episode in played]
    samples = compose.samples_of(played, own)
    values: dict[str, float] = {}
    columns: Scores = {}
    of_rows: Scores = {}

    def every(column: Sequence[float | None]) -> list[float | None]:
        scored = dict(zip(known, column, strict=True))
        return [scored.get(i) for i in range(len(episodes))]

    for metric in metrics:
        if episodes and not known:
            measured = Measured({key: [] for key in traits(metric).keys}, {})
        elif traits(metric).reads == "turn":
            measured = _summed(finite(metric.name, metric, compose.turns_of(played, own)), played)
        else:
            measured = finite(metric.name, metric, samples)
        unknown = measured.samples if measured.unjudged or not known else ()
        corpus = {**dict.fromkeys(unknown, math.nan), **measured.corpus}
        if twice := sorted(values.keys() & corpus.keys()):
            raise same_key(twice[0])
        values |= corpus
        if by_row:
            pseudo = pseudo_values(measured, [episode.row for episode in played], metric.name)
            of_rows |= {key: every(column) for key, column in pseudo.items()}
        own_columns = {key: every(column) for key, column in measured.samples.items()}
        columns |= own_columns
        shares = {key: _scored(column) for key, column in own_columns.items()}
        values |= {f"{outcomes.SCORED}{key}": share for key, share in shares.items() if share < 1}
        if traits(metric).fallible:
            count = float(len(measured.unjudged))
            values |= {f"{outcomes.UNJUDGED}{key}": count for key in measured.samples}
    return Measured(columns, values), of_rows


def _summed(measured: Measured, episodes: Sequence[Episode]) -> Measured:
    """Scores of answers as scores of episodes: the sum over an episode's answers that have one.

    An episode with an unjudged answer is unjudged.
    """
    owners = [number for number, episode in enumerate(episodes) for _ in episode.answers()]
    unjudged = frozenset(owners[i] for i in measured.unjudged)
    columns: Scores = {}
    for key, column in measured.samples.items():
        scores = iter(column)
        own = [list(islice(scores, len(episode.answers()))) for episode in episodes]
        present = [[score for score in answers if score is not None] for answers in own]
        columns[key] = [
            math.fsum(answers) if answers and number not in unjudged else None
            for number, answers in enumerate(present)
        ]
    return replace(with_means(columns), unjudged=unjudged)


def _written(value: float | None, digits: int) -> str:
    """A number with so many significant digits; a dash for None and NaN."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}g}"


def _is_mean(column: Sequence[float | None], value: float | None) -> bool:
    """Whether a corpus score is the mean of the scores of the episodes that have one."""
    present = [score for score in column if score is not None]
    if not present or value is None:
        return False
    return math.isclose(math.fsum(present) / len(present), value, rel_tol=1e-9, abs_tol=1e-9)


def _scored(scores: Sequence[float | None]) -> float:
    """The share of samples that have a score."""
    return sum(score is not None for score in scores) / len(scores) if scores else 1.0


def _task_scores(task: Task, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> Measured:
    """The scores that the task itself computes, from the last observations of the episodes that ended."""

    last = [
        None
        if episode.ended is None or outcomes.has_failed(episode)
        else (rows[episode.row], episode.turns[-1].observation)
        for episode in episodes
    ]

    def without(numbers: Sequence[int]) -> dict[str, float]:
        others = [pair for number, pair in enumerate(last) if pair is not None and number not in numbers]
        pairs = [(row, observation) for row, observation in others if observation is not None]
        return {f"score/{name}": value for name, value in task.measure(pairs).items()}

    return Measured(corpus=without(()), leave_out=without)


def _of_task_by_row(task: Task, measured: Measured, episodes: Sequence[Episode]) -> Scores:
    """The pseudo-values of a task's own scores, one per episode; None for an episode that failed."""
    rows = [None if outcomes.has_failed(episode) else episode.row for episode in episodes]
    few = len({*rows}) <= MOST_ROWS
    return pseudo_values(measured, rows, f"task {task.identity}") if few else {}


def _divergences(episodes: Sequence[Episode], choice: float | None) -> dict[str, list[float]]:
    """`kl` and `entropy` of each episode, estimated from its tokens; empty if `choice` is None.

    kl = log q - log p + choice * answers and entropy = -log q, where q is the probability with which the
    tokens were drawn and p the policy's. Source: arXiv:2206.11871, "kl" and "entropy" of the released code.

    Args:
        choice: the nats that each choice of an answer adds; None for an agent that acts by its policy.
    """
    if choice is None or not episodes:
        return {}
    kl, entropy = [], []
    for episode in episodes:
        drawn, policy = [], []
        for turn in episode.answers():
            if turn.tokens is None or turn.tokens.policy_logprob is None:
                return {}
            drawn.append(float(turn.tokens.drawn_logprob.sum()))
            policy.append(float(turn.tokens.policy_logprob.sum()))
        entropy.append(-math.fsum(drawn))
        kl.append(math.fsum(drawn) - math.fsum(policy) + choice * len(drawn))
    return {"kl": kl, "entropy": entropy}


def _means(
    columns: Mapping[str, Sequence[float]], episodes: Sequence[Episode]
) -> tuple[dict[str, float], dict[str, float]]:
    """The mean of each column, and its error clustered by row."""
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name, column in columns.items():
        values[name], error = outcomes.mean_and_error(column, outcomes.rows(episodes, name))
        if not math.isnan(error):
            errors[name] = error
    return values, errors
