"""What the environments of tagging, labelling and answering show: in every form its own observation, and no
text that its space cannot hold.
"""

import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from loquent.errors import BadRow, BadSetting

TAGGING, LABELS, CHOICE = "loquent/SequenceTagging-v0", "loquent/MultiLabel-v0", "loquent/MultipleChoice-v0"
IDS = (TAGGING, LABELS, CHOICE)


@pytest.mark.parametrize("id", IDS)
def test_every_form_has_its_own_observation(id):
    """A view is asked for or it is the form's own: nobody is told to leave out what they have not given."""
    assert isinstance(gymnasium.make(id).reset(seed=0)[0], dict)
    assert gymnasium.make(id).unwrapped.form == "index"
    text = gymnasium.make(id, form="text").unwrapped
    seen, info = text.reset(seed=0)
    assert seen == info["observation"].text
    assert text.step("anything")[0] == text._game.step.observation.text
    assert isinstance(gymnasium.make(id, form="text", view="dict").reset(seed=0)[0], dict)
    assert isinstance(gymnasium.make(id, view="text").reset(seed=0)[0], str)
    token = gymnasium.make(id, form="token", prompt_length=100, answer_length=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(token.unwrapped)
    with pytest.raises(BadSetting, match="leave out `view`"):
        gymnasium.make(id, form="token", view="dict")


@pytest.mark.parametrize(
    ("id", "fields", "limit", "longer"),
    [
        (TAGGING, lambda text: {"tokens": ["a", text], "labels": ["O", "O"]}, 1 << 16, {}),
        (LABELS, lambda text: {"text": text, "labels": []}, 1 << 20, {"max_observation": 1 << 21}),
        (
            CHOICE,
            lambda text: {"question": "which?", "choices": ["a", text], "answer": "A"},
            1 << 20,
            {"max_observation": 1 << 21},
        ),
        (
            CHOICE,
            lambda text: {"question": "which?", "choices": ["a"], "facts": [text], "answer": "A"},
            1 << 20,
            {"max_observation": 1 << 21},
        ),
    ],
)
def test_what_a_dictionary_cannot_hold_is_refused_when_the_game_begins(id, fields, limit, longer):
    env = gymnasium.make(id).unwrapped
    seen, _ = env.reset(options={"sample": fields("x" * limit)})
    assert seen in env.observation_space
    assert env.step(1)[0] in env.observation_space
    with pytest.raises(
        BadRow, match=f"has {limit + 1:,} characters .*; a dictionary shows at most {limit:,}"
    ):
        env.reset(options={"sample": fields("x" * (limit + 1))})
    env = gymnasium.make(id, view="text", **longer).unwrapped
    env.reset(options={"sample": fields("x" * (limit + 1))})
