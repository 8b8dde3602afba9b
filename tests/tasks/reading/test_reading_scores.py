"""Sufficiency, F1 and the measures of a corpus: I-10 to I-12 of the specification of iMRC."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loquent
from helpers.tasks.harvard import play, start, task
from loquent.core.agent import make
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.tasks.reading import games
from loquent.tasks.reading.corpus.tokens import lower_tokens
from loquent.tasks.reading.measures import better_when_larger, summary
from loquent.tasks.reading.scores import exact_match, f1, holds, needles, spans
from loquent.training.evaluate import evaluate_agent


@pytest.mark.parametrize(
    ("golds", "memory", "token", "substring"),
    [
        (["32"], ["in 1932 it"], 0, 1),
        (["the"], ["anything"], 0, 1),
        (["$"], ["anything"], 0, 1),
        ([""], ["anything"], 0, 1),
        (["cat"], ["a catalog"], 0, 1),
        (["$ 32 billion"], ["it was worth $ 32 billion in 2011"], 1, 1),
        (["the $32 billion"], ["worth 32, billion"], 1, 1),
        (["x", "billion in"], ["32 billion in"], 1, 1),
        (["one two three four"], ["zero one two ,", "three four five"], 1, 1),
        (["one two three four"], ["three four five", "zero one two ,"], 0, 0),
        (["Straße"], ["die straße"], 1, 1),
        (["é"], ["cafe e"], 0, 0),
    ],
)
def test_i_10_sufficiency(golds, memory, token, substring):
    assert (holds(golds, memory), holds(golds, memory, "substring")) == (token, substring)


def test_i_10_an_answer_over_two_sentences():
    sentences = ("zero", "one two", "three four")
    for moves, right in ((("next", "next"), 1.0), (("previous", "previous"), 0.0)):
        world = task()
        step = start(world, sentences, "which ?", ["two three"])
        assert dict(play(world, step, *moves, "stop")[-1].rewards) == {"sufficient": right}


def test_an_answer_inside_a_token_is_covered_by_it():
    world = task()
    step = start(world, ("It lasted from 1854–1856 in all",), "when ?", ["1854"])
    assert step.state.game.needles == (" 1854–1856 ",)
    assert dict(play(world, step, "stop")[-1].rewards) == {"sufficient": 1.0}


@pytest.mark.parametrize(
    ("golds", "memory", "found"),
    [
        (["32 billion"], ["it was worth $ 32 billion", "32 , billion"], [(4, 6), (6, 9)]),
        (["the cat", "cat sat"], ["the cat sat"], [(1, 2), (1, 3)]),
        (["two three"], ["one two .", "the three"], [(1, 5)]),
        (["three two"], ["one two .", "the three"], []),
        (["the", "$"], ["the $"], []),
        (["a a"], ["x"], []),
    ],
)
def test_where_the_answers_stand(golds, memory, found):
    assert spans(needles(golds, "token"), memory) == found


@given(
    st.lists(st.text("ab .,", max_size=8), max_size=3), st.lists(st.text("ab .,", max_size=12), max_size=3)
)
def test_answers_stand_where_the_memory_is_sufficient(golds, memory):
    texts = [" ".join(lower_tokens(sentence)) for sentence in memory]
    found = spans(needles((" ".join(lower_tokens(gold)) for gold in golds), "token"), texts)
    assert bool(found) == holds(golds, memory)


def test_spans_in_a_game():
    for row in (world := loquent.task("reading")).rows("test")[:50]:
        game = world.game(row)
        [(first, last)] = spans(game.needles, game.document.sentences)
        tokens = " ".join(game.document.sentences).split(" ")
        assert f1(" ".join(tokens[first:last]), row["answers"]) == 1


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("$ 32 billion", 1),
        ("32 billion in 2011", 2 / 3),
        ("$ 28 billion", 0.5),
        ("the $ 32 billion", 1),
        ("", 0),
        ("harvard", 0),
    ],
)
def test_i_11_f1(answer, score):
    assert f1(answer, ["$ 32 billion"]) == pytest.approx(score)
    assert f1(answer, ["nothing", "$ 32 billion"]) == pytest.approx(score)
    assert exact_match(answer, ["$ 32 billion"]) == (score == 1)


def test_i_11_answers_without_a_word_are_equal():
    assert (f1("the", ["$"]), exact_match("the", ["$"])) == (1.0, 1.0)


def test_i_12_the_identity_of_f1_info():
    world = loquent.task("reading", answer_phase=True)
    found = evaluate_agent(world, make("reading/words_in_order", world), split="test", episodes=120)
    ended = [(world.row("test", episode.row), episode.turns[-1].observation) for episode in found.episodes]
    rest = [pair for pair in ended if not pair[1].fields["sufficient"]]
    all_, others = summary(ended, 20, world.score), summary(rest, 20, world.score)
    share = all_["sufficient"]
    assert 0.1 < share < 0.9
    assert all_["f1"] == pytest.approx(share * all_["f1_info"] + (1 - share) * others["f1"])
    assert found.values["score/f1"] == pytest.approx(found.values["reward/f1"]) == pytest.approx(all_["f1"])
    assert found.values["score/sufficient"] == found.values["reward/sufficient"] == share
    assert "f1_info" not in others


def by_answers(row, answer):
    return f1(answer, row["answers"]), exact_match(answer, row["answers"])


def test_the_summary_by_hand():
    world = task(answer_phase=True)
    row = start(world)
    played = [("ctrl+f 2011", "ctrl+f 2011", "stop", "$28 billion"), (*["next"] * 20, "nothing")]
    fields = Row("x", Record(answers=("$32 billion",)))
    ended = [(fields, play(world, row, *game)[-1].observation) for game in played]
    assert summary(ended, 20, by_answers) == {
        "sufficient": 1.0,
        "discounted": (0.98**3 + 0.98**20) / 2,
        "steps_mean": 11.5,
        "stop_rate": 0.5,
        "n_games": 2.0,
        "found_rate": 1.0,
        "f1": 0.25,
        "em": 0.0,
        "steps_mean_penalised": 11.5,
        "f1_info": 0.25,
    }
    assert summary([ended[0]], 20, by_answers)["steps_mean_penalised"] == 3
    wrong = play(world, row, "next", "stop", "nothing")[-1].observation
    assert summary([(fields, wrong)], 20, by_answers)["steps_mean_penalised"] == 20
    assert summary([(fields, wrong)], 20, by_answers)["steps_mean"] == 2
    assert set(better_when_larger(summary(ended, 20, by_answers))) == {
        "sufficient",
        "discounted",
        "found_rate",
        "f1",
        "em",
        "f1_info",
    }
    assert summary([], 20, by_answers) == {}


def test_searches_are_counted_with_their_queries():
    """Invalid commands and moves are no searches."""
    world = task()
    steps = play(world, start(world), "ctrl+f 2011", "next", "ctrl+f", "ctrl+f Harvard", "stop")
    searched = [step.observation.fields["searched"] for step in steps]
    assert searched == [("2011",)] * 3 + [("2011", "harvard")] * 2
    assert (steps[-1].observation.fields["searches"], steps[-1].observation.fields["hits"]) == (2, 2)


def rewards(world, row, answer):
    step = world.act(world.start(row, Key(0)), "stop")
    return dict(world.act(step, answer).rewards)


@pytest.mark.parametrize("answer", ["£ 76 million", "£76 million", "the £76 Million."])
def test_an_answer_and_the_golds_are_tokenised_the_same_way(answer):
    world = loquent.task("reading", source="samples", answer_phase=True, reward="f1")
    row = world.row_from(
        {"context": "He won £76 million. End.", "question": "what ?", "answers": ["£76 million"]}
    )
    found = rewards(world, row, answer)
    assert (found["f1"], found["em"]) == (1.0, 1.0)
    assert rewards(world, row, "76 million")["f1"] == pytest.approx(0.8)  # 2 of 2 words, and 2 of 3
    step = world.act(world.start(row, Key(0)), "stop")
    assert world.expert(step.state) == "£ 76 million", "the oracle answers in tokens, as a pointer must"
    step = world.act(step, answer)
    assert dict(world.measure([(row, step.observation)]))["f1"] == 1.0


def test_an_answer_inside_a_token_may_be_the_token_or_the_answer():
    world = loquent.task("reading", source="samples", answer_phase=True)
    row = world.row_from(
        {"context": "It lasted from 1854–1856 in all.", "question": "when ?", "answers": ["1854"]}
    )
    assert [rewards(world, row, text)["em"] for text in ("1854–1856", "1854", "1856")] == [1.0, 1.0, 0.0]


def test_tokenised_rows_are_compared_by_their_own_tokens():
    world = loquent.task("reading", source="samples", answer_phase=True)
    fields = {"context": "It cost £76 in all .", "question": "what ?", "answers": ["£76"], "tokenised": True}
    row = world.row_from(fields)
    assert [rewards(world, row, text)["em"] for text in ("£76", "£ 76")] == [1.0, 0.0]


def pointed(world, row):
    """The score of the tokens of the first answer, as a perfect pointer says them."""
    return world.score(row, games.golds(row.fields, world.game(row).document)[0])


def test_a_perfect_pointer_is_always_right():
    world = loquent.task("reading", answer_phase=True)
    every = (row for split in ("train", "validation", "test") for row in world.rows(split))
    assert {pointed(world, row) for row in every} == {(1.0, 1.0)}


@pytest.mark.data
@pytest.mark.parametrize(
    ("source", "path"),
    [("squad", "squad_v1.1"), ("newsqa", "newsqa_standin_onestopqa/split_data")],
)
@pytest.mark.filterwarnings("ignore::loquent.core.settings.Remark")
def test_a_perfect_pointer_is_always_right_on_real_data(beside, source, path):
    world = loquent.task("reading", source=source, path=str(beside / "data" / path), splitter="whole")
    every = [row for split in ("train", "validation", "test") for row in world.rows(split)]
    assert len(every) > 500
    assert {pointed(world, row) for row in every} == {(1.0, 1.0)}


def test_the_discounted_shares_of_the_page_are_those_of_its_records():
    """docs/reading.md: the share times 0.98 to the power of the commands, QA-DQN beside the scripts."""
    file = Path(__file__).resolve().parents[3] / "docs" / "results" / "reading.jsonl"
    records = [json.loads(line)["rows"] for line in file.read_text().splitlines()]
    network = records[13]["qa_dqn"] | records[12]["qa_dqn"]
    searches, script = (records[1][f"reading/{name}"] for name in ("words_in_order, 6", "script"))
    found = {
        mode: [
            round(row[mode]["sufficient"] * 0.98 ** row[mode]["commands"], 3)
            for row in (network, searches, script)
        ]
        for mode in ("easy", "hard")
    }
    assert found == {"easy": [0.792, 0.802, 0.808], "hard": [0.804, 0.802, 0.822]}
    assert found["hard"][0] - found["hard"][1] == pytest.approx(0.002)
