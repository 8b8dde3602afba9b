"""Headless Chromium, spoken to over a pipe: what a page asks for, what its console says, what it measures.

No socket is opened.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--mute-audio", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions",
    "--hide-scrollbars",
)  # fmt: skip
LAUNCH = (
    "import os, sys\nos.dup2(int(sys.argv[1]), 3)\nos.dup2(int(sys.argv[2]), 4)\nos.execv(sys.argv[3], "
    "sys.argv[3:])"
)


def found():
    """The browser's file, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab; `requests` and `messages` are filled while a page is open."""

    def __init__(self, folder):
        ours, theirs = os.pipe(), os.pipe()  # [read, write]: commands to it, and answers from it
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (ours[0], theirs[1])]
        line = [
            sys.executable,
            "-c",
            LAUNCH,
            *map(str, high),
            found(),
            *FLAGS,
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        self.process = subprocess.Popen(
            line, pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for fd in (ours[0], theirs[1], *high):
            os.close(fd)
        self._write, self._read, self._rest, self._number = ours[1], theirs[0], b"", 0
        self.requests, self.messages, self._events, self.session = [], [], [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def open(self, path, *, width=1280, height=900, dark=False):
        """Load a file and wait until nothing more happens."""
        self.requests.clear()
        self.messages.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._take(time.monotonic() + 60)
        self._events.clear()
        self.value("new Promise(done => setTimeout(done, 300))")

    def value(self, expression):
        """What an expression of the page's own language gives."""
        told = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def picture(self, path, height=None):
        """A picture of the whole page, or of its first `height` pixels."""
        whole = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0,
            "y": 0,
            "width": whole["width"],
            "height": min(whole["height"], height or 12000),
            "scale": 1,
        }
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(told["data"]))

    def close(self):
        """End the browser."""
        os.close(self._write)
        self.process.terminate()
        self.process.wait(20)
        os.close(self._read)

    def ask(self, method, **parameters):
        """Send one command and return its answer."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters} | (
            {"sessionId": self.session} if self.session else {}
        )
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            told = self._take(deadline)
            if told.get("id") == number:
                assert "error" not in told, (method, told["error"])
                return told["result"]

    def _take(self, deadline):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            more = os.read(self._read, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        first, self._rest = self._rest.split(b"\0", 1)
        told = json.loads(first)
        self._note(told.get("method"), told.get("params", {}))
        return told

    def _note(self, method, told):
        if method:
            self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(str([one.get("value") for one in told["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(told["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.messages.append(told["entry"]["text"])
