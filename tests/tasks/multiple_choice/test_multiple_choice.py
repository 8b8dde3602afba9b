"""Multiple choice: the hand-worked episodes QA-1 to QA-8, forms of questions, passes, shuffled choices."""

import copy

import gymnasium
import numpy as np
import pytest

from loquent.agents.baselines import Random
from loquent.bench.conformance.check import check
from loquent.core.rollout.loop import Game, play
from loquent.core.seeding import Key
from loquent.errors import BadRow, BadSetting
from loquent.metrics.labels.set_scores import accuracy
from loquent.tasks.multiple_choice.task import ANSWER, CONTINUE, MultipleChoice

FLOWERS = {
    "question": "Flowers require _.",
    "facts": ["Insects pollinate.", "Flowers are pollinated."],
    "choices": {"A": "sugar", "B": "insects"},
    "answer": "B",
}


def task(**options):
    return MultipleChoice(MultipleChoice.Options(source="samples", **options))


def played(said, fields=FLOWERS, **options):
    world = task(**options)
    steps = [world.start(world.row_from(fields), Key(0))]
    for text in said:
        steps.append(world.act(steps[-1], text))
    return world, steps


def question(count, answer):
    return {
        "question": "which?",
        "choices": {"ABCDEFGH"[i]: f"choice {i}" for i in range(count)},
        "answer": answer,
    }


def rewards(world, steps):
    return [world.total(step.rewards) for step in steps[1:]]


def test_qa_1_the_figure_of_the_paper():
    world, steps = played([CONTINUE, ANSWER])
    assert rewards(world, steps) == [0.0, 1.0]
    assert [step.ended for step in steps] == [None, None, "answered"]
    assert [step.observation.fields["place"] for step in steps] == [0, 1, 1]
    assert world.info(steps[-1].state, "answered")["selected_choice"] == "B"
    assert [step.observation.text for step in steps] == [
        "Flowers require _.\nInsects pollinate.\nFlowers are pollinated.\nsugar:",
        "\ninsects:",
        "",
    ]


def test_qa_2_the_wrong_one_at_once():
    world, steps = played([ANSWER])
    assert rewards(world, steps) == [0.0]
    assert world.info(steps[-1].state, "answered") == {
        **{"selected_choice": "A", "forced_answer": False, "score": 0.0, "episode_score": 0.0},
        **{"prediction": "A", "target": "B", "is_success": False},
    }


@pytest.mark.parametrize(("gold", "want"), [("C", [0.0, 0.0, 1.0]), ("B", [0.0, 0.0, 0.0])])
def test_qa_3_going_on_at_the_last_choice_takes_it(gold, want):
    world, steps = played([CONTINUE] * 3, question(3, gold))
    assert rewards(world, steps) == want
    assert [step.ended for step in steps] == [None, None, None, "last choice"]
    told = world.info(steps[-1].state, "last choice")
    assert (told["selected_choice"], told["forced_answer"]) == ("C", True)


@pytest.mark.parametrize("said", [CONTINUE, ANSWER])
def test_qa_4_a_single_choice(said):
    world, steps = played([said], question(1, "A"))
    assert rewards(world, steps) == [1.0]


def test_qa_5_a_random_player_halves_its_chance_at_each_choice():
    world, n = task(), 4000
    row = world.row_from(question(8, "A"))
    episodes = play(world, [Game(row, i) for i in range(n)], Random(world), seed=5)
    taken = (
        np.bincount(
            [
                one.turns[-1].observation.fields["ids"].index(one.turns[-1].observation.fields["selected"])
                for one in episodes
            ],
            minlength=8,
        )
        / n
    )
    want = np.array([2.0**-k for k in range(1, 8)] + [2.0**-7])
    assert (np.abs(taken - want) < 3 * np.sqrt(want * (1 - want) / n)).all()
    assert not (np.abs(taken - want[::-1]) < 3 * np.sqrt(want * (1 - want) / n)).all()


