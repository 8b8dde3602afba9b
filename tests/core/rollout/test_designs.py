"""Sets of games that leave an expert's: forks start from its state, keep its history, and are found again by
their meta (spec A20).
"""

from collections import Counter

import pytest

from helpers.tracers import TRACERS
from loquent.agents.baselines import Expert, Random
from loquent.core import episode as files
from loquent.core.agent import Answer
from loquent.core.live import Live
from loquent.core.rollout.forks import COMPANIONS, adversarial, branching, states
from loquent.core.rollout.loop import Game, games, play, play_out, replay
from loquent.core.values import Record
from loquent.data.ranking import branch_pairs, initial_pairs
from loquent.tasks.wordle.experts import half
from loquent.tasks.wordle.task import Wordle, WordleOptions


class Again:
    """Says one of the first two words of the game."""

    name = "again"

    def answer(self, asked):
        return [Answer(self.word(one)) for one in asked]

    def word(self, one):
        said = [turn.text for turn in one.turns if turn.seat == "agent"][:2]
        return said[one.key.generator().integers(len(said))]


def words(episode):
    return [turn.text for turn in episode.answers()]


def wordle(**options):
    return Wordle(WordleOptions(limit=236, **options))


@pytest.fixture(scope="module", params=["row", "redrawn"])
def section_5(request):
    """The task, and an adversarial set over 30 games of the expert."""
    task = wordle(secret=request.param)
    queue = games(task.rows("train")[:30])
    return task, adversarial(task, queue, Expert(task), Again(), half(task), seed=5, rollouts=4, games=3)


def by_kind(episodes, kind):
    return [one for one in episodes if one.meta["kind"] == kind]


def test_adversarial_games_keep_the_expert_s_two_words_and_use_no_others(section_5):
    _, episodes = section_5
    experts = {(one.row, one.number): one for one in by_kind(episodes, "expert")}
    forks = by_kind(episodes, "adversarial")
    assert len(experts) == 30
    assert len(forks) == 4 * sum(len(words(one)) >= 3 for one in experts.values()) > 40
    for fork in forks:
        parent = experts[fork.row, fork.meta["parent"]]
        assert words(fork)[:2] == words(parent)[:2]
        assert set(words(fork)) == set(words(parent)[:2])
        start = fork.meta["start"]
        assert fork.turns[:start] == parent.turns[:start]
        assert fork.turns[start] == fork.answers()[2]
        assert fork.ended == "out of turns"
        # from s_2: -4, the whole game: -6
        assert [turn.rewards["guess"] for turn in fork.answers()] == [-1.0] * 6
    assert len({tuple(words(one)) for one in forks if one.row == forks[0].row}) > 1, (
        "each fork has streams of its own"
    )


def test_a_fork_goes_on_from_the_board_and_the_words_that_still_fit(section_5):
    task, episodes = section_5
    for fork in by_kind(episodes, "adversarial")[:20]:
        parent = next(one for one in episodes if one.row == fork.row and one.number == fork.meta["parent"])
        there, here = (list(states_of(task, one))[2] for one in (parent, fork))
        assert here.step.observation.fields["board"] == there.step.observation.fields["board"] != ()
        fitting = [set(task.lexicon.fits(one.step.state.board).tolist()) for one in (there, here)]
        assert fitting[0] == fitting[1]
        assert len(fitting[0]) < len(task.words)


def states_of(task, episode):
    """Copies of the game before each answer."""
    stream = episode.meta.get("parent", episode.number)
    game = Live(task, task.row(episode.split, episode.row), stream, episode.seed)
    for turn in episode.answers():
        yield game.fork(0, "copy")
        game.act(Answer(turn.text))


def test_what_is_played_beside_the_expert_s_games_comes_behind_each(section_5):
    _, episodes = section_5
    kinds = [one.meta["kind"] for one in episodes]
    at = [i for i, kind in enumerate(kinds) if kind == "expert"]
    for i, end in zip(at, [*at[1:], len(kinds)], strict=True):
        group = episodes[i:end]
        reached = len(words(group[0])) >= 3
        assert kinds[i:end] == ["expert", *["adversarial"] * (4 if reached else 0), *["suboptimal"] * 3]
        assert len({one.row for one in group}) == 1
        assert [one.number for one in group] == [0, *range(COMPANIONS, COMPANIONS + len(group) - 1)]
    assert all("start" not in one.meta for one in by_kind(episodes, "suboptimal"))
    assert {one.agents["agent"] for one in by_kind(episodes, "adversarial")} == {"again"}
    assert {one.agents["agent"] for one in by_kind(episodes, "suboptimal")} == {"wordle/half"}


