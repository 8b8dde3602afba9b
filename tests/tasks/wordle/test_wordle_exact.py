"""The exact value of players: against closed forms, a recursion written out, play, and figures known from the
paper's code.
"""

from itertools import product

import numpy as np
import pytest

from helpers.tasks import wordle_lists as lists
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.errors import LoquentError
from loquent.tasks.wordle import perfect as perfect_module
from loquent.tasks.wordle.exact import Value, value
from loquent.tasks.wordle.marks import marks
from loquent.tasks.wordle.rules import Situation
from loquent.tasks.wordle.task import Wordle, WordleOptions

START = {"kind": "wordle/optimal", "start": "wordle/start_word"}


def small(limit=20, **options):
    return Wordle(WordleOptions(limit=limit, **options))


def test_a_value_by_hand():
    # solved at guess 1 with 1/4, at guess 3 with 1/4, never with 1/2: mean -(0 + 2/4 + 6/2) = -3.5; mean
    # square 4/4 + 36/2 = 19, variance 6.75
    one = Value((0.25, 0.0, 0.25, 0.0, 0.0, 0.0))
    assert (one.wins, one.mean) == (0.5, -3.5)
    assert one.deviation == pytest.approx(6.75**0.5)


@pytest.mark.parametrize("size", [5, 20])
def test_the_random_player_has_a_closed_form(size):
    # each guess is right with 1/n, whatever was said before
    found = value(make("wordle/random", small(size)))
    assert found.solved == pytest.approx([(1 - 1 / size) ** k / size for k in range(6)])
    assert found.mean == pytest.approx(-sum((1 - 1 / size) ** k for k in range(1, 7)))


