"""A session whose files were damaged: refused by the name of the file, or it becomes the session it was."""

import json
import shutil
import warnings

import pytest

from helpers.bench.annotation import annotated, begun, state, written
from loquent.bench.annotation.session import Session
from loquent.errors import LoquentError
from loquent.files import manifest


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A session of three annotated samples, with corrections begun on the fourth."""
    folder = tmp_path_factory.mktemp("session")
    one = begun(folder)
    annotated(one, 3)
    one.keep_draft(one.pending, ("vowel",) * len(one.pending["tokens"]))
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path


DAMAGES = {
    "a line dropped": lambda text: b"".join(text.splitlines(True)[1:]),
    "a line twice": lambda text: b"".join([*text.splitlines(True)[:1], text]),
    "a word changed": lambda text: (
        text.replace(b"vowel", b"other", 1).replace(b'"a"', b'"e"', 1).replace(b"1", b"2", 1)
    ),
    "emptied": lambda text: b"",
    "cut in half": lambda text: text[: len(text) // 2],
    "deep": lambda text: b'{"id": ' + b"[" * 100_000 + b"\n",
    "another thing": lambda text: b"[3]\n" * 3,
    "other values": lambda text: b'{"id": "abc", "fields": 3, "given": [1], "update": -1}\n' * 3,
}
FILES = ("samples.jsonl", "annotations.jsonl", "draft.json", "machine.json", "metrics.jsonl", "config.yaml")


def told(folder, name, right):
    """What a session says of its damage.

    Where it says nothing, what is wrong with it, or the file's name for what is right.
    """
    try:
        again = Session(written(folder), folder / "session")
        draft = again.draft(again.pending)
    except LoquentError as error:
        return str(error)
    if (
        name != "draft.json"
        or state(folder) != right
        or len(draft or ()) not in (0, len(again.pending["tokens"]))
    ):
        return "taken in silence"
    return name


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_of_a_session_is_silent(damage, copy, whole):
    right = state(whole)
    for name in FILES:
        file = copy / "session" / name
        text = file.read_bytes()
        file.write_bytes(DAMAGES[damage](text))
        if file.read_bytes() != text:
            assert name in told(copy, name, right)
        shutil.rmtree(copy / "session")
        shutil.copytree(whole / "session", copy / "session")


VALUES = {
    ("algorithm", "learner", "counters", "num_timesteps"): (-5, 10**30, 0.5, None),
    ("algorithm", "learner", "counters", "_n_updates"): (-1, "3"),
    ("algorithm", "table", "dealt"): (-1, 10**30, 0),
    ("algorithm", "table", "games"): ([{}], "x", None),
    ("counters", "updates"): (-5, 10**30, 2),
    ("experience", "sampler", "place"): (-1, 10**30),
}


@pytest.mark.parametrize("place", VALUES, ids="/".join)
def test_a_value_out_of_its_range_is_refused_by_its_name(place, copy):
    folder = copy / "session" / "checkpoints" / "update-3"
    tree = (folder / "state.json").read_text()
    for value in VALUES[place]:
        changed = json.loads(tree)
        part = changed
        for name in place[:-1]:
            part = part[name]
        part[place[-1]] = value
        (folder / "state.json").write_text(json.dumps(changed))
        manifest.seal(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(LoquentError) as error:
                Session(written(copy), copy / "session")
        assert any(name in str(error.value) for name in (place[-1], "number", "row", "update", "games")), (
            error.value
        )
