"""Reading: the hand-worked games I-1 to I-9, I-15, I-17 and E-1 to E-9 of the specification of iMRC."""

import numpy as np
import pytest

import loquent
from helpers.tasks import harvard
from helpers.tasks.harvard import cursors, play, start, task
from loquent import Key
from loquent.bench.conformance.check import check
from loquent.core.agent import make
from loquent.core.task import Row
from loquent.errors import BadRow, BadSetting, EpisodeOver
from tools.corpora.villages import FACTS

TABLE = ("next", "ctrl+f Harvard", "ctrl+f 2011", "ctrl+f 2011", "stop")
LETTERS = ("a x", "b", "c x", "d")  # the search table of I-3


def letters(**options):
    world = task(queries="any", **options)
    return world, start(world, LETTERS, "where ?", ["d"])


@pytest.mark.parametrize(
    ("slots", "memory"), [(1, (4,)), (3, (2, 3, 4)), (5, (0, 1, 2, 3, 4))], ids=["1", "3", "5"]
)
def test_i_1_the_table_of_the_paper(slots, memory):
    world = task(memory=slots)
    steps = play(world, start(world), *TABLE)
    assert cursors(steps) == [1, 2, 3, 4, 4]
    assert [world.total(step.rewards) for step in steps] == [0, 0, 0, 0, 1]
    assert steps[-1].state.memory == memory
    assert [step.ended for step in steps] == [None, None, None, None, "stopped"]
    assert [step.observation.text for step in steps[:-1]] == [
        f"{harvard.SENTENCES[i]}\n" for i in (1, 2, 3, 4)
    ]


def test_i_1_the_answer_of_the_table():
    world = task(answer_phase=True)
    *_, halted, answered = play(world, start(world), *TABLE, "$ 32 billion")
    assert (halted.ended, dict(halted.rewards)) == (None, {"sufficient": 1.0})
    assert (answered.ended, dict(answered.rewards)) == ("stopped", {"f1": 1.0, "em": 1.0})


def test_i_2_the_queries():
    first = start(task())
    assert first.observation.fields["queries"] == ("harvard", "endowment", "total", "2011")
    wide = start(task(queries="question+memory"))
    assert wide.observation.fields["queries"][4:] == ("largest", "university", "world")
    [after] = play(task(expose_found=True), first, "ctrl+f total")
    assert (after.state.cursor, after.state.last, after.observation.text) == (
        0,
        (False, False),
        "not found\n",
    )


def test_i_2_queries_outside_their_source_cost_a_command():
    world = task()
    [after] = play(world, start(world), "ctrl+f world")
    assert (after.invalid, after.state.used, after.state.cursor) == ("query not allowed", 1, 0)
    wide = task(queries="question+memory")
    assert play(wide, start(wide), "ctrl+f world")[0].invalid == ""


@pytest.mark.parametrize(
    ("command", "places", "last"),
    [
        ("next", [1, 2, 3, 0], None),
        ("previous", [3, 0, 1, 2], None),
        ("ctrl+f x", [2, 2, 0, 0], [(True, False), (True, False), (True, True), (True, True)]),
        ("ctrl+f d", [3, 3, 3, 3], [(True, False)] * 3 + [(True, True)]),
        ("ctrl+f zz", [0, 1, 2, 3], [(False, False)] * 4),
        ("ctrl+f a", [0, 0, 0, 0], [(True, True)] * 4),
        ("ctrl+f a x", [0, 1, 2, 3], [(False, False)] * 4),
    ],
)
def test_i_3_the_table_of_moves(command, places, last):
    world, step = letters()
    begins = [step, *play(world, step, "next", "next", "next")]
    after = [world.act(begin, command) for begin in begins]
    assert cursors(after) == places
    assert [step.state.last for step in after] == (last or [None] * 4)


def test_i_3_a_search_without_a_query_is_invalid():
    world, step = letters()
    assert [play(world, step, text)[0].invalid for text in ("ctrl+f", "ctrl+f  ")] == ["no query"] * 2


