"""Estimates against what was measured: memory within a stated factor, parameters exactly."""

import json
import os
import subprocess
import sys
from itertools import accumulate

import pytest

from loquent.cli import main as cli
from loquent.data.reviews.corpus import reviews
from loquent.files.run_checkpoints import RunCheckpoints
from loquent.files.run_folder import RunFolder
from loquent.training import recipes
from loquent.training.trainer import Trainer

torch = pytest.importorskip("torch")

FACTOR = 1.5  # the estimate and the measured peak differ by less
MODEL = [
    "task.limit=60",
    "model.path=",
    "model.layers=4",
    "model.width=256",
    "model.heads=4",
    "model.vocabulary=2000",
    "model.context=192",
]
RUN = [
    "training.updates=2", "training.episodes=32", "training.final_episodes=32", "training.evaluate_every=0",
    "algorithm.epochs=1",
    "algorithm.minibatch=32", "decoding.max_new_tokens=24", "metrics={diversity: {}}",
    "rewards={lexicon: 1.0}",
]  # fmt: skip
# of ru_maxrss, which would count what started the process, the value is not taken
SCRIPT = """
import re, sys
from pathlib import Path
from loquent.training import recipes as recipe
from loquent.training.train import train
train(recipe.load(sys.argv[1], sys.argv[3:]), sys.argv[2], progress=False)
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024)
"""


@pytest.mark.sweep("reviews_supervised")
@pytest.mark.parametrize("name", ["reviews_nlpo", "reviews_supervised"])
def test_the_memory_estimate_is_near_what_a_run_takes(name, tmp_path, tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    rows = [{"text": row["text"], "label": row["label"]} for row in reviews()["train"][:300]]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    overrides = [
        *MODEL,
        "task.source=path",
        f"task.path={file}",
        *RUN,
        *(["training.stop_metric="] if name == "reviews_supervised" else []),
    ]
    found = json.loads(
        _said("-m", "loquent.cli.main", "train", name, *overrides, "--dry-run", "--json", folder=tmp_path)
    )
    assert list(tmp_path.iterdir()) == [], "nothing is written"
    measured, runtime = (
        int(_said("-c", SCRIPT, name, "run", *overrides, folder=tmp_path)),
        found["memory"]["runtime"],
    )
    print(
        f"{name}: estimated {found['peak'] >> 20} MiB, measured {measured >> 20} MiB, of it "
        f"{runtime >> 20} the runtime"
    )
    assert measured / FACTOR < found["peak"] < measured * FACTOR
    # what the run itself takes, beside the libraries, is no small part of it, and its estimate is not far
    # either
    ours, theirs = found["peak"] - runtime, measured - runtime
    assert theirs > 0.1 * measured
    assert theirs / 2 < ours < theirs * 2
    saved = sum(path.stat().st_size for path in (tmp_path / "run" / "checkpoints").rglob("*.safetensors"))
    assert saved == pytest.approx(found["disk"]["checkpoints"], rel=0.05)


def _said(*words, folder):
    """The last line that a Python process of its own prints: memory is a process's, and this one has had
    other tests.
    """
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=True, env=os.environ
    )
    return done.stdout.splitlines()[-1]


def test_parameters_by_hand():
    from loquent.training.estimate import estimate

    small = [
        "task.limit=60",
        "model.path=",
        "model.layers=1",
        "model.width=32",
        "model.heads=2",
        "model.vocabulary=300",
        "model.context=192",
    ]
    found = estimate(
        recipes.load("reviews_nlpo", [*small, *RUN, "training.episodes=4", "algorithm.minibatch=2"])
    )
    # embeddings 300 * 32 + 192 * 32; a block 12 * 32**2 + 13 * 32; the last norm 2 * 32; a value head 32
    policy = 300 * 32 + 192 * 32 + 12 * 32**2 + 13 * 32 + 2 * 32
    assert found.parameters == {"policy": policy, "critic": policy + 32, "reference": policy, "mask": policy}
    assert found.memory["gradients"] == 4 * (2 * policy + 32)
    # and a count of steps for each
    assert found.memory["optimizer"] == pytest.approx(8 * (2 * policy + 32), rel=0.01)
    assert found.memory["weights"] == pytest.approx(4 * (4 * policy + 32), rel=0.01)
    assert set(found.seconds) == {"start", "collect", "score", "learn", "evaluate"}
    assert found.total_seconds == pytest.approx(sum(found.seconds.values()))


