"""The agent `http` against a real server on this machine that answers well, badly, late, too much, or not at
all.
"""

import threading
import time
from dataclasses import replace

import pytest

from helpers.agents.endpoints import agent, asked, chat, said
from helpers.tracers.echo import Echo
from helpers.tracers.interview import Interview
from loquent.agents.http import HttpOptions
from loquent.cli import main as cli
from loquent.core.agent import Agent, make
from loquent.core.remote.attempts import Attempts, Failed
from loquent.core.rollout.loop import games, play
from loquent.core.settings import Remark
from loquent.errors import BadSetting, BrokenAgent
from loquent.tasks.wordle.task import Wordle, WordleOptions

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


# -- what is asked
# ------------------------------------------------------------------------------------------------------------


def test_a_whole_game_is_played_through_the_protocol(serve):
    server = serve(chat("crane"), chat("ab"), chat("slate"), chat("crane"))
    task = Wordle(WordleOptions(limit=5))
    row = next(row for row in task.rows("train") if row["secret"] not in ("crane", "slate"))
    [episode] = play(task, games([row]), agent(server, temperature=0.5, max_tokens=7), seed=3)
    assert [turn.text for turn in episode.answers()] == ["crane", "ab", "slate", "crane", "crane", "crane"]
    assert episode.agents["agent"] == "http/small"
    path, headers, body = server.seen[3]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert {name: body[name] for name in ("model", "temperature", "max_tokens")} == {
        "model": "small",
        "temperature": 0.5,
        "max_tokens": 7,
    }
    marks = [turn.text.strip() for turn in episode.turns if turn.seat == "task"]
    assert [(message["role"], message["content"].strip()) for message in body["messages"]] == [
        ("system", task.spec.instruction),
        ("user", "(no reply)"),
        ("assistant", "crane"),
        ("user", marks[1]),
        ("assistant", "ab"),
        ("user", "'ab' is no valid answer: not five letters a-z"),
        ("assistant", "slate"),
        ("user", marks[3]),
    ]
    assert len({body["seed"] for _, _, body in server.seen}) == 6, "each question has a stream of its own"
    again = serve(chat("crane"), chat("ab"), chat("slate"), chat("crane"))
    play(task, games([row]), agent(again), seed=3)
    assert [body["seed"] for _, _, body in again.seen] == [body["seed"] for _, _, body in server.seen]


def test_the_completions_protocol_gets_one_prompt(serve):
    server = serve({"choices": [{"text": " echo\nand more", "finish_reason": "length"}]})
    [answer] = agent(server, api="completions", strip=False).answer([asked(Echo(), 1)])
    assert (answer.text, answer.stopped) == (" echo\nand more", "length")
    assert server.seen[0][0] == "/v1/completions"
    assert server.seen[0][2]["prompt"] == "Say it again.\necho"


def test_stop_strings_are_asked_for_and_cut_at_where_the_endpoint_did_not(serve):
    server = serve(chat("why?\nbecause", finish_reason="length"))
    [answer] = agent(server).answer([asked(Interview())])
    assert (answer.text, answer.stopped) == ("why?", "stop")
    assert server.seen[0][2]["stop"] == ["\n"]


def test_a_key_comes_from_the_environment_and_stands_nowhere_else(serve, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-123")
    server = serve((401, {}, {"error": {"message": "no such user"}}))
    chosen = agent(server, api_key_variable="MY_KEY")
    with pytest.raises(BrokenAgent, match="status 401") as error:
        chosen.answer([asked()])
    assert server.seen[0][1]["Authorization"] == "Bearer secret-123"
    assert "secret-123" not in str(error.value) + repr(chosen.options) + chosen.name
    assert len(server.seen) == 1, "what is refused is not asked again"
    for value, why in (
        ("", "is not set"),
        ("a b", "holds something that is no key"),
        ("a\nX-Other: 1", "no key"),
    ):
        monkeypatch.setenv("MY_KEY", value)
        with pytest.raises(BadSetting, match=why) as error:
            agent(server, api_key_variable="MY_KEY")
        assert "X-Other" not in str(error.value)


def test_lone_surrogates_of_an_answer_do_not_go_back(serve):
    server = serve(b'{"choices": [{"message": {"content": "\\ud800x"}}]}')
    one = agent(server)
    task = Wordle()
    [episode] = play(task, games(task.rows("train")[:1]), one, seed=0)
    assert [turn.text for turn in episode.answers()] == ["\ud800x"] * 6
    assert server.seen[1][2]["messages"][2]["content"] == "\ufffdx"


# -- odd answers are answers
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (chat("  crane \n"), ("crane", "end")),
        (chat(None), ("", "end")),
        (chat(["parts"]), ("", "end")),
        (chat(7), ("", "end")),
        (chat("half", finish_reason="length"), ("half", "length")),
        (chat("x", finish_reason={"odd": 1}), ("x", "end")),
        ({"choices": [{"message": None}]}, ("", "end")),
        ({"choices": [{}]}, ("", "end")),
        ({"choices": [{"message": {"tool_calls": [{}]}}, {"message": {"content": "second"}}]}, ("", "end")),
        (chat("y" * 100_000), ("y" * 16_384, "length")),
    ],
)
def test_odd_answers_are_answers(serve, reply, expected):
    server = serve(reply)
    assert said(server) == expected
    assert len(server.seen) == 1


