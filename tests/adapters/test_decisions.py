"""Tagging, labelling and answering as Gymnasium environments: the checks API-1 to API-14, throughput
aside.
"""

import copy
import json
import os
import pickle
import random
import socket
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from loquent.adapters.gymnasium import Environment
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.pools import Pool
from loquent.errors import BadRow, BadSetting, EpisodeOver, InvalidAction, LoquentError, UnknownName
from loquent.tasks.wordle.task import Wordle

TAGGING, LABELS, CHOICE = "loquent/SequenceTagging-v0", "loquent/MultiLabel-v0", "loquent/MultipleChoice-v0"
IDS = (TAGGING, LABELS, CHOICE)
SAMPLES = {
    TAGGING: {"text": "NEW YORK 1996-08-22", "labels": ["B-LOC", "I-LOC", "O"]},
    LABELS: {"text": "wheat and ships", "labels": ["grain", "ship"]},
    CHOICE: {"question": "which?", "choices": {"A": "this", "B": "that", "C": "those"}, "answer": "B"},
}
EMPTY = {TAGGING: {"labels": ["B-LOC", "I-LOC", "O"]}, LABELS: {"labels": ["grain", "ship"]}, CHOICE: {}}
SHAPES = [
    *((id, {}) for id in IDS),
    *((id, {"view": "text"}) for id in IDS),
    *((id, {"form": "text", "view": "text"}) for id in IDS),
    (TAGGING, {"context": "all", "lookahead": 2}),
    (TAGGING, {"lookahead": -1, "reward": "span_f1", "dense": False}),
    (LABELS, {"repeats": False}),
    (CHOICE, {"shuffle": True, "passes": 2}),
]


def vector():
    return pytest.importorskip("loquent.data.features").Hashed(dimension=24)


def empty(id, **settings):
    return gymnasium.make(id, source="samples", **EMPTY[id], **settings)


def walk(env, seed, n=12):
    """The observations, rewards and infos of some steps, as values that can be compared."""
    seen = [env.reset(seed=seed)]
    for i in range(n):
        *_, terminated, truncated, _ = result = env.step((seed + i) % env.action_space.n)
        seen.append(result)
        if terminated or truncated:
            seen.append(env.reset())
    return [repr(one) for one in seen]


@pytest.mark.parametrize(("id", "settings"), SHAPES)
def test_api_1_gymnasium_s_checker_has_nothing_to_say(id, settings, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(id, limit=30, **settings).unwrapped)


@pytest.mark.parametrize("id", IDS)
def test_api_1_the_checkers_and_vectors(id, capsys):
    from stable_baselines3.common.env_checker import check_env as check_for_sb3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(id, limit=30, view="vector", featurizer=vector()).unwrapped
        check_env(env)
        check_for_sb3(env, warn=True)


def test_api_1_the_checker_can_fail(capsys):
    class Outside(Environment):
        def reset(self, **settings):
            seen, info = super().reset(**settings)
            return {**seen, "position": 10**6}, info

    with pytest.raises(AssertionError, match="not within the observation space"):
        check_env(Outside("tagging", form="index", view="dict"))


@pytest.mark.parametrize("id", IDS)
def test_api_2_the_same_seed_gives_the_same_games(id):
    def rows(seed):
        env = gymnasium.make(id)
        return [env.reset(seed=seed if i == 0 else None)[1]["row"] for i in range(50)]

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)
    assert len(set(rows(1))) > 30
    assert walk(gymnasium.make(id), 3) == walk(gymnasium.make(id), 3) != walk(gymnasium.make(id), 4)


def test_api_2_other_processes_see_the_same(tmp_path):
    script = f"""
import gymnasium, loquent
for id in {IDS!r}:
    env = gymnasium.make(id)
    print(env.unwrapped.task.actions.texts, env.reset(seed=7), [env.step(1)[:3] for _ in range(1)])
"""
    outputs = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        child = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=True,
        )
        outputs.append(child.stdout)
    assert outputs[0] == outputs[1]
    assert "B-LOC" in outputs[0]


