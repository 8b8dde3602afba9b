"""Endpoints on this machine that answer as a test tells them, and agents that ask them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from loquent.agents.http import Http, HttpOptions
from loquent.core.live import Live
from loquent.tasks.wordle.task import Wordle


def chat(text, **more):
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}]}


class Server:
    """An endpoint that answers each request by the next of its replies, the last one for ever.

    A reply is JSON, bytes, or a function.
    """

    def __init__(self, *replies):
        self.replies, self.seen, self.lock, self.live, self.most = list(replies), [], threading.Lock(), 0, 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.seen.append((self.path, dict(self.headers), body))
                    reply = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                    outer.live += 1
                    outer.most = max(outer.most, outer.live)
                try:
                    try:
                        reply = reply(self, body) if callable(reply) else reply
                    finally:
                        with outer.lock:  # before the answer goes out: who has it may ask again at once
                            outer.live -= 1
                    if reply is not None:
                        status, headers, raw = reply if isinstance(reply, tuple) else (200, {}, reply)
                        raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
                        self.send_response(status)
                        for name, value in {"Content-Length": str(len(raw)), **headers}.items():
                            self.send_header(name, value)
                        self.end_headers()
                        self.wfile.write(raw)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # who asked may be gone
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def agent(server, **options):
    return Http(
        None,
        HttpOptions(
            **{
                "base_url": server.url,
                "model": "small",
                "pause": 0.0,
                "retries": 2,
                "timeout": 5.0,
                **options,
            }
        ),
    )


def asked(task=None, row=0, seed=0):
    task = task or Wordle()
    return Live(task, task.rows("train")[row], 0, seed).question()


def said(server, **options):
    [answer] = agent(server, **options).answer([asked()])
    return answer.text, answer.stopped
