"""The players of Wordle: each by its rule, its options, and what it returns on known lists."""

import numpy as np
import pytest

from helpers.tasks import wordle_lists as lists
from helpers.tracers.guess import Guess
from loquent.core import registry
from loquent.core.agent import Agent, make
from loquent.core.episode import Turn
from loquent.core.live import Live
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, LoquentError, UnknownName
from loquent.tasks.wordle.experts import CURATED
from loquent.tasks.wordle.marks import marks
from loquent.tasks.wordle.players import situation_of
from loquent.tasks.wordle.rules import Situation
from loquent.tasks.wordle.task import Wordle, WordleOptions

CERTAIN = ("wordle/in_order", "wordle/first", "wordle/frequent")
PLAYERS = [name for name in registry.names("agent") if name.startswith("wordle/") and name != "wordle/person"]


def written(tmp_path, *words):
    file = tmp_path / "words.txt"
    file.write_text("\n".join(words))
    return str(file)


def task_of(tmp_path, *words, **options):
    return Wordle(WordleOptions(words=written(tmp_path, *words), **options))


def board(secret, *guesses, rule="ilql"):
    return Situation(
        tuple((guess, marks(guess, secret, rule)) for guess in guesses), guesses, 6 - len(guesses)
    )


def rule(player, seen):
    """What a player may say, with its probability."""
    chances: dict[str, float] = {}
    for weight, choice in player.parts(seen):
        assert len(choice)
        for word in choice.all():
            chances[word] = chances.get(word, 0.0) + weight / len(choice)
    assert sum(chances.values()) == pytest.approx(1.0)
    return chances


def even(*words):
    return pytest.approx({word: 1 / len(words) for word in words})


# all players


def test_the_players_of_the_paper_are_there():
    names = (
        "start_word",
        "optimal",
        "repeat",
        "random_mixture",
        "wrong",
        "mixture",
        "monte_carlo",
        "consistent",
        "half",
        "random",
    )
    names += ("perfect", "in_order", "first", "frequent")  # our own
    assert sorted(PLAYERS) == sorted(f"wordle/{name}" for name in names)


@pytest.mark.parametrize("name", PLAYERS)
def test_players_are_registered_agents_and_keyed_by_the_question(name):
    task = Wordle(WordleOptions(limit=50))
    one = make(name, task)
    assert isinstance(one, Agent)
    assert one.name == name
    questions = [Live(task, row, 0, 3).question() for row in task.rows("train")[:10]]
    together = one.answer(questions)
    assert [one.answer([question])[0] for question in questions] == together
    assert {answer.text for answer in together} <= set(task.words)
    assert len({answer.text for answer in together}) > (
        0 if name in (*CERTAIN, "wordle/optimal", "wordle/start_word", "wordle/perfect") else 1
    )
    with pytest.raises(LoquentError, match=f"{name} plays wordle, not guess-v1"):
        make(name, Guess())


@pytest.mark.parametrize("name", sorted(set(PLAYERS) - {"wordle/monte_carlo"}))
def test_what_is_said_is_drawn_by_the_rule(name):
    # 2,000 second guesses: the chi-square of 2,000 draws over n words exceeds n + 4 sqrt(2n) + 4 less than
    # once in a thousand
    task = Wordle(WordleOptions(limit=6))
    one = make(name, task)
    now = board(task.words[4], task.words[0])
    chances = rule(one, now)
    said = [one.draw(now, Key(i).generator()) for i in range(2000)]
    assert set(said) <= set(chances)
    counts = np.array([said.count(word) for word in chances])
    expected = 2000 * np.array(list(chances.values()))
    assert ((counts - expected) ** 2 / expected).sum() < len(chances) + 4 * (2 * len(chances)) ** 0.5 + 4


def test_what_a_player_sees_is_the_board_and_all_that_was_said():
    task = Wordle()
    live = Live(task, task.row("train", "train:steel"), 0, 0)
    for text in ("crane", "x"):
        live.act(make("wordle/random", task).answer([live.question()])[0].__class__(text))
    assert situation_of(live.question()) == Situation((("crane", "bbbby"),), ("crane", "x"), 4)


def test_a_board_that_nothing_fits_is_answered_too(tmp_path):
    task = task_of(tmp_path, "crane", "slate")
    impossible = Situation((("crane", "ggggb"),), ("crane",), 5)
    for name in PLAYERS:
        assert make(name, task).draw(impossible, Key(0).generator()) in task.words


# the rules


