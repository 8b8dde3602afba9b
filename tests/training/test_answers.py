"""Several answers to one row: which rows are drawn, which episodes are played, what batches and logs show."""

from dataclasses import replace

import pytest
import torch

from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadSetting
from loquent.models.tokens.batch import cat, token_batch
from loquent.training import recipes
from loquent.training.experience.summary import within_rows
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = [
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=200",
    "model.context=512",
    "rewards={lexicon: 1.0, length: {weight: 0.1, high: 3}}",
    "metrics={}",
    "decoding.max_new_tokens=6",
    "training.episodes=6",
    "training.evaluate_every=0",
    "training.final_episodes=4",
    "algorithm.minibatch=3",
]


def recipe(*overrides, name="reviews_ppo"):
    return recipes.load(name, [*SMALL, *overrides])


@pytest.fixture(scope="module")
def trainer():
    return Trainer(recipe("training.answers=3"))


def test_an_update_draws_fewer_rows_and_plays_each_several_times(trainer):
    rows = Sampler(Pool(tuple(trainer.experience.rows.values())), Key(0).child("rows")).draw(4)
    for update in range(2):
        episodes = trainer.experience.collect()
        expected = [row.id for row in rows[2 * update : 2 * update + 2] for _ in range(3)]
        assert [episode.row for episode in episodes] == expected
        assert [episode.number for episode in episodes] == list(range(6 * update, 6 * update + 6))
        texts = {episode.answers()[0].text for episode in episodes[:3]}
        assert len(texts) > 1  # each answer has a random stream of its own
        batch = trainer.experience.batch(episodes)
        assert batch.group.tolist() == [0, 0, 0, 1, 1, 1]
        assert batch.episode.tolist() == list(range(6))


def test_a_batch_names_the_row_of_each_episode_after_taking_joining_and_shuffling(trainer):
    episodes = trainer.experience.collect()
    order = [5, 0, 3, 1, 4, 2]
    batch = token_batch([episodes[i] for i in order], trainer.actor.format, trainer.weights, max_length=512)
    assert batch.group.tolist() == [0, 1, 0, 1, 0, 1]  # numbered as they come
    assert batch.take([1, 2]).group.tolist() == [1, 0]
    assert batch.to(torch.float64).group.dtype == torch.int64
    joined = cat([batch.take([0]), batch.take([1, 3])], trainer.actor.format.pad)
    assert joined.group.tolist() == [0, 1, 1]
    assert cat([batch, replace(batch, group=None)], 0).group is None
    other = [replace(episodes[0], split="validation"), episodes[0]]
    apart = token_batch(other, trainer.actor.format, trainer.weights, max_length=512)
    assert apart.group.tolist() == [0, 1]  # ids are unique within a split only


def test_the_log_shows_how_the_answers_to_a_row_differ(trainer):
    logs = trainer.update()
    assert {"rollout/rows/best_return", "rollout/rows/deviation", "rollout/rows/equal"} <= set(logs)
    assert logs["rollout/rows/best_return"] >= logs["rollout/return"]
    single = Trainer(recipe("training.updates=1")).update()
    assert not any(name.startswith("rollout/rows/") for name in single)


def test_the_differences_by_hand(trainer):
    episodes = trainer.experience.collect()
    turns = [episode.answers()[0] for episode in episodes]
    returns = (1.0, 2.0, 3.0, 4.0, 4.0, 4.0)
    made = [
        replace(episode, turns=(replace(turn, rewards=Record(lexicon=value), token_rewards=Record()),))
        for episode, turn, value in zip(episodes, turns, returns, strict=True)
    ]
    logs = within_rows(made, Record(lexicon=1.0))
    # the first row: best 3, deviation 1, different; the second: best 4, deviation 0, equal
    assert logs == {
        "rollout/rows/best_return": 3.5,
        "rollout/rows/deviation": 0.5,
        "rollout/rows/equal": 0.5,
    }
    assert within_rows(made[:1], Record(lexicon=1.0)) == {}


def test_one_answer_is_the_run_that_it_was():
    one, several = (Trainer(recipe(f"training.answers={n}")) for n in (1, 3))
    first, second = one.experience.collect(), several.experience.collect()
    assert [e.row for e in first][:2] == [second[0].row, second[3].row]
    assert first[0] == second[0]  # the same row, the same number, the same random stream


def test_resumed_with_several_answers_is_the_same_run(tmp_path):
    settings = ("training.answers=3", "training.updates=3", "training.checkpoint_every=1", "training.keep=9")
    whole = train(recipe(*settings), tmp_path / "whole", progress=False)
    part = tmp_path / "part"
    train(recipe(*settings), part, progress=False)
    for name in ("update-2", "update-3"):
        folder = part / "checkpoints" / name
        for file in sorted(folder.rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        folder.rmdir()
    again = train(recipe(*settings), part, progress=False, resume=True)
    assert again.metrics == whole.metrics


def test_what_does_not_fit_is_named():
    with pytest.raises(BadSetting, match="episodes = 6 is no multiple of answers = 4"):
        recipe("training.answers=4")
    with pytest.raises(BadSetting, match="answers = 2 has no effect with data"):
        recipe("training.answers=2", "training.data=[x.jsonl]")
    with pytest.raises(BadSetting, match="steps its episodes itself"):
        Trainer(recipes.load("labels_dqn", ["training.answers=2", "training.episodes=4"]))


def test_smoke_takes_few_answers(tmp_path):
    file = tmp_path / "many.yaml"
    file.write_text(recipes.load("reviews_ppo", ["training.answers=8", "training.episodes=64"]).yaml())
    small = recipes.load(str(file), profile="smoke")
    assert (small.training.answers, small.training.episodes) == (2, 4)