def test_every_episode_can_be_replayed_and_reads_back_equal(section_5, tmp_path):
    task, episodes = section_5
    assert [replay(task, one) for one in episodes] == episodes
    files.write(tmp_path / "e.jsonl", episodes)
    assert list(files.read(tmp_path / "e.jsonl")) == episodes


def test_without_its_parent_a_redrawn_fork_would_be_another_game():
    from dataclasses import replace

    task = wordle(secret="redrawn")
    episodes = branching(task, games(task.rows("train")[:20]), Expert(task), half(task), seed=1)
    forks = [one for one in by_kind(episodes, "branch_suboptimal") if one.meta["start"] > 3]

    def plays(one):
        try:
            return replay(task, one).turns == one.turns
        except Exception:
            return False

    assert all(plays(one) for one in forks)
    assert not all(plays(replace(one, meta=Record())) for one in forks)


def test_pairs_to_rank(section_5):
    _, episodes = section_5
    pairs = branch_pairs(episodes)
    assert len(pairs) == len(by_kind(episodes, "adversarial"))
    for pair in pairs:
        assert pair.better.turns[: pair.turn] == pair.other.turns[: pair.turn]
        better, other = pair.answers
        assert (better.text, other.text) == (words(pair.better)[2], words(pair.other)[2])
        assert better.text != other.text
    first = initial_pairs(episodes)
    assert 70 < len(first) <= 90
    assert all(
        (pair.better.meta["kind"], pair.other.meta["kind"], pair.turn) == ("expert", "suboptimal", 1)
        for pair in first
    )
    assert branch_pairs(one for one in episodes if one.meta["kind"] != "expert") == []
    assert initial_pairs(by_kind(episodes, "expert")) == []


# -- branching, on every tracer
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRACERS)
def test_a_branch_leaves_from_every_state_of_the_expert_s_game(name):
    task = TRACERS[name]()
    queue = [Game(row, number) for row in task.rows("train")[:3] for number in (0, 7)]
    expert, random = Expert(task), Random(task)
    episodes = branching(task, queue, expert, random, seed=2, rollouts=2)
    alone = play(task, queue, expert, seed=2)
    experts = by_kind(episodes, "expert")
    assert [(one.turns, one.ended) for one in experts] == [(one.turns, one.ended) for one in alone]
    assert len({(one.row, one.number) for one in episodes}) == len(episodes)
    for parent in experts:
        forks = [
            one
            for one in by_kind(episodes, "branch_suboptimal")
            if (one.row, one.meta["parent"]) == (parent.row, parent.number)
        ]
        starts = Counter(one.meta["start"] for one in forks)
        assert starts == {i: 2 for i, turn in enumerate(parent.turns) if turn.seat == "agent"}
        for one in forks:
            assert [turn.text for turn in one.turns[: one.meta["start"]]] == [
                turn.text for turn in parent.turns[: one.meta["start"]]
            ]
            assert one.ended is not None
            assert one.agents["agent"] == "random"
            others = {turn.seat for turn in parent.turns} - {"task", "agent"}
            assert {seat: who for seat, who in one.agents.items() if seat != "agent"} == dict.fromkeys(
                others, "expert"
            )
    assert [replay(task, one) for one in episodes] == episodes
    assert episodes == branching(task, queue, expert, random, seed=2, rollouts=2)
    assert episodes != branching(task, queue, expert, random, seed=3, rollouts=2)


def test_how_games_are_put_together_does_not_matter():
    task = wordle()
    queue = games(task.rows("train")[:6])
    whole = branching(task, queue, Expert(task), half(task), seed=4)
    parts = [one for game in queue for one in branching(task, [game], Expert(task), half(task), seed=4)]
    assert whole == parts


def test_forks_share_nothing_with_the_game_they_leave():
    task = wordle()
    [expert] = play(task, games(task.rows("train")[:1]), Expert(task), seed=0)
    before = len(expert.turns)
    walk = states(task, expert, task.rows("train")[0])
    game = next(walk)
    left, right = game.fork(1, "a"), game.fork(2, "b")
    left.act(Answer("crane"))
    assert (len(game.turns), len(left.turns), len(right.turns)) == (1, 3, 1)
    assert game.step.turn == right.step.turn == 0
    assert left.fork(9, "c").meta == Record(kind="c", parent=0, start=3)
    assert next(walk).step.turn == 1
    assert len(expert.turns) == before
    [one, two] = play_out(task, [right, left], half(task), live=1)
    assert (one.number, two.number) == (2, 1)
    assert words(two)[0] == "crane"
