"""The utterance view of the golden rows, and rewards of tokens that were never drawn."""

from dataclasses import replace

import pytest
import torch

from helpers.models.format_cases import FORMATS, format_of, said, told
from helpers.models.token_rows import GUESS, ROWS, WORDLE, episode, padded
from loquent.core.metric import Context
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadReward
from loquent.metrics.function import FunctionMetric
from loquent.models.tokens.batch import positions, token_batch
from loquent.models.tokens.rewards import character_ends, ends_by, learner_rewards, with_token_rewards
from loquent.models.tokens.utterances import utterances
from loquent.rewards import Counting, Learner, Term, TokenTerm, build

# spec/ilql.md 3.2, last column: u_state / u_action / u_rew; the last state is where the game stands after its
# last answer
VIEWS = {
    "crane": ([0, 12], [6], [-1.0]),
    "crane, slate": ([0, 12, 25], [6, 18], [-1.0, 0.0]),
    "ab, slate": ([0, 3, 16], [3, 9], [-1.0, 0.0]),
    "crane, ab": ([0, 12, 15], [6, 15], [-1.0, -1.0]),
}


def view(batch, b=0):
    found = utterances(batch)
    real = found.real[b]
    return (
        [*found.state[b][real].tolist(), int(found.next[b][real][-1])],
        found.action[b][real].tolist(),
        found.reward[b][real].tolist(),
    )


@pytest.mark.parametrize("row", ROWS)
def test_utterances_of_the_golden_rows(row):
    batch = token_batch([ROWS[row][0]], format_of(WORDLE), GUESS, max_length=64)
    assert view(batch) == VIEWS[row]
    assert view(replace(batch, reward=batch.reward.roll(1, 1))) != VIEWS[row], "it can fail"


def test_utterances_in_one_batch_with_padding_and_an_empty_batch():
    batch = token_batch([game for game, _ in ROWS.values()], format_of(WORDLE), GUESS, max_length=64)
    for wide in (batch, padded(batch, 5)):
        assert [view(wide, b) for b in range(len(ROWS))] == list(VIEWS.values())
        found = utterances(wide)
        # of "crane" the second is padding
        assert found.alive.tolist() == [[True, False], [True, False], [True, False], [True, True]]
        assert found.real.tolist() == [[True, False], [True, True], [True, True], [True, True]]
        assert found.alive[0, 0]
    nothing = token_batch([episode(told(""))], format_of(WORDLE), GUESS, max_length=64)
    assert utterances(nothing).real.shape == (0, 0)


def test_a_reward_per_token_counts_for_its_utterance():
    game = episode(
        told(""), replace(said("ab"), rewards=Record(guess=-1.0)), told(""), said("cd"), ended="over"
    )
    scored = with_token_rewards(
        [game], [TokenTerm("spelled", lambda _, turn: [0.5] * len(turn.tokens.ids))], format_of(WORDLE)
    )
    batch = token_batch(scored, format_of(WORDLE), Record(guess=1.0, spelled=1.0), max_length=64)
    assert view(batch)[2] == [0.5, 1.5]  # -1 + 3 * 0.5, 3 * 0.5


# -- A13: rewards of tokens
# ------------------------------------------------------------------------------------------------------------


def test_specified_values_stand_at_the_position_before_their_token():
    # token 4 is "e" of "crane", at position 5 of <a>crane</a>; its state is position 4, where its reward is
    # read: 0.5 * 2 - 1 = 0
    [term], _ = build(
        {"tokens": {"of": "token_specified", "values": {4: 2.0}, "scale": 0.5, "shift": -1.0}}, Context()
    )
    [scored] = with_token_rewards([ROWS["crane"][0]], [term], format_of(WORDLE))
    batch = token_batch([scored], format_of(WORDLE), Record(guess=1.0, tokens=1.0), max_length=64)
    at = positions(batch)
    rewards = dict(zip(at.state[0].tolist(), batch.reward[0].gather(0, at.action[0]).tolist(), strict=True))
    # at the end marker the turn's own -1 is added
    assert rewards == {0: -1.0, 1: -1.0, 2: -1.0, 3: -1.0, 4: 0.0, 5: -2.0}
    assert scored.turns[1].tokens is None
    other = with_token_rewards(
        [ROWS["crane"][0]], [TokenTerm("tokens", lambda _, turn: [0.0] * 6)], format_of(WORDLE)
    )
    assert (
        token_batch(other, format_of(WORDLE), Record(guess=1.0, tokens=1.0), max_length=64).reward.tolist()
        != batch.reward.tolist()
    )


def test_a_constant_is_added_to_every_token():
    [term], _ = build({"tax": {"of": "token_constant", "value": -0.25}}, Context())
    for row, (game, _) in ROWS.items():
        [scored] = with_token_rewards([game], [term], format_of(WORDLE))
        taxed = token_batch([scored], format_of(WORDLE), Record(guess=1.0, tax=1.0), max_length=64)
        plain = token_batch([game], format_of(WORDLE), GUESS, max_length=64)
        assert torch.equal(taxed.reward, plain.reward - 0.25 * plain.is_action), row
        assert scored.total(Record(tax=1.0)) == -0.25 * int(plain.is_action.sum())


def test_a_term_of_another_length_is_refused_and_no_terms_change_nothing():
    game = ROWS["crane"][0]
    with pytest.raises(BadReward, match="it returned 1 scores; it must return 6 floats, one per token"):
        with_token_rewards([game], [TokenTerm("short", lambda *_: [1.0])], format_of(WORDLE))
    assert with_token_rewards([game], [], format_of(WORDLE)) == [game]


# -- what the characters of tokens are
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "text", [" a good film . it was", "naïve 👍🏽 e\u0301 猫", "", "  two\n\nlines ", "x" * 60]
)
def test_characters_said_with_each_token(kind, text):
    format = format_of(kind)
    ids = list(format.answer(text))
    whole = format.text(ids, ids)
    ends = character_ends(ids, whole, format)
    assert len(ends) == len(ids)
    assert list(ends) == sorted(ends)
    assert not ids or ends[-1] == len(whole)
    for i, end in enumerate(ends):
        so_far = format.text(ids[: i + 1], ids)
        if "\ufffd" not in so_far and whole.startswith(so_far):
            assert end == len(so_far), "as a decoder says that reads all of it each time"
    assert set(character_ends(ids, whole[:3], format)) <= set(range(4)), (
        "a text that was stopped before its tokens were"
    )


def test_a_format_tells_a_learner_and_scores_stand_on_tokens_that_were_never_drawn():
    format = format_of("plain")
    term = Term(
        "words",
        FunctionMetric(lambda samples: [float(len(text.split())) for text in samples.predictions]),
        "",
        Counting(place="token"),
    )
    learner = Learner([term], ends=ends_by(format))
    game = episode(told("go"), said(" a b"), ended="over")
    [scored] = learner_rewards([term], [game], {game.row: Row(game.row)}, learner, format)
    answer = scored.turns[1]
    assert answer.tokens is None
    assert sum(answer.token_rewards["words"]) == 2.0
    assert len(answer.token_rewards["words"]) == len(format.answer(" a b"))
    assert token_batch([scored], format, Record(words=1.0), max_length=64).reward.sum() == 2.0
    assert ends_by(None) is None
    [plain] = learner_rewards(
        [replace(term, counting=Counting())], [game], {game.row: Row(game.row)}, learner, format
    )
    assert plain.turns[1].rewards == Record(words=2.0)