def test_a_response_that_never_ends_is_an_empty_answer_cut_for_length(serve):
    def flood(handler, _):
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 65_536)
        except OSError:
            return

    server = serve(flood)
    with pytest.warns(Remark, match="more than 100000 bytes"):
        assert said(server, max_bytes=100_000) == ("", "length")


# -- failures are tried again, and named
# ----------------------------------------------------------------------------------------------------


def hang(handler, _):
    time.sleep(0.6)


def drip(handler, _):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def cut_off(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.close()


FAILURES = {
    "500": ((500, {}, {"error": "out of memory"}), "status 500: .*out of memory"),
    "503": ((503, {}, b""), "status 503"),
    "429": ((429, {"Retry-After": "0"}, b"slow down"), "status 429: slow down"),
    "malformed": (b'{"choices": [', "status 200, and a response that is not JSON"),
    "nested": (b"[" * 100_000, "status 200, and a response that is not JSON"),
    "empty": (b"", "status 200, and a response that is not JSON"),
    "page": (b"<html>welcome</html>", "not JSON"),
    "a list": ([], "status 200, and a response without choices"),
    "no choices": ({"choices": []}, "without choices"),
    "an error in disguise": ({"error": {"message": "overloaded"}}, "without choices: .*overloaded"),
    "not utf-8": (b'{"choices": "\xff"}', "not JSON"),
    "cut off": (cut_off, "not JSON|no response"),
    "no http": (lambda handler, _: handler.wfile.write(b"SSH-2.0-x\r\n") and None, "no response"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_tried_again(serve, kind):
    reply, why = FAILURES[kind]
    server = serve(reply, reply, chat("crane"))
    assert said(server) == ("crane", "end")
    assert len(server.seen) == 3
    assert server.seen[0][2] == server.seen[2][2], "it is the same question"
    for_ever = serve(reply)
    with pytest.raises(BrokenAgent, match=why) as error:
        said(for_ever)
    assert f"{for_ever.url}/chat/completions" in str(error.value)
    assert "asked 3 times" in str(error.value)
    assert "(game train:" in str(error.value)
    assert len(for_ever.seen) == 3


@pytest.mark.parametrize("late", [hang, drip])
def test_a_late_response_is_none(serve, late):
    server = serve(late, chat("crane"))
    assert said(server, timeout=0.3) == ("crane", "end")
    with pytest.raises(BrokenAgent, match=r"no response \(TimeoutError"):
        said(serve(late), timeout=0.2, retries=0)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_is_refused_is_not_asked_again(serve, status):
    server = serve((status, {}, {"error": {"message": "context too long"}}))
    with pytest.raises(BrokenAgent, match=f"asked once .*status {status}: .*context too long"):
        said(server)
    assert len(server.seen) == 1


def test_a_redirect_is_not_followed(serve):
    other = serve(chat("crane"))
    server = serve((302, {"Location": f"{other.url}/chat/completions"}, b""), chat("crane"))
    with pytest.raises(BrokenAgent, match="status 302"):
        said(server)
    assert other.seen == []


def test_nobody_at_the_address(serve):
    server = serve(chat("crane"))
    server.close()
    with pytest.raises(
        BrokenAgent, match=rf"{server.url}/chat/completions was asked .* no response \(ConnectionRefusedError"
    ):
        said(server)


def test_pauses_grow_are_bounded_and_heed_the_endpoint():
    connection, key = HttpOptions(base_url="http://x", model="m", pause=2.0), asked().key

    def paused(failed, after=None):
        attempts = Attempts(connection, key, "who")
        attempts.failed = failed
        return attempts.pause(Failed("x", after=after))

    pauses = [paused(failed) for failed in range(1, 9)]
    for failed, pause in enumerate(pauses, 1):
        longest = min(2.0 * 2 ** (failed - 1), 60.0)
        assert longest / 2 <= pause <= longest
    assert pauses == [paused(failed) for failed in range(1, 9)]
    assert paused(1, "7") == 7.0
    for after in ("99999", "999999"):
        assert paused(1, after) == 60.0
    for after in ("Wed, 21 Oct 2026 07:28:00 GMT", "1e999", "-1", "inf", "nan", "9" * 400, "٣", ""):
        assert paused(1, after) <= 2.0


# -- many games
# ------------------------------------------------------------------------------------------------------------


def echoing(handler, body):
    time.sleep(0.02)
    return chat(body["messages"][-1]["content"])


def test_questions_are_under_way_together_but_no_more_than_allowed_and_answers_keep_their_order(serve):
    server = serve(echoing)
    task = Echo()
    questions = [replace(asked(task, row % 5), game=str(row)) for row in range(20)]
    answers = agent(server, concurrency=4, nothing="").answer(questions)
    assert [answer.text for answer in answers] == [one.observation.text.strip() for one in questions]
    assert 2 <= server.most <= 4
    serial = serve(echoing)
    agent(serial, concurrency=1).answer(questions[:4])
    assert serial.most == 1
    assert agent(server).answer([]) == []


def test_one_refused_question_stops_the_others_from_waiting(serve):
    def first_refused(handler, body):
        return (400, {}, b"no") if body["messages"][-1]["content"] == "ab" else (503, {}, b"busy")

    server = serve(first_refused)
    task = Echo()
    before = threading.active_count()
    with pytest.raises(BrokenAgent, match="status 400"):
        agent(server, pause=60.0, retries=5, concurrency=4).answer([asked(task, row) for row in range(4)])
    limit = time.monotonic() + 20  # the others' first pause would be of 30 seconds at least
    while threading.active_count() > before + 1 and time.monotonic() < limit:
        time.sleep(0.01)
    assert threading.active_count() <= before + 1


# -- options and the command line
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x/v1",
        "file:///etc/passwd",
        "127.0.0.1:8000/v1",
        "http://user:pass@x/v1",
        "http://x/v1?key=1",
        "http:///v1",
    ],
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BadSetting, match="base_url"):
        HttpOptions(base_url=url, model="m")


@pytest.mark.parametrize(
    "options", [{"model": ""}, {"timeout": 0.0}, {"retries": -1}, {"concurrency": 0}, {"api": "chats"}]
)
def test_options_outside_their_range_are_refused(options):
    with pytest.raises(BadSetting):
        HttpOptions(**{"base_url": "http://127.0.0.1:1/v1", "model": "m", **options})


def test_it_is_made_by_name(serve):
    server = serve(chat("crane"))
    made = make("http", Wordle(), {"base_url": server.url, "model": "m"})
    assert isinstance(made, Agent)
    assert made.answer([asked()])[0].text == "crane"
    with pytest.raises(BadSetting, match="needs base_url, model"):
        make("http", Wordle())


def test_an_endpoint_plays_on_the_command_line(serve, tmp_path, capsys):
    server = serve(chat("crane"))
    line = [
        "collect",
        "wordle",
        "limit=20",
        "--agent",
        "http",
        f"agent.base_url={server.url}",
        "agent.model=m",
        "--episodes",
        "5",
    ]
    assert cli.main([*line, "--out", str(tmp_path / "games")]) == 0
    assert "5 episodes" in capsys.readouterr().out
    down = serve((500, {}, b"down"))
    line[5] = f"agent.base_url={down.url}"
    assert cli.main([*line, "agent.retries=1", "agent.pause=0", "--out", str(tmp_path / "none")]) == 2
    assert (
        f"{down.url}/chat/completions was asked 2 times and failed: status 500: down"
        in capsys.readouterr().err
    )
