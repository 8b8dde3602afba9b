"""Many clients at a served dialogue, among them bad ones, and a server that is killed and started again.

`python -m tools.stress.serving_load 50 2000` prints the figures as JSON. The server is a process of
its own; all clients are threads of this one. Every answer and every reward is compared with that of local
seats, so a response that belongs to another client is counted as wrong.
"""

import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2

import loquent
from loquent.core.agent import make
from loquent.core.remote.endpoint import AGAIN
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.sources import builtin

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ATTEMPTS = 300  # of one step, 0.2 seconds apart: longer than a server takes to start
ROUNDS = 4  # of a dialogue


def served(log, port=0):
    """A server process, which writes errors to an open file, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "loquent", "serve", "dialogue", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line, line
    return process, line.split("served at ")[1].split(";")[0]


class Load:
    """Clients that step through dialogues, and what they saw."""

    def __init__(self, address, clients, steps):
        self.address, self.clients, self.steps = address, clients, steps
        self.task = loquent.task("dialogue")
        self.judge = make("dialogue/guesser", self.task)
        self.seen, self.lock, self.done = Counter(), threading.Lock(), threading.Event()
        self.seconds = []

    def count(self, what, number=1):
        with self.lock:
            self.seen[what] += number

    def run(self, restart):
        """All steps, while bad clients disturb; `restart()` kills and starts the server at half of them."""
        bad = [threading.Thread(target=self.disturb, args=(kind,)) for kind in BAD]
        for thread in bad:
            thread.start()
        shares = [self.steps // self.clients + (i < self.steps % self.clients) for i in range(self.clients)]
        with ThreadPoolExecutor(self.clients) as pool:
            playing = [pool.submit(self.client, i, share) for i, share in enumerate(shares)]
            while self.seen["steps"] < self.steps // 2:
                time.sleep(0.01)
            restart()
            for one in playing:
                one.result()
        self.done.set()
        for thread in bad:
            thread.join()
        return dict(self.seen)

    def client(self, number, steps):
        """Dialogues of ROUNDS rounds on rows of this client's own; the state is kept here alone."""
        draw, rows = random.Random(number), self.task.rows("test")
        with httpx2.Client(trust_env=False, timeout=60) as http:
            for step in range(steps):
                if step % ROUNDS == 0:
                    row, history = rows[(number * 37 + step) % len(rows)], []
                    scene, image = builtin.scene_of(row.fields), self.task.image(row.fields)
                asked = draw.choice(questions.question_texts(scene.subject))[0]
                fields = protocol.fields(row["caption"], history, asked, image)
                begin = time.perf_counter()
                answer, reward = self.post(http, fields)
                self.seconds.append(time.perf_counter() - begin)
                before = self.judge.measure(row["caption"], history, image)
                history.append((asked, questions.answer(asked, scene)))
                right = self.judge.measure(row["caption"], history, image) - before
                wrong = answer != history[-1][1] or abs(reward - right) > 1e-9
                self.count("wrong", int(wrong))
                self.count("steps")

    def post(self, http, fields):
        """The response to a step, tried again while no server listens."""
        for _ in range(ATTEMPTS):
            try:
                response = http.post(f"{self.address}/step_rank", data=fields)
            except httpx2.TransportError:
                self.count("repeated after a lost connection")
            else:
                if response.status_code == 200:
                    return response.json()
                assert response.status_code in AGAIN, response.text
                self.count(f"repeated after status {response.status_code}")
            time.sleep(0.2)
        raise AssertionError("the server did not come back")

    def disturb(self, kind):
        """One bad request after another, until the steps are done; other statuses than due are counted."""
        status, send = BAD[kind]
        while not self.done.is_set():
            try:
                found = send(self.address)
            except (OSError, httpx2.TransportError):
                time.sleep(0.2)  # no server listens
                continue
            self.count(f"{kind}: {status}" if found == status else f"{kind}: unexpected {found}")
            time.sleep(0.02)


def posted(address, **options):
    with httpx2.Client(trust_env=False, timeout=60) as http:
        return http.post(f"{address}/step_rank", **options).status_code


def vanished(address):
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as gone:
        gone.sendall(b"POST /step_rank HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhistory=")
    return "closed"


BAD = {  # a kind of bad client: the status that is due, and one request
    "malformed field": (422, lambda at: posted(at, data={"caption": "x", "history": "["})),
    "number beyond any float": (
        422,
        lambda at: posted(at, data={"caption": "x", "history": "[]", "img_features": f"[{'1' * 400}]"}),
    ),
    "text without end": (422, lambda at: posted(at, data={"caption": "is a " * 100_000, "history": "[]"})),
    "missing field": (422, lambda at: posted(at, data={"caption": "x"})),
    "oversized body": (413, lambda at: posted(at, content=b"history=" + b"x" * (5 << 20), headers=FORM)),
    "other content": (415, lambda at: posted(at, json={})),
    "vanished client": ("closed", vanished),
}


def loaded(clients, steps):
    """The figures of one load, with a server that is killed and started again at half of the steps."""
    with tempfile.TemporaryFile("w+") as log:
        process, address = served(log)
        load, running = Load(address, clients, steps), [process]

        def restart():
            running[-1].kill()
            running[-1].wait()
            running.append(served(log, address.rsplit(":", 1)[1])[0])

        begin = time.perf_counter()
        try:
            seen = load.run(restart)
        finally:
            for one in running:
                one.kill()
                one.wait()
        log.seek(0)
        written = len(log.readlines())
    ordered = sorted(load.seconds)
    return {
        "clients": clients,
        **seen,
        "lines in the server's log": written,
        "wall_seconds": round(time.perf_counter() - begin, 1),
        "median_ms": round(1000 * ordered[len(ordered) // 2], 1),
        "p99_ms": round(1000 * ordered[int(len(ordered) * 0.99)], 1),
    }


if __name__ == "__main__":
    print(json.dumps(loaded(*map(int, sys.argv[1:3]))))
