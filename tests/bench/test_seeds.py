"""Several seeds of one recipe: a run each, a table over them, and going on where it was stopped."""

import json
import shutil
from types import SimpleNamespace

import pytest

from loquent.bench import seeds
from loquent.cli import main as cli
from loquent.errors import BadCheckpoint
from loquent.training import recipes
from loquent.training.run import Run

SMALL = ["task.limit=60", "training.checkpoint_every=1"]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three seeds of one small recipe, by the command."""
    folder = tmp_path_factory.mktemp("runs") / "three"
    line = [
        "train",
        "reviews_ppo",
        *SMALL,
        "metrics={diversity: {}}",
        "rewards={lexicon: 1.0}",
        "--profile",
        "smoke",
        "--seeds",
        "3",
    ]
    assert cli.main([*line, "--out", str(folder)]) == 0
    return folder


def test_each_seed_has_a_run_of_its_own(three):
    assert sorted(path.name for path in three.iterdir() if path.is_dir()) == ["seed-0", "seed-1", "seed-2"]
    runs = [Run(three / f"seed-{seed}") for seed in range(3)]
    assert [run.recipe.training.seed for run in runs] == [0, 1, 2]
    assert len({run.fingerprint for run in runs}) == 3
    assert (three / "report.html").stat().st_size > 10_000


def test_the_table_is_means_and_deviations(three):
    rows = {row["value"]: row for row in json.loads((three / "table.json").read_text())["rows"]}
    row = rows["return ↑"]
    values = [Run(three / f"seed-{seed}").evaluation["values"]["return"] for seed in range(3)]
    mean = sum(values) / 3
    assert [row[f"seed-{seed}"] for seed in range(3)] == values
    assert row["mean"] == pytest.approx(mean)
    assert row["mean/sd"] == pytest.approx((sum((x - mean) ** 2 for x in values) / 2) ** 0.5)
    assert row["n"] == 3
    table = (three / "table.md").read_text()
    assert "± " in table
    evaluation = Run(three / "seed-0").evaluation
    size = f"{evaluation['n']} episodes on {evaluation['rows']} rows of test"
    spread = "± is the standard deviation over seeds"
    decoding = "Decoding of evaluation: sampled, temperature 1."
    assert table.endswith(f"Each run was evaluated by {size}; {spread}. {decoding}\n")
    evaluated = json.loads((three / "table.json").read_text())["evaluated"]
    assert evaluated[2] == {
        "run": "seed-2", "split": "test", "episodes": evaluation["n"], "rows": evaluation["rows"],
        "decoding": "sampled, temperature 1",
    }  # fmt: skip
    assert (three / "table.csv").read_text().startswith("value,mean,mean/sd,seed-0")


def test_a_start_that_all_seeds_share_is_named(three):
    runs = [Run(three / f"seed-{seed}") for seed in (0, 1)]
    started = [
        SimpleNamespace(
            folder=run.folder, evaluation=run.evaluation, recipe=run.recipe.replace("model.path=mine")
        )
        for run in runs
    ]
    out = "; all seeds start from mine, and ± leaves out what another start would change. Decoding"
    assert f"deviation over seeds{out}" in seeds.evaluated_on(started)


def test_a_folder_of_seeds_goes_on_where_it_was_stopped(three, tmp_path, capsys):
    cut = shutil.copytree(three, tmp_path / "cut")
    shutil.rmtree(cut / "seed-2")
    (cut / "seed-1" / "evaluation.json").unlink()
    shutil.rmtree(cut / "seed-1" / "checkpoints" / "update-2")
    (cut / "table.json").unlink()
    assert cli.main(["resume", str(cut), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])["runs"]) == 3
    assert (cut / "table.json").read_text() == (three / "table.json").read_text()


def test_seeds_do_not_continue_a_run_that_lies_in_the_folder_already(tmp_path, monkeypatch, capsys):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "named_by_a_run.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    monkeypatch.syspath_prepend(tmp_path / "code")
    left = tmp_path / "out" / "seed-1"
    left.mkdir(parents=True)
    (left / "config.yaml").write_text("task: wordle\nmetrics: {'named_by_a_run:metric': {}}\n")
    line = ["train", "wordle_bc", "--profile", "smoke", "--seeds", "2", "--out", str(tmp_path / "out")]
    assert cli.main(line) == 2
    assert not (tmp_path / "ran").exists()
    assert "already holds runs" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["seed-1"]


def test_a_folder_with_runs_is_refused(three):
    with pytest.raises(BadCheckpoint, match="already holds runs"):
        seeds.train_seeds(recipes.load("reviews_ppo", profile="smoke"), three, 2, progress=False)


@pytest.mark.parametrize(
    "seeds",
    [
        "[[[",
        '{"seeds": [-5]}',
        '{"seeds": [1, 1]}',
        '{"seeds": ["../x"]}',
        '{"seeds": []}',
        '{"seeds": 3}',
        "[]",
        '{"seeds": [true]}',
    ],
)
def test_an_odd_plan_of_seeds_is_named(seeds, tmp_path):
    from loquent.bench.seeds import resume_seeds

    (tmp_path / "recipe.yaml").write_text(recipes.load("reviews_base").yaml())
    (tmp_path / "seeds.json").write_text(seeds)
    with pytest.raises(BadCheckpoint, match=r"seeds\.json"):
        resume_seeds(tmp_path, progress=False)
    assert not list(tmp_path.glob("seed-*"))
