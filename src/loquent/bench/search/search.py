"""Run a search: propose trials, train them rung by rung, and write what the best one needs.

Another call with the same plan goes on where the last one was stopped, and ends with the same winner.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean

from loquent.bench import crew
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.jobs import Job
from loquent.bench.schema.sets import SetJob
from loquent.bench.search import halving, page, trials
from loquent.bench.search.journal import PLAN, RECIPE, Journal, Plan, Proposal, Result, check_same, read_plan
from loquent.bench.search.results import Results
from loquent.bench.search.samplers import propose
from loquent.bench.search.space import restore
from loquent.core.guards.json_files import show
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.values import freeze
from loquent.errors import BadCheckpoint, BadSetting, NotTrusted
from loquent.files import atomic, trust
from loquent.files.run_folder import RunFolder, Tuning
from loquent.training import recipes
from loquent.training.recipes import Recipe

BEST, PAGE = "best.yaml", "search.html"
Say = Callable[[str], None]


def search(
    recipe: Recipe,
    plan: Plan,
    out: str | Path,
    *,
    processes: int | None = None,
    allow_imports: bool = False,
    say: Say = print,
) -> Results:
    """Search settings of a recipe into the folder `out`; a search that was stopped there goes on.

    Args:
        processes: the runs made at once; by default as many as cores and memory allow (`crew.cores`).
        allow_imports: as in `resume_search`, for a search that was stopped; the code of a new one is yours.
        say: called with each line of progress.

    Raises:
        BadCheckpoint: the folder has another search, or something else.
        NotTrusted: the files of a stopped search name code and are not trusted.
    """
    folder = Path(out)
    begun = (folder / PLAN).is_file()
    if begun:
        check_same(folder, plan)
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadCheckpoint(f"{folder} is not empty and holds no search; name a new folder")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write_text(folder / RECIPE, recipe.yaml())
        trust.sign(folder / RECIPE)
        atomic.write_json(folder / PLAN, asdict(plan))
        trust.sign(folder / PLAN)
    return resume_search(folder, processes=processes, allow_imports=allow_imports or not begun, say=say)


def resume_search(
    folder: str | Path, *, processes: int | None = None, allow_imports: bool = False, say: Say = print
) -> Results:
    """Go on with the search in a folder; a search that has ended gives its results again.

    Args:
        allow_imports: import the code that the files of the search name, wherever the folder lies;
            otherwise `loquent.files.trust` decides.

    Raises:
        BadCheckpoint: the files of the search were changed.
        NotTrusted: they name code and are not trusted.
    """
    files = RunFolder(folder)
    with files.alone():
        return _Search(files.path, crew.cores(processes or 0), allow_imports, say).run()


class _Search:
    """A search in its folder."""

    def __init__(self, folder: Path, processes: int, allow_imports: bool, say: Say) -> None:
        self.folder, self.processes, self.allow_imports, self.say = folder, processes, allow_imports, say
        self.plan = read_plan(folder)
        self.space = restore(self.plan.space, self.plan.whole)
        self.key = Key(self.plan.seed, ("search",))
        self.journal = Journal(folder)
        if odd := self.journal.trials - set(range(self.plan.trials)):  # nothing would compare their settings
            raise BadCheckpoint(
                f"{self.journal.path}: it has a trial {min(odd)}, and the trials of the search are 0 to "
                f"{self.plan.trials - 1}; remove its lines, or search in another folder"
            )
        imports: recipes.Imports = "all" if allow_imports else "trusted"
        with warnings.catch_warnings():  # they were shown when the search began
            warnings.simplefilter("ignore", Remark)
            self.recipe = recipes.load(folder / RECIPE, imports=imports)
        if self.recipe.fingerprint != self.plan.recipe:
            raise BadCheckpoint(f"{folder / RECIPE} was changed since the search began; restore it")

    def run(self) -> Results:
        """Make the trials that are missing, and write the results."""
        known = range(self.plan.trials)
        # random points depend on no result, so their runs can be made together
        batches = [[trial] for trial in known] if self.plan.sampler == "tpe" else [[*known]]
        for batch in batches:
            for trial in batch:
                self._propose(trial)
            self._rung(0, batch)
        for number in range(1, len(self.plan.rungs)):
            values = self.journal.rung(number - 1)
            self._rung(number, halving.survivors(values, self.plan.keep, self.plan.higher))
        return self._finish()

    def _propose(self, trial: int) -> None:
        """Propose a trial. A proposal of an earlier call must be the same.

        Raises:
            BadCheckpoint: it is another, so the search could not go on as it began.
        """
        values = self.journal.rung(0)
        earlier = [(self.journal.proposals[one], values.get(one)) for one in range(trial)]
        point = propose(self.plan.sampler, self.space, self.key, earlier, self.plan.higher)
        before = self.journal.proposals.get(trial)
        if before is None:
            self.journal.add(Proposal(trial, point))
        elif before != freeze(point):
            library = f" by {self.plan.sampler_version}" if self.plan.sampler_version else ""
            raise BadCheckpoint(
                f"{self.journal.path}: trial {trial} was proposed as {show(before)}, and it is {show(point)} "
                f"now; the search began on another machine{library}, or a line was changed. Search in "
                "another folder"
            )

    def _rung(self, number: int, chosen: Sequence[int]) -> None:
        """Train the trials of a rung that have no result yet."""
        jobs: dict[int, list[Job]] = {}
        for trial in chosen:
            if (trial, number) in self.journal.results:
                continue
            try:
                jobs[trial] = self._jobs(trial, number)
            except BadSetting as error:
                if isinstance(error, NotTrusted):
                    raise
                self._note(Result(trial, number, None, why=str(error)))
        ended: dict[str, Outcome] = {}

        def report(job: Job | SetJob, outcome: Outcome) -> None:
            ended[job.key] = outcome
            if outcome.note:
                self.say(f"{job.title}: {outcome.note}")
            for trial, own in jobs.items():
                if job in own and all(one.key in ended for one in own):
                    self._note(self._result(trial, number, own, ended))

        runs = [job for own in jobs.values() for job in own]
        crew.run(runs, self.processes, report, threads_each=trials.threads(self.folder))

    def _jobs(self, trial: int, number: int) -> list[Job]:
        """The runs of a trial up to the end of a rung."""
        recipe = trials.recipe_of(self.folder, self.journal.proposals[trial], self.allow_imports)
        updates = self.plan.rungs[number]
        return [trials.job(recipe, trial, seed, updates, self.folder) for seed in range(self.plan.seeds)]

    def _result(self, trial: int, number: int, jobs: Sequence[Job], ended: dict[str, Outcome]) -> Result:
        seconds = round(math.fsum(ended[job.key].seconds for job in jobs), 1)
        try:
            values = tuple(trials.value(job, ended[job.key], self.plan.metric) for job in jobs)
        except BadSetting as error:
            return Result(trial, number, None, why=str(error), seconds=seconds)
        return Result(trial, number, fmean(values), values, seconds=seconds)

    def _note(self, result: Result) -> None:
        self.journal.add(result)
        metric, updates = self.plan.metric, self.plan.rungs[result.rung]
        end = f"failed: {result.why}" if result.value is None else f"{metric} {result.value:.4g}"
        self.say(f"trial {result.trial}, {updates} updates: {end}")

    def _finish(self) -> Results:
        """Write the best recipe, the note in the folders of its runs, and the page."""
        updates, episodes = trials.cost(self.folder)
        tuning = Tuning(
            trials=self.plan.trials,
            updates=updates,
            episodes=episodes,
            seconds=self.journal.seconds,
            metric=self.plan.metric,
            split=self.recipe.training.evaluate_split,
            rows=trials.rows(self.folder),
        )
        total = tuning if self.recipe.tuning is None else self.recipe.tuning.followed_by(tuning)
        results = Results(self.folder, self.plan, self.recipe, self.space, self.journal, total)
        if results.best is not None:
            best = trials.recipe_of(self.folder, self.journal.proposals[results.best], self.allow_imports)
            atomic.write_text(self.folder / BEST, replace(best, tuning=total).yaml())
            trust.sign(self.folder / BEST)
            for job in self._jobs(results.best, results.last_rung(results.best)):
                RunFolder(job.folder).write_tuning(total)
        atomic.write_text(self.folder / PAGE, page.html(results))
        return results
