"""What many modules learn from or look at: made once in a run of the tests, whatever the number of processes.

Nobody changes it; who wants to takes a copy.
"""

import fcntl
import os
import shutil


def once(tmp_path_factory, name, make):
    """The folder that `make(folder)` fills, made by the process that asks first; others wait for it."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each process has a folder in the one of the run
        root = root.parent
    folder = root / "trained" / name
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder.with_suffix(".made")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists():
            shutil.rmtree(folder)  # what a failed attempt left
            folder.mkdir()
            make(folder)
            mark.touch()
    return folder


def wordle_games(folder):
    """Two games of a random player for each of twenty secrets."""
    from loquent.agents.baselines import Random
    from loquent.core import episode
    from loquent.core.rollout.loop import games, play
    from loquent.tasks.wordle.task import Wordle

    task = Wordle(Wordle.Options(limit=20, instruct=False))
    queue = games(task.rows("train"), each=2)
    episode.write(folder / "episodes.jsonl", play(task, queue, Random(task), seed=3))


def base(folder):
    """A base model that two updates on 200 reviews trained, made by the command."""
    from loquent.cli import main as cli

    line = ["train", "reviews_base", "task.limit=200", "training.seed=3", "--profile", "smoke"]
    assert cli.main([*line, "--out", str(folder / "base")]) == 0


def short(folder):
    """A finished PPO run of one update."""
    from helpers.training.small_runs import recipe_of
    from loquent.training.train import train

    train(recipe_of("ppo", None), folder / "run", progress=False)
