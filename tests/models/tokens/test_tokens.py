from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.models.format_cases import format_of, ids_of, said, told
from helpers.models.token_rows import GUESS, MARKS, PLAIN, ROWS, WORDLE, episode, padded
from loquent.core.episode import Tokens, Turn
from loquent.core.values import Record
from loquent.errors import BadModel, BadReward, LoquentError
from loquent.models.tokens.batch import TokenBatch, positions, token_batch
from loquent.models.tokens.support import Support


def drawn(ids, support=None, **rewards):
    logprobs = -np.arange(1, len(ids) + 1) / 8
    return Turn(
        "agent",
        "x",
        tokens=Tokens(np.array(ids, dtype=np.int64), logprobs, logprobs - 1, support),
        rewards=Record(rewards),
    )


# -- the golden rows of spec/ilql.md 3.2: raw strings, L, state_idxs, action_idxs, rewards, terminals
# ------------------------------------ A wordle begins with nothing told; "<b><b><g><b><g>" are the marks of


def reading(batch, b=0):
    """A row as the reference lays it out: L, state_idxs, action_idxs (of the states that predict), rewards,
    terminals.
    """
    at = positions(batch)
    real = at.real[b]
    states = [*at.state[b][real].tolist(), int(at.next[b][real][-1])]
    terminals = [0] + [1 - int(alive) for alive in at.alive[b][real]]
    rewards = batch.reward[b].gather(0, at.action[b][real]).tolist()
    return int(batch.real[b].sum()), states, at.state[b][real].tolist(), rewards, terminals


@pytest.mark.parametrize("row", ROWS)
def test_golden_rows(row):
    game, golden = ROWS[row]
    assert reading(token_batch([game], format_of(WORDLE), GUESS, max_length=64)) == golden


def test_golden_rows_in_one_batch_and_with_longer_padding():
    games = [game for game, _ in ROWS.values()]
    batch = token_batch(games, format_of(WORDLE), GUESS, max_length=64)
    longer = padded(batch, 7)
    for b, (_, golden) in enumerate(ROWS.values()):
        assert reading(batch, b) == golden
        assert reading(longer, b) == golden


def test_the_empty_golden_row_is_one_start_token_and_no_action():
    # []: L 1, state_idxs [0], no action: such an episode has no row, and is counted
    empty = episode(told(""))
    assert ids_of(format_of(WORDLE).pieces("", empty.turns, "agent")) == (33,)
    batch = token_batch([empty, ROWS["crane"][0]], format_of(WORDLE), GUESS, max_length=64)
    assert (len(batch), batch.left_out, batch.episode.tolist()) == (1, 1, [1])
    nothing = token_batch([empty], format_of(WORDLE), GUESS, max_length=64)
    assert (len(nothing), nothing.left_out) == (0, 1)
    assert positions(nothing).action.shape == (0, 0)


def test_the_golden_rows_can_fail():
    game, golden = ROWS["crane, slate"]
    assert (
        reading(token_batch([replace(game, ended=None)], format_of(WORDLE), GUESS, max_length=64)) != golden
    )  # no </eod>, not terminal
    # another tokenizer
    assert reading(token_batch([game], format_of("ilql"), GUESS, max_length=64)) != golden
    batch = token_batch([game], format_of(WORDLE), GUESS, max_length=64)
    assert reading(replace(batch, reward=batch.reward.roll(1, 1))) != golden
    touching, golden = ROWS["ab, slate"]
    apart = replace(touching, turns=(*touching.turns[:2], told(MARKS), *touching.turns[3:]))
    assert reading(token_batch([apart], format_of(WORDLE), GUESS, max_length=64)) != golden


# -- rewards
# ------------------------------------------------------------------------------------------------------------


def test_a_reward_stands_on_the_last_action_token_and_terms_per_token_on_theirs():
    # three tokens and a weight of 1/2 on "style" (per token) and 2 on "score" (per turn); "unused" has no
    # weight
    turn = replace(
        drawn([4, 5, 6], score=1.0, unused=9.0),
        token_rewards=Record(style=(1.0, 0.0, -1.0), other=(7.0, 7.0, 7.0)),
    )
    batch = token_batch(
        [episode(told("a"), turn, ended="done")],
        format_of(PLAIN),
        Record(score=2.0, style=0.5),
        max_length=64,
    )
    assert batch.reward.tolist() == [[0.0, 0.0, 0.5, 0.0, 1.5]]
    assert float(batch.reward.sum()) == episode(told("a"), turn).total(Record(score=2.0, style=0.5))


