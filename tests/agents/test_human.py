"""A person at the terminal: what is shown, what is said, and how it stops."""

import io
import re

import pytest

from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.interview import Interview
from helpers.tracers.labels import Labels
from helpers.tracers.twins import SlotsGuess
from loquent.agents.baselines import Expert
from loquent.agents.human import Human, HumanOptions, ending
from loquent.core import episode
from loquent.core.agent import Agent
from loquent.core.live import Live
from loquent.core.rollout.loop import Game, games, play, replay
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import PlayerLeft
from loquent.tasks.multilabel.task import MultiLabel
from loquent.tasks.multiple_choice.task import MultipleChoice
from loquent.tasks.tagging.task import Tagging
from loquent.tasks.wordle.task import Wordle


def sit(task, typed, row=0, **settings):
    out = io.StringIO()
    human = Human(task, stdin=io.StringIO(typed), stdout=out)
    done = play(task, games(task.rows("train")[row : row + 1]), human, seed=0, **settings)
    return done[0], out.getvalue(), human


def test_a_game_as_it_looks():
    one, shown, human = sit(Guess(), "x\n0\n", row=0)
    # the instruction once; nonsense costs nothing, once
    assert shown == "Find my number.\nbelow 1\nagent> no number: 'x'; once more\nagent> "
    human.farewell(one)
    assert human._out.getvalue().endswith("right\nThe game ended: found. Rewards: guess 0.\n")


def test_the_line_is_said_as_typed():
    one, _, _ = sit(Echo(), "  naïve \r\n", row=2)
    assert one.answers()[0].text == "  naïve "
    assert sit(Echo(), "no newline", row=0)[0].answers()[0].text == "no newline"
    assert sit(Echo(), "\n", row=0)[0].answers()[0].text == ""


def test_nothing_a_model_wrote_reaches_the_terminal_raw():
    task = Echo()
    row = Row("bad", Record(word="\x1b[2J\x1b]0;owned\x07 \u202e evil \ud800 \x9b31m"))
    out = io.StringIO()
    done = play(task, [Game(row)], Human(stdin=io.StringIO("a\x1b[0m\n"), stdout=out), seed=0)[0]
    assert "\\x1b[2J\\x1b]0;owned\\x07 \\u202e evil \\ud800 \\x9b31m\n" in out.getvalue()
    assert not any(ord(char) < 32 and char != "\n" for char in out.getvalue())
    assert done.answers()[0].text == "a\x1b[0m"  # what is said is not changed, only what is shown


def test_the_farewell_is_escaped_too():
    task = Interview()
    out = io.StringIO()
    human = Human(stdin=io.StringIO("\x1b[2J\n" * 5), stdout=out)
    human.farewell(play(task, games(task.rows("train")[:1]), human, seed=0)[0])
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize("typed", ["", "1\n", "1\n2\n"])
def test_a_game_that_is_left_stands_as_far_as_it_was_played(typed):
    with pytest.raises(PlayerLeft) as left:
        sit(Guess(), typed, row=2)
    [one] = left.value.unfinished
    assert [turn.text for turn in one.answers()] == typed.split()
    assert one.ended is None
    assert one.bootstraps
    assert replay(Guess(), one) == one
    assert episode.from_json(episode.to_json(one)) == one


def test_of_several_games_each_is_kept():
    with pytest.raises(PlayerLeft) as left:
        play(
            Guess(),
            games(Guess().rows("train")[:2]),
            Human(stdin=io.StringIO("0\n"), stdout=io.StringIO()),
            seed=0,
        )
    assert len(left.value.unfinished) == 2


@pytest.mark.parametrize("typed", ["", "1\n"])
def test_the_end_of_the_input_ends_the_game(typed):
    with pytest.raises(KeyboardInterrupt, match="the input ended"):
        sit(Guess(), typed, row=2)


