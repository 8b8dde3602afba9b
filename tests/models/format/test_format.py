import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.models.format_cases import FORMATS, format_of, ids_of, said, told
from helpers.models.tokenizers_for_tests import (
    MARKERS,
    byte_level,
    wordle_characters,
    wrapped,
)
from loquent.errors import BadModel
from loquent.models.format.names import Ilql, Plain

KINDS = pytest.mark.parametrize("kind", FORMATS)


ODD = [
    "",
    " ",
    "\n",
    "\x00",
    "\ud800",
    "a\udfffb",
    "<|end|>",
    "</s>",
    "<s>",
    "</a>",
    "<a>",
    "</eod>",
    "<|im_start|>user\n",
    "<|im_end|>",
    "é😀",
    "Q w",
]
texts = st.one_of(
    st.sampled_from(ODD),
    st.text(max_size=12),
    st.lists(st.sampled_from([*ODD, "the film"]), max_size=4).map("".join),
)
drawn = st.lists(st.integers(3, 34), max_size=5)
answers = st.one_of(
    st.builds(said, texts, st.sampled_from(["end", "length", "stop"])),
    st.builds(said, texts, st.sampled_from(["end", "length"]), drawn),
)
histories = st.lists(st.one_of(st.builds(told, texts), answers), max_size=7)
instructions = st.sampled_from(["", "Be brief.", "</s><|im_end|>"])


@KINDS
@settings(max_examples=30)
@given(turns=histories, instruction=instructions)
def test_the_ids_of_n_turns_begin_those_of_one_more(kind, turns, instruction):
    format = format_of(kind)
    before, segment = (), 0
    for n in range(len(turns) + 1):
        if format.rewrites and n and turns[n - 1].seat != "agent":
            continue  # a template writes an observation with the request for an answer
        now = ids_of(format.pieces(instruction, turns[:n], "agent"))
        last = [place.segment for place in format.answers(instruction, turns[:n], "agent")]
        if not last or last[-1] == segment:
            assert now[: len(before)] == before
        before, segment = now, last[-1] if last else 0


def test_the_law_of_beginnings_can_fail():
    class Closing(Plain):  # a format that ends every history
        def pieces(self, instruction, turns, seat):
            return [*super().pieces(instruction, turns, seat), *super().pieces("", [said("", ids=[7])], seat)]

    format = Closing(byte_level())
    one, two = (ids_of(format.pieces("", [told("a"), told("b")][:n], "agent")) for n in (1, 2))
    assert two[: len(one)] != one


@KINDS
@settings(max_examples=30)
@given(turns=histories, instruction=instructions, room=st.integers(60, 120))
def test_a_prompt_is_what_stands_before_the_answer(kind, turns, instruction, room):
    format = format_of(kind)
    turns = [*turns, told("x")]
    ids, first = format.prompt(instruction, turns, "agent", room)
    assert len(ids) <= room
    assert 0 <= first < len(turns)
    if first == 0 and format.fit(instruction, turns, "agent", room).cut == 0:
        pieces = format.pieces(instruction, [*turns, said("", ids=[5])], "agent")
        assert ids == ids_of(pieces)[:-1]
        assert not any(pieces[-1].is_action[:-1])
        assert pieces[-1].is_action[-1]


@KINDS
@settings(max_examples=30)
@given(turns=histories, instruction=instructions)
def test_a_row_never_begins_with_an_action_and_pieces_stand_in_order(kind, turns, instruction):
    pieces = format_of(kind).pieces(instruction, turns, "agent")
    assert [piece.turn for piece in pieces] == list(range(-1, len(turns)))
    assert not any([own for piece in pieces for own in piece.is_action][:1])
    for piece, turn in zip(pieces[1:], turns, strict=True):
        assert len(piece.ids) == len(piece.is_action)
        assert turn.seat == "agent" or not any(piece.is_action)


@KINDS
@settings(max_examples=30)
@given(text=texts, ids=drawn)
def test_turns_with_tokens_are_never_tokenised_again(kind, text, ids):
    format = format_of(kind)
    turns = [told("a"), said(text, ids=ids), told("b")]
    chosen = [
        i
        for piece in format.pieces("", turns, "agent")
        for i, own in zip(piece.ids, piece.is_action, strict=True)
        if own
    ]
    assert chosen == ids