def test_a_reward_without_a_token_goes_to_the_answer_before_it_or_after_it():
    silent, spoken = drawn([], score=1.0), drawn([4, 5], score=2.0)
    for turns in ((told("a"), silent, told(""), spoken), (told("a"), spoken, told(""), silent)):
        batch = token_batch(
            [episode(*turns, ended="done")], format_of(PLAIN), Record(score=1.0), max_length=64
        )
        assert batch.reward[batch.is_action].tolist() == [0.0, 3.0]


@pytest.mark.parametrize("name", ["drawn_logprob", "policy_logprob"])
@pytest.mark.parametrize("wrong", [float("nan"), float("-inf")])
def test_a_log_probability_that_is_none_is_refused(name, wrong):
    turn = drawn([4, 5], score=1.0)
    unknown = replace(turn, tokens=replace(turn.tokens, **{name: np.array([-0.5, wrong])}))
    with pytest.raises(BadModel, match=rf"turn 1 of the episode row#0 of toy-v1 has a {name} of {wrong}"):
        token_batch([episode(told("a"), unknown)], format_of(PLAIN), Record(score=1.0), max_length=64)
    assert (
        len(token_batch([episode(told("a"), turn)], format_of(PLAIN), Record(score=1.0), max_length=64)) == 1
    )


def test_what_was_recorded_is_kept_to_the_bit():
    turn = drawn([4, 5], score=0.1)
    turn = replace(
        turn,
        tokens=replace(
            turn.tokens, drawn_logprob=np.array([-0.1, -0.3]), policy_logprob=np.array([-0.7, -1.1])
        ),
    )
    batch = token_batch([episode(told("a"), turn)], format_of(PLAIN), Record(score=1.0), max_length=64)
    columns = [
        column[batch.is_action].tolist()
        for column in (batch.reward, batch.drawn_logprob, batch.policy_logprob)
    ]
    assert columns == [[0.0, 0.1], [-0.1, -0.3], [-0.7, -1.1]]  # in float32 each would differ


@pytest.mark.parametrize(
    ("turn", "why"),
    [(drawn([4], score=float("nan")), "not finite"), (drawn([4], score=float("inf")), "not finite")],
)
def test_a_reward_that_is_not_finite_is_refused(turn, why):
    with pytest.raises(BadReward, match=why):
        token_batch([episode(told("a"), turn)], format_of(PLAIN), Record(score=1.0), max_length=64)


def test_a_reward_per_token_of_another_length_is_refused():
    turn = replace(drawn([4, 5]), token_rewards=Record(style=(1.0,)))
    with pytest.raises(BadReward, match=r"style gives 1 rewards for the 2 tokens of turn 1 of row#0"):
        token_batch([episode(told("a"), turn)], format_of(PLAIN), Record(style=1.0), max_length=64)
    # without a weight nobody reads it
    assert len(token_batch([episode(told("a"), turn)], format_of(PLAIN), Record(), max_length=64))


# -- rows
# ------------------------------------------------------------------------------------------------------------


def test_the_last_observation_is_in_the_row_only_where_a_value_is_bootstrapped():
    (a,), (b,) = format_of(PLAIN).encoder.encode("a"), format_of(PLAIN).encoder.encode("b")
    turns = told("a"), drawn([7, 0]), told("b")
    lengths = {
        ended: token_batch([episode(*turns, ended=ended)], format_of(PLAIN), GUESS, max_length=64)
        for ended in ("done", "cut", None)
    }
    assert lengths["done"].tokens.tolist() == [[0, a, 7, 0]]
    assert lengths["cut"].tokens.tolist() == lengths[None].tokens.tolist() == [[0, a, 7, 0, b]]
    assert [batch.ended.tolist() for batch in lengths.values()] == [[True], [False], [False]]
    # cut within an answer, nothing told after it: the state whose value is wanted is the last drawn token's
    # own
    cut = token_batch(
        [episode(told("a"), replace(drawn([7]), stopped="length"), told(""), ended="cut")],
        format_of(PLAIN),
        GUESS,
        max_length=64,
    )
    assert cut.tokens.tolist() == [[0, a, 7]]
    assert positions(cut).next.tolist() == [[2]]
    chat = format_of("chat")  # the state before the next answer stands at the end of the markers that open it
    batch = token_batch([episode(told("a"), said("b"), told("c"))], chat, GUESS, max_length=64)
    assert (
        tuple(batch.tokens[0].tolist()) == chat.prompt("", [told("a"), said("b"), told("c")], "agent", 64)[0]
    )


