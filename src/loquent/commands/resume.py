"""`loquent resume`: a run that was stopped goes on from its newest checkpoint, and becomes the run it would have been."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent import named
from loquent.commands.train import report, report_seeds, resumable
from loquent.run import load_run
from loquent.seeds import PLAN, resume_seeds
from loquent.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Go on with the run in a folder, or with the runs of several seeds."""
    named.search_here()  # rewards may be functions of one's own
    folder = Path(arguments.run)
    with resumable(folder):
        if (folder / PLAN).is_file():
            return 0, report_seeds(folder, resume_seeds(folder, from_older=arguments.from_older))
        found = load_run(folder)
        return 0, report(train(found.recipe, found.folder, resume=True, from_older=arguments.from_older))
