"""Searches that train: their winner, what they write, and how they go on after a kill."""

import json
import os
import shutil
import sys
from dataclasses import replace

import pytest
import yaml

from helpers import killed
from helpers.training.small_runs import recipe_of, results
from loquent.bench import crew, runner
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.search import journal, page, trials
from loquent.bench.search.planning import plan
from loquent.bench.search.search import resume_search, search
from loquent.cli import main as cli
from loquent.cli.commands.search import report_search
from loquent.errors import BadCheckpoint, BadSetting
from loquent.files.run_folder import RunFolder, Tuning
from loquent.report import write_report
from loquent.report.headlines import brief
from loquent.training import recipes
from loquent.training.run import load_run
from loquent.training.train import train

SPACE = ("algorithm.learning_rate=log:1e-5:1e-1", "algorithm.epochs=1:4")
WORDS = [*SPACE, "--on", "return", "--trials", "4", "--rungs", "1,2", "--processes", "1"]


def small(*overrides):
    return recipe_of("turn_ppo", None).replace(
        "training.updates=3", "algorithm.features.dimension=64", "training.final_episodes=12", *overrides
    )


def of(folder, recipe, settings=SPACE, **wishes):
    wished = {"on": "return", "trials": 2, **wishes}
    lines = []
    found = search(recipe, plan(recipe, settings, **wished), folder, processes=1, say=lines.append)
    return found, lines


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A search of four trials and three rungs, by the command."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "small.yaml").write_text(small().yaml())
    assert cli.main(["search", str(folder / "small.yaml"), *WORDS, "--out", str(folder / "whole")]) == 0
    return folder / "whole"


def timeless(folder):
    """The lines of a search and its best recipe, without seconds."""
    lines = [json.loads(line) for line in (folder / "search.jsonl").read_text().splitlines()]
    best = recipes.load(folder / "best.yaml")
    return [{**line, "seconds": 0} for line in lines], replace(best, tuning=replace(best.tuning, seconds=0.0))


def test_trials_that_tie_with_the_best_are_counted(whole, tmp_path, capsys):
    assert "tie" not in (whole / "search.html").read_text().partition("<main")[2]
    recipe = small("algorithm.learning_rate=0", "training.updates=1")
    found, _ = of(tmp_path / "ties", recipe, ("algorithm.epochs=1,2",), trials=None)
    assert (found.best, found.ties, found.as_json()["ties"]) == (0, [0, 1], [0, 1])
    assert [found.state(trial) for trial in (0, 1)] == ["the best", "ties with the best"]
    says = "2 trials tie with the best value; the first of them is named."
    report_search(found)
    assert says in capsys.readouterr().out
    assert says in page.html(found)


