"""How episodes ended and what they earned, from episodes whose numbers are plain to see.

And the same through an evaluation.
"""

import math
from dataclasses import replace

import pytest

from loquent.adapters.gymnasium import Environment
from loquent.cli.commands.printing import print_scores
from loquent.core import episode, log_keys
from loquent.core.agent import Answer
from loquent.core.episode import Episode, Turn
from loquent.core.metric import Measured
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import OUT_OF_TURNS, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.data import outcomes
from loquent.errors import BadRow, BadSetting, BrokenTask
from loquent.statistics.intervals import student
from loquent.tasks.wordle.task import Wordle
from loquent.training.evaluate import evaluate_agent
from loquent.training.metrics import higher_is_better

ENDED = {"out": "left", "down": "fell"}
EARNS = {"out": Record(exit=1.0), "down": Record()}


class Maze(Task):
    """Whoever says "out" leaves and earns `exit`; "down" is a fall.

    Anything else pays a toll, and the second toll is the last.
    """

    spec = TaskSpec(id="maze", rewards=Record(exit=1.0, toll=0.5), success=("left",), turn_limit=2)

    def rows(self, split):
        return tuple(Row(f"{split}-{i}", Record(number=i)) for i in range(20))

    def first(self, row, rng):
        return Opening(row["number"], Observation("?"))

    def read(self, state, text):
        return text

    def play(self, state, move):
        return Outcome(state, Observation(""), EARNS.get(move, Record(toll=-1.0)), ENDED.get(move))


class Player:
    """Says in the game on row i what text i of a list is."""

    name = "player"

    def __init__(self, texts):
        self.texts = texts

    def answer(self, asked):
        return [Answer(self.texts[one.state]) for one in asked]


class Sometimes:
    """A metric that applies to answers of three letters alone."""

    name, version, higher_is_better = "sometimes", 1, True

    def __call__(self, samples):
        found = [1.0 if len(one) == 3 else None for one in samples.predictions]
        return Measured({"sometimes": found}, {"sometimes": 1.0} if any(found) else {})


SEVEN = Player(["out"] * 7 + ["down"] * 10 + ["what"] * 3)


def test_seven_of_twenty_is_no_success_of_all():
    found = evaluate_agent(Maze(), SEVEN, episodes=20)
    error = math.sqrt(0.35 * 0.65 / 19)
    assert next(iter(found.values)) == "success"
    assert (found.values["success"], found.errors["success"]) == (
        0.35,
        pytest.approx(error),
    )
    assert (found.values["reward/exit"], found.errors["reward/exit"]) == (0.35, pytest.approx(error))
    assert found.values["reward_where_present/exit"] == 1.0
    # the toll is a sum over two turns: 3 episodes of -2
    assert (found.values["reward/toll"], found.values["reward_where_present/toll"]) == (
        pytest.approx(-0.3),
        -2.0,
    )
    assert found.values["return"] == pytest.approx(0.35 - 0.5 * 0.3)
    shares = {key: value for key, value in found.values.items() if key.startswith("ended/")}
    assert shares == {"ended/left": 0.35, "ended/out of turns": 0.15, "ended/fell": 0.5}
    assert [
        key for key in found.values if log_keys.definition(f"evaluation/{key}", log_keys.LOGGED) is None
    ] == []


@pytest.mark.parametrize("texts", [["out"] * 20, ["down"] * 20], ids=["all", "none"])
@pytest.mark.parametrize("episodes", [20, 200])
def test_one_quantity_has_one_error_and_equal_episodes_have_none(texts, episodes):
    """Before, a success of 1 was 1 ± 0.024, and the reward that is paid for it 1 ± 0."""
    for player in (Player(texts), SEVEN):
        errors = evaluate_agent(Maze(), player, episodes=episodes).errors
        same = [errors.get(key) for key in ("success", "ended/left", "reward/exit")]
        assert len(set(same)) == 1
        assert (same[0] is None) == (player is not SEVEN)


