"""Policies to compare with: what they do, and what they find in the built-in paragraphs."""

import pytest

import loquent
from helpers.tasks.harvard import task
from loquent.agents.baselines import Random as AnyLegal
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting, LoquentError
from loquent.tasks.reading.players import scripts
from loquent.tasks.reading.players.readers import overlap
from loquent.training.evaluate import evaluate_agent

HARVARD = {
    "question": "What was the Harvard endowment total in 2011?",
    "sentences": [
        "Harvard has the largest university endowment in the world",
        "At the end of June 2009, it was worth $25.7 billion",
        "In December 2008, Harvard announced that its endowment had lost 22%",
        "As of September 2011, it had nearly regained the loss",
        "It was worth $32 billion in 2011",
    ],
    "answers": ["$32 billion"],
}


def commands(agent, world=None, options=None, row=None):
    """What an agent says in one game."""
    world = world or task()
    fields = world.row_from(row or HARVARD)
    [episode] = play(world, games([Row(fields.id, fields.fields)]), make(agent, world, options or {}), seed=0)
    return [turn.text for turn in episode.answers()]


def test_the_policies():
    assert commands("reading/stop") == ["stop"]
    assert commands("reading/read_all") == ["next"] * 20
    assert commands("reading/words_in_order", options={"searches": 5}) == [
        "ctrl+f harvard", "ctrl+f endowment", "ctrl+f total", "ctrl+f 2011", "ctrl+f harvard", "stop",
    ]  # fmt: skip
    found = commands("reading/words_at_random", options={"searches": 6})
    assert found[-1] == "stop"
    assert {text.split(" ")[1] for text in found[:-1]} <= {"harvard", "endowment", "total", "2011"}
    assert commands("reading/oracle") == ["ctrl+f 2011", "ctrl+f 2011", "stop"]
    assert commands("expert") == ["previous", "stop"]
    script = {"commands": ("ctrl+f #4", "next", "ctrl+f #9", "previous")}
    assert commands("reading/script", options=script) == ["ctrl+f 2011", "next", "previous", "stop"]


def test_the_rarest_word_is_searched_first():
    documents = ("Harvard has a total", "Harvard and its endowment", "Harvard grew in 2011 to a total")
    rows = [{**HARVARD, "sentences": [text], "split": "train", "answers": ["Harvard"]} for text in documents]
    world = loquent.task(
        "reading", source="samples", samples=(*map(Record, rows), Record({**HARVARD, "split": "test"}))
    )
    once = ["ctrl+f endowment", "ctrl+f 2011", "ctrl+f total", "ctrl+f harvard", "stop"]
    assert commands("reading/rarest_first", world) == once
    assert commands("reading/rarest_first", world, {"searches": 5}) == [*once[:4], once[0], "stop"]
    assert commands("reading/words_in_order", options={"searches": 0})[3:] == ["ctrl+f 2011", "stop"]
    assert len(commands("reading/words_at_random", options={"searches": 0})) == 5


def test_trees_learn_when_to_stop():
    world = loquent.task("reading")
    tree = make("reading/tree", world, {"examples": 150, "trees": 20, "searches": (8,)})
    assert 0 < tree.threshold < 1
    evaluation = evaluate_agent(world, tree, split="validation", episodes=300)
    assert evaluation.values["score/discounted"] == pytest.approx(tree.value)  # it is what was maximised
    other = make("reading/rarest_first", world, {"searches": 8})
    plain = evaluate_agent(world, other, split="validation", episodes=300)
    assert tree.value > plain.values["score/discounted"]
    with pytest.raises(BadSetting, match="reading/tree: 0 validation rows"):
        make("reading/tree", task())


def test_policies_stop_where_the_question_has_no_word():
    row = {**HARVARD, "question": "What is it?"}
    for agent in ("reading/words_in_order", "reading/words_at_random", "reading/oracle"):
        assert commands(agent, task(mode="hard"), row=row) == ["stop"]
    assert set(commands("reading/random", task(mode="hard"), row=row)) == {"stop"}


