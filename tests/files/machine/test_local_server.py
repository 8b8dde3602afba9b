"""`loquent serve` as a process: clients that hold connections, and pages in a browser, do no harm."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import httpx2
import pytest

from loquent.tasks.dialogue.sources import builtin

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
FIELDS = {"caption": builtin.splits()["test"][0]["caption"], "history": "[]"}
HELD = {
    "nothing": b"",
    "half a head": b"POST /fetch_q_bot_response HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Lo",
    "half a body": (
        b"POST /fetch_q_bot_response HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\nhistory="
    ),
    "a body that nobody reads": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhistory=",
    "an answered request": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}
SERVE = """
import sys
from loquent.cli.main import main
from loquent.files.machine import local_server
local_server.PATIENCE = 1.0
sys.exit(main(["serve", "dialogue", "--port", "0"]))
"""


@pytest.fixture(scope="module")
def port():
    """The port of a server whose patience is a second."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield int(re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())[1])
    finally:
        process.kill()
    assert process.communicate(timeout=60)[1] == "", "a client's faults are no errors of the server"


def ask(port, **headers):
    """The status and the body of a good client's request, which must be answered soon."""
    with httpx2.Client(trust_env=False, timeout=5) as http:
        response = http.post(f"http://127.0.0.1:{port}/fetch_q_bot_response", data=FIELDS, headers=headers)
    return response.status_code, response.json()


@pytest.mark.parametrize("kind", HELD)
def test_held_connections_shut_nobody_out_and_end(port, kind):
    with ExitStack() as held:
        connections = []
        for _ in range(260):
            connections.append(held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)))
            connections[-1].sendall(HELD[kind])
        assert ask(port)[0] == 200
        if kind == "half a body":  # it has 30 seconds
            return
        begun = time.monotonic()
        assert [left(one) for one in connections if one is not None] == [True] * 260
        assert time.monotonic() - begun < 15


def left(connection):
    """Whether the server ends a connection."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("begin", ["POST / HTTP/1.1\r\n", HELD["a body that nobody reads"].decode()])
def test_a_request_that_drips_ends_in_time(port, begin):
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as slow:
        slow.sendall(begin.encode())
        for number in range(100):
            time.sleep(0.1)
            try:
                slow.sendall(b"X-%d: a\r\n" % number)
            except ConnectionError:
                break
    assert time.monotonic() - begun < 8


def test_connections_without_end_leave_room_for_good_clients(port):
    done = threading.Event()

    def hold():
        kept = []
        while not done.is_set() and len(kept) < 2000:
            kept.append(socket.create_connection(("127.0.0.1", port), timeout=30))
            kept[-1].sendall(HELD["half a head"])
            time.sleep(0.005)
        for one in kept:
            one.close()

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        assert [ask(port)[0] for _ in range(20)] == [200] * 20
    finally:
        done.set()
        holding.join()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "[::1]:{port}"}, 200),
        ({"Host": "LOCALHOST"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "localhost.evil.example:{port}"}, 403),
        ({"Host": "evil@127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:{port}, evil.example"}, 403),
        ({"Host": "169.254.169.254"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_pages_in_a_browser_are_refused_by_any_name(port, headers, status):
    found, body = ask(port, **{name: value.format(port=port) for name, value in headers.items()})
    assert found == status
    assert status == 200 or "error" in body


@pytest.mark.parametrize("path", [b"/fetch_q_bot_response", b"/none"])
@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_a_malformed_body_is_refused(port, path, delay):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as odd:
        odd.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        time.sleep(delay)
        odd.sendall(b"zz\r\n")
        assert odd.recv(1000)[9:12] in (b"400", b"404")


@pytest.mark.parametrize("host", [b"", b"Host: 127.0.0.1\r\nHost: evil.example\r\n"])
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_request_has_one_host(port, host, version):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as odd:
        odd.sendall(b"POST /step HTTP/" + version + b"\r\n" + host + b"Content-Length: 0\r\n\r\n")
        assert odd.recv(1000)[9:12] in (b"400", b"403")


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://localhost/step", b"localhost", b"405"),
        (b"HTTP://127.0.0.1:80/step", b"localhost", b"405"),
        (b"http://localhost", b"localhost", b"404"),
        (b"http://evil.example/step", b"localhost", b"403"),
        (b"http://localhost@evil.example/step", b"localhost", b"403"),
        (b"http://localhost/step", b"evil.example", b"403"),
    ],
)
def test_a_target_with_a_host_is_that_path_of_this_machine(port, target, host, status):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
        one.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert one.recv(1000)[9:12] == status


def test_no_upgrade_and_no_page(port):
    upgrade = {
        "Connection": "upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "eA==",
        "Sec-WebSocket-Version": "13",
    }
    with httpx2.Client(trust_env=False, timeout=5) as http:
        assert http.get(f"http://127.0.0.1:{port}/step", headers=upgrade).status_code == 405
        assert http.get(f"http://127.0.0.1:{port}/docs").status_code == 404
    assert json.dumps(ask(port)[1])
