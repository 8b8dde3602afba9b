"""Processes that do not meet, or end while others still watch them."""

from datetime import timedelta

import pytest
import torch

from helpers import together
from loquent.cli import main as cli
from loquent.errors import LostProcess
from loquent.files.machine import parallel, watch


class Gone:
    """The store of a process that has ended."""

    def add(self, *_):
        raise RuntimeError("connection reset")

    set = check = add


@pytest.mark.parametrize("leaves", [True, False])
def test_a_process_at_its_own_end_is_not_ended_by_the_watch(leaves, monkeypatch):
    exits = []
    monkeypatch.setattr(watch.os, "_exit", exits.append)
    monkeypatch.setattr(watch, "BEAT", 0.01)
    monkeypatch.setattr(watch, "GRACE", 0.3)
    one = watch.Watch(Gone(), 1, 2, timedelta(seconds=1))
    with one.watching():
        assert one._found.wait(20)
        if not leaves:
            one._thread.join(20)
    one._thread.join(20)
    assert exits == [2] * (not leaves)


def test_a_process_that_never_counted_is_the_late_one():
    def late():
        raise RuntimeError("timed out")

    one = watch.Watch(torch.distributed.HashStore(), 0, 2, timedelta(0))
    with pytest.raises(LostProcess, match=r"process 1 did not come within 0 s \(parallel\.patience\)"):
        one.meet(late)


@pytest.mark.parametrize("address", ["127.0.0.1", None])
def test_processes_that_do_not_meet_are_named(address, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "MASTER_PORT": str(next(together.PORTS))}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    if address:
        monkeypatch.setenv("MASTER_ADDR", address)
    with (
        pytest.raises(LostProcess, match=r"WORLD_SIZE = 2, .* within 1 s \(parallel\.patience\)"),
        parallel.process_group(torch.device("cpu"), 1.0),
    ):
        raise AssertionError("the group must not begin")


SEVERAL = ("train wordle_ppo --seeds 2", "search wordle_ppo training.seed=1,2 --on return", "bench smoke")


@pytest.mark.parametrize("words", SEVERAL)
def test_several_runs_by_several_processes_are_refused(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert cli.main([*words.split(), "--out", str(tmp_path / "out")]) == 2
    assert "2 processes train one run together" in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "two")
    assert cli.main([*words.split(), "--out", str(tmp_path / "out")]) == 2
    assert "WORLD_SIZE is 'two', not a number" in capsys.readouterr().err
