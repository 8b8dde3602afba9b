"""Tokenizers from strangers: what can make a text gigabytes long is refused before it is built here."""

import json
import resource
import shutil

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from loquent import pretrained
from loquent.adapters.tokens import TokenizerFile
from loquent.core.guards import tokenizer_files
from loquent.core.guards.tokenizer_worker import Refused, check, check_pattern, growth
from loquent.core.seeding import Key
from loquent.data.features import BytePair
from loquent.errors import BadModel
from loquent.models.turns.words import Pieces
from loquent.pretrained import likelihood
from loquent.pretrained.classifier import ClassifierNetwork


@pytest.fixture(scope="module")
def honest():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    made.add_special_tokens(["<|end|>"])
    return json.loads(made.to_str())


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(*parts, kind="normalizers"):
    return {"type": "Sequence", kind: list(parts)}


def token(content, number):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content, **flags}


GROWS = sequence(*[replace("a", "a" * 10)] * 9)
SPLIT = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
META = {"type": "Metaspace", "replacement": "x", "prepend_scheme": "always", "split": True}
TWICE = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 9}
PAIR = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}]
FIXED = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
PIECES = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"a": 0}, "max_input_chars_per_word": 9}
HOSTILE = {
    "no token for unknown words": ({"model": PIECES}, r"no token '\[UNK\]' for unknown words"),
    "nine replacements": ({"normalizer": GROWS}, r"8e\+09 times longer; at most 128"),
    "nested": ({"normalizer": sequence(sequence(GROWS), replace("b", "c"))}, "times longer"),
    "everywhere": ({"normalizer": sequence(*[replace("", "xy", "Regex")] * 9)}, "times longer"),
    "unfolding": ({"normalizer": sequence(*[replace("a", "a\ufdfa")] * 2)}, "times longer"),
    "a long beginning": ({"normalizer": {"type": "Prepend", "prepend": "x" * 10**6}}, "1,000,000 characters"),
    "bytes of bytes": ({"pre_tokenizer": sequence(*[BYTES] * 5, kind="pretokenizers")}, "times longer"),
    "marks of parts": ({"pre_tokenizer": sequence(*[META] * 9, kind="pretokenizers")}, "times longer"),
    "decoder": ({"decoder": sequence(*[replace("a", "aa")] * 9, kind="decoders")}, "its decoder can make"),
    "copies": ({"post_processor": {**TWICE, "pair": PAIR, "special_tokens": {}}}, "post_processor can make"),
    "backtracking": ({"pre_tokenizer": SPLIT}, "repeats a part that varies itself"),
    "padding": ({"padding": FIXED}, r"padding.strategy = 1,000,000,000"),
    "a long token": ({"added_tokens": [token("x" * 5000, 300)]}, "a token has 5,000 characters"),
    "a far id": ({"added_tokens": [token("x", 3 * 10**9)]}, "the id 3,000,000,000 with only 257 tokens"),
}
LETTERS = [token("<s>", 300) | {"rstrip": True}, token(" ", 301)]
HOSTILE |= {
    "ends of tokens": ({"decoder": {"type": "Strip", "content": "z", "start": 0, "stop": 2}}, "must be 0"),
    "empty suffixes": (
        {"decoder": sequence(*[{"type": "BPEDecoder", "suffix": ""}] * 8, kind="decoders")},
        "its decoder can make a text 256 times",
    ),
    "long words": (
        {"model": {**PIECES, "vocab": {"[UNK]": 0}, "max_input_chars_per_word": 10_000}},
        "max_input_chars_per_word = 10,000",
    ),
    "an old form": (
        {"model": {name: value for name, value in PIECES.items() if name != "type"}},
        "for unknown words",
    ),
}
PANICS = {"pre_tokenizer": {"type": "FixedLength", "length": 0}}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_grows_without_bound_is_refused(honest, kind):
    parts, why = HOSTILE[kind]
    with pytest.raises(Refused, match=why):
        check({**honest, **parts})


def test_encoding_is_never_random(honest):
    with pytest.raises(Refused, match=r"model.dropout = 0.5 makes encoding random"):
        check({**honest, "model": {**honest["model"], "dropout": 0.5}})
    check({**honest, "model": {**honest["model"], "dropout": 0.0}})


