"""What an endpoint says can crash no run, hold none up, and show no key."""

import gzip
import json
import os
import signal
import socket
import sys
import time
import unicodedata
from base64 import b64encode
from urllib.parse import quote

import pytest

from helpers import commands
from helpers.agents.endpoints import Server, agent, asked, chat, said
from loquent.agents.http import HttpOptions
from loquent.cli import main as cli
from loquent.core.guards.secret import Secret
from loquent.core.remote.endpoint import CHUNK
from loquent.core.settings import Remark
from loquent.errors import BadSetting, BrokenAgent, MissingExtra
from loquent.tasks.wordle.task import Wordle, WordleOptions

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
KEY = "sk-pass/word+1234"


def slow_head(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for i in range(200):
        handler.wfile.write(b"X-Part-%d: a\r\n" % i)
        handler.wfile.flush()
        time.sleep(0.05)


def slow_letters(handler, _):
    for letter in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}":
        handler.wfile.write(bytes([letter]))
        handler.wfile.flush()
        time.sleep(0.05)


@pytest.mark.parametrize("late", [slow_head, slow_letters])
def test_the_deadline_covers_a_head_that_drips(serve, late):
    server, begun = serve(late), time.monotonic()
    with pytest.raises(
        BrokenAgent, match=r"no response \(TimeoutError: it was not complete after 0.3 seconds"
    ):
        said(server, timeout=0.3, retries=1)
    assert time.monotonic() - begun < 5.0
    assert len(server.seen) == 2


def test_the_deadline_covers_the_connection():
    with socket.socket() as deaf:  # it takes connections and never says its part of a handshake
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        server, begun = (
            type("Deaf", (), {"url": f"https://127.0.0.1:{deaf.getsockname()[1]}/v1"}),
            time.monotonic(),
        )
        with pytest.raises(BrokenAgent, match="no response"):
            said(server, timeout=0.3, retries=0)
    assert time.monotonic() - begun < 5.0


ECHOES = {
    "as it is": f"you sent {KEY} to us",
    "in an address": f"https://x/?key={quote(KEY, safe='')}",
    "in base64": b64encode(KEY.encode()).decode(),
    "in base64 of the header": b64encode(f"Bearer {KEY}".encode()).decode(),
    "in base64 with a user": b64encode(f"ab:{KEY}".encode()).decode(),
    "in hexadecimal": KEY.encode().hex(),
    "in capitals": KEY.upper(),
    "at the end of what is shown": "x" * 180 + KEY,
}
TOLD = [
    KEY,
    quote(KEY, safe=""),
    KEY.encode().hex(),
    "pass/word",
    "word+12",
    *(b64encode(b" " * i + KEY.encode()).decode()[4:-4] for i in range(3)),
]


