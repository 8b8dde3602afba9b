"""Local folders in the hub's format are read without a network, whatever their cards name."""

import socket
from importlib.util import find_spec

import pytest

from loquent.data.sources import Source, load
from loquent.errors import BadSetting

# not imported here: that takes seconds, which every process of the tests would spend
pytestmark = pytest.mark.skipif(find_spec("datasets") is None, reason="datasets is not installed")
OUTSIDE = [
    "ftp://127.0.0.1:9/x.jsonl",
    "http://127.0.0.1:9/x.jsonl",
    "hf://datasets/a/b/x.jsonl",
    "zip://x.jsonl::ftp://127.0.0.1:9/x.zip",
    "/etc/hostname",
    "../other/x.jsonl",
    "a/../../x.jsonl",
    "file:///etc/hostname",
]


def folder(path, card, name="README.md"):
    path.mkdir(exist_ok=True)
    (path / "x.jsonl").write_text('{"text": "a film", "label": 1}\n{"text": "a play", "label": 0}\n')
    (path / name).write_text(f"---\n{card}\n---\n# Rows\n" if name.endswith(".md") else card)
    return Source(kind="hub", name=str(path))


@pytest.mark.parametrize("name", ["README.md", ".huggingface.yaml"])
@pytest.mark.parametrize("place", OUTSIDE)
def test_a_card_that_names_what_lies_outside_is_refused(tmp_path, monkeypatch, name, place):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: pytest.fail("a socket"))
    for value in (f'"{place}"', f'[{{split: train, path: "{place}"}}]', f'{{train: ["x.jsonl", "{place}"]}}'):
        source = folder(tmp_path / "rows", f"configs:\n- config_name: default\n  data_files: {value}", name)
        with pytest.raises(BadSetting, match="configs names") as error:
            load(source)
        assert place in str(error.value)


@pytest.mark.parametrize("card", ["configs: [", "- 1", "configs:\n- &a [*a, 'ftp://h/x']"])
def test_a_card_that_is_broken_or_hides_an_address_is_refused(tmp_path, card):
    with pytest.raises(BadSetting, match="rows"):
        load(folder(tmp_path / "rows", card))


def test_a_card_that_names_its_own_files_is_read(tmp_path):
    card = "license: mit\nconfigs:\n- config_name: default\n  data_files: [{split: train, path: x.jsonl}]"
    rows = load(folder(tmp_path / "rows", card))
    assert sum(map(len, rows.values())) == 2


def test_columns_of_pictures_are_left_out_unopened(tmp_path):
    card = (
        "dataset_info:\n  features:\n  - {name: text, dtype: string}\n  - {name: label, dtype: int64}\n"
        "  - {name: picture, dtype: image}"
    )
    source = folder(tmp_path / "rows", card)
    lines = '{"text": "a film", "label": 1, "picture": {"path": "ftp://127.0.0.1:9/x.png", "bytes": null}}\n'
    (tmp_path / "rows" / "x.jsonl").write_text(lines * 3)
    rows = load(source)
    found = [row for part in rows.values() for row in part]
    assert {row["text"] for row in found} == {"a film"}
    assert not any("picture" in row for row in found)
