"""Dialogues and images from files: VisDial v0.5 and v1.0, HDF5 and numpy, recorded progress."""

import gzip
import json

import numpy as np
import pytest

import loquent
from loquent import Key
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, BrokenAgent, UnknownName
from loquent.tasks.dialogue.sources import visdial

RECORDED = "dialogue/recorded"
ROUNDS = [{"question": f"q{i}", "answer": "yes" if i == 0 else f"a{i}"} for i in range(10)]
OLD = [{"caption": f"caption {i}", "dialog": ROUNDS} for i in range(4)]
NEW = {
    "version": "1.0",
    "split": "val2018",
    "data": {
        "questions": ["is it red", "what is it"],
        "answers": ["no", "a bus"],
        "dialogs": [
            {
                "image_id": 7,
                "caption": "a street",
                "dialog": [
                    {"question": 1, "answer": 1, "answer_options": [0, 1, 1], "gt_index": 1},
                    {"question": 0, "answer_options": [0, 1]},
                ],
            }
        ],
    },
}


def write(folder, name, value):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value))
    return folder


def world(path, **options):
    return loquent.task("dialogue", source="visdial", path=str(path), **options)


@pytest.fixture
def folder(tmp_path):
    """Dialogues, images and recorded progress of two splits."""
    home = tmp_path / "files"
    home.mkdir()
    write(home / "visdial", "visdial_0.5_train.json", OLD)
    write(home / "visdial", "visdial_0.5_val.json", OLD[:2])
    for name, count in (("train", 4), ("val", 2)):
        write(home / "progress", f"{name}_rank_reward_cache1.json", [[0.6, *[0.05] * 10]] * count)
    return home


def test_the_old_form(folder):
    task = world(folder / "visdial")
    assert [len(task.rows(split)) for split in ("train", "validation")] == [4, 2]
    row = task.rows("train")[1]
    assert (row.id, row["caption"], row["image"], row["file"]) == ("train-1", "caption 1", 1, "train")
    assert row["dialog"][0] == ("q0?", "yes")
    with pytest.raises(UnknownName, match="test"):
        task.rows("test")


def test_the_new_form_without_its_candidates(tmp_path):
    path = tmp_path / "visdial_1.0_val.json.gz"
    path.write_bytes(gzip.compress(json.dumps(NEW, indent=2).encode()))
    [dialogue] = visdial.read(path)
    expected = {"caption": "a street", "image_id": 7, "dialog": (("what is it?", "a bus"),)}
    assert dialogue == expected, "the last round of the test file has no answer"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{", "cannot be read as JSON"),
        (3, r"must be a list \[...\] or an object \{...\}, got 3"),
        ([3], r"dialogues\[0\] must be an object \{...\}, got 3"),
        ([{"caption": 3}], r"dialogues\[0\].caption must be a text, got 3"),
        ([{"caption": "a", "dialog": [3]}], r"dialogues\[0\].dialog\[0\] must be an object"),
        ([{"caption": "a", "dialog": [{"question": 5, "answer": "b"}]}], "round 0: question is 5"),
        ([{"caption": "a", "dialog": [{"question": "c", "answer": " "}]}], "round 0: answer is ' '"),
        ({**NEW, "data": {**NEW["data"], "questions": 5}}, "questions must be a list"),
        ({**NEW, "data": {**NEW["data"], "answers": "abc"}}, "answers must be a list"),
        (
            [{"caption": "a", "dialog": [], "image_id": {"a": 1}}],
            r"dialogues\[0\].image_id must be a text or an integer or null",
        ),
        (
            [{"caption": "a", "dialog": [], "image_id": [1]}],
            r"dialogues\[0\].image_id must be a text or an integer or null",
        ),
    ],
)
def test_bad_files_are_named(tmp_path, value, words):
    path = tmp_path / "train.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(BadRow, match=words) as error:
        visdial.read(path)
    assert "train.json" in str(error.value)


def test_a_number_outside_the_lists(tmp_path):
    value = json.loads(json.dumps(NEW))
    value["data"]["dialogs"][0]["dialog"][0]["answer"] = 9
    with pytest.raises(BadRow, match="round 0: answer is 9"):
        visdial.read(next(write(tmp_path / "a", "train.json", value).iterdir()))