def test_i_4_a_document_of_one_sentence():
    world = task(queries="any")
    step = start(world, ["the only one"], "which ?", ["only"])
    steps = play(world, step, *["next", "previous", "ctrl+f only", "ctrl+f none"] * 5)
    assert cursors(steps) == [0] * 20
    assert {step.state.memory for step in steps} == {(0,)}
    assert [step.ended for step in steps] == [None] * 19 + ["budget"]
    assert dict(steps[-1].rewards) == {"sufficient": 1.0}


@pytest.mark.parametrize(("answer", "reward"), [("university endowment", 1.0), ("$32 billion", 0.0)])
def test_i_5_stopping_at_once(answer, reward):
    world = task()
    [last] = play(world, start(world, answers=[answer]), "stop")
    assert (last.ended, last.state.used, dict(last.rewards)) == ("stopped", 1, {"sufficient": reward})


def test_i_6_the_budget():
    world = task(memory=1)
    step = start(world, [f"word{i} here" for i in range(30)], "which ?", ["word20"])
    steps = play(world, step, *["next"] * 20)
    assert steps[-1].state.cursor == 20
    assert steps[-1].observation.fields["memory"] == ("word20 here",)
    assert [step.ended for step in steps] == [None] * 19 + ["budget"]
    assert dict(steps[-1].rewards) == {"sufficient": 1.0}
    with pytest.raises(EpisodeOver):
        world.act(steps[-1], "next")


def test_i_7_the_memory():
    world = task(queries="any")
    step = start(world, [f"s{i}" for i in range(6)], "which ?", ["s1"])
    steps = play(world, step, *(f"ctrl+f s{i}" for i in (1, 2, 3, 2, 4, 1, 1, 5)))
    found = [step.state.memory for step in steps]
    assert found == [
        (0, 1), (0, 1, 2), (1, 2, 3), (1, 2, 3), (2, 3, 4), (3, 4, 1), (3, 4, 1), (4, 1, 5),
    ]  # fmt: skip


def test_i_9_hard_mode_has_searches_and_stop():
    world = task(mode="hard")
    step = start(world)
    assert step.observation.legal[0] == "stop"
    assert all(text.startswith("ctrl+f ") for text in step.observation.legal[1:])
    assert [play(world, step, text)[0].invalid for text in ("next", "previous")] == ["not in hard mode"] * 2
    assert world.actions.parts[0] == 2


def test_i_15_and_e_8_a_question_of_stop_words_has_no_search():
    for mode, legal in (("easy", ("previous", "next", "stop")), ("hard", ("stop",))):
        world = task(mode=mode)
        step = start(world, question="What is it?")
        assert step.observation.legal == legal
        assert play(world, step, "stop")[0].ended == "stopped"


@pytest.fixture
def words(tmp_path):
    (tmp_path / "words.txt").write_text("what\nIN\nthe\nharvard\n?\n's\n")
    return tmp_path / "words.txt"


def test_stop_words_of_a_file_are_the_only_ones(words):
    world = task(stop_words=str(words), queries="question+memory")
    step = start(world)
    assert step.state.game.queries == ("was", "endowment", "total", "2011")
    assert step.observation.fields["queries"][4:] == ("has", "largest", "university", "world")
    agent = make("reading/words_in_order", world)
    assert agent.words(step.observation) == step.state.game.queries
    built_in = {"queries": "vocabulary", "limit": 20}
    assert {"the", "after", "."}.isdisjoint(loquent.task("reading", **built_in).actions.words)
    vocabulary = loquent.task("reading", stop_words=str(words), **built_in).actions.words
    assert {"the", "after", "."} & set(vocabulary) == {"after", "."}
    words.write_text("was\n")
    assert start(task(stop_words=str(words))).state.game.queries[:2] == ("what", "the"), "a changed file"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "empty"),
        (b"a\n\nb\n", ":2: .*one word"),
        (b"a\nof the\n", ":2: .*'of the'"),
        (b"\xff\n", "UTF-8"),
    ],
)
def test_bad_files_of_stop_words_are_named(words, content, error):
    words.write_bytes(content)
    with pytest.raises(BadRow, match=error):
        task(stop_words=str(words))