def rounds(n, length=2):
    turns = []
    for i in range(n):
        turns += [told("abcdefgh"[i]), drawn([10 + i] * (length - 1) + [0], score=float(i))]
    return turns


def test_an_answer_before_which_turns_were_dropped_begins_a_row_of_exactly_what_it_was_drawn_after():
    # start and rounds of 3 ids; room 6 holds the start and one whole round and the letter of the next (1 + 3
    # + 1 = 5 <= 6 < 8)
    format, turns, score = format_of(PLAIN), (*rounds(4), told("z")), Record(score=1.0)
    batch = token_batch([episode(*turns, ended="done")], format, score, max_length=9, room=6)
    assert (len(batch), batch.dropped) == (3, 4)
    assert batch.episode.tolist() == [0, 0, 0]
    assert batch.ended.tolist() == [False, False, True]
    answers = [i for i, turn in enumerate(turns) if turn.seat == "agent"]
    seen = set()
    for b in range(len(batch)):
        for number in batch.turn[b][batch.is_action[b]].unique().tolist():
            first = int((batch.is_action[b] & (batch.turn[b] == number)).nonzero()[0])
            assert tuple(batch.tokens[b, :first].tolist()) == format.prompt("", turns[:number], "agent", 6)[0]
            seen.add(number)
    assert sorted(seen) == answers  # each answer once
    assert float(batch.reward.sum()) == 6.0
    # a row that goes on ends with the next observation: its last real token is the next state
    continued = batch.tokens[0][batch.real[0]].tolist()
    assert continued[-1] == format.encoder.encode("c")[0]
    assert not positions(batch).alive.all()
    one = token_batch([episode(*turns, ended="done")], format, score, max_length=64)
    assert (len(one), one.dropped) == (1, 0)


@settings(max_examples=80)
@given(data=st.data())
def test_every_answer_stands_once_after_its_prompt_whatever_the_room(data):
    format = format_of(data.draw(st.sampled_from([PLAIN, "ilql", "plain, spaces before texts", "chat"])))
    least = 40 if format is format_of("chat") else 14
    room = data.draw(st.integers(least, least + 20))
    turns = []
    for _ in range(data.draw(st.integers(1, 5))):
        turns += [
            told(data.draw(st.text("the on", max_size=8))),
            drawn(data.draw(st.lists(st.integers(5, 30), max_size=4)), score=1.0),
        ]
    turns = (*turns, told("on"))
    ended = data.draw(st.sampled_from([None, "cut", "done"]))
    batch = token_batch(
        [episode(*turns, ended=ended)], format, Record(score=1.0), max_length=room + 4, room=room
    )
    assert batch.tokens.shape[1] <= room + 4
    found = []
    for b in range(len(batch)):
        for number in batch.turn[b][batch.is_action[b]].unique_consecutive().tolist():
            here = batch.is_action[b] & (batch.turn[b] == number)
            assert batch.tokens[b][here].tolist() == turns[number].tokens.ids.tolist()
            first = int(here.nonzero()[0])
            assert (
                tuple(batch.tokens[b, :first].tolist()) == format.prompt("", turns[:number], "agent", room)[0]
            )
            found.append(number)
    assert found == [i for i, turn in enumerate(turns) if turn.tokens is not None and len(turn.tokens.ids)]
    if len(batch):
        assert batch.ended.tolist() == [False] * (len(batch) - 1) + [ended == "done"]
        assert float(batch.reward.sum()) == sum(turn.seat == "agent" for turn in turns)


def test_an_observation_that_had_to_be_cut_is_cut_in_the_batch_too_and_counted():
    format = format_of(PLAIN)
    turns = told("0123456789"), drawn([7, 0])
    batch = token_batch([episode(*turns, ended="done")], format, GUESS, max_length=7, room=5)
    assert (batch.dropped, batch.cut) == (0, 6)
    assert tuple(batch.tokens[0, :5].tolist()) == format.prompt("", turns[:1], "agent", 5)[0]


def test_an_answer_longer_than_a_row_is_refused():
    with pytest.raises(
        BadModel, match=r"turn 1 of the episode row#0 of toy-v1 is an answer of 9 tokens, too long for a row"
    ):
        token_batch([episode(told("a"), drawn([7] * 9))], format_of(PLAIN), GUESS, max_length=10)
    assert len(token_batch([episode(told("a"), drawn([7] * 9))], format_of(PLAIN), GUESS, max_length=11))
    # "on" is one token, but "▁" and "on" where it comes to stand first
    spaces = format_of("plain, spaces before texts")
    with pytest.raises(BadModel, match=r"turn 3 of row#0 ends at token 4; a row has at most 3"):
        token_batch([episode(told(""), drawn([5]), told(""), said("on"))], spaces, GUESS, max_length=3)


