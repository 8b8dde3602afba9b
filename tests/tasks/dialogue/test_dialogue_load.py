"""The served dialogue under load, with bad clients and a server that is killed and started again."""

import pytest

from tools.stress.serving_load import BAD, loaded

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def checked(clients, steps):
    seen = loaded(clients, steps)
    assert (seen["steps"], seen["wrong"]) == (steps, 0), "nothing is lost or mixed up"
    assert seen["repeated after a lost connection"] > 0, "the server was killed under the clients"
    assert not [name for name in seen if "unexpected" in name], seen
    assert seen["lines in the server's log"] == 0, "a client's faults are no errors of the server"
    for kind, (status, _) in BAD.items():
        assert seen[f"{kind}: {status}"] > 0


def test_nothing_is_mixed_up_or_lost():
    checked(8, 120)


@pytest.mark.slow
def test_nothing_is_mixed_up_or_lost_among_fifty_clients():
    checked(50, 2000)
