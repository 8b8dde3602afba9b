"""An annotation session: each annotation joins the pool at once, and the agent learns from it.

A session's folder is the folder of a run with three more files. `samples.jsonl` holds the samples to
annotate. `annotations.jsonl` holds the annotations; each is written before the agent learns from it.
`draft.json` holds the unfinished corrections of one sample. After a kill, the session continues from its
newest undamaged checkpoint and learns again from the later annotations, so the results are the same.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.bench.annotation.session_files import SessionFiles
from loquent.bench.annotation.sheets import Annotation, form_of
from loquent.core import log_keys
from loquent.core.algorithm import Playing
from loquent.core.guards import json_files
from loquent.core.log_keys import Logged
from loquent.core.rollout.loop import Game, play
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.data.outcomes import SUCCESS
from loquent.data.pools import Pool
from loquent.errors import BadCheckpoint, BadRow, BadSetting, Damaged, UnknownName
from loquent.files import names
from loquent.files.machine.identity import machine
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.identity import all_settings, differences
from loquent.training.keeping import CheckpointKeeper
from loquent.training.recipes import Recipe
from loquent.training.trainer import Trainer

KEPT = 2  # the number of checkpoints that the folder keeps
WINDOW = 50  # samples of `annotation/saved_lately`, as in the paper
LOGGED = {
    "annotation/samples": Logged("samples", "samples annotated so far"),
    "annotation/corrected": Logged("decisions", "corrections in this sample"),
    "annotation/decisions": Logged("decisions", "decisions that this sample takes without a suggestion"),
    "annotation/saved": Logged("share of decisions", "1 - corrections / decisions, over all samples so far"),
    "annotation/saved_lately": Logged("share of decisions", "the same over the last 50 samples"),
}


@dataclass(frozen=True)
class Effort:
    """The number of corrections, and of decisions that annotating without suggestions takes."""

    samples: int
    corrected: int
    decisions: int

    @classmethod
    def of(cls, annotations: Sequence[Mapping[str, Any]]) -> Effort:
        """The effort of these annotations."""
        corrected = sum(annotation["corrected"] for annotation in annotations)
        return cls(len(annotations), corrected, sum(annotation["decisions"] for annotation in annotations))

    @property
    def saved_share(self) -> float:
        """The share of decisions that the suggestions saved; below 0 if they cost more than they saved."""
        return 1 - self.corrected / self.decisions if self.decisions else 0.0


class Session:
    """An annotation session in a folder: a new session, or the session that the folder holds.

    Args:
        recipe: its algorithm plays tables of live games (`Playing`), and its task can be annotated. The
            setting `algorithm.steps` is the number of steps that the agent learns after each sample.
        samples: the rows to annotate; an existing session adds the rows that are new to it.
        weight: the weight of each annotation in the pool, for `training.priority`.

    Raises:
        BadSetting: the recipe's algorithm learns from texts, or its task cannot be annotated.
        BadCheckpoint: the folder does not hold a session of this recipe.
        BadRow: two samples have the same id.
    """

    def __init__(
        self, recipe: Recipe, folder: Path, samples: Sequence[Row] = (), *, weight: float = 1.0
    ) -> None:
        counts = Counter(row.id for row in samples)
        if repeated := next((id for id, count in counts.items() if count > 1), None):
            raise BadRow(f"two samples have the id {repeated!r}; give each sample an id of its own")
        self.recipe, self.folder, self.weight = recipe, folder, weight
        self.trainer = Trainer(recipe, pool=Pool(()))
        if not isinstance(self.trainer.algorithm, Playing):
            raise BadSetting(
                f"algorithm.kind = {recipe.algorithm!r} learns from texts; annotation needs a learner of "
                "actions, such as sb3/ppo"
            )
        self.form = form_of(self.trainer.task)
        self._run = RunFolder(folder)
        self._files = SessionFiles(self._run, self.form)
        self._keeper = CheckpointKeeper(self.trainer, self._run, KEPT)
        self._known = log_keys.table(type(self.trainer.algorithm)) | LOGGED
        self.samples: list[Row] = []
        self.annotations: list[dict[str, Any]] = []
        if self._run.is_run:
            self._resume()
        else:
            self._begin()
        self._add(samples)

    @property
    def pending(self) -> Row | None:
        """The sample to annotate next; None if all samples are annotated."""
        count = len(self.annotations)
        return self.samples[count] if count < len(self.samples) else None

    @property
    def effort(self) -> Effort:
        """The effort of the whole session so far."""
        return Effort.of(self.annotations)

    def suggest(self, row: Row) -> Annotation:
        """The annotation by the agent's current policy, which acts greedily."""
        trainer, number = self.trainer, len(self.annotations)
        agent = trainer.algorithm.agent(trainer.actor, True)
        game = Game(row, number)
        [episode] = play(
            trainer.task, [game], agent, seed=trainer.settings.seed, split=trainer.settings.split
        )
        last = episode.turns[-1].observation
        assert last is not None
        return self.form.suggestion(last.fields)

    def draft(self, row: Row) -> Annotation | None:
        """The unfinished corrections of this sample; None if there are none."""
        return self._files.draft(row)

    def keep_draft(self, row: Row, labels: Annotation) -> None:
        """Write unfinished corrections to the folder."""
        self._files.write_draft(row.id, labels)

    def annotate(self, row: Row, suggested: Annotation, labels: Annotation) -> dict[str, float]:
        """Write the annotation of the pending sample, then learn from it.

        Returns:
            The logged values by key.
        """
        self.form.annotate(row, labels)  # raises before anything is written
        annotation = {
            "id": row.id,
            "suggested": list(suggested),
            "given": list(labels),
            "corrected": self.form.corrections(suggested, labels),
            "decisions": self.form.decisions(labels),
            "weight": self.weight,
        }
        self._files.add_annotation(annotation)
        self.annotations.append(annotation)
        return self._learn()

    def undo(self) -> Session:
        """The session without its last annotation, which becomes the draft of its sample.

        The agent has the state, bit for bit, that it had before that annotation. Do not use this object
        again.
        """
        self._files.undo(self.annotations)
        checkpoints = self._run.checkpoints
        for path in checkpoints.all()[::-1]:
            if names.update_of(path.name) > len(self.annotations) - 1:
                checkpoints.remove(path)
        return Session(self.recipe, self.folder, weight=self.weight)

    def evaluate(self) -> dict[str, Any] | None:
        """Evaluate the agent and write the evaluation to the folder.

        Returns:
            The evaluation; None if the task has no rows in `training.final_split`.
        """
        trainer, settings = self.trainer, self.trainer.settings
        try:
            rows = trainer.task.rows(settings.final_split)
        except UnknownName:
            rows = ()
        if not rows:
            return None
        evaluation = trainer.evaluate(settings.final_split, settings.final_episodes).as_json()
        higher = {name: True if name in ("return", SUCCESS) else None for name in evaluation["values"]}
        content = {"checkpoint": names.of_update(trainer.updates), **evaluation, "higher_is_better": higher}
        self._run.write_evaluation(content)
        return evaluation

    def _learn(self) -> dict[str, float]:
        """Add the next annotation to the pool, update the agent, log, and save a checkpoint."""
        trainer, place = self.trainer, self.trainer.updates
        annotation = self.annotations[place]
        row = self.form.annotate(self.samples[place], tuple(annotation["given"]))
        trainer.experience.sampler.add([row], [annotation["weight"]])
        before = time.perf_counter()
        logs: dict[str, Any] = trainer.update()
        done = self.annotations[: place + 1]
        logs |= {
            "annotation/samples": len(done),
            "annotation/corrected": annotation["corrected"],
            "annotation/decisions": annotation["decisions"],
            "annotation/saved": Effort.of(done).saved_share,
            "annotation/saved_lately": Effort.of(done[-WINDOW:]).saved_share,
        }
        log_keys.check(logs, self._known)
        self._run.logs.append(
            logs, {"update": trainer.updates, "play": round(time.perf_counter() - before, 4)}
        )
        self._keeper.keep()
        return logs

    def _begin(self) -> None:
        self._files.begin()
        identity = {"fingerprint": self.recipe.fingerprint, **machine(self.trainer.actor.device)}
        self._run.begin(self.recipe.yaml(), identity)

    def _resume(self) -> None:
        """Continue the session that the folder holds."""
        run = self._run
        if not run.annotations.is_file():
            raise BadCheckpoint(f"{run.path} holds a run that is no annotation session; name another folder")
        if records := run.newest_records():
            records.check_all(without=(names.TIMINGS,))
        if json_files.load_object(run.machine).get("fingerprint") != self.recipe.fingerprint:
            theirs = recipes.load(run.config, imports="none", begun=True)
            differing = differences(all_settings(theirs), all_settings(self.recipe))
            raise BadCheckpoint(
                f"{run.path} holds a session with other settings: {differing}; use the settings in its "
                f"{names.CONFIG}, or name another folder"
            )
        run.checkpoints.sweep()
        self.samples, self.annotations = self._files.read()
        for path in reversed(run.checkpoints.all()):
            if self._restored(path):
                break
        run.logs.cut_after(self.trainer.updates)
        while self.trainer.updates < len(self.annotations):
            self._learn()

    def _restored(self, path: Path) -> bool:
        """Restore a checkpoint, or set it aside and return False if it is damaged."""
        try:
            state = checkpoint.load(path)
        except Damaged as error:
            text = f"{path.name} is refused, and the agent learns again from the annotations: {error}"
            warnings.warn(text, Remark, stacklevel=5)
            self._run.checkpoints.set_aside(path)
            return False
        self._keeper.restore(path, state)
        return True

    def _add(self, rows: Sequence[Row]) -> None:
        known = {row.id for row in self.samples}
        for row in rows:
            if row.id not in known:
                known.add(row.id)
                self.samples.append(row)
                self._files.add_sample(row)