@pytest.mark.parametrize("echo", ECHOES)
def test_an_echoed_key_stands_in_no_error_and_no_episode(serve, echo, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    dressed = json.dumps({"error": ECHOES[echo]}).replace("/", "\\/").replace("s", "\\u0073").encode()
    replies = [
        (401, {}, {"error": ECHOES[echo]}),
        (400, {}, ECHOES[echo].encode()),
        {"error": {"message": ECHOES[echo]}},
        (403, {}, dressed),
    ]
    for reply in replies:
        with pytest.raises(BrokenAgent, match="x" * 9 if echo.startswith("at") else r"\*\*\*") as error:
            said(serve(reply), api_key_variable="MY_KEY", retries=0)
        assert not [form for form in TOLD if form.lower() in str(error.value).lower()]
    escaped = json.dumps(chat(ECHOES[echo])).replace("s", "\\u0073").encode()
    text, _ = said(
        serve(escaped.replace(b"me\\u0073\\u0073age", b"message").replace(b"choice\\u0073", b"choices")),
        api_key_variable="MY_KEY",
    )
    assert "***" in text
    assert not [form for form in TOLD if form.lower() in text.lower()]


def test_a_key_in_an_address_is_refused_and_not_shown():
    for url in (
        "http://user:hunter22@x/v1",
        "http://x/v1?key=hunter22",
        "ftp://:hunter22@x",
        "http://x/v1#hunter22",
        "http://hunter22@[x/v1",
    ):
        with pytest.raises(BadSetting, match="api_key_variable") as error:
            HttpOptions(base_url=url, model="m")
        assert "hunter22" not in str(error.value)


def test_a_placeholder_is_no_secret():
    assert Secret("none").hide("none of it") == "none of it"
    assert Secret("").hide("a") == "a"
    assert KEY not in repr(Secret(KEY)) + str(vars(Secret(KEY)).keys())


def deep(text):
    return b'{"error": ' + text * 90_000


HOSTILE = {
    "a bomb": (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 50_000_000)),
    "a bomb of an error": (500, {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 50_000_000)),
    "no gzip": (200, {"Content-Encoding": "gzip"}, b"{}"),
    "brotli": (200, {"Content-Encoding": "br"}, b"{}"),
    "deep list": deep(b"["),
    "deep object": deep(b'{"a":'),
    "digits": b'{"choices": ' + b"9" * 100_000 + b"}",
    "surrogates": (500, {}, b'{"error": "\\ud800\\udfff \xed\xa0\x80 \x1b[31m"}'),
    "a head without end": lambda handler, _: (
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 3_000_000 + b"\r\n\r\n{}") and None
    ),
    "many heads": lambda handler, _: (
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 300_000 + b"\r\n{}") and None
    ),
    "two lengths": (200, {"Content-Length": "1, 2"}, b"{}"),
    "a length below zero": (200, {"Content-Length": "-5"}, b"{}"),
    "chunks of nonsense": (200, {"Transfer-Encoding": "chunked"}, b"zz\r\n{}\r\n0\r\n\r\n"),
    "a status of its own": lambda handler, _: handler.wfile.write(b"HTTP/1.1 999999 what\r\n\r\n") and None,
    "interim for ever": lambda handler, _: (
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000) and None
    ),
    "null": b"null",
    "true": b"true",
    "choices of a type": {"choices": {"0": "x"}},
    "choices of nulls": {"choices": [None]},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_responses_are_failures_in_words_or_empty_answers(serve, kind):
    begun, server = time.monotonic(), serve(HOSTILE[kind])
    given = {"retries": 0, "max_bytes": 1_000_000, "timeout": 3.0}
    if kind == "a bomb":
        with pytest.warns(Remark, match="more than 1000000 bytes"):
            assert said(server, **given) == ("", "length")
    else:
        with pytest.raises(BrokenAgent) as error:
            said(server, **given)
        assert len(str(error.value)) < 600
        assert "\x1b" not in str(error.value)
        str(error.value).encode()
    assert time.monotonic() - begun < 6.0


@pytest.mark.parametrize(
    "body",
    [b'{"choices": [{"message": {"content": "crane"}, "logprob": NaN, "x": [Infinity, 1e999]}]}', b"gzip"],
)
def test_good_answers_in_odd_dress_are_answers(serve, body):
    reply = (
        (200, {"Content-Encoding": "gzip"}, gzip.compress(json.dumps(chat("crane")).encode()))
        if body == b"gzip"
        else body
    )
    assert said(serve(reply), retries=0) == ("crane", "end")


def test_no_redirect_is_followed_anywhere(serve):
    other = serve(chat("crane"))
    for status in (301, 302, 303, 307, 308):
        for place in (
            f"{other.url}/chat/completions",
            "/v1/chat/completions",
            "//x/",
            "\x00",
            "javascript:x",
        ):
            server = serve((status, {"Location": place}, b""))
            with pytest.raises(BrokenAgent, match=f"status {status}|no response"):
                said(server, retries=0)
            assert len(server.seen) == 1
    assert other.seen == []


def test_without_the_library_the_error_names_the_extra(serve, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"loquent\[http\]"):
        agent(serve(chat("x")))