def test_start_word_by_hand(tmp_path):
    task = task_of(tmp_path, "crane", "slate", "raise", "steel", "pound")
    one = make("wordle/start_word", task)
    assert len(set(CURATED)) == 28
    assert rule(one, Situation()) == even("crane", "slate", "raise")
    # steel against slate: gyybb, which slate alone is told
    assert rule(one, board("slate", "steel")) == even("slate")
    # no letter of pound is in steel, and crane has its n
    assert rule(one, board("steel", "pound")) == even("slate", "raise")
    assert rule(make("wordle/start_word", task, {"words": ("pound", "other")}), Situation()) == even("pound")
    assert rule(make("wordle/start_word", task, {"words": ("other",)}), Situation()) == even(*task.words)


def test_optimal_by_hand(tmp_path):
    task = task_of(tmp_path, "aaaaa", "aaaab", "aabbb", "ccccc")
    one = make("wordle/optimal", task)
    assert rule(one, Situation()) == even("aaaaa", "aaaab", "aabbb")
    # three words, each parted from each by each
    assert rule(one, board("aaaab", "ccccc")) == even("aaaaa", "aaaab", "aabbb")
    assert rule(one, board("aaaab", "aaaaa")) == even("aaaab")
    assert task.expert(task.start(task.rows("train")[0], Key(0)).state) == "aaaaa"
    with_start = make("wordle/optimal", task, {"start": Record(kind="wordle/start_word", words=("ccccc",))})
    assert rule(with_start, Situation()) == even("ccccc")
    # its first guess has been made, such as it was
    assert rule(with_start, Situation((), ("x",), 5)) == even("aaaaa", "aaaab", "aabbb")


def test_repeat_by_hand(tmp_path):
    task = task_of(tmp_path, "crane", "slate", "pound")
    one = make("wordle/repeat", task)
    assert rule(one, Situation()) == even(*task.words)
    said = Situation((), ("crane", "x", "crane", "pound"), 2)
    assert rule(one, said) == pytest.approx({"crane": 0.5, "x": 0.25, "pound": 0.25})
    assert rule(make("wordle/repeat", task, {"first": 2}), said) == even("crane", "x")
    assert rule(make("wordle/repeat", task, {"first": 2, "start": "wordle/start_word"}), Situation()) == even(
        "crane", "slate"
    )


def test_random_mixture_by_hand(tmp_path):
    task = task_of(tmp_path, "crane", "slate", "pound", "sound")
    now = board("sound", "crane")  # bbbgb: pound and sound
    assert rule(make("wordle/consistent", task), now) == even("pound", "sound")
    assert rule(make("wordle/random", task), now) == even(*task.words)
    quarter = {"prob_smart": 0.25}
    assert rule(make("wordle/random_mixture", task, quarter), now) == pytest.approx(
        {"crane": 3 / 16, "slate": 3 / 16, "pound": 5 / 16, "sound": 5 / 16}
    )
    own = tmp_path / "own.txt"
    own.write_text("found\nmound\nzebra")
    # its own words only: two of three fit, with 1/4 + 3/4 * 2/3 in all
    found = rule(make("wordle/random_mixture", task, {**quarter, "words": str(own)}), now)
    assert found == pytest.approx({"found": 1 / 8 + 1 / 4, "mound": 1 / 8 + 1 / 4, "zebra": 1 / 4})


def test_wrong_by_hand(tmp_path):
    task = task_of(tmp_path, "crane", "slate", "pound", "sound")
    one = make("wordle/wrong", task)
    assert rule(one, Situation()) == even(*task.words)  # all fit: nothing contradicts
    assert rule(one, board("sound", "crane")) == even("crane", "slate")
    own = tmp_path / "own.txt"
    own.write_text("sound\nzebra")
    assert rule(make("wordle/wrong", task, {"words": str(own)}), board("sound", "crane")) == even("zebra")
    alone = tmp_path / "alone.txt"
    alone.write_text("sound")
    assert rule(make("wordle/wrong", task, {"words": str(alone)}), board("sound", "crane")) == even("sound")


def test_mixture_by_hand(tmp_path):
    task = task_of(tmp_path, "crane", "slate", "pound", "sound")
    now = board("sound", "crane")
    one = make(
        "wordle/mixture",
        task,
        {"prob_first": 0.25, "first": "wordle/consistent", "second": Record(kind="wordle/wrong")},
    )
    assert rule(one, now) == pytest.approx({"pound": 1 / 8, "sound": 1 / 8, "crane": 3 / 8, "slate": 3 / 8})
    for share, name in ((1.0, "wordle/consistent"), (0.0, "wordle/wrong")):
        only = make(
            "wordle/mixture",
            task,
            {"prob_first": share, "first": "wordle/consistent", "second": "wordle/wrong"},
        )
        assert rule(only, now) == rule(make(name, task), now)
    deep = make(
        "wordle/mixture",
        task,
        {"first": Record(kind="wordle/mixture", first="wordle/wrong", second="wordle/wrong")},
    )
    assert rule(deep, now)["crane"] == pytest.approx(1 / 2 * 1 / 2 + 1 / 2 * 1 / 4)