@pytest.mark.parametrize("horizon", ["end", "cut"])
def test_only_endings_that_the_task_can_have_are_listed(horizon):
    spec = TaskSpec(id="maze", success=("left",), turn_limit=2, horizon=horizon)
    assert outcomes.endings(spec, ["fell"]) == ["left", "out of turns", *["cut"] * (horizon == "cut"), "fell"]
    assert "ended/cut" not in evaluate_agent(Maze(), SEVEN, episodes=20).values


def test_success_is_printed_first(capsys):
    print_scores(evaluate_agent(Maze(), SEVEN, episodes=20).as_json())
    assert capsys.readouterr().out.splitlines()[1].split() == ["success", "0.35", "±", "0.11"]


def test_a_reward_that_nobody_earned_is_0_and_can_be_watched():
    # before, the key was absent, and early stopping on it ended the run with an error
    found = evaluate_agent(Maze(), Player(["down"] * 20), episodes=20)
    assert found.values["reward/exit"] == found.values["success"] == 0.0
    assert "reward_where_present/exit" not in found.values


def test_a_task_without_the_notion_has_no_success():
    class Plain(Maze):
        spec = TaskSpec(id="plain", rewards=Record(exit=1.0, toll=0.5))

    found = evaluate_agent(Plain(), Player(["down"] * 20), episodes=3)
    assert "success" not in found.values
    assert found.values["ended/fell"] == 1.0


def test_what_a_metric_does_not_apply_to_is_told():
    values = evaluate_agent(Maze(), SEVEN, episodes=20, metrics=[Sometimes()]).values
    assert (values["sometimes"], values["scored/sometimes"]) == (1.0, 0.35)
    assert (
        "scored/sometimes"
        not in evaluate_agent(Maze(), Player(["out"] * 20), episodes=20, metrics=[Sometimes()]).values
    )


def test_values_by_row_are_what_is_averaged():
    found = evaluate_agent(Maze(), SEVEN, episodes=20, metrics=[Sometimes()], by_row=True)
    assert found.by_row["success"] == [1.0] * 7 + [0.0] * 13
    assert found.by_row["reward_where_present/toll"] == [None] * 17 + [-2.0] * 3
    assert found.by_row["sometimes"] == [1.0] * 7 + [None] * 13
    for key, column in found.by_row.items():
        present = [number for number in column if number is not None]
        assert found.values[key] == pytest.approx(sum(present) / len(present), abs=1e-12)
    assert found.values.keys() - found.by_row.keys() == {"scored/sometimes"}
    assert evaluate_agent(Maze(), SEVEN, episodes=20).by_row == {}


def test_success_is_watched_upwards_and_a_mean_over_some_episodes_is_not():
    assert higher_is_better("success", (), Record(exit=1.0)) is True
    for key in ("reward_where_present/exit", "ended/left", "scored/sometimes"):
        with pytest.raises(BadSetting, match="cannot be watched"):
            higher_is_better(key, (), Record(exit=1.0))


def test_an_episode_under_way_has_no_ending():
    [episode] = play(Maze(), games(Maze().rows("train")[:1]), SEVEN, seed=0)
    columns = outcomes.columns([episode, replace(episode, ended=None)], Maze.spec, Record(exit=1.0))
    assert columns["ended/not ended"] == [0.0, 1.0]
    assert columns["success"] == [1.0, 0.0]


@pytest.mark.parametrize("success", ["solved", ["solved"], ("",), ("cut",), (1,), (OUT_OF_TURNS,)])
def test_a_spec_refuses_what_no_episode_can_end_with(success):
    with pytest.raises(BrokenTask, match="success"):
        TaskSpec(id="t", success=success)


def test_the_last_turn_may_be_a_success_where_there_is_a_limit():
    assert TaskSpec(id="t", success=(OUT_OF_TURNS,), turn_limit=3).success == (OUT_OF_TURNS,)


def test_wordle_declares_solved():
    task = Wordle()
    assert task.spec.success == ("solved",)
    assert [task.is_success(ended) for ended in ("solved", OUT_OF_TURNS, None)] == [True, False, False]
    assert evaluate_agent(task, Knowing(), split="test", episodes=3).values["success"] == 1.0


