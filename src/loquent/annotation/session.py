"""An annotation session: what is given joins the pool at once, the agent learns on, and all of it is on disk before the next sample.

A session's folder is a run's folder with `samples.jsonl` (what is to be annotated), `annotations.jsonl` (what was given, written before
anything is learned from it) and `draft.json` (corrections of a sample that is not finished). After a kill the session goes on from its
newest whole checkpoint and learns again from the annotations behind it: the same ones, so it becomes the same session.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent import checkpoint, logged
from loquent.algorithm import Playing
from loquent.annotation.forms import Annotation, form_of
from loquent.data.pools import Pool
from loquent.errors import BadCheckpoint, BadRow, BadSetting, UnknownName
from loquent.logged import Logged
from loquent.machine import machine
from loquent.play import Game, play
from loquent.recipe import Recipe
from loquent.task import Row
from loquent.train import Trainer
from loquent.values import frozen, plain

SAMPLES, ANNOTATIONS, DRAFT = "samples.jsonl", "annotations.jsonl", "draft.json"
KEPT = 2  # checkpoints
WINDOW = 50  # samples, for the running figure; the paper's
LOGGED = {
    "annotation/samples": Logged("samples", "annotated so far"),
    "annotation/corrected": Logged("decisions", "corrections in this sample"),
    "annotation/decisions": Logged("decisions", "what this sample would have taken without a suggestion"),
    "annotation/saved": Logged("share of decisions", "1 - corrections / decisions, over all samples so far"),
    "annotation/saved_lately": Logged("share of decisions", "the same over the last 50 samples"),
}


@dataclass(frozen=True)
class Effort:
    """What was corrected, of what would have been decided without suggestions."""

    samples: int
    corrected: int
    decisions: int

    @property
    def saved(self) -> float:
        """The share of the work that the suggestions saved; below 0 where they cost more than they saved."""
        return 1 - self.corrected / self.decisions if self.decisions else 0.0


class Session:
    """A session in a folder: begun with a recipe and samples, or found there and gone on with.

    Args:
        recipe: a learner of actions, on one of the tasks that can be annotated; its `steps` are what it learns after each sample.
        samples: what is to be annotated, as rows; in a session that is there already those that are new to it are added.
        weight: of what is annotated, for `training.priority`.

    Raises:
        BadSetting: the recipe's learner is none that owns its collecting, or its task cannot be annotated.
        BadCheckpoint: the folder holds something else. BadRow: two of the samples have one id.
    """

    def __init__(self, recipe: Recipe, folder: Path, samples: Sequence[Row] = (), *, weight: float = 1.0) -> None:
        if twice := next((id for id, count in Counter(row.id for row in samples).items() if count > 1), None):
            raise BadRow(f"two samples have the id {twice!r}; an id of its own for each is right")
        self.recipe, self.folder, self.weight = recipe, folder, weight
        self.trainer = Trainer(recipe, folder, pool=Pool(()))
        if not isinstance(self.trainer.algorithm, Playing):
            raise BadSetting(f"algorithm.kind = {recipe.algorithm!r} learns from texts; a learner of actions is right, such as sb3/ppo")
        self.form = form_of(self.trainer.task)
        self._known = logged.table(type(self.trainer.algorithm)) | LOGGED
        self.samples: list[Row] = []
        self.given: list[dict[str, Any]] = []
        if (folder / "config.yaml").is_file():
            self._find()
        else:
            self._begin()
        self._add(samples)

    @property
    def pending(self) -> Row | None:
        """The sample that is due; None when all are annotated."""
        return self.samples[len(self.given)] if len(self.given) < len(self.samples) else None

    @property
    def effort(self) -> Effort:
        """Of the whole session so far."""
        return _effort(self.given)

    def suggested(self, row: Row) -> Annotation:
        """What the agent says as it is now: its best actions."""
        trainer, number = self.trainer, len(self.given)
        agent = trainer.algorithm.agent(trainer.actor, True)
        [episode] = play(trainer.task, [Game(row, number)], agent, seed=trainer.settings.seed, split=trainer.settings.split)
        last = episode.turns[-1].observation
        assert last is not None
        return self.form.played(last.fields)

    def draft(self, row: Row) -> Annotation | None:
        """Corrections that were begun on this sample before the session was left; None where there are none."""
        file = self.folder / DRAFT
        if not file.is_file():
            return None
        kept = json.loads(file.read_text(encoding="utf-8"))
        return tuple(kept["given"]) if kept["id"] == row.id else None

    def keep_draft(self, row: Row, given: Annotation) -> None:
        """Write corrections down that are not finished."""
        checkpoint.write_json(self.folder / DRAFT, {"id": row.id, "given": list(given)})

    def give(self, row: Row, suggested: Annotation, given: Annotation) -> dict[str, float]:
        """Take the annotation of the sample that is due: it is on disk before it is learned from. Returns what is logged."""
        self.form.filled(row, given)  # raises before anything is kept
        kept: dict[str, Any] = {"id": row.id, "suggested": list(suggested), "given": list(given)}
        kept |= {"corrected": self.form.edits(suggested, given), "decisions": self.form.decisions(given), "weight": self.weight}
        checkpoint.append_line(self.folder / ANNOTATIONS, kept)
        (self.folder / DRAFT).unlink(missing_ok=True)
        self.given.append(kept)
        return self._learn()

    def evaluate(self) -> dict[str, Any] | None:
        """The evaluation at the end, kept as a run keeps it; None where the task has no rows to evaluate on."""
        trainer, settings = self.trainer, self.trainer.settings
        try:
            rows = trainer.task.rows(settings.final_split)
        except UnknownName:
            rows = ()
        if not rows:
            return None
        found = trainer.evaluate(settings.final_split, settings.final_episodes).as_json()
        up: dict[str, bool | None] = {name: True if name == "return" else None for name in found["values"]}
        checkpoint.write_json(self.folder / "evaluation.json", {"checkpoint": f"update-{trainer.updates}", **found, "higher_is_better": up})
        return found

    def _learn(self) -> dict[str, float]:
        """Put the next annotation into the pool, learn on, log, save."""
        trainer, place = self.trainer, self.trainer.updates
        kept = self.given[place]
        trainer.sampler.add([self.form.filled(self.samples[place], tuple(kept["given"]))], [kept["weight"]])
        before = time.perf_counter()
        logs: dict[str, Any] = trainer.update()
        done = self.given[: place + 1]
        logs |= {"annotation/samples": len(done), "annotation/corrected": kept["corrected"], "annotation/decisions": kept["decisions"]}
        logs |= {"annotation/saved": _effort(done).saved, "annotation/saved_lately": _effort(done[-WINDOW:]).saved}
        logged.check(logs, self._known)
        checkpoint.append_line(self.folder / "metrics.jsonl", logs)
        checkpoint.append_line(self.folder / "timings.jsonl", {"update": trainer.updates, "play": round(time.perf_counter() - before, 4)})
        checkpoint.save(self.folder / "checkpoints" / f"update-{trainer.updates}", trainer.actor, trainer.state())
        for old in checkpoint.checkpoints(self.folder)[:-KEPT]:
            checkpoint.remove(old)
        return logs

    def _begin(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("metrics.jsonl", "timings.jsonl", SAMPLES, ANNOTATIONS):
            checkpoint.write_aside(self.folder / name, "")
        checkpoint.write_json(self.folder / "machine.json", {"fingerprint": self.recipe.fingerprint, **machine(self.trainer.actor.device)})
        checkpoint.write_aside(self.folder / "config.yaml", self.recipe.yaml())

    def _find(self) -> None:
        """Go on with what is in the folder."""
        if not (self.folder / ANNOTATIONS).is_file():
            raise BadCheckpoint(f"{self.folder} holds a run that is no annotation session; name another folder")
        told = json.loads((self.folder / "machine.json").read_text(encoding="utf-8"))
        if told.get("fingerprint") != self.recipe.fingerprint:
            raise BadCheckpoint(f"{self.folder} holds a session with other settings; its own are in config.yaml there, or name another folder")
        self.samples = [self.form.blank(_sample(line)) for line in _lines(self.folder / SAMPLES)]
        self.given = _lines(self.folder / ANNOTATIONS)
        if [kept["id"] for kept in self.given] != [row.id for row in self.samples[: len(self.given)]]:
            raise BadCheckpoint(f"{self.folder / ANNOTATIONS} does not follow {SAMPLES}; neither of them may be changed by hand")
        _rewrite(self.folder / ANNOTATIONS, self.given)
        _rewrite(self.folder / SAMPLES, [_line(row) for row in self.samples])
        checkpoint.sweep(self.folder)
        for place in reversed(checkpoint.checkpoints(self.folder)):
            if self._restored(place):
                break
        for name in ("metrics.jsonl", "timings.jsonl"):
            lines = checkpoint.read_lines(self.folder / name, torn_end=True)
            _rewrite(self.folder / name, [line for line in lines if line["update"] <= self.trainer.updates])
        while self.trainer.updates < len(self.given):
            self._learn()

    def _restored(self, place: Path) -> bool:
        """Take back a checkpoint; False where it is torn, or further than the annotations are. What it held is learned again."""
        try:
            state = checkpoint.load(place)
            if state["counters"]["updates"] <= len(self.given):
                self.trainer.restore(state)
                return True
        except BadCheckpoint as error:
            if "torn" not in str(error) and "no whole checkpoint" not in str(error):
                raise
        checkpoint.set_aside(place)
        return False

    def _add(self, rows: Sequence[Row]) -> None:
        known = {row.id for row in self.samples}
        for row in rows:
            if row.id not in known:
                known.add(row.id)
                self.samples.append(row)
                checkpoint.append_line(self.folder / SAMPLES, _line(row))


def _effort(given: Sequence[Mapping[str, Any]]) -> Effort:
    return Effort(len(given), sum(kept["corrected"] for kept in given), sum(kept["decisions"] for kept in given))


def _line(row: Row) -> dict[str, Any]:
    return {"id": row.id, "fields": plain(row.fields)}


def _sample(line: Mapping[str, Any]) -> dict[str, Any]:
    return {**frozen(line["fields"]), "id": line["id"]}


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines; a last line that a kill has cut off is left out.

    Raises:
        BadCheckpoint: another line is none.
    """
    found: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                found.append(json.loads(line))
            except ValueError as error:
                if not line.endswith(b"\n"):
                    break
                raise BadCheckpoint(f"{path}:{number}: this line is not whole ({error})") from error
    return found


def _rewrite(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    checkpoint.write_aside(path, "".join(json.dumps(line) + "\n" for line in lines))
