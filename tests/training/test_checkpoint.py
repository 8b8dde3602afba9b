"""Checkpoints: what is saved comes back equal; what is torn is refused by name."""

import json
import resource

import pytest
import torch
from safetensors.torch import load_file, save_file

from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint, Damaged
from loquent.files import manifest
from loquent.files.run_folder import RunFolder
from loquent.files.run_logs import read_log
from loquent.models.actor import Actor
from loquent.training import checkpoint, policies

STATE = {
    "counters": {"updates": 3, "best": None, "share": 0.25},
    "names": ["a", "b"],
    "actor": {"weight": torch.arange(6.0).reshape(2, 3), "deep": {"steps": torch.tensor(7)}},
    "flags": torch.tensor([True, False]),
}


@pytest.fixture(scope="module")
def language():
    return pretrained.build(
        ["ab ba", "abba"],
        vocabulary=260,
        layers=1,
        width=8,
        heads=1,
        context=16,
        key=Key(0),
        device="cpu",
        dtype="float32",
    )


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
    with pytest.raises(BadCheckpoint, match=f"{torn} is missing"):
        checkpoint.load(folder)


def test_checkpoints_come_in_order_and_half_written_ones_do_not_count(tmp_path):
    for name in ("update-10", "update-9", ".update-11.partial", "update-x"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert [path.name for path in RunFolder(tmp_path).checkpoints.all()] == ["update-9", "update-10"]


def test_export_is_an_ordinary_folder_that_transformers_alone_loads(tmp_path, language):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    run = tmp_path / "run"
    checkpoint.save(run / "checkpoints" / "update-1", language, {})
    out = policies.export(run, tmp_path / "out")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(out), AutoTokenizer.from_pretrained(out)
    ids = tokenizer("ab ba", return_tensors="pt").input_ids
    assert torch.equal(model(ids).logits, language.module.eval()(ids).logits)
    with pytest.raises(BadCheckpoint, match="not empty"):
        policies.export(run, out)
    with pytest.raises(BadCheckpoint, match=r"there is no .*nothing"):
        policies.export(tmp_path / "nothing", tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadCheckpoint, match="neither a model"):
        policies.export(tmp_path / "empty", tmp_path / "other")


def test_lines_that_are_not_whole_are_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps({"update": 1}) + '\n{"upda')
    with pytest.raises(BadCheckpoint, match=r"metrics\.jsonl:2"):
        list(read_log(path))
    assert list(read_log(tmp_path / "absent.jsonl")) == []


@pytest.fixture
def kept(tmp_path, language):
    """Two checkpoints of one actor, whose policy learned between them.

    The folder, the actor and its state at each.
    """
    actor, states = Actor.build(language, critic="network", reference="copy", key=Key(0)), []
    for update in (1, 2):
        with torch.no_grad():
            actor.policy.get_input_embeddings().weight.add_(1.0)
        states.append({name: tensor.clone() for name, tensor in actor.state_dict().items()})
        checkpoint.save(
            tmp_path / f"update-{update}",
            language,
            {"actor": actor.state_dict(), "counters": {"updates": update}},
        )
    return tmp_path, actor, states


def test_each_weight_stands_once(kept):
    folder, actor, states = kept
    [reference] = folder.glob("reference-*.safetensors")
    assert {name.removeprefix("/actor/") for name in load_file(reference)} == {
        name for name in states[0] if name.startswith("reference.")
    }
    for update, state in enumerate(states, 1):
        own = load_file(folder / f"update-{update}" / "state.safetensors")
        assert {name.removeprefix("/actor/") for name in own} == {
            name for name in state if name.startswith("critic.")
        }
        again = checkpoint.load(folder / f"update-{update}")
        assert equal(again, {"actor": state, "counters": {"updates": update}})
        actor.load_state_dict(again["actor"])
    assert not equal(*states)
    assert sorted(path.name for path in folder.iterdir()) == [reference.name, "update-1", "update-2"]


def test_a_policy_that_the_library_saves_otherwise_stands_in_the_state(tmp_path, language):
    state = {"actor": {f"policy.{name}": tensor + 1 for name, tensor in language.module.state_dict().items()}}
    checkpoint.save(tmp_path / "update-1", language, state)
    assert equal(checkpoint.load(tmp_path / "update-1"), state)


