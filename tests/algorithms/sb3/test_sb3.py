"""SB3's learners in the training loop: runs, their folders, resume leaf by leaf, agents, masks, and what is
refused.
"""

import json
import shutil

import numpy as np
import pytest
import torch

import loquent
from helpers import small_encoder
from loquent.algorithms.sb3 import learners, settings
from loquent.core.options import dump
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, BadSetting, MissingExtra
from loquent.training import checkpoint, policies, recipes
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer

SENTENCES = [
    {"tokens": list(text), "labels": ["vowel" if letter in "aeiou" else "other" for letter in text]}
    for text in ("abc", "eel", "of", "xyz", "a")
]
TASK = {"kind": "tagging", "source": "samples", "labels": ["vowel", "other"], "instruct": False}
SAMPLES = [{**row, "split": split} for split in ("train", "validation", "test") for row in SENTENCES]
TRAINING = {
    "updates": 4,
    "evaluate_every": 2,
    "evaluate_episodes": 5,
    "final_episodes": 5,
    "checkpoint_every": 1,
    "keep": 9,
}
FEATURES = {"kind": "hashed", "dimension": 16}
SMALL = {"features": FEATURES, "network": [8], "steps": 24}
KINDS = {
    "sb3/double_dqn": {
        "games": 2,
        "learning_starts": 10,
        "replay": 40,
        "minibatch": 4,
        "target_every": 8,
        "explore_share": 1.0,
        "schedule": "linear",
    },
    "sb3/maskable_double_dqn": {
        "games": 2,
        "learning_starts": 10,
        "replay": 40,
        "minibatch": 4,
        "target_every": 8,
        "explore_share": 1.0,
    },
    "sb3/ppo": {"games": 2, "rollout": 6, "minibatch": 4, "epochs": 2, "schedule": "linear"},
    "sb3/a2c": {"games": 3, "rollout": 4},
    "sb3/maskable_ppo": {"games": 2, "rollout": 6, "minibatch": 4},
    "sb3/trpo": {"games": 2, "rollout": 6, "minibatch": 4, "critic_epochs": 2},
}


def written(folder, kind, *overrides, task=None, training=None, **config):
    """A recipe for that learner, in a file of its own."""
    whole = {"task": task or {**TASK, "samples": SAMPLES}, "training": {**TRAINING, **(training or {})}}
    whole["algorithm"] = {"kind": kind, **SMALL, **KINDS[kind], **config}
    (folder / "recipe.yaml").write_text(dump(whole))
    return recipes.load(folder / "recipe.yaml", overrides, imports="all")


def leaves(tree, place="state"):
    """Every leaf of a state, by its place."""
    if isinstance(tree, dict):
        return {
            path: leaf
            for name, item in tree.items()
            for path, leaf in leaves(item, f"{place}/{name}").items()
        }
    if isinstance(tree, list | tuple):
        return {
            path: leaf for i, item in enumerate(tree) for path, leaf in leaves(item, f"{place}/{i}").items()
        }
    return {place: tree}


def different(one, two):
    """The places where two states differ; equal to the bit is right."""
    one, two = leaves(one), leaves(two)
    unlike = {
        place
        for place in one.keys() & two.keys()
        if not (
            torch.equal(one[place], two[place])
            if isinstance(one[place], torch.Tensor)
            else one[place] == two[place]
        )
    }
    return sorted(unlike | (one.keys() ^ two.keys()))


class Streams:
    """The states of every generator a learner draws from, after each collection, by the number of actions so
    far.
    """

    def __init__(self, monkeypatch, library):
        self.seen = {}
        for name in ("collect_rollouts", "train"):
            self.watch(monkeypatch, library, name)

    def watch(self, monkeypatch, library, name):
        theirs = getattr(library, name)

        def watched(model, *given, **named):
            found = theirs(model, *given, **named)
            state = np.random.get_state()  # noqa: NPY002 - the library draws from it
            self.seen.setdefault((name, model.num_timesteps), []).append(
                (
                    state[1].tolist(),
                    state[2],
                    torch.get_rng_state().tolist(),
                    str(model.action_space.np_random.bit_generator.state),
                )
            )
            return found

        monkeypatch.setattr(library, name, watched)