def test_api_2_labels_of_rows_stand_in_one_order_in_every_process():
    script = """
import loquent
from loquent.core.values import Record, freeze
names = [f"L{i}" for i in range(40)]
samples = [{"tokens": ["w"], "text": name, "labels": [name]} for name in names]
print(list(set(names)))
for task in ("tagging", "multilabel"):
    fields = ("tokens", "text")[task == "multilabel"]
    rows = tuple(Record({fields: freeze(sample[fields]),
        "labels": freeze(sample["labels"])}) for sample in samples)
    made = loquent.task(task, source="samples", samples=rows)
    print(made.actions.texts, made.spec.instruction)
"""
    outputs = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        child = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=True,
        )
        outputs.append(child.stdout.splitlines())
    assert outputs[0][1:] == outputs[1][1:]
    assert outputs[0][0] != outputs[1][0]  # an order of the set itself would be seen


@pytest.mark.parametrize("id", IDS)
def test_api_3_a_sample_is_played_and_nothing_else_moves(id):
    env, other = gymnasium.make(id), gymnasium.make(id)
    env.reset(seed=1)
    other.reset(seed=1)
    before, count = (
        copy.deepcopy(env.unwrapped.np_random.bit_generator.state),
        env.unwrapped.drawn_rows.count("train"),
    )
    seen, info = env.reset(options={"sample": SAMPLES[id]})
    again, same = env.reset(options={"sample": SAMPLES[id]})
    assert repr(seen) == repr(again)
    assert info["row"] == same["row"]
    assert info["row"].startswith("added:")
    assert env.unwrapped.np_random.bit_generator.state == before
    assert env.unwrapped.drawn_rows.count("train") == count
    assert repr(env.reset()) == repr(other.reset())
    row = env.unwrapped.task.rows("train")[2]
    ways = [
        env.reset(options=options)[1]["row"] for options in ({"sample": row}, {"id": row.id}, {"index": 2})
    ]
    assert ways == [row.id] * 3


RAW = {
    TAGGING: {"tokens": "NEW YORK 1996", "labels": "B-LOC I-LOC O"},
    LABELS: {"text": "wheat and ships", "labels": "grain ship"},
    CHOICE: {
        "question": {
            "stem": "which?",
            "choices": [{"text": "this", "label": "A"}, {"text": "that", "label": "B"}],
        },
        "answerKey": "B",
    },
}


@pytest.mark.parametrize("id", IDS)
def test_api_3_a_row_object_is_read_as_its_fields_are(id):
    env = empty(id).unwrapped
    seen, _ = env.reset(options={"sample": RAW[id]})
    row = Row("x", Record(RAW[id]))
    again, info = env.reset(options={"sample": row})
    assert repr(seen) == repr(again)
    assert info["row"] == "x"
    env.add_sample(row)
    assert repr(env.reset(seed=0)[0]) == repr(seen)
    if id == TAGGING:
        assert seen["token"] == "NEW"


def test_api_3_a_row_of_another_task_is_read_by_this_one_s_rules():
    row = next(
        row for row in gymnasium.make(TAGGING).unwrapped.task.rows("train") if "B-LOC" in row["labels"]
    )
    env = gymnasium.make(
        TAGGING, source="samples", labels=("LOC", "MISC", "O", "ORG", "PER"), prefixes="strip"
    ).unwrapped
    env.reset(options={"sample": row})
    for label in row["labels"]:
        *_, info = env.step(env.task.labels.index(label.split("-")[-1]))
    assert info["episode_score"] == pytest.approx(1.0, abs=1e-9)


