"""The format of encoder-decoders: a source and an answer for each turn of an episode."""

import pytest

from helpers.models.format_cases import said, told
from helpers.models.pair_architectures import built
from helpers.models.tokenizers_for_tests import byte_level, chatml, sentence_piece
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting
from loquent.models.actor import Actor
from loquent.models.decoding_settings import Decoding
from loquent.models.format.names import Pair, of_model
from loquent.models.tokens.batch import positions, token_batch
from loquent.pretrained import LanguageModel, build, nll, prompt_room, strided_loss
from loquent.pretrained.encoder_decoders import sides

START = 3
TOKENIZERS = pytest.mark.parametrize("tokenizer", [sentence_piece, byte_level])
TURNS = (told("the cat"), said("once"), told("on a"), said("a cat"))


def episode(turns=TURNS, ended="end"):
    return Episode("toy-v1", "r", "train", 0, 0, turns, ended, instruction="talk")


@TOKENIZERS
def test_a_row_has_a_source_with_all_earlier_turns_for_each_answer(tokenizer):
    format = Pair(tokenizer(), (START,))
    batch = token_batch([episode()], format, Record(), max_length=1 << 30)
    assert len(batch) == 1, "one row an episode"
    row = batch.tokens[0].tolist()
    borders = [n for n in range(1, len(row)) if row[n] < 0 <= row[n - 1]]
    assert len(borders) == 1
    for part, turns, answer in (
        (row[: borders[0]], TURNS[:1], "once"),
        (row[borders[0] :], TURNS[:3], "a cat"),
    ):
        source, target = sides(part)
        prompt, first = format.prompt("talk", turns, "agent", 1 << 30)
        assert first == 0
        assert list(prompt) == part[: len(prompt)], "the answer follows exactly what it is drawn after"
        assert target[0] == START
        assert tuple(target[1:]) == format.answer(answer)
        assert format.text(target[1:], prompt) == answer
        text = format.encoder.decode(source, first=True)
        assert text.startswith("talk\nthe cat")
        assert source[-1] in format.end
        assert all(turn.text in text for turn in turns)
    at = positions(batch)
    states = batch.tokens[0][at.state[0]].tolist()
    assert states[0] == START == states[len(format.answer("once"))], "the first state is the decoder's start"
    assert not at.alive[0, -1]
    assert bool(at.alive[0, :-1].all())


@TOKENIZERS
def test_a_row_that_was_cut_ends_with_the_start_of_the_next_answer(tokenizer):
    format = Pair(tokenizer(), (START,))
    cut = token_batch([episode((*TURNS, told("end")), "cut")], format, Record(), max_length=1 << 30)
    prompt, _ = format.prompt("talk", (*TURNS, told("end")), "agent", 1 << 30)
    row = cut.tokens[0].tolist()
    assert tuple(row[-len(prompt) :]) == prompt
    assert row[int(positions(cut).next[0, -1])] == START, "its state has the value that is bootstrapped"
    ended = token_batch([episode((*TURNS, told("end")))], format, Record(), max_length=1 << 30)
    assert ended.tokens[0].tolist() == row[: -len(prompt)]


@TOKENIZERS
def test_drawn_tokens_are_never_written_anew(tokenizer):
    format = Pair(tokenizer(), (START, 5))
    drawn = said("x", ids=[7, 8, 9, 7])
    batch = token_batch([episode((told("the cat"), drawn))], format, Record(), max_length=1 << 30)
    assert batch.tokens[0].tolist()[-6:] == [START, 5, 7, 8, 9, 7]
    assert int(batch.is_action.sum()) == 4


@TOKENIZERS
def test_a_source_that_is_too_long_loses_its_oldest_turns(tokenizer):
    format = Pair(tokenizer(), (START,))
    whole = len(sides(format.prompt("talk", TURNS[:3], "agent", 1 << 30)[0])[0])
    prompt, first = format.prompt("talk", TURNS[:3], "agent", whole - 1)
    assert first == 2
    assert len(sides(prompt)[0]) < whole
    batch = token_batch([episode()], format, Record(), max_length=1 << 30, room=whole - 1)
    assert len(batch) == 2, "the second answer begins a row"
    assert batch.dropped == 2
    assert tuple(batch.tokens[1].tolist()[: len(prompt)]) == prompt


def test_an_answer_beyond_the_decoder_is_refused():
    format = Pair(byte_level(), (START,), longest=4)
    with pytest.raises(BadModel, match="the decoder takes at most 3"):
        token_batch([episode()], format, Record(), max_length=1 << 30)


def test_an_encoder_decoder_takes_the_plain_format():
    module = built("bart")
    assert isinstance(of_model("plain", module, sentence_piece()), Pair)
    with pytest.raises(BadSetting, match=r"model\.format = 'chat': an encoder-decoder \(bart\)"):
        of_model("chat", module, chatml())


def test_the_room_of_a_prompt_is_the_encoders_and_that_of_an_answer_the_decoders():
    module = built("bart")  # 48 positions on each side
    assert prompt_room(module, 46) == 48
    assert prompt_room(module, 47) < 1
    assert prompt_room(built("t5"), 500) == 1 << 30
    language = build(byte_level(), shape="bart", layers=1, width=16, heads=2, context=48, key=Key(0))
    assert Actor.build(language, decoding=Decoding(max_new_tokens=20), key=Key(1)).room == 48
    with pytest.raises(BadSetting, match="leaves no room"):
        _ = Actor.build(language, decoding=Decoding(max_new_tokens=60), key=Key(1)).room


def test_a_long_source_beside_a_long_answer_takes_no_place_of_the_decoder():
    language = build(byte_level(), shape="bart", layers=1, width=16, heads=2, context=64, key=Key(0))
    prompts, texts = ["the film " * 9, "a"], ["good", "was " * 15]
    both = nll(language, prompts, texts)
    alone = [nll(language, [prompt], [text])[0] for prompt, text in zip(prompts, texts)]
    assert [count for _, count in both] == [count for _, count in alone]
    assert [total for total, _ in both] == pytest.approx([total for total, _ in alone], rel=1e-5)


@pytest.mark.parametrize("shape", ["t5", "bart"])
def test_the_likelihood_of_a_text_after_its_prompt(shape):
    import torch

    language = build(byte_level(), shape=shape, layers=1, width=16, heads=2, context=64, key=Key(0))
    [(total, count)] = nll(language, ["the cat"], ["once upon"])
    format = of_model("plain", language.module, language.tokenizer)
    prompt, _ = format.prompt("", (told("the cat"),), "agent", 1 << 30)
    source, first = sides(prompt)
    target = [*first, *format.answer("once upon")]
    with torch.no_grad():
        logits = language.module(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target[:-1]])
        ).logits[0]
    chosen = torch.tensor(target[1:])[:, None]
    alone = -float(logits.log_softmax(-1).gather(1, chosen).double().sum())
    assert count == len(target) - 1
    assert total == pytest.approx(alone, rel=1e-5)
    with pytest.raises(BadModel, match="no likelihood of a joined text"):
        strided_loss(LanguageModel(language.module, language.tokenizer), "the cat", 4)
