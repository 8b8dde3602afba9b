"""Damage is never silent: each file of a run, damaged in each way, is refused by name, or what comes out is
right all the same.

One small run is trained for all cases: as it was when it was killed between two checkpoints (`half`), and at
its end (`whole`).
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import sys
import warnings
from pathlib import Path

import pytest
import torch

from helpers.states import same
from loquent.cli import main as cli
from loquent.errors import LoquentError
from loquent.files import manifest
from loquent.files.run_folder import RunFolder
from loquent.report import write_report
from loquent.training import recipes
from loquent.training.keeping import CheckpointKeeper
from loquent.training.resuming import Resumption, newest_policy
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer

training = sys.modules[Trainer.__module__]
WORDS = ("the", "a", "good", "bad", "film", "plot", "was", "is", "and", "never", "dull", "bright")
RECIPE = {
    "model": {"layers": 1, "width": 8, "heads": 1, "vocabulary": 270, "tokenizer_texts": 20, "context": 64},
    "rewards": {"lexicon": {"weight": 1.0, "normalization": "running"}},
    "metrics": {"perplexity": {}},
    "decoding": {"max_new_tokens": 3},
    "algorithm": {"kind": "ppo", "epochs": 1, "minibatch": 4, "learning_rate": 0.003, "kl_target": 0.01},
    "training": {
        "updates": 6, "episodes": 4, "evaluate_every": 2, "evaluate_episodes": 3, "final_episodes": 3,
        "checkpoint_every": 2, "keep": 3,
        "stop_metric": "perplexity", "patience": 99,
    },
}  # fmt: skip
NEWEST = "checkpoints/update-4"


class Killed(BaseException):
    """What ends a run at once."""


class Base:
    """The two runs, a trainer that takes any copy of the first back, and what comes of both when nothing is
    damaged.
    """

    def __init__(self, folder):
        draw, self.folder = random.Random(3), folder
        (folder / "texts.txt").write_text("\n".join(" ".join(draw.choices(WORDS, k=9)) for _ in range(60)))
        task = {"kind": "generation", "source": "path", "path": str(folder / "texts.txt"), "prompt_words": 4}
        (folder / "small.yaml").write_text(json.dumps({**RECIPE, "task": task}))
        self.half, self.whole = folder / "half" / "run", folder / "whole" / "run"
        self._train()
        shutil.copytree(self.half, self.whole)
        train(load_run(self.whole).recipe, self.whole, progress=False, resume=True)
        self.trainer = Trainer(load_run(self.half).recipe, newest_policy(RunFolder(self.half)))
        self.right = {
            name: command(self, shutil.copytree(self.origin(name), folder / "right" / name / "run"))
            for name, command in COMMANDS.items()
        }

    def origin(self, command):
        return self.half if command == "resume" else self.whole

    def _train(self):
        original, rising = training.Trainer.evaluate, iter(range(1, 99))

        def evaluate(trainer, *given, **named):
            found = original(trainer, *given, **named)
            found.values["perplexity"] = float(next(rising))  # the first evaluation is the best
            return found

        def update(trainer):
            if trainer.updates == 5:
                raise Killed
            return inner(trainer)

        inner = training.Trainer.update
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(training.Trainer, "evaluate", evaluate)
            patch.setattr(training.Trainer, "update", update)
            with pytest.raises(Killed):
                train(recipes.load(self.folder / "small.yaml"), self.half, progress=False)


def resume(base, folder):
    """All a run that goes on starts from: the state, and its files (seconds apart)."""
    run = RunFolder(folder)
    with run.alone():
        recipe_of = load_run(folder).recipe.yaml()  # the command reads it first
        Resumption(CheckpointKeeper(base.trainer, run, 3)).resume()
    names = (
        "metrics.jsonl",
        "machine.json",
        "checkpoints/best.json",
        "episodes/update-2.jsonl",
        "episodes/update-4.jsonl",
    )
    return [
        recipe_of,
        base.trainer.state(),
        {name: (folder / name).read_bytes() for name in names},
        sorted(os.listdir(folder / "episodes")),
    ]


def evaluate(base, folder):
    return load_run(folder).evaluate(episodes=1).as_json()


def report(base, folder):
    page = write_report([folder], folder.parent / "page.html").read_text()
    left_out = re.search(r'<section id="left-out">.*?</section>', page, re.DOTALL)
    return page if left_out is None else Told(left_out.group())


def load(base, folder):
    run = load_run(folder)
    return [run.recipe.yaml(), run.metrics, run.evaluation, run.fingerprint]


def show(base, folder):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = cli.main(["show", str(folder / "config.yaml")])
    if code:
        raise LoquentError(err.getvalue())
    return out.getvalue()


class Told(str):
    """A page that says itself what it left out."""


COMMANDS = {"resume": resume, "evaluate": evaluate, "report": report, "load_run": load, "show": show}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Base(tmp_path_factory.mktemp("damage"))


def outcome(base, command, folder, name):
    """None where damage is named or without effect; else what went wrong, in words."""
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        try:
            found = COMMANDS[command](base, folder)
        except (LoquentError, OSError) as error:  # the command line tells both in one line
            told = [part for part in Path(name).parts if part not in ("checkpoints", "episodes")]
            return (
                None if any(part in str(error) for part in told) else f"the error names another file: {error}"
            )
        except Exception as error:  # a traceback
            return f"{type(error).__name__}: {str(error)[:200]}"
    said = " ".join(str(remark.message) for remark in remarks)
    if name == "evaluation.json" and command == "report" and not (folder / name).exists():
        return None if "(not at its end)" in found else "the page does not say that the evaluation is missing"
    if isinstance(found, Told):
        return None if Path(name).name in found else f"the page says something else: {found[:300]}"
    return (
        None if alike(found, base.right[command]) or Path(name).name in said else "another result, in silence"
    )


def alike(one, two):
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(alike, one, two))
    return same(one, two) is None if isinstance(one, dict) else one == two


def lines(change):
    def damage(file):
        found = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(change(found)))

    return damage


def digit(file):
    """One digit another, in the middle."""
    text = bytearray(file.read_bytes())
    places = [i for i, byte in enumerate(text) if byte in b"0123456789"]
    if not places:
        text[len(text) // 2] ^= 1
    else:
        place = places[len(places) // 2]
        text[place] = ord("3") if text[place] != ord("3") else ord("4")
    file.write_bytes(bytes(text))


def linked(file):
    other = file.with_name("other")
    other.write_bytes(file.read_bytes()[::-1])
    file.unlink()
    file.symlink_to(other)


def made_folder(file):
    file.unlink()
    file.mkdir()


DAMAGES = {
    "a line dropped": lines(lambda found: [line for i, line in enumerate(found) if i != len(found) // 2]),
    "a line twice": lines(lambda found: [*found[:1], *found]),
    "a line changed": lines(lambda found: [found[0].replace(b"0", b"7").replace(b"e", b"a"), *found[1:]]),
    "a digit changed": digit,
    "cut in half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "emptied": lambda file: file.write_bytes(b""),
    "removed": lambda file: file.unlink(),
    "a folder": made_folder,
    "a link": linked,
    "a dead link": lambda file: (file.unlink(), file.symlink_to("nowhere")),
    "deep JSON": lambda file: file.write_bytes(b'{"update": ' + b"[" * 100_000),
    "other bytes": lambda file: file.write_bytes(b"\xff\x00\xfe" * 50),
}
FILES = [
    "metrics.jsonl", "timings.jsonl", "episodes/update-2.jsonl", "episodes/update-4.jsonl", "config.yaml",
    "machine.json", "evaluation.json",
    "evaluation_rows.jsonl", "episodes.jsonl", "checkpoints/best.json", "checkpoints/update-2/state.json",
    *(f"{NEWEST}/{name}" for name in ("manifest.json", "state.json", "state.safetensors", "logs.json",
        "policy/config.json",
                                      "policy/model.safetensors", "policy/tokenizer.json")),
]  # fmt: skip


def damaged(base, command, name, change, tmp_path):
    """A copy of the run that a command is tried on, with one file damaged; None where it has no such file."""
    origin = base.origin(command)
    if command != "resume":
        name = name.replace("update-4/", "update-6/")
    if not (origin / name).exists():
        return None, name
    folder = shutil.copytree(origin, tmp_path / command / "run")
    change(folder / name)
    return folder, name


def _cases():
    """Every file with every damage.

    A twelfth of them by default, so that each file and each damage is there.
    """
    for i, name in enumerate(FILES):
        for j, damage in enumerate(DAMAGES):
            yield pytest.param(
                name, damage, id=f"{name}: {damage}", marks=[pytest.mark.slow] if (i + j) % 12 else []
            )


@pytest.mark.parametrize(("name", "damage"), list(_cases()))
def test_no_damage_is_silent(name, damage, base, tmp_path):
    wrong = {}
    for command in COMMANDS:
        folder, own = damaged(base, command, name, DAMAGES[damage], tmp_path)
        if folder is not None and (found := outcome(base, command, folder, own)):
            wrong[command] = found
    if name == "config.yaml":
        # it shows what the file says now
        wrong.pop("show", None) if wrong.get("show") == "another result, in silence" else None
    assert wrong == {}


@pytest.mark.parametrize("damage", ["a digit changed", "removed", "cut in half", "other bytes"])
@pytest.mark.parametrize(
    "name",
    [
        "episodes/update-2.jsonl",
        "machine.json",
        "evaluation.json",
        "episodes.jsonl",
        f"{NEWEST}/logs.json",
        f"{NEWEST}/manifest.json",
    ],
)
def test_a_report_draws_what_it_can_of_a_damaged_run_and_lists_the_rest(name, damage, base, tmp_path):
    folder, name = damaged(base, "report", name, DAMAGES[damage], tmp_path)
    page = report(base, folder)
    if name == "evaluation.json" and damage == "removed":
        assert "(not at its end)" in page
        return
    assert isinstance(page, Told)
    items = re.findall(r"<li>(.*?)</li>", page)
    checkpoint = "checkpoints/update-6"
    if name.startswith("checkpoints"):
        assert f"{checkpoint} is passed over" in items[0]
        assert not any("is missing; " in item and "episodes" in item for item in items)
    else:
        assert any(name in item for item in items)
        assert len(items) == 1


BEST = [
    "update-4",
    "update-99",
    "../run/checkpoints/update-4",
    "/etc",
    "..",
    "",
    "update-4/policy",
    "update--2",
    "update-02",
    4,
    None,
    [1],
    10**30,
]


@pytest.mark.parametrize("named", BEST, ids=map(str, BEST))
def test_the_note_of_the_best_names_no_other_folder(named, base, tmp_path):
    def change(file):
        file.write_text(json.dumps({"checkpoint": named}))

    wrong = {}
    for command in ("resume", "evaluate", "load_run"):
        folder, name = damaged(base, command, "checkpoints/best.json", change, tmp_path)
        if found := outcome(base, command, folder, name):
            wrong[command] = found
    assert wrong == {}


PLACES = {
    "counters/updates": (-5, 10**30, 0, 3, 5, 2.5, "4", True, None),
    "experience/games": (-1, 10**30, 1.5, None),
    "counters/waited": (-1, 10**30, 5, "1"),
    "counters/best": ("x", [], True, 10**400),
    "counters/best_update": (-2, "4", 10**30, 5, "2", "../update-2"),
    "experience/sampler/place": (-1, 10**30, 61, 1.5, None),
    "experience/sampler/size": (-1, 61, 10**30),
    "experience/sampler/epoch": (-1, 10**30, "0"),
    "experience/sampler/drawn": (-5, 10**30),
    "experience/sampler/scale": (-1, "x", [], 10**400),
    "experience/sampler/added": ([{}], "x", [{"id": 1, "fields": {}}], [{"id": "a"}], [[]]),
    "experience/sampler/weights": ([-1], "x", [1], [10**400]),
    "experience/sampler/key/seed": (-1, "x", 1.5),
    "experience/sampler/key/path": ("x", [1.5], [None]),
    "experience/sampler/base/count": (-1, 10**30),
    "algorithm/updates": (-5, 10**30, 0.5, None),
    "algorithm/last_kl": ("x", None, 10**400),
    "algorithm/controller/coefficient": ("x", None, True, 10**400),
    "experience/rewards/lexicon/count": (-1, 10**30, 0.5),
    "experience/rewards/lexicon/squares": (-1.0, "x"),
    "algorithm/optimizer": ([], {"x": {}}, None),
    "actor": ({}, [], None),
}


def _values():
    for place, values in PLACES.items():
        for i, value in enumerate(values):
            yield pytest.param(
                place, value, id=f"{place} = {str(value)[:40]}", marks=[pytest.mark.slow] if i > 1 else []
            )


@pytest.mark.parametrize(("place", "value"), list(_values()))
def test_a_value_out_of_its_range_is_refused_by_its_name(place, value, base, tmp_path):
    """The state is sealed again with another value in it, as a program with a defect would have written
    it.
    """

    def change(file):
        tree = json.loads(file.read_text())
        *path, last = place.split("/")
        part = tree
        for name in path:
            part = part[name]
        part[last] = value
        file.write_text(json.dumps(tree))
        manifest.seal(file.parent)

    folder, _ = damaged(base, "resume", f"{NEWEST}/state.json", change, tmp_path)
    with pytest.raises(LoquentError) as told:
        resume(base, folder)
    if place not in ("algorithm/optimizer", "actor", "sampler/key/seed"):
        assert any(
            name in str(told.value)
            for name in (place.rpartition("/")[2], "update", "weights", "id", "fields", "rows")
        ), told.value


def test_episodes_and_checkpoints_of_another_run_are_refused(base, tmp_path):
    folder = shutil.copytree(base.half, tmp_path / "run")
    shutil.copy(folder / "episodes" / "update-2.jsonl", folder / "episodes" / "update-3.jsonl")
    with pytest.raises(
        LoquentError, match=r"episodes/update-3\.jsonl was not written by this run before update 4"
    ):
        resume(base, folder)
    (folder / "episodes" / "update-3.jsonl").unlink()
    shutil.copytree(folder / NEWEST, folder / "checkpoints" / "update-5")
    with pytest.raises(LoquentError, match=r"update-5 holds the state after update 4"):
        resume(base, folder)


def test_a_reference_that_is_damaged_is_refused(base, tmp_path):
    for damage in ("a digit changed", "cut in half", "removed", "a folder", "a dead link"):
        folder = shutil.copytree(base.half, tmp_path / damage / "run")
        [file] = (folder / "checkpoints").glob("reference-*")
        DAMAGES[damage](file)
        with pytest.raises(LoquentError, match=r"reference-"):
            resume(base, folder)


def test_what_was_written_after_the_checkpoint_is_cut_off(base, tmp_path):
    """The twin of all of the above: a kill's tail is no damage, and the run goes on to the same end."""
    folder = shutil.copytree(base.half, tmp_path / "run")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"update": 6, "tor')
    shutil.copy(folder / "episodes" / "update-4.jsonl", folder / "episodes" / "update-6.jsonl")
    # one file more lies in episodes/
    assert outcome(base, "resume", folder, "nothing") in (None, "another result, in silence")
    train(load_run(folder).recipe, folder, progress=False, resume=True)
    for name in (
        "metrics.jsonl",
        "evaluation.json",
        "episodes.jsonl",
        "episodes/update-6.jsonl",
        "checkpoints/best.json",
    ):
        assert (folder / name).read_bytes() == (base.whole / name).read_bytes(), name