def test_the_cheap_scripts_by_hand(tmp_path):
    task = task_of(tmp_path, "crane", "pound", "slate", "sound")
    in_order, first, frequent = (make(name, task) for name in CERTAIN)
    now = board("sound", "crane")  # bbbgb: pound and sound
    assert [list(rule(one, Situation())) for one in (in_order, first)] == [["crane"], ["crane"]]
    # letters by words that have them: a 2, c 1, d 2, e 2, l 1, n 3, o 2, p 1, r 1, s 2, t 1, u 2; so crane 9,
    # pound 10, slate 8, sound 11
    assert rule(frequent, Situation()) == even("sound")
    assert [list(rule(one, now)) for one in (in_order, first, frequent)] == [["pound"], ["pound"], ["pound"]]
    assert [rule(in_order, Situation((), ("x",) * k, 6 - k)) for k in (3, 5)] == [
        even("sound"),
        even("pound"),
    ]
    double = task_of(tmp_path, "ccccc", "laces", "races")  # a letter counts once: 3, 10, 10
    assert rule(make("wordle/frequent", double), Situation()) == even("laces")


# Monte Carlo


def test_monte_carlo_says_what_returned_most(tmp_path):
    # two words fit, and the sampled player says any of four: those that fit may win at once, and they are
    # found
    task = task_of(tmp_path, "crane", "slate", "pound", "sound")
    # one guess left: a word that fits returns 0 half of the time, others -1
    now = Situation(board("sound", "crane").board, ("crane",) * 5, 1)
    one = make("wordle/monte_carlo", task, {"samples": 200, "player": "wordle/random"})
    assert {one.draw(now, Key(i).generator()) for i in range(20)} == {"pound", "sound"}
    few = make("wordle/monte_carlo", task, {"samples": 1, "player": "wordle/random"})
    assert {few.draw(now, Key(i).generator()) for i in range(40)} == set(task.words)


def test_monte_carlo_keeps_the_first_of_equals(tmp_path):
    class Scripted:
        def __init__(self, words):
            self.words = iter(words)

        def draw(self, seen, rng):
            return next(self.words)

    task = task_of(tmp_path, "crane", "slate", "pound", "sound")
    one = make("wordle/monte_carlo", task, {"samples": 3})
    last = Situation((), ("x",) * 5, 1)
    one.sampled = Scripted(["zzzzz", "yyyyy", "zzzzz"])  # all return -1
    assert one.draw(last, Key(0).generator()) == "zzzzz"
    one.sampled = Scripted(["yyyyy", "zzzzz", "zzzzz"])
    assert one.draw(last, Key(0).generator()) == "yyyyy"


def test_monte_carlo_plays_to_the_end_and_never_looks_at_the_secret(tmp_path):
    task = task_of(tmp_path, "crane", "slate", "pound", "sound")
    one = make("wordle/monte_carlo", task, {"samples": 8})
    heard = []
    draw = one.sampled.draw
    one.sampled.draw = lambda seen, rng: heard.append(seen) or draw(seen, rng)
    questions = []
    for secret in ("pound", "sound"):
        live = Live(task, task.row("train", f"train:{secret}"), 0, 0)
        live.key = Key(5)
        live.act(one.answer([live.question()])[0].__class__("crane"))
        questions.append(live.question())
    assert questions[0].row["secret"] != questions[1].row["secret"]
    assert one.answer([questions[0]]) == one.answer([questions[1]])
    assert {len(seen.guesses) + seen.left for seen in heard} == {6}
    assert max(len(seen.guesses) for seen in heard) >= 2


def test_monte_carlo_beats_the_player_it_samples():
    task = Wordle(WordleOptions(limit=40))
    returns = {}
    for name, chosen in {
        "sampled": "wordle/half",
        "tried": {"kind": "wordle/monte_carlo", "samples": 60, "player": "wordle/half"},
    }.items():
        done = play(task, games(task.rows("train"), each=2), make(chosen, task), seed=1)
        returns[name] = [one.total(task.spec.rewards) for one in done]
    gain = np.array(returns["tried"]) - np.array(returns["sampled"])
    assert gain.mean() > 3 * gain.std() / len(gain) ** 0.5


# options


