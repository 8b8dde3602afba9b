"""A run killed again and again with SIGKILL, at seeded moments, and resumed each time, is the run that was
never killed: to the bit.
"""

import copy
import json
import random
import resource
import shutil
import signal
import subprocess

import pytest
import torch

from helpers import killed
from helpers.states import at, difference, goes_on, is_in, leaves, put, same, without
from loquent.errors import BadCheckpoint
from loquent.files import atomic
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

SMALL = {
    "task": {"kind": "generation", "source": "path", "prompt_words": 5},
    "model": {"layers": 1, "width": 16, "heads": 2, "vocabulary": 300, "tokenizer_texts": 100, "context": 128,
        "dropout": 0.1},
    "rewards": {"lexicon": 1.0, "length": {"weight": 0.1, "high": 3}},
    "metrics": {"perplexity": {}},
    "decoding": {"max_new_tokens": 5},
    "training": {
        "updates": 20, "episodes": 6, "evaluate_every": 4, "evaluate_episodes": 4, "final_episodes": 4,
        "checkpoint_every": 1,
        "stop_metric": "perplexity", "patience": 99,
    },
}  # fmt: skip
WORDS = (
    "the",
    "a",
    "good",
    "bad",
    "poor",
    "fine",
    "film",
    "plot",
    "was",
    "is",
    "and",
    "ever",
    "never",
    "dull",
    "bright",
    "scene",
)
LEARNERS = {
    "supervised": {
        "learning_rate": 0.01,
        "minibatch": 3,
        "schedule": "cosine",
        "warmup": 2,
        "total_steps": 60,
    },
    "ppo": {"epochs": 2, "minibatch": 3, "learning_rate": 0.003, "beta": 0.1, "kl_target": 0.01},
    "nlpo": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "beta": 0.1,
        "kl_target": 0.01,
        "top_p": 0.6,
        "mu": 2,
    },
    "ilql": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "awac_beta": 0.5,
        "cql_weight": 0.1,
        "target_rate": 0.1,
        "adv_beta": 2.0,
    },
}
NORMALISED = {
    "lexicon": {"weight": 1.0, "place": "token", "normalization": "running"},
    "length": {"weight": 0.1, "high": 1, "normalization": "running"},
    "shape": {"of": "length", "low": 4, "weight": 0.1, "potential": True, "place": "token"},
}  # fmt: skip
REWARDS = {"ppo": NORMALISED}
# who learns from others' words draws none in training
NEVER = {"supervised": ("in_decoding",), "ilql": ("in_decoding", "in_rollout")}
# (moment, how often it comes in one update, so that the seeded number of a call lies at most an update and a
# half ahead)
MOMENTS = {
    "in_rollout": 6, "in_decoding": 5, "in_update": 2, "in_backward": 2, "in_tensors": 1, "in_policy": 1,
    "in_json": 1, "before_rename": 1,
    "after_rename": 1, "in_removal": 1, "in_log": 1, "after_log": 1, "anywhere": 20_000,
}  # fmt: skip


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """For each learner its recipe's file and the run that nobody killed, made by the command."""
    folder = tmp_path_factory.mktemp("whole")
    draw = random.Random(5)
    texts = [" ".join(draw.choices(WORDS, k=12)) for _ in range(80)]
    (folder / "texts.txt").write_text("\n".join(texts))
    task = {**SMALL["task"], "path": str(folder / "texts.txt")}
    options = [f"{name}={value}" for name, value in task.items() if name != "kind"]
    assert (
        killed.loquent(
            "collect",
            "generation",
            "--agent",
            "random",
            "--episodes",
            "40",
            "--out",
            str(folder / "games"),
            *options,
        )
        == 0
    )

    def make(kind):
        file = folder / f"{kind}.yaml"
        training = {**SMALL["training"], **({"data": str(folder / "games")} if kind == "ilql" else {})}
        own = {"rewards": REWARDS[kind]} if kind in REWARDS else {}
        file.write_text(
            json.dumps(
                {
                    **SMALL,
                    **own,
                    "task": task,
                    "training": training,
                    "algorithm": {"kind": kind, **LEARNERS[kind]},
                }
            )
        )  # JSON is YAML
        assert killed.loquent("train", str(file), "--out", str(folder / kind)) == 0
        return file, folder / kind

    return killed.Wholes(make)