def test_from_older_goes_on_where_the_damage_came_later(base, tmp_path):
    folder = shutil.copytree(base.half, tmp_path / "run")
    lines(lambda found: [*found[:2], found[3]])(folder / "metrics.jsonl")
    with pytest.raises(
        LoquentError, match=r"metrics\.jsonl:3: a line is missing before this one; .*--from-older"
    ):
        resume(base, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(load_run(folder).recipe, folder, progress=False, resume=True, from_older=True)
    assert (
        (folder / "metrics.jsonl")
        .read_bytes()
        .startswith(b"".join((base.half / "metrics.jsonl").read_bytes().splitlines(True)[:3]))
    )
    assert [line["update"] for line in load_run(folder).metrics] == [1, 2, 3, 4, 5, 6]


NAMED = {
    "dropped": (lambda found: found[:1] + found[2:], 2, "a line is missing before this one"),
    "changed": (
        lambda found: [found[0], found[1].replace(b"0", b"1"), *found[2:]],
        2,
        "this line is not what the run wrote",
    ),
    "added": (
        lambda found: [*found[:1], b'{"update": 9}\n', *found[1:]],
        2,
        "this line was not written by the run",
    ),
    "cut": (lambda found: found[:2], 2, "ends after line 2, and 4 were written"),
}


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("name", ["metrics.jsonl", "timings.jsonl"])
def test_the_line_that_differs_is_named(kind, name, base, tmp_path):
    change, number, says = NAMED[kind]
    folder = shutil.copytree(base.half, tmp_path / "run")
    lines(change)(folder / name)
    place = rf"{name}:{number}: {says}" if kind != "cut" else rf"{name} {says}"
    if name == "timings.jsonl":
        with pytest.warns(UserWarning, match=place):
            resume(base, folder)
    else:
        with pytest.raises(LoquentError, match=place):
            resume(base, folder)


def test_the_comparison_can_fail(base, tmp_path):
    folder = shutil.copytree(base.half, tmp_path / "run")
    assert outcome(base, "resume", folder, "metrics.jsonl") is None
    base.right["resume"][1]["experience"]["games"] += 1
    try:
        assert outcome(base, "resume", folder, "metrics.jsonl") == "another result, in silence"
    finally:
        base.right["resume"][1]["experience"]["games"] -= 1
    assert same({"a": torch.zeros(1)}, {"a": torch.ones(1)})
    assert RunFolder(folder).checkpoints.all()
