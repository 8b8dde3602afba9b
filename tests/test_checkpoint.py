"""Checkpoints: what is saved comes back equal; what is torn is refused by name."""

import json

import pytest
import torch

from loquent import checkpoint, pretrained
from loquent.errors import BadCheckpoint
from loquent.seeding import Key

STATE = {
    "counters": {"updates": 3, "best": None, "share": 0.25},
    "names": ["a", "b"],
    "actor": {"weight": torch.arange(6.0).reshape(2, 3), "deep": {"steps": torch.tensor(7)}},
    "flags": torch.tensor([True, False]),
}


@pytest.fixture(scope="module")
def language():
    return pretrained.build(["ab ba", "abba"], vocabulary=260, layers=1, width=8, heads=1, context=16, key=Key(0), device="cpu", dtype="float32")


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)
    return a == b


def test_what_is_saved_comes_back(tmp_path, language):
    checkpoint.save(tmp_path / "update-3", language, STATE)
    again = checkpoint.load(tmp_path / "update-3")
    assert equal(again, STATE)
    assert not equal({**again, "names": ["a"]}, STATE)
    assert [path.name for path in tmp_path.iterdir()] == ["update-3"]  # nothing is left aside
    assert not list(tmp_path.rglob("*.pkl")) + list(tmp_path.rglob("*.bin"))


def test_a_checkpoint_replaces_an_older_one(tmp_path, language):
    checkpoint.save(tmp_path / "update-3", language, STATE)
    checkpoint.save(tmp_path / "update-3", language, {"counters": {"updates": 4}})
    assert checkpoint.load(tmp_path / "update-3") == {"counters": {"updates": 4}}


@pytest.mark.parametrize("torn", ["state.json", "state.safetensors"])
def test_a_torn_or_missing_file_is_named(tmp_path, language, torn):
    folder = tmp_path / "update-3"
    checkpoint.save(folder, language, STATE)
    whole = (folder / torn).read_bytes()
    (folder / torn).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadCheckpoint, match="torn"):
        checkpoint.load(folder)
    (folder / torn).unlink()
    with pytest.raises(BadCheckpoint, match="missing"):
        checkpoint.load(folder)


def test_checkpoints_come_in_order_and_half_written_ones_do_not_count(tmp_path):
    for name in ("update-10", "update-9", ".update-11.partial", "update-x"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == ["update-9", "update-10"]


def test_export_is_an_ordinary_folder_that_transformers_alone_loads(tmp_path, language):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    run = tmp_path / "run"
    checkpoint.save(run / "checkpoints" / "update-1", language, {})
    out = checkpoint.export(run, tmp_path / "out")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(out), AutoTokenizer.from_pretrained(out)
    ids = tokenizer("ab ba", return_tensors="pt").input_ids
    assert torch.equal(model(ids).logits, language.module.eval()(ids).logits)
    with pytest.raises(BadCheckpoint, match="not empty"):
        checkpoint.export(run, out)
    with pytest.raises(BadCheckpoint, match="neither a model"):
        checkpoint.export(tmp_path / "nothing", tmp_path / "other")


def test_lines_that_are_not_whole_are_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps({"update": 1}) + '\n{"upda')
    with pytest.raises(BadCheckpoint, match=r"metrics\.jsonl:2"):
        list(checkpoint.read_lines(path))
    assert list(checkpoint.read_lines(tmp_path / "absent.jsonl")) == []
