"""What values say of recorded answers: which of two Q ranks higher, and what they hold for best and worst."""

import math
from dataclasses import replace

import pytest
import torch

from helpers.models.small_models import gpt2
from helpers.models.small_values import plainly, values_of
from helpers.models.tokenizers_for_tests import wordle_characters
from loquent.core.episode import TASK, Episode, Turn
from loquent.core.values import EMPTY
from loquent.errors import BadSetting, LoquentError
from loquent.models.format.names import Ilql
from loquent.models.inspect.ranking import pair_batches, q_ranking
from loquent.models.inspect.readings import readings
from loquent.models.inspect.top_advantages import advantages_of_texts
from loquent.models.tokens.batch import token_batch

MARKS = "<b><y><g><b><b>"
FORMAT = Ilql(wordle_characters())


def game(*words, marks=MARKS, number=0):
    turns = [Turn(TASK, "", to="agent")]
    for word in words:
        turns += [Turn("agent", word), Turn(TASK, marks if len(word) == 5 else "", to="agent")]
    return Episode("wordle-v1", "row", "train", 0, number, tuple(turns), "solved")


def ids(*words):
    """The ids up to the end of the last word, by hand: a..z are 0..25, <g> <b> <y> 26 to 28, </a> 30, </s>
    31, <a> 33.
    """
    found = [33]
    for i, word in enumerate(words):
        found += [ord(letter) - 97 for letter in word] + [30]
        if i + 1 < len(words):
            found += [27, 28, 26, 27, 27, 31] if len(word) == 5 else []
    return found


@pytest.fixture(scope="module", params=["separate", "shared"])
def model(request):
    module = gpt2(vocabulary=35, context=128)
    return module, values_of(module, request.param, value_min=-1.5, value_max=1.5)


def by_hand(module, values, *words):
    """(online Q, target Q, V) of every token of the last word, each state read on its own."""
    whole, found = ids(*words), []
    first = len(whole) - len(words[-1]) - 1
    for place in range(first, len(whole)):
        _, q, v = plainly(module, values, whole[:place])
        trunk = module.base_model if values.value_trunk is None else values.value_trunk
        with torch.no_grad():
            hidden = trunk(input_ids=torch.tensor([whole[:place]])).last_hidden_state[:, -1]
            online = min(float(head(hidden)[0, whole[place]]) for head in values.q_heads)
        found.append((online, float(q[whole[place]]), float(v)))
    return found


def test_readings_by_hand(model):
    games = [("crane", "slate"), ("ab", "house"), ("zzzzz",)]
    batch = token_batch([game(*words) for words in games], FORMAT, EMPTY, max_length=128)
    for budget in (8192, 30):
        read = readings(*model, batch, token_budget=budget)
        for row, words in enumerate(games):
            wanted = [each for n in range(len(words)) for each in by_hand(*model, *words[: n + 1])]
            got = torch.stack(list(read), -1)[row][batch.is_action[row]]
            assert torch.allclose(got, torch.tensor(wanted, dtype=torch.float64), atol=1e-9)
    assert float(read.advantage.abs().max()) > 0.1
    assert (read.q[~batch.is_action] == 0).all()


PAIRS = [
    (("crane", "slate"), ("crane", "crane")),
    (("house",), ("mouse",)),
    (("crane", "spoon"), ("crane", "ab")),
    (("opera",), ("optic",)),
]


def test_ranking_by_hand(model):
    pairs = [(game(*mine, "later"), game(*its), 2 * len(mine) - 1) for mine, its in PAIRS]
    better, other = pair_batches(pairs, FORMAT, max_length=128)
    found = q_ranking(*model, better, other)
    tokens = [
        [list(zip(ids(*words)[-len(words[-1]) - 1 :], by_hand(*model, *words))) for words in pair]
        for pair in PAIRS
    ]
    for place, ranked in enumerate(found, 1):
        above, n = [0, 0], 0
        for mine, its in tokens:
            if min(len(mine), len(its)) < place or [t for t, _ in mine[: len(mine) - place + 1]] == [
                t for t, _ in its[: len(its) - place + 1]
            ]:
                continue
            n += 1
            above = [
                count + (mine[-place][1][kind] > its[-place][1][kind]) for kind, count in enumerate(above)
            ]
        assert (ranked.place, ranked.n, ranked.online, ranked.target) == (
            place,
            n,
            above[0] / n,
            above[1] / n,
        )
    # "ab" has 3 tokens; the first letters of opera and optic are the same, and the second: nothing to rank
    # there
    assert [ranked.n for ranked in found] == [4, 4, 4, 3, 2, 2]
    swapped = q_ranking(*model, other, better)
    assert [one.online for one in swapped] == [pytest.approx(1 - one.online) for one in found]
    # what is clipped may be equal, and neither is above
    assert all(mine.target + its.target <= 1 for mine, its in zip(found, swapped))