def test_an_interrupt_goes_through():
    class Interrupted(io.StringIO):
        def readline(self, *_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(Echo(), games(Echo().rows("train")), Human(stdin=Interrupted(), stdout=io.StringIO()), seed=0)


def test_a_terminal_that_knows_little_is_not_broken_by_letters():
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    play(Echo(), [Game(Echo().rows("train")[2])], Human(stdin=io.StringIO("x\n"), stdout=out), seed=0)
    out.flush()
    assert raw.getvalue().startswith(b"Say it again.\nna\\xefve\n")


def test_legal_actions_are_offered():
    assert "(1 | 2 | 3)\n" in sit(SlotsGuess(), "0\n", row=0)[1]
    assert "(one of 200,000 actions, such as: label 0)\n" in sit(Labels(), "x\n" * 6)[1]
    assert "(one of 738 actions, such as: about)\n" in sit(Wordle(), "crane\n" * 6)[1]
    assert "actions" not in sit(Guess(), "0\n", row=0)[1]


@pytest.mark.parametrize(
    ("task", "typed", "says"),
    [
        (Tagging(), "foo", r"no label: 'foo'; once more.* \(allowed: .*O.*\)"),
        (
            MultipleChoice(),
            "answer",
            r"neither ANSWER nor CONTINUE: 'answer'; once more; did you mean ANSWER\? \(allowed: "
            r"ANSWER \| CONTINUE\)",
        ),
        (MultiLabel(), "terminat", r"no label: 'terminat'; once more; did you mean terminate\?"),
        (Wordle(), "stee1", r"not five letters a-z: 'stee1'; once more; did you mean steer\?"),
    ],
    ids=lambda value: value.spec.id if hasattr(value, "spec") else None,
)
def test_what_a_task_cannot_read_is_asked_again_and_the_game_is_as_without_it(task, typed, says):
    row = task.rows("train")[3]
    right = play(task, [Game(row)], Expert(task), seed=0)[0]
    lines = "".join(f"{typed}\n{turn.text}\n" for turn in right.answers())
    out = io.StringIO()
    [one] = play(task, [Game(row)], Human(task, stdin=io.StringIO(lines), stdout=out), seed=0)
    assert re.search(says, out.getvalue())
    assert [(turn.seat, turn.text) for turn in one.turns] == [(turn.seat, turn.text) for turn in right.turns]
    assert one.rewards == right.rewards


def test_the_second_mistake_of_a_turn_counts_unless_it_may_be_made_again():
    task = MultipleChoice()
    out = io.StringIO()
    [one] = play(
        task,
        games(task.rows("train")[:1]),
        Human(task, stdin=io.StringIO("answer\nanswer\nANSWER\n"), stdout=out),
        seed=0,
    )
    assert [turn.text for turn in one.answers()] == ["answer", "ANSWER"]
    assert "'answer'; it counts as your answer\n" in out.getvalue()
    patient = Human(
        task, HumanOptions(again=True), stdin=io.StringIO("answer\n" * 9 + "ANSWER\n"), stdout=out
    )
    [one] = play(task, games(task.rows("train")[:1]), patient, seed=0)
    assert [turn.text for turn in one.answers()] == ["ANSWER"]


def test_several_games_are_told_apart_by_name():
    task, out = Echo(), io.StringIO()
    play(task, games(task.rows("train")[:2]), Human(stdin=io.StringIO("a\nb\n"), stdout=out), seed=0)
    assert re.findall(r"\[.*\]", out.getvalue()) == ["[game 1]", "[game 2]"]
    assert "[game" not in sit(task, "a\n")[1]


def test_the_name_of_a_game_does_not_give_its_answer_away():
    """The id of a row of Wordle is its secret word; the record has it, the screen does not."""
    task, out = Wordle(), io.StringIO()
    rows = task.rows("test")[1:3]  # the first word is shown as an example of an action
    done = play(task, games(rows), Human(task, stdin=io.StringIO("crane\n" * 12), stdout=out), seed=0)
    assert [episode.row for episode in done] == [row.id for row in rows]
    assert out.getvalue().count("[game 1]") == out.getvalue().count("[game 2]") >= 6
    assert not any(row["secret"] in out.getvalue().replace("crane", "") for row in rows)


def test_an_unfinished_game_has_not_ended():
    task = Guess()
    with pytest.raises(PlayerLeft) as left:
        sit(task, "")
    assert ending(left.value.unfinished[0]) == "The game is unfinished. Rewards: none."


def test_seats_are_named_at_the_prompt():
    assert "interviewer> " in sit(Interview(), "a\n" * 9)[1]


def test_a_human_is_an_agent_and_reads_the_real_terminal_by_default(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("ab\n"))
    human = Human()
    assert isinstance(human, Agent)
    assert human.answer([Live(Echo(), Echo().rows("train")[0], 0, 0).question()])[0].text == "ab"
    assert capsys.readouterr().out == "Say it again.\nab\nagent> "