def test_options_out_of_range_and_players_that_are_none(tmp_path):
    task = Wordle(WordleOptions(limit=5))
    wrong = [
        (
            "wordle/random_mixture",
            {"prob_smart": 1.5},
            BadSetting,
            r"prob_smart must be in \[0, 1\], got 1.5",
        ),
        ("wordle/random_mixture", {"prob_smrt": 0.5}, BadSetting, "Nearest: prob_smart"),
        ("wordle/random_mixture", {"words": str(tmp_path / "none.txt")}, BadRow, "none.txt"),
        ("wordle/mixture", {"prob_first": -1.0}, BadSetting, "prob_first"),
        ("wordle/mixture", {"first": "wordle/optimum"}, UnknownName, "Did you mean 'wordle/optimal'"),
        (
            "wordle/mixture",
            {"first": "expert"},
            BadSetting,
            "wordle/mixture.first: expert has no rule of Wordle",
        ),
        (
            "wordle/mixture",
            {"second": Record(kind="wordle/repeat", frist=2)},
            BadSetting,
            "wordle/mixture.second: agent wordle/repeat has no setting 'frist'",
        ),
        ("wordle/monte_carlo", {"samples": 0}, BadSetting, "samples"),
        ("wordle/repeat", {"first": -1}, BadSetting, "first"),
        ("wordle/consistent", {"prob_smart": 0.5}, BadSetting, "the agent wordle/consistent has no options"),
    ]
    for name, options, kind, words in wrong:
        with pytest.raises(kind, match=words):
            make(name, task, options)


# play


@pytest.mark.parametrize("rule", ["ilql", "official"])
@pytest.mark.parametrize("name", ["wordle/consistent", "wordle/optimal", "wordle/start_word"])
def test_players_that_fit_never_contradict_a_mark(rule, name):
    task = Wordle(WordleOptions(rule=rule))
    for one in play(task, games(task.rows("train")[::10]), make(name, task), seed=0):
        said = [turn.text for turn in one.answers()]
        board = one.turns[-1].observation.fields["board"]
        for i, guess in enumerate(said):
            assert all(marks(before, guess, rule) == told for before, told in board[:i])


@pytest.mark.parametrize("name", ["wordle/random", "wordle/wrong"])
def test_other_players_contradict(name):
    task = Wordle()
    done = play(task, games(task.rows("train")[::50]), make(name, task), seed=0)
    boards = [one.turns[-1].observation.fields["board"] for one in done]
    assert not all(
        marks(before, guess) == told
        for board in boards
        for i, (guess, _) in enumerate(board)
        for before, told in board[:i]
    )


def test_repeat_wins_at_once_or_never():
    task = Wordle()
    for one in play(task, games(task.rows("train")[::40]), make("wordle/repeat", task, {"first": 2}), seed=0):
        said = [turn.text for turn in one.answers()]
        assert one.ended == "solved" if len(said) == 1 else set(said[1:]) <= {said[0]}
        assert isinstance(one.turns[0], Turn)


# real lists: mean returns known from games of the paper's code and of another program with the same rules,
# 2,000 or more of each

REPEAT = {"kind": "wordle/repeat", "first": 2, "start": "wordle/start_word"}
KNOWN = [
    (236, "wordle/consistent", -2.14),
    (431, "wordle/consistent", -2.41),
    (826, "wordle/consistent", -2.67),
    (2315, "wordle/consistent", -3.10),
    (236, "wordle/half", -3.14),
    (431, "wordle/half", -3.52),
    (826, "wordle/half", -3.79),
    (2315, "wordle/half", -4.24),
    (236, "wordle/random", -5.89),
    (431, "wordle/random", -5.95),
    (826, "wordle/random", -5.97),
    (2315, "wordle/random", -5.99),
    (236, REPEAT, -5.98),
    (431, REPEAT, -5.99),
    (826, REPEAT, -5.99),
    (236, "wordle/wrong", -5.99),
    (431, "wordle/wrong", -6.0),
    (826, "wordle/wrong", -5.99),
]


@pytest.mark.sweep("236-wordle/consistent--2.14", "2315-wordle/half--4.24", "431-wordle/random--5.95")
@pytest.mark.data
@pytest.mark.parametrize(("size", "chosen", "mean"), KNOWN)
def test_returns_on_known_lists(beside, tmp_path, size, chosen, mean):
    task = Wordle(WordleOptions(words=lists.path(beside, tmp_path, size)))
    queue = games(task.rows("test"), each=-(-1500 // size))
    returns = [one.total(task.spec.rewards) for one in play(task, queue, make(chosen, task), seed=5)]
    error = np.std(returns) * np.hypot(1 / len(returns) ** 0.5, 1 / 2000**0.5)
    assert abs(np.mean(returns) - mean) < max(3 * error, 0.02)  # the known ones are told to two decimals
    assert error < 0.06  # neighbours in the table lie many errors apart
