"""What lies in a suite's folder is kept: other runs are refused, torn ones are gone on with or set aside,
threads and versions are known.
"""

import csv
import json
import shutil
from pathlib import Path

import pytest

from loquent.bench import crew, pages, runner, work
from loquent.bench.evidence import texts
from loquent.bench.evidence.outcome import Outcome
from loquent.cli import main as cli
from loquent.errors import BadCheckpoint
from loquent.files import manifest, names
from loquent.files.run_folder import RunFolder
from loquent.statistics.intervals import Interval
from loquent.training.train import train

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def made(tmp_path_factory, suite_text):
    """The small suite, run with one seed and a checkpoint after every update: its folder."""
    where = tmp_path_factory.mktemp("bench")
    (where / "small.yaml").write_text(suite_text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        _bench()
    return where


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of it to spoil, as the current folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _bench(seeds=1, processes=1, **options):
    said = []
    options.setdefault("overrides", ["ppo:training.checkpoint_every=1", "same:training.checkpoint_every=1"])
    found = runner.bench(
        "small.yaml", "out", profile="smoke", seeds=seeds, processes=processes, say=said.append, **options
    )
    return found, said


def _unfinish(folder):
    (folder / names.SUITE).unlink()
    (folder / "evaluation.json").unlink()


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_of_other_settings_is_refused_and_left_as_it_is(here, finished):
    folder = here / "out" / "ppo-0"
    other = work.load_run(folder).recipe.replace("algorithm.clip=0.3", "algorithm.learning_rate=0.001")
    shutil.rmtree(folder)
    train(other, folder, progress=False)
    (folder / "thesis.txt").write_text("mine")
    if not finished:
        (folder / "evaluation.json").unlink()
    before = sorted(path for path in folder.rglob("*"))
    with pytest.raises(
        BadCheckpoint,
        match=r"out/ppo-0 holds a run of other settings .*algorithm.clip was 0.3 and is 0.2 now",
    ):
        _bench()
    assert sorted(folder.rglob("*")) == before
    assert (folder / "thesis.txt").read_text() == "mine"


def test_a_script_does_not_play_into_the_folder_of_a_run(here):
    shutil.rmtree(here / "out" / "expert-0")
    shutil.copytree(here / "out" / "ppo-0", here / "out" / "expert-0")
    (here / "out" / "expert-0" / names.SUITE).unlink()
    with pytest.raises(BadCheckpoint, match=r"out/expert-0 holds a run of other settings"):
        _bench()


@pytest.mark.parametrize("name", ["evaluation.json", names.SUITE])
def test_a_changed_digit_is_never_a_result(name, here):
    """What a script played is played again.

    What was trained is a failure that names the file, or the run is looked at again.
    """
    right = {run: load_evaluation(here, run) for run in ("expert-0", "ppo-0")}
    for run in right:
        file = here / "out" / run / name
        text = file.read_text()
        digit = next(i for i, letter in enumerate(text) if letter.isdigit() and text[i - 1] == ".")
        file.write_text(text[: digit + 1] + "987654321" + text[digit + 1 :])
    found, _ = _bench()
    assert load_evaluation(here, "expert-0") == right["expert-0"]
    if name == "evaluation.json":
        assert "evaluation.json is not what was written" in str(found.failures)
    else:
        assert not found.failures
        assert load_evaluation(here, "ppo-0") == right["ppo-0"]


def load_evaluation(here, run):
    return RunFolder(here / "out" / run).evaluation()["values"]


def _tear(folder, update):
    state = folder / "checkpoints" / f"update-{update}" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-9])


def test_a_torn_checkpoint_is_gone_on_from_an_older_one_and_said(here):
    before = json.loads((here / "out" / "table.json").read_text())["cells"]["ppo"]["values"]
    folder = here / "out" / "ppo-0"
    _unfinish(folder)
    _tear(folder, 2)
    found, said = _bench()
    assert found.rows["ppo"].values == {
        name: {int(seed): value for seed, value in by.items()} for name, by in before.items()
    }
    line = next(line for line in said if "ppo-0" in line)
    assert "continued from an older checkpoint" in line
    assert "update-2 is refused" in line
    assert (folder / "checkpoints" / "update-2.refused").is_dir()


def test_a_run_whose_checkpoints_are_all_torn_is_set_aside_and_begun_anew(here):
    folder = here / "out" / "ppo-0"
    for earlier in ("ppo-0.refused", "ppo-0.refused-2"):
        _unfinish(folder)
        (folder / "thesis.txt").write_text(earlier)
        for update in (1, 2):
            _tear(folder, update)
        found, said = _bench()
        assert not found.failures
        line = next(line for line in said if "ppo-0" in line)
        assert f"begun anew; the earlier run is now in {earlier}: " in line
        assert "is torn" in line
        assert (here / "out" / earlier / "thesis.txt").read_text() == earlier
        assert not (folder / "thesis.txt").exists()


