"""A run is published with its card on a stand-in for a hub, and nothing leaves without a licence."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from loquent.cli import main as cli
from loquent.core.safe_yaml import parse
from loquent.files.run_folder import RunFolder

pytest.importorskip("torch")
pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


class Hub:
    """Takes a new model and its files, or refuses everything with `status`."""

    def __init__(self, status=200):
        self.asked, self.files = [], {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                chunked = self.headers.get("Transfer-Encoding") == "chunked"
                raw = (
                    b"".join(iter(self.chunk, b""))
                    if chunked
                    else self.rfile.read(int(self.headers["Content-Length"]))
                )
                outer.asked.append((self.path, raw))
                self.reply(outer.answer(self.path, raw) if status == 200 else {"error": "no entry"})

            def do_GET(self):
                outer.asked.append((self.path, b""))
                self.reply({"id": "me/small", "sha": "0" * 40, "siblings": []})

            def chunk(self):
                size = int(self.rfile.readline(), 16)
                data = self.rfile.read(size)
                self.rfile.readline()
                return data

            def reply(self, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, path, raw):
        if path == "/api/repos/create":
            return {"url": f"{self.url}/me/small", "id": "me/small"}
        if "/preupload/" in path:
            names = [file["path"] for file in json.loads(raw)["files"]]
            return {
                "files": [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]
            }
        if "/commit/" not in path:
            return {"errors": [], "warnings": []}  # the fields of the card are in order
        for line in map(json.loads, raw.splitlines()):
            if line["key"] == "file":
                self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        return {"commitUrl": f"{self.url}/me/small/commit/0", "commitOid": "0" * 40, "success": True}


@pytest.fixture
def hub(monkeypatch):
    made = []

    def start(status=200):
        made.append(Hub(status))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", made[0].url)
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        return made[0]

    yield start
    for server in made:
        server.http.shutdown()
        server.http.server_close()


def test_a_run_is_published_with_its_card(base_run, hub, tmp_path, capsys):
    server, out = hub(), tmp_path / "out"
    line = ["export", str(base_run), str(out), "--push", "me/small", "--license", "apache-2.0", "--json"]
    assert cli.main(line) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed.splitlines()[-1])["published"] == f"{server.url}/me/small"
    created = json.loads(next(raw for path, raw in server.asked if path == "/api/repos/create"))
    assert created["name"] == "small"
    assert (
        created.get("visibility") == "private" or created["private"] is True
    )  # by the version of the library
    sent = {path.name: path.read_bytes() for path in out.iterdir()}
    assert server.files == sent, "the whole folder, and nothing else"
    assert all(f"  {name} (" in printed for name in sent), "each file is named before it is sent"
    assert printed.index("files are sent") < printed.index("is published at")
    assert f"to {server.url}, as the model me/small (if it is new: private)" in printed
    assert b"hf_secret" not in b"".join(server.files.values())
    _, fields, body = sent["README.md"].decode().split("---\n", 2)
    fields = parse(fields, "card").bare()
    assert (fields["license"], fields["pipeline_tag"]) == ("apache-2.0", "text-generation")
    assert "base_model" not in fields
    for part in (
        "## Data",
        "## Use",
        "generation_config=settings",
        "## Recipe",
        "updates: 2",
        "## Licence",
        "apache-2.0",
    ):
        assert part in body
    values = RunFolder(base_run).evaluation()["values"]
    assert all(f"| {key}" in body for key in values)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["--push", "me/small"], "not published without a licence"),
        (["--push", "me/small", "--license", "My Licence"], "no id of a licence"),
        (["--push", "../small", "--license", "mit"], "no name of a model"),
        (["--license", "mit"], "with --push only"),
    ],
)
def test_what_may_not_leave_stays(words, printed, base_run, hub, tmp_path, capsys):
    server = hub()
    assert cli.main(["export", str(base_run), str(tmp_path / "out"), *words]) == 2
    assert printed in capsys.readouterr().err
    assert server.asked == []
    assert not (tmp_path / "out").exists(), "refused before the work"


def test_a_refusal_of_the_hub_is_one_clear_line(base_run, hub, tmp_path, capsys):
    hub(403)
    line = ["export", str(base_run), str(tmp_path / "out"), "--push", "me/small", "--license", "mit"]
    assert cli.main(line) == 2
    error = capsys.readouterr().err
    assert "the model was not published to http://127.0.0.1" in error
    assert "the export is complete" in error


def test_a_card_names_no_folder_of_the_machine(tmp_path):
    from helpers.report.report_folders import run as made
    from loquent.report.card import card

    made(tmp_path / "run", overrides=[f"model.path={tmp_path / 'start'}"])
    text = card(RunFolder(tmp_path / "run"), "mit", "text-generation")
    assert str(tmp_path) not in text
    assert "path: start" in text
