"""From a suite to the runs it needs: each once, in an order in which what a run starts from comes before
it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from loquent import recipes
from loquent.bench import sets
from loquent.bench.ranking import Rank
from loquent.bench.sets import SetJob
from loquent.bench.suite import ANY, REFERENCE, SMOKE, Entry, Suite, named_in, references
from loquent.core.agent import without_transport
from loquent.core.values import Record, digest, plain
from loquent.errors import BadSetting, UnknownName
from loquent.recipes import Recipe

SMOKE_EPISODES = 20  # games of a set under the profile smoke


@dataclass(frozen=True)
class Job:
    """One run: a recipe with a seed, its folder, and the folders it starts from.

    `key` is what it does, wherever it lies.
    """

    name: str
    seed: int
    key: str
    folder: Path
    recipe: Recipe
    agent: str | Record = ""
    needs: tuple[str, ...] = ()  # keys
    ranks: tuple[Rank, ...] = ()  # what is asked of its values when it has come to its end

    @property
    def title(self) -> str:
        """What progress and failures call it."""
        return self.folder.name


@dataclass(frozen=True)
class Plan:
    """All runs of a suite. `cells` says which run each cell has for each seed: equal settings share one."""

    jobs: tuple[Job | SetJob, ...]
    cells: Mapping[str, Mapping[int, str]]
    sets: Mapping[str, str] = field(
        default_factory=dict
    )  # the keys of the sets of recorded episodes that are needed


def plan(
    suite: Suite,
    out: Path,
    profile: str,
    seeds: int,
    overrides: Mapping[str, Sequence[str]],
    only: Sequence[str] = (),
) -> Plan:
    """The runs of a suite under a profile, stages first.

    Args:
        only: the cells that are asked for, with what they start from; all by default.

    Raises:
        BadSetting: entries start from each other in a circle, or a setting of one is wrong; names the entry.
    """
    maker = _Maker(suite, out, profile, overrides)
    cells = {
        name: {seed: maker.key(name, seed) for seed in range(seeds)}
        for name in suite.cells
        if not only or name in only
    }
    return Plan(tuple(maker.jobs.values()), cells, {name: job.key for name, job in maker.sets.items()})


def by_entry(
    overrides: Sequence[str], names: Sequence[str], sets: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Overrides by the entry they are for: `name:key.path=value` for one, or for all that match where it has
    * in it; without a name for all but the sets of recorded episodes.

    Raises:
        BadSetting: there is no entry of that name.
    """
    found: dict[str, list[str]] = {name: [] for name in (*names, *sets)}
    for text in overrides:
        name, colon, rest = text.partition(":")
        if not colon or "=" in name:
            for entry in names:
                found[entry].append(text)
            continue
        matching = [one for one in found if one == name or ("*" in name and fnmatchcase(one, name))]
        if not matching:
            raise BadSetting(f"the override {text!r} names no stage; known: {', '.join(found)}")
        for one in matching:
            found[one].append(rest)
    return found


def override(name: str, value: Any) -> str:
    """The override that gives a setting this very value, whatever YAML would read in its text."""
    bare = str(value) if isinstance(value, float) and not math.isfinite(value) else plain(value)
    return f"{name}={json.dumps(bare, ensure_ascii=False)}"


class WrongEntry(BadSetting):
    """An entry of a suite cannot be planned; the message names the suite and the entry."""


