"""Seats of dialogue behind HTTP: the requests that they send, and what they make of a server's failures."""

import html
import json
import re
import threading
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote

import pytest

import loquent
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


class Stub:
    """A server with fixed responses, each a status and a body; the last one repeats."""

    def __init__(self, *responses):
        self.seen, self.keys, waiting = [], [], list(responses)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                stub.keys.append(self.headers["Authorization"])
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
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
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


@pytest.mark.parametrize("response", [3, None, ["red"], {"answer": "red"}, {"error": "busy"}])
def test_a_response_that_is_no_text_ends_the_run(stub, response):
    with pytest.raises(BrokenAgent, match=r"fetch_a_bot_response responded: .*; it must be a text"):
        asked_remotely(stub((200, response)))


@pytest.mark.parametrize("response", ["good", "0.93", True, None, [0.9], {"error": "busy"}, b"1e999", b"NaN"])
def test_a_judge_without_a_number_ends_the_run(stub, response):
    judge = Record(kind="dialogue/remote", model="m", url=stub((200, response)).url)
    task = loquent.task("dialogue", judge=judge)
    with pytest.raises(BrokenAgent, match=r"fetch_reward_rank responded: .*; it must be a finite number"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)


@pytest.mark.parametrize("number", [12345678901, -1e-300, 1.5e300])
def test_every_number_of_a_judge_counts(stub, number):
    judge = Record(kind="dialogue/remote", model="m", url=stub((200, json.dumps(number).encode())).url)
    task = loquent.task("dialogue", judge=judge, mode="10_stop")
    [game] = play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)
    assert [turn.invalid for turn in game.turns] == [""] * len(game.turns)
    assert task.total(game.rewards) == pytest.approx(10 * number)


def test_a_remote_distance_is_no_percentile(stub):
    judge = Record(kind="dialogue/remote", model="m", url=stub((200, 1)).url, reward="fetch_reward")
    task = loquent.task("dialogue", judge=judge)
    with pytest.raises(BadSetting, match="reward = 'fetch_reward' is no percentile"):
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)


def test_a_response_that_is_too_long_ends_the_run(stub):
    with pytest.raises(BrokenAgent, match="more than 1024 bytes; raise max_bytes"):
        asked_remotely(stub((200, "red" * 1000)), max_bytes=1024)


def test_after_a_failure_no_other_request_is_sent(stub):
    server = stub((404, "nothing here"), (503, "busy"))
    answerer = Record(kind="dialogue/remote", model="m", url=server.url, retries=50, pause=0.0)
    task = loquent.task("dialogue", answerer=answerer)
    with pytest.raises(BrokenAgent, match="status 404"):
        play(task, games(task.rows("test")[:40]), make("dialogue/careful", task), seed=0)
    time.sleep(0.3)  # those under way
    sent = len(server.seen)
    time.sleep(0.5)
    assert len(server.seen) == sent


@pytest.mark.parametrize(
    "url",
    [
        "localhost",
        "ftp://a",
        "http://",
        "http://a?b=c",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://a b/",
        "http://user:hunter2@a",
        "user:hunter2@a",
    ],
)
@pytest.mark.parametrize("kind", ["dialogue/remote", "comments/remote"])
def test_addresses_are_checked(kind, url):
    task = loquent.task(kind.split("/", maxsplit=1)[0])
    with pytest.raises(BadSetting, match=r"url = .* without spaces, user, password") as error:
        make({"kind": kind, "model": "m", "url": url}, task)
    assert "hunter2" not in str(error.value)


def test_a_key_is_sent_and_not_shown(stub, monkeypatch):
    monkeypatch.setenv("SEAT_KEY", "sk-0123456789")
    server = stub((403, "the key sk-0123456789 is not known"))
    with pytest.raises(BrokenAgent, match=r"the key \*\*\* is not known"):
        asked_remotely(server, api_key_variable="SEAT_KEY")
    assert server.keys == ["Bearer sk-0123456789"]
    monkeypatch.delenv("SEAT_KEY")
    with pytest.raises(BadSetting, match="SEAT_KEY"):
        asked_remotely(server, api_key_variable="SEAT_KEY")


KEY = "sk-pass/word+1234"
ECHOES = {
    "raw": KEY,
    "in capitals": KEY.upper(),
    "of the header": f"Authorization: Bearer {KEY}",
    "in an address": quote(KEY, safe=""),
    "in an address twice": quote(quote(KEY, safe=""), safe=""),
    "every letter in an address": "".join(f"%{ord(letter):02x}" for letter in KEY),
    "base64": b64encode(KEY.encode()).decode(),
    "base64 of the header": b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 in an address": quote(b64encode(f"a:{KEY}".encode()).decode(), safe=""),
    "base64 in lines": "\n".join(re.findall("..?.?.?.?", b64encode(f"Bearer {KEY}".encode()).decode())),
    "JSON in JSON": json.dumps(json.dumps({"key": KEY})).replace("/", "\\/"),
    "escapes": "".join(f"\\u{ord(letter):04x}" for letter in KEY),
    "bytes": "".join(f"\\x{ord(letter):02x}" for letter in KEY),
    "HTML": "".join(f"&#{ord(letter)};" for letter in KEY),
    "HTML in hexadecimal": "".join(f"&#x{ord(letter):X};" for letter in KEY),
    "hexadecimal": KEY.encode().hex(),
    "hexadecimal with colons": KEY.encode().hex(":"),
}


def leaked(text):
    """Whether a text holds the middle of the key, read in any of the ways above."""
    plain = re.sub(
        r"\\+(?:u00|x)(..)", lambda code: chr(int(code[1], 16)), html.unescape(unquote(unquote(text)))
    )
    packed = re.sub(r"[\s:]", "", plain)
    digits = [b64encode(b" " * before + KEY.encode()).decode()[6:-6] for before in range(3)]
    middles = [KEY[4:-4], KEY[4:-4].replace("/", "\\/"), KEY[4:-4].encode().hex(), *digits]
    return any(middle.lower() in packed.lower() for middle in middles)


@pytest.mark.parametrize("echo", ECHOES)
def test_an_echoed_key_stands_in_no_episode(stub, monkeypatch, echo):
    monkeypatch.setenv("SEAT_KEY", KEY)
    assert leaked(ECHOES[echo])
    answers = asked_remotely(stub((200, f"you sent {ECHOES[echo]} to us")), api_key_variable="SEAT_KEY")
    for answer in answers:
        assert re.fullmatch(r"(?s)you sent .*\*\*\*.* to us", answer)
        assert not leaked(answer)


def test_a_number_that_is_the_key_is_no_number(stub, monkeypatch):
    monkeypatch.setenv("SEAT_KEY", "1234567890")
    url = stub((200, 1234567890)).url
    judge = Record(kind="dialogue/remote", model="m", url=url, api_key_variable="SEAT_KEY")
    task = loquent.task("dialogue", judge=judge)
    with pytest.raises(BrokenAgent, match="must be a finite number") as error:
        play(task, games(task.rows("test")[:1]), make("dialogue/careful", task), seed=0)
    assert "1234567890" not in str(error.value)


@pytest.mark.parametrize(("options", "words"), [({}, "needs model"), ({"model": ""}, "model is empty")])
def test_a_remote_seat_has_a_name(options, words):
    for kind, task in (("dialogue/remote", "dialogue"), ("comments/remote", "comments")):
        with pytest.raises(BadSetting, match=words):
            make({"kind": kind, "url": "http://127.0.0.1:9", **options}, loquent.task(task))