class Knowing:
    """Knows the word."""

    name = "secret"

    def answer(self, asked):
        return [Answer(one.row["secret"]) for one in asked]


def test_an_ending_nobody_came_to_is_0_and_what_was_not_measured_is_none():
    line = {"rollout/ended/cut": 0.0, "rollout/ended/left": 0.5}
    assert log_keys.value(line, "rollout/ended/left") == 0.5
    assert log_keys.value(line, "rollout/ended/fell") == 0.0
    assert log_keys.value(line, "evaluation/ended/fell") is None
    assert log_keys.value(line, "rollout/success") is None


def test_gymnasium_tells_of_success_at_the_end():
    env = Environment(Maze())
    env.reset(seed=0)
    assert "is_success" not in env.step("what")[-1]
    info = env.step("out")[-1]
    assert (info["ended"], info["is_success"]) == ("left", True)
    env.reset(seed=0)
    assert env.step("down")[-1]["is_success"] is False


class Fickle:
    """Leaves with a probability that rises with the number of the row; else falls."""

    name = "fickle"

    def answer(self, asked):
        return [Answer("out" if one.key.generator().random() * 20 < one.state else "down") for one in asked]


def test_replayed_rows_are_no_new_evidence():
    # before, 200 episodes of this deterministic player had errors smaller by sqrt(10)
    once, often = (evaluate_agent(Maze(), SEVEN, episodes=episodes) for episodes in (20, 200))
    assert (once.n, once.rows, often.n, often.rows) == (20, 20, 200, 20)
    assert often.errors == pytest.approx(once.errors, rel=1e-12)
    assert often.values == pytest.approx(once.values, rel=1e-12)


def test_the_error_of_a_stochastic_player_falls_as_far_as_the_rows_allow():
    # row i succeeds with probability i / 20; the variances between rows and within a row follow from that
    between = sum((i / 20 - 9.5 / 20) ** 2 for i in range(20)) / 19
    within = sum(i / 20 * (1 - i / 20) for i in range(20)) / 20
    for episodes in (20, 200, 2000):
        expected = math.sqrt((between + within / (episodes / 20)) / 20)
        found = evaluate_agent(Maze(), Fickle(), episodes=episodes)
        assert found.errors["reward/exit"] == pytest.approx(expected, rel=0.15)
        assert found.errors["success"] == pytest.approx(expected, rel=0.15)
    assert found.errors["success"] > math.sqrt(between / 20) * 0.9
    assert found.errors["success"] > 4 * math.sqrt(found.values["success"] / 2 / 2000), "as before"


def test_a_mean_over_some_episodes_is_clustered_by_their_rows():
    # "what" is answered on the last 3 rows alone: the toll is there on 3 rows, whatever is repeated
    once, often = (evaluate_agent(Maze(), SEVEN, episodes=episodes) for episodes in (20, 200))
    assert once.values["reward_where_present/toll"] == often.values["reward_where_present/toll"] == -2.0
    assert "reward_where_present/toll" not in once.errors | often.errors, "all of them are equal"
    episodes = play(Maze(), games(Maze().rows("train"), each=2), SEVEN, seed=0)
    assert outcomes.rows(episodes, "reward_where_present/toll") == [
        f"train-{i}" for i in (17, 17, 18, 18, 19, 19)
    ]
    assert len(outcomes.rows(episodes, "reward/toll")) == 40


def test_one_row_has_no_error():
    found = evaluate_agent(Maze(), SEVEN, episodes=5, only=Record(number=3))
    assert (found.n, found.rows, found.errors) == (5, 1, {})


def test_an_evaluation_says_rows_and_episodes():
    found = evaluate_agent(Maze(), SEVEN, episodes=50).as_json()
    assert (found["n"], found["episodes"], found["rows"]) == (50, 50, 20)


