"""Learners on blocks: vectors, networks of objects and images, stop forcing, MaskablePPO."""

import json

import gymnasium
import numpy as np
import pytest
import torch

from helpers import small_encoder
from helpers.tasks import playing
from loquent.adapters.gymnasium_errors import ResetNeeded
from loquent.adapters.stop_forcing import StopForcing as ForcedEnvironment
from loquent.agents.turns import StopForcing
from loquent.core.agent import Answer
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.data import features
from loquent.errors import BadSetting
from loquent.tasks.blocks.fixed_agent import FixedSequence
from loquent.tasks.blocks.task import Blocks, BlocksOptions
from loquent.training import recipes
from loquent.training.trainer import Trainer
from tools.studies import random_play

FEATURES = {"kind": "hashed", "dimension": 16}
SMALL = {"kind": "turn_ppo", "width": 16, "layers": 1, "heads": 2, "minibatch": 32, "text": ["sentence"]}
TRAINING = {"updates": 1, "episodes": 6, "evaluate_every": 0, "final_episodes": 4}


def trainer(folder, algorithm, training=TRAINING, **task):
    file = folder / "recipe.json.yaml"
    file.write_text(
        json.dumps({"task": {"kind": "blocks", **task}, "training": training, "algorithm": algorithm})
    )
    return Trainer(recipes.load(file))


def after(task, *texts):
    step = task.start(task.rows("train")[0], Key(0))
    for text in texts:
        step = task.act(step, text)
    return step.observation


def test_the_vector_of_towers_by_hand():
    task = Blocks()
    space, view = features.view(task, features.make(FEATURES))
    seen = after(task, "add black left", "add blue left", "add yellow right")
    array = view(seen)
    assert space.contains(array)
    assert array[16] == 1  # the statement is to become true
    ones = np.flatnonzero(array[17:]).tolist()
    # (box * 4 + level) * 3 + color, colors yellow 0, black 1, blue 2
    assert ones == [1, 3 + 2, (2 * 4) * 3]
    assert np.array_equal(array[:16], view.featurizer.vector(seen.fields["sentence"]))


def test_the_vector_of_scattered_items_by_hand():
    task = Blocks(BlocksOptions(appearance="scatter"))
    space, view = features.view(task, features.make(FEATURES))
    array = view(after(task, "add large blue triangle at 160 40"))
    assert space.contains(array)
    # box 1 of 3; triangle 2 of 3 + 3; blue 2 of 3 + 6; large 2 of 3 + 9
    assert np.flatnonzero(array[17 : 17 + 12]).tolist() == [1, 5, 8, 11]
    assert array[17 + 32 * 12 :][:2].tolist() == pytest.approx([0.2, 0.4])


CONFIGURATIONS = {
    "tower": {},
    "scatter": {"appearance": "scatter"},
    "native": {"appearance": "scatter", "actions": "native"},
}


@pytest.mark.parametrize("network", ["vector", "objects", "cnn", "patches"])
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_an_update_of_every_network(network, configuration, tmp_path):
    more = {"features": FEATURES, "text": []} if network == "vector" else {"network": network}
    numbers = {} if network == "vector" else {"numbers": ["target"]}
    made = trainer(
        tmp_path,
        {**SMALL, **more, **numbers},
        start="flip_it" if configuration == "scatter" else "scratch",
        **CONFIGURATIONS[configuration],
    )
    logs = made.update()
    assert logs["policy/ratio_error"] <= 1e-5
    assert logs["gradient/norm"] > 0
    assert logs.get("rollout/ended/invalid", 0.0) == 0  # only legal actions are taken
    assert made.actor.dense == (configuration != "native")
    assert (made.actor.tree is None) == (configuration != "scatter")


def test_a_patch_is_a_cell_of_the_grid(tmp_path):
    from loquent.models.turns.pictures import patches

    made = trainer(tmp_path, {**SMALL, "network": "patches"}, appearance="scatter")
    empty, one = (
        made.actor.inputs(after(made.task, *texts))["image"]
        for texts in ((), ("add medium black square at 160 40",))
    )
    cells = [patches(torch.tensor(image)[None], (10, 10))[0] for image in (empty, one)]
    assert cells[0].shape == (5 * 19, 300)
    changed = (cells[0] != cells[1]).any(1).nonzero()[:, 0].tolist()
    assert changed == [2 * 19 + 8]  # row 2, column 8