def test_api_3_bad_options_are_named():
    env = gymnasium.make(TAGGING)
    for options, error, words in (
        ({"sample": SAMPLES[TAGGING], "index": 1}, BadSetting, "sample and index"),
        ({"index": 1, "id": "train-1"}, BadSetting, "index and id"),
        ({"row": 1}, BadSetting, "no option 'row'"),
        ({"id": 3}, BadSetting, "id = 3 is an int; it must be a string"),
        ({"id": "none"}, UnknownName, "none"),
        ({"index": 10**6}, BadSetting, "is not in 0"),
        ({"split": "dev"}, UnknownName, "dev"),
        ({"sample": 3}, BadRow, "a mapping with the fields"),
        ({"sample": {"text": "a", "labels": ["X"]}}, BadRow, "'X' is unknown"),
        ({"sample": Row("x")}, BadRow, "'tokens' is missing"),
        ({"index": 1.5}, BadSetting, "index = 1.5 is not in 0"),
        ({"index": True}, BadSetting, "index = True is not in 0"),
        ({"index": -1}, BadSetting, "index = -1 is not in 0"),
        ({"number": "x"}, BadSetting, "number = 'x': the number of an episode must be an integer"),
        ({"number": 1.5}, BadSetting, "number = 1.5"),
        ({"number": -1}, BadSetting, "number = -1"),
        ({"number": True}, BadSetting, "number = True"),
        ({"split": 3}, BadSetting, "split = 3 is an int; it must be a name"),
        ({"split": ["train"]}, BadSetting, "split = .* is a list; it must be a name"),
        (["number"], BadSetting, "is a list; it must be a mapping with some of split, sample"),
        ("abc", BadSetting, "is a str; it must be a mapping"),
    ):
        with pytest.raises(error, match=words):
            env.reset(options=options)
    env.reset(options={})


def test_api_3_numbers_of_any_kind_and_options_that_are_none():
    env = gymnasium.make(TAGGING).unwrapped
    rows = env.task.rows("train")
    for index in (3, np.int64(3), np.uint8(3), np.array(3)):
        assert env.reset(seed=1, options={"index": index})[1]["row"] == rows[3].id
    drawn = [env.reset(seed=1 if i == 0 else None)[1]["row"] for i in range(6)]
    assert env.reset(seed=1, options={"number": np.int64(5)})[1]["row"] == drawn[5]
    assert (
        env.reset(seed=1, options=dict.fromkeys(("split", "sample", "index", "id", "number")))[1]["row"]
        == drawn[0]
    )
    assert env.reset()[1]["row"] == drawn[1]  # and the numbering has gone on


@pytest.mark.parametrize("id", IDS)
def test_api_4_numbers_of_any_kind_are_actions(id):
    def after(action):
        env = gymnasium.make(id).unwrapped
        env.reset(seed=2)
        return repr(env.step(action))

    assert (
        after(1)
        == after(np.int64(1))
        == after(np.array(1))
        == after(np.array([1]))
        == after(np.uint8(1))
        != after(0)
    )
    env = gymnasium.make(id).unwrapped
    env.reset(seed=2)
    for action in (-1, env.action_space.n, 1.5, "A", None, True, np.array([1, 1]), np.array(1.0)):
        with pytest.raises(gymnasium.error.InvalidAction) as caught:
            env.step(action)
        assert isinstance(caught.value, InvalidAction)
    assert env.step(1)[-1]["turn"] == 1


@pytest.mark.parametrize("id", IDS)
def test_api_5_no_step_without_a_game(id):
    env = gymnasium.make(id).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.action_masks()
    env.reset(seed=0)
    over = False
    while not over:
        *_, terminated, truncated, _ = env.step(0)
        over = terminated or truncated
    with pytest.raises(gymnasium.error.ResetNeeded) as caught:
        env.step(0)
    assert isinstance(caught.value, EpisodeOver)
    env.reset()
    env.step(0)


@pytest.mark.parametrize(
    ("scale", "want"), [(0, [1 / 3, 1 / 3, 1 / 3]), (0.5, [0.2929, 0.2929, 0.4142]), (1, [0.25, 0.25, 0.5])]
)
@pytest.mark.parametrize("id", IDS)
def test_api_6_rows_are_drawn_by_weight(id, scale, want):
    env = empty(id, priority_scale=scale).unwrapped
    for i, weight in enumerate((0.5, 0.5, 1)):
        env.add_sample({**SAMPLES[id], "id": f"row {i}"}, weight)
    n = 30_000
    drawn = [env.drawn_rows.draw("train", i, 11).id for i in range(n)]
    shares = np.array([drawn.count(f"row {i}") / n for i in range(3)])
    want = np.array(want)
    assert (np.abs(shares - want) < 3 * np.sqrt(want * (1 - want) / n) + 1e-4).all()
    assert env.reset(seed=11)[1]["row"] == drawn[0]