def test_tokenising_again_would_give_other_tokens():
    format = format_of("plain")
    letters = [format.encoder.encode(letter)[0] for letter in "the"]
    assert format.text(letters) == "the"
    assert format.pieces("", [said("the", ids=letters)], "agent")[1].ids == tuple(letters)
    assert len(format.pieces("", [said("the")], "agent")[1].ids) < len(letters)


@KINDS
@settings(max_examples=40)
@given(text=texts)
def test_marker_strings_inside_a_text_are_characters(kind, text):
    format = format_of(kind)
    special = {"<|end|>", "<|im_start|>", "<|im_end|>", *MARKERS} & set(format.encoder._added)
    ids = {format.encoder._rest.token_to_id(name) for name in special} - {
        format.pad if "spaces" in kind or "metaspace" in kind else None
    }
    for first in (False, True):
        assert not ids & set(format.encoder.encode(text, first))


def test_marker_strings_are_markers_for_the_shared_tokenizer_which_stays_as_it_is():
    shared = byte_level()
    state = shared.backend_tokenizer.to_str()
    format = Plain(shared)
    assert shared.eos_token_id not in format.encoder.encode("a<|end|>b")
    # without the private copy it would be found
    assert shared.eos_token_id in shared("a<|end|>b")["input_ids"]
    assert shared.backend_tokenizer.to_str() == state
    assert not shared.backend_tokenizer.encode_special_tokens


def test_a_copied_format_still_takes_markers_for_characters():
    shared = byte_level()
    format = copy.deepcopy(Plain(shared))
    assert shared.eos_token_id not in format.encoder.encode("another <|end|> text")


def test_a_marker_that_the_model_of_the_tokenizer_knows_as_a_word_is_still_not_found_in_text():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = [
        "<unk>",
        "<s>",
        "</s>",
        "<a>",
        "</a>",
        "</eod>",
        "<",
        ">",
        "/",
        "s",
        "a",
        "e",
        "o",
        "d",
        "x",
        "/s>",
        "s>",
    ]
    inner = Tokenizer(models.Unigram([(word, -1.0) for word in words], 0, False))
    inner.decoder = decoders.Fuse()
    assert inner.pre_tokenizer is None or pre_tokenizers
    inner.add_special_tokens(words[1:6])
    format = Ilql(wrapped(inner, unk_token="<unk>"))
    raw = format.encoder._rest
    raw.encode_special_tokens = True
    assert 2 in raw.encode("x</s>x", add_special_tokens=False).ids  # the trap: plain tokenising does find it
    ids = format.encoder.encode("x</s>x")
    assert 2 not in ids
    assert format.encoder.decode(ids) == "x</s>x"


@given(st.text(max_size=40))
def test_text_to_ids_to_text_is_exact_for_byte_level(text):
    format = format_of("plain")
    ids = format.answer(text)
    assert format.text(ids, before=(0, 260)) == text
    assert format.text(ids) == text


@pytest.mark.parametrize("kind", ["plain", "plain, spaces before texts", "plain, metaspace"])
@settings(max_examples=80)
@given(prompt=st.text("the on,.e😀é ", min_size=1, max_size=9), answer=st.text("the once!😀é ", max_size=9))
def test_prompt_and_answer_decode_to_the_text_put_together(kind, prompt, answer):
    if kind == "plain, metaspace":
        prompt = (
            "x" + prompt
            # this pre-tokenizer puts its space before a text only where there is none, and decoding takes it
            # away
        )
    format = format_of(kind)
    pieces = format.pieces("", [told(prompt), said(answer)], "agent")
    before, own = pieces[0].ids + pieces[1].ids, pieces[2].ids
    assert format.encoder._first.decode(list(before + own), skip_special_tokens=True) == prompt + answer
    assert format.text(own, before) == answer


def test_a_leading_space_belongs_to_a_continuation_but_not_to_the_first_text_of_a_row():
    format = format_of("plain, spaces before texts")
    space_once = format.encoder._rest.token_to_id("▁once")
    start, (the,) = 1, format.encoder.encode("the", first=True)
    assert format.text([space_once, 2], before=[start, the]) == " once"
    assert format.text([space_once, 2], before=[start]) == "once"
    assert ids_of(format.pieces("", [told(""), said("once")], "agent")) == (start, space_once, 2)
    once = format.encoder._rest.token_to_id("once")
    # "theonce", no space put in
    assert ids_of(format.pieces("", [told("the"), said("once")], "agent")) == (start, the, once, 2)


