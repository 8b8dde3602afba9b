"""What many tests of training learn from or look at, made once."""

import shutil

import pytest

from helpers import trained
from loquent.agents.baselines import Expert, Random
from loquent.core import episode, registry
from loquent.core.rollout.loop import games, play
from loquent.training.run import load_run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Eight Wordle episodes: of a random player, and of the expert on the same rows."""
    folder = tmp_path_factory.mktemp("recorded")
    task = registry.find("task", "wordle")()
    rows = task.rows("train")[:4]
    played = [one for player in (Random, Expert) for one in play(task, games(rows), player(task), seed=1)]
    episode.write(folder / "episodes.jsonl", played)
    return folder


@pytest.fixture(scope="session")
def short(tmp_path_factory):
    """A finished PPO run of one update, which nobody changes."""
    return load_run(trained.once(tmp_path_factory, "short", trained.short) / "run")


@pytest.fixture
def short_copy(short, tmp_path):
    """A copy of it."""
    return load_run(shutil.copytree(short.folder, tmp_path / "run"))