@pytest.mark.parametrize("id", IDS)
def test_api_6_weights_that_are_none(id):
    env = empty(id, priority_scale=1.0).unwrapped
    env.add_sample({**SAMPLES[id], "id": "a"}, 0)
    with pytest.raises(ValueError, match="weight 0; with priority_scale = 1 none can be drawn"):
        env.reset(seed=0)
    for weight in (-1, float("nan"), float("inf"), True, "1", 10**400, 10**5000):
        with pytest.raises(BadSetting, match="a finite number of at least 0"):
            env.add_sample({**SAMPLES[id], "id": "b"}, weight)
    with pytest.raises(BadRow, match="the weight is an integer larger than any float"):
        env.add_sample({**SAMPLES[id], "id": "b", "weight": 10**400})
    for scale in (-1, float("nan"), "1", True, 10**400):
        with pytest.raises(BadSetting, match="priority_scale"):
            empty(id, priority_scale=scale)


@pytest.mark.parametrize("id", IDS)
def test_api_6_an_added_row_weighs_what_its_field_says(id):
    env = empty(id, priority_scale=1.0).unwrapped
    for name, weight in (("none", 0), ("five", 5)):
        env.add_sample({**SAMPLES[id], "id": name, "weight": weight})
    assert {env.drawn_rows.draw("train", i, 3).id for i in range(60)} == {"five"}
    # what is said here is taken before the field
    env.add_sample({**SAMPLES[id], "id": "told", "weight": 0}, 5)
    assert {env.drawn_rows.draw("train", i, 3).id for i in range(60)} == {"five", "told"}


@pytest.mark.parametrize("id", IDS)
def test_api_7_an_environment_without_rows_and_rows_that_come_later(id):
    env = empty(id).unwrapped  # Gymnasium's passive checker does not survive a first reset that raises
    assert env.action_space.n >= 2
    assert (
        env.observation_space["text" if id == LABELS else "token" if id == TAGGING else "question"]
        is not None
    )
    with pytest.raises(BadSetting, match="no row in train to draw from; add a row with add_sample"):
        env.reset(seed=0)
    row = env.unwrapped.add_sample(SAMPLES[id])
    opening, info = env.reset(seed=0)
    assert info["row"] == row.id
    env.unwrapped.add_sample({**SAMPLES[id], "id": "later"}, 2.0)
    step = env.step(1)
    other = empty(id)
    other.unwrapped.add_sample(SAMPLES[id])
    assert repr(other.reset(seed=0)[0]) == repr(opening)
    assert repr(other.step(1)) == repr(step)
    assert {env.reset()[1]["row"] for _ in range(30)} == {row.id, "later"}
    assert env.reset(options={"id": "later"})[1]["row"] == "later"
    assert env.reset(options={"index": 1})[1]["row"] == "later"
    with pytest.raises(BadRow, match="already has a row with the id 'later'"):
        env.unwrapped.add_sample({**SAMPLES[id], "id": "later"})


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_api_8_vectors_of_dictionaries(id, mode):
    vectorized(id, mode, {"vector_kwargs": {"shared_memory": False}} if mode == "async" else {}, "dict")


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_api_8_vectors_of_arrays(id, mode):
    vectorized(id, mode, {"featurizer": vector()}, "vector")


def vectorized(id, mode, settings, view):
    envs = gymnasium.make_vec(id, num_envs=4, vectorization_mode=mode, view=view, limit=40, **settings)
    try:
        envs.action_space.seed(0)
        envs.reset(seed=0)
        ends = 0
        for _ in range(200):
            seen, _, terminated, truncated, info = envs.step(envs.action_space.sample())
            ends += int(terminated.sum() + truncated.sum())
        assert seen in envs.observation_space
        assert info["action_mask"].shape == (4, envs.single_action_space.n)
        assert ends > 20
    finally:
        envs.close()


