"""A run in a notebook: its columns, its data frame, its episodes, its charts and its short form."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

from helpers.report import report_folders as made
from loquent import load_run
from loquent.core.episode import TASK, Episode, Turn
from loquent.errors import BadSetting, Damaged, UnknownName
from loquent.files.columns import Metrics
from loquent.report import plot, write_report
from loquent.training.evaluate import Evaluation

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {names}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
sys.meta_path.insert(0, Blocked())
"""
HEAVY = {"torch", "transformers", "tokenizers", "safetensors", "sklearn", "datasets", "IPython", "matplotlib"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 6 updates that was evaluated at updates 3 and 6, and at its end."""
    return load_run(made.run(tmp_path_factory.mktemp("runs") / "run"))


def test_metrics_are_lines_and_columns(run):
    metrics = run.metrics
    assert metrics[0]["update"] == 1
    assert metrics["update"].tolist() == [1, 2, 3, 4, 5, 6]
    assert metrics["rollout/return"].tolist() == [made.line(u, 0, 0.0)["rollout/return"] for u in range(1, 7)]
    held_out = metrics["evaluation/return"]
    assert held_out.dtype == np.float64
    assert np.isnan(held_out).tolist() == [True, True, False, True, True, False], "NaN where not evaluated"
    assert np.isnan(metrics["critic/explained_variance"]).all(), "null is NaN"
    assert metrics[3:]["update"].tolist() == [4, 5, 6]
    assert metrics.columns[:2] == ["update", "episodes"]
    assert "evaluation/return" in metrics.columns
    with pytest.raises(UnknownName, match="Did you mean 'rollout/return'"):
        metrics["rollout/retrun"]
    with pytest.raises(UnknownName, match="rollout/ended/tpyo"):
        metrics["rollout/ended/tpyo"]
    assert "rollout/return" in metrics._repr_html_()


def test_an_ending_that_did_not_occur_in_an_update_is_0():
    metrics = Metrics([{"rollout/ended/cut": 0.5, "rollout/ended/left": 0.5}, {"rollout/ended/cut": 1.0}])
    assert metrics["rollout/ended/left"].tolist() == [0.5, 0.0]


def test_a_data_frame_has_a_row_an_update(run):
    pandas = pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert list(frame.columns) == run.metrics.columns
    assert frame["update"].tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["update"].dtype == "int64"
    assert frame["evaluation/return"].dropna().index.tolist() == [2, 5]
    assert frame["rollout/return"].iloc[-1] == run.metrics[-1]["rollout/return"]
    assert isinstance(frame, pandas.DataFrame)


@pytest.mark.parametrize("without", ["heavy", "pandas"])
def test_a_data_frame_needs_pandas_only(run, without):
    names = HEAVY if without == "heavy" else {"pandas"}
    code = BLOCKED.format(names=names) + (
        "import loquent\n"
        f"run = loquent.load_run({str(run.folder)!r})\n"
        "drawn = run.plot('rollout/return')\n"
        "print(len(run.metrics['update']), len(run.episodes()), len(drawn.html()) > 1000)\n"
        "print(run.to_pandas().shape[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:1] == ["6 3 True"], done.stderr
    if without == "heavy":
        assert done.stdout.splitlines()[1] == "6"
    else:
        assert "MissingExtra: to_pandas needs the libraries of loquent[pandas]" in done.stderr


def test_episodes_by_split_and_update(run, tmp_path):
    assert [game.turns[-1].text for game in run.episodes()] == ["a fine film"] * 3
    assert run.episodes("test") == run.episodes()
    assert {game.turns[-1].text for game in run.episodes("validation")} == {"a fine film after 6"}
    assert {game.turns[-1].text for game in run.episodes(update=3)} == {"a fine film after 3"}
    has = "it has: validation at update 3, validation at update 6, test at the end"
    for asked in ({"split": "train"}, {"update": 4}, {"split": "test", "update": 3}):
        with pytest.raises(BadSetting, match=re.escape(has)):
            run.episodes(**asked)
    begun = load_run(made.run(tmp_path / "begun", updates=2, finished=False))
    with pytest.raises(BadSetting, match="it has: none"):
        begun.episodes()


def test_episodes_that_changed_are_refused(tmp_path):
    """The seal of an evaluation has the record of its episodes where `loquent train` wrote it."""
    from loquent.files.run_folder import RunFolder

    files = RunFolder(made.run(tmp_path / "run", finished=False))
    files.write_evaluation(
        {"task": "generation-v1", "split": "test", "n": 3, "values": {}, "errors": {}},
        [made.game(i, "fine") for i in range(3)],
    )
    assert len(load_run(files.path).episodes()) == 3
    files.episodes.write_text(files.episodes.read_text().replace("fine", "good"))
    with pytest.raises(Damaged, match=r"episodes\.jsonl"):
        load_run(files.path).episodes()


def test_a_plot_draws_the_charts_of_the_report(run, tmp_path):
    drawn = run.plot(["rollout/return", "evaluation/return"])
    report = run.report(tmp_path / "report.html").read_text()
    page = drawn.save(tmp_path / "plot.html").read_text()
    for title, count in (("rollout/return", 1), ("evaluation/return", 1), ("kl/reference", 0)):
        assert page.count(f'<h4 class="mono">{title}</h4>') == count
    figure = re.compile(r'<figure><h4 class="mono">evaluation/return</h4>.*?</figure>', re.DOTALL)
    of_page, of_report = (re.sub(r"\b[td]?\d+\b", "", figure.search(text)[0]) for text in (page, report))
    assert of_page == of_report, "the same figure, up to its numbers"
    assert "Plot(rollout/return, evaluation/return" in repr(drawn)
    assert drawn._repr_html_().startswith('<iframe sandbox="allow-scripts"')
    with pytest.raises(UnknownName, match="'evaluation/return'"):
        run.plot("evaluation/retrun")
    with pytest.raises(UnknownName):
        run.plot("critic/explained_variance")  # logged, but never a number
    assert plot([run.folder, run.folder], ["rollout/return"]).html().count("<figure>") == 1


def test_a_report_is_written_into_the_folder(tmp_path):
    run = load_run(made.run(tmp_path / "run"))
    assert run.report() == run.folder / "report.html"
    assert run.report().read_text() == write_report([run.folder], tmp_path / "other.html").read_text()


def test_a_run_in_short(run, tmp_path):
    page = run._repr_html_()
    for text in (
        "reviews_ppo",
        "generation",
        '<th scope="col">updates</th>',
        "<td>6</td>",
        '<th scope="row">perplexity</th>',
    ):
        assert text in page, text
    begun = load_run(made.run(tmp_path / "<b>begun", updates=2, finished=False))
    assert "has not ended" in begun._repr_html_()
    assert "<b>" not in begun._repr_html_()


def test_an_evaluation_prints_as_a_table():
    turns = (Turn(TASK, "a", to="agent"), Turn("agent", "b"))
    evaluation = Evaluation(
        "wordle-v1", "test", 2, {"return": -3.25, "won": math.nan, "<b>": 1.0}, {"return": 0.125},
        episodes=tuple(Episode("wordle-v1", row, "test", 1, 0, turns, ended="end") for row in "ab"),
        decoding="argmax",
    )  # fmt: skip
    assert str(evaluation).splitlines() == [
        "wordle-v1, test, 2 episodes on 2 rows; decoding: argmax",
        "value          ± standard error",
        "return  -3.25              0.12",
        "won         –                 –",
        "<b>         1                 –",
    ]
    assert repr(evaluation) == str(evaluation)
    assert '<tr><th scope="row">return</th><td>-3.25</td><td>0.12</td></tr>' in evaluation._repr_html_()
    assert '<th scope="row">&lt;b&gt;</th>' in evaluation._repr_html_()