def test_recorded_dialogues_are_replayed_with_their_rewards(folder):
    seats = {"answerer": RECORDED, "judge": RECORDED, "progress": str(folder / "progress")}
    task = world(folder / "visdial", **seats)
    [game] = play(task, games(task.rows("validation")[:1]), make(RECORDED, task), seed=0, split="validation")
    asked = [turn for turn in game.turns if turn.seat == "agent"]
    assert [turn.text for turn in asked] == ["q0?", "q1?", "q2?", "q3?"], "4 x .05 close half of .4"
    weights = Record(turn=1.0, yes_no=-2.0)
    assert [task.total(turn.rewards, weights) for turn in asked] == [-3, -1, -1, 0]
    assert game.ended == "found"


def test_answers_keep_their_spaces_for_the_reward(tmp_path):
    """The released rule compares the answer of the file with "yes": "yes " is not equal."""
    rounds = [{"question": " is it?", "answer": answer} for answer in ("yes ", "yes", " no", "No")]
    write(tmp_path / "visdial", "train.json", [{"caption": "a", "dialog": rounds}])
    write(tmp_path / "progress", "train_rank_reward_cache1.json", [[0.0, *[0.25] * 4, *[0.0] * 6]])
    seats = {"answerer": RECORDED, "judge": RECORDED, "progress": str(tmp_path / "progress")}
    task = world(tmp_path / "visdial" / "train.json", yes_no="hard", percentile=1.0, **seats)
    assert task.rows("train")[0]["dialog"][0] == ("is it?", "yes ")
    [game] = play(task, games(task.rows("train")), make(RECORDED, task), seed=0, split="train")
    assert [turn.rewards["yes_no"] for turn in game.turns if turn.seat == "agent"] == [0.0, 1.0, 0.0, 1.0]


def test_eleven_episodes_of_a_dialogue_stop_at_every_prefix(folder):
    seats = {"answerer": RECORDED, "judge": RECORDED, "progress": str(folder / "progress")}
    task = world(folder / "visdial", mode="agent_stops", **seats)
    queue = games(task.rows("validation")[:1], each=11)
    ended = play(task, queue, make({"kind": RECORDED, "stops": True}, task), seed=0, split="validation")
    asked = [[turn.text for turn in game.turns if turn.seat == "agent"] for game in ended]
    recorded = [f"q{number}?" for number in range(10)]
    assert asked == [*([*recorded[:number], "<stop>"] for number in range(10)), recorded]


def test_recordings_answer_recorded_questions_only(folder):
    task = world(folder / "visdial", answerer=RECORDED, judge=RECORDED, progress=str(folder / "progress"))
    asker = make({"kind": "dialogue/list", "questions": ("what?",)}, task)
    with pytest.raises(BrokenAgent, match=r"'what\?' was asked.*task.answerer"):
        play(task, games(task.rows("train")[:1]), asker, seed=0)


def test_built_in_seats_refuse_other_images(folder):
    task = world(folder / "visdial")
    with pytest.raises(BadSetting, match="built-in scenes only"):
        play(task, games(task.rows("train")[:1]), make(RECORDED, task), seed=0)


def test_progress_of_another_length_is_refused(folder):
    write(folder / "progress", "train_rank_reward_cache1.json", [[0.6]])
    with pytest.raises(BadSetting, match="it has 1 entries; it must have one for each of 4"):
        world(folder / "visdial", progress=str(folder / "progress")).rows("train")
    write(folder / "progress", "train_rank_reward_cache1.json", [[0.6] * 3] * 4)
    with pytest.raises(BadRow, match=r"entries\[0\]"):
        world(folder / "visdial", progress=str(folder / "progress")).rows("train")
    for number in ("1e999", "NaN", "1" * 400, "true"):
        text = json.dumps([[0.6] * 11] * 4).replace("0.6", number, 1)
        (folder / "progress" / "train_rank_reward_cache1.json").write_text(text)
        with pytest.raises((BadRow, BadSetting), match="train_rank_reward_cache1"):
            world(folder / "visdial", progress=str(folder / "progress")).rows("train")