def test_a_file_of_stop_words_that_is_not_there_is_named(words):
    with pytest.raises(BadSetting, match=r"stop_words = .*no such file"):
        task(stop_words=f"{words}.txt")


def test_i_17_the_rewards_have_no_further_transition():
    world = task()
    steps = play(world, start(world), "next", "next", "stop")
    assert [(world.total(step.rewards), step.ended is not None) for step in steps] == [
        (0, False), (0, False), (0, True),
    ]  # fmt: skip
    steps = play(world, start(world), *["next"] * 20)  # sentences 3, 4 and 0 are in memory
    assert [(world.total(step.rewards), step.ended is not None) for step in steps] == [
        *[(0, False)] * 19, (1, True),
    ]  # fmt: skip
    steps = play(world, start(world), *["next"] * 19, "stop")  # place 4, 19 mod 5
    assert (world.total(steps[-1].rewards), steps[-1].ended) == (1, "stopped")


def test_e_1_and_e_2_any_gold_in_any_place_counts():
    twice = ("one", "the red fox", "two", "a red fox again")
    world = task(memory=1)
    for moves in (1, 3):
        step = start(world, twice, "who ?", ["red fox"])
        assert dict(play(world, step, *["next"] * moves, "stop")[-1].rewards) == {"sufficient": 1.0}
    world = task(memory=1, answer_phase=True)
    step = start(world, ("one", "ada king wrote"), "who ?", ["one", "ada king"])
    last = play(world, step, "next", "stop", "king")
    assert dict(last[1].rewards) == {"sufficient": 1.0}
    assert last[-1].rewards["f1"] == pytest.approx(2 / 3)


def test_e_3_equal_sentences_are_stored_once():
    world = task()
    steps = play(world, start(world, ("x", "y y", "z", "Y y"), "which ?", ["z"]), "next", "next", "next")
    assert [step.observation.fields["memory"] for step in steps] == [
        ("x", "y y"), ("x", "y y", "z"), ("x", "y y", "z"),
    ]  # fmt: skip
    assert steps[-1].state.cursor == 3


def test_e_4_a_large_memory_reads_all():
    world = task(memory=9)
    assert play(world, start(world), *["next"] * 4)[-1].state.memory == (0, 1, 2, 3, 4)


def test_e_5_random_starts_are_uniform_and_observed():
    world = task(start="random")
    row = world.row_from({"sentences": harvard.SENTENCES, "question": "who ?", "answers": ["Harvard"]})
    steps = [world.start(row, Key(seed)) for seed in range(500)]
    counts = np.bincount([step.state.cursor for step in steps], minlength=5)
    assert ((counts - 100) ** 2 / 100).sum() < 18.5  # chi squared with 4 degrees of freedom, 0.1 %
    assert all(step.state.memory == (step.state.cursor,) for step in steps)
    assert [step.state.cursor for step in steps[:20]] == [
        world.start(row, Key(seed)).state.cursor for seed in range(20)
    ]


def test_e_6_distractors():
    plain, world = loquent.task("reading"), loquent.task("reading", distractors=2)
    own = plain.rows("train")[7]
    step = world.start(own, Key(3))
    document, sentences = step.state.game.document, plain.game(own).document.sentences
    assert len(document.ranges) == 3 * FACTS
    places = [document.sentences.index(sentence) for sentence in sentences]
    assert places == sorted(places)
    assert sum(sentence in document.sentences for sentence in sentences) == FACTS
    assert world.start(own, Key(3)) == step != world.start(own, Key(4))
    around = [world.start(own, Key(seed)).state.game.document.sentences for seed in range(30)]
    assert 0 < sum(found[0] in sentences for found in around) < 20  # 10 of 30 are expected
    assert 0 < sum(found[-1] in sentences for found in around) < 20
    oracle = step
    while oracle.ended is None:
        oracle = world.act(oracle, world.expert(oracle.state))
    assert world.total(oracle.rewards) == 1
    held_out = plain.rows("test")[0]
    assert world.start(held_out, Key(0)).state == plain.start(held_out, Key(0)).state


