"""`loquent train`: what a recipe describes, into a run's folder."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipe
from loquent.commands import named
from loquent.commands.printed import estimated, scores
from loquent.estimate import estimate
from loquent.run import Run
from loquent.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Train, and print the evaluation at the end of the run."""
    named.search_here()  # rewards may be functions of one's own
    whole = recipe.load(arguments.recipe, arguments.overrides, profile=arguments.profile)
    if arguments.dry_run:
        found = estimate(whole)
        estimated(found)
        return 0, {"recipe": whole.name, "fingerprint": whole.fingerprint, **found.as_json()}
    finished = train(whole, arguments.out or f"runs/{whole.name}")
    return 0, report(finished)


def report(finished: Run) -> dict[str, Any]:
    """Print what a run reached, and return it."""
    evaluation = finished.evaluation
    scores(evaluation)
    print(f"the run is in {finished.folder}")
    return {"run": str(finished.folder), "fingerprint": finished.recipe.fingerprint, "updates": len(finished.metrics), "evaluation": evaluation}
