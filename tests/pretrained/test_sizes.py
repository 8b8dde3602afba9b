"""Absurd sizes in a config are refused by the memory they would need, before anything is allocated."""

import json
import resource

import pytest
import torch
import transformers

from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadModel, NotEnoughMemory
from loquent.files.machine import memory
from loquent.pretrained import sizes

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("sizes") / "model"
    small = {"vocabulary": 260, "layers": 1, "width": 8, "heads": 1, "context": 16}
    pretrained.save(pretrained.build(["a b"], key=Key(0, ("model",)), device="cpu", **small), place)
    return place


ABSURD = {
    "layers": ({"n_layer": 1000, "n_embd": 65536}, r"n_layer = 1,000"),
    "width": ({"n_embd": 10**7}, r"n_embd = 10,000,000"),
    "rows": ({"vocab_size": 10**12}, r"vocab_size = 1,000,000,000,000"),
    "positions": ({"n_positions": 10**11, "n_embd": 64}, r"n_positions = 100,000,000,000"),
    "inner": ({"n_inner": 10**12}, r"n_inner = 1,000,000,000,000"),
}


@pytest.mark.parametrize("kind", ABSURD)
@pytest.mark.parametrize("load", [pretrained.load, pretrained.load_encoder, pretrained.load_classifier])
def test_absurd_sizes_name_file_key_and_memory(model, tmp_path, kind, load):
    entries, why = ABSURD[kind]
    place = tmp_path / "model"
    place.mkdir()
    for file in model.iterdir():
        (place / file.name).symlink_to(file)
    (place / "config.json").unlink()
    (place / "config.json").write_text(
        json.dumps({**json.loads((model / "config.json").read_text()), **entries})
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    needs = rf"config\.json: .*{why}.* needs [\d,.]+ GiB in float32, and [\d.]+ GiB are free"
    with pytest.raises(NotEnoughMemory, match=needs):
        load(str(place))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


def test_sizes_far_beyond_the_weights_are_refused_before_memory_is_taken(model):
    config = transformers.AutoConfig.from_pretrained(model)
    config.vocab_size = 1 << 26  # two GiB, which may be free
    kind, stored = transformers.AutoModelForCausalLM, (model / "model.safetensors").stat().st_size
    with pytest.raises(BadModel, match=r"vocab_size = 67,108,864.* but the weights have only .* KiB"):
        sizes.check(kind, config, "config.json", torch.float32, CPU, stored)


def test_new_networks_of_absurd_sizes_are_refused():
    with pytest.raises(NotEnoughMemory, match=r"n_embd = 1,000,000"):
        pretrained.build(["a b"], key=Key(0), device="cpu", width=10**6, vocabulary=260)


KINDS = {
    "gpt2": (transformers.AutoModelForCausalLM, {}),
    "t5": (transformers.AutoModelForSeq2SeqLM, {}),
    "bart": (transformers.AutoModelForSeq2SeqLM, {"decoder_layers": 80}),
    "albert": (transformers.AutoModel, {"num_hidden_layers": 90}),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_memory_of_deep_networks_is_counted_exactly(name):
    kind, more = KINDS[name]
    config = transformers.AutoConfig.for_model(name, **more)
    if not more:
        config.num_hidden_layers = 70
    with torch.device("meta"):
        whole = kind.from_config(config, trust_remote_code=False)
    size = sum(p.numel() * 4 for p in whole.parameters()) + sum(b.nbytes for b in whole.buffers())
    assert sizes.bytes_needed(kind, config, torch.float32, 1 << 40) == size


def test_a_network_that_fits_is_not_built_twice(model, monkeypatch):
    monkeypatch.setattr(sizes, "bytes_needed", lambda *_: 1 / 0)
    assert pretrained.load(model).vocabulary


def test_the_free_memory_of_the_moment_counts(monkeypatch):
    config = transformers.GPT2Config()
    kind = transformers.AutoModelForCausalLM
    need = sizes.bytes_needed(kind, config, torch.float32, 1 << 40)
    assert need == 124_439_808 * 4
    monkeypatch.setattr(sizes, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: need)
    sizes.check(kind, config, "x", torch.float32, CPU)
    monkeypatch.setattr(memory, "available", lambda: need - 1)
    with pytest.raises(NotEnoughMemory, match=r"0\.46|475 MiB"):
        sizes.check(kind, config, "x", torch.float32, CPU)


ODD = [{"n_head": 3}, {"n_embd": 8.5}, {"n_embd": True}, {"n_layer": "4"}, {"n_layer": -1}, {"vocab_size": 0}]


@pytest.mark.parametrize("entries", ODD, ids=str)
def test_sizes_that_fit_no_network_are_errors_of_ours(model, tmp_path, entries):
    place = tmp_path / "model"
    place.mkdir()
    for file in model.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    change = {**json.loads((model / "config.json").read_text()), **entries}
    (place / "config.json").write_text(json.dumps(change))
    with pytest.raises(BadModel, match=str(place)):
        pretrained.load(place)
