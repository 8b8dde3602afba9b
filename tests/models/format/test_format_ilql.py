"""The strings and ids of the paper's format (spec 3.1, 3.4), and texts that hold its markers (A11)."""

from dataclasses import replace

import pytest

from helpers.models.format_cases import format_of, ids_of, said, told
from helpers.models.token_rows import episode
from helpers.models.tokenizers_for_tests import MARKERS, byte_level, ilql_byte_level, wordle_characters
from loquent.core.values import Record
from loquent.models.format.ilql import Ilql
from loquent.models.tokens.batch import positions, token_batch
from loquent.models.tokens.utterances import utterances

CHARACTERS, BYTES = "ilql, 35 characters", "ilql"
SCORE = Record(score=1.0)


def whole(format, *turns, ended=None):
    """The ids of a game, as a batch has them."""
    batch = token_batch([episode(*turns, ended=ended)], format, SCORE, max_length=400)
    return batch.tokens[0].tolist()


def test_the_35_ids_of_wordle():
    names = [
        *"abcdefghijklmnopqrstuvwxyz",
        "<g>",
        "<b>",
        "<y>",
        "<|pad|>",
        "</a>",
        "</s>",
        "<s>",
        "<a>",
        "</eod>",
    ]
    vocabulary = wordle_characters().get_vocab()
    assert [vocabulary[name] for name in names] == list(range(35))
    format = format_of(CHARACTERS)
    assert (format.pad, format.end, format.closing, format.vocabulary) == (29, frozenset({30}), (34,), 35)
    assert ids_of(format.pieces("", [told("")], "agent")) == (33,)
    crane, marks = [2, 17, 0, 13, 4, 30], [27, 27, 26, 27, 26, 31]
    slate, won = [18, 11, 0, 19, 4, 30], [26] * 5 + [31]
    assert whole(format, told(""), said("crane"), told("<b><b><g><b><g>")) == [33, *crane, *marks]
    solved = whole(
        format,
        told(""),
        said("crane"),
        told("<b><b><g><b><g>"),
        said("slate"),
        told("<g><g><g><g><g>"),
        ended="solved",
    )
    assert solved == [33, *crane, *marks, *slate, *won, 34]
    assert whole(format, told(""), said("crane"), told("<b><b><g><b><g>"), ended="solved") != [
        33,
        *crane,
        *marks,
    ], "the end has its marker"


@pytest.mark.parametrize(
    ("turns", "ended", "text"),
    [
        (
            (told("CAPTION"), said("Q1?"), told("A1"), said("Q2?"), told("A2")),
            "guessed",
            "<s>CAPTION</s>Q1?</a>A1</s>Q2?</a>A2</s></eod>",
        ),
        ((told("PARENT"), said("COMMENT"), told("")), "said", "<s>PARENT</s>COMMENT</a></eod>"),
        ((told(""), said("COMMENT"), told("")), "said", "<a>COMMENT</a></eod>"),
        ((told("PARENT"), said("COMMENT"), told("")), None, "<s>PARENT</s>COMMENT</a>"),
    ],
)
def test_raw_strings(turns, ended, text):
    format = format_of(BYTES)
    assert format.encoder._rest.decode(whole(format, *turns, ended=ended), skip_special_tokens=False) == text


@pytest.mark.parametrize("kind", [CHARACTERS, BYTES])
def test_answers_come_back_from_their_ids(kind):
    format = format_of(kind)
    for text in ("crane", "a", "", "zzzzz"):
        piece = format.pieces("", [told("x"), said(text)], "agent")[2]
        assert format.text(piece.ids, before=(33,)) == text
        assert piece.ids[-1:] == tuple(format.end)


LITERAL = ("so </a> it ends", "</s>", "<a>more</a>", "</eod>", "<s></s><a></a></eod>", "</a></a>")


@pytest.mark.parametrize("kind", [CHARACTERS, BYTES])
@pytest.mark.parametrize("text", LITERAL)
def test_a_marker_in_a_comment_makes_no_boundary(kind, text):
    format = format_of(kind)
    turns = (
        told("x"),
        replace(said(text), rewards=Record(score=1.0)),
        told(text),
        replace(said("b"), rewards=Record(score=2.0)),
        told(""),
    )
    plain = (
        told("x"),
        replace(said("y"), rewards=Record(score=1.0)),
        told("y"),
        replace(said("b"), rewards=Record(score=2.0)),
        told(""),
    )
    batch = token_batch(
        [episode(*turns, ended="said"), episode(*plain, ended="said")], format, SCORE, max_length=400
    )
    markers = [
        wordle_characters().get_vocab()[name]
        if kind == CHARACTERS
        else format.encoder._rest.token_to_id(name)
        for name in MARKERS
    ]
    rows = [[i for i in batch.tokens[b][batch.real[b]].tolist() if i in markers] for b in (0, 1)]
    assert rows[0] == rows[1], "the markers of a game with such texts are those of one without"
    found = utterances(batch)
    assert found.real.tolist() == [[True, True]] * 2
    assert found.reward.tolist() == [[1.0, 2.0]] * 2
    at = positions(batch)
    for b, (turn, seat) in ((0, (1, turns[1])), (0, (3, turns[3]))):
        own = batch.tokens[b][(batch.turn[b] == turn) & batch.is_action[b]].tolist()
        assert tuple(own) == format.answer(seat.text)
        assert own.count(markers[3]) == 1
    assert at.real.sum(1).tolist()[0] == len(format.answer(text)) + len(format.answer("b"))


@pytest.mark.parametrize("text", LITERAL)
def test_by_tokenising_the_whole_string_a_boundary_would_be_made(text):
    """The trap: the same string, tokenised in one piece, holds markers that nobody wrote."""
    shared = ilql_byte_level()
    assert set(shared(text, add_special_tokens=False)["input_ids"]) & {
        shared.get_vocab()[name] for name in MARKERS
    }


def test_stop_is_an_action_of_one_token_as_released():
    """Spec 3.4: the tokenizer of dialogues has the token `<stop>`, which ends a game as an answer's text."""
    format = Ilql(byte_level(*MARKERS, "<stop>"))
    stop = format.encoder._rest.token_to_id("<stop>")
    assert format.answer("<stop>") == (stop, *format.end)
    assert format.text(format.answer("<stop>"), before=(stop,)) == "<stop>"
    answer = format.answer("enough <stop>")
    assert answer.count(stop) == 1
    assert format.text(answer) == "enough <stop>"
    row = whole(format, told("CAPTION"), said("<stop>"), ended="stopped")
    assert format.encoder._rest.decode(row, skip_special_tokens=False) == "<s>CAPTION</s><stop></a></eod>"
    without = format_of(BYTES)  # a tokenizer without the token writes its characters
    assert without.text(without.answer("<stop>")) == "<stop>"
    assert len(without.answer("<stop>")) > 2
