"""`loquent resume`: a run that was stopped goes on from its newest checkpoint, and becomes the run it would have been."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent.commands import named
from loquent.commands.train import report
from loquent.run import load_run
from loquent.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Go on with the run in a folder."""
    named.search_here()  # rewards may be functions of one's own
    found = load_run(arguments.run)
    return 0, report(train(found.recipe, found.folder, resume=True))