def test_ranking_sees_what_values_know():
    module = gpt2(vocabulary=35, context=128)
    values = values_of(module)
    with torch.no_grad():  # a Q that knows one letter: 'e' is good, for the targets 'a' is
        for heads, letter in ((values.q_heads, 4), (values.target_heads, 0)):
            for head in heads:
                head.outer.weight.zero_()
                head.outer.bias.zero_()
                head.outer.bias[letter] = 1.0
    pairs = [(game("eerie"), game("aabba"), 1)] * 3 + [(game("eerie"), game("eabba"), 1)]
    found = q_ranking(module, values, *pair_batches(pairs, FORMAT, max_length=64))
    first = found[5]  # the first letters: e against a three times, and once the same
    assert (first.n, first.online, first.target) == (3, 1.0, 0.0)
    assert first.as_json() == (
        {
            "place": 6,
            "n": 3,
            "rows": 1,
            "online": 1.0,
            "target": 0.0,
            "online_error": None,  # three pairs of one row are no more than one, which shows no spread
            "target_error": None,
        }
    )
    assert found[0].online == found[0].target == 0.0  # </a> is the same to both: not above
    short = q_ranking(module, values, *pair_batches([(game("ab"), game("cd"), 1)], FORMAT, max_length=64))[5]
    assert short.as_json() == {
        "place": 6,
        "n": 0,
        "rows": 0,
        "online": None,
        "target": None,
        "online_error": None,
        "target_error": None,
    }


def test_errors_are_clustered_by_the_rows_of_both_sides():
    module = gpt2(vocabulary=35, context=128)
    values = values_of(module)
    with torch.no_grad():
        for head in (*values.q_heads, *values.target_heads):
            head.outer.weight.zero_()
            head.outer.bias.zero_()
            head.outer.bias[4] = 1.0
    # rows a, a, b, c; the better answer wins in the pairs of a alone: share 1/2
    # by rows: sums of deviations 1, -1/2, -1/2, so the squared error is 3/2 * (1 + 1/4 + 1/4) / 16 = 9/64
    words = [
        ("eerie", "aabba", "a"),
        ("eerie", "aabba", "a"),
        ("aabba", "eerie", "b"),
        ("aabba", "eerie", "c"),
    ]
    pairs = [(replace(game(x), row=row), replace(game(y), row=row), 1) for x, y, row in words]
    first = q_ranking(module, values, *pair_batches(pairs, FORMAT, max_length=64))[5]
    assert (first.n, first.rows, first.online) == (4, 3, 0.5)
    assert first.online_error == pytest.approx(3 / 8)
    alone = [
        (replace(game(x), row=str(n)), replace(game(y), row=str(n)), 1) for n, (x, y, _) in enumerate(words)
    ]
    free = q_ranking(module, values, *pair_batches(alone, FORMAT, max_length=64))[5]
    assert free.online_error == pytest.approx(math.sqrt(0.25 / 3))
    # the better episodes have four rows, the other ones a single row
    shared = [(replace(x, row=str(n)), y, turn) for n, (x, y, turn) in enumerate(pairs)]
    crossed = q_ranking(module, values, *pair_batches(shared, FORMAT, max_length=64))[5]
    assert crossed.online_error == pytest.approx(first.online_error), "the other side counts too"


def test_batches_that_are_no_pairs_are_refused(model):
    better, other = pair_batches([(game("crane"), game("slate"), 1)] * 2, FORMAT, max_length=64)
    with pytest.raises(LoquentError, match="1 episodes have no counterpart, number 1"):
        q_ranking(*model, better, other.take([0]))


def test_histories_that_are_cut_still_compare_the_last_answers(model):
    pairs = [(game("crane", "slate", "house"), game("crane", "slate", "mouse"), 5)]
    whole = q_ranking(*model, *pair_batches(pairs, FORMAT, max_length=128))
    # the oldest turns are dropped and a row begins anew
    short = q_ranking(*model, *pair_batches(pairs, FORMAT, max_length=24))
    assert [one.n for one in short] == [one.n for one in whole] == [1] * 6


def test_advantages_of_utterances_by_hand(model):
    games = [("crane", "slate"), ("crane", "house"), ("ab", "slate")]
    batch = token_batch([game(*words) for words in games], FORMAT, EMPTY, max_length=128)
    found = advantages_of_texts(*model, batch, FORMAT)

    def gained(*words):  # T - V over a word's letters, its end marker left out
        return [target - v for _, target, v in by_hand(*model, *words)][:-1]

    wanted = {
        "crane": [sum(gained("crane"))] * 2,
        "slate": [sum(gained("crane", "slate")), sum(gained("ab", "slate"))],
        "house": [sum(gained("crane", "house"))],
        "ab": [sum(gained("ab"))],
    }
    assert {one.text: (one.count, one.advantage) for one in found} == {
        text: (len(sums), pytest.approx(sum(sums) / len(sums))) for text, sums in wanted.items()
    }
    assert [one.advantage for one in found] == sorted((one.advantage for one in found), reverse=True)
    assert [one.text for one in advantages_of_texts(*model, batch, FORMAT, min_count=2)] == [
        one.text for one in found if one.count == 2
    ]
    pairs = {one.text: one for one in advantages_of_texts(*model, batch, FORMAT, n=2)}
    letters = gained("crane")
    assert pairs["ra"].advantage == pytest.approx(letters[1] + letters[2])
    assert pairs["ra"].count == 2
    assert pairs["ab"].advantage == pytest.approx(sum(gained("ab")))
    assert set(pairs) == {word[i : i + 2] for words in games for word in words for i in range(len(word) - 1)}
    assert advantages_of_texts(*model, batch, FORMAT, n=6) == []  # no utterance is so long


def test_answers_of_nothing_but_their_end_count_as_such(model):
    empty = replace(game("crane"), turns=(Turn(TASK, "", to="agent"), Turn("agent", "")))
    batch = token_batch([empty], FORMAT, EMPTY, max_length=128)
    assert advantages_of_texts(*model, batch, FORMAT) == []
    for wrong in ({"n": 0}, {"min_count": 0}):
        with pytest.raises(BadSetting, match="at least 1"):
            advantages_of_texts(*model, batch, FORMAT, **wrong)