LATE = {
    "overlapping spaces": ({"added_tokens": LETTERS}, "begins with a space"),
    "runs": (
        {"pre_tokenizer": {**SPLIT, "pattern": {"Regex": "[a-z]+[a-z]+[!?]"}}},
        "few seconds|retry-limit",
    ),
    "ids of nothing": (
        {
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [PAIR[0], *[{"SpecialToken": {"id": "s", "type_id": 0}}] * 500],
                "pair": PAIR,
                "special_tokens": {"s": {"id": "s", "ids": [0] * 500, "tokens": ["s"] * 500}},
            }
        },
        r"250,001 ids of 0|it makes 250,000 ids of 0 characters",
    ),
}


@pytest.mark.parametrize("kind", LATE)
def test_what_fails_in_use_is_found_by_the_first_use(honest, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tokenizer_files, "SECONDS", 1)
    parts, why = LATE[kind]
    (tmp_path / "tokenizer.json").write_text(json.dumps({**honest, **parts}))
    with pytest.raises(BadModel, match=why):
        tokenizer_files.check(tmp_path / "tokenizer.json")


def test_growth_by_hand():
    assert growth(None) == 1
    assert growth(replace(" ", "▁")) == 1
    assert growth(replace("ab", "xyz")) == 1.5
    assert growth(replace(" *", "▁", "Regex")) == 2
    assert growth(sequence({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁▁"))) == 4
    assert growth({"type": "ByteLevel", "add_prefix_space": False}) == 4
    charsmap = "AAAAAGFiYwBkAA=="  # no trie; the texts "abc" and "d"
    assert growth({"type": "Precompiled", "precompiled_charsmap": charsmap}) == 3


KNOWN = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[\p{Lu}\p{Lt}&&[^\p{Han}]]*[\p{Ll}\p{M}]+(?i:'s|'t)?|\p{N}{1,3}(?=(?:\d{3})*\b)| ?[^\s\p{L}]+[\r\n/]*",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|(?:\r?\n)+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+", r"(?<=\n)(?=\S)| {2,}", r"<\|startoftext\|>|[\p{N}]|(?>a|b)?",
)  # fmt: skip
EXPONENTIAL = (
    "(a+)+$", "(a|a)*", "((a?){0,30}){0,30}", "(a*){30}", "(?:(?:ab?)*c)*", r"(?<r>a\g<r>?)+",
    r"(a)\1+", "(?:a|aa)" * 40 + "[!]", "a?" * 40 + "a{40}", "(?i:[a-z]+[0-9]?)+x", "(?:x?x)*z",
)  # fmt: skip


@pytest.mark.parametrize("pattern", KNOWN)
def test_patterns_of_known_tokenizers_are_allowed(pattern):
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_patterns_that_repeat_what_varies_are_refused(pattern):
    with pytest.raises(Refused):
        check_pattern(pattern)


@pytest.fixture(scope="module")
def hostile(honest, tmp_path_factory):
    """A model folder whose tokenizer of a few kilobytes makes a text a billion times longer."""
    place = tmp_path_factory.mktemp("hostile") / "model"
    sizes = {"vocabulary": 260, "layers": 1, "width": 8, "heads": 1, "context": 16}
    pretrained.save(pretrained.build(["a b"], key=Key(0, ("model",)), device="cpu", **sizes), place)
    (place / "tokenizer.json").write_text(json.dumps({**honest, "normalizer": GROWS}))
    (place / "v.txt").write_text("a 1 2\n")
    return place


USERS = {
    "model": lambda place: pretrained.load(place),
    "encoder": lambda place: pretrained.load_encoder(str(place)),
    "classifier": lambda place: pretrained.load_classifier(place),
    "byte pairs": lambda place: BytePair(pieces=str(place / "tokenizer.json"), vectors=str(place / "v.txt"))(
        ["a"]
    ),
    "token form": lambda place: TokenizerFile(place, 8, 8),
}


@pytest.mark.parametrize("user", USERS)
def test_every_user_of_a_tokenizer_goes_through_the_check(hostile, user):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        BadModel, match=r"tokenizer\.json is not a tokenizer that can be used: .*times longer"
    ):
        USERS[user](hostile)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


def test_a_panic_and_a_text_that_is_no_tokenizer_are_named(honest, tmp_path):
    file = tmp_path / "tokenizer.json"
    for content, why in ((json.dumps({**honest, **PANICS}), "PanicException"), ("{", "JSON")):
        file.write_text(content)
        with pytest.raises(BadModel, match=why):
            tokenizer_files.check(file)


def test_a_content_is_checked_once_and_a_changed_file_again(honest, tmp_path, monkeypatch):
    file, runs = tmp_path / "tokenizer.json", []
    original = tokenizer_files.sandbox.run
    monkeypatch.setattr(
        tokenizer_files.sandbox, "run", lambda *job, **limits: runs.append(job) or original(*job, **limits)
    )
    for text in (json.dumps(honest), json.dumps(honest, indent=3), json.dumps(honest)):
        file.write_text(text)
        tokenizer_files.check(file)
    assert len(runs) == 2


def test_a_raw_tokenizer_neither_truncates_nor_pads(honest, tmp_path):
    truncation = {"max_length": 2, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}
    padding = {**FIXED, "strategy": {"Fixed": 50}, "pad_to_multiple_of": None}
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({**honest, "truncation": truncation, "padding": padding})
    )
    made = TokenizerFile(tmp_path, 8, 8)
    assert len(made.encode("abcdef")) == 7  # with the space before the word