@pytest.mark.sweep("sb3/double_dqn", "sb3/maskable_ppo")
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_is_the_same_run_leaf_by_leaf(tmp_path, kind, monkeypatch):
    streams = Streams(
        monkeypatch,
        getattr(
            learners,
            {
                "sb3/double_dqn": "DoubleDQN",
                "sb3/maskable_double_dqn": "MaskableDoubleDQN",
                "sb3/ppo": "PPO",
                "sb3/a2c": "A2C",
                "sb3/maskable_ppo": "MaskablePPO",
                "sb3/trpo": "TRPO",
            }[kind],
        ).library(),
    )
    made = written(tmp_path, kind)
    whole = train(made, tmp_path / "whole", progress=False)
    seen, streams.seen = streams.seen, {}
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    for update in (3, 4):
        shutil.rmtree(tmp_path / "killed" / "checkpoints" / f"update-{update}")
    (tmp_path / "killed" / "evaluation.json").unlink()
    again = train(made, tmp_path / "killed", progress=False, resume=True)
    for update in (3, 4):
        one, two = (
            checkpoint.load(run.folder / "checkpoints" / f"update-{update}") for run in (whole, again)
        )
        assert different(one, two) == []
    assert again.fingerprint == whole.fingerprint
    later = {name: state for name, state in seen.items() if name[1] > 48}
    assert later
    assert streams.seen == later  # every stream, after every collection and every phase of learning
    names = set(leaves(one))
    assert {
        "state/algorithm/learner/counters/num_timesteps",
        "state/algorithm/table/dealt",
        "state/experience/sampler/place",
    } <= names
    assert any(name.startswith("state/algorithm/learner/optimizer/") for name in names) or kind == "sb3/trpo"
    if kind == "sb3/double_dqn":
        replay = one["algorithm"]["learner"]["replay"]
        assert replay["full"]
        # 40 turns, two games at a time; 16 features and two labels
        assert replay["observations"].shape == (20, 2, 18)
        assert replay["rewards"].any()


def test_a_run_that_sees_through_a_network_is_resumed_too(tmp_path):
    features = {"kind": "contextual", "model": str(small_encoder.write(tmp_path / "encoder"))}
    made = written(tmp_path, "sb3/ppo", features=features)
    whole = train(made, tmp_path / "whole", progress=False)
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    for update in (2, 3, 4):
        shutil.rmtree(tmp_path / "killed" / "checkpoints" / f"update-{update}")
    again = train(made, tmp_path / "killed", progress=False, resume=True)
    assert (
        different(*(checkpoint.load(run.folder / "checkpoints" / "update-4") for run in (whole, again))) == []
    )
    assert (tmp_path / "whole" / "metrics.jsonl").read_text() == (
        tmp_path / "killed" / "metrics.jsonl"
    ).read_text()


def test_the_comparison_can_fail(tmp_path):
    train(written(tmp_path, "sb3/double_dqn"), tmp_path / "one", progress=False)
    one = checkpoint.load(tmp_path / "one" / "checkpoints" / "update-4")
    two = checkpoint.load(tmp_path / "one" / "checkpoints" / "update-4")
    assert different(one, two) == []
    two["algorithm"]["learner"]["replay"]["rewards"][3, 1] += 1e-7
    two["algorithm"]["learner"]["counters"]["_n_calls"] += 1
    del two["experience"]
    found = different(one, two)
    assert "state/algorithm/learner/replay/rewards" in found
    assert "state/algorithm/learner/counters/_n_calls" in found
    assert any(place.startswith("state/experience") for place in found)


def test_a_run_has_its_folder_and_acts_again(tmp_path):
    run = train(written(tmp_path, "sb3/ppo", training={"updates": 2}), tmp_path / "run", progress=False)
    files = {str(path.relative_to(run.folder)) for path in run.folder.rglob("*") if path.is_file()}
    assert {
        "config.yaml",
        "metrics.jsonl",
        "timings.jsonl",
        "evaluation.json",
        "episodes.jsonl",
        "episodes/update-2.jsonl",
    } <= files
    assert {
        "checkpoints/update-2/policy/model.safetensors",
        "checkpoints/update-2/policy/config.json",
        "checkpoints/update-2/state.json",
    } <= files
    assert not [name for name in files if name.endswith((".zip", ".pkl", ".pt", ".pth"))]
    told = json.loads((run.folder / "checkpoints/update-2/policy/config.json").read_text())
    assert told["names"] == ["vowel", "other"]
    assert told["sees"].startswith("TaggingView[18] of Hashed-")
    assert [line["sb3/actions"] for line in run.metrics] == [24, 48]
    assert "model" not in (run.folder / "config.yaml").read_text()
    again = load_run(run.folder).evaluate(split="test", episodes=5)
    assert again.values == pytest.approx(run.evaluation["values"])
    episodes = loquent.play(run.task(), run.agent(), episodes=3)
    assert all(turn.text in ("vowel", "other") for episode in episodes for turn in episode.answers())


