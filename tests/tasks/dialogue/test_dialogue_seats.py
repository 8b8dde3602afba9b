"""Seats that were trained on recorded dialogues, and a server of seats: A29 of ILQL's specification."""

import json
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import httpx2
import numpy as np
import pytest

import loquent
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting
from loquent.metrics.judges import card, layers
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.learned import texts, training

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture(scope="module")
def dialogues():
    task = loquent.task("dialogue", percentile=1.0)
    asker = make({"kind": "dialogue/casual", "yes_no": 0.0, "off_topic": 0.0}, task)
    return task, training.played_dialogues(task, play(task, games(task.rows("train")[:100]), asker, seed=0))


def test_a_trained_answerer_and_a_trained_judge_play(dialogues, tmp_path):
    task, recorded = dialogues
    seen = training.train_answerer(task, recorded, tmp_path / "answerer")
    assert seen["known"] > 0.9
    assert seen["accuracy"] > 0.4, "one answer of four would be chance"
    guessed = training.train_guesser(task, recorded, tmp_path / "guesser")
    assert guessed["error"] < guessed["variance"], "better than the mean of all images"
    seats = {
        "answerer": Record(kind="dialogue/answerer", path=str(tmp_path / "answerer")),
        "judge": Record(kind="dialogue/judge", path=str(tmp_path / "guesser")),
    }
    learned = loquent.task("dialogue", **seats)
    ended = play(learned, games(learned.rows("test")[:20]), make("dialogue/careful", learned), seed=0)
    answers = {turn.text for game in ended for turn in game.turns if turn.seat == "answerer"}
    assert answers <= {answer for _, rounds in recorded for _, answer in rounds}
    assert np.mean([game.ended == "found" for game in ended]) > 0.5
    with pytest.raises(BadSetting, match="the role 'answerer', not 'judge'"):
        layers.load(tmp_path / "answerer", "judge")


def test_training_is_reproducible(dialogues, tmp_path):
    task, recorded = dialogues
    for name in ("a", "b"):
        training.train_guesser(task, recorded[:20], tmp_path / name)
    weights = [(tmp_path / name / card.WEIGHTS).read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]


def test_only_the_splits_that_exist_are_needed(dialogues, tmp_path):
    rounds = [{"question": f"q{i}", "answer": f"a{i}"} for i in range(10)]
    (tmp_path / "train.json").write_text(
        json.dumps([{"caption": f"c{i}", "dialog": rounds} for i in range(9)])
    )
    seats = {"answerer": "dialogue/recorded", "judge": "dialogue/recorded"}
    task = loquent.task("dialogue", source="visdial", path=str(tmp_path / "train.json"), **seats)
    [episode] = play(
        dialogues[0], games(dialogues[0].rows("train")[:1]), make("dialogue/casual", dialogues[0]), seed=0
    )
    row = task.rows("train")[0]
    [(fields, _)] = training.played_dialogues(task, [replace(episode, row=row.id)])
    assert fields == row.fields
    with pytest.raises(BadSetting, match="on the row 'other-1', which dialogue"):
        training.played_dialogues(task, [replace(episode, row="other-1")])


def test_long_texts_are_not_remembered():
    before = texts._short.cache_info().currsize
    long, short = "a b " * 200, "a b never seen before"
    assert np.array_equal(texts.words(long), texts.WORDS.encode([long])[0])
    assert texts._short.cache_info().currsize == before
    texts.words(short)
    assert texts._short.cache_info().currsize == before + 1


def test_too_few_dialogues(dialogues, tmp_path):
    with pytest.raises(BadSetting, match="at least 10"):
        training.train_answerer(dialogues[0], dialogues[1][:9], tmp_path / "x")