def test_repeating_and_contradicting_win_at_once_or_never():
    for name in ("wordle/repeat", "wordle/wrong"):
        assert value(make(name, small(12))).solved == pytest.approx([1 / 12, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("size", [8, 30])
def test_without_reading_marks_no_player_returns_more(size):
    assert value(make("wordle/in_order", small(size))).mean == pytest.approx(-6 + 21 / size)


def test_two_words_by_hand(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("crane\nslate\n")
    task = Wordle(WordleOptions(words=str(file)))
    assert value(make("wordle/optimal", task)).solved == (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    # the half-random player: 1/2 at once; then the other is known, and said with 1/2 + 1/4 in each turn
    assert value(make("wordle/half", task)).solved == pytest.approx(
        [0.5, *(0.5 * 0.75 * 0.25**k for k in range(5))]
    )


def written_out(player, rule):
    """The same value by a recursion over secrets and boards that knows neither tables nor equal
    situations.
    """
    words = player.lexicon.words

    def after(secret, seen):
        found = np.zeros(6)
        for weight, choice in player.parts(seen):
            for guess in choice.all():
                share = weight / len(choice)
                told = (
                    ((guess, marks(guess, secret, rule)),) if player.task.read(None, guess) == guess else ()
                )
                if guess == secret:
                    found[6 - seen.left] += share
                elif seen.left > 1:
                    found += share * after(
                        secret, Situation((*seen.board, *told), (*seen.guesses, guess), seen.left - 1)
                    )
        return found

    return sum(after(secret, Situation()) for secret in words) / len(words)


PLAYERS = [
    "wordle/optimal",
    START,
    "wordle/half",
    {"kind": "wordle/repeat", "first": 1, "start": "wordle/start_word"},
    {"kind": "wordle/mixture", "prob_first": 0.25, "second": "wordle/wrong"},
    {"kind": "wordle/mixture", "first": "wordle/frequent", "second": "wordle/first"},
    {"kind": "wordle/mixture", "prob_first": 0.75, "second": "wordle/repeat"},
]


@pytest.mark.parametrize(("chosen", "rule"), list(product(PLAYERS, ("ilql", "official"))))
def test_the_enumeration_is_the_recursion_written_out(chosen, rule):
    player = make(chosen, small(4, rule=rule))
    found = value(player)
    assert found.solved == pytest.approx(written_out(player, rule).tolist(), abs=1e-12)
    assert 0 < found.wins <= 1 + 1e-12


@pytest.mark.sweep("any")
@pytest.mark.parametrize("guesses", ["any", "words"])
def test_a_player_with_words_of_its_own_is_enumerated_too(tmp_path, guesses):
    file = tmp_path / "own.txt"
    file.write_text("\n".join(small(4).words[:2]) + "\ncrwth")
    task = small(4, guesses=guesses)
    player = make("wordle/random_mixture", task, {"prob_smart": 0.5, "words": str(file)})
    assert not player.memoryless
    assert value(player).solved == pytest.approx(written_out(player, "ilql").tolist(), abs=1e-12)


@pytest.mark.parametrize("chosen", ["wordle/half", START])
def test_the_exact_value_is_what_games_come_to(chosen):
    task = small(25)
    player = make(chosen, task)
    found = value(player)
    returns = [
        one.total(task.spec.rewards) for one in play(task, games(task.rows("train"), each=60), player, seed=4)
    ]
    assert abs(np.mean(returns) - found.mean) < 3 * found.deviation / len(returns) ** 0.5 < 0.15
    assert np.std(returns) == pytest.approx(found.deviation, rel=0.1)


def fewest(words, rule, fitting, left):
    """The fewest wrong guesses, summed over the fitting secrets, by trying every word in every situation."""
    if left == 0:
        return 0
    costs = []
    for guess in words:
        told = {}
        for secret in fitting:
            told.setdefault(marks(guess, secret, rule), []).append(secret)
        told.pop("ggggg", None)
        costs.append(sum(len(group) + fewest(words, rule, group, left - 1) for group in told.values()))
    return min(costs)


@pytest.mark.parametrize(("rule", "left"), list(product(("ilql", "official"), (1, 2, 3))))
def test_no_player_surpasses_the_perfect_one(tmp_path, rule, left):
    file = tmp_path / "alike.txt"
    file.write_text(
        "\n".join(["mound", "round", "sound", "hound", "bound", "pound", "wound", "found", "abbey"])
    )
    for task in (Wordle(WordleOptions(words=str(file), rule=rule)), small(9, rule=rule)):
        perfect = make("wordle/perfect", task)
        cost, word = perfect._best(np.arange(len(task.words)), left)
        assert cost == fewest(task.words, rule, task.words, left)
        assert 0 <= word < len(task.words)


@pytest.mark.parametrize(("size", "expected"), [(25, None), (60, -1.45)])
def test_the_perfect_player_s_value(size, expected):
    task = small(size)
    best = value(make("wordle/perfect", task)).mean
    assert best >= value(make("wordle/optimal", task)).mean - 1e-12
    assert expected is None or best == pytest.approx(expected, abs=1e-12)
    assert expected is None or best > value(make("wordle/optimal", task)).mean + 0.03, (
        "to know most is not always best"
    )


def test_the_perfect_player_gives_up_where_it_would_take_too_long(monkeypatch):
    monkeypatch.setattr(perfect_module, "MOST", 2)
    with pytest.raises(
        LoquentError,
        match=r"wordle/perfect has searched 2 situations, the most allowed; use fewer words \(limit\) or "
        r"wordle/optimal",
    ):
        value(make("wordle/perfect", small(100)))


def test_too_many_situations_and_no_closed_form_are_refused():
    with pytest.raises(LoquentError, match=r"wordle/half reaches more than 50 situations; play episodes"):
        value(make("wordle/half", small(20)), most=50)
    with pytest.raises(LoquentError, match=r"wordle/monte_carlo has no rule in closed form"):
        value(make("wordle/monte_carlo", small(5)))


# real lists


@pytest.mark.data
@pytest.mark.parametrize(
    ("size", "chosen", "mean"),  # exact figures known from the paper's code
    [
        (236, "wordle/optimal", -1.7458),
        (431, "wordle/optimal", -1.9420),
        (826, "wordle/optimal", -2.1557),
        (236, START, -1.8458),
        (431, START, -2.0193),
        (826, START, -2.2610),
    ],
)
def test_exact_values_on_parts_of_the_official_list(beside, tmp_path, size, chosen, mean):
    player = make(chosen, Wordle(WordleOptions(words=lists.path(beside, tmp_path, size))))
    assert round(value(player).mean, 4) == mean


@pytest.mark.sweep("wordle/optimal--2.585-0.013-0.9945")
@pytest.mark.data
@pytest.mark.parametrize(
    ("chosen", "mean", "error", "wins"),  # from games of the paper's code, with their standard errors
    [("wordle/optimal", -2.585, 0.013, 0.9945), (START, -2.634, 0.013, 0.995)],
)
def test_exact_values_on_the_official_list(beside, chosen, mean, error, wins):
    found = value(make(chosen, Wordle(WordleOptions(words=str(lists.official(beside))))))
    assert abs(found.mean - mean) < 3 * error
    assert abs(found.wins - wins) < 0.002


@pytest.mark.data
@pytest.mark.slow
def test_the_exact_value_of_the_consistent_player(beside, tmp_path):
    # known from 1,500 games of the paper's code with -2.125, from 2,000 of another with -2.141: -2.13 +- 0.03
    found = value(make("wordle/consistent", Wordle(WordleOptions(words=lists.path(beside, tmp_path, 236)))))
    assert abs(found.mean - -2.13) < 0.03
    assert round(found.mean, 4) == -2.1302


@pytest.mark.data
@pytest.mark.sweep("redrawn")
@pytest.mark.parametrize("secret", ["row", "redrawn"])
def test_a_redrawn_secret_returns_what_a_fixed_one_does_exactly(secret, beside, tmp_path):
    # 5,000 games and more of each kind against -2.1302, the exact value above, and -2.13 +- 0.03, known from
    # the paper's code
    task = Wordle(WordleOptions(words=lists.path(beside, tmp_path, 236), secret=secret))
    returns = [
        one.total(task.spec.rewards)
        for one in play(task, games(task.rows("train"), each=22), make("wordle/consistent", task), seed=8)
    ]
    assert len(returns) > 5000
    assert abs(np.mean(returns) - -2.1302) < 3 * np.std(returns) / len(returns) ** 0.5 < 0.035
    assert abs(np.mean(returns) - -2.13) < 0.03
