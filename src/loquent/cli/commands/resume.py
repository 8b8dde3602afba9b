"""`loquent resume`: a run that was stopped goes on from its newest checkpoint, and becomes the run it would
have been.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.bench.seeds import PLAN, resume_seeds
from loquent.cli.commands.train import report, report_seeds, resumable
from loquent.training.run import load_run
from loquent.training.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Go on with the run in a folder, or with the runs of several seeds."""
    folder = Path(arguments.run)
    with resumable(folder):
        if (folder / PLAN).is_file():
            return 0, report_seeds(
                folder,
                resume_seeds(folder, from_older=arguments.from_older, allow_imports=arguments.allow_imports),
            )
        found = load_run(folder, allow_imports=arguments.allow_imports)
        train(found.recipe, found.folder, resume=True, from_older=arguments.from_older)
        return 0, report(found)