def test_maskable_ppo_learns_on_blocks(tmp_path):
    pytest.importorskip("sb3_contrib")
    for options in ({}, {"appearance": "scatter"}):
        made = trainer(
            tmp_path,
            {
                "kind": "sb3/maskable_ppo",
                "features": FEATURES,
                "network": [16],
                "games": 2,
                "rollout": 16,
                "steps": 32,
                "minibatch": 16,
            },
            **options,
        )
        logs = made.update()
        assert logs["sb3/actions"] == 32
        assert logs.get("rollout/ended/invalid", 0.0) == 0
        assert made.evaluate("test", 3).n == 3


@pytest.mark.sweep("configuration0")
@pytest.mark.parametrize("configuration", random_play.RELEASED)
def test_stop_forcing_raises_random_play_as_measured_on_the_released_code(configuration, beside):
    folder = beside / "data" / "lilgym"
    if not folder.is_dir():
        pytest.skip("the published files are not beside this checkout")
    found = random_play.shares(folder, configuration, 1800)
    assert found == pytest.approx(random_play.RELEASED[configuration], abs=3)


class Scripted:
    name = "scripted"

    def __init__(self, *texts):
        self.texts = texts

    def answer(self, questions):
        return [Answer(self.texts[question.observation.fields["turn"]]) for question in questions]


@pytest.mark.parametrize("rules", ["paper", "legacy"])
def test_a_stop_is_forced_as_soon_as_the_statement_is_true(rules):
    """The seventh check of the published episodes: the fourth edit is never made."""
    task = playing.task(rules=rules)
    agent = Scripted(playing.A(0, 0), playing.A(0, 0), playing.A(0, 1), playing.A(1, 1), playing.STOP)
    rows = [playing.row(program=playing.TOP_OF_THREE)]
    (forced,) = play(task, games(rows), StopForcing(agent, task), seed=0)
    own = [turn for turn in forced.turns if turn.seat == "agent"]
    assert [turn.text for turn in own] == [*agent.texts[:3], "stop"]
    assert [round(task.total(turn.rewards), 10) for turn in own] == [-0.1, -0.1, -0.1, 1]
    assert (forced.ended, task.flags(forced.ended)) == ("right", (True, False))
    assert [turn.stopped for turn in own] == ["end", "end", "end", "forced"]
    (free,) = play(task, games(rows), agent, seed=0)
    assert [turn.text for turn in free.turns if turn.seat == "agent"] == list(agent.texts)


def test_stop_forcing_as_a_wrapper_tells_what_it_executed():
    env = ForcedEnvironment(gymnasium.make("loquent/Blocks-v0"))
    sample = {"sentence": "s", "program": playing.TOP_OF_THREE}
    number = env.unwrapped.task.actions.index
    env.reset(seed=0, options={"sample": sample})
    for text in (playing.A(0, 0), playing.A(0, 0), playing.A(0, 1)):
        _, reward, terminated, _, info = env.step(number(text))
        assert (round(reward, 10), terminated, info["force_stop"]) == (-0.1, False, False)
        assert "executed_action" not in info
    _, reward, terminated, _, info = env.step(number(playing.A(1, 1)))
    assert (reward, terminated, info["force_stop"], info["executed_action"]) == (1.0, True, True, 0)
    assert (info["accuracy"], info["accuracy_nosf"], info["text"]) == (1.0, 0.0, "stop")
    assert info["observation"].fields["board"][1] == ()
    env.reset(seed=0, options={"sample": {**sample, "program": playing.ALWAYS}})
    info = env.step(np.int64(0))[-1]  # the agent's own stop
    assert (info["force_stop"], info["accuracy"], info["accuracy_nosf"]) == (False, 1.0, 1.0)
    texts = ForcedEnvironment(gymnasium.make("loquent/Blocks-v0", form="text"))
    texts.reset(seed=0, options={"sample": {**sample, "program": playing.ALWAYS}})
    assert texts.step(playing.A(0, 0))[-1]["executed_action"] == "stop"
    for other, message in (("loquent/Wordle-v0", "does not"), ("CartPole-v1", "an environment of loquent")):
        with pytest.raises(BadSetting, match=message):
            ForcedEnvironment(gymnasium.make(other))
    with pytest.raises(ResetNeeded):
        gymnasium.make("loquent/Blocks-v0").unwrapped.finishing()