def test_only_the_tokens_of_one_seat_are_actions():
    turns = told("a"), drawn([7]), Turn("task", "b", to="judge"), Turn("judge", "c"), told("d"), drawn([8])
    batch = token_batch([episode(*turns, ended="done")], format_of(PLAIN), GUESS, max_length=64)
    assert batch.turn[batch.is_action].tolist() == [1, 5]
    assert set(batch.turn[0].tolist()) == {-1, 0, 1, 4, 5}  # the judge's turns are not seen
    judge = token_batch([episode(*turns, ended="done")], format_of(PLAIN), GUESS, max_length=64, seat="judge")
    assert set(judge.turn[judge.is_action].tolist()) == {3}


# -- what was recorded when tokens were drawn
# -------------------------------------------------------------------------------------------


def some_support(n, seed=0, vocabulary=512):
    return Support.pack(
        torch.rand(n, vocabulary, generator=torch.Generator().manual_seed(seed)) < 0.3, temperature=0.5
    )


def test_recorded_logprobs_stand_on_their_tokens_or_are_absent_together():
    batch = token_batch(
        [episode(told("a"), drawn([7, 8]), told("b"), drawn([9]))], format_of(PLAIN), GUESS, max_length=64
    )
    assert batch.drawn_logprob[batch.is_action].tolist() == [-0.125, -0.25, -0.125]
    assert batch.policy_logprob[batch.is_action].tolist() == [-1.125, -1.25, -1.125]
    assert (batch.drawn_logprob[~batch.is_action] == 0).all()
    assert batch.support is None
    mixed = token_batch(
        [episode(told("a"), drawn([7, 8]), told("b"), said("c"))], format_of(PLAIN), GUESS, max_length=64
    )
    assert mixed.drawn_logprob is None
    assert mixed.policy_logprob is None


def test_turns_without_a_support_have_the_full_one_beside_those_that_have():
    support = some_support(2)
    turns = told("a"), said("b"), told("c"), drawn([7, 8], support), told("d"), drawn([9])
    batch = token_batch([episode(*turns)], format_of(PLAIN), GUESS, max_length=64)
    kept = batch.support.dense_mask()
    assert kept[2:4].equal(support.dense_mask())
    assert kept[[0, 1, 4]].all()
    assert batch.support.temperature.tolist() == [1.0, 1.0, 0.5, 0.5, 1.0]
    assert not kept[2:4].all()


def test_tokens_of_another_vocabulary_are_refused():
    size = format_of(PLAIN).vocabulary
    for ids, why in (
        ([5, size], f"has the token {size}; the tokenizer has 0..{size - 1}"),
        ([-1], "has the token -1"),
    ):
        with pytest.raises(BadModel, match=why):
            token_batch([episode(told("a"), drawn(ids))], format_of(PLAIN), GUESS, max_length=64)
    two = told("a"), drawn([7], some_support(1)), told("b"), drawn([7], some_support(1, vocabulary=600))
    with pytest.raises(BadModel, match="vocabularies of 512 and 600"):
        token_batch([episode(*two)], format_of(PLAIN), GUESS, max_length=64)
    with pytest.raises(BadModel, match="was drawn from 30 tokens"):
        token_batch(
            [episode(told("a"), drawn([7], some_support(1, vocabulary=30)))],
            format_of(PLAIN),
            GUESS,
            max_length=64,
        )
    with pytest.raises(BadModel, match="has 2 tokens, but support has 3 entries"):
        token_batch(
            [episode(told("a"), drawn([7, 8], some_support(3)))], format_of(PLAIN), GUESS, max_length=64
        )


# -- positions, take and to
# ------------------------------------------------------------------------------------------------------------


