"""What was right, as a person reads it when a game has ended."""

import pytest

from helpers.tracers.echo import Echo
from loquent.agents.baselines import Expert, Random
from loquent.core import registry
from loquent.core.rollout.loop import games, play, rebuild
from loquent.core.seeding import Key
from loquent.core.task import Task
from loquent.tasks.blocks.task import Blocks
from loquent.tasks.comments.task import Comments
from loquent.tasks.dialogue.sources.builtin import scene_of
from loquent.tasks.dialogue.task import Dialogue
from loquent.tasks.generation.task import Generation
from loquent.tasks.multilabel.task import MultiLabel
from loquent.tasks.multiple_choice.task import MultipleChoice
from loquent.tasks.reading.task import Reading
from loquent.tasks.tagging.task import Tagging
from loquent.tasks.wordle.task import Wordle, WordleOptions

RIGHT = {
    Wordle: lambda row: row["secret"],
    Tagging: lambda row: " ".join(
        f"{token}/{label}" for token, label in zip(row["tokens"], row["labels"], strict=True)
    ),
    MultiLabel: lambda row: ", ".join(row["labels"]) or "no label",
    MultipleChoice: lambda row: row["choices"][row["ids"].index(row["answer"])],
    Generation: lambda row: row["references"][0],
    Blocks: lambda row: Blocks().solution(Blocks().start(row, Key(0)).state),
    Dialogue: lambda row: f"a {row['subject']}: " + ", ".join(map(scene_of(row.fields).text, range(5))),
    Comments: lambda row: Comments().expert(Comments().start(row, Key(0)).state),
    Reading: lambda row: " | ".join(row["answers"]),
}


def test_every_built_in_world_knows_what_was_right():
    assert {kind.spec.id if hasattr(kind, "spec") else kind().spec.id for kind in RIGHT} == set(
        registry.names("task")
    )


@pytest.mark.parametrize("player", [Expert, Random])
@pytest.mark.parametrize("kind", RIGHT, ids=lambda kind: kind.__name__)
def test_what_was_right_does_not_depend_on_how_a_game_went(kind, player):
    task = kind()
    for one in play(task, games(task.rows("train")[:5]), player(task), seed=1):
        assert task.solution(rebuild(task, one).step.state) == RIGHT[kind](task.row("train", one.row))


def test_a_secret_that_is_drawn_anew_is_known_when_one_word_is_left():
    task = Wordle(WordleOptions(secret="redrawn", limit=40))
    found = [
        task.solution(rebuild(task, one).step.state)
        for one in play(task, games(task.rows("train")[:8]), Expert(task), seed=0)
    ]
    assert set(map(type, found)) <= {str, type(None)}
    assert any(found)
    assert task.solution(task.start(task.rows("train")[0], Key(0)).state) is None


def test_a_task_may_know_no_such_thing():
    task = Echo()
    assert task.solution(task.start(task.rows("train")[0], Key(0)).state) is None
    assert Echo.solution is Task.solution
