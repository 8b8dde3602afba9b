"""The token view: golden arrays (spec rl4lms E2), and that every draw is a text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.data.features.token_view import ACTIONS, END, PAD, TokenView, encode
from loquent.errors import BadSetting, InvalidAction
from loquent.tasks.generation.task import Generation
from loquent.tasks.generation.views import render


def test_prompt_and_answer_by_hand():
    # spec E2: P = 4, T = 3, prompt [5, 6], actions 7, 8 -> input [pad pad pad 5 6 7 8], real [0 0 0 1 1 1 1]
    arrays = TokenView(prompt_length=4, answer_length=3).join([5, 6], [7, 8])
    assert {name: ids.tolist() for name, ids in arrays.items()} == {
        "prompt": [PAD, PAD, 5, 6],
        "prompt_real": [0, 0, 1, 1],
        "answer": [PAD, 7, 8],
        "answer_real": [0, 1, 1],
        "input": [PAD, PAD, PAD, 5, 6, 7, 8],
        "input_real": [0, 0, 0, 1, 1, 1, 1],
    }
    assert (
        TokenView(prompt_length=4, answer_length=3).join([5, 6], [8, 7])["input"].tolist()
        != arrays["input"].tolist()
    )  # it can fail


def test_a_longer_prompt_loses_its_beginning_and_the_end_is_seen():
    view = TokenView(prompt_length=3, answer_length=2)
    arrays = view.array(Observation("abcd", Record(prompt="abcd", answer="")), [ord("e"), END])
    assert arrays["input"].tolist() == [ord("b"), ord("c"), ord("d"), ord("e"), END]
    assert view.text([ord("e"), END]) == "e"


@given(st.text(max_size=20), st.lists(st.integers(0, ACTIONS - 1), max_size=8))
def test_every_draw_is_in_the_space_and_is_a_text(prompt, drawn):
    view = TokenView(prompt_length=10, answer_length=8)
    observation = Observation(prompt, Record(prompt=prompt, answer=""))
    assert view.space.contains(view.array(observation, drawn))
    view.text(drawn).encode("utf-8")


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
def test_bytes_give_the_text_back(text):
    assert TokenView(answer_length=100).text([*encode(text), END]) == text


def test_why_an_answer_is_over():
    view = TokenView(answer_length=2)
    assert [view.stop_reason(drawn) for drawn in ([], [1], [END], [1, END], [1, 2])] == [
        None,
        None,
        "end",
        "end",
        "length",
    ]


@pytest.mark.parametrize("action", [-1, ACTIONS, PAD, 1.0, "a", True, None])
def test_a_malformed_action_is_refused(action):
    view = TokenView()
    with pytest.raises(InvalidAction, match="0 to 256"):
        view.array(Observation("a", Record(prompt="a", answer="")), [action])
    assert view.action_space.n == 257
    assert view.array(Observation("a", Record(prompt="a", answer="")), [np.int64(5)])["answer"][-1] == 5


def test_too_many_tokens_and_no_length_are_refused():
    with pytest.raises(InvalidAction, match="has 3 tokens; it must have at most 2"):
        TokenView(answer_length=2).text([1, 2, 3])
    with pytest.raises(BadSetting):
        TokenView(answer_length=0)


def test_lone_surrogates_and_the_picture_for_people():
    assert encode("a\ud800") == (97, 63)
    task = Generation()
    step = task.act(task.start(task.rows("test")[0], Key(0)), " so it was")
    assert render(step.observation) == task.rows("test")[0]["prompt"] + "| so it was"
