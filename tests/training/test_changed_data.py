"""A run notes the hash of its data, and is not resumed on other data."""

import json

import pytest

import loquent
from loquent.errors import BadCheckpoint
from loquent.files import atomic
from loquent.training import recipes
from loquent.training.extending import extend_recipe
from loquent.training.identity import data_digest
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer


def write(folder, name, word, count=12):
    rows = (json.dumps({"text": f"{word} film number {number} is a film"}) for number in range(count))
    atomic.write_text(folder / f"{name}.jsonl", "\n".join(rows) + "\n")


@pytest.fixture
def run(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train", "validation", "test"):
        write(data, name, name)
    overrides = [f"task={{kind: generation, source: path, path: {data}}}", "training.updates=1"]
    (tmp_path / "words.txt").write_text("good 1\n")
    overrides += [f"rewards={{lexicon: {{weight: 0.1, path: {tmp_path}/words.txt}}}}", "metrics={}"]
    overrides += ["training.checkpoint_every=1", "algorithm.schedule=constant"]
    recipe = recipes.load("reviews_ppo", overrides, profile="smoke")
    train(recipe, tmp_path / "run", progress=False)
    return data, tmp_path / "run"


def test_a_resumed_run_refuses_other_rows_of_training(run):
    data, folder = run
    noted = json.loads((folder / "machine.json").read_text())["data"]
    assert len(noted) == 32
    write(data, "train", "other")
    longer = extend_recipe(load_run(folder), ["training.updates=2"])
    with pytest.raises(BadCheckpoint, match=rf"its data was '{noted}' and is '\w{{32}}' now"):
        train(longer, folder, progress=False, resume=True)


def test_the_hash_is_of_the_files_that_a_run_began_with(run):
    data, folder = run
    trainer = Trainer(load_run(folder).recipe)
    noted = trainer.state()["data"]
    write(data, "train", "other")
    assert trainer.state()["data"] == noted != data_digest(trainer.task, trainer.recipe)


def test_a_resumed_run_refuses_other_words_of_a_reward(run):
    _, folder = run
    (folder.parent / "words.txt").write_text("good 2\n")
    longer = extend_recipe(load_run(folder), ["training.updates=2"])
    with pytest.raises(BadCheckpoint, match="its data was"):
        train(longer, folder, progress=False, resume=True)


def test_the_hash_has_the_files_of_seats_teachers_rewards_and_metrics(tmp_path):
    file = tmp_path / "file"
    agent = {"kind": "comments/classifier", "path": str(file)}
    judged = loquent.task("comments", moderator=agent, voter=agent)
    recipe = recipes.load("reviews_ppo", ["rewards={}", "metrics={}"], profile="smoke")
    plain = loquent.task("wordle")
    choices = {
        "seats": (judged, recipe),
        "rewards": (plain, recipe.replace(f"rewards={{tone: {{of: lexicon, path: {file}}}, lexicon: 0.5}}")),
        "metrics": (plain, recipe.replace(f"metrics={{cider: {{corpus: {file}}}}}")),
        "teacher": (plain, recipe.replace(f"training.teacher={{kind: wordle/wrong, words: {file}}}")),
    }
    for name, (task, of) in choices.items():
        hashes = set()
        for content in ("", "a", "b"):
            atomic.write_text(file, content) if content else file.unlink(missing_ok=True)
            hashes.add(data_digest(task, of))
        assert len(hashes) == 3, name
        assert "" in hashes, name


def test_it_goes_on_where_the_files_were_written_again_with_the_same_rows(run):
    data, folder = run
    write(data, "train", "train")
    longer = extend_recipe(load_run(folder), ["training.updates=2"])
    assert train(longer, folder, progress=False, resume=True).metrics[-1]["update"] == 2


def test_built_in_rows_have_no_hash():
    assert data_digest(loquent.task("wordle")) == ""
