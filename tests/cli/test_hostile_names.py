"""What others wrote never moves the cursor: commands run on names, texts and answers that are full of control
characters.
"""

import json
import logging
import re
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from loquent.cli import main as cli
from loquent.cli.commands import list as listing
from loquent.core.settings import Remark

EVIL = "\x1b]0;x\x07\x1b[2J\x9b\r\u202e"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LINE = {"seat": "agent", "text": "3", "stopped": "end"}


@pytest.fixture
def seen(folder, capsys, monkeypatch):
    """Run a command in process, check what reached the terminal, and give its code and that."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*words, bars=False):
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        shown = "".join(capsys.readouterr())
        if bars:  # a bar begins its line anew: \r, its name, and a share in percent
            shown = re.sub(r"\r(?=.*\d+%|\s*$)", "", shown)
        assert not CONTROL.search(shown), repr(shown)
        return code, shown

    return run


@pytest.fixture
def record(seen, folder):
    """A recorded game as JSON, and where to put another."""
    assert seen("play", "counting:Count", "--row", "r2", "--agent", "expert", "--save", "kept.jsonl")[0] == 0
    return json.loads((folder / "kept.jsonl").read_text()), folder / "evil.jsonl"


def test_a_record_with_an_evil_task_is_refused_in_plain_words(seen, record):
    game, file = record
    file.write_text(json.dumps({**game, "task": EVIL}))
    code, shown = seen("play", "counting:Count", "--replay", file)
    assert code == 2
    assert "was played on \\x1b]0;x\\x07\\x1b[2J\\x9b\\r\\u202e" in shown
    assert "\\x1b[2J" in seen("convert", file, "out.jsonl")[1]
    assert json.loads((file.parent / "out.jsonl").read_text())["task"] == EVIL, "files keep what was written"


def test_a_record_with_evil_rewards_seats_and_texts_is_shown(seen, record):
    game, file = record
    game["turns"][1]["rewards"] = {**game["turns"][1].get("rewards", {}), f"{EVIL}\nReturn: 100": 1.0}
    file.write_text(json.dumps(game))
    code, shown = seen("play", "counting:Count", "--replay", file)
    assert code == 0
    assert "\\x1b[2J\\x9b\\r\\u202e\\nReturn: 100 1" in shown, "a name with a line break stays in its line"
    game["turns"][1]["text"] = f"7{EVIL}"
    file.write_text(json.dumps(game))
    code, shown = seen("play", "counting:Count", "--replay", file)
    assert code == 1
    assert "agent: 7\\x1b]0" in shown


def test_an_evil_file_name_or_line_is_named_escaped(seen, folder):
    (folder / f"a{EVIL}.jsonl").write_text(f'{{"task": "{EVIL}\n')
    assert "\\x1b[2J" in seen("play", "counting:Count", "--replay", f"a{EVIL}.jsonl")[1]
    assert "\\x1b[2J" in seen("play", "counting:Count", "--save", f"{EVIL}/x", "--agent", "expert")[1]
    (folder / "evil.txt").write_text(f"a good {EVIL} film\n")
    assert seen("score", "--metrics", "lexicon", "evil.txt")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        [EVIL],
        ["play", EVIL],
        ["play", f"{EVIL}:{EVIL}"],
        ["play", "wordle", "--bogus", EVIL],
        ["play", "wordle", "--row", EVIL],
        ["play", "wordle", "--agent", EVIL],
        ["play", "wordle", f"{EVIL}=1"],
        ["play", "wordle", "--seed", EVIL],
        ["evaluate", EVIL],
        ["resume", EVIL],
        ["export", EVIL, "out"],
        ["report", EVIL, "--out", "x.html"],
        ["generate", EVIL, "--prompt", EVIL],
        ["values", EVIL, EVIL],
        ["train", EVIL],
        ["train", "sb3/choices_ppo", f"{EVIL}=2"],
        ["show", "reviews_ppo", f"name={EVIL}"],
        ["show", f"{EVIL}.yaml"],
        ["help", EVIL],
        ["list", EVIL],
        ["check", EVIL],
        ["collect", EVIL, "--agent", EVIL, "--episodes", "1", "--out", "o"],
        ["convert", EVIL, EVIL],
        ["import", EVIL],
        ["bench", EVIL],
        ["annotate", EVIL],
        ["score", "--metrics", EVIL, "missing.txt"],
        ["score", "--metrics", "lexicon", f"{EVIL}.txt"],
    ],
    ids=lambda words: " ".join(words).replace(EVIL, "EVIL"),
)
def test_evil_words_are_answered_without_control_characters(words, seen):
    code, shown = seen(*[word.replace("\x00", "") for word in words])
    assert shown
    assert code in (0, 2)


def test_a_recipe_with_an_evil_name_is_trained_and_reported(seen, folder):
    pytest.importorskip("stable_baselines3")
    text = (
        f"name: {json.dumps(EVIL)}\ntask: {{kind: multiple_choice, limit: 20}}\n"
        "algorithm: {kind: sb3/ppo}\ntraining: {updates: 1, episodes: 4, final_episodes: 4}\n"
    )
    (folder / "evil.yaml").write_text(text)
    code, shown = seen("train", "evil.yaml", "--profile", "smoke", "--out", f"run{EVIL}", bars=True)
    assert (code, "\\x1b[2J" in shown) == (0, True), shown
    run = f"run{EVIL}"
    for words in (
        ["evaluate", run, "--episodes", "4"],
        ["report", run, "--out", run + "/report.html"],
        ["show", "evil.yaml"],
        ["resume", run],
        ["export", run, "out"],
    ):
        shown = seen(*words, bars=True)[1]
        assert "\\x1b[2J" in shown or "\\e[2J" in shown, words
    page = (folder / run / "report.html").read_text(encoding="utf-8")
    assert not CONTROL.search(page), "a page shows them escaped too"
    logs = [json.loads(line) for line in (folder / run / "metrics.jsonl").read_text().splitlines()]
    evil = [{**line, f"reward/{EVIL}<b>": 1.0} for line in logs]
    (folder / run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in evil))
    assert seen("report", run, "--out", run + "/report.html")[0] == 0
    page = (folder / run / "report.html").read_text(encoding="utf-8")
    assert not CONTROL.search(page)
    assert f"{EVIL[-1]}<b>" not in page


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_an_evil_endpoint_is_quoted(seen):
    class Evil(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"error": EVIL}, ensure_ascii=False).encode() + EVIL.encode()
            self.send_response(400, "no")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"agent.base_url=http://127.0.0.1:{server.server_port}/v1"
        code, shown = seen(
            "play", "counting:Count", "--agent", "http", address, f"agent.model={json.dumps(EVIL)}"
        )
    finally:
        server.shutdown()
        server.server_close()
    assert code == 2
    assert "BrokenAgent: http/\\x1b]0;x" in shown
    assert shown.count("\\u202e") >= 2


def test_warnings_logs_and_tracebacks_are_escaped(seen, capsys, monkeypatch):
    def evil(arguments):
        warnings.warn(f"careful {EVIL}\nloquent: all is well", Remark, stacklevel=1)
        logging.getLogger("evil").warning("a log %s", EVIL)
        print("\u00e9\t fine", EVIL)
        return 0, {}

    monkeypatch.setattr(listing, "run", evil)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    code, shown = seen("list", "tasks")
    assert code == 0
    assert "Remark: careful \\x1b" in shown
    assert "\n  loquent: all is well" in shown, "a further line of a message is seen to be one"
    assert "a log \\x1b" in shown
    assert "é\t fine \\x1b" in shown

    def broken(arguments):
        raise RuntimeError(EVIL)

    monkeypatch.setattr(listing, "run", broken)
    streams = sys.stdout, sys.stderr
    try:
        with pytest.raises(RuntimeError) as error:
            cli.main(["list", "tasks"])
        sys.__excepthook__(error.type, error.value, error.tb)  # what the interpreter does next
    finally:
        sys.stdout, sys.stderr = streams
    shown = capsys.readouterr().err
    assert "RuntimeError: \\x1b]0" in shown
    assert not CONTROL.search(shown)


def test_the_streams_are_as_before_after_a_command(folder):
    streams = sys.stdout, sys.stderr
    assert cli.main(["list", "tasks"]) == 0
    with pytest.raises(SystemExit):
        cli.main(["play", "--help"])
    assert (sys.stdout, sys.stderr) == streams