def test_a_folder_without_a_file_for_each_split(tmp_path):
    write(tmp_path / "a", "other.json", OLD)
    with pytest.raises(BadSetting, match="train, val or test in its name"):
        world(tmp_path / "a").rows("train")
    write(tmp_path / "a", "train.json", OLD)
    write(tmp_path / "a", "visdial_train.json", OLD)
    with pytest.raises(BadSetting, match="both hold the split 'train'"):
        world(tmp_path / "a").rows("train")
    with pytest.raises(BadSetting, match="no such file"):
        world(tmp_path / "b").rows("train")


# images


@pytest.mark.parametrize("form", ["hdf5", "npy"])
def test_images_of_files(folder, form):
    features = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32) * 7
    if form == "hdf5":
        h5py = pytest.importorskip("h5py")
        path = folder / "images.h5"
        with h5py.File(path, "w") as file:
            file["images_train"] = features
    else:
        path = folder / "images"
        path.mkdir()
        np.save(path / "images_train.npy", features)
    task, raw = (world(folder / "visdial", images=str(path), normalise=n) for n in (True, False))
    row = task.rows("train")[2].fields
    np.testing.assert_array_equal(raw.image(row), features[2])
    np.testing.assert_allclose(task.image(row), features[2] / np.linalg.norm(features[2]), rtol=1e-6)
    with pytest.raises(BadSetting, match="images_val"):
        task.image(task.rows("validation")[0].fields)


def npy(descr, shape, content=b""):
    """A .npy file that claims a type and a shape."""
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    head = head.ljust(118 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + content


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not an array of numbers"),
        (b"\x93NUMPY\x01\x00", "not an array of numbers"),
        (npy("<f4", (4, 10**11)), "not an array of numbers"),
        (npy("<f4", (4, 8), b"x"), "not an array of numbers"),
        (npy("<f4", (4, 0)), "not an array of numbers|shape"),
        (npy([("a", "<f4")], (4, 2), bytes(32)), "not an array of numbers but of"),
        (npy("<c8", (4, 2), bytes(64)), "not an array of numbers but of complex64"),
        (npy("<M8[s]", (4, 2), bytes(64)), "not an array of numbers but of datetime64"),
    ],
)
def test_odd_arrays_are_refused(folder, content, words):
    path = folder / "images"
    path.mkdir()
    (path / "images_train.npy").write_bytes(content)
    task = world(folder / "visdial", images=str(path))
    with pytest.raises(BadSetting, match=words):
        task.image(task.rows("train")[0].fields)


@pytest.mark.parametrize(
    "kind", ["huge", "soft link", "external link", "external file", "virtual", "group", "complex"]
)
def test_hdf5_files_hold_their_numbers_themselves(folder, kind):
    h5py = pytest.importorskip("h5py")
    path, other = folder / "images.h5", folder / "other.h5"
    with h5py.File(other, "w") as file:
        file["images_train"] = np.ones((4, 6), np.float32)
    (folder / "raw").write_bytes(bytes(96))
    with h5py.File(path, "w") as file:
        if kind == "huge":
            file.create_dataset("images_train", shape=(4, 10**11), dtype="f4", chunks=(1, 1024))
        elif kind == "soft link":
            file["images_train"] = h5py.SoftLink("/nothing")
        elif kind == "external link":
            file["images_train"] = h5py.ExternalLink(str(other), "images_train")
        elif kind == "external file":
            places = [(str(folder / "raw"), 0, 96)]
            file.create_dataset("images_train", shape=(4, 6), dtype="f4", external=places)
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape=(4, 6), dtype="f4")
            layout[:] = h5py.VirtualSource(str(other), "images_train", shape=(4, 6))
            file.create_virtual_dataset("images_train", layout)
        elif kind == "group":
            file.create_group("images_train")
        else:
            file["images_train"] = np.ones((4, 6), np.complex64)
    task = world(folder / "visdial", images=str(path))
    words = {"huge": "shape", "complex": "not an array of numbers but of complex64"}
    with pytest.raises(BadSetting, match=words.get(kind, "images_train")):
        task.image(task.rows("train")[0].fields)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 6)), r"shape \[3, 6\].*4 dialogues"),
        (np.zeros(4), r"shape \[4\]"),
        (np.full((4, 2), np.nan), "finite"),
        (np.array(["a"] * 4), "not an array of numbers"),
        (np.array([{}] * 4), "not an array of numbers"),
    ],
)
def test_bad_images_are_refused(folder, array, words):
    path = folder / "images"
    path.mkdir()
    np.save(path / "images_train.npy", array, allow_pickle=True)
    task = world(folder / "visdial", images=str(path))
    with pytest.raises(BadSetting, match=words):
        task.image(task.rows("train")[0].fields)