def test_answers_of_readers():
    world = task(answer_phase=True)
    assert commands("reading/oracle", world)[-1] == "$ 32 billion", "in tokens, as a pointer answers"
    assert commands("reading/full_document", world) == ["stop", commands("reading/full_document", world)[1]]
    assert overlap("who built the old mill ?", ["the mill is old", "ada king built the mill"]) == "ada king"
    assert overlap("who ?", []) == ""


def test_bad_options():
    with pytest.raises(BadSetting, match="mode=easy"):
        make("reading/read_all", task(mode="hard"))
    for command in ("jump", "ctrl+f harvard", "ctrl+f #0", "ctrl+f #", "stop"):
        with pytest.raises(BadSetting, match="no command of a script"):
            make("reading/script", task(), {"commands": (command,)})
    with pytest.raises(BadSetting, match="hard mode"):
        make("reading/script", task(mode="hard"), {"commands": ("next",)})
    with pytest.raises(LoquentError, match="plays reading"):
        make("reading/stop", loquent.task("wordle"))


def test_the_best_script_by_hand():
    world = task(memory=1)
    rows = [world.row_from({**HARVARD, "answers": [answer]}) for answer in ("$25.7 billion", "$32 billion")]
    rates = scripts.rates(world, rows, 2)
    assert len(rates) == 1 + 8 + 64
    assert rates[("next",)] == rates[("previous",)] == rates[("ctrl+f #4", "next")] == 0.5
    assert rates[()] == rates[("next", "next")] == 0
    assert scripts.best(world, rows, 2) == ("previous",) or rates[scripts.best(world, rows, 2)] == 0.5
    assert len(scripts.best(world, rows, 2)) == 1


# the built-in paragraphs


def sufficient(world, agent, **options):
    player = AnyLegal(world) if agent == "random" else make(agent, world, options)
    return evaluate_agent(world, player, split="test", episodes=400).values["score/sufficient"]


@pytest.mark.sweep("1-easy", "1-hard")
@pytest.mark.parametrize("mode", ["easy", "hard"])
@pytest.mark.parametrize("memory", [1, 3, 5])
def test_builtin_games_need_reading(mode, memory, request):
    world = loquent.task("reading", mode=mode, memory=memory)
    assert len({row["context"] for split in world.spec.splits for row in world.rows(split)}) >= 300
    assert len(world.rows("test")) == 400
    policies = [("reading/stop", {}), ("reading/script", {}), ("reading/random", {}), ("random", {})]
    policies += [("reading/read_all", {})] if mode == "easy" else []
    for agent in ("reading/words_in_order", "reading/words_at_random"):
        if mode == "easy":  # their games are equal in both modes
            every = range(1, 7) if request.config.getoption("--slow") else (1, 3, 6)
            policies += [(agent, {"searches": searches}) for searches in every]
    rates = {(agent, *options.values()): sufficient(world, agent, **options) for agent, options in policies}
    assert max(rates.values()) <= 0.6, rates
    assert rates["reading/script",] > rates["reading/stop",]  # the search for scripts finds something
    assert sufficient(world, "reading/oracle") >= 0.95


def test_only_the_answer_s_sentence_has_the_person_and_the_thing():
    world = loquent.task("reading")
    for row in (*world.rows("train"), *world.rows("validation"), *world.rows("test")):
        game = world.game(row)
        assert len(game.document.ranges) == 25
        answer = [i for i, text in enumerate(game.document.answer_words) if game.needles[0] in f" {text} "]
        assert len(answer) == 1
        own = set(game.document.sentences[answer[0]].split()) & set(game.queries)
        assert sum(own <= set(sentence.split()) for sentence in game.document.sentences) == 1
        assert len(own) >= 2


def test_no_paragraph_stands_in_two_splits():
    world = loquent.task("reading")
    contexts = [{row["context"] for row in world.rows(split)} for split in world.spec.splits]
    assert [len(texts) for texts in contexts] == [320, 60, 80]
    assert len(set.union(*contexts)) == 460
