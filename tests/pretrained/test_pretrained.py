import math
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from loquent import pretrained
from loquent.core.episode import Turn
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadModel, BadSetting
from loquent.models import serving

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TEXTS = ["the film was good, the cast was better", "the film was bad and the end was worse"] * 20


def small(device="cpu", dtype="float64", **options):
    sizes = {
        "vocabulary": 300,
        "layers": 2,
        "width": 32,
        "heads": 2,
        "context": 64,
        "key": Key(0, ("model",)),
        **options,
    }
    return pretrained.build(TEXTS, device=device, dtype=dtype, **sizes)


def weights(language_model):
    return torch.cat([p.detach().flatten().double().cpu() for p in language_model.module.parameters()])


# ---- build, save, load


def test_build_depends_on_its_key_alone_and_touches_no_generator():
    def state():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002 - compared, not drawn from

    before = state()
    one = small()
    torch.manual_seed(7)
    other = small()
    assert torch.equal(weights(one), weights(other))
    assert one.tokenizer.get_vocab() == other.tokenizer.get_vocab()
    assert not torch.equal(weights(one), weights(small(key=Key(1, ("model",)))))
    torch.random.set_rng_state(torch.tensor(before[2], dtype=torch.uint8))
    small()
    assert state() == before


def test_build_has_the_sizes_and_marks_asked_for():
    built = small(dropout=0.25)
    config = built.module.config
    assert (config.n_layer, config.n_embd, config.n_head, config.n_positions) == (2, 32, 2, 64)
    assert (config.resid_pdrop, config.embd_pdrop, config.attn_pdrop) == (0.25, 0.25, 0.25)
    assert not built.module.training
    assert built.end == {built.tokenizer.convert_tokens_to_ids(pretrained.END)}
    assert built.context == 64
    assert built.vocabulary == len(built.tokenizer) == config.vocab_size <= 300
    odd = "naïve 字 \x00 <|end|>\n"
    assert built.tokenizer.decode(pretrained.plain_ids(built.tokenizer, odd)) == odd
    assert built.end.isdisjoint(pretrained.plain_ids(built.tokenizer, odd))
    assert built.end & set(built.tokenizer(odd)["input_ids"])  # the library itself would read the marker
    assert pretrained.plain_ids(built.tokenizer, "\ud800") == pretrained.plain_ids(built.tokenizer, "?")


@pytest.mark.parametrize(
    ("sizes", "words"), [({"width": 33}, "multiple of heads"), ({"vocabulary": 100}, "257")]
)
def test_build_refuses_impossible_sizes(sizes, words):
    with pytest.raises(BadSetting, match=words):
        small(**sizes)


def test_a_tokenizer_of_an_earlier_version_gets_the_start_token_that_its_format_wrote(tmp_path):
    from transformers import AutoTokenizer

    built = small("cpu", "float32")
    built.tokenizer.backend_tokenizer.post_processor = None
    pretrained.save(built, tmp_path / "model")
    right = [built.tokenizer.bos_token_id, *built.tokenizer("the")["input_ids"]]
    assert pretrained.load(tmp_path / "model", device="cpu").tokenizer("the")["input_ids"] == right
    _, format = serving.of_folder(tmp_path / "model", "plain", None)
    assert list(format.prompt("", (Turn("task", "the", to="agent"),), "agent", 9)[0]) == right
    exported = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert exported("the")["input_ids"] == right


@pytest.mark.parametrize("device", DEVICES)
def test_a_saved_folder_is_an_ordinary_one(tmp_path, device):
    import transformers

    built = small(device, "float32")
    pretrained.save(built, tmp_path / "model")
    loaded = pretrained.load(tmp_path / "model", device=device)
    assert torch.equal(weights(built), weights(loaded))
    assert loaded.end == built.end
    alone = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    ids = torch.tensor([words("the film")["input_ids"]])
    assert torch.allclose(alone(ids).logits, built.module(ids.to(device)).logits.cpu(), atol=1e-5)
    assert words.decode(ids[0], skip_special_tokens=True) == "the film"
    assert words("")["input_ids"] == [built.tokenizer.bos_token_id], "the start token of a small model"
    assert not [name for name in (tmp_path / "model").iterdir() if name.suffix in (".bin", ".pkl", ".pt")]


def test_a_folder_that_was_read_and_saved_again_is_the_same_to_the_bit(tmp_path):
    pretrained.save(small(dtype="float32"), tmp_path / "first")
    pretrained.save(pretrained.load(tmp_path / "first"), tmp_path / "second")
    assert {file.name: file.read_bytes() for file in (tmp_path / "first").iterdir()} == {
        file.name: file.read_bytes() for file in (tmp_path / "second").iterdir()
    }