def batches(rows):
    """A strategy's rows of (is_action after the first token, ended) as a batch with supports that tell tokens
    apart.
    """
    width = max(len(actions) for actions, _ in rows) + 1
    real, is_action = (
        torch.zeros(len(rows), width, dtype=torch.bool),
        torch.zeros(len(rows), width, dtype=torch.bool),
    )
    for b, (actions, _) in enumerate(rows):
        real[b, : len(actions) + 1] = True
        is_action[b, 1 : len(actions) + 1] = torch.tensor(actions, dtype=torch.bool)
    tokens = torch.arange(real.numel()).reshape(real.shape)
    kept = torch.nn.functional.one_hot(tokens[is_action], max(int(real.numel()), 1)).bool()
    return TokenBatch(
        tokens=tokens,
        real=real,
        is_action=is_action,
        turn=tokens % 3,
        reward=tokens.float(),
        ended=torch.tensor([ended for _, ended in rows]),
        episode=torch.arange(len(rows)),
        value=tokens.float() / 2,
        bootstrap=torch.arange(len(rows)).float(),
        support=Support.pack(kept),
    )


some_rows = st.lists(st.tuples(st.lists(st.booleans(), max_size=8), st.booleans()), min_size=1, max_size=6)


@given(some_rows, st.integers(0, 5))
def test_positions_are_as_the_contract_says_and_do_not_see_padding(rows, more):
    at, wider = positions(batches(rows)), positions(padded(batches(rows), more))
    for field in fields(at):
        assert getattr(at, field.name).equal(getattr(wider, field.name))
    for b, (actions, ended) in enumerate(rows):
        places = [t + 1 for t, own in enumerate(actions) if own]
        states = [p - 1 for p in places]
        real = at.real[b]
        assert at.action[b][real].tolist() == places
        assert at.state[b][real].tolist() == states
        assert at.next[b][real].tolist() == [*states[1:], len(actions)][: len(places)]
        assert at.alive[b][real].tolist() == [
            not (j == len(places) - 1 and ended) for j in range(len(places))
        ]
        assert not at.alive[b][~real].any()


def test_a_row_that_begins_with_an_action_is_refused():
    batch = batches([([True, False], True)])
    first = batch.is_action.clone()
    first[0, 0] = True
    with pytest.raises(LoquentError, match="begins with an action"):
        positions(replace(batch, is_action=first, support=None))


@given(some_rows, st.data())
def test_rows_are_taken_with_their_support_and_no_wider_than_they_must_be(rows, data):
    batch = batches(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    part = batch.take(chosen)
    assert len(part) == len(chosen)
    assert part.tokens.shape[1] == max((len(rows[i][0]) + 1 for i in chosen), default=0)
    kept = part.support.dense_mask()
    # each token's set holds that token alone
    assert kept.nonzero()[:, 1].tolist() == part.tokens[part.is_action].tolist()
    for b, i in enumerate(chosen):
        for name in ("tokens", "reward", "value", "turn"):
            assert getattr(part, name)[b][part.real[b]].equal(getattr(batch, name)[i][batch.real[i]])
        assert part.bootstrap[b] == batch.bootstrap[i]
    twice = batch.take(chosen).take(list(range(len(chosen)))[::-1])
    assert twice.support.dense_mask().nonzero()[:, 1].tolist() == twice.tokens[twice.is_action].tolist()


def test_rows_are_taken_by_lists_integers_and_bools():
    batch = batches([([True], True), ([False, True], False), ([True, True, True], True)])
    for rows in ([0, 2], torch.tensor([0, 2]), torch.tensor([True, False, True]), np.array([0, 2])):
        assert batch.take(rows).tokens.equal(batch.take([0, 2]).tokens)
    assert batch.take([]).tokens.shape == (0, 0)


def test_a_support_that_is_not_aligned_is_refused():
    batch = batches([([True, False], True)])
    with pytest.raises(LoquentError, match="1 sets for 2 action tokens"):
        replace(batch, is_action=torch.tensor([[False, True, True]]))


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
        ),
    ],
)
def test_a_batch_moves_to_a_device(device):
    batch = batches([([True, False, True], False), ([True], True)]).to(device)
    assert {
        getattr(batch, field.name).device.type
        for field in fields(batch)
        if isinstance(getattr(batch, field.name), torch.Tensor)
    } == {device}
    assert positions(batch.take([1])).action.tolist() == [[1]]


def test_a_batch_of_a_rollout_is_built_in_milliseconds():
    import time

    support = some_support(48)
    games = [
        episode(told("x" * 63), drawn([7 + i % 9] * 48, support, guess=1.0), told(""), ended="done", number=i)
        for i in range(64)
    ]
    token_batch(games, format_of(PLAIN), GUESS, max_length=256)  # texts are cached from here on
    seconds = []
    for _ in range(7):
        start = time.process_time()
        batch = token_batch(games, format_of(PLAIN), GUESS, max_length=256)
        seconds.append(time.process_time() - start)
    assert batch.tokens.shape == (64, 112)
    assert min(seconds) < 0.02