def test_connections_are_kept(serve):
    ports = []

    def keep(handler, _):
        ports.append(handler.client_address[1])
        handler.protocol_version, handler.close_connection = "HTTP/1.1", False
        return chat("crane")

    one = agent(serve(keep))
    for _ in range(3):
        one.answer([asked()])
    assert len(set(ports)) == 1


def test_ctrl_c_ends_a_run_at_once_and_in_words(serve, tmp_path):
    server = serve(lambda handler, _: time.sleep(8))
    words = [
        "evaluate",
        "http",
        "--task",
        "wordle",
        "--option",
        "limit=20",
        "--option",
        f"agent.base_url={server.url}",
        "--option",
        "agent.model=m",
    ]
    run = commands.Command(["loquent", *words, "--episodes", "5"], tmp_path, network=True)
    limit = time.monotonic() + 60
    while len(server.seen) < 5 and time.monotonic() < limit:
        time.sleep(0.02)
    begun = time.monotonic()
    os.kill(run.process.pid, signal.SIGINT)
    done = run.ended(60)
    assert time.monotonic() - begun < 6.0
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "loquent: interrupted")


def test_ctrl_c_keeps_games_that_have_ended_and_another_address_goes_on(serve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word = Wordle(WordleOptions(limit=20)).rows("train")[3]["secret"]
    good = serve(chat(word))
    asked_once = iter(range(20))
    hanging = serve(lambda handler, _: chat(word) if next(asked_once, None) is not None else time.sleep(8))
    words = ["collect", "wordle", "limit=20", "--agent", "http", "agent.model=m", "--episodes", "20", "--out"]
    run = commands.Command(
        ["loquent", *words, "cut", f"agent.base_url={hanging.url}"], tmp_path, network=True
    )
    limit = time.monotonic() + 60
    while len(hanging.seen) < 25 and time.monotonic() < limit:
        time.sleep(0.02)
    begun = time.monotonic()
    os.kill(run.process.pid, signal.SIGINT)
    done = run.ended(60)
    assert time.monotonic() - begun < 6.0
    assert done.returncode == 130
    assert done.stderr.splitlines()[-2:] == [
        "1 of 20 games are finished and stored in cut; the same command continues",
        "loquent: interrupted",
    ]
    assert "Traceback" not in done.stderr
    assert cli.main([*words, "whole", f"agent.base_url={good.url}"]) == 0
    before = len(good.seen)
    assert cli.main([*words, "cut", f"agent.base_url={good.url}", "agent.retries=9", "agent.timeout=7"]) == 0
    assert len(good.seen) - before == before - 1, "the game that had ended is not asked about again"
    assert (tmp_path / "cut" / "episodes.jsonl").read_bytes() == (
        tmp_path / "whole" / "episodes.jsonl"
    ).read_bytes()


def test_no_proxy_and_no_password_of_the_environment_is_used(serve, monkeypatch, tmp_path):
    proxy, server = serve(chat("slate")), serve(chat("crane"))
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hunter22\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
    with pytest.raises(BrokenAgent, match="no response"):
        said(type("Far", (), {"url": "http://far.invalid/v1"}), retries=0)
    assert said(server) == ("crane", "end")
    assert (proxy.seen, server.seen[0][1].get("Authorization")) == ([], None)


def test_the_start_of_a_key_at_the_cut_of_an_error_is_not_shown(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    for shown in range(1, len(KEY), 4):
        body = b" " * (CHUNK - shown) + KEY.encode() + b" " * CHUNK
        with pytest.raises(BrokenAgent, match=r"status 401$"):
            said(serve((401, {}, body)), api_key_variable="MY_KEY", retries=0)


def test_a_key_in_the_place_of_its_variable_is_not_shown():
    with pytest.raises(BadSetting, match="must be the name of an environment variable") as error:
        agent(type("No", (), {"url": "http://127.0.0.1:9/v1"}), api_key_variable=KEY)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://exa mple/v1",
        "http://x:99999/v1",
        "http://[::1/v1",
        "http://é\u0000/v1",
        "http://x\n/v1",
        "http://.../v1",
    ],
)
def test_an_odd_address_is_refused_or_a_failure_in_words(url):
    with pytest.raises((BadSetting, BrokenAgent)):
        said(type("Odd", (), {"url": url}), retries=0, timeout=2.0)