@KINDS
def test_a_megabyte_and_other_odd_texts_do_not_raise(kind):
    format = format_of(kind)
    for text in (
        "ab <s></a>" * (100_000 if kind == "plain" else 1000),
        "\x00" * 1000,
        "\ud800" * 1000,
        "😀" * 1000,
        " " * 1000,
    ):
        assert isinstance(format.encoder.encode(text), tuple)
        ids, _ = format.prompt("", [told(text)], "agent", 64)
        assert 0 < len(ids) <= 64


def test_lone_surrogates_are_replaced_and_unknown_characters_dropped():
    plain, characters = format_of("plain"), format_of("ilql, 35 characters")
    assert plain.encoder.decode(plain.encoder.encode("a\ud800b")) == "a\ufffdb"
    assert characters.encoder.encode("cRa ne!") == characters.encoder.encode("cane")


@KINDS
@settings(max_examples=40)
@given(ids=st.lists(st.integers(-3, 400), max_size=12), before=st.lists(st.integers(0, 34), max_size=3))
def test_no_ids_break_the_text_of_an_answer(kind, ids, before):
    assert isinstance(format_of(kind).text(ids, before), str)


def test_an_end_marker_is_drawn_or_owed():
    format, end = format_of("plain"), 0
    (a,), (b,) = format.encoder.encode("a"), format.encoder.encode("b")
    from_text = format.pieces("", [told("a"), said("b")], "agent")[2]
    assert from_text.ids == (b, end)
    assert from_text.is_action == (True, True)
    unfinished = [told("a"), said("b", "length", [b])]
    assert format.pieces("", unfinished, "agent")[2].ids == (b,)
    empty = format.pieces("", [*unfinished, told("")], "agent")
    assert empty[3].ids == ()  # an observation without text adds nothing, the state is the cut answer's own
    followed = format.pieces("", [*unfinished, told(""), told("a")], "agent")[4]
    assert (followed.ids, followed.is_action) == ((end, a), (False, False))
    touching = format.pieces("", [*unfinished, told(""), said("b", ids=[b, end])], "agent")[4]
    assert (touching.ids, touching.is_action) == ((end, b, end), (False, True, True))
    assert format.prompt("", [*unfinished, told("")], "agent", 99)[0] == (0, a, b, end)


def test_an_instruction_is_shown_once_before_the_first_turn():
    format = format_of("plain")
    row = ids_of(format.pieces("Be brief.", [told("the film"), said("good"), told("and")], "agent"))
    assert (
        format.encoder._rest.decode(list(row), skip_special_tokens=False)
        == "<|end|>Be brief.\nthe filmgood<|end|>and"
    )
    ilql = format_of("ilql")
    row = ids_of(ilql.pieces("Be brief.", [told("the film"), said("good")], "agent"))
    assert (
        ilql.encoder._rest.decode(list(row), skip_special_tokens=False)
        == "<s>Be brief.</s>the film</s>good</a>"
    )


def test_tokenizers_that_cannot_serve_are_refused():
    class Slow:
        pass

    with pytest.raises(BadModel, match=r"fast tokenizer.*not a Slow"):
        Plain(Slow())
    with pytest.raises(BadModel, match="no <s> </s> <a> </a> </eod>"):
        Ilql(byte_level())
    with pytest.raises(BadModel, match="neither a bos nor an eos"):
        Plain(wordle_characters())


@pytest.mark.data
def test_the_llama_tokenizer_of_stories260k(beside):
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(beside / "models" / "stories260K")
    format = Plain(tokenizer)
    assert (format.end, format.pad, format.vocabulary) == (frozenset({1, 2}), 0, 512)
    prompt, answer = "Once upon a time", ", there was a girl."
    pieces = format.pieces("", [told(prompt), said(answer)], "agent")
    # the prompt is what the library makes of it
    assert pieces[0].ids + pieces[1].ids == tuple(tokenizer(prompt)["input_ids"])
    assert tokenizer.decode(ids_of(pieces), skip_special_tokens=True) == prompt + answer
    assert format.text(pieces[2].ids, pieces[1].ids) == answer
    space_there = [tokenizer.convert_tokens_to_ids("▁there")]
    assert format.text(space_there, pieces[0].ids + pieces[1].ids) == " there"
    naive = [*pieces[1].ids, *tokenizer(answer, add_special_tokens=False)["input_ids"]]
    # the spurious space that is avoided
    assert tokenizer.decode(naive, skip_special_tokens=True) != prompt + answer
