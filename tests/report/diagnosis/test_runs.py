"""The diagnosis of real runs: silent on good ones, right on a broken one, and clear about odd folders."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.report import kept_logs
from helpers.report.report_folders import run as report_folder
from loquent.cli import main as cli
from loquent.report import write_report
from loquent.report.diagnosis import RULES, SILENCE
from loquent.report.runs import ReportedRun
from loquent.training import recipes
from loquent.training.train import train

RECORDS = {record["command"]: record for record in kept_logs.kept()}
# what the nightly run trains anew: recipes, or parts of them, that learn in seconds
ANEW = {
    "choices_supervised": ("training.updates=8", "training.evaluate_every=2"),
    "tagging_supervised": ("training.updates=8", "training.evaluate_every=2"),
    "blocks_objects": ("training.updates=12", "training.episodes=128", "training.evaluate_every=3"),
}


def rules(found):
    return [finding.rule for finding in found.findings]


def names_of(command):
    return command.replace("loquent ", "").split(" model.path")[0]


@pytest.mark.parametrize("command", RECORDS, ids=names_of)
def test_no_rule_speaks_on_a_good_run(command, tmp_path):
    record = RECORDS[command]
    found = ReportedRun(kept_logs.write(tmp_path / "run", **record)).diagnosis
    assert not found.findings
    assert len(found.unjudged) < len(RULES) - 2, "it was judged by several rules"


def test_ten_good_runs_are_of_different_recipes_that_learned():
    assert len({record["config"]["name"] for record in RECORDS.values()}) >= 10
    assert all(len(record["metrics"]) >= 8 for record in RECORDS.values())


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ANEW)
def test_no_rule_speaks_on_a_good_run_that_is_trained_now(recipe, tmp_path):
    train(recipes.load(recipe, list(ANEW[recipe])), tmp_path / "run", progress=False)
    assert not ReportedRun(tmp_path / "run").diagnosis.findings


FOOD = {"fox": "nuts", "cow": "hay", "dog": "bones", "cat": "fish", "owl": "mice", "bee": "pollen"}
FOOD |= {"ant": "sugar", "hen": "corn"}
MODEL = "{layers: 1, width: 48, heads: 2, context: 64, vocabulary: 300, dropout: 0.0, critic: none}"
CLONE = """
task: {kind: generation, source: path, path: %s}
model: %s
rewards: {exact_match: 1.0}
decoding: {max_new_tokens: 12}
algorithm: {kind: supervised, learning_rate: 1.0e-2, minibatch: 16}
training: {updates: 13, episodes: 16, evaluate_every: 0, final_episodes: 8}
"""
GRPO = """
task: {kind: generation, source: path, path: %s}
model: {path: %s, critic: none, reference: none}
rewards: {exact_match: 1.0, length: {weight: 0.3, high: 0}}
decoding: {max_new_tokens: 12}
algorithm: {kind: grpo, learning_rate: 1.0e-3, beta: 0.0, epochs: 2, minibatch: 32}
training: {updates: 20, episodes: 64, answers: 8, evaluate_every: 0, final_episodes: 8}
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A clone that was stopped early, and a GRPO run from it that pays for each word.

    A right answer of three words earns 1 - 0.9. The clone is right once in ten times, so to say nothing
    earns most.
    """
    folder = tmp_path_factory.mktemp("broken")
    pairs = [(a, b) for a in FOOD for b in FOOD if a != b]
    rows = [{"prompt": f"{a} and {b} eat", "references": [f"{FOOD[a]} and {FOOD[b]}"]} for a, b in pairs]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, text, start in (("clone", CLONE, MODEL), ("grpo", GRPO, folder / "clone")):
        (folder / f"{name}.yaml").write_text(text % (folder / "rows.jsonl", start))
        train(recipes.load(folder / f"{name}.yaml"), folder / name, progress=False)
    return folder


def test_a_new_users_broken_run_is_named_rightly(broken):
    found = ReportedRun(broken / "grpo").diagnosis
    assert "rewards_apart" in rules(found)
    [apart] = [finding for finding in found.findings if finding.rule == "rewards_apart"]
    assert "the policy learns to avoid the penalty length instead of earning exact_match" in apart.cause
    assert "by answers that hardly say anything" in apart.cause
    assert "rewards.length.weight = 0.3: a third of it" in apart.setting
    assert rules(found.start) == ["undertrained_clone"], "and the clone that it starts from is named"
    assert "training.updates = 13: twice as many" in found.start.findings[0].setting


def test_the_command_prints_both_and_json_has_them(broken, capsys):
    assert cli.main(["diagnose", str(broken / "grpo"), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["runs"]
    assert cli.main(["diagnose", str(broken / "grpo")]) == 0
    printed = capsys.readouterr().out
    assert found["start"]["findings"][0]["rule"] == "undertrained_clone"
    for part in ("rewards_apart", "the log shows", "likely cause", "it starts from", "undertrained_clone"):
        assert part in printed


def test_the_page_has_the_same(broken, tmp_path):
    page = write_report([broken / "grpo"], tmp_path / "page.html").read_text()
    section = page.partition('<section id="diagnosis">')[2].partition("</section>")[0]
    for rule in ("rewards_apart", "undertrained_clone"):
        assert f"<strong>{rule}</strong>" in section


def test_a_calm_page_says_that_silence_is_no_proof(tmp_path):
    page = write_report([report_folder(tmp_path / "run")], tmp_path / "page.html").read_text()
    assert "No rule speaks; " in page
    assert "That is no proof" in page


def log_of(folder, lines, **config):
    """A run's folder with these lines, which may be texts."""
    whole = {**kept_logs.config("reviews_ppo"), **config}
    kept_logs.write(folder, whole, metrics=[])
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_a_folder_that_is_no_run(tmp_path, capsys):
    assert cli.main(["diagnose", str(tmp_path)]) == 2
    assert "is no run: neither this folder nor a folder in it has a config.yaml" in capsys.readouterr().err


