"""Episodes in four forms on disk: each gives back what was written, to the letter."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tracers import TRACERS
from loquent.agents.baselines import Random
from loquent.core import episode
from loquent.core.episode import Episode, Turn, to_json
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.data.episodes import DATASETS, FORMS, JSONL, MINARI, PARQUET, form_of, read, write
from loquent.errors import BadRow, BadSetting, MissingExtra

WEIGHTS = Record(guess=1.0, half=0.5)
NAMES = {JSONL: "games.jsonl", PARQUET: "games.parquet", DATASETS: "games", MINARI: "games-v0"}
EVERY = pytest.mark.parametrize("form", FORMS)

FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)
TEXTS = st.text(max_size=8) | st.sampled_from(["\ud800", "a\0b", "", "\r\n", "\u2028", "é😀", "<b>"])
RECORDS = st.dictionaries(TEXTS, FINITE, max_size=3).map(Record)
PER_TOKEN = st.dictionaries(TEXTS, st.lists(FINITE, max_size=3).map(tuple), max_size=2).map(Record)
TURNS = st.builds(
    Turn,
    st.sampled_from(["task", "agent", "judge"]),
    TEXTS,
    TEXTS,
    RECORDS,
    st.sampled_from(("end", "stop", "length")),
)
SCORED = st.builds(lambda turn, scores: replace(turn, token_rewards=scores), TURNS, PER_TOKEN)
META = st.dictionaries(
    TEXTS, st.none() | st.booleans() | FINITE | TEXTS | st.tuples(TEXTS, FINITE), max_size=3
).map(Record)
SAID = st.lists(TURNS | SCORED, max_size=4).map(lambda turns: (*turns, Turn("agent", "x")))
WHO = st.dictionaries(TEXTS, TEXTS, max_size=2).map(Record)
NUMBERS = st.integers(-(2**70), 2**70)
EPISODES = st.builds(
    Episode,
    TEXTS,
    TEXTS,
    TEXTS,
    NUMBERS,
    NUMBERS,
    SAID,
    st.none() | TEXTS,
    st.just("agent"),
    TEXTS,
    WHO,
    META,
)


def line(one):
    return json.dumps(to_json(one))


def there_and_back(folder, episodes, form):
    place = folder / NAMES[form]
    assert write(place, episodes, form, WEIGHTS) == len(episodes)
    assert form_of(place) == form
    return list(read(place))


def game(number=0, *said, **more):
    turns = (Turn("task", "go\n", to="agent"), *said, Turn("task", "over", to="agent"))
    return Episode("t-v1", "r", "train", 0, number, turns, "done", **more)


PLAIN = game(
    0,
    Turn("agent", "a", rewards=Record(guess=-1.0, half=4.0)),
    Turn("task", "on", to="agent"),
    Turn("agent", "b", rewards=Record(guess=0.5)),
)


@EVERY
def test_games_of_every_tracer_come_back_to_the_letter(form, tmp_path):
    for name, tracer in TRACERS.items():
        task = tracer()
        episodes = play(task, games(task.rows("train")[:3], each=2), Random(task), seed=1)
        (tmp_path / name).mkdir()
        back = there_and_back(tmp_path / name, episodes, form)
        assert back == episodes
        assert [line(one) for one in back] == [line(one) for one in episodes]


@EVERY
@settings(max_examples=25)
@given(episodes=st.lists(EPISODES, min_size=1, max_size=3))
def test_any_episode_comes_back_to_the_letter(form, episodes, tmp_path_factory):
    back = there_and_back(tmp_path_factory.mktemp("any"), episodes, form)
    assert back == episodes
    assert [line(one) for one in back] == [line(one) for one in episodes]


def test_what_the_columns_hold_needs_no_line(tmp_path):
    from pyarrow import parquet

    odd = game(1, Turn("agent", "\ud800"))
    whole = game(2, Turn("agent", "x", rewards=Record(guess=-1)))
    late = replace(game(3, Turn("agent", "x")), seed=2**63)
    write(tmp_path / "g.parquet", [PLAIN, odd, whole, late], PARQUET, WEIGHTS)
    table = parquet.read_table(tmp_path / "g.parquet").to_pylist()
    assert [row["line"] is None for row in table] == [True, False, False, False]
    assert table[0]["turns"][1] == {
        "seat": "agent",
        "text": "a",
        "to": "",
        "stopped": "end",
        "rewards": [{"name": "guess", "value": -1.0}, {"name": "half", "value": 4.0}],
        "token_rewards": [],
    }
    assert (table[0]["ended"], table[0]["row"], table[1]["turns"][1]["text"], table[3]["seed"]) == (
        "done",
        "r",
        "\ufffd",
        None,
    )
    assert table[2]["turns"][1]["rewards"] == [{"name": "guess", "value": -1.0}], (
        "an integer is a float in the column, and itself in the line"
    )


def test_columns_that_lie_about_an_episode_would_be_seen(tmp_path):
    import pyarrow
    from pyarrow import parquet

    write(tmp_path / "g.parquet", [PLAIN], PARQUET, WEIGHTS)
    table = parquet.read_table(tmp_path / "g.parquet")
    changed = table.set_column(table.column_names.index("row"), "row", pyarrow.array(["other"]))
    parquet.write_table(changed, tmp_path / "changed.parquet")
    assert [one.row for one in read(tmp_path / "changed.parquet")] == ["other"]


def test_more_episodes_than_one_row_group(tmp_path):
    episodes = [replace(PLAIN, number=number) for number in range(5000)]
    for form in (PARQUET, DATASETS):
        assert there_and_back(tmp_path, episodes, form) == episodes


def test_other_libraries_read_what_they_expect(tmp_path, monkeypatch):
    import datasets
    import minari

    episodes = [PLAIN, replace(game(1, Turn("agent", "c\0\ud800")), ended="cut")]
    write(tmp_path / "games", episodes, DATASETS, WEIGHTS)
    loaded = datasets.load_from_disk(str(tmp_path / "games"))
    assert loaded[0]["turns"][1]["text"] == "a"
    assert loaded["ended"][:] == ["done", "cut"]
    write(tmp_path / "games-v3", episodes, MINARI, WEIGHTS)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = minari.load_dataset("games-v3")
    one, cut = dataset[0], dataset[1]
    assert (dataset.total_episodes, dataset.total_steps) == (2, 3)
    assert one.observations == ["go\n", "on", "over"]
    assert one.actions == ["a", "b"]
    assert np.array_equal(one.rewards, [-1.0 + 0.5 * 4.0, 0.5])
    assert one.terminations.tolist() == [False, True]
    assert one.truncations.tolist() == [False, False]
    assert (cut.terminations.tolist(), cut.truncations.tolist(), cut.actions) == (
        [False],
        [True],
        ["c\ufffd\ufffd"],
    )
    assert all(dataset.observation_space.contains(text) for text in one.observations)
    assert all(dataset.action_space.contains(text) for text in one.actions)


def test_minari_wants_a_name_with_a_version_and_an_answer(tmp_path):
    with pytest.raises(BadSetting, match="must end in a version, as in wordle-v0"):
        write(tmp_path / "games", [PLAIN], MINARI, WEIGHTS)
    with pytest.raises(BadRow, match="the episode r#0 of t-v1 has no answer"):
        write(tmp_path / "games-v0", [game()], MINARI, WEIGHTS)
    assert list(tmp_path.iterdir()) == [], "nothing is left of what failed"


@EVERY
def test_what_stands_there_is_not_written_over(form, tmp_path):
    there_and_back(tmp_path, [PLAIN], form)
    with pytest.raises(BadSetting, match="exists already"):
        write(tmp_path / NAMES[form], [PLAIN], form, WEIGHTS)
    assert list(read(tmp_path / NAMES[form])) == [PLAIN]
    assert [path.name for path in tmp_path.iterdir()] == [NAMES[form]]


def test_a_collection_s_folder_is_read_by_its_file(tmp_path):
    episode.write(tmp_path / "episodes.jsonl", [PLAIN])
    assert list(read(tmp_path)) == [PLAIN]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("g.parquet", b"PAR1 nonsense", r"g\.parquet: this Parquet file cannot be read"),
        ("g.parquet", b"", r"g\.parquet: this Parquet file cannot be read"),
        ("g.jsonl", b"{}\n", r"g\.jsonl:1: this line is not an episode"),
        ("g.txt", b"hello", "this file has no episodes"),
        ("g/dataset_info.json", b"{}", "this folder of datasets cannot be read"),
        ("g/data/metadata.json", b"{}", "this Minari dataset cannot be read"),
        ("g/readme", b"", "this folder has no episodes; it must hold one of episodes.jsonl"),
    ],
)
def test_what_is_no_file_of_episodes_is_named(tmp_path, name, content, says):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(content)
    with pytest.raises((BadRow, BadSetting), match=says):
        list(read(tmp_path / name.partition("/")[0]))
    with pytest.raises(BadSetting, match="there is no such file"):
        read(tmp_path / "missing.parquet")


def test_a_table_of_something_else_and_a_row_that_is_none(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(
        BadRow,
        match=r"other\.parquet: these are not episodes: the columns agents, .* are missing; here are text",
    ):
        list(read(tmp_path / "other.parquet"))
    write(tmp_path / "g.parquet", [PLAIN, PLAIN], PARQUET, WEIGHTS)
    table = parquet.read_table(tmp_path / "g.parquet")
    for column, values in (("line", [None, "no json"]), ("meta", ["{}", "{"]), ("meta", ["{}", None])):
        torn = table.set_column(
            table.column_names.index(column), column, pyarrow.array(values, type=pyarrow.string())
        )
        parquet.write_table(torn, tmp_path / "torn.parquet")
        with pytest.raises(BadRow, match=r"torn\.parquet:2: this row is not an episode"):
            list(read(tmp_path / "torn.parquet"))


def test_a_dataset_of_minari_of_another_maker_is_named(tmp_path):
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    (tmp_path / "other-v0").mkdir()
    text = spaces.Text(5)
    storage = MinariStorage.new(tmp_path / "other-v0" / "data", text, text)
    storage.update_metadata({"dataset_id": "other-v0", "minari_version": "0.5.4"})
    storage.update_episodes(
        [
            EpisodeBuffer(
                observations=["a", "b"],
                actions=["c"],
                rewards=[1.0],
                terminations=[True],
                truncations=[False],
            )
        ]
    )
    with pytest.raises(
        BadRow, match=r"other-v0:1: this episode's infos have no 'episode'; only datasets that Loquent wrote"
    ):
        list(read(tmp_path / "other-v0"))


@pytest.mark.parametrize(
    ("module", "form", "extra"),
    [("pyarrow", PARQUET, "parquet"), ("datasets", DATASETS, "hub"), ("minari", MINARI, "minari")],
)
def test_a_library_that_is_not_there_is_named_by_its_extra(tmp_path, monkeypatch, module, form, extra):
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"loquent\[{extra}\]"):
        write(tmp_path / NAMES[form], [PLAIN], form, WEIGHTS)
    assert list(tmp_path.iterdir()) == []


def test_global_generators_are_left_alone(tmp_path):
    import random

    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    for form in FORMS:
        there_and_back(tmp_path, [PLAIN], form)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


@pytest.mark.parametrize("seed", [-(2**63) - 1, -(2**63), 2**63 - 1, 2**63, 2**70])
def test_a_seed_of_any_size_is_kept_by_minari(seed, tmp_path):
    played = Episode("t", "r", "s", seed, 0, (Turn("agent", "x"),), None)
    assert [one.seed for one in there_and_back(tmp_path, [played], "minari")] == [seed]
