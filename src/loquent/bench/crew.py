"""Runs in their order, several at once: one process for each core, kept from run to run, so that a library is
loaded once.

A process that dies takes one run with it, which is a failure like any other; another takes its place.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any

from loquent.bench.jobs import Job
from loquent.bench.sets import SetJob
from loquent.bench.work import Outcome, finished, make
from loquent.core.guards.terminal import guard
from loquent.pretrained import devices

Say = Callable[[Job | SetJob, Outcome], None]


def run(
    jobs: Sequence[Job | SetJob], processes: int, say: Say, *, progress: bool = False
) -> dict[str, Outcome]:
    """The outcome of every job by key; those that start from a failed one are not made, and say so.

    All runs of a folder have the same threads, however many are left: those its finished ones have had, else
    a share of the cores.

    Args:
        jobs: each behind what it needs.
        processes: so many at once; 1 makes all of them here, one after the other.
        say: told of every outcome as it comes.
        progress: bars of the runs made here.

    Raises:
        BadCheckpoint: a folder holds a run of other settings; before anything is made.
    """
    outcomes = {job.key: found for job in jobs if (found := finished(job)) is not None}
    for job in jobs:
        if job.key in outcomes:
            say(job, outcomes[job.key])
    missing = [job for job in jobs if job.key not in outcomes]
    count = threads(processes, outcomes.values())
    alone = min(processes, len(missing)) <= 1
    for job, outcome in (
        _here(missing, outcomes, count, progress) if alone else _beside(missing, outcomes, processes, count)
    ):
        outcomes[job.key] = outcome
        say(job, outcome)
    return outcomes


def cores(processes: int = 0) -> int:
    """So many processes as asked for.

    For 0 one for each core this process may use, or one where there is a GPU.
    """
    import torch

    return processes or (1 if torch.cuda.is_available() else _free())


def threads(processes: int, found: Iterable[Outcome] = ()) -> int:
    """Of torch in every run: what the finished runs had, where that is known and one number, else the cores
    by the processes.

    OMP_NUM_THREADS, where it is set, is the most. A checkpoint is refused under another number than its own.
    """
    known = {outcome.threads for outcome in found} - {0}
    if len(known) == 1:
        return known.pop()
    share = max(1, _free() // processes)
    return min(share, int(os.environ.get("OMP_NUM_THREADS") or share))


def _free() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _here(
    jobs: Sequence[Job | SetJob], outcomes: dict[str, Outcome], count: int, progress: bool
) -> Iterator[tuple[Job | SetJob, Outcome]]:
    import torch

    before = torch.get_num_threads()
    devices.threads(count)
    try:
        for job in jobs:
            yield job, _barred(job, outcomes) or make(job, progress)
    finally:
        devices.threads(before)


def _barred(job: Job | SetJob, outcomes: dict[str, Outcome]) -> Outcome | None:
    """The outcome of a job that cannot be made, because a run it starts from failed."""
    failed = [key for key in job.needs if key in outcomes and outcomes[key].failure]
    return (
        Outcome(job.key, failure=f"not made: what it starts from failed ({outcomes[failed[0]].failure})")
        if failed
        else None
    )


def _beside(
    jobs: Sequence[Job | SetJob], outcomes: dict[str, Outcome], processes: int, count: int
) -> Iterator[tuple[Job | SetJob, Outcome]]:
    """Jobs in processes of our own; one begins as soon as what it needs is there."""
    waiting = list(jobs)
    size = min(processes, len(waiting))
    idle, busy = [_Worker(count) for _ in range(size)], dict[Any, _Worker]()
    try:
        while waiting or busy:
            for job in list(waiting):
                barred = _barred(job, outcomes)
                if barred:
                    waiting.remove(job)
                    yield job, barred
                elif idle and all(key in outcomes for key in job.needs):
                    waiting.remove(job)
                    worker = idle.pop()
                    worker.begin(job)
                    busy[worker.pipe] = worker
            for pipe in connection.wait(list(busy)) if busy else ():
                worker = busy.pop(pipe)
                job, outcome = worker.end()
                idle.append(worker)
                yield job, outcome
    finally:
        for worker in [*idle, *busy.values()]:
            worker.stop()


@dataclass
class _Worker:
    """A process that makes one job at a time."""

    threads: int
    pipe: Any = None
    process: Any = None
    job: Job | SetJob | None = None

    def begin(self, job: Job | SetJob) -> None:
        """Start on a job, in a new process where there is none."""
        if self.process is None or not self.process.is_alive():
            context = get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs, self.threads), daemon=True)
            self.process.start()
            theirs.close()
        self.job = job
        self.pipe.send(job)

    def end(self) -> tuple[Job | SetJob, Outcome]:
        """The outcome that is waiting in the pipe, or that of a process that died."""
        assert self.job is not None
        job, self.job = self.job, None
        try:
            return job, self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code, self.process = self.process.exitcode, None
            how = (
                f"was killed by signal {-code} (out of memory?)"
                if code < 0
                else f"ended with exit code {code}"
            )
            return job, Outcome(job.key, failure=f"its process {how}")

    def stop(self) -> None:
        """End the process: one that waits for work by itself, one that works at once."""
        if self.process is not None:
            self.pipe.close()
            self.process.join(0 if self.job else 10)
            self.process.terminate()
            self.process.join()


def _serve(pipe: Any, threads: int) -> None:
    """In a process of the crew: make what comes; leave Ctrl-C to the parent, and end when it is gone."""
    guard()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(
            target=lambda: (connection.wait([parent.sentinel]), os._exit(1)), daemon=True
        ).start()
    devices.threads(threads)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(make(job))