def test_qa_6_odd_questions():
    world = task()
    assert world.row_from({**FLOWERS, "facts": []})["facts"] == ()
    _, steps = played(
        [CONTINUE, ANSWER], {**FLOWERS, "facts": ["  "], "choices": {"A": "東京", "B": "naïve 🙂"}}
    )
    assert steps[-1].observation.fields["choices"] == ("東京", "naïve 🙂")
    for fields, words in (
        ({**FLOWERS, "choices": {}}, "no choice"),
        ({**FLOWERS, "answer": "C"}, "answer is 'C'; it must be one of the choices A, B"),
        ({**FLOWERS, "choices": ["x", ""], "answer": "A"}, "choice 'B' is ''"),
        ({**FLOWERS, "choices": [["A", "x"], ["A", "y"]], "answer": "A"}, "belongs to two"),
        ({**FLOWERS, "question": " "}, "question is ' '"),
        ({**FLOWERS, "facts": [3]}, "facts are"),
        ({"question": {"stem": "x", "choices": [{"text": "a", "label": "A"}]}}, "'answerKey' is missing"),
        (
            question(8, "A") | {"choices": {str(i): "x" for i in range(27)}, "answer": "0"},
            "27 choices, more than max_choices = 26",
        ),
    ):
        with pytest.raises(BadRow, match=words):
            world.row_from(fields)


def test_all_forms_of_a_question_are_read_alike():
    flat = {"question": "q", "facts": ["f1", "f2"], "choices": ["a", "b"], "answer": "B"}
    forms = [
        flat,
        {**flat, "choices": [["A", "a"], ["B", "b"]]},
        {**flat, "choices": {"A": "a", "B": "b"}},
        {**flat, "ids": ["A", "B"]},
        {
            "question": {"stem": "q", "choices": [{"text": "a", "label": "A"}, {"text": "b", "label": "B"}]},
            **{"fact1": "f1", "fact2": "f2", "answerKey": "B"},
        },
        {
            "question": "q",
            "choices": {"text": ["a", "b"], "label": ["A", "B"]},
            "answerKey": "B",
            "facts": ["f1", "f2"],
        },
    ]
    rows = [task().row_from(form) for form in forms]
    assert all(row == rows[0] for row in rows)
    assert dict(rows[0].fields) == {
        "question": "q",
        "facts": ("f1", "f2"),
        "choices": ("a", "b"),
        "ids": ("A", "B"),
        "answer": "B",
    }
    assert task().row_from({**flat, "facts": "one text"})["facts"] == (
        "one text",
    )  # one text is one fact, not a fact for each letter


@pytest.mark.parametrize("shape", ["informed", "simple"])
def test_qa_7_vectors(shape):
    features = pytest.importorskip("loquent.data.features")
    featurizer = features.Hashed(dimension=16)
    world, steps = played([CONTINUE])
    space, view = features.view(world, featurizer, answering=shape)
    for step in steps:
        seen = view(step.observation)
        assert seen.dtype == np.float32
        assert seen in space
        choice = step.observation.fields["choices"][step.observation.fields["place"]]
        question, facts, chosen = featurizer([FLOWERS["question"], ". ".join(FLOWERS["facts"]), choice])
        if shape == "informed":
            assert seen.shape == (2,)
            assert (np.abs(seen) <= 1).all()
            # all of them have length 1
            np.testing.assert_allclose(seen, [question @ chosen, facts @ chosen], atol=1e-6)
        else:
            np.testing.assert_array_equal(seen, np.concatenate([question, facts, chosen]))
            assert not np.array_equal(seen, np.concatenate([facts, question, chosen]))


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({"facts": []}, [True, False]),
        ({"facts": ["  "]}, [True, False]),
        ({"choices": {"A": "--", "B": "insects"}}, [False, False]),
        ({"question": "??"}, [False, True]),
    ],
)
def test_qa_7_a_vector_of_zeros_has_the_cosine_nought(tmp_path, fields, want):
    """`want` tells which of the two cosines, with the question and with the facts, is another number."""
    features = pytest.importorskip("loquent.data.features")
    words = ["flowers", "require", "insects", "sugar", "pollinate", "are", "pollinated"]
    (tmp_path / "v.txt").write_text(
        "".join(f"{word} {i + 1} {(-1) ** i * 2}\n" for i, word in enumerate(words))
    )
    _, steps = played([CONTINUE], {**FLOWERS, **fields})
    space, view = features.view(task(), features.WordVectors(path=str(tmp_path / "v.txt")))
    seen = view(steps[0].observation)
    assert seen in space
    assert seen.tolist() == [
        number if there else 0 for number, there in zip(seen.tolist(), want, strict=True)
    ]
    assert [number != 0 for number in seen.tolist()] == want
    _, simple = features.view(task(), features.WordVectors(path=str(tmp_path / "v.txt")), answering="simple")
    zeros = [not part.any() for part in simple(steps[0].observation).reshape(3, 2)]
    assert zeros == ["question" in fields, "facts" in fields, "choices" in fields]