@pytest.mark.parametrize("id", IDS)
def test_api_9_copies_and_pickles_play_on(id):
    env = gymnasium.make(id, limit=20).unwrapped
    env.add_sample(SAMPLES[id], 2.0)
    env.reset(seed=4)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    want = [repr(env.step(1)), repr(env.reset())]
    for twin in twins:
        assert [repr(twin.step(1)), repr(twin.reset())] == want
    pool = Pool(env.task.rows("train"))
    assert pickle.loads(pickle.dumps(pool)) == copy.deepcopy(pool) == pool


@pytest.mark.parametrize("id", IDS)
def test_api_9_no_network_and_no_global_generator(id, monkeypatch):
    def refused(*arguments, **settings):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refused)
    states = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    env = gymnasium.make(id)
    env.reset(seed=0)
    env.step(1)
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == states  # noqa: NPY002


def test_api_9_making_one_reads_no_rows():
    script = f"""
import gymnasium, loquent, sys
for id in {IDS!r}:
    gymnasium.make(id)
from loquent.data import corpora
assert not corpora.rows.cache_info().currsize
assert not {{"torch", "sklearn", "transformers", "datasets"}} & set(sys.modules)
"""
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert child.returncode == 0, child.stderr


@pytest.mark.parametrize("id", IDS)
def test_api_12_rows_by_place_and_splits_that_share_labels(id):
    env = gymnasium.make(id).unwrapped
    rows = env.task.rows("train")
    assert rows[-2:] == (rows[-2], rows[-1])
    assert rows[-1] == rows[len(rows) - 1]
    assert len(rows[:3]) == 3
    with pytest.raises(IndexError):
        rows[len(rows)]
    ids = [row.id for split in env.task.spec.splits for row in env.task.rows(split)]
    assert len(set(ids)) == len(ids)
    for split in env.task.spec.splits if id != CHOICE else ():
        assert {label for row in env.task.rows(split) for label in row["labels"]} == set(env.task.labels)


