"""Comments are collected, cloned and learned from by the commands of the page, by every kind of learner."""

import json

import pytest

from loquent.cli.main import main

SMALL = ("model.layers=1", "model.width=16", "model.heads=2", "model.vocabulary=300")
SHORT = (
    "task.limit=60",
    "training.updates=2",
    "training.episodes=8",
    "training.evaluate_every=0",
    "training.final_episodes=4",
    "decoding.max_new_tokens=8",
)
STEPS = ("algorithm.total_steps=4", "algorithm.warmup=1", "algorithm.minibatch=8")
NOISED = "rewards={toxicity: 0.0, noised_toxicity: -5.0, upvotes: 0.0}"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with recorded comments and a clone of them."""
    folder = tmp_path_factory.mktemp("comments")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ["limit=60", "instruct=false", "--agent", "comments/recorded"]
        assert main(["collect", "comments", *options, "--episodes", "60", "--out", "replies"]) == 0
        assert main(["train", "comments_bc", "--out", "runs/comments_bc", *SMALL, *SHORT, *STEPS]) == 0
    return folder


def logged(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("changes", "returns"),
    [
        (STEPS, {-10.0, -5.0, 0.0}),
        ((*STEPS, NOISED), {-10.0, 0.0}),
        ((*STEPS, "rewards={toxicity: 0.0, upvotes: 5.0}"), {-5.0, 5.0}),
        ((*STEPS, "training.data_cutoff=0"), {0.0}),
        (("algorithm={kind: filtered_cloning, top: 0.3}",), {-10.0, -5.0, 0.0}),
        (("algorithm={kind: monte_carlo}",), {-10.0, -5.0, 0.0}),
        (("algorithm={kind: cql}",), {-10.0, -5.0, 0.0}),
        (("algorithm={kind: psi}",), {-10.0, -5.0, 0.0}),
        (("algorithm={kind: ilql_utterance, best_of: 2}",), {-10.0, -5.0, 0.0}),
        (("algorithm={kind: chai, candidates: 2}",), {-10.0, -5.0, 0.0}),
        (("algorithm={kind: decision_transformer, wanted_return: 0.0}",), {-10.0, -5.0, 0.0}),
    ],
    ids=lambda value: " ".join(value[-1:]) if isinstance(value, tuple) else "",
)
def test_offline_learners_continue_from_the_clone(room, monkeypatch, changes, returns, tmp_path):
    monkeypatch.chdir(room)
    assert main(["train", "comments_ilql", "--out", str(tmp_path / "run"), *SHORT, *changes]) == 0
    for line in logged(tmp_path / "run"):
        assert min(returns) <= line["data/return"] <= max(returns)


@pytest.mark.parametrize("kind", ["ppo", "nlpo"])
def test_learners_from_their_own_comments(room, monkeypatch, kind, tmp_path):
    monkeypatch.chdir(room)
    changes = (
        "training.data=[]",
        "model.critic=head",
        "model.reference=copy",
        f"algorithm={{kind: {kind}, minibatch: 4}}",
    )
    if kind == "nlpo":
        changes = (*changes[:3], "algorithm={kind: nlpo, minibatch: 4, top_p: 0.9}")
    assert main(["train", "comments_bc", "--out", str(tmp_path / "run"), *SMALL, *SHORT, *changes]) == 0
    assert all(-10 <= line["rollout/return"] <= 0 for line in logged(tmp_path / "run"))


def test_a_cutoff_that_nothing_reaches_fails_at_once(room, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(room)
    changes = (*SMALL, *SHORT, *STEPS, "training.data_cutoff=1")
    assert main(["train", "comments_bc", "--out", str(tmp_path / "run"), *changes]) == 2
    assert "none of 60 episodes has a return of at least 1; the highest is 0" in capsys.readouterr().err


def test_a_policy_of_one_reward_is_judged_by_another(room, monkeypatch, capsys):
    monkeypatch.chdir(room)
    other = "rewards={toxicity: 0.0, upvotes: 5.0}"
    assert main(["evaluate", "runs/comments_bc", other, "--episodes", "4", "--json"]) == 0
    values = json.loads(capsys.readouterr().out.splitlines()[-1])["values"]
    assert values["return"] == 5 * values["reward/upvotes"]


@pytest.mark.parametrize("options", [(), ("--ngram", "2")])
def test_the_values_of_comments_are_printed(room, monkeypatch, capsys, tmp_path, options):
    monkeypatch.chdir(room)
    assert main(["train", "comments_ilql", "--out", str(tmp_path / "run"), *SHORT, *STEPS]) == 0
    assert main(["values", str(tmp_path / "run"), "replies", "--number", "3", *options]) == 0
    assert "best of" in capsys.readouterr().out
