"""The folder of a judge: card, hashes, kinds, and the cache."""

import json

import numpy as np
import pytest

from loquent.errors import BadSetting
from loquent.files.manifest import add_seal
from loquent.metrics.judges import card

ARRAYS = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.array([2, 1])}


@pytest.fixture
def folder(tmp_path):
    card.save(tmp_path / "judge", "layers", {"role": "judge", "missing": float("nan")}, ARRAYS)
    return tmp_path / "judge"


def test_a_judge_comes_back_with_its_card(folder):
    content, arrays = card.load(folder, "layers", "advice")
    assert (content["role"], content["missing"], content["format"]) == ("judge", None, card.FORMAT)
    assert list(content["files"]) == [card.WEIGHTS]
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def changed(folder, **changes):
    (folder / card.CARD).write_text(json.dumps(add_seal(card.read(folder, None, "") | changes)))


DAMAGES = {
    "changed array": (
        lambda f: (f / card.WEIGHTS).write_bytes(b"x"),
        r"weights.safetensors is not what was written \(its SHA-256 differs\)",
    ),
    "no array": (lambda f: (f / card.WEIGHTS).unlink(), "weights.safetensors is missing"),
    "changed card": (lambda f: (f / card.CARD).write_text('{"kind": "layers", "format": 1}'), "no seal"),
    "no JSON": (lambda f: (f / card.CARD).write_text("{"), "card.json"),
    "no card": (lambda f: (f / card.CARD).unlink(), "card.json"),
    "other kind": (
        lambda f: changed(f, kind="linear"),
        "kind and format are 'linear' and 1; layers and 1",
    ),
    "other format": (lambda f: changed(f, format=2), "kind and format are 'layers' and 2"),
    "no hashes": (lambda f: changed(f, files={}), "lacks the hashes"),
    "outside": (
        lambda f: changed(f, files={"../../secret": "0"}),
        "card.json names '../../secret', which is outside the folder",
    ),
    "absolute": (
        lambda f: changed(f, files={"/secret": "0"}),
        "names '/secret', which is outside the folder",
    ),
    "a folder": (lambda f: changed(f, files={".": "0"}), "judge is missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_named(folder, damage):
    harm, message = DAMAGES[damage]
    harm(folder)
    with pytest.raises(BadSetting, match=f"(?s){message}.*; the advice"):
        card.load(folder, "layers", "the advice")


def test_a_folder_of_links_is_read_as_the_cache_of_hugging_face_has_it(folder):
    blobs = folder.parent / "blobs"
    blobs.mkdir()
    for file in list(folder.iterdir()):
        file.rename(blobs / file.name)
        file.symlink_to(blobs / file.name)
    assert card.load(folder, "layers", "advice")[1].keys() == ARRAYS.keys()
    (blobs / card.WEIGHTS).unlink()
    with pytest.raises(BadSetting, match=r"weights\.safetensors is missing"):
        card.load(folder, "layers", "advice")


def test_weights_that_are_not_finite_are_refused(tmp_path):
    card.save(tmp_path / "judge", "layers", {}, {"a": np.array([np.inf])})
    with pytest.raises(BadSetting, match="not finite"):
        card.load(tmp_path / "judge", "layers", "")


def test_a_cache_makes_a_judge_once_and_again_after_damage(tmp_path):
    made, folder = [], tmp_path / "cache" / "judge-1"

    def make():
        made.append(1)
        return ARRAYS

    def judge():
        return card.load_or_make(
            folder,
            lambda place: card.load(place, "arrays", "")[1],
            make,
            lambda place, arrays: card.save(place, "arrays", {}, arrays),
        )

    assert [judge()["b"].tolist() for _ in range(3)] == [[2, 1]] * 3
    assert len(made) == 1
    (folder / card.WEIGHTS).write_bytes(b"")
    judge()
    assert len(made) == 2
    assert [path.name for path in folder.parent.iterdir()] == ["judge-1"]


def test_a_cache_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(OSError, match="cache"):
        card.load_or_make(
            tmp_path / "cache" / "judge",
            lambda place: card.load(place, "arrays", ""),
            lambda: ARRAYS,
            lambda place, arrays: card.save(place, "arrays", {}, arrays),
        )
