"""A name of the hub without a network is refused at once, and what the cache has is still loaded."""

import os
import socket
import subprocess
import sys

import pytest

from loquent.files.machine import network

NOWHERE = "http://127.0.0.1:9"  # no server is at the port of `discard`
MODEL = """
from loquent.pretrained.folder import from_pretrained
import transformers
from_pretrained(transformers.AutoConfig, "some/model", None, "config")
"""
DATA = """
from loquent.data.sources import Source, load
load(Source(kind="hub", name="some/data", revision="0" * 40))
"""


def run(code, tmp_path, **more):
    free = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        free.pop(name, None)
    env = {**free, "HF_ENDPOINT": NOWHERE, "HF_HOME": str(tmp_path), **more}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("code", "kind"), [(MODEL, "BadModel"), (DATA, "BadSetting")])
def test_a_name_without_a_network_is_refused_without_another_try(code, kind, tmp_path):
    done = run(code, tmp_path)
    assert f"{kind}: " in done.stderr
    assert f"{NOWHERE} cannot be reached, and the cache on this machine does not have it" in done.stderr
    assert "connect to the network, or name" in done.stderr
    assert "Retry" not in done.stderr


def test_a_model_in_the_cache_is_loaded_without_a_network(tmp_path):
    place = tmp_path / "hub" / "models--some--model"
    commit = "1" * 40
    (place / "snapshots" / commit).mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    (place / "snapshots" / commit / "config.json").write_text('{"model_type": "gpt2", "n_layer": 3}')
    done = run(MODEL, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Retry" not in done.stderr


def test_a_server_that_answers_is_found(monkeypatch):
    class Connection:
        def close(self):
            pass

    asked = []
    monkeypatch.setattr(
        socket, "create_connection", lambda place, seconds: asked.append(place) or Connection()
    )
    assert network._reached("https://hub.example:8443/x")
    assert network._reached("http://hub.example")
    assert asked == [("hub.example", 8443), ("hub.example", 80)]


PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("variables", "tried"),
    [
        ({}, True),
        ({"NO_PROXY": "localhost"}, True),
        ({"FTP_PROXY": PROXY}, True),
        ({"HTTP_PROXY": PROXY}, True),
        ({"HTTPS_PROXY": PROXY}, False),
        ({"ALL_PROXY": PROXY, "NO_PROXY": "localhost"}, False),
    ],
)
def test_only_a_proxy_for_the_address_keeps_it_from_being_tried(variables, tried, monkeypatch):
    for name in [name for name in os.environ if "proxy" in name.lower()]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example")
    monkeypatch.setattr(pytest.importorskip("huggingface_hub.constants"), "HF_HUB_OFFLINE", False)
    asked = []
    monkeypatch.setattr(network, "_reached", lambda address: asked.append(address) or True)
    with network.hub_or_cache() as why:
        assert why == ""
    assert asked == ["https://hub.example"] * tried
