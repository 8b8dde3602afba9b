"""Seats that were trained on recorded dialogues, and seats behind HTTP: A29 of ILQL's specification."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import httpx2
import numpy as np
import pytest

import loquent
from loquent.core.agent import make
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, BrokenAgent
from loquent.rollout.loop import games, play
from loquent.tasks.dialogue import protocol
from loquent.tasks.dialogue.learned import network, training

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture(scope="module")
def dialogues():
    task = loquent.task("dialogue", percentile=1.0)
    asker = make({"kind": "dialogue/casual", "yes_no": 0.0, "off_topic": 0.0}, task)
    return task, training.played(task, play(task, games(task.rows("train")[:100]), asker, seed=0))


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
        network.load(tmp_path / "answerer", "judge")


def test_training_is_reproducible(dialogues, tmp_path):
    task, recorded = dialogues
    for name in ("a", "b"):
        training.train_guesser(task, recorded[:20], tmp_path / name)
    weights = [(tmp_path / name / network.WEIGHTS).read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]


def test_too_few_dialogues(dialogues, tmp_path):
    with pytest.raises(BadSetting, match="at least 10"):
        training.train_answerer(dialogues[0], dialogues[1][:9], tmp_path / "x")


def test_damaged_networks_are_refused(tmp_path):
    layers = (np.zeros((3, 2), np.float32),)
    network.save(tmp_path / "a", network.Network(layers, (np.zeros(2, np.float32),)), {"role": "judge"})
    assert network.load(tmp_path / "a", "judge")[0].shape == (3, 2)
    network.save(tmp_path / "b", network.Network(layers, (np.zeros(5, np.float32),)), {"role": "judge"})
    with pytest.raises(BadSetting, match="do not fit together"):
        network.load(tmp_path / "b", "judge")
    network.save(
        tmp_path / "d", network.Network(layers, (np.full(2, np.nan, np.float32),)), {"role": "judge"}
    )
    with pytest.raises(BadSetting, match="not finite"):
        network.load(tmp_path / "d", "judge")
    (tmp_path / "a" / network.WEIGHTS).write_bytes(b"no")
    with pytest.raises(BadSetting, match="cannot be read"):
        network.load(tmp_path / "a", "judge")
    with pytest.raises(BadSetting, match=network.NOTE):
        network.load(tmp_path / "none", "judge")
    judge = {"kind": "dialogue/judge", "path": str(tmp_path / "c")}
    network.save(tmp_path / "c", network.Network(layers, (np.zeros(2, np.float32),)), {"role": "judge"})
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


# a seat behind HTTP


class Stub:
    """A server with fixed responses, each a status and a body; the last one repeats."""

    def __init__(self, *responses):
        self.seen, waiting = [], list(responses)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                stub.seen.append((self.path, self.headers["Content-Type"], parse_qs(body)))
                status, content = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                time.sleep(content if isinstance(content, float) else 0)
                raw = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def stub():
    made = []

    def start(*responses):
        made.append(Stub(*responses))
        return made[-1]

    yield start
    for one in made:
        one.server.shutdown()


def asked_remotely(stub, **options):
    options = {
        "kind": "dialogue/remote",
        "model": "m",
        "url": stub.url,
        "retries": 2,
        "pause": 0.0,
        **options,
    }
    task = loquent.task("dialogue", answerer=Record(options), percentile=1.0)
    [game] = play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)
    return [turn.text for turn in game.turns if turn.seat == "answerer"]


def test_the_form_of_a_request(stub):
    server = stub((200, "red"))
    assert set(asked_remotely(server)) == {"red"}
    path, kind, fields = server.seen[1]
    assert (path, kind) == ("/fetch_a_bot_response", "application/x-www-form-urlencoded")
    assert set(fields) == {"history", "caption", "img_features", "generation_kwargs"}
    history = json.loads(fields["history"][0])
    assert [entry["speaker"] for entry in history] == ["question", "answer", "question"]
    assert len(json.loads(fields["img_features"][0])) == 64


def test_a_failure_is_tried_again(stub):
    server = stub((503, "busy"), (500, "busy"), (200, "red"))
    assert asked_remotely(server)[0] == "red"


@pytest.mark.parametrize(
    ("response", "options", "words"),
    [
        ((503, "busy"), {}, 'asked 3 times.*status 503: "?busy'),
        ((404, "nothing here"), {}, "asked once.*status 404"),
        ((200, b"<html>"), {}, "asked 3 times.*not JSON"),
        ((200, 1.0), {"timeout": 0.2}, "asked 3 times.*TimeoutError"),
    ],
)
def test_a_failing_server_is_named(stub, response, options, words):
    server = stub(response)
    with pytest.raises(BrokenAgent, match=words) as error:
        asked_remotely(server, **options)
    assert server.url in str(error.value)


@pytest.mark.parametrize("response", [3, None, ["red"], {"answer": "red"}])
def test_an_answer_that_is_no_text_stops_the_run(stub, response):
    with pytest.raises(BrokenAgent, match="it must be a text"):
        asked_remotely(stub((200, response)))


@pytest.mark.parametrize("response", ["good", "0.9", {"error": "busy"}, True, 10**400, 10**12])
def test_a_judge_without_a_number_stops_the_run(stub, response):
    """Its progress would count as 0, and the game as lost."""
    judge = Record(kind="dialogue/remote", model="m", url=stub((200, response)).url)
    task = loquent.task("dialogue", judge=judge)
    with pytest.raises(BrokenAgent, match="it must be a finite number"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)


@pytest.mark.parametrize(
    "url",
    ["localhost", "ftp://a", "http://", "http://a?b=c", "http://u:hunter2@a", "http://[::1", "http://a b"],
)
def test_addresses_are_checked(url):
    with pytest.raises(BadSetting, match="url") as error:
        make({"kind": "dialogue/remote", "model": "m", "url": url}, loquent.task("dialogue"))
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(("options", "words"), [({}, "needs model"), ({"model": ""}, "model is empty")])
def test_a_remote_seat_has_a_name(options, words):
    for kind, task in (("dialogue/remote", "dialogue"), ("comments/remote", "comments")):
        with pytest.raises(BadSetting, match=words):
            make({"kind": kind, "url": "http://127.0.0.1:9", **options}, loquent.task(task))


def test_numbers_that_are_not_finite_have_no_rank():
    """Compared with others they would be closer than all."""
    task = loquent.task("dialogue")
    judge = make("dialogue/guesser", task)
    caption, image = task.rows("test")[0]["caption"], np.full(64, np.nan, np.float32)
    with pytest.raises(BrokenAgent, match="not finite"):
        judge.measured(caption, (), image)


# the server, in a process of its own


def served(port=0):
    process = subprocess.Popen(
        [sys.executable, "-m", "loquent.cli", "serve", "dialogue", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
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