def test_a_file_that_is_no_hdf5(folder):
    pytest.importorskip("h5py")
    (folder / "images.h5").write_text("no")
    task = world(folder / "visdial", images=str(folder / "images.h5"))
    with pytest.raises(BadSetting, match="cannot be read"):
        task.image(task.rows("train")[0].fields)


def test_rows_of_ones_own_bring_their_features():
    task = loquent.task("dialogue")
    row = task.row_from({"caption": "a dog ; the dog is brown", "features": (0.5,) * 64})
    assert task.image(row.fields).tolist() == [0.5] * 64
    assert task.start(row, Key(0)).observation.text == "a dog ; the dog is brown\n"
    assert task.row_from({"caption": "a", "file": "test", "image": 999})["image"] == 999


SCENE = {"caption": "a", "file": "test", "image": 0}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"caption": 3}, "caption"),
        ({"caption": "x"}, "file"),
        ({"caption": "x", "features": ("a",)}, "features"),
        ({"caption": "x", "features": (float("nan"),) * 64}, "features"),
        ({"caption": "x", "features": ()}, "features"),
        ({**SCENE, "image": 10**6}, "image"),
        ({**SCENE, "image": -1}, "image"),
        ({**SCENE, "image": True}, "image"),
        ({**SCENE, "file": "elsewhere"}, "file"),
        ({**SCENE, "subject": "zzz", "values": (0,) * 5}, "subject"),
        ({**SCENE, "subject": "dog", "values": (0, 9, 0, 0, 0)}, "values"),
        ({**SCENE, "subject": "dog"}, "values"),
        ({**SCENE, "dialog": ("a",)}, "dialog"),
        ({**SCENE, "progress": (0.5,)}, "progress"),
    ],
)
def test_rows_of_ones_own_are_checked(fields, name):
    with pytest.raises(BadRow, match=f"^{name} is .*; it must be"):
        loquent.task("dialogue").row_from(fields)


def test_features_of_ones_own_are_scaled_as_those_of_the_file(folder):
    features = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32) * 7
    np.save(folder / "images_train.npy", features)
    task, raw = (world(folder / "visdial", images=str(folder), normalise=n) for n in (True, False))
    fields = {"features": tuple(features[2].tolist())}
    np.testing.assert_allclose(task.image(fields), task.features("train")[2], rtol=1e-6)
    np.testing.assert_array_equal(raw.image(fields), features[2])
    stored = task.features("train")[2]
    np.testing.assert_array_equal(task.image({"features": tuple(stored.tolist())}), stored)


def test_a_judge_s_pool_is_a_file_of_the_source(tmp_path):
    write(tmp_path, "train.json", OLD)
    np.save(tmp_path / "images_train.npy", np.eye(4, 6, dtype=np.float32))
    task = world(tmp_path / "train.json", images=str(tmp_path))
    with pytest.raises(
        BadSetting, match=r"pool = 'validation': the dialogues are of the files train; set pool"
    ):
        task.pool("validation")
    assert task.pool("train").percentile(np.eye(4, 6)[0], np.eye(4, 6)[0]) == 1 - 1 / 5


@pytest.mark.data
def test_the_real_dialogues_are_read(beside):
    task = world(beside / "data/visdial_v1.0", answerer=RECORDED, judge=Record(kind="dialogue/guesser"))
    assert [len(task.rows(split)) for split in ("train", "validation", "test")] == [100, 30, 35]
    row = task.rows("test")[0]
    assert row["caption"] == "a man walks down the street, pass a yellow fire hydrant"
    assert (len(row["dialog"]), row["dialog"][0][0]) == (10, "is this man young?")
    assert sum(len(row["dialog"]) for row in task.rows("train")) == 1000