def test_damaged_networks_are_refused(tmp_path):
    weights = (np.zeros((3, 2), np.float32),)

    def written(name, weights, biases):
        layers.save(tmp_path / name, layers.Network(weights, (biases,)), {"role": "judge"})
        return tmp_path / name

    assert layers.load(written("a", weights, np.zeros(2, np.float32)), "judge")[0].shape == (3, 2)
    with pytest.raises(BadSetting, match="do not fit together"):
        layers.load(written("b", weights, np.zeros(5, np.float32)), "judge")
    with pytest.raises(BadSetting, match="not finite"):
        layers.load(written("d", (np.full((3, 2), np.nan, np.float32),), np.zeros(2, np.float32)), "judge")
    (tmp_path / "a" / card.WEIGHTS).write_bytes(b"no")
    with pytest.raises(BadSetting, match="is not what was written"):
        layers.load(tmp_path / "a", "judge")
    with pytest.raises(BadSetting, match=card.CARD):
        layers.load(tmp_path / "none", "judge")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "seat.json").write_text('{"role": "judge"}')
    with pytest.raises(BadSetting, match=r"seat.json, which an earlier version.*train_guesser"):
        layers.load(tmp_path / "old", "judge")
    few = {"role": "answerer", "answers": ["yes"]}
    layers.save(tmp_path / "few", layers.Network(weights, (np.zeros(2, np.float32),)), few)
    answerer = Record(kind="dialogue/answerer", path=str(tmp_path / "few"))
    with pytest.raises(BadSetting, match="1 answers and 2 outputs"):
        make(answerer, loquent.task("dialogue"))
    judge = {"kind": "dialogue/judge", "path": str(written("c", weights, np.zeros(2, np.float32)))}
    task = loquent.task("dialogue", judge=Record(judge))
    with pytest.raises(BadSetting, match="reads 3 numbers"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)


# the protocol


def test_fields_are_read_back():
    image = np.arange(3, dtype=np.float32) / 7
    fields = protocol.fields("a dog", [("q1?", "a1")], "q2?", image)
    assert json.loads(fields["history"])[2] == {"speaker": "question", "text": "q2?"}
    assert json.loads(fields["generation_kwargs"]) == {"inference": "greedy", "beamSize": 1}
    assert protocol.history_of(fields["history"]) == ((("q1?", "a1"),), "q2?")
    np.testing.assert_array_equal(protocol.image_of(fields["img_features"]), image)
    assert "img_features" not in protocol.fields("a dog", [], "", None)


@pytest.mark.parametrize("text", ["", "3", '["a"]', '[{"speaker": "answer", "text": "a"}]', "[" * 5000])
def test_bad_histories(text):
    with pytest.raises(BadRow, match="history"):
        protocol.history_of(text)


@pytest.mark.parametrize("text", ["[]", "[true]", "[1e300]", '["a"]', "[NaN]", "{}"])
def test_bad_images(text):
    with pytest.raises(BadRow, match="img_features"):
        protocol.image_of(text)


# the server, in a process of its own


