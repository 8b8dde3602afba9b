"""Visual dialogue: the rules of A28 of ILQL's specification, the seats, and the built-in world."""

from pathlib import Path

import numpy as np
import pytest

import loquent
from loquent import Key
from loquent.bench import suite
from loquent.bench.conformance.check import check
from loquent.core import episode
from loquent.core.agent import Answer, make
from loquent.core.rollout.loop import games, play, replay
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent, EpisodeOver
from loquent.tasks.dialogue import histogram
from loquent.tasks.dialogue import task as home
from loquent.tasks.dialogue.game import rules
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.scenes.domains import DOMAIN_OF
from loquent.tasks.dialogue.scenes.scene import Scene, features_of
from loquent.tasks.dialogue.sources import builtin
from tools.studies import best_list, exact_values


def world(**options):
    return loquent.task("dialogue", **options)


def played(task, initial, rounds, row=0):
    """The steps in which the agent's question was judged: rounds are (answer, progress)."""
    step = task.act(task.start(task.rows("test")[row], Key(0)), repr(initial))
    judged = []
    for answer, progress in rounds:
        for text in ("what is it?", answer, repr(progress)):
            step = task.act(step, text)
        judged.append(step)
    return judged


def rewards(task, steps, **weights):
    weights = Record({**task.spec.rewards, **weights})
    return [task.total(step.rewards, weights) for step in steps]


# A28


def test_a_game_ends_when_half_of_the_gap_is_closed():
    task = world()
    steps = played(task, 0.6, [("a dog", 0.10), ("brown", 0.05), ("outside", 0.06)])
    assert rewards(task, steps) == [-1, -1, 0]
    assert [step.ended for step in steps] == [None, None, "found"]


def test_a_yes_costs_two_also_at_the_end():
    task = world()
    steps = played(task, 0.6, [("a dog", 0.1), ("brown", 0.05), ("Yes", 0.06)])
    assert rewards(task, steps, yes_no=-2.0) == [-1, -1, -2]


@pytest.mark.parametrize(("unsolved", "total"), [(0.0, -9), (-1.0, -10)])
def test_a_game_without_progress_has_ten_questions(unsolved, total):
    task = world(unsolved=unsolved)
    steps = played(task, 0.6, [("what?", 0.0)] * 10)
    assert sum(rewards(task, steps)) == total
    assert steps[-1].ended == "out of turns"
    assert task.is_success(steps[-1].ended) is False


@pytest.mark.parametrize(("answer", "counts"), [("no", True), (" no", False), ("yes ", False), ("Yes", True)])
def test_answers_are_matched_with_their_spaces(answer, counts):
    [step] = played(world(), 0.6, [(answer, 0.0)])
    assert step.rewards["yes_no"] == counts, "as released: no space is removed"
    [step] = played(world(match="words"), 0.6, [(answer, 0.0)])
    assert step.rewards["yes_no"] == 1


def test_an_answer_is_one_line():
    [step] = played(world(), 0.6, [("a dog\r\nand a cat\n", 0.0)])
    assert step.state.history == (("what is it?", "a dog and a cat"),)


def test_the_share_of_the_gap_is_a_setting():
    rounds = [("a dog", 0.2), ("brown", 0.17), ("big", 0.01)]
    ends = [
        [step.ended for step in played(world(percentile=p), 0.6, rounds[:n])] for p, n in ((0.9, 2), (0.5, 1))
    ]
    assert ends == [[None, "found"], ["found"]]
    assert rules.found(1.0, [], 0.5), "no gap is left"


def rank(number):
    return 1 - number / 4001


