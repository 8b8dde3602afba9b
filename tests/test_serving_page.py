"""The page from a CSV file to a served model: its server and its requests, on this machine."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import docs_blocks
from helpers.agents import served
from loquent.cli import main as cli

PAGE = Path(__file__).resolve().parents[1] / "docs" / "serving.md"
QUESTION = "what colour has the rose in picture 3?"


def commands(name, port):
    """The command lines of the page in `bash` blocks that begin with this name, with the server's port."""
    lines = [line for block in docs_blocks.blocks(PAGE.read_text()) if block.language == "bash"
             for line in block.body.splitlines()]  # fmt: skip
    return [shlex.split(line.replace("8000", port)) for line in lines if line.startswith(name)]


@pytest.mark.slow
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_the_served_model_answers_as_the_run(tmp_path, monkeypatch, capsys):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    monkeypatch.chdir(tmp_path)
    docs_blocks.run(PAGE, tmp_path, slow=False)
    [serve] = commands("transformers serve", "8000")
    with served.transformers_server(tmp_path, serve) as server:
        port = served.wait(server).split(":")[2].removesuffix("/v1")
        [request] = commands("curl", port)
        reply = subprocess.run(request, capture_output=True, text=True, timeout=120, check=True).stdout
        content = json.loads(reply)["choices"][0]["message"]["content"]
        [compare] = commands("loquent compare", port)
        capsys.readouterr()
        assert cli.main(compare[1:]) == 0
    assert QUESTION in request[-1]
    told = capsys.readouterr().out
    assert f"The content of its message is `{content}`" in PAGE.read_text()
    assert cli.main(["generate", "runs/colours", "--prompt", QUESTION, "--number", "1"]) == 0
    assert f"-> {content}\n" in capsys.readouterr().out
    differences = dict(re.findall(r"^(\S+)[ ↑↓]+ +\S+ +\S+ +(\S+)", told, re.MULTILINE))
    assert differences["exact_match"] == differences["return"] == "0.000", told