@pytest.mark.sweep("sb3/maskable_double_dqn", "sb3/a2c")
@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_to_tell_vowels(tmp_path, kind):
    """Twenty letters at most, and two labels: what a learner that learns at all tells apart."""
    longer = {
        "sb3/double_dqn": {"learning_rate": 5e-3, "replay": 2000, "minibatch": 32, "explore_share": 0.5}
    }.get(kind, {"learning_rate": 1e-2})
    if kind == "sb3/trpo":
        longer |= {"radius": 0.05, "steps": 48, "rollout": 24}
    made = written(
        tmp_path,
        kind,
        training={"updates": 60, "evaluate_every": 0, "checkpoint_every": 0},
        gamma=0.0,
        **longer,
    )
    run = train(made, tmp_path / "run", progress=False)
    untrained = Trainer(made).evaluate("test", 5).values["return"]
    assert run.evaluation["values"]["return"] > 0.9 > untrained


def test_masked_actions_are_never_chosen(tmp_path):
    texts = [{"text": "a b", "labels": ["A", "B"]}, {"text": "c", "labels": ["C"]}]
    task = {
        "kind": "multilabel",
        "source": "samples",
        "labels": ["A", "B", "C"],
        "repeats": False,
        "max_steps": 4,
        "instruct": False,
    }
    task["samples"] = [{**row, "split": split} for split in ("train", "validation", "test") for row in texts]

    def repeats(kind, **config):
        made = written(
            tmp_path,
            kind,
            task=task,
            training={"updates": 1, "evaluate_every": 0, "final_episodes": 2},
            **config,
        )
        trainer = Trainer(made)
        episodes, _ = trainer.algorithm.play()
        episodes += trainer.evaluate("test", 2).episodes
        return sum(
            len(said) != len(set(said))
            for said in ([turn.text for turn in episode.answers()] for episode in episodes)
        )

    assert repeats("sb3/maskable_ppo", steps=240) == 0
    assert repeats("sb3/ppo", steps=240) > 0  # so it can fail
    # random actions before `learning_starts`, then exploration and the best actions
    assert repeats("sb3/maskable_double_dqn", steps=240, learning_starts=120) == 0
    assert repeats("sb3/double_dqn", steps=240, learning_starts=120) > 0


def test_agents_explore_with_the_streams_of_their_questions(tmp_path):
    for kind in ("sb3/ppo", "sb3/double_dqn"):
        trainer = Trainer(written(tmp_path, kind))
        trainer.actor.model.exploration_rate = 0.5

        playing, judged = (
            [
                [
                    turn.text
                    for episode in loquent.play(trainer.task, agent, episodes=5)
                    for turn in episode.answers()
                ]
                for agent in [trainer.algorithm.agent(trainer.actor, evaluating)] * 2
            ]
            for evaluating in (False, True)
        )
        assert playing[0] == playing[1]
        assert judged[0] == judged[1] != playing[0]


def test_sampling_follows_the_probabilities():
    from loquent.agents.sb3 import draw_action

    logs = np.log(np.array([0.125, 0.5, 0.375]))
    assert [draw_action(logs, uniform) for uniform in (0, 0.12, 0.13, 0.62, 0.63, 0.99999)] == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]
    masked = np.array([-np.inf, 0.0, -np.inf])
    assert [draw_action(masked, uniform) for uniform in (0.0, 0.5, 1 - 1e-12)] == [1, 1, 1]


def test_no_global_stream_is_touched(tmp_path):
    trainer = Trainer(written(tmp_path, "sb3/double_dqn"))

    def states():
        return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002 - they are what is looked at

    before = states()
    trainer.update()
    assert states() == before


def test_equal_seeds_make_equal_networks_and_others_do_not(tmp_path):
    one, two, three = (Trainer(written(tmp_path, "sb3/ppo", f"training.seed={seed}")) for seed in (1, 1, 2))
    for trainer in (one, two, three):
        trainer.update()
    assert different(one.state(), two.state()) == []
    assert different(one.state()["actor"], three.state()["actor"])


def test_another_picture_or_other_labels_refuse_a_checkpoint(tmp_path):
    trainer = Trainer(written(tmp_path, "sb3/ppo"))
    state = trainer.algorithm.state_dict()
    for task, config, why in (
        ({**TASK, "labels": ["other", "vowel"], "samples": SAMPLES}, {}, "names of the saved network"),
        (None, {"features": {"kind": "hashed", "dimension": 16, "lower": True}}, "sees of the saved network"),
    ):
        other = Trainer(written(tmp_path, "sb3/ppo", task=task, **config))
        with pytest.raises(BadCheckpoint, match=why):
            other.algorithm.load_state_dict(state)


