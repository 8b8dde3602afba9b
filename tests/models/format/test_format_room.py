"""Histories longer than the room of a prompt: what is dropped, what is cut, what is refused."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from helpers.models.format_cases import format_of, ids_of, said, told
from helpers.models.token_rows import earns, episode
from helpers.models.tokenizers_for_tests import byte_level
from loquent.core.values import Record
from loquent.errors import BadModel
from loquent.models.format.names import Fit, Pair, Plain
from loquent.models.tokens.batch import token_batch
from loquent.pretrained.encoder_decoders import sides

LETTERS = "abcdefgh"


def game(n):
    """n rounds of one letter told and one said, and a last letter told: in the plain format 1 + 2 ids a
    round, and 1.
    """
    rounds = chain.from_iterable((told(LETTERS[i]), said(LETTERS[i].upper())) for i in range(n))
    return [*rounds, told(LETTERS[n])]


def decoded(format, ids):
    return format.encoder._rest.decode(list(ids), skip_special_tokens=False)


def test_whole_oldest_turns_are_dropped_until_the_row_begins_with_something_told():
    # start + 3 rounds of 3 ids + 1 = 11 ids; each round dropped takes 3
    format, turns = format_of("plain"), game(3)
    assert decoded(format, format.prompt("", turns, "agent", 11)[0]) == "<|end|>aA<|end|>bB<|end|>cC<|end|>d"
    assert decoded(format, format.prompt("", turns, "agent", 10)[0]) == "<|end|>bB<|end|>cC<|end|>d"
    assert [format.prompt("", turns, "agent", room)[1] for room in (11, 10, 8, 7, 5, 4, 2)] == [
        0,
        2,
        2,
        4,
        4,
        6,
        6,
    ]
    with pytest.raises(BadModel, match="may have 1 tokens, and the instruction and markers alone take 1"):
        format.prompt("", turns, "agent", 1)


def test_the_instruction_is_never_dropped():
    format, turns = format_of("plain"), game(3)
    instruction = len(format.prompt("Be brief.", game(0), "agent", 99)[0]) - 2
    for room in range(instruction + 2, instruction + 12):
        assert decoded(format, format.prompt("Be brief.", turns, "agent", room)[0]).startswith(
            "<|end|>Be brief.\n"
        )
    with pytest.raises(BadModel, match="the instruction and markers alone take"):
        format.prompt("Be brief." * 20, turns, "agent", 60)


def test_the_oldest_ids_of_a_newest_observation_that_is_too_long_are_cut():
    format = format_of("plain")
    turns = [told("a"), said("A"), told("0123456789")]
    ids, first = format.prompt("", turns, "agent", 5)
    assert (decoded(format, ids), first) == ("<|end|>6789", 2)
    assert format.fit("", turns, "agent", 5) == Fit(first=2, keep=slice(-4, None), cut=6)
    assert format.fit("", turns, "agent", 5, "right") == Fit(first=2, keep=slice(4), cut=6)
    assert decoded(format, format.prompt("", turns, "agent", 5, "right")[0]) == "<|end|>0123"
    chat = format_of("chat")
    ids, first = chat.prompt("", turns, "agent", len(chat.prompt("", [told("x")], "agent", 999)[0]) + 2)
    # the markers around it stay
    assert decoded(chat, ids) == "<|im_start|>user\n789<|im_end|>\n<|im_start|>assistant\n"
    ids = chat.prompt("", turns, "agent", len(ids), "right")[0]
    assert decoded(chat, ids) == "<|im_start|>user\n012<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.data
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("pair", [False, True], ids=["Llama", "T5"])
def test_a_prompt_is_cut_as_the_tokenizer_itself_cuts_it(beside, side, pair):
    """In decoding and in learning; T5's tokenizer writes an end token after a text, Llama's a start token."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(beside / "models" / "stories260K")
    tokenizer.truncation_side = side
    if pair:
        template = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
        tokenizer.backend_tokenizer.post_processor = template
    format = Pair(tokenizer, (3,)) if pair else Plain(tokenizer)
    text = "Summarize: Once upon a time, there was a girl.  She had 3 dogs\nand a cat."
    turns = (told(text), said("the end"))
    whole = len(tokenizer(text)["input_ids"])
    for room in range(2, whole + 3):
        expected = tokenizer(text, max_length=room, truncation=True)["input_ids"]
        assert len(expected) == min(room, whole)
        prompt = format.prompt("", turns[:1], "agent", room, side)[0]
        assert (sides(prompt)[0] if pair else list(prompt)) == expected
        batch = token_batch([episode(*turns)], format, Record(), max_length=999, room=room, side=side)
        assert batch.tokens[0].tolist()[: len(prompt)] == list(prompt)
        assert batch.cut == whole - len(expected)


@pytest.mark.parametrize(
    "kind", ["plain", "plain, spaces before texts", "chat", "ilql", "ilql, 35 characters"]
)
@settings(max_examples=30)
@given(data=st.data())
def test_a_prompt_fits_keeps_the_newest_and_drops_no_more_than_it_must(kind, data):
    format = format_of(kind)
    texts = data.draw(st.lists(st.text("the on", max_size=9), min_size=1, max_size=6))
    turns = list(chain.from_iterable((told(text), said(text)) for text in texts))[: len(texts) * 2 - 1]
    room = data.draw(st.integers(40, 90))
    ids, first = format.prompt("", turns, "agent", room)
    assert len(ids) <= room
    assert turns[first].seat == "task"
    kept = format.write("", turns[first:], "agent", format.fit("", turns, "agent", room).keep)
    assert ids == ids_of(kept.pieces) + kept.opening
    if first:
        one_more = format.write("", turns[first - 2 :], "agent")
        assert one_more.length + len(one_more.opening) > room


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("pair", [False, True], ids=["flat", "pair"])
def test_a_teacher_s_answer_that_is_too_long_is_cut_on_the_same_side(side, pair):
    """The prompt gives way first. On the left a row has the last ids of the whole text, as if a tokenizer cut
    prompt and answer as one; the answer of an encoder-decoder alone is cut to what its decoder reads.
    """
    plain = format_of("plain")
    format = Pair(byte_level(), (3,), longest=7) if pair else plain
    turns = (told("abcdefgh"), earns(said("0123456789"), told=2.0))
    answer = list(plain.answer("0123456789"))
    limits = {"max_length": 999 if pair else 7, "room": 999 if pair else 7, "side": side}
    played = [episode(*turns, ended="done")]
    with pytest.raises(BadModel, match="shorter texts"):
        token_batch(played, format, Record(told=1.0), **limits)
    batch = token_batch(played, format, Record(told=1.0), **limits, cuts_answers=True)
    kept = answer[-6:] if side == "left" else answer[:6]
    assert batch.tokens[batch.is_action].tolist() == kept
    assert batch.reward[batch.is_action].tolist() == [0.0] * 5 + [2.0]
    assert batch.cut == len(answer) - 6 + (0 if pair else 8)
    if not pair:
        assert batch.tokens.shape == (1, 7)
        assert batch.tokens[0, 0] == plain.write("", (), "agent").pieces[0].ids[0]
    fits = token_batch(played, format, Record(told=1.0), max_length=999, room=999, cuts_answers=True)
    assert (fits.cut, fits.is_action.sum() == len(answer)) == ((0, True) if not pair else (5, False))