@pytest.mark.parametrize("id", IDS)
def test_api_12_one_file_is_divided_once(id, tmp_path):
    (tmp_path / "all.jsonl").write_text(
        "".join(json.dumps({**SAMPLES[id], "id": f"r{i}"}) + "\n" for i in range(300))
    )
    task = gymnasium.make(id, source="path", path=str(tmp_path / "all.jsonl"), **EMPTY[id]).unwrapped.task
    ids = [[row.id for row in task.rows(split)] for split in ("train", "validation", "test")]
    assert sorted(id for part in ids for id in part) == sorted(f"r{i}" for i in range(300))
    for found, share in zip(ids, (0.8, 0.1, 0.1), strict=True):
        assert abs(len(found) - 300 * share) < 4 * (300 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("id", IDS)
def test_api_14_what_is_shown(id, capsys):
    env = gymnasium.make(id, render_mode="ansi")
    env.reset(options={"sample": SAMPLES[id]})
    env.step(1)
    shown = env.render()
    lines = shown.splitlines()
    assert lines[0] == "Step 1"
    wanted = {
        TAGGING: ["Token: NEW -> Label: B-MISC", "Token: YORK -> Label:"],
        LABELS: ["Text: wheat and ships", "Labels: gold"],
        CHOICE: ["Question: which?", "Choice A: this", "Choice B: that"],
    }[id]
    assert lines[1:] == wanted
    assert capsys.readouterr().out == ""
    env = gymnasium.make(id, render_mode="human")
    env.reset(options={"sample": SAMPLES[id]})
    env.step(1)
    assert capsys.readouterr().out.endswith(shown)
    assert env.render() is None
    env = gymnasium.make(id).unwrapped
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_facts_are_shown_once():
    env = gymnasium.make(CHOICE, render_mode="ansi")
    _, info = env.reset(seed=0)
    fact = info["observation"].fields["facts"][0]
    for _ in range(2):
        env.step(1)
    assert env.render().count(fact) == 1


def test_what_is_shown_is_safe():
    env = gymnasium.make(TAGGING, render_mode="ansi")
    env.reset(options={"sample": {"tokens": ["\x1b[2J"], "labels": ["O"]}})
    assert "\x1b" not in env.render()


@pytest.mark.parametrize("id", IDS)
def test_targets_are_told_at_the_end_alone(id):
    env = gymnasium.make(id)
    _, info = env.reset(seed=0)
    infos, over = [info], False
    while not over:
        *_, terminated, truncated, info = env.step(1)
        over = terminated or truncated
        infos.append(info)
    late = {"target", "prediction", "episode_score", "is_success"}
    assert all(not late & set(one) for one in infos[:-1])
    assert late <= set(infos[-1])
    assert all("score" in one for one in infos)
    assert json.dumps(infos[-1]["is_success"]) in ("true", "false")
    assert infos[-1]["episode_score"] == infos[-1]["score"]


def test_every_task_has_the_same_ways_in():
    """The adapter knows no task: a game of words takes samples, weights, masks and priorities as well."""
    env = Environment(Wordle(Wordle.Options(limit=20)), form="index", priority_scale=1.0)
    env.add_sample({"secret": "zzzzz"}, 1e9)
    _, info = env.reset(seed=0)
    assert info["row"].startswith("added:")
    assert env.action_masks().tolist() == [True] * 20
    text = Environment(Wordle())
    text.reset(seed=0)
    with pytest.raises(LoquentError, match="only the index form has masks"):
        text.action_masks()


def test_views_by_name():
    assert set(gymnasium.make(TAGGING).observation_space) == {"token", "position", "previous"}
    assert set(gymnasium.make(TAGGING, context="all", lookahead=1).observation_space) == {
        "token",
        "position",
        "previous",
        "labels",
        "ahead",
    }
    with pytest.raises(BadSetting, match="has the views text, vector, dict"):
        gymnasium.make(TAGGING, view="pixels")
    with pytest.raises(BadSetting, match="belongs to view='vector'"):
        gymnasium.make(TAGGING, featurizer="hashed")
    with pytest.raises(BadSetting, match="has the views text, vector;"):
        Environment(Wordle(), view="dict")


def test_what_a_dictionary_holds():
    env = gymnasium.make(TAGGING, context="all", lookahead=1, max_tokens=8)
    seen, _ = env.reset(options={"sample": SAMPLES[TAGGING]})
    assert (seen["token"], seen["position"], seen["previous"], seen["ahead"]) == ("NEW", 0, 9, ("YORK",))
    seen, *_ = env.step(8)
    seen, *_ = env.step(0)
    assert seen["labels"].tolist() == [8, 0, *[10] * 6]
    assert (seen["token"], seen["ahead"]) == ("1996-08-22", ())
    seen, *_ = env.step(0)
    assert (seen["token"], seen["position"], seen["previous"], seen["ahead"]) == ("", 3, 0, ())
    env = gymnasium.make(LABELS)
    env.reset(options={"sample": SAMPLES[LABELS]})
    seen, *_ = env.step(2)
    assert (seen["labels"].tolist(), seen["inserted"]) == ([0, 0, 1, 0, 0, 0, 0, 0, 0, 0], 1)
    env = gymnasium.make(CHOICE)
    env.reset(options={"sample": SAMPLES[CHOICE]})
    seen, *_ = env.step(1)
    assert (seen["choice"], seen["place"], seen["count"], seen["facts"]) == ("that", 1, 3, "")


def test_a_step_asks_as_much_at_the_end_of_a_long_sentence():
    """No part of a step looks at all labels so far: the calls of a step are the same in a sentence 40 times
    as long.
    """

    def calls(n):
        env, count = empty(TAGGING, max_tokens=4000).unwrapped, 0
        env.reset(seed=0, options={"sample": {"tokens": ["a"] * n, "labels": ["O"] * n}})
        for _ in range(n - 2):
            env.step(2)

        def counted(*event):
            nonlocal count
            count += 1

        sys.setprofile(counted)
        env.step(2)
        sys.setprofile(None)
        return count

    assert calls(4000) == calls(100) > 20