def test_more_episodes_and_updates_take_more(monkeypatch):
    from loquent.training.estimates import language_models as module

    one = recipes.load(
        "reviews_ppo", ["training.updates=10", "training.final_episodes=100", "training.evaluate_every=0"]
    )
    found = module._seconds(one, 1.0, {"collect": 2.0, "learn": 3.0}, 0.1)
    assert found == {"start": 1.0, "collect": 20.0, "learn": 30.0, "evaluate": 10.0}
    watched = one.replace(
        "training.evaluate_every=5", "training.evaluate_episodes=50", "training.evaluate_first=false"
    )
    assert module._seconds(watched, 1.0, {}, 0.1)["evaluate"] == pytest.approx(20.0)
    assert module._seconds(watched.replace("training.evaluate_first=true"), 1.0, {}, 0.1)[
        "evaluate"
    ] == pytest.approx(25.0)


def test_what_is_saved_for_a_backward_pass_is_counted():
    from loquent.files.machine.memory import Saved

    weight, x = torch.ones(8, 8, requires_grad=True), torch.ones(4, 8, requires_grad=True)
    with Saved(frozenset([weight.untyped_storage().data_ptr()])) as saved:
        y = (x @ weight).exp()  # saves x (128 bytes; the weight does not count) and its own result (128)
        assert saved.live == 4 * 8 * 4 * 2
        y.sum().backward()
        del y
    assert (saved.live, saved.peak) == (0, 4 * 8 * 4 * 2)
    with Saved() as counted:
        kept = (x @ weight).exp()
        assert counted.live > saved.peak, "with the weight it is more"
        del kept


def test_logits_are_counted_apart_from_other_saved_tensors():
    from loquent.files.machine.memory import Saved

    states = torch.ones(2, 4, requires_grad=True)
    output = torch.ones(4, 16, requires_grad=True)
    with Saved(vocabulary=16) as saved:
        kept = (states @ output).exp()  # saves states (32 bytes), the output matrix and the logits (128)
        gradient = (torch.ones(16, 4, requires_grad=True) * 2.0).sin()  # of an output layer: not counted
        assert (saved.live, saved.logits.live) == (32, 4 * 16 * 4 + 128)
        (kept.sum() + gradient.sum()).backward()
        del kept, gradient
    assert (saved.live, saved.logits.live, saved.logits.peak) == (0, 0, 4 * 16 * 4 + 128)


LIVE = {  # the fewest rows of a slice, and the settings
    "reviews_ppo": (2, ["rewards={lexicon: 1.0}"]),
    "reviews_grpo": (8, ["rewards={lexicon: 1.0}", "algorithm.beta=0.1"]),
    "reviews_supervised": (2, ["task.text_words=30", "training.stop_metric="]),
}