def test_settings_that_do_not_fit_are_refused_by_name(tmp_path):
    for config, why in (
        ({"steps": 25}, "steps = 25 is no multiple of the"),
        ({"games": 1, "rollout": 1}, "cannot be normalised"),
        ({"minibatch": 11}, "minibatch = 11 leaves a single turn"),
        ({"network": [0]}, "network"),
        ({"features": {"kind": "hashd"}}, "no featurizer is named 'hashd'"),
        ({"features": {"kind": "hashed", "size": 3}}, "size"),
        ({"view": "loquent.tasks.wordle.views:BOARD"}, "has no effect beside view"),
        ({"answering": "clever"}, "informed"),
    ):
        with pytest.raises(Exception, match=why) as caught:
            written(tmp_path, "sb3/ppo", **config)
        assert isinstance(caught.value, loquent.errors.LoquentError)
    with pytest.raises(BadSetting, match="learns from its own play only"):
        Trainer(written(tmp_path, "sb3/ppo", training={"teacher": "expert"}))
    with pytest.raises(BadSetting, match="takes free text; use a task with actions"):
        Trainer(written(tmp_path, "sb3/ppo", task={"kind": "generation"}))


def test_a_section_for_language_models_is_remarked_on(tmp_path):
    with pytest.warns(Remark, match="decoding has no effect: sb3/ppo has no language model"):
        written(tmp_path, "sb3/ppo", "decoding.top_k=3")


def test_settings_in_a_run_are_written_out_and_read_back(tmp_path):
    made = written(tmp_path, "sb3/double_dqn")
    assert made.config.features["characters"] == (2, 3, 4)
    (tmp_path / "again.yaml").write_text(made.yaml())
    assert recipes.load(tmp_path / "again.yaml").fingerprint == made.fingerprint
    assert (
        recipes.load(tmp_path / "again.yaml", ["algorithm.features.dimension=32"]).config.features[
            "dimension"
        ]
        == 32
    )


def test_the_library_takes_every_setting():
    """No argument of ours is one that the library does not know, and none of them is left at the library's
    own default by mistake.
    """
    import inspect

    for learner in (learners.DoubleDQN, learners.PPO, learners.A2C, learners.MaskablePPO, learners.TRPO):
        given = settings.arguments(learner.Config())
        known = inspect.signature(learner.library().__init__).parameters
        assert set(given) <= set(known), learner.name


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(MissingExtra, match=r"loquent\[sb3\]"):
        Trainer(written(tmp_path, "sb3/ppo"))


def test_wordle_is_learned_from_its_board(tmp_path):
    task = {"kind": "wordle", "limit": 5}
    config = {"features": {}, "view": "loquent.tasks.wordle.views:BOARD", "network": [32]}
    run = train(
        written(
            tmp_path, "sb3/maskable_ppo", task=task, training={"updates": 1, "evaluate_every": 0}, **config
        ),
        tmp_path / "run",
        progress=False,
    )
    assert run.evaluation["values"]["return"] <= 0


@pytest.mark.parametrize("kind", ["sb3/double_dqn", "sb3/ppo"])
def test_what_a_run_would_need(tmp_path, kind):
    from loquent.training.estimate import estimate

    found = estimate(written(tmp_path, kind))
    # 16 hashed numbers and two labels into 8 into two values; PPO has the same again for the value, with one
    # number at its end; DQN its target
    body = 18 * 8 + 8
    assert found.parameters == {
        "network": 2 * (body + 8 * 2 + 2) if kind == "sb3/double_dqn" else 2 * body + 8 * 2 + 2 + 8 + 1
    }
    # each: two pictures of 18 float32, an action of 8 bytes, a reward, an end and a cut of 4
    turns = 40 if kind == "sb3/double_dqn" else 0
    assert found.memory["replay"] == turns * (2 * 18 * 4 + 8 + 3 * 4)
    assert found.total_seconds == pytest.approx(sum(found.seconds.values()))
    assert found.sizes["actions"] == 24


def test_rows_are_dealt_by_their_weights(tmp_path):
    samples = [{**row, "weight": float(i == 2)} for i, row in enumerate(SENTENCES)]
    task = {**TASK, "samples": [*samples, *({**row, "split": "test"} for row in SENTENCES)]}

    def dealt(**training):
        trainer = Trainer(written(tmp_path, "sb3/ppo", task=task, training=training))
        trainer.update()
        return {game.row["tokens"] for game in trainer.algorithm.table.games}

    assert dealt(priority=1.0) == {("o", "f")}
    assert dealt(priority=0.0) | dealt(priority=0.0, seed=1) | dealt() != {("o", "f")}


def test_a_network_that_chooses_is_not_exported_as_a_language_model(tmp_path):
    train(written(tmp_path, "sb3/a2c", training={"updates": 1}), tmp_path / "run", progress=False)
    with pytest.raises(
        BadCheckpoint, match=r"has a network that chooses among actions, in .*, and no language model"
    ):
        policies.export(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()