def test_qa_8_every_return_is_nought_or_one():
    world = MultipleChoice(MultipleChoice.Options(limit=60))
    games = [Game(row, i) for i, row in enumerate(world.rows("train"))]
    episodes = play(world, games, Random(world), seed=3)
    assert {one.total(world.spec.rewards) for one in episodes} == {0.0, 1.0}
    assert all(not turn.rewards for one in episodes for turn in one.answers()[:-1])
    assert all(turn.text != ANSWER for one in episodes for turn in one.answers()[:-1])


def test_api_13_accuracy_of_a_corpus():
    world = task()
    games = []
    for fields, said in (
        (FLOWERS, [CONTINUE, ANSWER]),
        (question(3, "C"), [ANSWER]),
        (question(2, "A"), [ANSWER]),
        (question(2, "A"), ["?", "?"]),
    ):
        row = world.row_from(fields)
        step = world.start(row, Key(0))
        for text in said:
            step = world.act(step, text)
        games.append((row, step.observation))
    before = copy.deepcopy(games)
    assert dict(world.measure(games)) == {"accuracy": 0.5}
    assert dict(world.measure([])) == {"accuracy": 0.0}
    assert games == before
    gold, said = ["A", "B"], ["A", ""]
    assert accuracy(gold, said) == 0.5
    assert (gold, said) == (["A", "B"], ["A", ""])
    with pytest.raises(ValueError, match="2 gold items and 1 predicted items"):
        accuracy(gold, said[:1])


def test_what_is_neither_word_goes_on_and_answers_nothing():
    world, steps = played(["perhaps", "perhaps"])
    assert [step.ended for step in steps] == [None, None, "no answer"]
    assert rewards(world, steps) == [0.0, 0.0]
    assert steps[-1].observation.fields["selected"] == ""


def test_choices_go_by_as_often_as_asked():
    _, steps = played([CONTINUE] * 4, passes=2)
    assert [(step.observation.fields["place"], step.observation.fields["passed"]) for step in steps] == [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
        (1, 1),
    ]
    assert steps[-1].ended == "last choice"


def test_shuffled_choices_are_those_of_the_game_s_stream():
    world = task(shuffle=True)
    row = world.row_from(question(8, "C"))
    orders = [world.start(row, Key(seed)).observation.fields["ids"] for seed in (0, 0, 1, 2)]
    assert orders[0] == orders[1]
    assert len(set(orders)) > 1
    for seed in range(3):
        step = world.start(row, Key(seed))
        while step.ended is None:
            step = world.act(step, world.expert(step.state))
        assert dict(step.rewards) == {"correct": 1.0}
    ids, choices = (world.start(row, Key(1)).observation.fields[name] for name in ("ids", "choices"))
    assert all(choices[i] == row["choices"][row["ids"].index(id)] for i, id in enumerate(ids))


def test_always_taking_and_always_going_on():
    world = MultipleChoice()
    rows = world.rows("test")
    first = np.mean([row["answer"] == row["ids"][0] for row in rows])
    last = np.mean([row["answer"] == row["ids"][-1] for row in rows])
    chance = np.mean([1 / len(row["ids"]) for row in rows])
    assert abs(first - chance) < 0.06
    assert abs(last - chance) < 0.06
    facts = [sum(f"{choice}." in " ".join(row["facts"]) for choice in row["choices"]) for row in rows]
    # in the others a wrong choice stands in a fact too
    assert 0.55 < np.mean([count == 1 for count in facts]) < 0.75
    assert min(facts) == 1


def test_a_reward_of_one_s_own():
    world, steps = played([CONTINUE, ANSWER], reward=f"{__name__}:costly")
    assert rewards(world, steps) == [-0.25, 1.0]
    assert dict(steps[-1].rewards) == {"correct": 1.0, "custom": 1.0}
    with pytest.raises(BadSetting, match="has no 'absent'"):
        task(reward=f"{__name__}:absent")


def costly(observation, action, targets):
    shown = observation.fields["ids"][observation.fields["place"]]
    return float(shown == targets) if action == ANSWER else -0.25


@pytest.mark.parametrize("options", [{"shuffle": True}, {"passes": 2, "shuffle": True, "instruct": False}])
def test_the_laws_hold_under_every_option(options):
    assert check(MultipleChoice(MultipleChoice.Options(limit=40, **options)), episodes=6) == []


def test_info_tells_what_was_taken():
    env = gymnasium.make("loquent/MultipleChoice-v0", source="samples", samples=[FLOWERS])
    env.reset(seed=0)
    assert "selected_choice" not in env.step(1)[-1]
    *_, info = env.step(0)
    assert (info["selected_choice"], info["forced_answer"], info["is_success"]) == ("B", False, True)