@pytest.mark.parametrize("name", LIVE)
def test_the_tensors_of_learning_are_estimated_from_a_few_rows(name, monkeypatch):
    """The estimate from the fewest rows is within 10% of the peak that torch's own profiler measures.

    The vocabulary is wide for these limits, so logits are formed in chunks.
    """
    from torch.profiler import ProfilerActivity, profile

    from loquent.models.score import one_pass
    from loquent.models.score import tokens as score
    from loquent.training.estimates import language_models as module
    from loquent.training.estimates.optimizers import without_steps
    from loquent.training.estimates.slices import measure

    monkeypatch.setattr(score, "WHOLE", 1 << 14)
    monkeypatch.setattr(one_pass, "CHUNK", 1 << 13)
    monkeypatch.setattr(one_pass, "ROWS", 4)
    rows, more = LIVE[name]
    small = [
        "model.layers=2", "model.width=32", "model.heads=2", "model.vocabulary=1500",
        "model.tokenizer_texts=999", "algorithm.minibatch=16", "training.episodes=16",
        "decoding.max_new_tokens=16", "metrics={}",
    ]  # fmt: skip
    trainer = Trainer(recipes.load(name, [*MODEL, *RUN[:-2], *small, *more]))
    with without_steps(trainer.algorithm):
        estimated = module._learning(trainer, measure(trainer, rows, counting=True), 16)
        measure(trainer, 16, counting=False)
        batch, _ = trainer.experience.next()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
            trainer.experience.learn(batch)
    events = profiled.profiler.kineto_results.events()
    sizes = [size for _, size in sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")]
    assert sum(estimated.values()) == pytest.approx(max(accumulate(sizes)), rel=0.1)


def test_converted_weights_do_not_grow_with_the_rows():
    """Autocast saves the weights in 16 bits once in a pass, however many rows it reads."""
    from loquent.training.estimates import language_models as module
    from loquent.training.estimates.optimizers import without_steps
    from loquent.training.estimates.slices import measure

    own = [
        "model.layers=2", "model.width=256", "model.vocabulary=500", "model.tokenizer_texts=99",
        "model.autocast=bfloat16", "algorithm.minibatch=16", "training.episodes=16",
        "decoding.max_new_tokens=16", "metrics={}", "rewards={lexicon: 1.0}",
    ]  # fmt: skip
    trainer = Trainer(recipes.load("reviews_ppo", [*MODEL, *RUN[:-2], *own]))
    with without_steps(trainer.algorithm):
        few, all_rows = (
            module._learning(trainer, measure(trainer, rows, counting=True), 16) for rows in (2, 16)
        )
    assert few["activations"] == pytest.approx(all_rows["activations"], rel=0.2)


def test_a_slice_has_chunks_of_logits_as_its_minibatch(monkeypatch):
    """A minibatch of 32 rows forms its logits in chunks; two rows would not, five do."""
    from types import SimpleNamespace

    from loquent.training.estimates import language_models as module

    policy = torch.nn.Embedding(152_000, 1)
    policy.get_input_embeddings = lambda: policy
    trainer = SimpleNamespace(actor=SimpleNamespace(policy=policy))
    rows = module._rows_in_chunks(trainer, SimpleNamespace(rows=2, actions=48))
    assert rows == 5
    assert 4 * 24 * 152_000 <= module.score.WHOLE < rows * 24 * 152_000


def test_dry_run_prints_and_trains_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", "wordle_ppo", "--profile", "smoke", "--dry-run", "--seeds", "3", "--json"]) == 0
    said = capsys.readouterr().out
    for word in (
        "parameters",
        "memory at its peak",
        "activations",
        "cache",
        "checkpoints on disk",
        "time, 3 seeds, each 2 updates of 4 episodes",
    ):
        assert word in said
    found = json.loads(said.splitlines()[-1])
    assert found["peak"] > found["memory"]["weights"] > 0
    assert found["sizes"]["seeds"] == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "kept", "most"),
    [
        (["training.checkpoint_every=0"], 1, 1),  # the last alone
        (["training.checkpoint_every=1"], 2, 3),  # the third is written before the first is dropped
        (["training.checkpoint_every=5"], 2, 2),  # two in all
        (["training.checkpoint_every=4"], 2, 3),  # after 4, 8 and 10
        (
            ["training.checkpoint_every=1", "training.stop_metric=return", "training.evaluate_every=5"],
            3,
            4,
        ),  # the best beside them
    ],
)
def test_checkpoints_on_disk_by_hand(settings, kept, most):
    from loquent.training.estimates.estimate import checkpoints

    whole = recipes.load(
        "reviews_ppo",
        ["training.updates=10", "training.keep=2", "training.stop_metric=", "training.evaluate_every=0"],
    )
    assert checkpoints(whole.replace(*settings)) == (kept, most)


def test_the_most_on_disk_is_what_a_run_has_while_it_writes(tmp_path, monkeypatch):
    """Checkpoints are seen at the moment one is renamed into place."""
    from loquent.training.estimates.estimate import checkpoints
    from loquent.training.train import train

    seen = []
    remove = RunCheckpoints.remove
    monkeypatch.setattr(
        RunCheckpoints, "remove", lambda own, folder: (seen.append(len(own.all())), remove(own, folder))
    )
    tiny = [
        "task.limit=60",
        "training.updates=4",
        "training.episodes=2",
        "training.checkpoint_every=1",
        "training.keep=2",
        "metrics={}",
    ]
    whole = recipes.load("reviews_base", tiny, profile="smoke").replace("training.updates=4")
    train(whole, tmp_path / "run", progress=False)
    assert (len(RunFolder(tmp_path / "run").checkpoints.all()), max(seen)) == checkpoints(whole) == (2, 3)


def test_several_seeds_take_their_time_and_disk():
    from loquent.training.estimates.estimate import Estimate

    one = Estimate(
        {"p": 1},
        {"weights": 4},
        9,
        {"checkpoint": 10, "reference": 3, "checkpoints": 23, "at_most": 33},
        {"learn": 2.0},
        2.0,
        {"seeds": 1},
        "cpu",
        None,
    )
    three = one.of_seeds(3)
    assert (three.total_seconds, three.seconds, three.peak, three.sizes["seeds"]) == (
        6.0,
        {"learn": 6.0},
        9,
        3,
    )
    assert (three.disk["checkpoints"], three.disk["at_most"]) == (69, 79)
    assert one.of_seeds(1) == one