def served(port=0):
    process = subprocess.Popen(
        [sys.executable, "-m", "loquent.cli", "serve", "dialogue", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
        # a shell that starts the tests in the background ignores the signal, and its children inherit that
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line, line
    return process, line.split("served at ")[1].split(";")[0]


@pytest.fixture(scope="module")
def server():
    process, address = served()
    yield address
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130, "as every command that is interrupted"


def request(**changes):
    task = loquent.task("dialogue")
    row = task.rows("test")[0]
    fields = protocol.fields(row["caption"], [], task.expert(_asking(task, row)), task.image(row.fields))
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


def _asking(task, row):
    return task.act(task.start(row, loquent.Key(0)), "0.5").state


def test_remote_seats_are_equal_to_local_ones(server):
    remote = Record(kind="dialogue/remote", model="truthful", url=server)
    local, far = (
        loquent.task("dialogue", percentile=0.9, **seats)
        for seats in ({}, {"answerer": remote, "judge": remote})
    )
    here, there = (
        play(task, games(task.rows("test")[:6]), make("dialogue/casual", task), seed=0)
        for task in (local, far)
    )
    for a, b in zip(here, there, strict=True):
        assert [turn.text for turn in a.turns if turn.seat != "judge"] == [
            turn.text for turn in b.turns if turn.seat != "judge"
        ]
        np.testing.assert_allclose(
            [float(turn.text) for turn in a.turns if turn.seat == "judge"],
            [float(turn.text) for turn in b.turns if turn.seat == "judge"],
            atol=1e-12,
        )


def test_every_path_answers(server):
    def at(path, **changes):
        return httpx2.post(f"{server}/{path}", data=request(**changes)).json()

    answer, change = at("step_rank")
    assert answer == at("fetch_a_bot_response")
    assert at("fetch_reward_rank", history="[]") > 0.9
    assert change != at("step")[1], "a change of rank and a change of error"
    assert at("fetch_q_bot_response", img_features=None).endswith("?")
    assert isinstance(at("fetch_reward"), float)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"history": None}, "the field history is missing"),
        ({"caption": None}, "the field caption is missing"),
        ({"history": "["}, "history"),
        ({"history": "[]"}, "nothing to answer"),
        ({"img_features": "[1, 2]"}, "images here have 64"),
        ({"img_features": json.dumps([0.5] * 64)}, "none of the built-in scenes"),
        ({"generation_kwargs": "3"}, "generation_kwargs"),
        ({"generation_kwargs": "{"}, "generation_kwargs"),
    ],
)
def test_malformed_fields_are_named(server, changes, words):
    response = httpx2.post(f"{server}/step_rank", data=request(**changes))
    assert response.status_code == 422
    assert words in response.json()["error"]


def test_other_requests_have_their_status(server):
    assert httpx2.get(f"{server}/step_rank").status_code == 405
    assert httpx2.post(f"{server}/elsewhere", data={}).status_code == 404
    assert httpx2.post(f"{server}/step_rank", json={}).status_code == 415
    too_big = httpx2.post(f"{server}/step_rank", data={"history": "x" * (5 << 20)})
    assert (too_big.status_code, "bytes" in too_big.json()["error"]) == (413, True)
    many = httpx2.post(f"{server}/step_rank", data={f"f{i}": "x" for i in range(40)})
    assert many.status_code == 422
    raw = httpx2.post(
        f"{server}/step_rank",
        content=b"\xff=%ff",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert raw.status_code == 422


def test_a_client_that_vanishes_disturbs_nobody(server):
    host, port = server.removeprefix("http://").split(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as gone:
            gone.sendall(
                b"POST /step_rank HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            )
            gone.sendall(b"Content-Length: 1000\r\n\r\nhistory=")
    assert httpx2.post(f"{server}/step_rank", data=request()).status_code == 200


def test_clients_side_by_side_get_their_own_answers(server):
    task = loquent.task("dialogue")

    def one(number):
        row = task.rows("test")[number]
        question = task.expert(_asking(task, row))
        fields = protocol.fields(row["caption"], [], question, task.image(row.fields))
        return httpx2.post(f"{server}/fetch_a_bot_response", data=fields, timeout=60).json()

    answerer = make("dialogue/truthful", task)
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(one, range(48)))
    for number, answer in enumerate(answers):
        row = task.rows("test")[number]
        step = task.act(task.start(row, loquent.Key(0)), "0.5")
        step = task.act(step, task.expert(step.state))
        question = loquent.core.live.Question(
            "g", (), step.observation, loquent.Key(0), state=step.state, row=row.fields
        )
        assert answerer.answer([question])[0].text == answer


def test_a_server_that_was_killed_goes_on_where_it_was():
    process, address = served()
    fields = request()
    before = httpx2.post(f"{address}/step_rank", data=fields).json()
    process.kill()
    process.wait()
    with pytest.raises(httpx2.ConnectError):
        httpx2.post(f"{address}/step_rank", data=fields)
    again, same = served(address.rsplit(":", 1)[1])
    assert same == address
    assert httpx2.post(f"{address}/step_rank", data=fields).json() == before
    again.kill()
    again.wait()


def test_a_task_without_a_server(capsys):
    from loquent.cli.main import main

    assert main(["serve", "wordle"]) == 2
    assert "tasks with one: dialogue" in capsys.readouterr().err
