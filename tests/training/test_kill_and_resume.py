"""A run killed again and again with SIGKILL, at seeded moments, and resumed each time, is the run that was
never killed: to the bit.
"""

import copy
import resource
import shutil
import signal
import subprocess

import pytest
import torch

from helpers import killed
from helpers.states import at, difference, goes_on, idle, leaves, moved, put, same, stale, without
from helpers.training import killed_runs
from loquent.errors import BadCheckpoint
from loquent.files import atomic
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

# learners by what they keep beside weights: an optimizer, a reference, a mask, heads, candidates
LEARNERS = ("supervised", "ppo", "nlpo", *killed_runs.RECORDED)
SHAPES = {
    **dict.fromkeys(("a2c", "grpo", "online_dpo"), ("gpt2", "t5")),
    **dict.fromkeys(("trpo", "rloo", "reinforced_self_training"), ("llama", "bart")),
}
ON_SHAPES = [f"{name} on {shape}" for name, shapes in SHAPES.items() for shape in shapes]
KEPT = {
    "ilql_utterance": {"actor/values.q_heads.0.outer.weight", "actor/values.target_heads.0.outer.weight"},
    "decision_transformer": {
        "actor/conditioning.layer.weight",
        "algorithm/optimizer/conditioning.layer.bias/exp_avg",
    },
    "chai": {
        "actor/values.target_heads.0.outer.weight",
        "algorithm/candidates/features",
        "algorithm/candidates/logprob",
    },
    "chai, nothing kept": {
        "actor/values.target_heads.0.outer.weight",
        "algorithm/optimizer/values.q_heads.1.outer.weight/exp_avg_sq",
    },
    "ilql": {
        "actor/values.v_head.outer.weight",
        "actor/values.target_heads.0.outer.weight",
        "actor/values.target_trunk.wte.weight",
    },
    "ppo": {
        "algorithm/controller/coefficient",
        *(
            f"experience/rewards/{term}/{part}"
            for term in ("lexicon", "length")
            for part in ("count", "mean", "squares")
        ),
    },
    "nlpo": {"algorithm/controller/coefficient"},
}


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """For each learner its recipe's file and the run that nobody killed, made by the command."""
    return killed_runs.wholes(tmp_path_factory.mktemp("whole"))


KILLS = {
    "ppo": 13,
    "chai": 2,
    "ilql": 2,
    "a2c on gpt2": 2,
    "trpo on bart": 2,
    "rloo on llama": 2,
}  # by day


@pytest.mark.sweep(*KILLS)
@pytest.mark.parametrize("name", [*LEARNERS, *ON_SHAPES])
def test_a_run_killed_again_and_again_is_the_same_run(name, wholes, tmp_path, request):
    """PPO at every moment, others at some; at night more learners and more kills."""
    file, whole = wholes[name]
    night = request.config.getoption("--slow")
    kills = (19 if name == "ppo" else 10) if night else KILLS[name]
    end = [("at_the_end", 1)] if kills > 2 else []
    killed.again_and_again(file, tmp_path / "run", [*killed_runs.plan(name, kills), *end])
    assert difference(whole, tmp_path / "run") is None


@pytest.mark.parametrize(
    ("moment", "kind"),
    [("in_episodes", "ppo"), ("in_reference", "ppo"), ("in_note", "supervised"), ("in_rewriting", "ppo")],
)
def test_a_kill_in_any_other_file_loses_nothing(moment, kind, wholes, tmp_path):
    file, whole = wholes[kind]
    first = {"in_rewriting": [("after_log", 3)], "in_episodes": [("in_rows", 1)]}.get(moment, [])
    killed.again_and_again(file, tmp_path / "run", [*first, (moment, 1)])
    assert difference(whole, tmp_path / "run") is None
    assert not list((tmp_path / "run").rglob(".*.partial")), "nothing is left of what was being written"


def newest(run):
    return checkpoint.load(RunFolder(run).checkpoints.all()[-1])


