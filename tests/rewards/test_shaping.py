"""Potential-based shaping: what stands where by hand, the telescoping sum, and that advantages do not
change.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from loquent.algorithms.shared.gae import discounts, gae
from loquent.core.episode import Episode, Tokens, Turn
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.metrics.function import FunctionMetric
from loquent.rewards import Counting, Learner, Term, apply, build
from loquent.rewards.shaping import steps_of

ROWS = {"r": Row("r")}


def letters(samples):
    """A potential: letters said, and a tenth of those seen before."""
    return [
        len(text) + len(prompt) / 10 if text != "?" else None
        for text, prompt in zip(samples.predictions, samples.prompts, strict=True)
    ]


def answer(*parts):
    ids = np.arange(len(parts))
    return Turn("agent", "".join(parts), tokens=Tokens(ids, ids * 0.0, ids * 0.0))


def game(*turns, ended="end"):
    return Episode("toy-v1", "r", "train", 0, 0, turns, ended)


def told(text):
    return Turn("task", text, to="agent")


def potential(place, **counting):
    return Term("phi", FunctionMetric(letters), "", Counting(potential=True, place=place, **counting))


PARTS = {"ab. c": ("a", "b.", " c"), "dd": ("dd", ""), "xyz": ("x", "yz", "")}
BY_TEXT = {text: np.cumsum([len(part) for part in parts]).tolist() for text, parts in PARTS.items()}
# phi(s0) = 0.2; ab. c: up to 5.2; dd after go, ab. c, on: 11 marks
TALK = (told("go"), answer(*PARTS["ab. c"]), told("on"), answer(*PARTS["dd"]))


def shaped(episode, place="token", gamma=0.5, discount="token", **counting):
    term = potential(place, **counting)
    [found] = apply(
        [term],
        [episode],
        ROWS,
        Learner([term], gamma=gamma, discount=discount, ends=lambda turn: BY_TEXT.get(turn.text, [])),
    )
    return found


def test_rewards_of_a_potential_per_token_by_hand():
    # phi: start 0.2; a 1.2; ab. 3.2; ab. c 5.2; then behind "go\nab. c\non" (11 characters): dd 3.1, its end
    # marker the same, and 0 at the end
    first, second = (shaped(game(*TALK)).turns[i].token_rewards["phi"] for i in (1, 3))
    assert first == pytest.approx((0.5 * 1.2 - 0.2, 0.5 * 3.2 - 1.2, 0.5 * 5.2 - 3.2))
    assert second == pytest.approx((0.5 * 3.1 - 5.2, 0 - 3.1))
    cut = shaped(game(*TALK, ended="cut")).turns[3].token_rewards["phi"]
    assert cut == pytest.approx((0.5 * 3.1 - 5.2, 0.5 * 3.1 - 3.1)), "a game that was cut keeps its potential"
    assert shaped(game(*TALK)).turns[3].rewards == Record({"phi/raw": 3.1}), (
        "the score itself is recorded raw"
    )


def test_rewards_of_a_potential_per_sentence_and_per_answer_by_hand():
    # sentences: nothing known before "ab." is over; the rest of an answer counts with its last token
    first = shaped(game(*TALK), "sentence").turns[1].token_rewards["phi"]
    assert first == pytest.approx((0.5 * 0.2 - 0.2, 0.5 * 3.2 - 0.2, 0.5 * 5.2 - 3.2))
    first, second = (
        shaped(game(*TALK), "answer", discount="turn").turns[i].token_rewards["phi"] for i in (1, 3)
    )
    assert first == pytest.approx((0.0, 0.0, 0.5 * 5.2 - 0.2)), "gamma stands at the end of an answer"
    assert second == pytest.approx((0.0, 0 - 5.2)), "a rule ended the game with it"
    assert shaped(game(*TALK), clip=(0.0, 1.0)).turns[1].token_rewards["phi"] == pytest.approx(
        (0.5 - 0.2, 0.5 - 1, 0.5 - 1)
    )


def test_answers_without_tokens_are_a_step_each_and_those_of_none_are_no_step():
    spoken = game(told("go"), Turn("agent", "abc"), told("on"), Turn("agent", "d"))
    found = shaped(spoken, gamma=0.5)  # phi: 0.2, 3.2, then behind 9 characters 1.9
    assert [turn.rewards.get("phi") for turn in found.turns] == [
        None,
        pytest.approx(0.5 * 3.2 - 0.2),
        None,
        pytest.approx(-3.2),
    ]
    silent = game(told("go"), answer(), told("on"), answer(*PARTS["dd"]))
    assert [
        one.number
        for one in steps_of(silent, "token", Learner([], ends=lambda turn: BY_TEXT.get(turn.text, [])))
    ] == [3]
    nothing = shaped(game(told("go"), answer()))
    assert nothing.total(Record(phi=1.0)) == 0.0


def test_a_text_without_a_score_leaves_the_potential_where_it_was():
    found = shaped(
        game(told("go"), Turn("agent", "ab"), told("on"), Turn("agent", "?"), told(""), Turn("agent", "c")),
        gamma=1.0,
    )
    assert [found.turns[i].rewards["phi"] for i in (1, 3, 5)] == [
        pytest.approx(2.0),
        0.0,
        pytest.approx(-2.2),
    ]


def test_none_but_a_learner_has_them():
    term = potential("token")
    assert apply([term], [game(*TALK)], ROWS) == [game(*TALK)]


plays = st.builds(
    lambda said, prompts, ended: game(
        *(
            turn
            for prompt, parts in zip(prompts, said, strict=False)
            for turn in (told(prompt), answer(*parts))
        ),
        ended=ended,
    ),
    st.lists(st.sampled_from([*PARTS.values()]), min_size=1, max_size=4),
    st.lists(st.text("pq", max_size=4), min_size=4, max_size=4),
    st.sampled_from(["end", "cut", None]),
)
places, units = st.sampled_from(["answer", "sentence", "token"]), st.sampled_from(["token", "turn"])
gammas = st.sampled_from([0.0, 0.5, 0.75, 0.984375, 1.0])  # as float32 holds them, which a learner has


def steps(episode):
    """The token rewards of all answers in order, and the number of the turn each belongs to."""
    rows = [
        (number, value)
        for number, turn in enumerate(episode.turns)
        for value in turn.token_rewards.get("phi", ())
    ]
    return torch.tensor([[number for number, _ in rows]]), torch.tensor(
        [[value for _, value in rows]], dtype=torch.float64
    )


@given(plays, places, units, gammas)
def test_discounted_rewards_telescope_to_the_first_potential(played, place, unit, gamma):
    turn, reward = steps(shaped(played, place, gamma, unit))
    factor = discounts(turn, torch.ones_like(turn, dtype=torch.bool), gamma, unit).to(reward)
    before = torch.cumprod(torch.cat([torch.ones(1, 1, dtype=torch.float64), factor], 1), 1)
    total = float((before[:, :-1] * reward).sum())
    start = letters(Samples([""], [()], [played.turns[0].text], [ROWS["r"]]))[0]
    last = letters(
        Samples(
            [played.turns[-1].text], [()], ["\n".join(one.text for one in played.turns[:-1])], [ROWS["r"]]
        )
    )[0]
    assert total == pytest.approx(
        -start + (float(before[0, -1]) * last if played.bootstraps else 0.0), abs=1e-9
    )


@given(plays, places, units, gammas, st.floats(0.0, 1.0), st.data())
def test_with_the_values_less_the_potential_no_advantage_changes(played, place, unit, gamma, lam, data):
    """Whatever the reward, the values and lambda: so no learner of advantages is drawn elsewhere."""
    turn, extra = steps(shaped(played, place, gamma, unit))
    real = torch.ones_like(turn, dtype=torch.bool)
    alive = real.clone()
    alive[:, -1] = played.bootstraps
    factor = discounts(turn, real, gamma, unit).to(extra)
    size = extra.shape[1]
    draw = data.draw(st.lists(st.floats(-3, 3), min_size=2 * size + 1, max_size=2 * size + 1))
    reward, value = (torch.tensor([draw[i * size : (i + 1) * size]], dtype=torch.float64) for i in (0, 1))
    end = torch.tensor(draw[-1:], dtype=torch.float64)
    phi = potentials(extra, factor, played)
    plain, _ = gae(reward, value, real, alive, end, factor, lam)
    moved, _ = gae(reward + extra, value - phi[:, :-1], real, alive, end - phi[:, -1], factor, lam)
    assert torch.allclose(plain, moved, atol=1e-9)
    wrong, _ = gae(reward + extra * 1.5, value - phi[:, :-1], real, alive, end - phi[:, -1], factor, lam)
    assert torch.allclose(plain, wrong, atol=1e-9) == bool(extra.abs().max() < 1e-8), (
        "the twin: a reward that is no potential's"
    )


def potentials(extra, factor, played):
    """phi of every state, from the rewards backwards: phi(s) = gamma phi(s') - F."""
    last = letters(
        Samples(
            [played.turns[-1].text], [()], ["\n".join(one.text for one in played.turns[:-1])], [ROWS["r"]]
        )
    )[0]
    found = [last if played.bootstraps else 0.0]
    for j in reversed(range(extra.shape[1])):
        found.insert(0, float(factor[0, j]) * found[0] - float(extra[0, j]))
    return torch.tensor([found], dtype=torch.float64)


def test_a_recipe_s_potential_is_built():
    [term], weights = build(
        {"shape": {"of": "length", "low": 3, "weight": 0.5, "potential": True, "place": "sentence"}},
        Context(),
    )
    assert term.counting == Counting(potential=True, place="sentence")
    assert weights == Record(shape=0.5)
    assert term.counting.for_learners