def test_after_each_rung_the_better_half_goes_on(whole):
    found = journal.Journal(whole)
    assert [len(found.rung(number)) for number in range(3)] == [4, 2, 1]
    for number in (0, 1):
        values = found.rung(number)
        best = sorted(values, key=lambda trial: (-values[trial], trial))[: len(values) // 2]
        assert found.rung(number + 1).keys() == set(best)
    (winner,) = found.rung(2)
    assert recipes.load(whole / "best.yaml").config.epochs == found.proposals[winner]["algorithm.epochs"]
    evaluation = load_run(whole / f"trial-{winner}-seed-0").evaluation
    assert (evaluation["split"], evaluation["values"]["return"]) == ("validation", found.rung(2)[winner])


def test_a_survivor_equals_the_run_that_was_never_stopped_at_a_rung(whole, tmp_path):
    (winner,) = journal.Journal(whole).rung(2)
    recipe = recipes.load(whole / "best.yaml").replace("training.final_split=validation")
    run = train(recipe, tmp_path / "run", progress=False)
    assert results(run.folder) == results(whole / f"trial-{winner}-seed-0")


def test_the_winner_and_what_is_trained_from_it_say_what_the_search_cost(whole, tmp_path):
    (winner,) = journal.Journal(whole).rung(2)
    tuning = json.loads((whole / f"trial-{winner}-seed-0" / "tuning.json").read_text())
    updates = 1 + 1 + 2 + 3  # two trials end at update 1, one at 2, one at 3
    assert (tuning["trials"], tuning["updates"], tuning["episodes"]) == (4, updates, 6 * updates)
    assert (tuning["metric"], tuning["split"], tuning["rows"]) == ("return", "validation", 12)
    assert not (whole / f"trial-{(winner + 1) % 4}-seed-0" / "tuning.json").exists()
    best = recipes.load(whole / "best.yaml")
    assert vars(best.tuning) == tuning
    assert best.fingerprint == replace(best, tuning=None).fingerprint, "it changes no result"
    run = train(best.replace("training.updates=1"), tmp_path / "run", progress=False)
    assert run.recipe.tuning == best.tuning
    assert json.loads(run.files.tuning.read_text()) == tuning
    for folder in (run.folder, whole / f"trial-{winner}-seed-0"):
        page = write_report([folder], tmp_path / "report.html").read_text()
        assert f"4 trials, {updates} updates" in page
        assert f"4 trials, {updates} updates" in brief(folder)
    other = whole / f"trial-{(winner + 1) % 4}-seed-0"
    assert "4 trials" not in write_report([other], tmp_path / "report.html").read_text()
    again = best.tuning.followed_by(replace(best.tuning, trials=2, metric="success"))
    assert (again.trials, again.updates, again.metric) == (6, 2 * updates, "success")


@pytest.mark.parametrize("text", ['{"trials": "<b>"}', "[" * 200, "null"])
def test_a_report_leaves_a_damaged_cost_of_the_search_out(whole, tmp_path, text):
    shutil.copytree(whole / "trial-0-seed-0", tmp_path / "run")
    (tmp_path / "run" / "tuning.json").write_text(text)
    page = write_report([tmp_path / "run"], tmp_path / "report.html").read_text()
    assert "tuning.json" in page
    assert "It is left out" in page
    assert "4 trials" not in page


SUITE = """
columns: {score: {metric: return, better: higher}}
profiles: {tiny: {seeds: 1}}
cells: {tuned: {recipe: best.yaml}, plain: {recipe: plain.yaml}}
"""


def test_a_suite_says_how_much_tuning_each_method_got(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = small("training.updates=0")
    (tmp_path / "plain.yaml").write_text(recipe.yaml())
    tuning = Tuning(trials=9, updates=1234, episodes=5, seconds=1.0, metric="return", split="validation")
    (tmp_path / "best.yaml").write_text(replace(recipe, tuning=tuning).replace("algorithm.epochs=2").yaml())
    (tmp_path / "small.yaml").write_text(SUITE)
    runner.bench("small.yaml", "out", processes=1, say=lambda line: None)
    table = (tmp_path / "out" / "table.md").read_text()
    assert " tuning |" in table
    rows = {
        line.split("|")[1].strip(): line.split("|")[-2].strip() for line in table.splitlines() if "|" in line
    }
    assert (rows["tuned"], rows["plain"]) == ("9 trials, 1,234 updates", "none")
    cells = json.loads((tmp_path / "out" / "table.json").read_text())["cells"]
    assert (cells["tuned"]["tuning"], cells["plain"]["tuning"]) == ("9 trials, 1,234 updates", None)
    runner.bench("small.yaml", "other", only=["plain"], processes=1, say=lambda line: None)
    assert "tuning" not in (tmp_path / "other" / "table.md").read_text(), "only if a method got some"


def copy_of(whole, folder, lines, keep=()):
    """The folder of a search as it was after so many lines, with the runs in `keep` alone."""
    folder.mkdir()
    for name in ("recipe.yaml", "search.json"):
        shutil.copy(whole / name, folder)
    text = (whole / "search.jsonl").read_text().splitlines(keepends=True)[:lines]
    (folder / "search.jsonl").write_text("".join(text))
    for name in keep:
        shutil.copytree(whole / name, folder / name)
    return folder


@pytest.mark.parametrize(
    "moments",
    [
        [("in_extension", 1)],  # between the rungs
        pytest.param([("after_result", 2), ("in_extension", 3)], marks=pytest.mark.slow),
    ],
)
def test_a_killed_search_goes_on_with_the_same_trials_and_the_same_winner(whole, tmp_path, moments):
    out, file = tmp_path / "out", whole.parent / "small.yaml"
    words = ["search", str(file), *WORDS, "--out", str(out)]
    for point, count in moments:
        assert killed.loquent(*words, point=point, count=count) == -9
    assert cli.main(words) == 0
    assert timeless(out) == timeless(whole)
    for run in sorted(path.name for path in whole.glob("trial-*")):
        assert results(out / run) == results(whole / run)


def test_half_a_line_is_written_again(whole, tmp_path):
    folder = copy_of(whole, tmp_path / "copy", 99, [path.name for path in whole.glob("trial-*")])
    text = (folder / "search.jsonl").read_text()
    (folder / "search.jsonl").write_text(text[: text.rindex('"rung": 2')])  # the runs are there
    assert resume_search(folder, allow_imports=True, processes=1, say=lambda line: None).best is not None
    assert timeless(folder) == timeless(whole)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread")
def test_a_search_goes_on_with_the_threads_that_it_began_with(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")

    def stop(line):
        if line.startswith("trial 1"):
            raise KeyboardInterrupt

    recipe = small("training.updates=2")
    planned = plan(recipe, ["algorithm.epochs=1,2"], on="return", rungs="1")
    with pytest.raises(KeyboardInterrupt):
        search(recipe, planned, tmp_path / "out", processes=1, say=stop)
    assert crew.threads(1) != crew.threads(2)
    found = resume_search(tmp_path / "out", processes=2, allow_imports=True)
    assert found.tuning.updates == 1 + 2, "no run began anew"


def test_the_same_command_after_the_end_trains_nothing(whole, capsys):
    before = (whole / "search.jsonl").read_bytes()
    assert cli.main(["search", str(whole.parent / "small.yaml"), *WORDS, "--out", str(whole), "--json"]) == 0
    printed = capsys.readouterr()
    assert "updates: return" not in printed.err
    assert json.loads(printed.out.splitlines()[-1])["best"]["state"] == "the best"
    assert (whole / "search.jsonl").read_bytes() == before


def test_another_search_in_the_folder_is_refused(whole, capsys):
    line = ["search", str(whole.parent / "small.yaml"), *WORDS, "--out", str(whole)]
    assert cli.main([*line, "--seed", "1"]) == 2
    assert "holds a search whose seed is 0, and it is 1 now" in capsys.readouterr().err
    assert cli.main([*line, "algorithm.gamma=0.5"]) == 2
    assert "holds a search whose recipe is" in capsys.readouterr().err
    assert cli.main(["resume", str(whole), "training.updates=9"]) == 2
    assert (
        "holds a search, which goes on as it began; leave out training.updates=9" in capsys.readouterr().err
    )
    assert cli.main([*line[:-1], str(whole.parent)]) == 2
    assert "is not empty and holds no search" in capsys.readouterr().err


def test_a_split_that_a_search_reads_is_not_said_to_have_no_effect(whole, capsys):
    words = [*WORDS, "training.evaluate_every=0", "training.evaluate_episodes=5", "training.evaluate_split=a"]
    assert cli.main(["search", str(whole.parent / "small.yaml"), *words, "--keep", "0"]) == 2
    printed = capsys.readouterr().err
    assert "--keep must be above 0" in printed
    assert "training.evaluate_episodes = 5 has no effect" in printed, "other remarks stay"
    assert "evaluate_split" not in printed


@pytest.mark.parametrize(
    ("line", "changed", "says"),
    [
        (
            1,
            '{"event": "proposal", "trial": 1, "settings": {"algorithm.epochs": 9}}',
            "trial 1 was proposed as",
        ),
        (4, '{"event": "result", "trial": 0, "rung": 0, "value": "high"}', r"search\.jsonl:5: .*value"),
        (2, '{"event": "pickle"}', r"search\.jsonl:3: .*neither a proposal nor a result"),
        (2, "[" * 200, r"search\.jsonl:3"),
        (
            6,
            '{"event": "proposal", "trial": 4, "settings": {"algorithm.network": "code:net"}}',
            "it has a trial 4, and the trials of the search are 0 to 3",
        ),
        (6, '{"event": "result", "trial": -1, "rung": 0, "value": 9.0}', "it has a trial -1"),
    ],
)
def test_a_changed_line_is_named(whole, tmp_path, line, changed, says):
    folder = copy_of(whole, tmp_path / "copy", 7)
    lines = (folder / "search.jsonl").read_text().splitlines()
    lines[line] = changed
    (folder / "search.jsonl").write_text("".join(f"{text}\n" for text in lines))
    with pytest.raises(BadCheckpoint, match=says):
        resume_search(folder, allow_imports=True)


def test_a_changed_recipe_is_named(whole, tmp_path):
    folder = copy_of(whole, tmp_path / "copy", 7)
    text = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(text.replace("gamma: 0.99", "gamma: 0.9"))
    with pytest.raises(BadCheckpoint, match=r"recipe\.yaml was changed since the search began"):
        resume_search(folder, allow_imports=True)


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """A file that exists as soon as the module named_by_a_search is imported."""
    mark, code = tmp_path / "ran", tmp_path / "code"
    code.mkdir()
    (code / "named_by_a_search.py").write_text(f"open({str(mark)!r}, 'w').close()")
    monkeypatch.syspath_prepend(code)
    yield mark
    sys.modules.pop("named_by_a_search", None)


def test_code_in_the_files_of_somebody_elses_search_is_refused(whole, tmp_path, monkeypatch, capsys, ran):
    folder = copy_of(whole, tmp_path / "theirs", 0)
    monkeypatch.chdir(whole)
    own = json.loads((folder / "search.json").read_text())
    own["space"] = ["algorithm.network=vector,named_by_a_search:net", "algorithm.epochs=1:4"]
    (folder / "search.json").write_text(json.dumps(own))
    assert cli.main(["resume", str(folder)]) == 2
    assert "NotTrusted" in capsys.readouterr().err
    assert not ran.exists()


@pytest.mark.parametrize("section", ["task", "algorithm"])
def test_a_search_imports_no_code_of_a_folder_that_was_there(
    whole, tmp_path, monkeypatch, capsys, ran, section
):
    folder = copy_of(whole, tmp_path / "theirs", 0)
    monkeypatch.chdir(whole)
    text = (folder / "recipe.yaml").read_text()
    kind = yaml.safe_load(text)[section]["kind"]
    changed = text.replace(f"kind: {kind}", "kind: named_by_a_search:T")
    assert changed != text
    (folder / "recipe.yaml").write_text(changed)
    words = ["search", str(whole.parent / "small.yaml"), *WORDS, "--out", str(folder)]
    assert cli.main(words) == 2
    assert "NotTrusted" in capsys.readouterr().err
    assert not ran.exists()
    assert cli.main([*words, "--allow-imports"]) == 2
    assert ran.exists(), "the caller allowed it"


def test_a_trial_that_fails_is_noted_and_ends_nothing(tmp_path, monkeypatch):
    """A rate of 1e30 diverges; another trial's value is no number."""
    real = trials.value

    def value(done, outcome, metric):
        found = real(done, outcome, metric)
        return (
            real(done, replace(outcome, evaluation={"values": {metric: float("nan")}}), metric)
            if (done.recipe.config.learning_rate == 0.5)
            else found
        )

    monkeypatch.setattr(trials, "value", value)
    found, lines = of(tmp_path / "out", small(), ["algorithm.learning_rate=1e-3,0.5,1e30"], trials=3)
    assert found.best is not None
    states = {row["settings"]["algorithm.learning_rate"]: row["state"] for row in found.as_json()["trials"]}
    assert states[0.5] == "failed: seed 0: return is nan in the evaluation, not a finite number"
    assert states[1e-3] == "the best"
    assert states[1e30].startswith("failed: seed 0: the norm of the gradient is nan: training has diverged")
    assert any("failed" in line for line in lines)


def test_without_a_trial_that_works_the_exit_code_says_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "small.yaml").write_text(small("training.updates=0").yaml())
    nan = {"values": {"return": float("nan")}}
    real = trials.value
    monkeypatch.setattr(trials, "value", lambda done, end, key: real(done, replace(end, evaluation=nan), key))
    line = [
        "search",
        str(tmp_path / "small.yaml"),
        "algorithm.epochs=1,2",
        "--on",
        "return",
        "--processes",
        "1",
    ]
    assert cli.main([*line, "--out", str(tmp_path / "out"), "--json"]) == 1
    printed = capsys.readouterr().out
    assert "all trials failed, so there is no best one" in printed
    assert json.loads(printed.splitlines()[-1])["best"] is None
    assert "All trials failed." in (tmp_path / "out" / "search.html").read_text()
    assert not (tmp_path / "out" / "best.yaml").exists()


def test_early_stopping_ends_a_trial_at_every_rung(tmp_path):
    recipe = small("training.evaluate_every=1", "training.stop_metric=return", "training.patience=1",
                   "algorithm.learning_rate=0.0", "training.evaluate_episodes=3")  # fmt: skip
    found, _ = of(tmp_path / "out", recipe, ["algorithm.epochs=1,2"], rungs="2", keep=1.0)
    assert found.rungs[0] == found.rungs[1], "the second update improves nothing, so neither does a third"
    assert found.tuning.updates == 4
    assert found.journal.results[0, 1].seconds == 0


def test_a_trial_is_the_mean_over_its_seeds(tmp_path):
    found, _ = of(tmp_path / "out", small("training.updates=1"), ["algorithm.epochs=1,2"], seeds=2)
    for trial, value in found.rungs[0].items():
        runs = [load_run(tmp_path / "out" / f"trial-{trial}-seed-{seed}") for seed in (0, 1)]
        assert [run.recipe.training.seed for run in runs] == [0, 1]
        assert value == sum(run.evaluation["values"]["return"] for run in runs) / 2
    assert found.tuning.updates == 4


def test_a_schedule_over_the_whole_run_trains_each_rung_anew(tmp_path):
    recipe = recipe_of("sb3/a2c", None).replace("training.updates=2", "algorithm.schedule=linear")
    found, _ = of(tmp_path / "out", recipe, ["algorithm.gamma=0.9,0.99"], rungs="1")
    (winner,) = found.rungs[1]
    runs = [f"trial-{trial}-seed-0-updates-1" for trial in (0, 1)] + [f"trial-{winner}-seed-0-updates-2"]
    assert sorted(path.name for path in (tmp_path / "out").glob("trial-*")) == sorted(runs)
    assert found.tuning.updates == 1 + 1 + 2
    assert "Each rung trained anew: schedule = 'linear'" in page.summary(found)


def test_a_held_out_loss_is_that_of_the_checkpoint_that_was_evaluated(tmp_path):
    on = "supervised/held_out_loss"
    job = trials.job(small(), 0, 0, 3, tmp_path)
    logs = RunFolder(job.folder).logs
    job.folder.mkdir()
    for update in (1, 2, 3):
        logs.append({"update": update, on: update / 8}, {"update": update})
    outcome = Outcome(job.key, {"checkpoint": "update-2", "values": {"return": 1.0}})
    assert trials.value(job, outcome, on) == 0.25
    assert trials.value(job, outcome, "return") == 1.0
    with pytest.raises(BadSetting, match="seed 0: nothing is None"):
        trials.value(job, outcome, "nothing")


@pytest.mark.slow
def test_a_search_by_held_out_loss(tmp_path):
    recipe = recipe_of("supervised", None, "metrics={}").replace("training.updates=2")
    on = "supervised/held_out_loss"
    found, _ = of(tmp_path / "out", recipe, ["algorithm.learning_rate=1e-9,1e-1"], on=on)
    assert not found.plan.higher
    for trial, value in found.rungs[0].items():
        line = load_run(tmp_path / "out" / f"trial-{trial}-seed-0").metrics[-1]
        assert (line["update"], line[on]) == (2, value)
    assert found.rungs[0][found.best] == min(found.rungs[0].values())


def test_optuna_proposes_after_each_trial(tmp_path):
    pytest.importorskip("optuna")
    settings, recipe = ["algorithm.learning_rate=log:1e-5:1e-1"], small("training.updates=1")
    found, _ = of(tmp_path / "out", recipe, settings, sampler="tpe", trials=3)
    assert found.plan.sampler_version == f"optuna {sys.modules['optuna'].__version__}"
    copy_of(tmp_path / "out", tmp_path / "cut", 3)  # the second trial was proposed
    assert resume_search(tmp_path / "cut", allow_imports=True, processes=1).rungs == found.rungs
    assert [*journal.Journal(tmp_path / "cut").proposals.values()] == [*found.journal.proposals.values()]