@pytest.mark.sweep("ppo", "chai")
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_leaf_of_the_state_can_be_missing(kind, wholes):
    """Each leaf dropped in turn: the checkpoint is refused, or the run that goes on from it is another
    one.
    """
    file, whole = wholes[kind]
    state = newest(whole)
    paths = leaves(state)
    assert len(paths) > 60
    assert {"/".join(map(str, path)) for path in paths} >= KEPT.get(kind, set())
    if kind == "chai":
        assert len(state["algorithm"]["candidates"]["states"]) > 1
    if kind == "chai, nothing kept":
        assert state["algorithm"]["candidates"] == {"states": []}
    assert idle(Trainer(recipes.load(file)), state, paths, without) == []


@pytest.mark.sweep("ppo", "supervised", "decision_transformer")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_leaf_that_was_never_saved_would_be_seen(kind, wholes):
    """Each leaf that training moves, as it was at the start, in the place of the saved one: the run is
    another one.
    """
    file, whole = wholes[kind]
    state, trainer = newest(whole), Trainer(recipes.load(file))
    fresh = copy.deepcopy(trainer.state())
    paths = moved(state, fresh)
    names = {"/".join(map(str, path)) for path in paths}
    assert {"counters/updates", "counters/best", "experience/sampler/place"} <= names
    assert {name for name in KEPT.get(kind, ()) if name.startswith("actor/")} <= names
    assert "experience/games" in names or kind not in ("supervised", "ppo", "nlpo", "ilql")
    if kind in ("ppo", "nlpo"):
        assert KEPT[kind] <= names
    if kind == "nlpo":
        assert any(name.startswith("algorithm/masking_policy") for name in names)
    assert [path for path in stale(trainer, state, fresh, paths) if path != IDLE] == []


IDLE = ("algorithm", "last_kl")  # written anew by every update before it is read


def files_of(run):
    """Every file of a run, by name; what matters of what was saved before."""
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def halves(wholes, tmp_path_factory):
    """For a number of updates: the PPO run that was killed after them, when the checkpoint had its name."""
    file, _ = wholes["ppo"]

    def make(updates):
        run = tmp_path_factory.mktemp("half") / "run"
        assert (
            killed.loquent("train", str(file), "--out", str(run), point="after_rename", count=updates) == -9
        )
        return run

    return killed.Wholes(make)


@pytest.fixture
def half(halves, tmp_path):
    """A copy of the PPO run as it was after two updates, with both their checkpoints."""
    return shutil.copytree(halves[2], tmp_path / "run")


