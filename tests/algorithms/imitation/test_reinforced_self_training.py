"""Best-of-n distillation: which answers are kept, that they are learned as supervised learning would, and an
update without a kept answer.
"""

import math
from dataclasses import replace

import pytest
import torch

from helpers.algorithms.letters import actor, one_update, parameters, same, scored
from helpers.algorithms.tiny_models import actor as shaped
from loquent.algorithms.imitation.reinforced_self_training import BestOfN, Config
from loquent.algorithms.imitation.supervised import Supervised
from loquent.algorithms.shared import comparison
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.models.decode.loop import Decoding
from loquent.training import recipes
from loquent.training.trainer import Trainer

KEY = Key(3)
RETURNS = torch.tensor([0.2, 0.5, 0.9, 0.5, 0.9, 0.5], dtype=torch.float64)
GROUP = torch.tensor([7, 1, 7, 1, 7, 1])  # of 7: 0.2, 0.9, 0.9; of 1: equal returns


def made(model, **settings):
    return BestOfN(Config(**{"learning_rate": 1e-2, **settings}), model, key=KEY)


def test_the_place_of_an_answer_in_its_group_by_hand():
    assert comparison.rank(RETURNS, GROUP).tolist() == [2, 0, 0, 1, 1, 2]
    assert comparison.rank(RETURNS[:0], GROUP[:0]).tolist() == []


def letters(**more):
    return actor(critic="none", reference="none", **more)


def test_a_schedule_needs_its_end_as_returns_decide_what_is_learned():
    for settings in ({"schedule": "linear"}, {"warmup": 0.1}, {"schedule": "cosine", "keep": None}):
        with pytest.raises(BadSetting, match=r"decide how many .* answers are learned; set total_steps"):
            Config(**settings, threshold=0.5)
        assert Config(**settings, total_steps=9).for_run(updates=6, episodes=20).total_steps == 9
    assert Config().steps_of_update(20) == 0
    everything = Config(keep=None, schedule="linear", minibatch=8)
    assert everything.for_run(updates=6, episodes=20).total_steps == 18


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, [1, 2]),
        ({"keep": 2}, [1, 2, 3, 4]),
        ({"keep": 9}, [0, 1, 2, 3, 4, 5]),
        ({"threshold": 0.9}, [2]),
        ({"keep": None, "threshold": 0.5}, [1, 2, 3, 4, 5]),
        ({"keep": 2, "threshold": 0.6}, [2, 4]),
        ({"threshold": 0.91}, []),
    ],
)
def test_the_kept_answers_by_hand(settings, kept):
    algorithm = made(letters(), **settings)
    batch = scored(algorithm, letters(), 8)
    last = batch.is_action & ~torch.nn.functional.pad(batch.is_action[:, 1:], (0, 1))
    batch = replace(batch.take(range(6)), group=GROUP, episode=torch.arange(6))
    batch = replace(batch, reward=torch.where(last[:6, : batch.tokens.shape[1]], RETURNS[:, None], 0.0))
    assert algorithm.choose_rows(batch).nonzero().flatten().tolist() == kept
    assert algorithm.prepare(batch).episode.tolist() == (kept or list(range(6)))


@pytest.mark.parametrize("shape", ["llama", "t5"])
def test_it_is_supervised_learning_on_the_kept_answers(shape):
    models = [shaped(shape, critic="none", reference="none") for _ in range(2)]
    settings = {"learning_rate": 1e-2, "epochs": 2, "minibatch": 2}
    own = made(models[0], **settings)
    other = Supervised(Config(**settings), models[1], key=KEY)
    batch = scored(own, models[0])
    totals = batch.reward.sum(1)
    best = [int(group * 4 + totals[4 * group : 4 * group + 4].argmax()) for group in range(4)]
    assert batch.group.tolist() == [n // 4 for n in range(16)]
    logs = own.update(models[0], own.prepare(batch))
    wanted = other.update(models[1], other.prepare(batch.take(best)))
    assert same(parameters(models[0]), parameters(models[1]))
    assert wanted == {key: logs[key] for key in wanted}
    assert logs["supervised/episodes"] == 4
    assert logs["reward/kept"] == pytest.approx(float(totals[best].mean()))


def test_the_loss_is_the_mean_over_the_tokens_of_the_kept_answers():
    model = letters()
    algorithm = made(model, learning_rate=0.0)
    kept = algorithm.prepare(scored(algorithm, model))
    with torch.no_grad():
        logits = model.policy(input_ids=kept.tokens, attention_mask=kept.real.long()).logits
    own = logits[:, :-1].log_softmax(-1).gather(2, kept.tokens[:, 1:, None])[..., 0]
    wanted = -float(own[kept.is_action[:, 1:]].mean())
    assert algorithm.update(model, kept)["supervised/loss"] == pytest.approx(wanted, abs=1e-6)


def test_without_a_kept_answer_no_weight_changes_and_the_run_goes_on():
    model = letters()
    algorithm = made(model, threshold=2.0)
    before = parameters(model)
    logs = one_update(algorithm, model, 0)[1]
    assert same(before, parameters(model))
    assert algorithm.updates == 1
    counts = ("supervised/episodes", "supervised/tokens", "gradient/steps")
    assert [logs[key] for key in counts] == [0.0, 0.0, 0.0]
    assert all(math.isnan(logs[key]) for key in ("supervised/loss", "gradient/norm", "reward/kept"))
    assert logs.keys() == one_update(made(model), model, 0)[1].keys()


def test_all_turns_of_a_kept_episode_are_learned():
    trainer = Trainer(
        recipes.load(
            "wordle_ppo",
            ["algorithm={kind: reinforced_self_training, learning_rate: 0.01}", "task={kind: wordle}",
             "training.answers=4", "training.episodes=8", "decoding.max_new_tokens=6", "model.critic=none",
             "model.reference=none"],
            profile="smoke",
        ).replace("training.answers=4", "training.episodes=8")
    )  # fmt: skip
    played = trainer.experience.collect()
    batch = trainer.experience.batch(played)
    batch = replace(batch, reward=torch.where(batch.is_action, batch.episode[:, None] % 4.0, 0.0))
    turns = batch.turn[(batch.episode == 3)[:, None] & batch.is_action].unique()
    assert len(turns) > 2
    logs = trainer.algorithm.update(trainer.actor, trainer.algorithm.prepare(batch))
    assert logs["supervised/tokens"] == float(
        batch.is_action[(batch.episode == 3) | (batch.episode == 7)].sum()
    )


def test_decoding_that_does_not_sample_is_refused():
    with pytest.raises(BadSetting, match=r"decoding.method = 'greedy' does not sample, but .* to 'sample'"):
        made(letters(decoding=Decoding(method="greedy", max_new_tokens=6)))