@pytest.mark.slow
@pytest.mark.parametrize(("episodes", "fickle"), [(150, True), (150, False)])
def test_the_interval_of_an_evaluation_holds_the_mean_of_all_rows(episodes, fickle):
    """50 rows, drawn anew for each evaluation and played three times; success has the probability 1/2."""

    class Drawn(Maze):
        def __init__(self, seed):
            super().__init__()
            self.seed = seed

        def rows(self, split):
            chances = Key(self.seed, ("rows",)).generator().random(50)
            return tuple(
                Row(f"{split}-{i}", Record(number=20 * (x if fickle else float(x > 0.5))))
                for i, x in enumerate(chances.tolist())
            )

    t, held = student(49), {"success": 0, "reward/exit": 0}
    for seed in range(600):
        found = evaluate_agent(Drawn(seed), Fickle(), episodes=episodes, seed=seed)
        for key in held:
            held[key] += abs(found.values[key] - 0.5) <= t * found.errors[key]
    assert all(0.925 <= count / 600 <= 0.975 for count in held.values()), held


def test_an_unjudged_episode_is_in_no_mean_of_its_reward_and_of_the_return():
    def game(row, unjudged=(), **rewards):
        turns = (Turn("task", "go", to="agent"), Turn("agent", "x", rewards=Record(rewards)))
        ended = "dead" if "dead" in unjudged else "done"
        return Episode("t-v1", row, "train", 0, 0, turns, ended, unjudged=unjudged)

    episodes = [game("a", q=1.0, w=2.0), game("a", ("q",), w=4.0), game("b", q=3.0, w=6.0), game("c", ("q",))]
    spec, weights = TaskSpec(id="t"), Record(q=1.0, w=1.0)
    columns = outcomes.columns(episodes, spec, weights)
    assert (columns["return"], columns["reward/q"], columns["reward/w"]) == (
        [3.0, 9.0],
        [1.0, 3.0],
        [2, 4, 6, 0],
    )
    for key, column in columns.items():
        assert len(outcomes.rows(episodes, key)) == len(column), key
    assert outcomes.rows(episodes, "return") == ["a", "b"]
    failed = [*episodes, game("d", ("dead",), q=9.0, w=9.0, x=9.0)]  # it ended by a failure
    columns = outcomes.columns(failed, TaskSpec(id="t", success=("dead",)), weights)
    assert (columns["success"], columns["reward/w"]) == ([0, 0, 0, 0, 1], [2, 4, 6, 0])
    assert (columns["reward_where_present/w"], columns["answers"]) == ([2, 4, 6], [1] * 5)
    for key, column in columns.items():
        assert len(outcomes.rows(failed, key)) == len(column), key
    assert outcomes.count_unjudged(episodes, ["q", "w"]) == {"unjudged/q": 2.0, "unjudged/w": 0.0}
    assert outcomes.learnable(episodes, weights) == [episodes[0], episodes[2]]
    assert outcomes.learnable([*episodes, episodes[0]], weights, least=2) == [episodes[0], episodes[0]]
    assert outcomes.learnable(episodes, Record(w=1.0)) == episodes
    every = outcomes.columns([episodes[3]], spec, weights)
    assert all(
        map(math.isnan, outcomes.mean_and_error(every["return"], outcomes.rows([episodes[3]], "return")))
    )


def test_a_file_says_which_rewards_were_not_judged(tmp_path):
    told = Episode("t-v1", "r", "train", 0, 0, (Turn("task", "go", to="agent"),), None, unjudged=("q", "w"))
    episode.write(tmp_path / "episodes.jsonl", [told, replace(told, unjudged=())])
    assert [one.unjudged for one in episode.read(tmp_path / "episodes.jsonl")] == [("q", "w"), ()]
    assert "unjudged" not in (tmp_path / "episodes.jsonl").read_text().splitlines()[1]
    (tmp_path / "bad.jsonl").write_text(
        (tmp_path / "episodes.jsonl").read_text().replace('["q", "w"]', '"q"')
    )
    with pytest.raises(BadRow, match="unjudged"):
        list(episode.read(tmp_path / "bad.jsonl"))
