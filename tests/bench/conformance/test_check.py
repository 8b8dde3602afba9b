"""`check` and `report` as a user meets them."""

import numpy as np
import pytest

import loquent
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.twins import Global, Raises
from loquent.bench.conformance.check import LAWS, Finding, check, findings, report
from loquent.bench.conformance.walks import Bench, Tally
from loquent.errors import BadSetting, UnknownName


class NoExpert(Guess):
    def expert(self, state):
        return None


class NoRows(Guess):
    def rows(self, split):
        return ()


def test_a_task_without_an_expert_says_so_and_never_ok():
    [line] = [line for line in report(NoExpert(), episodes=3) if "expert:" in line]
    assert line == "not checked  expert: the task has no expert"
    # it can be otherwise
    assert any(line.startswith("kept         expert:") for line in report(Guess(), episodes=3))


def test_every_law_has_a_line_and_says_how_much_it_saw():
    lines = report(Guess(), episodes=3)
    assert [line.split()[1 + (line.startswith("not"))] for line in lines] == [f"{name}:" for name in LAWS]
    assert "not checked  actions: the task takes free text" in lines
    assert any(
        line.startswith("not checked  splits: the splits share rows (the rows are few)") for line in lines
    )
    kept = [line for line in lines if line.startswith("kept")]
    assert len(kept) == len(LAWS) - 2
    assert all(line.endswith(")") and any(char.isdigit() for char in line.rsplit("(", 1)[1]) for line in kept)


def test_a_setting_without_rows_is_an_error_and_no_broken_law():
    with pytest.raises(BadSetting, match="this dataset has no built-in rows"):
        check(loquent.task("generation", dataset="scitldr"))


def test_nothing_is_kept_where_nothing_was_seen():
    found = {finding.law: finding for finding in findings(NoRows(), episodes=3)}
    assert [law for law, finding in found.items() if finding.problems] == ["rows"]
    assert found["values"].skipped == "no split has a row"
    assert found["end"].skipped
    assert [law for law, finding in found.items() if not finding.skipped] == [
        "rows",
        "results",
        "randomness",
    ]


def test_one_broken_part_does_not_hide_the_others():
    lines = report(Raises(), episodes=2)
    assert lines[0] == "BROKEN       rows: OSError: the file is gone"
    assert len(lines) == len(LAWS)


def test_the_words_of_a_global_draw():
    assert "a global random generator was touched" in check(Global(), episodes=1)
    assert "a global random generator was touched" not in check(Guess(), episodes=1)


def test_torch_s_generator_is_watched_once_torch_is_loaded():
    torch = pytest.importorskip("torch")

    class Torch(Echo):
        def first(self, row, rng):
            torch.rand(1)
            return super().first(row, rng)

    assert "it was touched by first, play; draw from the key that first gets instead" in check(
        Torch(), episodes=1
    )


def test_numpy_s_generator_is_watched():
    bench = Bench(Guess(), 1, 0)
    bench.watch("harmless", lambda: np.random.default_rng(0).random())
    assert bench.touched_by == []
    bench.watch("harmful", lambda: np.random.rand())  # noqa: NPY002
    assert bench.touched_by == ["harmful"]


def test_by_name_by_path_and_from_the_face():
    assert check("wordle", episodes=2) == []
    assert check("helpers.tracers.echo:Echo", episodes=2) == []
    assert loquent.check("wordle", episodes=2) == []
    with pytest.raises(UnknownName, match="Did you mean 'wordle'"):
        check("wordel")
    with pytest.raises(BadSetting, match="no module 'nowhere'"):
        check("nowhere:Task")
    with pytest.raises(BadSetting, match="is not a task"):
        check("loquent.core.values:Record")


def test_the_same_seed_sees_the_same_games():
    seen = [[walk.moves for walk in Bench(Guess(), 6, seed).walks] for seed in (1, 1, 2)]
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_a_fault_is_told_once_and_few_times():
    tally = Tally()
    for problem in ("a", "a", None, "b", "c", "d"):
        tally.add(problem)
    assert tally.count == 6
    assert tally.problems == ["a", "b", "c"]


def test_how_a_finding_reads():
    assert str(Finding("end", "Games end", ("it goes on",))) == "BROKEN       end: it goes on"
    assert str(Finding("end", "Games end", looked="3 games")) == "kept         end: Games end (3 games)"


def test_a_task_without_a_row_is_broken_and_said_so():
    assert [rule for rule in check(NoRows(), episodes=2) if "no split has a row" in rule]
    assert not [rule for rule in check(Guess(), episodes=2) if "no split has a row" in rule]
