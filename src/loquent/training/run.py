"""A run on disk: its recipe, its logs and its model. `load_run(folder)` returns one.

Reading the logs and drawing them needs no torch, so what does is imported where it is used.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.core import episode, registry
from loquent.core.agent import Agent
from loquent.core.episode import Episode
from loquent.core.options import from_values
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Task
from loquent.errors import BadCheckpoint, BadSetting, require
from loquent.files import names, saved_state
from loquent.files.columns import Metrics
from loquent.files.run_folder import RunFolder
from loquent.files.run_logs import read_log
from loquent.models.decoding_settings import Decoding
from loquent.training import recipes
from loquent.training.evaluate import Evaluation, evaluate_by
from loquent.training.recipes import Recipe
from loquent.training.recipes.overrides import check_list

if TYPE_CHECKING:
    import pandas

    from loquent.pretrained import LanguageModel
    from loquent.report.page import Plot

EVALUATED = ("evaluation", "metrics", "rewards", "task")  # sections that an evaluation may change


@dataclass(frozen=True)
class Run:
    """The folder of a run, finished or not."""

    folder: Path
    allow_imports: bool = False
    """Whether the code that its recipe names is imported wherever the run is stored.

    By default `loquent.files.trust` decides.
    """

    @property
    def files(self) -> RunFolder:
        """The files of the run."""
        return RunFolder(self.folder)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the run, with every default written out, and the updates it was extended to."""
        self._compare(names.CONFIG)
        overrides = self.files.overrides()
        with warnings.catch_warnings():  # the run showed the remarks on its settings when it began
            warnings.simplefilter("ignore", Remark)
            imports: recipes.Imports = "all" if self.allow_imports else "trusted"
            return recipes.load(self.files.config, overrides, imports=imports, begun=True)

    @property
    def metrics(self) -> Metrics:
        """The logged values: a list with one object per update, and a column per key (`metrics[KEY]`)."""
        self._compare(names.METRICS)
        return Metrics(read_log(self.files.logs.metrics))

    def to_pandas(self) -> pandas.DataFrame:
        """The logged values as a data frame: one row per update, one column per key.

        Raises:
            MissingExtra: pandas is not installed (`loquent[pandas]`).
        """
        return self.metrics.to_pandas()

    def episodes(self, split: str | None = None, *, update: int | None = None) -> list[Episode]:
        """The episodes of the evaluation at the end, or of an evaluation in training.

        Args:
            split: the split of the episodes. By default that of the evaluation at the end.
            update: the update of an evaluation in training. By default the evaluation at the end if it has
                episodes of the split, else the newest evaluation in training.

        Raises:
            BadSetting: the run has no such episodes; names those that it has.
            Damaged: the file of the episodes has changed.
        """
        known = self._episode_files()
        fitting = [path for of, at, path in known if split in (None, of) and (update is None or update == at)]
        if not fitting:
            wanted = f"split={split!r}, update={update}"
            has = ", ".join(
                f"{of} {'at the end' if at is None else f'at update {at}'}" for of, at, _ in known
            )
            raise BadSetting(f"{self.folder} has no episodes for {wanted}; it has: {has or 'none'}")
        if fitting[-1] == self.files.episodes:
            self.files.check_evaluation_episodes()
        else:
            self._compare(fitting[-1].relative_to(self.folder).as_posix())
        return list(episode.read(fitting[-1]))

    def _episode_files(self) -> list[tuple[str, int | None, Path]]:
        """The split, the update (None: at the end) and the file of each evaluation, the newest last."""
        from loquent.report.runs import ReportedRun

        of = ReportedRun(self.folder).config["training"]["evaluate_split"]
        found: list[tuple[str, int | None, Path]] = [
            (of, update, path) for update, path in self.files.evaluations().items()
        ]
        if self.files.has_ended and self.files.episodes.is_file():
            found.append((self.files.evaluation()["split"], None, self.files.episodes))
        return found

    def plot(self, keys: str | Sequence[str]) -> Plot:
        """Charts of logged keys, as the report draws them: a notebook shows them, `save(path)` writes a page.

        Raises:
            UnknownName: the run did not log a key.
        """
        from loquent.report import plot

        require(keys, str | list | tuple, "keys", "a logged key, or a list of these")
        return plot([self.folder], [keys] if isinstance(keys, str) else keys)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the report of the run, by default to `report.html` in its folder; returns the path."""
        from loquent.report import write_report

        return write_report([self.folder], self.files.report if path is None else path)

    def _repr_html_(self) -> str:
        from loquent.report.headlines import brief

        return brief(self.folder)

    @property
    def evaluation(self) -> dict[str, Any]:
        """The evaluation at the end of the run."""
        if not self.files.has_ended:
            what = f"{self.folder} has not ended: {names.EVALUATION} is missing"
            raise BadCheckpoint(f"{what}; finish it with: loquent resume {self.folder}")
        return self.files.evaluation()

    def _compare(self, name: str) -> None:
        """Raise Damaged if a file differs from its record in the newest checkpoint."""
        self.files.newest_records().check(name)

    @property
    def fingerprint(self) -> str:
        """A hash of the results: the policy's weights, the logged values and the last evaluation.

        Equal runs have equal fingerprints.
        """
        from loquent.training.policies import policy_folder

        digest = hashlib.sha256()
        for path in sorted(policy_folder(self.folder).glob("*.safetensors")):
            digest.update(path.read_bytes())
        digest.update(json.dumps([self.metrics, self.evaluation], sort_keys=True).encode())
        return digest.hexdigest()[:16]

    def task(self) -> Task:
        """The task the run was trained on."""
        from loquent.training.start import make_task

        return make_task(self.recipe)

    def agent(self, **decoding: Any) -> Agent:
        """The best or newest policy, as its algorithm acts in evaluation.

        Masks and decoding are those of the recipe.

        Args:
            decoding: fields of the recipe's `evaluation` to replace, such as `max_new_tokens=5`.

        Raises:
            BadSetting: a field is unknown, or its value is refused.
        """
        recipe = self.recipe
        evaluation = from_values(Decoding, {**vars(recipe.evaluation), **decoding}, "evaluation")
        return self.acting(replace(recipe, evaluation=evaluation))[0]

    def evaluate(
        self, *, split: str = "test", episodes: int = 200, seed: int = 0, overrides: Sequence[str] = ()
    ) -> Evaluation:
        """Evaluate the best or newest policy on held-out rows, with the recipe's rewards and metrics.

        Args:
            overrides: `key.path=value` for the sections `evaluation`, `metrics`, `rewards` and `task`, and
                for settings of the algorithm that only acting reads.

        Raises:
            BadSetting: an override is of another section, or its value is refused.
        """
        from loquent.training.start import make_task

        recipe = for_evaluation(self.recipe, overrides)
        agent, language = self.acting(recipe)
        return evaluate_by(
            recipe, make_task(recipe), agent, language, split=split, episodes=episodes, seed=seed
        )

    def acting(self, settings: Recipe, checkpoint_: Path | None = None) -> tuple[Agent, LanguageModel | None]:
        """The algorithm's agent in the state of a checkpoint, and its language model, if any.

        Only learning needs the reference. A copy of the policy replaces it here, so its files may be deleted.

        Args:
            settings: the recipe of the run; its task and `evaluation` may be changed.
            checkpoint_: the folder of a checkpoint of the run. By default the best or newest one.
        """
        from loquent.training import checkpoint
        from loquent.training.policies import policy_folder
        from loquent.training.start import make_actor, make_task

        chosen = policy_folder(self.folder if checkpoint_ is None else checkpoint_).parent
        state = checkpoint.load(chosen, reference=False)
        update = names.update_of(chosen.name)
        saved_state.count(saved_state.part(state, "counters"), "updates", update, least=update)
        reference = "none" if settings.model.reference == "none" else "copy"
        model = replace(settings.model, path=str(chosen), revision="", reference=reference)
        start = replace(settings, model=model)
        actor = make_actor(start, make_task(settings), Key(settings.training.seed), own=True)
        learned = {
            name: tensor
            for name, tensor in saved_state.part(state, "actor").items()
            if not name.startswith("reference.")
        }
        copied = {
            name: tensor for name, tensor in actor.state_dict().items() if name.startswith("reference.")
        }
        # the algorithm may attach networks, such as values, to the actor
        algorithm = registry.resolve("algorithm", settings.algorithm)(settings.config, actor)
        with saved_state.restoring():
            actor.load_state_dict({**copied, **learned})
            algorithm.load_state_dict(state["algorithm"])
        return algorithm.agent(actor, True), actor.language


def for_evaluation(recipe: Recipe, overrides: Sequence[str]) -> Recipe:
    """The recipe with overrides of the sections that an evaluation may change, and of settings of acting.

    Raises:
        BadSetting: an override is of another section or setting, or its value is refused.
    """
    check_list(overrides)
    for text in overrides:
        path, acting = text.partition("=")[0].strip(), list[str]()
        section = path.partition(".")[0]
        if section == "algorithm":
            acting = [f"algorithm.{name}" for name in registry.resolve(section, recipe.algorithm).acting]
        if section not in EVALUATED and path not in acting:
            raise BadSetting(
                f"the override {text!r:.100} cannot change when a run is evaluated; settings of "
                f"{', '.join(EVALUATED)} can{', and ' * bool(acting)}{', '.join(acting)}"
            )
    return recipe.replace(*overrides)


def load_run(folder: str | Path, *, allow_imports: bool = False) -> Run:
    """The run in a folder; for `allow_imports` see `Run`.

    Raises:
        BadCheckpoint: there is no run.
        AnotherRun: another version of Loquent wrote it.
        Damaged: its machine.json cannot be read.
    """
    files = RunFolder(folder)
    files.require_run()
    files.check_format()
    return Run(files.path, allow_imports)