def test_a_run_of_another_version(tmp_path, capsys):
    folder = log_of(tmp_path / "run", [])
    (folder / "machine.json").write_text('{"run_format": 0}')
    assert cli.main(["diagnose", str(folder)]) == 2
    assert "another version wrote this run" in capsys.readouterr().err


ODD = {
    "an empty log": [],
    "a run that stopped at once": ['{"update": 1, "episodes": 4, "rollout/return": 0.5}'],
    "unknown keys": [
        json.dumps({"update": i, "strange/key": i, "rollout/return": 0.1 * i}) for i in range(1, 20)
    ],
    "NaN": [f'{{"update": {i}, "rollout/return": NaN, "policy/entropy": NaN}}' for i in range(1, 20)],
    "texts for numbers": [f'{{"update": {i}, "rollout/return": "high"}}' for i in range(1, 20)],
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_logs_have_no_finding_and_say_what_was_judged(kind, tmp_path, capsys):
    assert cli.main(["diagnose", str(log_of(tmp_path / "run", ODD[kind]))]) == 0
    out = capsys.readouterr().out
    silence = "no rule speaks" if ODD[kind] else "nothing is logged yet"
    assert (SILENCE in out) is bool(ODD[kind])
    for part in (silence, f"of {len(RULES)} rules could judge", "not judged"):
        assert part in out


def test_a_start_that_cannot_be_read_is_left_out(tmp_path):
    start, whole = log_of(tmp_path / "start", []), kept_logs.config("reviews_ppo")
    (start / "machine.json").write_text('{"run_format": 0}')
    for number, path in enumerate((start, tmp_path / "nowhere", tmp_path / "run-2", "x" * 5000)):
        model = {**whole["model"], "path": str(path)}
        assert ReportedRun(log_of(tmp_path / f"run-{number}", [], model=model)).diagnosis.start is None


@pytest.fixture(scope="module")
def odd_run(tmp_path_factory):
    return log_of(tmp_path_factory.mktemp("odd") / "run", [])


KEYS = (
    "supervised/loss", "supervised/held_out_loss", "rollout/success", "rollout/return", "evaluation/return",
    "evaluation/success", "policy/entropy", "sb3/entropy_loss", "kl/reference_k3", "kl/coefficient",
    "policy/ratio_error", "critic/explained_variance", "rollout/rows/equal", "rollout/ended/cut",
    "rollout/cut_prompts", "learning_rate", "rollout/words", "rollout/weighted/a", "rollout/weighted/b",
)  # fmt: skip
EXTREME = [None, 0.0, -0.0, 1.0, -1.0, 1e100, -1e100, 1e-300, math.inf, math.nan]
COLUMNS = st.lists(st.sampled_from(EXTREME) | st.floats(0, 1), min_size=1, max_size=20)
SETTINGS = [{}, {"training": 3}, {"rewards": None}, {"model": None}, {"decoding": "x"}]
SETTINGS += [{"evaluation": {"method": "greedy"}, "training": {"evaluate_episodes": "many"}}]


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(KEYS), COLUMNS, max_size=12),
    st.integers(0, 20),
    st.sampled_from(SETTINGS),
)
def test_no_log_and_no_setting_gives_a_traceback(odd_run, columns, n, config):
    columns = {key: [values[i % len(values)] for i in range(n)] for key, values in columns.items()}
    lines = [{"update": i + 1, **{key: values[i] for key, values in columns.items()}} for i in range(n)]
    (odd_run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = ReportedRun(odd_run)
    run.__dict__["config"] = {**kept_logs.config("reviews_ppo"), **config}
    found = run.diagnosis
    assert str(len(RULES)) in found.text()
    json.dumps(found.as_json(), allow_nan=False)