def test_dtype_is_what_was_asked_for_not_what_was_saved(tmp_path):
    pretrained.save(small(dtype="bfloat16"), tmp_path)
    assert pretrained.load(tmp_path).module.dtype == torch.float32
    assert pretrained.load(tmp_path, dtype="bfloat16").module.dtype == torch.bfloat16
    with pytest.raises(BadSetting, match="float7"):
        pretrained.load(tmp_path, dtype="float7")


def test_loaded_weights_begin_where_torch_s_own_do(tmp_path):
    """Parts of a mapped file begin anywhere, and float64 products differ in the last bit by where their
    matrices begin.
    """
    built = small()
    pretrained.save(built, tmp_path)
    loaded = pretrained.load(tmp_path, dtype="float64")
    assert {parameter.data_ptr() % 64 for parameter in loaded.module.parameters()} == {0}
    assert torch.equal(weights(built), weights(loaded))
    assert loaded.module.get_output_embeddings().weight is loaded.module.get_input_embeddings().weight


@pytest.fixture
def folder(tmp_path):
    pretrained.save(small(dtype="float32"), tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("config.json", "no config.json"),
        ("tokenizer.json", "no tokenizer"),
        ("model.safetensors", "no model could be loaded"),
    ],
)
def test_a_missing_file_is_named(folder, missing, words):
    (folder / missing).unlink()
    with pytest.raises(BadModel, match=words):
        pretrained.load(folder)


def test_torn_weights_missing_tensors_and_bad_json(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadModel, match="no model could be loaded"):
        pretrained.load(folder)
    (folder / "model.safetensors").write_bytes(whole)
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if "c_fc.weight" in name)
    save_file(
        {k: v for k, v in tensors.items() if k != name},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    with pytest.raises(BadModel, match="weights lack 1 tensors"):
        pretrained.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(BadModel, match=r"config\.json:1: it is not JSON"):
        pretrained.load(folder)


def test_weights_without_a_place_are_named_and_tied_ones_are_not(folder):
    from safetensors.torch import load_file, save_file

    def loaded(**more):
        save_file({**tensors, **more}, folder / "model.safetensors", metadata={"format": "pt"})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pretrained.load(folder)
        return [str(one.message) for one in caught if issubclass(one.category, Remark)]

    tensors = load_file(folder / "model.safetensors")
    assert loaded() == []
    assert loaded(**{"lm_head.weight": tensors["transformer.wte.weight"].clone()}) == [], (
        "the input layer again"
    )
    (said,) = loaded(**{"v_head.weight": torch.zeros(1, 32), "v_head.bias": torch.zeros(1)})
    assert said.endswith(
        "2 tensors of the weights are left out, because the model does not use them: v_head.bias, "
        "v_head.weight"
    )


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BadModel, match="no such folder"):
        pretrained.load(tmp_path / "nothing")
    with pytest.raises(BadModel, match="not a model of the hub"):
        pretrained.load("nobody-at-all/no-such-model")


def test_vocabularies_that_do_not_fit(folder):
    import transformers

    built = pretrained.load(folder, device="cpu")
    config = transformers.GPT2Config.from_dict(
        {**built.module.config.to_dict(), "vocab_size": built.vocabulary - 1}
    )
    with pytest.raises(BadModel, match="do not belong together"):
        pretrained.LanguageModel(transformers.GPT2LMHeadModel(config), built.tokenizer)
    config.vocab_size = built.vocabulary + 10  # padded rows are fine
    assert (
        pretrained.LanguageModel(transformers.GPT2LMHeadModel(config), built.tokenizer).vocabulary
        == built.vocabulary
    )


@pytest.mark.data
def test_stories_has_two_ends(beside):
    stories = pretrained.load(beside / "models" / "stories260K", device="cpu")
    assert (stories.end, stories.pad, stories.context, stories.vocabulary) == ({1, 2}, 0, 512, 512)
    ((good, n),) = pretrained.nll(stories, ["Once upon a time,"], [" there was a little girl named Lily."])
    ((bad, m),) = pretrained.nll(stories, ["Once upon a time,"], [" Lily girl little was named there a."])
    assert good / n < 2.5 < bad / m  # nats a token; a real model of children's stories knows this sentence


# ---- likelihood


@pytest.mark.parametrize("device", DEVICES)
def test_nll_equals_whole_logits(device):
    built = small(device)
    prompts, texts = ["", "the film", "the"], [" was good", "", " cast was better than the end of the film"]
    for budget in (8192, 1):
        for (total, count), prompt, text in zip(
            pretrained.nll(built, prompts, texts, token_budget=budget), prompts, texts, strict=True
        ):
            ids = [
                0,
                *pretrained.plain_ids(built.tokenizer, prompt),
                *pretrained.plain_ids(built.tokenizer, text),
                0,
            ]
            logprob = built.module(torch.tensor([ids], device=device)).logits[0].log_softmax(-1)
            first = 1 + len(pretrained.plain_ids(built.tokenizer, prompt))
            assert count == len(ids) - first
            assert total == pytest.approx(
                -sum(logprob[i - 1, ids[i]].item() for i in range(first, len(ids))), abs=1e-10
            )
    ((without, n),) = pretrained.nll(built, ["the"], [" film"], end=False)
    ((with_end, m),) = pretrained.nll(built, ["the"], [" film"])
    assert m == n + 1
    assert with_end > without + 1