def test_a_checkpoint_from_before_there_were_seals_is_refused_and_says_so(kept):
    folder, _, _ = kept
    file = folder / "update-1" / "manifest.json"
    whole = json.loads(file.read_text())
    assert set(whole) == {"files", "seal"}
    for before in (
        whole["files"],
        {"files": whole["files"]},
    ):  # as it was written until now, and with the seal taken off
        file.write_text(json.dumps(before))
        with pytest.raises(
            Damaged,
            match=r"manifest\.json has no seal: an older version of Loquent wrote .*the model can be "
            r"used: name .*policy",
        ):
            checkpoint.load(folder / "update-1")
        with pytest.raises(Damaged, match="has no seal"):
            policies.policy_folder(folder / "update-1")
    file.unlink()
    with pytest.raises(Damaged, match=r"manifest\.json is missing: an older version"):
        checkpoint.load(folder / "update-1")
    assert policies.policy_folder(folder / "update-1" / "policy") == folder / "update-1" / "policy"


@pytest.mark.parametrize("name", ["../update-2/state.json", "/etc/hostname", "policy/../../x", "a\0b"])
def test_a_manifest_names_files_of_its_folder_alone(name, kept):
    folder, _, _ = kept
    file = folder / "update-1" / "manifest.json"
    files = json.loads(file.read_text())["files"] | {name: {"size": 1, "sha256": ""}}
    file.write_text(json.dumps(manifest.add_seal({"files": files})))
    with pytest.raises(Damaged, match=r"manifest\.json is no manifest"):
        checkpoint.load(folder / "update-1")


def test_a_file_the_manifest_does_not_name_is_refused(kept):
    folder, _, _ = kept
    (folder / "update-1" / "policy" / "more.safetensors").write_bytes(b"")
    with pytest.raises(Damaged, match=r"policy/more\.safetensors is in the folder and not in manifest\.json"):
        checkpoint.load(folder / "update-1")


@pytest.mark.parametrize("name", ["../../x", "a" * 31, 7, "g/" * 16, ["a"]])
def test_the_reference_is_named_by_its_hash_alone(name, kept):
    folder, _, _ = kept
    one = folder / "update-1"
    tree = json.loads((one / "state.json").read_text())
    (one / "state.json").write_text(json.dumps({**tree, "reference hash": name}))
    manifest.seal(one)
    with pytest.raises(Damaged, match=r"reference hash is .*32 hexadecimal digits"):
        checkpoint.load(one)


def test_a_reference_that_is_gone_or_another_is_refused(kept):
    folder, _, _ = kept
    [reference] = folder.glob("reference-*.safetensors")
    tensors = load_file(reference)
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, reference)
    with pytest.raises(BadCheckpoint, match=r"reference-.* has other weights"):
        checkpoint.load(folder / "update-2")
    reference.write_bytes(reference.read_bytes()[:100])
    with pytest.raises(BadCheckpoint, match="torn"):
        checkpoint.load(folder / "update-2")
    reference.unlink()
    with pytest.raises(BadCheckpoint, match=r"reference-.* is missing"):
        checkpoint.load(folder / "update-2")


@pytest.mark.parametrize("room", [100, 5_000, 30_000])
def test_a_checkpoint_that_cannot_be_written_leaves_the_older_ones(kept, language, room):
    folder, actor, states = kept
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises((BadCheckpoint, OSError)) as caught:
            checkpoint.save(
                folder / "update-2", language, {"actor": actor.state_dict(), "more": torch.zeros(10_000)}
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "File too large" in str(caught.value)
    assert not list(folder.glob(".*")), "what was half written is gone, and its room is free"
    assert equal(checkpoint.load(folder / "update-2")["actor"], states[1])
    checkpoint.save(folder / "update-3", language, {"actor": actor.state_dict()})
    assert equal(checkpoint.load(folder / "update-3")["actor"], states[1])


def test_a_policy_that_was_replaced_is_refused(kept):
    folder, _, states = kept
    file = folder / "update-1" / "policy" / "model.safetensors"
    whole = file.read_bytes()
    other = (folder / "update-2" / "policy" / "model.safetensors").read_bytes()
    file.write_bytes(other)
    with pytest.raises(BadCheckpoint, match=r"policy/model.safetensors is not what was written"):
        checkpoint.load(folder / "update-1")
    manifest.seal(folder / "update-1")
    with pytest.raises(BadCheckpoint, match="policy/ has other weights"):
        checkpoint.load(folder / "update-1")
    file.write_bytes(whole)
    manifest.seal(folder / "update-1")
    assert equal(checkpoint.load(folder / "update-1")["actor"], states[0])


def test_the_rest_is_read_without_the_reference(kept):
    folder, _, states = kept
    next(folder.glob("reference-*")).unlink()
    again = checkpoint.load(folder / "update-1", reference=False)
    assert equal(
        again["actor"],
        {name: tensor for name, tensor in states[0].items() if not name.startswith("reference.")},
    )
