"""The jobs of a suite, each once; a job comes after the jobs that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from loquent.bench.ranking import Rank
from loquent.bench.schema import sets
from loquent.bench.schema.sets import SetJob
from loquent.bench.schema.suite_schema import (
    ANY,
    REFERENCE,
    SMOKE,
    Entry,
    Search,
    Suite,
    inside,
    named_in,
    references,
)
from loquent.core.options import SUITE, Node, without_transport
from loquent.core.values import Record, digest
from loquent.errors import BadSetting, NotTrusted, UnknownName
from loquent.training import recipes
from loquent.training.recipes import Recipe
from loquent.training.recipes.overrides import Override, of_file

MODEL = "model: "  # before the model that stands for a stage; the text is no name of code
SMOKE_EPISODES = 20  # games of a set under the profile smoke


@dataclass(frozen=True)
class Job:
    """One run: a recipe with a seed, its folder, and the jobs that it needs.

    `key` is a hash of all settings that determine its results; it does not depend on the folder.
    """

    name: str
    seed: int
    key: str
    folder: Path
    recipe: Recipe
    agent: str | Record = ""
    needs: tuple[str, ...] = ()  # the keys of other jobs
    ranks: tuple[Rank, ...] = ()  # pairs of answers to rank by the Q of the finished run
    extends: bool = False  # whether a run of fewer updates in the folder goes on

    @property
    def title(self) -> str:
        """The name in progress lines and failures."""
        return self.folder.name


@dataclass(frozen=True)
class Starts:
    """What runs start and learn from: other runs by name, models, and sets or paths of recorded episodes."""

    runs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All jobs of a suite.

    `cells` gives the key of the run of each cell and seed; cells with equal settings share a run. `sets`
    gives the key of each set of recorded episodes that a run needs.
    """

    jobs: tuple[Job | SetJob, ...]
    cells: Mapping[str, Mapping[int, str]]
    sets: Mapping[str, str] = field(default_factory=dict)

    @property
    def starts(self) -> Starts:
        """What the trained runs start and learn from, in the order of the jobs."""
        trained = [job for job in self.jobs if isinstance(job, Job) and not job.agent]
        needed = {key for job in trained for key in job.needs}
        made = {str(job.folder) for job in trained}
        sets = {str(job.place): job.name for job in self.jobs if isinstance(job, SetJob)}
        models = dict.fromkeys(job.recipe.model.path for job in trained)
        data = dict.fromkeys(sets.get(path, path) for job in trained for path in job.recipe.training.data)
        return Starts(
            tuple(dict.fromkeys(job.name for job in trained if job.key in needed)),
            tuple(path for path in models if path and path not in made),
            tuple(data),
        )


def plan(
    suite: Suite,
    out: Path,
    profile: str,
    seeds: int | None,
    overrides: Mapping[str, Sequence[str]],
    only: Sequence[str] = (),
) -> Plan:
    """The jobs of a suite under a profile.

    Args:
        out: the folder of the runs' folders.
        seeds: the number of runs of each cell; None for that of the profile, which may give some cells fewer.
        overrides: by entry, as `by_entry` gives them.
        only: the cells to make, with the jobs that they need; all cells by default.

    Raises:
        BadSetting: entries start from each other in a circle, or a setting of an entry is wrong.
    """
    planner = _Planner(suite, out, profile, overrides)
    cells = {
        name: {seed: planner.key(name, seed) for seed in range(suite.runs(name, profile, seeds))}
        for name in suite.cells
        if not only or name in only
    }
    made = planner.needed_by({key for keys in cells.values() for key in keys.values()})
    return Plan(tuple(made.values()), cells, {name: job.key for name, job in planner.sets.items()})