CONFIG = {
    "tokens": ({"extra_ids": 10**9}, r"extra_ids = 1000000000 is more than 65,536"),
    "arguments": ({"init_inputs": ["x"]}, "init_inputs = .* names what is not checked"),
    "another file": ({"fast_tokenizer_files": ["tokenizer.4.0.json"]}, "names what is not checked"),
}


@pytest.mark.parametrize("kind", CONFIG)
def test_settings_of_a_tokenizer_that_build_more_are_refused(hostile, honest, tmp_path, kind):
    entries, why = CONFIG[kind]
    for name in ("config.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((hostile / name).read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(honest))
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))
    with pytest.raises(BadModel, match=why):
        pretrained.load(tmp_path)


def test_a_folder_without_tokenizer_json_is_converted_first_in_the_process_with_limits(hostile, tmp_path):
    """Its vocabulary has a token that no text may have; transformers alone would take it."""
    (tmp_path / "config.json").write_text((hostile / "config.json").read_text())
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0, "x" * 5000: 1, "<|end|>": 2}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    names = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|end|>")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer", **names}))
    with pytest.raises(BadModel, match="not a tokenizer that can be used: a token has 5,000 characters"):
        pretrained.load(tmp_path)


WITHOUT_UNKNOWN = {
    "WordLevel": models.WordLevel({"a": 0, "<|end|>": 1}, unk_token="[UNK]"),
    "Unigram": models.Unigram([("a", -1.0), ("<|end|>", -1.0)]),
    "BPE": models.BPE({"a": 0, "<|end|>": 1}, [], unk_token="[UNK]"),
}


def _classifier(place):
    made = pretrained.load(place)
    return ClassifierNetwork(made.module, made.tokenizer)


READERS = {
    "hidden states": lambda place, text: pretrained.load_encoder(str(place)).ids(text),
    "rows of states": lambda place, text: pretrained.load_encoder(str(place)).rows(["a", text]),
    "classifier": lambda place, text: _classifier(place).encode(["a", text]),
    "classifier of pairs": lambda place, text: _classifier(place).encode(["a"], [text]),
    "likelihood": lambda place, text: likelihood.plain_ids(pretrained.load(place).tokenizer, text),
    "pieces": lambda place, text: Pieces(str(place), "", 8)(text),
    "byte pairs": lambda place, text: BytePair(
        pieces=str(place / "tokenizer.json"), vectors=str(place / "v.txt")
    )([text]),
    "token form": lambda place, text: TokenizerFile(place, 8, 8).encode(text),
}


@pytest.fixture(scope="module")
def without_unknown(hostile, tmp_path_factory):
    """Folders by kind of model; no tokenizer there has a token for unknown words."""
    places = {}
    for kind, model in WITHOUT_UNKNOWN.items():
        made = Tokenizer(model)
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        places[kind] = tmp_path_factory.mktemp("unknown") / "model"
        shutil.copytree(hostile, places[kind])
        made.save(str(places[kind] / "tokenizer.json"))
    return places


@pytest.mark.parametrize("kind", WITHOUT_UNKNOWN)
@pytest.mark.parametrize("reader", READERS)
def test_a_text_without_a_token_is_a_typed_error(without_unknown, kind, reader):
    place = without_unknown[kind]
    READERS[reader](place, "a a")
    with pytest.raises(BadModel, match=f"{place}.* no token for 'é' in 'éa' .*unk_token"):
        READERS[reader](place, "a éa")