def test_the_expert_looks_no_further_than_the_budget():
    for steps, first, total in ((1, "stop", 0), (2, "ctrl+f 2011", 1)):
        world = task(mode="hard", steps=steps)
        step = start(world)
        assert world.expert(step.state) == first
        while step.ended is None:
            step = world.act(step, world.expert(step.state))
        assert (world.total(step.rewards), step.turn) == (total, steps)


def test_e_7_punctuation_is_a_query_only_among_any():
    free = task(queries="any")
    assert play(free, start(free), "ctrl+f ,")[0].state.cursor == 1
    assert play(task(), start(task()), "ctrl+f ,")[0].invalid == "query not allowed"


def test_e_9_a_stop_after_the_stop():
    world = task()
    [last] = play(world, start(world), "stop")
    with pytest.raises(EpisodeOver):
        world.act(last, "stop")


def test_e_12_words_outside_a_small_vocabulary():
    world = loquent.task("reading", queries="vocabulary", vocabulary=100)
    assert len(world.actions.words) == 100
    assert {"<unk>", "the", ","}.isdisjoint(world.actions.words)
    step = start(world, ("a quokka", "one quokka more"), "where is the quokka ?", ["more"])
    assert play(world, step, "ctrl+f quokka")[0].invalid == "query not allowed"
    small = task()
    step = start(small, ("a quokka", "one quokka more"), "where is the quokka ?", ["more"])
    assert "ctrl+f quokka" in step.observation.legal
    assert play(small, step, "ctrl+f quokka")[0].state.cursor == 1


# commands


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("NEXT", 1),
        ("n", 1),
        ("p", 4),
        ("prev", 4),
        ("  Next  ", 1),
        ("`next`", 1),
        ("I think the endowment comes later.\n\nnext\n\n", 1),
        ("cf HARVARD", 2),
        ("Ctrl+F   harvard ", 2),
        ("'ctrl+f harvard'", 2),
    ],
)
def test_ways_to_write_a_command(text, cursor):
    world = task()
    [after] = play(world, start(world), text)
    assert (after.state.cursor, after.invalid) == (cursor, "")


@pytest.mark.parametrize("text", ["", "nextt", "ctrl+fharvard", "stop: $32 billion", "next previous", "\0"])
def test_what_is_no_command(text):
    world = task(invalid_penalty=0.5)
    [after] = play(world, start(world), text)
    assert (after.invalid, dict(after.rewards), world.total(after.rewards)) == (
        "not a command", {"invalid": -1.0}, -0.5,
    )  # fmt: skip
    assert after.observation.text == "not a command\n"


def test_stop_with_an_answer():
    world = task(answer_phase=True, reward="f1")
    [last] = play(world, start(world), "stop: 32 Billion in 2011")
    assert (last.ended, dict(last.rewards)) == ("stopped", {"sufficient": 0.0, "f1": 2 / 3, "em": 0.0})
    assert world.total(last.rewards) == 2 / 3


def test_the_answer_after_the_budget():
    world = task(answer_phase=True, steps=2)
    steps = play(world, start(world), "next", "next", "stop")
    assert [step.ended for step in steps] == [None, None, "budget"]
    assert steps[1].observation.text.endswith("Answer the question.\n")
    assert steps[1].observation.legal == ()
    assert steps[2].observation.fields["answer"] == "stop"


def test_positions_are_shown_when_asked_for():
    world = task(reveal_position=True)
    assert start(world).observation.text.splitlines()[1].startswith("1/5 Harvard has")


