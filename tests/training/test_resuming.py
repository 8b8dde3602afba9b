"""What a run that goes on is refused for, what it does not need any more, and that only one process writes in
its folder.
"""

import json
import random
import shutil
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers import commands
from loquent.core.settings import Remark
from loquent.errors import AnotherRun, BadCheckpoint
from loquent.files import tensor_files
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, policies, recipes, resuming
from loquent.training.keeping import CheckpointKeeper
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer

WORDS = ("the", "a", "good", "bad", "film", "plot", "was", "is", "and", "never", "dull", "bright")
STOP_AT = 6  # updates logged before the run dies


class Killed(BaseException):
    """What ends a run at once; nothing of the library catches it."""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A recipe whose best checkpoint is an early one, the texts it is about, and a model it may begin
    with.
    """
    folder = tmp_path_factory.mktemp("resuming")
    draw = random.Random(3)
    (folder / "texts.txt").write_text("\n".join(" ".join(draw.choices(WORDS, k=9)) for _ in range(60)))
    task = {"kind": "generation", "source": "path", "path": str(folder / "texts.txt"), "prompt_words": 4}
    model = {"layers": 1, "width": 16, "heads": 2, "vocabulary": 280, "tokenizer_texts": 60, "context": 96}
    training = {
        "updates": 8,
        "episodes": 4,
        "evaluate_every": 2,
        "evaluate_episodes": 6,
        "final_episodes": 6,
        "checkpoint_every": 1,
        "keep": 2,
    }
    watched = {"stop_metric": "perplexity", "patience": 99}
    learner = {"kind": "supervised", "learning_rate": 0.01, "minibatch": 4}
    whole = {
        "task": task,
        "model": model,
        "metrics": {"perplexity": {}},
        "decoding": {"max_new_tokens": 4},
        "training": {**training, **watched},
    }
    file = folder / "small.yaml"
    file.write_text(json.dumps({**whole, "algorithm": learner}))
    return file


@contextmanager
def dying(updates):
    """Inside, a run dies when so many updates are logged and kept."""
    original = CheckpointKeeper.keep

    def keep(keeper):
        original(keeper)
        if keeper.trainer.updates == updates:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckpointKeeper, "keep", keep)
        with pytest.raises(Killed):
            yield


@pytest.fixture(scope="module")
def dead(base, tmp_path_factory):
    """A run that died after some updates; its best checkpoint is none of the newest."""
    rising = iter(range(1, 99))
    original = Trainer.evaluate

    def worse_and_worse(self, *given, **named):
        found = original(self, *given, **named)
        found.values["perplexity"] = float(next(rising))
        return found

    run = tmp_path_factory.mktemp("dead") / "run"
    with pytest.MonkeyPatch.context() as patch, dying(STOP_AT):
        patch.setattr(Trainer, "evaluate", worse_and_worse)
        train(recipes.load(base), run, progress=False)
    assert [path.name for path in RunFolder(run).checkpoints.all()] == ["update-2", "update-5", "update-6"]
    return run


@pytest.fixture
def stopped(dead, tmp_path):
    """A copy of it."""
    return shutil.copytree(dead, tmp_path / "run")


def go_on(run, **how):
    return train(load_run(run).recipe, run, progress=False, resume=True, **how)


def test_a_torn_best_checkpoint_is_refused_before_anything_is_trained(stopped):
    best = stopped / "checkpoints" / "update-2" / "state.json"
    best.write_text(best.read_text()[:100])
    logged = (stopped / "metrics.jsonl").read_bytes()
    with pytest.raises(
        BadCheckpoint, match=r"the best checkpoint .*update-2 is refused: .*torn.*--from-older"
    ):
        go_on(stopped)
    assert (stopped / "metrics.jsonl").read_bytes() == logged
    with pytest.warns(Remark, match="the best checkpoint update-2 is refused and left out"):
        done = go_on(stopped, from_older=True)
    assert done.evaluation["checkpoint"] == "update-8", "without it the newest is evaluated"
    assert (stopped / "checkpoints" / "update-2.refused").is_dir()
    assert not (stopped / "checkpoints" / "best.json").exists()


def test_a_best_checkpoint_that_is_gone_is_noticed(stopped):
    shutil.rmtree(stopped / "checkpoints" / "update-2")
    with pytest.raises(BadCheckpoint, match=r"the best checkpoint .*update-2 is refused: .*missing"):
        go_on(stopped)


def test_each_refused_checkpoint_is_named(stopped):
    for name in ("update-6", "update-5"):
        file = stopped / "checkpoints" / name / "state.json"
        file.write_text(file.read_text()[:100])
    with warnings.catch_warnings(record=True) as told, dying(3):
        warnings.simplefilter("always")
        go_on(stopped, from_older=True)
    said = [str(warning.message) for warning in told if issubclass(warning.category, Remark)]
    assert [line.split()[0] for line in said if "is refused and left out" in line] == ["update-6", "update-5"]
    file = stopped / "checkpoints" / "update-2" / "state.json"
    file.write_text(file.read_text()[:100])
    file = stopped / "checkpoints" / "update-3" / "state.json"
    file.write_text(file.read_text()[:100])
    with pytest.raises(
        BadCheckpoint, match=r"update-3 is refused: .*update-2 is refused: .*No checkpoint is left"
    ):
        go_on(stopped, from_older=True)


def test_other_held_out_rows_are_another_run(stopped):
    texts = Path(load_run(stopped).recipe.options.path)
    whole = texts.read_text()
    changed = str(load_run(stopped).task().rows("validation")[0].fields["text"])
    texts.write_text(whole.replace(changed, changed + " film plot"))
    try:
        done = commands.loquent(["resume", stopped], stopped.parent)  # in memory are the rows of before
    finally:
        texts.write_text(whole)
    assert done.returncode == 2
    assert "update-6 is refused" in done.stderr
    assert "--from-older" not in done.stderr, "an older one would be refused alike"


def _trainer(run):
    return Trainer(load_run(run).recipe, resuming.newest_policy(RunFolder(run)))


def test_the_rows_of_each_evaluation_are_in_the_state(stopped):
    trainer = _trainer(stopped)
    rows = trainer.held_out_rows()
    assert set(rows) == {"validation", "test"}
    state = checkpoint.load(stopped / "checkpoints" / "update-6")
    assert state["rows"] == rows
    state["rows"]["validation"] = "0" * 16
    with pytest.raises(AnotherRun, match=r"its rows of validation was '0000000000000000' and is"):
        trainer.restore(state)


def test_another_version_of_a_library_is_another_run(stopped):
    state = checkpoint.load(stopped / "checkpoints" / "update-6")
    assert {"loquent", "numpy", "torch", "transformers", "tokenizers", "threads", "cpu"} <= state[
        "machine"
    ].keys()
    state["machine"]["transformers"] = "4.16.1"
    with pytest.raises(AnotherRun, match=r"its transformers was '4\.16\.1' and is"):
        _trainer(stopped).restore(state)


def test_the_model_a_run_began_with_is_not_needed_again(base, tmp_path, monkeypatch):
    whole = train(
        recipes.load(base, ["training.updates=2", "training.stop_metric="]), tmp_path / "base", progress=False
    )
    after = ["model.path=" + str(whole.folder), "training.updates=4", "training.stop_metric="]
    with dying(2):
        train(recipes.load(base, after), tmp_path / "run", progress=False)
    right = train(recipes.load(base, after), tmp_path / "right", progress=False)
    whole.folder.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path.parent)
    assert go_on(tmp_path / "run").fingerprint == right.fingerprint


def test_a_run_without_a_checkpoint_says_that_it_begins_again(base, tmp_path):
    with dying(3):
        train(
            recipes.load(
                base, ["training.checkpoint_every=3", "training.stop_metric=", "training.updates=4"]
            ),
            tmp_path / "run",
            progress=False,
        )
    run = tmp_path / "run"
    shutil.rmtree(run / "checkpoints")
    logged = (run / "metrics.jsonl").read_bytes()
    assert logged
    with pytest.warns(
        Remark, match=r"has no checkpoint yet, so it begins again from update 1; .*metrics\.before\.jsonl"
    ):
        go_on(run)
    assert (run / "metrics.before.jsonl").read_bytes() == logged
    assert len(load_run(run).metrics) == 4


def test_only_one_process_writes_in_a_folder(stopped):
    code = (
        f"import sys; from loquent.files.run_folder import RunFolder\n"
        f"with RunFolder({str(stopped)!r}).alone():\n    print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BadCheckpoint, match=r"another process is writing in .*run now"):
            go_on(stopped)
    finally:
        holder.kill()
        holder.wait()
    go_on(stopped)


ODD = {
    "a byte that is no UTF-8": (
        "metrics.jsonl",
        lambda whole: whole[:40] + b"\xff" + whole[41:],
        r"metrics\.jsonl:1: this line is not what",
    ),
    "a line without an update": (
        "metrics.jsonl",
        lambda whole: b"{}\n" + whole,
        r"metrics\.jsonl:1: this line was not written by the run",
    ),
    "a state that is a list": ("checkpoints/update-6/state.json", lambda whole: b"[]", "torn"),
    "a manifest that is a list": (
        "checkpoints/update-6/manifest.json",
        lambda whole: b"[]",
        r"manifest\.json: it must hold a JSON object \{\.\.\.\}, got \[\]",
    ),
    "a manifest of nothing": (
        "checkpoints/update-6/manifest.json",
        lambda whole: b"{}",
        r"torn: manifest\.json has no seal",
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_is_refused_with_its_place(kind, stopped):
    name, change, told = ODD[kind]
    file = stopped / name
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(BadCheckpoint, match=told):
        go_on(stopped)


def test_a_torn_note_of_the_best_is_named(stopped):
    note = stopped / "checkpoints" / "best.json"
    note.write_text("{")
    with pytest.raises(BadCheckpoint, match=r"best\.json:1: it is not JSON .*`loquent resume"):
        policies.policy_folder(stopped)
    go_on(stopped)
    assert policies.policy_folder(stopped).is_dir()


def test_torn_seconds_do_not_stop_a_run(stopped):
    file = stopped / "timings.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(["{\n", *lines[1:]]))
    with pytest.warns(Remark, match=r"timings\.jsonl:1.*left out"):
        go_on(stopped)


def test_a_new_checkpoint_does_not_rely_on_a_torn_reference(tmp_path):
    import torch

    tensors = {"/actor/reference.a": torch.arange(3.0)}
    name = tensor_files.save_reference(tensors, tmp_path)
    [file] = tmp_path.glob("reference-*.safetensors")
    file.write_bytes(file.read_bytes()[:-4])
    assert tensor_files.save_reference(tensors, tmp_path) == name
    assert torch.equal(
        tensor_files.read_reference(tmp_path, name, "hash")["/actor/reference.a"], torch.arange(3.0)
    )


def test_a_tracker_is_not_asked_for_what_is_no_number(tmp_path, monkeypatch):
    from loquent.files import trackers

    seen = []

    class Sink:
        def __init__(self, run):
            pass

        def log(self, update, values):
            seen.append(values)

    monkeypatch.setitem(trackers.SINKS, "sink", Sink)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trackers.Trackers(("sink",), trackers.Started(tmp_path, "x", {}, 1)).log(
            {"update": 1, "a": 1, "text": "said", "list": [1], "none": None}
        )
    assert seen == [{"a": 1.0}]
