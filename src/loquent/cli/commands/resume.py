"""`loquent resume`: continues a run that was stopped, from its newest checkpoint, or extends a finished one.

The run gives the same results as without the stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.cli.commands.search import report_search, to_stderr
from loquent.cli.commands.train import report, report_seeds, resumable
from loquent.cli.grammar.options import Importing, argument, option
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Options(Importing):
    """Options of `loquent resume`."""

    examples = ("loquent resume runs/ppo", "loquent resume runs/ppo training.updates=200")
    run: str = argument(
        "RUN",
        "the run's folder, or the folder of `train --seeds` or of `search`; training.checkpoint_every sets "
        "how often checkpoints are written",
    )
    overrides: tuple[str, ...] = argument(
        "training.updates=N",
        "a larger number of updates: the run goes on to it, and equals one that had it from the start",
        (),
        settings=True,
    )
    from_older: bool = option(False, "", "continue from an older checkpoint where the newest one is refused")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Continue the run in a folder, the runs of several seeds, or a search."""
    from loquent.bench.search import journal
    from loquent.bench.search.search import resume_search
    from loquent.bench.seeds import PLAN, resume_seeds
    from loquent.files.machine import launch
    from loquent.training.extending import extend_recipe
    from loquent.training.run import load_run
    from loquent.training.train import train

    folder = Path(options.run)
    with resumable(folder):
        if any((folder / plan).is_file() for plan in (journal.PLAN, PLAN)):
            launch.refuse_several(f"{folder} holds several runs")
        if (folder / journal.PLAN).is_file():
            if options.overrides or options.from_older:
                given = "--from-older" if options.from_older else options.overrides[0]
                raise BadSetting(f"{folder} holds a search, which goes on as it began; leave out {given}")
            return report_search(resume_search(folder, allow_imports=options.allow_imports, say=to_stderr))
        if (folder / PLAN).is_file():
            if options.overrides:
                raise BadSetting(
                    f"{folder} holds the runs of several seeds; extend each: loquent resume "
                    f"{RunFolder(folder).one_seed() or folder} {' '.join(options.overrides)}. Then "
                    f"loquent resume {folder} makes the table again"
                )
            return 0, report_seeds(
                folder,
                resume_seeds(folder, from_older=options.from_older, allow_imports=options.allow_imports),
            )
        stopped = load_run(folder, allow_imports=options.allow_imports)
        recipe = extend_recipe(stopped, options.overrides)
        train(recipe, stopped.folder, resume=True, from_older=options.from_older)
        return 0, {} if launch.assists() else report(stopped)