def test_two_agents_share_no_state(serve):
    first, second = Server(chat("crane")), serve(chat("slate"))
    try:
        assert agent(first).answer([asked()])[0].text == "crane"
        assert agent(second).answer([asked()])[0].text == "slate"
    finally:
        first.close()


def test_a_key_is_hidden_as_an_address_writes_it_with_its_slashes():
    assert Secret("sk-a+b/c=d").hide("at /v1?key=sk-a%2Bb/c%3Dd now") == "at /v1?key=*** now"


@pytest.mark.parametrize(
    "form",
    [
        "".join(f"\\{ord(letter):03o}" for letter in KEY),
        str(list(KEY.encode())).strip("[]"),
        KEY.replace("/", "%5Cu002f").replace("s", "&amp;#x73;"),
        json.dumps(json.dumps(json.dumps(list(KEY)))).translate({ord(mark): "" for mark in '[]", \\'}),
        KEY.encode().hex("-").upper(),
    ],
)
def test_a_key_is_hidden_through_escapes_of_escapes_and_nothing_else_is(form):
    assert Secret(KEY).hide({form: ["%41\\n", f"İ a\u0301 {form}!", 7, None, 0.5]}) == {
        "***": ["%41\\n", "İ a\u0301 ***!", 7, None, 0.5]
    }


def test_a_key_with_escapes_of_its_own_is_hidden():
    for key in ("sk%41%2Fab\\n", "a&lt;b&#39;c12", "\\u0041bcdef"):
        for form in (key, json.dumps(key)[1:-1], quote(key, safe=""), key.upper()):
            assert Secret(key).hide(f"a {form} b") == "a *** b"


def test_a_long_text_of_escapes_takes_a_bounded_time():
    begun = time.monotonic()
    for text in ("\\" * 200_000, "%25" * 70_000, "&amp;" * 40_000, KEY[:-1] * 12_000):
        assert Secret(KEY).hide(text) == text
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    "form",
    [
        "".join(f"%u{ord(letter):04x}" for letter in KEY),
        "".join(f"\\U{ord(letter):08x}" for letter in KEY),
        "".join(f"\\N{{{unicodedata.name(letter)}}}" for letter in KEY),
        "".join(f"\\{ord(letter):o}" for letter in KEY),
        "".join(f"&#{ord(letter)}" for letter in KEY),
        KEY.replace("w", "&#x0000077").replace("/", "&sol;").replace("+", "&plus;"),
        KEY[:9] + "\\r\\n  " + KEY[9:],
        "\u200b".join(KEY),
        KEY.encode().hex("_"),
        json.dumps([f"{byte:02x}" for byte in KEY.encode()])[2:-2],
        " ".join(map(str, KEY.encode())),
        "; ".join(map(str, KEY.encode())),
    ],
)
def test_a_key_is_hidden_in_the_forms_of_programs_and_dumps(form):
    assert Secret(KEY).hide(f"it is {form}, no?") == "it is ***, no?"


@pytest.mark.parametrize("number", [1234567890.0, 123456.789, 1.23456789e25, -0.00123456789])
def test_a_number_with_the_digits_of_a_key_is_hidden(number):
    assert Secret("12345678").hide([number, 87654321.0]) == ["***", 87654321.0]


def test_no_log_of_the_libraries_quotes_what_the_address_sent(serve, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level("DEBUG")
    assert said(serve((200, {"X-Echo": KEY}, chat("hi"))), api_key_variable="MY_KEY") == ("hi", "end")
    assert KEY not in caplog.text