@pytest.mark.parametrize(
    ("search", "query", "cursor"),
    [
        ("exact", "july to october", 0),
        ("phrase", "july to october", 2),
        ("phrase", "october july", 0),
        ("fuzzy", "necessitates", 2),
        ("fuzzy", "univercity", 0),
        ("fuzzy", "annuonced", 2),
        ("fuzzy", "2012", 0),
        ("helpers.tasks.harvard:last", "anything", 4),
    ],
)
def test_other_searches(search, query, cursor, monkeypatch):
    monkeypatch.setattr(harvard, "last", lambda document, cursor, query: (4, True, False), raising=False)
    world = task(queries="any", search=search)
    assert play(world, start(world), f"ctrl+f {query}")[0].state.cursor == cursor


# options and rows


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"reward": "f1"}, "answer_phase"),
        ({"path": "x"}, "no effect"),
        ({"source": "squad"}, "needs path"),
        ({"memory": 0}, "memory"),
        ({"mode": "medium"}, "easy"),
        ({"vocabulary": 5}, "queries=vocabulary"),
        ({"search": "nothing:here"}, "nothing"),
    ],
)
def test_bad_options(options, problem):
    with pytest.raises(BadSetting, match=problem):
        loquent.task("reading", **options)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"context": " \n", "question": "who ?", "answers": ["x"]}, "at least one word"),
        ({"sentences": ["a", " "], "question": "who ?", "answers": ["a"]}, "sentences"),
        ({"context": "a b", "answers": ["a"]}, "question"),
        ({"context": "a b", "question": " ", "answers": ["a"]}, "question"),
        ({"context": "a b", "question": "who ?", "answers": []}, "answers"),
        ({"context": "a b", "question": "who ?", "answers": ["c"]}, "does not stand"),
        ({"context": "a b", "question": "?", "answers": [{"text": "b", "answer_start": 0}]}, "character 0"),
        ({"context": "a b", "question": "?", "answers": [{"text": "b", "answer_start": -1}]}, "character -1"),
        ({"context": "a b", "question": "?", "answers": ["a"], "places": [(0, 9)]}, "place"),
        ({"context": "a b", "question": "?", "answers": ["a"], "places": [(1, 2)]}, "place"),
        ({"context": "a b", "question": "?", "answers": ["a"], "starts": [0, 1]}, "starts"),
        ({"context": "a b", "question": "?", "answers": ["a"], "tokenised": 1}, "tokenised"),
    ],
)
def test_bad_rows(fields, problem):
    with pytest.raises(BadRow, match=problem):
        task().row_from(fields)


def test_a_row_reads_back_from_its_own_fields():
    world = loquent.task("reading")
    row = world.rows("train")[0]
    assert world.row_from({**row.fields, "id": row.id}) == Row(row.id, row.fields)
    added = world.row_from({"sentences": ["One two", "three"], "question": "who ?", "answers": ["two"]})
    assert world.row_from(added.fields) == added
    assert (added["context"], added["places"], added["starts"]) == ("One two three", ((0, 7), (8, 13)), (4,))


OPTIONS = [
    {},
    {"mode": "hard", "queries": "question+memory", "memory": 5, "answer_phase": True},
    {"queries": "vocabulary", "start": "random", "distractors": 1, "invalid_penalty": 0.1},
    {"queries": "any", "search": "phrase", "expose_found": True, "splitter": "whole", "match": "substring"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_laws(options):
    assert check(loquent.task("reading", limit=40, **options), episodes=6) == []


def test_a_broken_twin_is_caught():
    class Forgetful(type(loquent.task("reading"))):
        def _go(self, state, move, used):
            self.calls = getattr(self, "calls", 0) + 1
            return super()._go(state, move, used)._replace(hits=self.calls)

    assert check(Forgetful(Forgetful.Options(limit=20)), episodes=3) != []
