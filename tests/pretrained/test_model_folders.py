"""Model folders from strangers: none of their code runs, no pickle is read, and what is malformed or too
large is an error that says so.
"""

import ast
import io
import json
import pickle
import random
import shutil
import sys
from pathlib import Path

import pytest
import torch

from helpers.sources import HOUSE, nodes
from loquent import pretrained
from loquent.core.seeding import Key
from loquent.errors import BadModel, LoquentError
from loquent.models.format.names import Plain
from loquent.pretrained import folder as door

LOADERS = [
    pretrained.load,
    pretrained.load_encoder,
    pretrained.load_classifier,
    lambda path: pretrained.load_encoder(path, layers=1),
]

REFUSED = (
    r"auto_map .* names Python code .*only architectures that transformers has itself are "
    r"allowed.*delete auto_map"
)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    place = tmp_path_factory.mktemp("honest") / "model"
    sizes = {"vocabulary": 260, "layers": 1, "width": 8, "heads": 1, "context": 16}
    pretrained.save(pretrained.build(["a b"], key=Key(0, ("model",)), device="cpu", **sizes), place)
    return place


@pytest.fixture
def model(honest, tmp_path):
    return Path(shutil.copytree(honest, tmp_path / "model"))


def change(file, **entries):
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("where", ["config.json", "tokenizer_config.json"])
def test_code_in_a_folder_is_never_run_whatever_standard_input_says(
    model, tmp_path, loader, where, monkeypatch
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n" * 20))
    code = f"open({str(tmp_path / 'ran')!r}, 'w').write('it ran')\n"
    code += "from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast\n"
    code += "class C(GPT2Config):\n    model_type = 'evil'\nclass M(GPT2LMHeadModel):\n    config_class = C\n"
    code += "class T(PreTrainedTokenizerFast):\n    pass\n"
    (model / "evil.py").write_text(code)
    if where == "config.json":
        names = ("AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification")
        change(
            model / where,
            auto_map={"AutoConfig": "evil.C", **dict.fromkeys(names, "evil.M")},
            model_type="evil",
        )
    else:
        change(model / where, auto_map={"AutoTokenizer": [None, "evil.T"]}, tokenizer_class="T")
    with pytest.raises(BadModel, match=REFUSED):
        loader(str(model))
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_made_of_others_asks_nobody_whether_their_code_may_run(model, tmp_path, monkeypatch):
    """The library's RagTokenizer loads two more from subfolders, without passing on that no code may run."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n" * 20))
    code = f"open({str(tmp_path / 'ran')!r}, 'w').write('it ran')\n"
    (model / "evil.py").write_text(
        code
        + "from transformers import PreTrainedTokenizerFast\nclass T(PreTrainedTokenizerFast):\n    pass\n"
    )
    for part in ("question_encoder_tokenizer", "generator_tokenizer"):
        shutil.copytree(model, model / part, ignore=shutil.ignore_patterns("*_tokenizer"))
        change(
            model / part / "tokenizer_config.json",
            auto_map={"AutoTokenizer": [None, "evil.T"]},
            tokenizer_class="T",
        )
    change(model / "tokenizer_config.json", tokenizer_class="RagTokenizer")
    change(
        model / "config.json",
        model_type="rag",
        question_encoder={"model_type": "vit"},
        generator={"model_type": "vit"},
    )
    with pytest.raises(BadModel, match="needs Python code that comes with it"):
        pretrained.load(model)
    assert not (tmp_path / "ran").exists()


def test_a_billion_labels_are_refused_before_they_are_named(model):
    change(model / "config.json", num_labels=10**9)
    with pytest.raises(BadModel, match=r"num_labels = 1,000,000,000 is more than 1,048,576"):
        pretrained.load(model)


def test_a_class_that_is_no_tokenizer_is_refused(model):
    change(model / "tokenizer_config.json", tokenizer_class="ProcessorMixin")
    with pytest.raises(BadModel, match="has no fast form"):
        pretrained.load(model)


@pytest.mark.parametrize("value", [["x"], {}, 3])
@pytest.mark.parametrize("name", ["generator", "decoder", "text_config", "text_encoder"])
def test_a_text_part_that_is_no_config_is_refused(model, name, value):
    change(model / "config.json", **{name: value})
    for loader in LOADERS:
        with pytest.raises(BadModel):
            loader(str(model))


@pytest.mark.parametrize("name", ["chat_template.jinja", "model.safetensors.index.json"])
def test_a_link_to_nothing_is_no_file(model, name):
    (model / name).symlink_to(model / "nowhere")
    assert pretrained.load(model).vocabulary


def test_a_stranger_s_code_is_refused_where_the_folder_was_not_looked_at(model, monkeypatch):
    """As with a name of the hub, whose files are fetched by the library."""
    monkeypatch.setattr(door, "check", lambda path: None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n" * 20))
    change(model / "config.json", auto_map={"AutoConfig": "evil.C"}, model_type="evil")
    (model / "evil.py").write_text("")
    with pytest.raises(BadModel, match=r"needs Python code that comes with it.* Loquent runs no code"):
        pretrained.load(model)


def test_all_loading_goes_through_one_door():
    calls = {}
    for file in HOUSE.rglob("*.py"):
        for node in nodes(file):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                named = {keyword.arg for keyword in node.keywords}
                if name in (
                    "from_pretrained",
                    "from_config",
                    "pipeline",
                    "torch_load",
                    "cached_file",
                    "get_class_from_dynamic_module",
                ):
                    calls.setdefault(name, []).append((file.name, "trust_remote_code" in named))
                library = getattr(getattr(node.func, "value", None), "id", "")
                assert not (
                    name == "load" and library in ("torch", "pickle", "joblib", "dill", "cloudpickle")
                ), file
                assert not (name == "loads" and library in ("pickle", "marshal", "dill", "cloudpickle")), file
    direct = [call for call in calls.pop("from_pretrained") if call[1]]
    assert direct == [("folder.py", True)]
    assert calls == {"from_config": [("folder.py", True)]}
    for file in HOUSE.rglob("*.py"):
        shows = ("folder.py", "export.py", "card.py")  # the last two show how transformers loads a folder
        assert ".from_pretrained(" not in file.read_text() or file.name in shows, file


@pytest.mark.parametrize("index", [False, True])
def test_pickled_weights_are_never_read(model, tmp_path, index):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    (model / "model.safetensors").unlink()
    if index:
        (model / "shard.bin").write_bytes(pickle.dumps(Evil()))
        (model / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": {"transformer.wte.weight": "shard.bin"}})
        )
    else:
        (model / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(
        BadModel,
        match="is no safetensors file of this folder"
        if index
        else "no model could be loaded .*model.safetensors",
    ):
        pretrained.load(model)
    assert not (tmp_path / "ran").exists()
    torch.save(
        pretrained.build(["a b"], vocabulary=260, layers=1, width=8, heads=1, key=Key(0)).module.state_dict(),
        model / "pytorch_model.bin",
    )
    with pytest.raises(BadModel):  # though it is harmless
        pretrained.load(model)


MALFORMED = {
    "a list": ("config.json", "[]", "it must hold a JSON object .*, got "),
    "no JSON": ("tokenizer_config.json", "{", "is not JSON"),
    "deep": ("config.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    "NaN": ("config.json", '{"a": NaN}', "NaN is no number"),
    "not UTF-8": ("config.json", b'{"a": "\xff"}', "is not UTF-8"),
    "large": ("config.json", '{"a": "' + "x" * (1 << 20) + '"}', "at most 1,048,576 are allowed"),
    "large template": ("chat_template.jinja", "x" * (1 << 18), "at most 131,072 are allowed"),
    "large further template": (
        "additional_chat_templates/tool.jinja",
        "x" * (1 << 18),
        "at most 131,072 are allowed",
    ),
    "adapter": (
        "adapter_config.json",
        '{"base_model_name_or_path": "else/where"}',
        "adapter_config.json: it lacks the field 'target_modules'",
    ),
    "shards outside": (
        "model.safetensors.index.json",
        '{"weight_map": {"a": "../other.safetensors"}}',
        "no safetensors file of this folder",
    ),
    "no shards": ("model.safetensors.index.json", "{}", "no safetensors file of this folder"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_files_are_named(model, kind):
    name, content, why = MALFORMED[kind]
    (model / name).parent.mkdir(exist_ok=True)
    (model / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadModel, match=why):
        pretrained.load(model)


VALUES = {
    "layers": ({"n_layer": 4000}, "more than 1,024"),
    "layers of a part": ({"vision_config": {"num_hidden_layers": 10**9}}, "more than 1,024"),
    "end": ({"eos_token_id": "x"}, "an id of at least -1"),
    "ends": ({"eos_token_id": [1, None]}, "an id of at least -1"),
    "context": ({"n_positions": "many"}, "integer of at least 1"),
    "negative context": ({"max_position_embeddings": -5}, "integer of at least 1"),
    "kernel": ({"attn_implementation": "some/kernel"}, "names a kernel"),
    "width": ({"n_embd": -8}, "integer of at least 0"),
    "kind": ({"model_type": 5}, "could be loaded"),
    "no kind": ({"model_type": None}, "could be loaded"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_malformed_values_are_named(model, kind):
    entries, why = VALUES[kind]
    change(model / "config.json", **entries)
    with pytest.raises(BadModel, match=why):
        pretrained.load(model)


def test_a_panic_inside_the_library_of_tokenizers_is_an_error_of_ours(model):
    """It is raised as a BaseException, which `except Exception` lets pass."""
    inner = json.loads((model / "tokenizer.json").read_text())
    inner["model"]["continuing_subword_prefix"] = "x" * 60
    inner["model"]["merges"] = [["a", "b"]]
    inner["model"]["vocab"]["ab"] = max(inner["model"]["vocab"].values()) + 1
    (model / "tokenizer.json").write_text(json.dumps(inner))
    with pytest.raises(BadModel, match=r"not a tokenizer that can be used: PanicException"):
        pretrained.load(model)


ODD = [
    None,
    -1,
    0,
    5,
    2**40,
    10**30,
    1.5,
    float("nan"),
    True,
    "",
    "x",
    "../x",
    "\x00",
    [],
    {},
    [[]],
    {"a": {}},
    ["a", 5],
    "a" * 1000,
]


MUTATIONS = 40


def mutated(found, rng):
    """A copy of some JSON in which one value, anywhere, is another."""
    found = json.loads(json.dumps(found))
    inside, key = found, None
    while True:
        keys = (
            list(inside)
            if isinstance(inside, dict)
            else list(range(len(inside)))
            if isinstance(inside, list)
            else []
        )
        if not keys:
            break
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(inside[key], dict | list) or not inside[key] or rng.random() < 0.3:
            inside[key] = ODD[int(rng.integers(len(ODD)))]
            break
        inside = inside[key]
    return found


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"]
)
@pytest.mark.filterwarnings("ignore")
def test_odd_values_end_in_a_model_or_in_an_error_of_ours(model, name):
    rng = Key(3, (name,)).generator()
    found = json.loads((model / name).read_text())
    other, loaded, messages = random.getstate(), 0, []
    for _ in range(MUTATIONS):
        (model / name).write_text(json.dumps(mutated(found, rng)))
        try:
            language = pretrained.load(model)
            assert language.context >= 1
            assert all(isinstance(i, int) for i in {language.pad, *language.end})
            text_format = Plain(language.tokenizer)
            assert text_format.answer("a b") is not None
            assert pretrained.nll(language, ["a"], ["a b"])[0][1] > 0
            loaded += 1
        except LoquentError as error:
            messages.append(str(error))
    assert loaded
    assert all(10 < len(message) < 2000 for message in messages)
    assert random.getstate() == other