def test_nll_beyond_the_context():
    built = small()
    long = "the film was good " * 40
    ids = len(pretrained.plain_ids(built.tokenizer, long))
    assert ids > 128
    ((short, n),) = pretrained.nll(built, [long], [" bad"])  # the prompt loses its oldest tokens
    assert n == 1 + len(pretrained.plain_ids(built.tokenizer, " bad"))
    assert math.isfinite(short)
    ((total, count),) = pretrained.nll(built, [""], [long])  # scored in windows, each token once
    assert count == ids + 1
    assert 0.5 < total / count / math.log(built.vocabulary) < 2
    with pytest.raises(BadSetting, match="2 prompts and 1 texts"):
        pretrained.nll(built, ["", ""], [""])


def test_windows_score_each_id_once_in_full_context():
    from loquent.pretrained.likelihood import _windows

    for length, first, context in [(10, 3, 64), (100, 3, 16), (100, 95, 16), (33, 1, 2), (17, 1, 16)]:
        ids = list(range(length))
        scored = [i for window, begin in _windows(ids, first, context) for i in window[begin:]]
        assert scored == ids[first:]
        assert all(len(window) <= context and begin >= 1 for window, begin in _windows(ids, first, context))


def test_a_context_without_a_limit():
    from types import SimpleNamespace

    for longest, wanted in ((64, 64), (None, 1 << 30), (-1, 1 << 30), (0, 1 << 30)):
        assert (
            pretrained.context(SimpleNamespace(config=SimpleNamespace(max_position_embeddings=longest)))
            == wanted
        )


# ---- classifier, devices


def test_sequence_classifier(tmp_path):
    import transformers

    built = small(dtype="float32")
    config = transformers.GPT2Config.from_dict(
        {**built.module.config.to_dict(), "id2label": {0: "bad", 1: "good"}, "num_labels": 2}
    )
    module = transformers.GPT2ForSequenceClassification(config).eval()
    module.save_pretrained(tmp_path)
    built.tokenizer.save_pretrained(tmp_path)
    texts = ["the film was good", "", "bad", "the cast " * 100]
    good = pretrained.sequence_classifier(tmp_path, label="good", device="cpu")(texts)
    bad = pretrained.sequence_classifier(tmp_path, label="Bad", device="cpu")(texts, token_budget=1)
    assert good == pytest.approx([1 - p for p in bad], abs=1e-5)
    ids = torch.tensor([built.tokenizer(texts[0])["input_ids"]])
    assert good[0] == pytest.approx(module(ids).logits.softmax(1)[0, 1].item(), abs=1e-5)
    assert max(good) - min(good) > 1e-4
    with pytest.raises(BadModel, match="known: 0: bad, 1: good"):
        pretrained.sequence_classifier(tmp_path, label="neutral", device="cpu")


def test_devices_by_name(monkeypatch):
    assert pretrained.device("cpu") == torch.device("cpu")
    assert pretrained.device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("tpu", "cpu:x"):
        with pytest.raises(BadSetting, match="must be 'auto', 'cpu' or 'cuda'"):
            pretrained.device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadSetting, match="no CUDA on this machine"):
        pretrained.device("cuda")


def test_importing_loads_no_transformers_and_asks_for_patience():
    code = (
        "import os, sys, loquent.pretrained; print('transformers' in sys.modules, "
        "os.environ['OMP_WAIT_POLICY'])"
    )
    environment = {"PATH": "", "OMP_NUM_THREADS": "1"}
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    ).stdout.split()
    assert said == ["False", "PASSIVE"]


def test_threads():
    before = torch.get_num_threads()
    try:
        assert pretrained.threads(2) == 2
        assert pretrained.threads() >= 1
    finally:
        torch.set_num_threads(before)


def test_evaluating_gives_every_mode_back():
    module = small(dropout=0.5).module.train()
    module.transformer.h[0].eval()
    with pretrained.evaluating(module):
        assert not any(part.training for part in module.modules())
    assert module.training
    assert not module.transformer.h[0].mlp.training
    assert module.transformer.h[1].mlp.training


def test_groups_and_padding():
    assert pretrained.groups([3, 9, 4, 1], 10) == [[1], [2, 0], [3]]
    assert pretrained.groups([], 10) == []
    ids, real = pretrained.pad_rows([[5], [6, 7]], 0, "cpu")
    assert ids.tolist() == [[5, 0], [6, 7]]
    assert real.tolist() == [[True, False], [True, True]]
    ids, real = pretrained.pad_rows([[5], [6, 7]], 0, "cpu", left=True)
    assert ids.tolist() == [[0, 5], [6, 7]]
    assert real.tolist() == [[False, True], [True, True]]
