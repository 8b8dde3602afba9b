"""The watch over the processes of one run: when one is lost, the others end and name it.

Each process counts in the store of the group, every two seconds, in a thread. A process whose count stands
still for twenty seconds has ended or is frozen. One that others wait for, and that lives, is named by the
number of times that it has met the others.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from loquent.errors import LostProcess

BEAT = 2.0  # seconds between two counts
LOST = 20.0  # seconds without a count after which a process is lost
SUSPECT = 6.0  # the same, after a connection has ended
GRACE = 3.0  # seconds in which the main thread may raise the error itself
ENDED = 1 << 40  # the count of a process that has left the group
AGAIN = "the run goes on with `loquent resume`, from its newest checkpoint"


class Watch:
    """The watch of one process.

    Args:
        store: the store of the group, by a connection of its own.
        rank, size: the number of this process, and the number of all.
        patience: the longest time that a process waits for the others.
    """

    def __init__(self, store: Any, rank: int, size: int, patience: timedelta) -> None:
        self.store, self.rank, self.size, self.patience = store, rank, size, patience
        self.meetings = 0
        self.reason = ""  # why the group has ended
        self._limit = LOST
        self._found, self._raised, self._stopped = (threading.Event() for _ in range(3))
        self._seen: dict[int, tuple[int, float]] = {}
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, this process counts, and ends when another one is lost.

        An error of this process is given to the others.
        """
        self._thread.start()
        try:
            yield
        except BaseException as error:
            self._leave(f"{type(error).__name__}: {error}")
            raise
        else:
            self._leave("")

    def meet(self, call: Callable[[], object]) -> None:
        """Call a function that waits for all processes.

        Raises:
            LostProcess: one of them has ended, or did not come within the patience.
        """
        self.meetings += 1
        began = time.monotonic()
        try:
            call()
        except RuntimeError as error:
            waited = time.monotonic() - began
            late = waited >= 0.9 * self.patience.total_seconds()
            reason = self._late(waited) if late else self._explain(error)
            raise LostProcess(f"{reason}; {AGAIN}") from error

    def _run(self) -> None:
        while not self._stopped.wait(BEAT):
            try:
                self.reason = self._look()
            except RuntimeError:  # the store is in the first process, unless torchrun holds it
                self.reason = "" if self._stopped.is_set() else "process 0, which holds the store, has ended"
            if self.reason:
                self._found.set()
                if not self._raised.wait(GRACE) and not self._stopped.is_set():
                    print(f"LostProcess: {self.reason}; {AGAIN}", file=sys.stderr, flush=True)
                    os._exit(2)  # the main thread waits or computes, and nothing else can stop it
                return

    def _look(self) -> str:
        """Count, and say which process is lost; "" if none is."""
        self.store.add(f"count/{self.rank}", 1)
        self.store.set(f"meetings/{self.rank}", str(self.meetings))
        now = time.monotonic()
        for other in range(self.size):
            if other == self.rank:
                continue
            if self.store.check([f"error/{other}"]):
                return f"process {other} has failed: {self.store.get(f'error/{other}').decode()}"
            count = self.store.add(f"count/{other}", 0)
            before, since = self._seen.get(other, (-1, now))
            self._seen[other] = (count, now if count != before else since)
            if count < ENDED and now - self._seen[other][1] > self._limit:
                return f"process {other} has ended without a word, or is frozen"
        return ""

    def _explain(self, error: RuntimeError) -> str:
        """Why the connection to another process has ended."""
        self._limit = SUSPECT
        self._found.wait(SUSPECT + 3 * BEAT)
        self._raised.set()
        return self.reason or f"the processes of the run lost their connection ({error})"

    def _late(self, waited: float) -> str:
        """Which process the others waited for."""
        counts = [
            self.meetings if other == self.rank else self.store.add(f"meetings/{other}", 0)
            for other in range(self.size)
        ]
        late = [str(other) for other, count in enumerate(counts) if count == min(counts)]
        self._raised.set()
        return (
            f"process {', '.join(late)} did not come within {waited:.0f} s (parallel.patience); set "
            "it higher if an evaluation or a checkpoint takes longer"
        )

    def _leave(self, error: str) -> None:
        self._stopped.set()
        try:
            if error:
                self.store.set(f"error/{self.rank}", error[:2000])
            self.store.add(f"count/{self.rank}", ENDED)
        except RuntimeError:  # the process that holds the store has ended
            return


def connect(patience: timedelta) -> Any:
    """A connection to the store that `torchrun` and torch's environment variables name."""
    import torch.distributed

    stores: Any = torch.distributed  # some builds of torch have no stores
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = stores.TCPStore(address, port, timeout=patience, wait_for_workers=False)
    return stores.PrefixStore(f"loquent/{attempt}", store)
