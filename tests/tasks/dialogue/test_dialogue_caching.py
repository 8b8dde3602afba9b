"""Recorded progress is written from a judge and read back as the same rewards."""

import json

import numpy as np
import pytest

import loquent
from helpers.tasks.untrained_seats import untrained
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.tasks.dialogue.caching import write_progress


@pytest.fixture
def folder(tmp_path):
    """Dialogues of three files, their images, and a judge with drawn weights."""
    rng = np.random.default_rng(0)
    for name, count in (("train", 6), ("val", 4)):
        dialogs = [
            {
                "caption": f"{name} {i}",
                "dialog": [{"question": f"q{t}", "answer": f"a{rng.integers(9)}"} for t in range(10)],
            }
            for i in range(count)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps(dialogs))
        np.save(tmp_path / f"images_{name}.npy", rng.standard_normal((count, 8)).astype(np.float32))
    judge = untrained("judge", image=8)
    judge.network.slots.data.zero_()  # so the texts decide the guess
    judge.save(tmp_path / "guesser", {})
    return tmp_path


def world(folder, **options):
    seats = {"answerer": "dialogue/recorded", "mode": "10_stop", **options}
    return loquent.task("dialogue", source="visdial", path=str(folder), images=str(folder), **seats)


def test_recorded_progress_gives_the_rewards_of_its_judge(folder):
    (folder / "progress").mkdir()
    task = world(folder, judge=Record(kind="dialogue/judge", path=str(folder / "guesser")))
    found = write_progress(task, folder / "progress")
    assert found == {"train_rank_reward_cache1.json": 6, "val_rank_reward_cache1.json": 4}
    recorded = world(folder, judge="dialogue/recorded", progress=str(folder / "progress"))
    for split in ("train", "validation"):
        here, there = (
            list(play(one, games(one.rows(split)), make("dialogue/recorded", one), seed=0, split=split))
            for one in (task, recorded)
        )
        totals = [
            [one.total(game.rewards) for game in ended] for one, ended in ((task, here), (recorded, there))
        ]
        assert totals[0] == totals[1]
        assert len(set(totals[0])) > 2


def test_dialogues_of_other_lengths_have_no_progress(folder):
    short = [{"caption": "a", "dialog": [{"question": "q", "answer": "a"}]}]
    (folder / "train.json").write_text(json.dumps(short * 6))
    with pytest.raises(BadSetting, match="dialogue 0 of train has 1 rounds"):
        write_progress(world(folder, judge="dialogue/recorded"), folder / "progress")