def by_entry(
    overrides: Sequence[str], names: Sequence[str], sets: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Overrides by entry.

    `name:key.path=value` is for the entry of that name, or for all matching entries if the name contains *.
    `key.path=value` is for all entries except sets of recorded episodes.

    Raises:
        BadSetting: there is no entry of that name.
    """
    by_name: dict[str, list[str]] = {name: [] for name in (*names, *sets)}
    for text in overrides:
        name, colon, rest = text.partition(":")
        if not colon or "=" in name:
            for entry in names:
                by_name[entry].append(text)
            continue
        matching = [entry for entry in by_name if entry == name or ("*" in name and fnmatchcase(entry, name))]
        if not matching:
            raise BadSetting(f"the override {text!r} names no stage; known: {', '.join(by_name)}")
        for entry in matching:
            by_name[entry].append(rest)
    return by_name


class WrongEntry(BadSetting):
    """An entry of a suite cannot be planned; the message names the suite and the entry."""


class _Planner:
    """Plans each job once; entries with equal settings share a job."""

    def __init__(self, suite: Suite, out: Path, profile: str, overrides: Mapping[str, Sequence[str]]) -> None:
        self.suite, self.out, self.profile, self.overrides = suite, out, profile, overrides
        self.jobs: dict[str, Job | SetJob] = {}
        self.sets: dict[str, SetJob] = {}
        self.keys: dict[tuple[str, int], str] = {}
        self.stack: list[str] = []  # entries being planned; each needs the next

    def key(self, name: str, seed: int) -> str:
        """The key of an entry's run, which is planned on first access."""
        seed = 0 if self.suite.entries[name].shared else seed
        entry = name, seed
        if entry in self.keys:
            return self.keys[entry]
        if name in self.stack:
            raise WrongEntry(
                f"suite {self.suite.name}: {' starts from '.join([*self.stack, name])}, which is a circle"
            )
        self.stack.append(name)
        try:
            self.keys[entry] = self._plan(name, seed)
            return self.keys[entry]
        except BadSetting as error:
            if isinstance(error, WrongEntry | NotTrusted):
                raise
            raise WrongEntry(f"suite {self.suite.name}, {name}: {error}") from error
        finally:
            self.stack.pop()

    def _plan(self, name: str, seed: int) -> str:
        """Plan an entry's run; returns its key."""
        entry, is_stage = self.suite.entries[name], name in self.suite.stages
        if self.profile in entry.instead:
            return MODEL + entry.instead[self.profile]
        settings = self.suite.settings(name, self.profile)
        needs = {reference: self.key(reference, seed) for reference in references(settings)}
        draft = self._recipe(name, entry, settings, needs, seed)
        data = {reference: self._set(reference, draft) for reference in named_in(draft.training.data)}
        symbolic = _with_data(draft, {reference: job.key for reference, job in data.items()})
        key = digest(Record({"recipe": symbolic.fingerprint, "agent": without_transport(entry.agent)}), 16)
        if key not in self.jobs:
            folders = {reference: self._place(needed) for reference, needed in needs.items()}
            recipe = self._recipe(name, entry, settings, folders, seed)
            recipe = _with_data(recipe, {reference: str(job.place) for reference, job in data.items()})
            folder = self._folder(name, seed)
            ranks = () if is_stage or entry.agent else self._ranks(draft)
            written = str(draft.resolve())  # an override may have replaced a reference
            starts = (key for key in needs.values() if key in written)
            keys = (*starts, *(job.key for job in data.values()), *(rank.key for rank in ranks))
            needed = tuple(dict.fromkeys(key for key in keys if key in self.jobs))
            tuned = _with_tuning(recipe, self.suite.search(self.profile, name))
            self.jobs[key] = Job(name, tuned.training.seed, key, folder, tuned, entry.agent, needed, ranks)
        return key

    def _folder(self, name: str, seed: int) -> Path:
        """The folder of an entry's run: the name of a stage, and from seed 1 on NAME-SEED, as of cells."""
        folder = self.out / (f"{name}-{seed}" if seed or name in self.suite.cells else name)
        for job in self.jobs.values():
            if job.folder == folder:
                raise BadSetting(f"seed {seed}: the folder {folder} is that of {job.name} too; rename one")
        return folder

    def needed_by(self, keys: set[str]) -> dict[str, Job | SetJob]:
        """The jobs of these keys and all that they need; each comes after what it needs."""
        needed = set(keys)
        for job in reversed(self.jobs.values()):
            needed |= set(job.needs) if job.key in needed else set()
        return {key: job for key, job in self.jobs.items() if key in needed}

    def _set(self, name: str, recipe: Recipe) -> SetJob:
        """The job of a set on the recipe's task, which is planned on first access."""
        if name not in self.suite.data:
            raise BadSetting(str(UnknownName("set of episodes", name, self.suite.data)))
        layers = [{"episodes": Node(SMOKE_EPISODES, SMOKE, None)}] if self.profile == SMOKE else []
        profile = self.suite.profiles[self.profile].data if self.profile in self.suite.profiles else {}
        layers += [inside(profile, ANY), inside(profile, name)]
        data = sets.replace_fields(name, self.suite.data[name], layers, self.overrides.get(name, ()))
        job = sets.plan_set(name, data, recipe, self.out, self.suite.optimum)
        if self.sets.setdefault(name, job) != job:
            raise BadSetting(
                f"the set {name} is needed on two tasks, or with two settings of one task; use one task with "
                "the same options in all runs that need the set"
            )
        self.jobs.setdefault(job.key, job)
        return job

    def _ranks(self, recipe: Recipe) -> tuple[Rank, ...]:
        ranks = []
        for name, ranking in self.suite.ranking.items():
            job = self._set(ranking.data, recipe)
            ranks.append(Rank(name, ranking.pairs, job.key, job.file))
        return tuple(ranks)

    def _recipe(
        self,
        name: str,
        entry: Entry,
        settings: Mapping[str, Node],
        folders: Mapping[str, str],
        seed: int,
    ) -> Recipe:
        """The recipe of an entry, with references replaced by `folders`.

        The seed of a cell is `seed`; that of a stage is the recipe's own plus `seed`.
        """
        own = {path: _with_folder(node.of(SUITE), folders) for path, node in settings.items()}
        overrides: list[str | Override] = [*of_file(own, self.suite.file), *self.overrides.get(name, ())]
        overrides += [f"training.seed={seed}"] if name in self.suite.cells else []
        file = self.suite.file.parent / entry.recipe
        beside = entry.recipe.endswith((".yaml", ".yml")) and file.is_file()
        source: str | Path = file if beside else entry.recipe
        imports: recipes.Imports = "all" if self.suite.allow_imports else "trusted"
        known = self.profile == SMOKE or self.profile in recipes.profiles(source)
        recipe = recipes.load(source, overrides, profile=self.profile if known else None, imports=imports)
        if name in self.suite.cells:
            return recipe
        return replace(recipe, training=replace(recipe.training, seed=recipe.training.seed + seed))

    def _place(self, key: str) -> str:
        return str(self.jobs[key].folder) if key in self.jobs else key.removeprefix(MODEL)


def _with_tuning(recipe: Recipe, record: Search | None) -> Recipe:
    """The recipe with what the search for its settings cost, by the suite's record or by the recipe itself.

    Raises:
        BadSetting: the search chose by the split of the final evaluation.
    """
    tuning, final = record.tuning if record else recipe.tuning, recipe.training.final_split
    if tuning is not None and tuning.split == final:
        raise BadSetting(
            f"its settings were chosen by a search on the split {tuning.split!r}, and training.final_split = "
            f"{final!r} evaluates on the same rows, so its numbers would be too good; evaluate on another "
            "split, or leave the record of the search and its settings out"
        )
    return replace(recipe, tuning=tuning)


def _with_data(recipe: Recipe, places: Mapping[str, str]) -> Recipe:
    """The recipe with the names of sets in `training.data` replaced by these places."""
    if not places:
        return recipe
    data = tuple(_resolved(path, places) for path in recipe.training.data)
    return replace(recipe, training=replace(recipe.training, data=data))


def _with_folder(node: Node, folders: Mapping[str, str]) -> Node:
    """The node, or the folder that it refers to as <name>; the file answers for what stands there."""
    folder = _resolved(node.value, folders)
    return node if folder is node.value else Node(folder, node.file, node.line, SUITE)


def _resolved(value: Any, folders: Mapping[str, str]) -> Any:
    match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return folders.get(match[1], value) if match else value