def test_other_learners_say_who_serves_stop_forcing(tmp_path):
    with pytest.raises(BadSetting, match="it is a setting of turn_ppo"):
        recipes.load("blocks_maskable", ["algorithm.stop_forcing=true"])


def test_cbert_is_the_network_of_the_paper(tmp_path):
    """The layers of the released code, with a small frozen encoder in place of BERT's 768 numbers."""
    (tmp_path / "bert").mkdir()
    features = {"kind": "contextual", "model": str(small_encoder.write(tmp_path / "bert")), "average": True}
    made = trainer(
        tmp_path,
        {
            **{"kind": "turn_ppo", "preset": "lilgym", "network": "cnn", "text": ["sentence"]},
            **{"numbers": ["target"], "features": features, "width": 512, "layers": 2},
        },
        appearance="scatter",
    )
    size = made.actor.inputs.featurizer.dimension
    shapes = {name: tuple(x.shape) for name, x in made.actor.policy.state_dict().items() if "weight" in name}
    assert shapes == {
        "encoder.convolutions.0.weight": (32, 3, 8, 8),
        "encoder.convolutions.1.weight": (64, 32, 4, 4),
        "encoder.convolutions.2.weight": (32, 64, 3, 3),
        "encoder.image.weight": (512, 1280),
        "encoder.numbers.weight": (2, 32),
        **{f"{head}_hidden.0.weight": (512, size + 544) for head in ("policy", "value")},
        **{f"{head}_hidden.2.weight": (512, 512) for head in ("policy", "value")},
        "policy.weight": (3 + 19 + 5 + 3 + 3 + 3, 512),
        "value.weight": (1, 512),
    }
    network = made.actor.policy
    weight = network.encoder.image.weight.detach()
    assert torch.allclose(weight @ weight.T, 2 * torch.eye(512), atol=1e-4)  # orthogonal, gain sqrt(2)
    seen = {name: torch.as_tensor(x)[None] for name, x in made.actor.inputs(after(made.task)).items()}
    with torch.no_grad():
        state = network.encoder(seen)
        logits, value, goal = network(seen)
        hidden = torch.nn.functional.leaky_relu(network.policy_hidden[0](state))
        hidden = torch.nn.functional.leaky_relu(network.policy_hidden[2](hidden))
        assert torch.allclose(torch.cat(logits, 1), network.policy(hidden))
        assert goal is None
        assert torch.equal(state[:, 512:-32], seen["sentence"])  # BERT's vector as it is
        assert torch.equal(value, network.value(network.value_hidden(state))[:, 0].tanh())


@pytest.mark.sweep("1", "4")
@pytest.mark.parametrize("horizon", [1, 4, 11])
def test_the_fixed_sequence_is_as_good_as_it_says(horizon):
    task = Blocks(BlocksOptions(limit=60, horizon=horizon))
    agent = FixedSequence(task)
    assert len(agent.texts) <= horizon
    assert agent.texts[-1] == "stop"
    rows = task.rows("train")
    episodes = play(task, games(rows), agent, seed=0)
    share = np.mean([bool(task.is_success(episode.ended)) for episode in episodes])
    assert share == pytest.approx(agent.share)
    stopping = play(task, games(rows), Stop(), seed=0)
    stopped = np.mean([bool(task.is_success(episode.ended)) for episode in stopping])
    assert share > stopped if horizon > 1 else share == stopped


@pytest.mark.slow
def test_a_fixed_sequence_from_boards_with_items():
    task = Blocks(BlocksOptions(start="flip_it", limit=40))
    agent = FixedSequence(task)
    rows = task.rows("train")
    share = np.mean(
        [bool(task.is_success(episode.ended)) for episode in play(task, games(rows), agent, seed=0)]
    )
    assert share > 0
    assert share == pytest.approx(agent.share)


class Stop:
    name = "stop"

    def answer(self, questions):
        return [Answer("stop")] * len(questions)