def plan(kind, kills):
    """Seeded moments: every kind of moment at least once, as far as there are kills enough, and each at a
    seeded call.
    """
    draw = random.Random(f"{kind} {kills}")
    names = [name for name in MOMENTS if name not in NEVER.get(kind, ())]
    chosen = (
        (names + draw.choices(names, k=max(0, kills - len(names))))[:kills]
        if kills >= len(names)
        else draw.sample(names, kills)
    )
    draw.shuffle(chosen)
    return [(name, draw.randint(1, max(1, MOMENTS[name] * 3 // 2))) for name in chosen]


@pytest.mark.sweep("ppo", "ilql")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_run_killed_at_twenty_moments_is_the_same_run(kind, wholes, tmp_path):
    file, whole = wholes[kind]
    run, words = tmp_path / "run", ("train", str(file), "--out", str(tmp_path / "run"))
    for place, (moment, call) in enumerate([*plan(kind, 19), ("at_the_end", 1)]):
        code = killed.loquent(*words, point=moment, count=call)
        assert code == -9, f"kill {place} ({moment}, call {call}) ended with {code}: it was not killed there"
        if (run / "config.yaml").exists():
            words = ("resume", str(run))
    assert killed.loquent(*words) == 0
    assert difference(whole, run) is None
    assert not list((run / "checkpoints").glob(".*")), "nothing is left of what was being written"


@pytest.mark.parametrize(
    ("moment", "kind"),
    [("in_episodes", "ppo"), ("in_reference", "ppo"), ("in_note", "supervised"), ("in_rewriting", "nlpo")],
)
def test_a_kill_in_any_other_file_loses_nothing(moment, kind, wholes, tmp_path):
    file, whole = wholes[kind]
    run = tmp_path / "run"
    first = ("after_log", 3) if moment == "in_rewriting" else (moment, 1)
    assert killed.loquent("train", str(file), "--out", str(run), point=first[0], count=first[1]) == -9
    if moment == "in_rewriting":
        assert killed.loquent("resume", str(run), point=moment, count=1) == -9
    assert killed.loquent("resume", str(run)) == 0
    assert difference(whole, run) is None
    assert not list(run.rglob(".*.partial")), "nothing is left of what was being written"


@pytest.mark.sweep("ppo", "ilql")
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_leaf_of_the_state_can_be_missing(kind, wholes, tmp_path):
    """Each leaf dropped in turn: the checkpoint is refused, or the run that goes on from it is another
    one.
    """
    file, whole = wholes[kind]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    trainer = Trainer(recipes.load(file))
    right = goes_on(trainer, state)
    assert same(right, goes_on(trainer, state)) is None, "nothing dropped, nothing seen"
    dropped = leaves(state)
    assert len(dropped) > 60
    unseen = [path for path in dropped if same(right, goes_on(trainer, without(state, path))) is None]
    assert unseen == []


@pytest.mark.sweep("ppo", "supervised")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_leaf_that_was_never_saved_would_be_seen(kind, wholes, tmp_path):
    """Each leaf that training moves, as it was at the start, in the place of the saved one: the run is
    another one.
    """
    file, whole = wholes[kind]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    trainer = Trainer(recipes.load(file))
    fresh = copy.deepcopy(trainer.state())
    right = goes_on(trainer, state)
    moved = [path for path in leaves(state) if is_in(fresh, path) and same(at(state, path), at(fresh, path))]
    names = {"/".join(map(str, path)) for path in moved}
    assert {"counters/updates", "experience/games", "counters/best", "experience/sampler/place"} <= names
    assert any(name.startswith("actor/policy") for name in names)
    if kind == "ppo":
        assert {
            f"experience/rewards/{term}/{part}"
            for term in ("lexicon", "length")
            for part in ("count", "mean", "squares")
        } <= names
    if kind in ("ppo", "nlpo"):
        assert "algorithm/controller/coefficient" in names
    if kind == "ilql":
        assert {
            "actor/values.v_head.outer.weight",
            "actor/values.target_heads.0.outer.weight",
            "actor/values.target_trunk.wte.weight",
        } <= names
    if kind == "nlpo":
        assert any(name.startswith("algorithm/masking_policy") for name in names)
    unseen = [
        path for path in moved if same(right, goes_on(trainer, put(state, path, at(fresh, path)))) is None
    ]
    assert [path for path in unseen if path != IDLE] == []


IDLE = ("algorithm", "last_kl")  # written anew by every update before it is read


def files_of(run):
    """Every file of a run, by name; what matters of what was saved before."""
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file()
    }


def half_run(wholes, tmp_path, updates=2):
    """A copy of the whole PPO run as it was after some updates, with both their checkpoints."""
    file, _ = wholes["ppo"]
    run = tmp_path / "run"
    assert killed.loquent("train", str(file), "--out", str(run), point="after_rename", count=updates) == -9
    return run


def small_files():
    """From now on no file can grow beyond 20 kB, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def test_a_disk_that_fills_up_loses_nothing(wholes, tmp_path):
    run = half_run(wholes, tmp_path)
    before = files_of(run / "checkpoints")
    assert killed.loquent("resume", str(run), settings=small_files) == 2
    assert files_of(run / "checkpoints") == before, (
        "nothing half written is left, and nothing else is touched"
    )
    assert killed.loquent("resume", str(run)) == 0
    assert difference(wholes["ppo"][1], run) is None


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of a given size, where this machine lets one be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")

    def of(size):
        done = subprocess.run(
            [mount or "mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("a small file system cannot be mounted here (that takes root)")
        return place

    if mount is None:
        pytest.skip("there is no mount here")
    yield of
    subprocess.run(["umount", str(place)], capture_output=True, check=False)


def test_a_full_file_system_loses_nothing(wholes, tmp_path, tiny_disk):
    run = half_run(wholes, tmp_path)
    used = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    disk = tiny_disk(used + used // 4)  # the two checkpoints fit, a third does not
    moved = shutil.copytree(run, disk / "run")
    before = files_of(moved / "checkpoints")
    assert killed.loquent("resume", str(moved)) == 2
    assert files_of(moved / "checkpoints") == before
    roomy = shutil.copytree(moved, tmp_path / "roomy")
    assert killed.loquent("resume", str(roomy)) == 0
    assert difference(wholes["ppo"][1], roomy) is None


def test_a_full_disk_is_said_in_one_line(wholes, tmp_path):
    run = half_run(wholes, tmp_path)
    trainer = Trainer(recipes.load(wholes["ppo"][0]), run)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before, handler = files_of(run), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        with pytest.raises(
            BadCheckpoint,
            match=r"update-9 could not be written .*; the checkpoints before it are untouched: .* with "
            r"`loquent resume",
        ):
            checkpoint.save(run / "checkpoints" / "update-9", trainer.actor.language, trainer.state())
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["metrics.jsonl"]) + 10, hard))
        with pytest.raises(BadCheckpoint, match=r"metrics\.jsonl could not be written"):
            atomic.append_line(run / "metrics.jsonl", {"update": 3, "rollout/return": 0.5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    after = files_of(run)
    torn = after.pop("metrics.jsonl")
    assert torn.startswith(before.pop("metrics.jsonl")), (
        "what was logged before is there, and a torn line that resuming cuts off"
    )
    assert after == before
    assert killed.loquent("resume", str(run)) == 0
    assert difference(wholes["ppo"][1], run) is None


TORN = (
    "state.safetensors",
    "state.json",
    "policy/model.safetensors",
    "policy/tokenizer.json",
    "manifest.json",
)


@pytest.mark.sweep("state.safetensors", "manifest.json")
@pytest.mark.parametrize("name", TORN)
def test_a_torn_file_is_named_and_an_older_checkpoint_needs_a_flag(name, wholes, tmp_path):
    run = half_run(wholes, tmp_path)
    newest = RunFolder(run).checkpoints.all()[-1]
    whole = (newest / name).read_bytes()
    (newest / name).write_bytes(whole[: len(whole) // 2])
    before, whole_recipe = files_of(run), recipes.load(wholes["ppo"][0])
    with pytest.raises(BadCheckpoint) as told:
        train(whole_recipe, run, progress=False, resume=True)
    assert all(
        word in str(told.value) for word in ("update-2 is refused", "torn", "update-1", "--from-older")
    )
    assert files_of(run) == before, "a refusal changes nothing"
    train(whole_recipe, run, progress=False, resume=True, from_older=True)
    assert (run / "checkpoints" / "update-2.refused" / "state.json").exists(), (
        "the refused one stays to be looked at"
    )
    shutil.rmtree(run / "checkpoints" / "update-2.refused")
    assert difference(wholes["ppo"][1], run) is None


def test_one_changed_bit_is_seen(wholes, tmp_path):
    run = half_run(wholes, tmp_path)
    newest = RunFolder(run).checkpoints.all()[-1]
    tensors = bytearray((newest / "state.safetensors").read_bytes())
    tensors[-5] ^= 1
    (newest / "state.safetensors").write_bytes(bytes(tensors))
    with pytest.raises(BadCheckpoint, match=r"state\.safetensors is not what was written"):
        checkpoint.load(newest)


def test_without_an_older_checkpoint_the_flag_does_not_help(wholes, tmp_path):
    run = half_run(wholes, tmp_path, updates=1)
    (RunFolder(run).checkpoints.all()[-1] / "state.json").unlink()
    with pytest.raises(
        BadCheckpoint, match=r"update-1 is refused: .*state\.json is missing. There is no older one"
    ):
        train(recipes.load(wholes["ppo"][0]), run, progress=False, resume=True, from_older=True)


def test_another_number_of_threads_is_refused_by_name(wholes, tmp_path):
    run = half_run(wholes, tmp_path)
    before = files_of(run)
    now = torch.get_num_threads()
    torch.set_num_threads(now + 1)
    try:
        with pytest.raises(
            BadCheckpoint,
            match=rf"update-2 is refused: its threads was {now} and is {now + 1} now.*OMP_NUM_THREADS",
        ):
            train(recipes.load(wholes["ppo"][0]), run, progress=False, resume=True)
    finally:
        torch.set_num_threads(now)
    assert files_of(run) == before


def test_a_log_that_lacks_a_line_is_refused(wholes, tmp_path):
    run = half_run(wholes, tmp_path)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text(lines[1])
    with pytest.raises(BadCheckpoint, match=r"metrics\.jsonl:1: a line is missing before this one"):
        train(recipes.load(wholes["ppo"][0]), run, progress=False, resume=True)


def test_a_run_killed_before_its_first_checkpoint_begins_again(wholes, tmp_path):
    file, whole = wholes["supervised"]
    run = tmp_path / "run"
    assert killed.loquent("train", str(file), "--out", str(run), point="in_policy", count=1) == -9
    assert RunFolder(run).checkpoints.all() == []
    assert killed.loquent("resume", str(run)) == 0
    assert difference(whole, run) is None


def test_the_comparison_sees_one_bit(wholes, tmp_path):
    """The twin of all of the above."""
    _, whole = wholes["ppo"]
    other = shutil.copytree(whole, tmp_path / "other")
    assert difference(whole, other) is None
    log = (other / "metrics.jsonl").read_text()
    (other / "metrics.jsonl").write_text(log.replace("1", "2", 1))
    assert difference(whole, other) == "metrics.jsonl"
    (other / "metrics.jsonl").write_text(log)
    newest = RunFolder(other).checkpoints.all()[-1]
    state = checkpoint.load(newest)
    name = next(iter(state["actor"]))
    flat = state["actor"][name].view(-1)
    flat[0] = torch.nextafter(flat[0], torch.tensor(torch.inf))
    trainer = Trainer(recipes.load(wholes["ppo"][0]))
    checkpoint.save(newest, trainer.actor.language, state)
    assert difference(whole, other) == f"{newest.name}/actor/{name}"
