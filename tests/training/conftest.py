"""What many tests of training learn from or look at, made once."""

import shutil

import pytest

from helpers import trained
from loquent.agents.baselines import Random
from loquent.core import episode, registry
from loquent.core.rollout.loop import games, play
from loquent.training.run import load_run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Eight Wordle episodes of a random player."""
    folder = tmp_path_factory.mktemp("recorded")
    task = registry.find("task", "wordle")()
    episode.write(folder / "episodes.jsonl", play(task, games(task.rows("train")[:8]), Random(task), seed=1))
    return folder


@pytest.fixture(scope="session")
def short(tmp_path_factory):
    """A finished PPO run of one update, which nobody changes."""
    return load_run(trained.once(tmp_path_factory, "short", trained.short) / "run")


@pytest.fixture
def short_copy(short, tmp_path):
    """A copy of it."""
    return load_run(shutil.copytree(short.folder, tmp_path / "run"))