def test_what_is_no_refused_checkpoint_does_not_set_a_run_aside(here, monkeypatch):
    """A full disk, say: the run stays where it is, and the next call goes on with it."""
    folder = here / "out" / "ppo-0"
    _unfinish(folder)

    def full(*arguments, **options):
        raise BadCheckpoint("no room") from OSError(28, "No space left on device")

    monkeypatch.setattr(work, "train", full)
    found, _ = _bench()
    assert found.failures == {"ppo-0": "no room"}
    assert (folder / "checkpoints" / "update-2").is_dir()
    assert not list(folder.parent.glob("*.refused*"))


def test_threads_do_not_depend_on_how_many_runs_are_left(here, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(crew, "_available_cores", lambda: 4)
    assert [crew.threads(n) for n in (1, 2, 4, 9)] == [4, 2, 1, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [crew.threads(n) for n in (1, 2)] == [3, 2], "no more than is asked for"
    made = [Outcome("a", threads=2), Outcome("b", threads=2), Outcome("c")]
    assert crew.threads(1, made) == 2, "that of the runs that are there"
    assert crew.threads(1, [*made, Outcome("d", threads=1)]) == 3

    seen = []
    monkeypatch.setattr(
        crew,
        "make",
        lambda job, progress: seen.append(torch.get_num_threads()) or Outcome(job.key, failure="x"),
    )
    before = torch.get_num_threads()
    jobs = runner.jobs.plan(runner.suites.load("small.yaml"), Path("elsewhere"), "smoke", 1, {}).jobs[:1]
    crew.run(jobs, 2, lambda job, outcome: None)  # one is left: it is made in this process
    assert (seen, torch.get_num_threads()) == ([2], before)


def test_a_run_says_with_what_it_was_made_and_the_page_where_that_differs(here, made):
    done = json.loads((made / "out" / "ppo-0" / names.SUITE).read_text())
    assert done["loquent"] == work.__version__
    assert done["threads"] == json.loads((made / "out" / "ppo-0" / "machine.json").read_text())["threads"]
    found, _ = _bench()
    assert found.notes == ()
    older = here / "out" / "zero-0" / names.SUITE
    older.write_text(
        json.dumps(manifest.add_seal(json.loads(older.read_text()) | {"loquent": "0.0.9", "threads": 7}))
    )
    found, said = _bench()
    assert all(line.endswith("found") for line in said)
    version, threads = found.notes
    assert "different versions of Loquent" in version
    assert "0.0.9 (1 runs)" in version
    assert "7 (1 runs)" in threads
    for text in ((here / "out" / "table.md").read_text(), (here / "out" / "table.html").read_text()):
        assert "0.0.9 (1 runs)" in text


def test_the_tables_are_written_after_every_run(here, monkeypatch):
    """A call that is stopped leaves the tables of what it has made."""
    _unfinish(here / "out" / "ppo-0")
    _unfinish(here / "out" / "zero-0")
    for path in (here / "out").glob("*.*"):
        path.unlink()
    make = work.make

    def stopped(job, progress):
        if job.name == "ppo":
            raise KeyboardInterrupt
        return make(job, progress)

    monkeypatch.setattr(crew, "make", stopped)
    with pytest.raises(KeyboardInterrupt):
        _bench()
    whole = json.loads((here / "out" / "table.json").read_text())
    assert [whole["cells"][name]["n"] for name in ("zero", "ppo", "expert")] == [1, 0, 1]
    assert whole["notes"][0] == "3 of 4 runs have ended so far"
    assert "3 of 4 runs" in (here / "out" / "table.md").read_text()


def test_the_published_cell_comes_with_its_page_and_words(made):
    out = made / "out"
    quote = (
        "Mean and standard deviations over 5 random seeds is reported for sentiment scores along with "
        "fluency and diversity metrics"
    )
    quote += " on validation set."
    for name in ("table.md", "table.html", "table.json", "table.csv"):
        text = (out / name).read_text()
        assert quote in text, name
        assert "page 21" in text, name
    lines = [line for line in csv.DictReader((out / "table.csv").open()) if line["paper"]]
    assert {line["paper_quote"] for line in lines} == {quote}
    assert json.loads((out / "table.json").read_text())["cells"]["zero"]["published"]["quote"] == quote


def test_verdicts_are_a_table_too(made):
    lines = list(csv.DictReader((made / "out" / "verdicts.csv").open()))
    assert [(line["column"], line["part"], line["low_cell"], line["high_cell"]) for line in lines] == [
        ("words", "step", "zero", "expert"), ("words", "step", "ppo", "same"),
        ("words", "step", "ppo", "same"), ("words", "step", "same", "expert"),
        ("words", "ends", "ppo", "expert"),
    ]  # fmt: skip
    assert {line["verdict"] for line in lines} == {"undecided"}
    assert (lines[0]["quote"], lines[0]["place"], lines[0]["n"]) == ("a <quote>", "here", "1")
    assert lines[0]["difference"]


def test_the_page_says_what_its_intervals_leave_out(here):
    found, _ = _bench(seeds=2)
    assert found.family_sizes == {"One": 3}
    for text in (pages.markdown(found), pages.html(found)):
        assert "Seed k of a run starts from seed k of base: intervals over seeds hold" in text
        assert "method corrects the tests of one table together (3 of One)" in text
        assert "smallest visible difference" in text
        assert "at most 5% of such tables would have a decided claim. This does not hold where" in text
        assert "with four times the deviation 6 to 14% of tables have a wrong decision" in text
        claim = next(
            line
            for line in text.splitlines()
            if "difference " in line and "undecided on these rows (p" in line
        )
        assert claim.index("difference ") < claim.index("undecided on"), "the effect first"
    assert "(n = 2; " in texts.step_text(found.verdicts[0].steps[0])
    one = found.rows["zero"]
    fewer = type(one)(
        **{**vars(one), "intervals": {**one.intervals, "words": Interval(3.0, None, None, None, 1)}}
    )
    assert pages.cell(fewer, "words") == "3.000 (n = 1)"
    assert "n =" not in pages.cell(one, "words")


def test_tables_count_episodes_and_rows_everywhere(made):
    out = made / "out"
    evaluation = RunFolder(out / "zero-0").evaluation()
    size = [str(evaluation["n"]), str(evaluation["rows"])]
    markdown = (out / "table.md").read_text()
    [head] = [line for line in markdown.splitlines() if line.startswith("|") and "words" in line]
    assert [cell.strip() for cell in head.split("|")][-4:-1] == ["n", "episodes", "rows"]
    line = next(line for line in markdown.splitlines() if line.startswith("| zero "))
    assert [cell.strip() for cell in line.split("|")][-3:-1] == size
    assert f"evaluated by {size[0]} episodes on {size[1]} rows." in markdown
    assert f"{size[0]} episodes on {size[1]} rows" in next(
        line for line in markdown.splitlines() if line.startswith("    - zero → expert")
    )
    page = (out / "table.html").read_text()
    assert '<th scope="col">n</th><th scope="col">episodes</th><th scope="col">rows</th>' in page
    assert f"<td>{size[0]}</td><td>{size[1]}</td></tr>" in page
    cells = list(csv.DictReader((out / "table.csv").open()))
    assert {(line["episodes"], line["rows"]) for line in cells} == {tuple(size)}
    steps = list(csv.DictReader((out / "verdicts.csv").open()))
    for side in ("low", "high"):
        assert {(line[f"{side}_episodes"], line[f"{side}_rows"]) for line in steps} == {tuple(size)}
    whole = json.loads((out / "table.json").read_text())
    assert {(cell["episodes"], cell["rows"]) for cell in whole["cells"].values()} == {tuple(map(int, size))}
    step = whole["verdicts"][0]["steps"][0]
    assert (step["episodes"], step["rows"]) == ([int(size[0])] * 2, [int(size[1])] * 2)


@pytest.mark.parametrize("kept", [True, False])
def test_an_evaluation_without_rows_is_read_with_a_warning(here, kept):
    """An earlier version wrote it: its rows come from its episodes; without these its errors are left out."""
    folder = here / "out" / "zero-0"
    before = _bench()[0].rows["zero"]
    content = json.loads((folder / "evaluation.json").read_text())
    older = {key: value for key, value in content.items() if key not in ("rows", "episodes", "samples")}
    older["errors"] = {"return": 0.0001}
    (folder / "evaluation.json").write_text(json.dumps(manifest.add_seal(older)))
    if not kept:
        (folder / "episodes.jsonl").unlink()
    found = _bench()[0]
    [note] = found.notes
    assert note in (here / "out" / "table.md").read_text()
    assert note in (here / "out" / "table.html").read_text()
    if kept:
        assert "rows and standard errors are computed from their episodes" in note
        assert found.rows["zero"].rows == before.rows > 0
        assert found.rows["zero"].errors["sentiment"] == before.errors["sentiment"]
    else:
        assert "their standard errors count episodes on one row as independent, so they are left out" in note
        assert (found.rows["zero"].rows, found.rows["zero"].errors["sentiment"]) == (0, {})
        assert "| unknown |" in (here / "out" / "table.md").read_text()


def test_a_column_may_be_of_the_log(here):
    suite = here / "small.yaml"
    suite.write_text(
        suite.read_text().replace(
            "profiles:\n",
            "  kl: {metric: kl/reference, logged: true}\n  no: {metric: kl/refrence, logged: "
            "true}\nprofiles:\n",
            1,
        )
    )
    found, _ = _bench()
    last = json.loads((here / "out" / "ppo-0" / "metrics.jsonl").read_text().splitlines()[-1])
    assert found.rows["ppo"].values["kl"] == {0: last["kl/reference"]}
    assert found.rows["zero"].values["kl"] == {}, "nothing was logged without an update"
    assert found.notes == ("no run measured 'kl/refrence' (nearest: kl/reference)",)


def test_the_command_names_the_folder_that_is_in_the_way(here, capsys):
    config = here / "out" / "ppo-0" / "config.yaml"
    config.write_text(config.read_text().replace("gamma: 0.9", "gamma: 0.8"))
    _unfinish(here / "out" / "ppo-0")
    assert (
        cli.main(
            ["bench", "small.yaml", "--profile", "smoke", "--seeds", "1", "--processes", "1", "--out", "out"]
        )
        == 2
    )
    assert "out/ppo-0 holds a run of other settings" in capsys.readouterr().err