def test_exactly_half_of_the_gap_is_enough():
    # from rank r to r / 2 closes half of the gap r / (N + 1), which fractions in binary often miss
    assert all(rules.found(rank(r), [rank(r // 2) - rank(r)], 0.5) for r in range(2, 4001, 2))
    assert not any(rules.found(rank(r), [rank(r // 2 + 1) - rank(r)], 0.5) for r in range(2, 4001, 2))
    task = world()
    [step] = played(task, rank(8), [("a dog", rank(4) - rank(8))])
    assert (step.ended, rewards(task, [step])) == ("found", [0])


# modes and weights


def test_ten_questions_with_progress_as_the_reward():
    task = world(mode="10_stop")
    steps = played(task, 0.6, [("a dog", 0.25), *[("brown", -0.05)] * 9])
    assert rewards(task, steps) == [0.25, *[-0.05] * 9]
    np.testing.assert_allclose(rewards(task, steps, progress=10.0, shift=-1.0), [1.5, *[-1.5] * 9])
    assert (steps[-1].ended, task.spec.success, task.spec.return_range) == ("out of turns", (), None)


def test_scale_and_shift_are_weights():
    task = world()
    steps = played(task, 0.6, [("yes", 0.0), ("red", 0.3)])
    assert rewards(task, steps, turn=3.0, yes_no=-6.0, shift=2.0) == [3 * (-1 - 2) + 2, 0 + 2]


@pytest.mark.parametrize(("mode", "ended"), [("agent_stops", "stopped"), ("env_stops", None)])
def test_only_agents_that_may_stop_stop(mode, ended):
    task = world(mode=mode)
    step = task.act(task.act(task.start(task.rows("test")[0], Key(0)), "0.5"), "enough <stop>")
    assert step.ended == ended
    assert rewards(task, [step], shift=1.0) == [1.0 if ended else 0.0]


def test_an_agent_that_may_stop_earns_progress_and_is_not_stopped():
    task = world(mode="agent_stops")
    steps = played(task, 0.6, [("a dog", 0.25), *[("brown", 0.05)] * 2, *[("yes", -0.05)] * 7])
    assert rewards(task, steps) == [0.25, 0.05, 0.05, *[-0.05] * 7]
    assert [step.ended for step in steps] == [None] * 9 + ["out of turns"]
    assert (task.spec.success, task.spec.return_range) == ((), None)


def test_an_empty_question_costs_a_turn_and_asks_nobody():
    task = world()
    step = task.act(task.act(task.start(task.rows("test")[0], Key(0)), "0.5"), " \n")
    assert (step.invalid, step.observation.seat, task.total(step.rewards)) == ("empty question", "agent", -1)
    assert step.state.history == (("", ""),)


@pytest.mark.parametrize("text", ["", "nan", "inf", "1e999", "0,5", "ja", "9" * 40, "1" * 5000, "٣"])
def test_a_judge_without_a_number_means_no_progress(text):
    task = world()
    step = task.act(task.start(task.rows("test")[0], Key(0)), text)
    assert (step.invalid, step.state.initial) == ("not a number", 0.0)


def test_acting_after_the_end_raises():
    task = world()
    last = played(task, 0.6, [("a dog", 0.4)])[-1]
    with pytest.raises(EpisodeOver):
        task.act(last, "more?")


# the built-in world


def test_splits_differ_in_content_and_every_caption_is_understood():
    scenes = [builtin.scene_of(row.fields) for rows in builtin.splits().values() for row in rows]
    assert len(scenes) == len(set(scenes)) == 9000
    for row in builtin.splits()["test"]:
        subject, number, value = questions.captions()[questions.normalise(row["caption"])]
        assert (subject, value) == (row["subject"], row["values"][number])


@pytest.mark.parametrize("subject", DOMAIN_OF)
def test_every_question_of_the_world_is_answered_truthfully(subject):
    scene = Scene(subject, (0, 1, 2, 3, 0))
    asked = questions.question_texts(subject)
    assert len(asked) == 25
    for text, meaning in asked:
        answer = questions.answer(text, scene)
        if meaning.value is None:
            assert questions.value_in(answer, subject, meaning.number) == scene.values[meaning.number]
        else:
            assert answer == ("yes" if scene.values[meaning.number] == meaning.value else "no")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So, which colour has the fur?", "brown"),
        ("WHAT COLOR IS THE DOG", "brown"),
        ("what color is the bus?", "brown"),
        ("who is with him", "a woman"),
        ("is he brown?", "yes"),
        ("is he doing it", "i can't tell"),
        ("", "i can't tell"),
        ("is the photo clear?", "yes"),
    ],
)
def test_free_questions_are_answered_by_their_words(text, answer):
    assert questions.answer(text, Scene("dog", (0, 1, 1, 2, 3))) == answer


def test_the_guesser_knows_the_image_when_all_is_answered():
    task = world()
    judge = make("dialogue/guesser", task)
    row = task.rows("test")[0]
    scene = builtin.scene_of(row.fields)
    rounds = [
        (text, questions.answer(text, scene))
        for text, meaning in questions.question_texts(scene.subject)
        if meaning.value is None
    ]
    np.testing.assert_allclose(judge.guess(row["caption"], rounds), features_of(scene))
    assert judge.measure(row["caption"], rounds, task.image(row.fields)) == 1 - 1 / 4001
    before = [judge.guess(row["caption"], rounds[:n]) for n in range(6)]
    errors = [((guess - features_of(scene)) ** 2).sum() for guess in before]
    assert errors == sorted(errors, reverse=True)


def test_three_noes_are_worth_a_value():
    task = world()
    judge = make("dialogue/guesser", task)
    caption = "a dog ; a bowl is near the dog"
    noes = [(f"is the dog {v}?", "no") for v in ("black", "white", "grey")]
    told = judge.guess(caption, [("what color is the dog?", "brown")])
    np.testing.assert_allclose(judge.guess(caption, noes), told, atol=1e-12)
    np.testing.assert_allclose(judge.guess(caption, [*noes, ("is the dog brown?", "no")]), told, atol=1e-12)


def test_careful_questions_beat_a_list_and_careless_ones():
    task = world(percentile=0.9)
    queue = games(task.rows("test")[:60])

    def mean_return(agent):
        ended = play(task, queue, make(agent, task), seed=0, split="test")
        return np.mean([task.total(one.rewards) for one in ended])

    careful, careless, listed = map(mean_return, ("dialogue/careful", "dialogue/casual", "dialogue/list"))
    assert careful > careless + 1.5
    assert careful > listed + 3


def test_the_expert_asks_what_is_unknown():
    task = world()
    step = task.act(task.start(task.rows("test")[0], Key(0)), "0.5")
    asked = []
    while (question := task.expert(step.state)) is not None:
        asked.append(question)
        for text in (
            question,
            questions.answer(question, builtin.scene_of(task.rows("test")[0].fields)),
            "0",
        ):
            step = task.act(step, text)
    assert len(asked) == len(set(asked)) == 4, "one of five properties stands in the caption"
    assert task.expert(task.start(task.rows("test")[0], Key(0)).state) is None


# seats


def test_the_task_fills_the_seats_that_a_caller_leaves_open():
    task = world()
    [game] = play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)
    assert dict(game.agents) == {
        "agent": "dialogue/careful",
        "answerer": "dialogue/truthful",
        "judge": "dialogue/guesser",
    }
    assert all(not turn.rewards for turn in game.turns if turn.seat != "agent")

    class Maybe:
        name = "maybe"

        def answer(self, asked):
            return [Answer("maybe") for _ in asked]

    other = {"agent": make("dialogue/careful", task), "answerer": Maybe()}
    [changed] = play(task, games(task.rows("test")[:1]), other, seed=0)
    assert {turn.text for turn in changed.turns if turn.seat == "answerer"} == {"maybe"}


def test_the_environment_fills_the_seats_too():
    import gymnasium

    env = gymnasium.make("loquent/Dialogue-v0", split="test", percentile=0.9)
    text, _ = env.reset(seed=0)
    total = 0.0
    for _ in range(10):
        text, reward, terminated, _, info = env.step("is the photo clear?")
        assert text == "yes\n"
        total += reward
    assert (total, terminated, info["ended"]) == (-9, True, "out of turns")
    assert 0 < info["percentile"] < 1


def test_an_agent_in_the_wrong_seat_is_refused():
    task = world(judge="dialogue/truthful")
    with pytest.raises(BrokenAgent, match=r"'judge'.*plays answerer only"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)


def test_a_distance_is_no_percentile():
    judge = Record(kind="dialogue/guesser", measure="distance")
    task = world(judge=judge)
    with pytest.raises(BadSetting, match=r"measure = 'distance' is no percentile.*10_stop"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)
    for mode in ("10_stop", "agent_stops"):
        task = world(judge=judge, mode=mode)
        [game] = play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)
        assert game.total(task.spec.rewards) > 0
    step = task.act(task.start(task.rows("test")[0], Key(0)), "-1.25")
    assert "measure -1.25, 10 questions left" in task.render_ansi(step.observation)


def test_agents_of_other_tasks_are_refused():
    with pytest.raises(loquent.errors.LoquentError, match="plays dialogue"):
        make("dialogue/careful", loquent.task("wordle", limit=10))


def test_a_seat_of_an_unknown_name_is_refused():
    task = world(answerer=Record(kind="dialogue/nobody"))
    with pytest.raises(loquent.errors.UnknownName, match="nobody"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)


@pytest.mark.parametrize(
    "options",
    [{"percentile": 2.0}, {"mode": "other"}, {"unsolved": 0.5}, {"path": "x"}, {"source": "visdial"}],
)
def test_options_have_ranges(options):
    with pytest.raises(BadSetting, match=next(iter(options)) if "source" not in options else "path"):
        world(**options)


def test_the_histogram_of_yes_and_no():
    task = world(percentile=0.9)
    queue = games(task.rows("test")[:40])
    casual, careful = (
        list(play(task, queue, make(f"dialogue/{name}", task), seed=0)) for name in ("casual", "careful")
    )
    rates = histogram.rates(casual)
    by_hand = [
        [turn.text in ("yes", "no") for turn in game.turns if turn.seat == "answerer"] for game in casual
    ]
    np.testing.assert_allclose(rates, [sum(answers) / len(answers) for answers in by_hand])
    counts = histogram.histogram(casual, bins=5)
    assert counts.sum() == 40
    assert counts[:2].sum() < 20, "a casual questioner hears yes or no more often than not"
    assert histogram.histogram(careful).tolist() == [40, *[0] * 9]
    assert histogram.draw_histogram(np.array([2, 0, 1])).splitlines()[0].endswith("2 " + "#" * 40)
    with pytest.raises(BadSetting, match="0 episodes with a question"):
        histogram.histogram([])


def test_the_best_question_and_the_best_list_are_those_of_the_suite():
    task = world(percentile=0.9)
    training, cells = best_list.solved(task, task.rows("train")[:400]), suite.load("ilql-dialogue").cells
    assert cells["constant"].agent["questions"] == (best_list.best_question(training)[0],)
    texts, score = best_list.best_list(training)
    assert list(cells["list"].agent["questions"]) == texts
    played = play(
        task,
        games(task.rows("train")[:400]),
        make({"kind": "dialogue/list", "questions": texts}, task),
        seed=0,
    )
    assert np.mean([task.total(game.rewards) for game in played]) == pytest.approx(score)


def test_the_laws_hold():
    assert check(world(), 3) == []


def test_the_golden_games_are_played_again():
    file = Path(home.__file__).with_name("golden.jsonl")
    recorded = list(episode.read(file))
    task = world(percentile=0.9)
    assert [one.ended for one in recorded] == ["found", "out of turns"]
    assert [replay(task, one) for one in recorded] == recorded
    weights = Record(turn=1.0, yes_no=-2.0)
    assert [task.total(one.rewards, weights) for one in recorded] == [-1.0, -9.0 - 2 * 10]


def test_a_penalty_on_checks_widens_what_a_new_question_is_worth():
    """Recorded games cost more with it, so all advantages grow: exact values are no reason to play worse."""
    kept = exact_values.questions((1, 4, 3, 4))
    assert sum(probability for probability, _, _ in kept) == pytest.approx(1)
    assert all(sum(after.values()) == pytest.approx(1) for _, _, after in kept)
    assert exact_values.expectile(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.8) == pytest.approx(0.8)
    standard, penalty = exact_values.advantage(0.0), exact_values.advantage(2.0)
    assert 1 < standard < penalty < 3 * standard
