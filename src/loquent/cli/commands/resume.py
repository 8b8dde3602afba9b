"""`loquent resume`: continues a run that was stopped, from its newest checkpoint, or extends a finished one.

The run gives the same results as without the stop.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.bench.seeds import PLAN, resume_seeds
from loquent.cli.commands.train import report, report_seeds, resumable
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training.extending import extended
from loquent.training.run import load_run
from loquent.training.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Continue the run in a folder, or the runs of several seeds."""
    folder = Path(arguments.run)
    with resumable(folder):
        if (folder / PLAN).is_file():
            if arguments.overrides:
                raise BadSetting(
                    f"{folder} holds the runs of several seeds; extend each: loquent resume "
                    f"{RunFolder(folder).one_seed() or folder} {' '.join(arguments.overrides)}. Then "
                    f"loquent resume {folder} makes the table again"
                )
            return 0, report_seeds(
                folder,
                resume_seeds(folder, from_older=arguments.from_older, allow_imports=arguments.allow_imports),
            )
        stopped = load_run(folder, allow_imports=arguments.allow_imports)
        recipe = extended(stopped, arguments.overrides)
        train(recipe, stopped.folder, resume=True, from_older=arguments.from_older)
        return 0, report(stopped)
