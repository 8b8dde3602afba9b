"""The folder `checkpoints/` of a run: its checkpoints, and the note that names the best one."""

from __future__ import annotations

import shutil
from pathlib import Path

from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint
from loquent.files import atomic, names

REFERENCE = "reference-"  # the prefix of the reference model's file, which all checkpoints share


class RunCheckpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.note = folder / names.BEST

    def all(self) -> list[Path]:
        """The folders of the checkpoints, oldest first."""
        folders = self.folder.glob(f"{names.UPDATE}*")
        named = [path for path in folders if names.is_of_update(path.name) and path.is_dir()]
        return sorted(named, key=lambda path: names.update_of(path.name))

    def of(self, update: int) -> Path:
        """The folder of the checkpoint of an update."""
        return self.folder / names.of_update(update)

    def name_best(self, update: int | None) -> None:
        """Write the note that names the best checkpoint, for users; None deletes the note."""
        if update is None:
            self.note.unlink(missing_ok=True)
        else:
            atomic.write_json(self.note, {"checkpoint": names.of_update(update)})

    def noted_best(self) -> str | None:
        """The name of the checkpoint in the note; None if there is no note.

        Raises:
            BadCheckpoint: the note names no checkpoint.
        """
        if not self.note.exists():
            return None
        advice = f"`loquent resume {self.folder.parent}` writes it again"
        name = json_files.load_object(self.note, advice).get("checkpoint")
        if not names.is_of_update(name):
            allowed = "it must name a checkpoint in its folder, such as update-2"
            raise BadCheckpoint(f"{self.note} names {json_files.show(name)}; {allowed}; {advice}")
        return str(name)

    def remove(self, checkpoint: Path) -> None:
        """Delete a checkpoint."""
        atomic.remove(checkpoint)

    def set_aside(self, checkpoint: Path) -> None:
        """Rename a refused checkpoint to `update-N.refused`, so that the run can write a new one."""
        aside = checkpoint.with_name(f"{checkpoint.name}.refused")
        shutil.rmtree(aside, ignore_errors=True)
        atomic.move(checkpoint, aside)

    def sweep(self) -> None:
        """Delete the remains of checkpoints whose writing or deletion was interrupted by a crash."""
        for ending in (atomic.PARTIAL, atomic.REMOVED):
            for folder in self.folder.glob(f".{names.UPDATE}*{ending}"):
                shutil.rmtree(folder)
        for file in self.folder.glob(f".{REFERENCE}*{atomic.PARTIAL}"):
            file.unlink()


def reference_file(folder: Path, digest: str) -> Path:
    """The file of a reference model in the folder `checkpoints/`, named by the digest of its weights."""
    return folder / f"{REFERENCE}{digest}.safetensors"