class _Maker:
    """Makes each run once; a run that is asked for again under another name is the same run."""

    def __init__(self, suite: Suite, out: Path, profile: str, overrides: Mapping[str, Sequence[str]]) -> None:
        self.suite, self.out, self.profile, self.overrides = suite, out, profile, overrides
        self.jobs: dict[str, Job | SetJob] = {}
        self.sets: dict[str, SetJob] = {}
        self.keys: dict[tuple[str, int | None], str] = {}
        self.under_way: list[str] = []

    def key(self, name: str, seed: int) -> str:
        """The key of an entry's run, which is planned now where it is not yet."""
        known = name, None if name in self.suite.stages else seed
        if known in self.keys:
            return self.keys[known]
        if name in self.under_way:
            raise WrongEntry(
                f"suite {self.suite.name}: {' starts from '.join([*self.under_way, name])}, which is a circle"
            )
        self.under_way.append(name)
        try:
            self.keys[known] = self._planned(name, seed)
            return self.keys[known]
        except BadSetting as error:
            if isinstance(error, WrongEntry):
                raise
            raise WrongEntry(f"suite {self.suite.name}, {name}: {error}") from error
        finally:
            self.under_way.pop()

    def _planned(self, name: str, seed: int) -> str:
        entry, once = self.suite.entries[name], name in self.suite.stages
        if self.profile in entry.instead:
            return f"model:{entry.instead[self.profile]}"
        settings = self._settings(name, entry)
        needs = {referred: self.key(referred, seed) for referred in references(settings)}
        draft = self._recipe(name, entry, settings, needs, None if once else seed)
        data = {referred: self._set(referred, draft) for referred in named_in(draft.training.data)}
        symbolic = _reading(draft, {referred: one.key for referred, one in data.items()})
        key = digest(Record({"recipe": symbolic.fingerprint, "agent": without_transport(entry.agent)}), 16)
        if key not in self.jobs:
            folders = {referred: self._place(needed) for referred, needed in needs.items()}
            real = self._recipe(name, entry, settings, folders, None if once else seed)
            real = _reading(real, {referred: str(one.place) for referred, one in data.items()})
            folder = self.out / (name if once else f"{name}-{seed}")
            ranks = () if once or entry.agent else self._ranks(draft)
            wanted = (*needs.values(), *(one.key for one in data.values()), *(rank.key for rank in ranks))
            starts = tuple(dict.fromkeys(needed for needed in wanted if needed in self.jobs))
            self.jobs[key] = Job(name, real.training.seed, key, folder, real, entry.agent, starts, ranks)
        return key

    def _set(self, name: str, recipe: Recipe) -> SetJob:
        """The set of that name on the recipe's task, which is planned now where it is not yet."""
        if name not in self.suite.data:
            raise BadSetting(str(UnknownName("set of episodes", name, self.suite.data)))
        layers = [Record(episodes=SMOKE_EPISODES)] if self.profile == SMOKE else []
        chosen = self.suite.profiles[self.profile].data if self.profile in self.suite.profiles else Record()
        layers += [chosen.get(ANY, Record()), chosen.get(name, Record())]
        data = sets.changed(name, self.suite.data[name], layers, self.overrides.get(name, ()))
        job = sets.planned(name, data, recipe, self.out, self.suite.optimum)
        if self.sets.setdefault(name, job) != job:
            raise BadSetting(
                f"the set {name} is needed on two tasks, or with two options of one; a set is played "
                "on the task of all runs that need it"
            )
        self.jobs.setdefault(job.key, job)
        return job

    def _ranks(self, recipe: Recipe) -> tuple[Rank, ...]:
        found = (
            (name, ranking.pairs, self._set(ranking.data, recipe))
            for name, ranking in self.suite.ranking.items()
        )
        return tuple(Rank(name, pairs, job.key, job.file) for name, pairs, job in found)

    def _settings(self, name: str, entry: Entry) -> dict[str, Any]:
        """An entry's settings, the more particular over the more general."""
        chosen = self.suite.profiles[self.profile].set if self.profile in self.suite.profiles else Record()
        layers = [
            self.suite.shared if name in self.suite.cells else Record(),
            chosen.get(ANY, Record()),
            chosen.get(entry.recipe, Record()),
        ]
        layers += [entry.set, entry.at.get(self.profile, Record())]
        merged: dict[str, Any] = {}
        for layer in layers:
            merged |= layer
        return merged

    def _recipe(
        self,
        name: str,
        entry: Entry,
        settings: Mapping[str, Any],
        folders: Mapping[str, str],
        seed: int | None,
    ) -> Recipe:
        """The recipe with `folders` in place of the names it refers to."""
        texts = [override(path, _resolved(value, folders)) for path, value in settings.items()]
        texts += [*self.overrides.get(name, ()), *([] if seed is None else [f"training.seed={seed}"])]
        file = self.suite.folder / entry.recipe
        found: str | Path = (
            file if entry.recipe.endswith((".yaml", ".yml")) and file.is_file() else entry.recipe
        )
        imports: recipes.Imports = "all" if self.suite.allow_imports else "trusted"
        return recipes.load(found, texts, profile=SMOKE if self.profile == SMOKE else None, imports=imports)

    def _place(self, key: str) -> str:
        return str(self.jobs[key].folder) if key in self.jobs else key.removeprefix("model:")


def _reading(recipe: Recipe, places: Mapping[str, str]) -> Recipe:
    """The recipe with these in place of the names of sets."""
    if not places:
        return recipe
    return replace(
        recipe,
        training=replace(
            recipe.training, data=tuple(_resolved(path, places) for path in recipe.training.data)
        ),
    )


def _resolved(value: Any, folders: Mapping[str, str]) -> Any:
    match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return folders.get(match[1], value) if match else value