def small_files():
    """From now on no file can grow beyond 20 kB, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def test_a_disk_that_fills_up_loses_nothing(wholes, half):
    before = files_of(half / "checkpoints")
    assert killed.loquent("resume", str(half), settings=small_files) == 2
    assert files_of(half / "checkpoints") == before, (
        "nothing half written is left, and nothing else is touched"
    )
    assert killed.loquent("resume", str(half)) == 0
    assert difference(wholes["ppo"][1], half) is None


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


def test_a_full_file_system_loses_nothing(wholes, half, tmp_path, tiny_disk):
    used = sum(path.stat().st_size for path in half.rglob("*") if path.is_file())
    disk = tiny_disk(used + used // 4)  # the two checkpoints fit, a third does not
    moved = shutil.copytree(half, disk / "run")
    before = files_of(moved / "checkpoints")
    assert killed.loquent("resume", str(moved)) == 2
    assert files_of(moved / "checkpoints") == before
    roomy = shutil.copytree(moved, tmp_path / "roomy")
    assert killed.loquent("resume", str(roomy)) == 0
    assert difference(wholes["ppo"][1], roomy) is None


def test_a_full_disk_is_said_in_one_line(wholes, half):
    trainer = Trainer(recipes.load(wholes["ppo"][0]), half)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before, handler = files_of(half), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        with pytest.raises(
            BadCheckpoint,
            match=r"update-9 could not be written .*; the checkpoints before it are untouched: .* with "
            r"`loquent resume",
        ):
            checkpoint.save(half / "checkpoints" / "update-9", trainer.actor.language, trainer.state())
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["metrics.jsonl"]) + 10, hard))
        with pytest.raises(BadCheckpoint, match=r"metrics\.jsonl could not be written"):
            atomic.append_line(half / "metrics.jsonl", {"update": 3, "rollout/return": 0.5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    after = files_of(half)
    torn = after.pop("metrics.jsonl")
    assert torn.startswith(before.pop("metrics.jsonl")), (
        "what was logged before is there, and a torn line that resuming cuts off"
    )
    assert after == before
    assert killed.loquent("resume", str(half)) == 0
    assert difference(wholes["ppo"][1], half) is None


TORN = (
    "state.safetensors",
    "state.json",
    "policy/model.safetensors",
    "policy/tokenizer.json",
    "manifest.json",
)


@pytest.mark.sweep("state.safetensors", "manifest.json")
@pytest.mark.parametrize("name", TORN)
def test_a_torn_file_is_named_and_an_older_checkpoint_needs_a_flag(name, wholes, half):
    newest = RunFolder(half).checkpoints.all()[-1]
    whole = (newest / name).read_bytes()
    (newest / name).write_bytes(whole[: len(whole) // 2])
    before, whole_recipe = files_of(half), recipes.load(wholes["ppo"][0])
    with pytest.raises(BadCheckpoint) as told:
        train(whole_recipe, half, progress=False, resume=True)
    assert all(
        word in str(told.value) for word in ("update-2 is refused", "torn", "update-1", "--from-older")
    )
    assert files_of(half) == before, "a refusal changes nothing"
    train(whole_recipe, half, progress=False, resume=True, from_older=True)
    assert (half / "checkpoints" / "update-2.refused" / "state.json").exists(), (
        "the refused one stays to be looked at"
    )
    shutil.rmtree(half / "checkpoints" / "update-2.refused")
    assert difference(wholes["ppo"][1], half) is None


def test_one_changed_bit_is_seen(wholes, half):
    newest = RunFolder(half).checkpoints.all()[-1]
    tensors = bytearray((newest / "state.safetensors").read_bytes())
    tensors[-5] ^= 1
    (newest / "state.safetensors").write_bytes(bytes(tensors))
    with pytest.raises(BadCheckpoint, match=r"state\.safetensors is not what was written"):
        checkpoint.load(newest)


def test_without_an_older_checkpoint_the_flag_does_not_help(wholes, halves, tmp_path):
    run = shutil.copytree(halves[1], tmp_path / "run")
    (RunFolder(run).checkpoints.all()[-1] / "state.json").unlink()
    with pytest.raises(
        BadCheckpoint, match=r"update-1 is refused: .*state\.json is missing. There is no older one"
    ):
        train(recipes.load(wholes["ppo"][0]), run, progress=False, resume=True, from_older=True)


def test_another_number_of_threads_is_refused_by_name(wholes, half):
    before = files_of(half)
    now = torch.get_num_threads()
    torch.set_num_threads(now + 1)
    try:
        with pytest.raises(
            BadCheckpoint,
            match=rf"update-2 is refused: its threads was {now} and is {now + 1} now.*OMP_NUM_THREADS",
        ):
            train(recipes.load(wholes["ppo"][0]), half, progress=False, resume=True)
    finally:
        torch.set_num_threads(now)
    assert files_of(half) == before


def test_a_log_that_lacks_a_line_is_refused(wholes, half):
    lines = (half / "metrics.jsonl").read_text().splitlines(keepends=True)
    (half / "metrics.jsonl").write_text(lines[1])
    with pytest.raises(BadCheckpoint, match=r"metrics\.jsonl:1: a line is missing before this one"):
        train(recipes.load(wholes["ppo"][0]), half, progress=False, resume=True)


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


def test_candidates_that_were_never_saved_would_be_seen(wholes, tmp_path):
    """Those kept are what goes on learning: one of them changed by one bit is another run, and none of them
    is another checkpoint.
    """
    file, whole = wholes["chai"]
    state = newest(whole)
    trainer = Trainer(recipes.load(file))
    right = goes_on(trainer, state, updates=8)  # all of the data once more
    place = ("algorithm", "candidates", "features")
    other = at(state, place).clone()
    other += 1e-3
    assert same(right, goes_on(trainer, put(state, place, other), updates=8)) is not None
    gone = put(state, place[:2], {"states": []})
    redrawn = goes_on(trainer, gone, updates=1)
    assert len(redrawn["state"]["algorithm"]["candidates"]["states"]) < len(
        state["algorithm"]["candidates"]["states"]
    )