def test_a_learner_of_turns_is_estimated(tmp_path, monkeypatch):
    from loquent.training.estimate import estimate

    small = ["task.limit=20", "training.updates=4", "training.episodes=6", "training.final_episodes=4"]
    small += ["training.evaluate_every=0", "training.stop_metric="]
    one = recipes.load("blocks_objects", [*small, "algorithm.width=16"])
    found = estimate(one)
    twice = estimate(recipes.load("blocks_objects", small))
    assert 0 < found.parameters["network"] < twice.parameters["network"]
    assert {"start", "collect", "score", "learn", "evaluate"} == set(found.seconds)
    assert found.memory["optimizer"] == 2 * found.memory["weights"]
    assert found.sizes["actions"] >= 6
    four = ("training.updates=8", "training.update_share=0.5")
    rounds = [[*small, "algorithm.width=16", *updates] for updates in (("training.updates=2",), four)]
    kept = [estimate(recipes.load("blocks_clone", each)).memory["replay"] for each in rounds]
    assert 2 * kept[0] == kept[1] > 0  # the turns of all rounds


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no peak that can be forgotten")
def test_the_peak_of_resident_memory_is_measured_again_after_it_is_forgotten():
    from loquent.files.machine.memory import forget_peak, peak_rss, rss

    assert forget_peak()
    before = peak_rss()
    filled = torch.ones(16 << 20)  # 64 MiB
    del filled
    assert peak_rss() > before + (60 << 20)
    assert forget_peak()
    assert peak_rss() < rss() + (8 << 20)


def test_what_no_part_counts_is_in_the_peak():
    from loquent.training.estimates import language_models as module

    parts = ("runtime", "weights", "gradients", "optimizer", "batch", "activations", "logits", "cache")
    memory = {**dict.fromkeys(parts, 10), "decoding": 1}
    assert module._peak(memory) == 70
    assert module._peak(memory | {"uncounted": 5}) == 75


def test_a_dry_run_makes_no_step(monkeypatch):
    """So it holds no state of an optimizer, and needs less than the run; weights stay as they are."""
    from loquent.training import estimate

    built, before = [], []

    def build(recipe):
        built.append(Trainer(recipe))
        before.append({name: p.clone() for name, p in built[0].actor.policy.named_parameters()})
        return built[0]

    monkeypatch.setattr(estimate, "Trainer", build)
    small = ["model.width=32", "model.layers=1", "model.vocabulary=300", "training.final_episodes=2"]
    small += ["task.limit=60", "training.stop_metric="]
    found = estimate.estimate(recipes.load("reviews_supervised", [*MODEL, *RUN[:-1], *small]))
    learner = built[0].algorithm.gradient
    assert learner.changes_parameters
    assert not learner.optimizer.state
    assert all(p.equal(before[0][name]) for name, p in built[0].actor.policy.named_parameters())
    assert found.memory["optimizer"] == 2 * found.memory["gradients"] > 0  # two moments of AdamW
    assert found.disk["checkpoint"] > found.memory["optimizer"]


def test_a_suite_is_estimated_without_weights(tmp_path, capsys):
    command = ["bench", "SUITE", "--dry-run", "--json", "--out", str(tmp_path / "out")]
    command[1] = str(write_suite(tmp_path))
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed.splitlines()[-1])
    assert [(each["name"], each["runs"], each["why"]) for each in found["costs"]] == [
        ("base", 2, ""), ("ppo", 2, "")
    ]  # fmt: skip
    assert found["total"]["seconds"] == pytest.approx(sum(each["seconds"] for each in found["costs"]))
    assert found["total"]["peak"] == max(each["peak"] for each in found["costs"])
    assert "the whole suite: 4 runs" in printed
    assert not (tmp_path / "out").exists()


def write_suite(folder):
    """Two runs of PPO, each from the base model of its seed, which nobody has made."""
    file = folder / "pair.yaml"
    file.write_text(
        """
title: two runs and their base
columns: {reward: {metric: return, better: higher}}
profiles: {small: {about: small, seeds: 2}}
stages:
  base: {recipe: reviews_base, set: {task.limit: 60, model.width: 32, model.layers: 1, training.updates: 2}}
cells:
  ppo: {recipe: reviews_ppo, set: {task.limit: 60, model.path: <base>, training.updates: 2}}
tables: [{title: all, cells: [ppo]}]
"""
    )
    return file


def test_a_new_model_in_a_suite_keeps_the_settings_of_its_run():
    from loquent.bench.costs import with_new_model

    base = recipes.load("reviews_base", ["model.width=32", "model.recompute=true"])
    own = ["model.path=runs/nowhere", "model.autocast=bfloat16", "model.critic=head"]
    run = recipes.load("reviews_ppo", own)
    made = with_new_model(run, {"runs/nowhere": base}).model
    assert (made.path, made.width) == ("", 32)
    assert (made.autocast, made.recompute, made.critic) == ("bfloat16", False, "head")
