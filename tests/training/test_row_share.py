"""`training.row_share`: training reads a share of the rows, and nothing else changes."""

import hashlib
import json

import pytest

from loquent.cli import main as cli
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import share
from loquent.errors import BadSetting
from loquent.training import recipes
from loquent.training.trainer import Trainer

SMALL = (
    "task.limit=100",
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=50",
    "training.stop_metric=",
    "training.episodes=8",
    "training.evaluate_episodes=4",
    "training.final_episodes=4",
    "decoding.max_new_tokens=4",
)


def trainer(name, *overrides):
    return Trainer(recipes.load(name, [*SMALL, *overrides]))


def numbered(count):
    return [Row(f"train-{i}", Record(text=str(i))) for i in range(count)]


def test_a_share_has_the_rows_with_the_smallest_hashes_in_their_order():
    def place(row):
        return hashlib.blake2b(row.id.encode(), digest_size=8).digest()

    rows = numbered(40)
    smallest = sorted(rows, key=place)[:10]
    assert share(rows, 0.25) == tuple(row for row in rows if row in smallest)
    assert set(share(rows, 0.1)) < set(share(rows, 0.25))
    assert share(rows, 1.0) == tuple(rows)
    assert [len(share(rows, part)) for part in (0.001, 0.01, 0.04, 0.06)] == [1, 1, 2, 2]
    assert share([], 0.5) == ()


@pytest.mark.parametrize("name", ["reviews_supervised", "reviews_ppo"])
def test_training_reads_the_share_and_nothing_else_changes(name):
    settings = ("training.only={label: positive}", "rewards={lexicon: 1.0}", "metrics={diversity: {}}")
    whole, part = trainer(name, *settings), trainer(name, *settings, "training.row_share=0.1")
    positive = [row for row in whole.task.rows("train") if row["label"] == "positive"]
    assert set(whole.experience.rows) == {row.id for row in positive}
    assert set(part.experience.rows) == {row.id for row in share(positive, 0.1)}
    assert len(part.experience.rows) == round(len(positive) / 10) > 1
    drawn = {episode.row for _ in range(3) for episode in part.experience.collect()}
    assert drawn == set(part.experience.rows)  # 24 episodes, epoch by epoch
    assert part.task.identity == whole.task.identity
    assert part.held_out_rows() == whole.held_out_rows()
    assert part.recipe.fingerprint != whole.recipe.fingerprint


def test_the_dry_run_says_how_many_rows_are_trained_on(capsys):
    command = ["train", "reviews_ppo", "--profile", "smoke", "--dry-run", "--json", "task.limit=100"]
    assert cli.main([*command, "training.row_share=0.3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "training rows: 30" in lines
    assert any("time, 2 updates of " in line for line in lines)
    assert json.loads(lines[-1])["sizes"]["rows"] == 30


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.row_share=0", r"row_share must be above 0 and at most 1, got 0.0"),
        ("training.row_share=1.5", r"must be in \[0, 1\], got 1.5"),
        (
            "training={row_share: 0.5, data: [games]}",
            r"row_share = 0.5 cannot be used with data, which gives",
        ),
        ("training={row_share: 0.5, seen: [label]}", r"cannot be used with seen, which compares with all"),
    ],
)
def test_a_share_that_means_nothing_is_refused(setting, message):
    with pytest.raises(BadSetting, match=message):
        recipes.load("reviews_supervised", [setting])
