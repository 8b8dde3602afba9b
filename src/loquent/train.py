"""The one training loop: collect episodes, score them, make a batch, learn, watch, keep.

    rows -> play -> rewards.apply -> token_batch -> score -> prepare -> update -> after_update -> evaluate -> checkpoint

Recorded episodes (`training.data`) are read, laid out and prepared once; then an update begins with rows drawn from them.
All that influences the future is in `Trainer.state`, so a run killed and resumed is the same run.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent import checkpoint, episode, logged, manifest, parallel, pretrained, recorded, registry, resuming, rollout, trackers
from loquent.adapters.table import Table
from loquent.agent import make as make_agent
from loquent.algorithm import Playing
from loquent.data.pools import Pool, Sampler
from loquent.episode import Episode
from loquent.errors import AnotherRun, BadCheckpoint, BadSetting, nearest
from loquent.evaluate import Evaluation, build_metrics, chosen_rows, directions, evaluate_agent, held_out, higher_is_better, owners
from loquent.machine import machine, source_state
from loquent.metric import Context
from loquent.models.score import score
from loquent.models.token_rewards import ends_by, learner_rewards
from loquent.models.tokens import TokenBatch, token_batch
from loquent.play import Game, play
from loquent.recipe import Recipe
from loquent.recorded import Draws
from loquent.rewards import cache, compose, learner
from loquent.run import Run
from loquent.seeding import Key, borrowed
from loquent.start import make_actor, make_task, source
from loquent.task import Row
from loquent.values import EMPTY, Record, digest


class Trainer:
    """One run under way: the recipe's parts, built, and the counters.

    Args:
        began: the policy's folder of the checkpoint that will be taken back; the model the recipe names is not asked for then.
        pool: the rows it learns from, in place of those that `training` chooses: a pool that grows may be empty at first.
    """

    def __init__(self, recipe: Recipe, folder: Path, began: Path | None = None, pool: Pool | None = None) -> None:
        self.recipe, self.folder, self.settings = recipe, folder, recipe.training
        self.key = Key(self.settings.seed)
        kind = registry.named("algorithm", recipe.algorithm)
        self.source = source(kind, self.settings)
        if min(self.settings.episodes, getattr(recipe.config, "minibatch", self.settings.episodes)) < parallel.size():
            raise BadSetting(f"training.episodes and algorithm.minibatch are at least the {parallel.size()} processes that learn together")
        self.task = make_task(recipe)
        self.actor: Any = make_actor(_beginning(recipe, began), self.task, self.key)
        self.algorithm = kind(recipe.config, self.actor, key=self.key.child("algorithm"))
        context = Context(task=self.task, model=self.actor.language)
        self.terms, self.weights = compose.build(recipe.rewards, context)
        self.learner = learner.of_run(
            self.terms, recipe.config, name=self.algorithm.name, playing=isinstance(self.algorithm, Playing), recorded=self.source == "data",
            ends=ends_by(getattr(self.actor, "format", None)),
        )  # fmt: skip
        self.metrics = build_metrics(recipe.metrics, context)
        self.growing = pool is not None
        pool = weighted(chosen_rows(self.task, self.settings.split, self.settings.only)) if pool is None else pool
        self.rows = {row.id: row for row in pool.rows}
        self.recording = self._recorded() if self.source == "data" else None
        self.draws: Draws | None = None
        if self.recording is not None:
            self.draws = Draws(self.algorithm.prepare(self.recording.batch), self.recording.digest, self.key.child("recorded rows"))
        self.sampler = Sampler(pool, self.key.child("rows"), scale=self.settings.priority)
        if self.settings.stop_metric:
            _higher_is_better(self)  # a name that nothing measures is refused before anything is played
        self.updates = self.games = self.waited = 0
        self.best: float | None = None  # the watched value, larger is better
        self.best_update: int | None = None
        self.seconds: dict[str, float] = {}
        if isinstance(self.algorithm, Playing):
            self.algorithm.sit(self._table(), self.settings.updates)

    def next(self) -> tuple[TokenBatch, dict[str, float]]:
        """What one update learns from, prepared, and what is logged of it: rows of recorded episodes, or a collection played now."""
        if self.draws is not None:
            with self._timed("collect"):
                batch = self.draws.draw(self.settings.episodes)
            self.games += len(batch)
            return batch, recorded.summary(batch, self.draws)
        with self._timed("collect"):
            episodes = self.collect()
        with self._timed("score"):
            batch = self.algorithm.prepare(self.batch(episodes))
        return batch, rollout.summary(episodes, batch, self.weights)

    def collect(self) -> list[Episode]:
        """Play one collection of episodes and add the rewards of all terms."""
        rows = self.sampler.draw(self.settings.episodes)
        queue = [Game(row, self.games + i) for i, row in enumerate(rows)]
        self.games += len(queue)
        played = play(self.task, queue, self._player(), seed=self.settings.seed, split=self.settings.split)
        return learner_rewards(self.terms, played, self.rows, self.learner, self.actor.format)

    def batch(self, episodes: Sequence[Episode]) -> TokenBatch:
        """The batch the algorithm reads: tokens, rewards, and for a learner from its own play the scores of all networks."""
        made = token_batch(episodes, self.actor.format, self.weights, max_length=self.actor.context, room=self.actor.room)
        made = made.to(self.actor.device)
        return score(self.actor, made) if self.algorithm.scored else made

    def update(self) -> dict[str, float]:
        """One update: a batch is had and learned from; returns what is logged."""
        self.seconds = {}
        if isinstance(self.algorithm, Playing):
            return self._played(self.algorithm)
        batch, had = self.next()
        with self._timed("learn"):
            logs = self.algorithm.update(self.actor, batch)
            logs |= self.algorithm.after_update(self.actor)
        self.updates += 1
        return {"update": self.updates, "episodes": self.games, **had, **logs}

    def _played(self, algorithm: Playing) -> dict[str, float]:
        """An update of an algorithm that owns its collecting."""
        with self._timed("play"):
            episodes, logs = algorithm.play()
        self.updates += 1
        self.games += len(episodes)
        return {"update": self.updates, "episodes": self.games, **rollout.turns(episodes, self.weights), **logs}

    def _table(self) -> Table:
        settings = self.settings
        how = {"terms": self.terms, "weights": self.weights, "learner": self.learner, "places": self.recipe.config.games}
        teacher = self._player() if self.source == "expert" else None
        return Table(self.task, self.sampler, seed=settings.seed, split=settings.split, teacher=teacher, **how)

    def evaluate(self, split: str, episodes: int, only: Record = EMPTY) -> Evaluation:
        """Evaluate the policy, with the decoding meant for evaluation."""
        return evaluate_agent(
            self.task,
            self.algorithm.agent(self.actor, True),
            split=split,
            episodes=episodes,
            seed=self.settings.seed,
            metrics=self.metrics,
            terms=self.terms,
            weights=self.weights,
            only=only,
        )

    def state(self) -> dict[str, Any]:
        """Everything but the policy's own weights that influences the future."""
        return {
            "fingerprint": self.recipe.fingerprint,
            "machine": machine(self.actor.device),
            "rows": self.held_out_rows(),
            "counters": {"updates": self.updates, "games": self.games, "waited": self.waited, "best": self.best, "best_update": self.best_update},
            "sampler": (self.draws or self.sampler).state_dict(),
            "actor": self.actor.state_dict(),
            "algorithm": self.algorithm.state_dict(),
            **({"rewards": statistics} if (statistics := self.learner.state_dict()) else {}),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take back `state`.

        Raises:
            AnotherRun: it belongs to another recipe, other held-out rows or another machine.
            BadCheckpoint: it is not whole.
        """
        for name, now in (("fingerprint", self.recipe.fingerprint), ("machine", machine(self.actor.device)), ("rows", self.held_out_rows())):
            if state.get(name) != now:
                raise AnotherRun(resuming.another("rows of" if name == "rows" else name, state.get(name), now))
        try:
            for name in ("updates", "games", "waited", "best", "best_update"):
                setattr(self, name, state["counters"][name])
            (self.draws or self.sampler).load_state_dict(state["sampler"])
            self.actor.load_state_dict(state["actor"])
            self.algorithm.load_state_dict(state["algorithm"])
            self.learner.load_state_dict(state.get("rewards", {}))
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # torch's own loaders raise RuntimeError
            why = " ".join(str(error).split())[:300]
            raise BadCheckpoint(f"the state is not whole, or another model's ({type(error).__name__}: {why})") from error

    def held_out_rows(self) -> dict[str, str]:
        """A hash of the rows of each evaluation, by split: the run would not be the same with others. A pool that grows has none."""
        settings = self.settings
        if self.growing:
            return {}
        looked_at = {settings.final_split: held_out(self.task, settings.final_split, settings.final_episodes)}
        if settings.evaluate_every:
            rows = held_out(self.task, settings.evaluate_split, settings.evaluate_episodes, settings.only)
            looked_at[settings.evaluate_split] = looked_at.get(settings.evaluate_split, []) + rows
        return {split: digest(tuple((row.id, row.fields) for rows in several for row in rows), 16) for split, several in looked_at.items()}

    @property
    def stopped(self) -> bool:
        """Whether early stopping has ended the run."""
        return bool(self.settings.stop_metric) and self.waited >= self.settings.patience

    def _player(self) -> Any:
        if self.source == "expert":
            return make_agent(self.settings.teacher or "expert", self.task, place="training.teacher")
        return self.algorithm.agent(self.actor, False)

    def _recorded(self) -> recorded.Recording:
        settings = self.settings
        how = {"terms": self.terms, "weights": self.weights, "learner": self.learner, "split": settings.split, "only": settings.only}
        return recorded.record(settings.data, self.task, self.actor, **how, top=settings.data_top, bottom=settings.data_bottom)  # type: ignore[arg-type]

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        before = time.perf_counter()
        yield
        self.seconds[phase] = round(time.perf_counter() - before, 4)


def weighted(rows: Sequence[Row]) -> Pool:
    """A pool of rows, each with the weight that its field `weight` gives it, or 1."""
    return Pool(tuple(rows), tuple(row.fields.get("weight", 1.0) for row in rows))


def train(recipe: Recipe, out: str | Path, *, progress: bool = True, resume: bool = False, from_older: bool = False) -> Run:
    """Train what a recipe describes into the folder `out`, and return the run.

    Args:
        resume: go on from the newest checkpoint, or from the start where the run was stopped before its first; it is the same run.
        from_older: where the newest checkpoint is refused, go on from the newest one that is not.

    Raises:
        BadCheckpoint: the folder holds another run; or, with `resume`, its newest checkpoint is refused, with the reason.
    """
    folder = Path(out)
    with parallel.joined(pretrained.device(recipe.model.device)):
        if parallel.rank():
            _assist(recipe, folder)
        else:
            _lead(recipe, folder, progress, resume, from_older)
    return Run(folder)


def _lead(recipe: Recipe, folder: Path, progress: bool, resume: bool, from_older: bool) -> None:
    """The whole run; of several processes the first one, which alone writes and evaluates."""
    if not resume:
        _need_free(folder)
    trackers.need(recipe.training.trackers)
    with ExitStack() as held:
        if resume:
            held.enter_context(resuming.alone(folder))
        trainer = Trainer(recipe, folder, resuming.start_of(folder) if resume else None)
        if not resume:  # only now, so that a recipe that cannot be built leaves its folder free
            held.enter_context(resuming.alone(folder))
            _need_free(folder)
        if not (resume and resuming.resume(trainer, from_older)):
            _begin(trainer)
        parallel.agreed(trainer.updates)
        _go_on(trainer, progress)
        _finish(trainer)


def _assist(recipe: Recipe, folder: Path) -> None:
    """Another process of the run: it learns in step with the first one."""
    done = parallel.agreed(0)
    began = folder / "checkpoints" / f"update-{done}" if done else None
    trainer = Trainer(recipe, folder, began and began / "policy")
    if began:
        trainer.restore(checkpoint.load(began))
    while parallel.agreed(0):
        trainer.update()


def _need_free(folder: Path) -> None:
    if (folder / "config.yaml").exists():
        raise BadCheckpoint(f"{folder} holds a run already; name another folder, or go on with it: loquent resume {folder}")


def _go_on(trainer: Trainer, progress: bool) -> None:
    """Update, log and keep until the run's end, or until early stopping."""
    folder, recipe = trainer.folder, trainer.recipe
    known = logged.table(type(trainer.algorithm))
    with borrowed(trainer.key.child("trackers")):
        sinks = trackers.Trackers(recipe.training.trackers, trackers.Started(folder, recipe.name, recipe.resolved(), trainer.updates + 1))
    bar = tqdm(total=recipe.training.updates, initial=trainer.updates, desc=recipe.name, unit="update", disable=not progress)
    with bar, closing(sinks):
        while parallel.agreed(trainer.updates < recipe.training.updates and not trainer.stopped):
            logs = trainer.update()
            better = _watch(trainer, logs)
            logged.check(logs, known)
            checkpoint.append_line(folder / "metrics.jsonl", logs)
            checkpoint.append_line(folder / "timings.jsonl", {"update": trainer.updates, **trainer.seconds})
            sinks.log(logs)
            every = recipe.training.checkpoint_every
            if better or (every and trainer.updates % every == 0):
                _keep(trainer)  # after the log: a kill between the two leaves a line too many, which resuming cuts off
            bar.update()
            bar.set_postfix({name.replace("/", " "): f"{logs[name]:.3f}" for name in ("rollout/return", "data/return") if name in logs})


def _beginning(recipe: Recipe, began: Path | None) -> Recipe:
    """The recipe with the model it is to be built from: its own, or the one of a checkpoint."""
    return recipe if began is None else replace(recipe, model=replace(recipe.model, path=str(began), revision=""))


def _watch(trainer: Trainer, logs: dict[str, float]) -> bool:
    """Evaluate where it is due; True when the watched value is the best so far."""
    settings = trainer.settings
    if not settings.evaluate_every or trainer.updates % settings.evaluate_every:
        return False
    before = time.perf_counter()
    evaluation = trainer.evaluate(settings.evaluate_split, settings.evaluate_episodes, settings.only)
    logs |= {f"evaluation/{name}": value for name, value in evaluation.values.items()}
    trainer.seconds["evaluate"] = round(time.perf_counter() - before, 4)
    _write_episodes(trainer.folder / "episodes" / f"update-{trainer.updates}.jsonl", evaluation)
    return bool(settings.stop_metric) and _improves(trainer, evaluation)


def _improves(trainer: Trainer, evaluation: Evaluation) -> bool:
    """Compare the watched value with the best so far; what is no number is never the best."""
    name = trainer.settings.stop_metric
    if name not in evaluation.values:
        near = nearest(name, evaluation.values) or next(iter(evaluation.values))
        raise BadSetting(f"training.stop_metric = {name!r} is not measured in evaluation (nearest: {near}); metrics: adds what is measured")
    value = evaluation.values[name]
    value = value if _higher_is_better(trainer) else -value
    best = -math.inf if trainer.best is None else trainer.best
    if not math.isfinite(value) or value <= best:
        trainer.waited += 1
        return False
    enough = trainer.best is None or value > best + trainer.settings.margin * abs(best)
    trainer.waited = 0 if enough else trainer.waited + 1
    trainer.best, trainer.best_update = value, trainer.updates
    return True


def _higher_is_better(trainer: Trainer) -> bool:
    try:
        return higher_is_better(trainer.settings.stop_metric, trainer.metrics, trainer.weights)
    except BadSetting as error:
        known = [key for metric in trainer.metrics for key in getattr(metric, "keys", ())] + ["return"]
        near = nearest(trainer.settings.stop_metric, known)
        raise BadSetting(f"training.stop_metric: {error}" + (f". Nearest: {near}" if near else "")) from error


def _keep(trainer: Trainer) -> None:
    """Write a checkpoint of this update and drop the oldest beyond `keep`; the best is never dropped."""
    cache.clear(trainer.terms)
    folder = _checkpoint(trainer, trainer.updates)
    if not folder.is_dir():
        checkpoint.save(folder, trainer.actor.language or trainer.actor, trainer.state())
    spared = resuming.name_best(trainer)
    for old in [path for path in checkpoint.checkpoints(trainer.folder) if path.name != spared][: -trainer.settings.keep]:
        checkpoint.remove(old)


def _checkpoint(trainer: Trainer, update: int) -> Path:
    return trainer.folder / "checkpoints" / f"update-{update}"


def _finish(trainer: Trainer) -> None:
    """The last checkpoint and the last evaluation, made with the best model where early stopping kept one."""
    _keep(trainer)
    chosen = _checkpoint(trainer, trainer.updates if trainer.best_update is None else trainer.best_update)
    if trainer.best_update not in (None, trainer.updates):
        best = checkpoint.load(chosen)
        trainer.actor.load_state_dict(best["actor"])
        trainer.algorithm.load_state_dict(best["algorithm"])
    evaluation = trainer.evaluate(trainer.settings.final_split, trainer.settings.final_episodes)
    _write_episodes(trainer.folder / "episodes.jsonl", evaluation)
    told = {
        "higher_is_better": directions(trainer.metrics, trainer.weights, evaluation.values),
        "owners": owners(trainer.recipe.metrics, trainer.metrics, evaluation.values),
    }
    checkpoint.write_json(trainer.folder / "evaluation.json", {"checkpoint": chosen.name, **evaluation.as_json(), **told})


def _begin(trainer: Trainer) -> None:
    """Write what the run is."""
    for name in resuming.LOGS:
        checkpoint.write_aside(trainer.folder / name, "")
    if trainer.recording is not None:
        checkpoint.write_json(trainer.folder / "data.json", trainer.recording.as_json())
    known = {"fingerprint": trainer.recipe.fingerprint, **machine(trainer.actor.device), "rows": trainer.held_out_rows(), "source": source_state()}
    checkpoint.write_json(trainer.folder / "machine.json", known)
    checkpoint.write_aside(trainer.folder / "config.yaml", trainer.recipe.yaml())


def _write_episodes(path: Path, evaluation: Evaluation) -> None:
    """Write the episodes of an evaluation, aside and renamed."""
    path.parent.mkdir(exist_ok=True)
    aside = path.with_name(f".{path.name}.partial")
    episode.write(aside, evaluation.episodes)
    manifest.sync(aside)
    os.replace(aside, path)
