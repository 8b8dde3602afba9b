"""Make the jobs of a suite in order, several at once in worker processes.

A worker makes many jobs, so it imports the libraries once, while the first job runs. If a worker dies, its
job fails and a new worker takes its place.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any

from tqdm import tqdm

from loquent.bench.evidence.outcome import Outcome
from loquent.bench.jobs import Job
from loquent.bench.schema.sets import SetJob
from loquent.bench.work import find_outcome, make
from loquent.core.guards.terminal import guard
from loquent.core.settings import printing_remarks
from loquent.files.machine import memory
from loquent.pretrained.pytorch import devices

Report = Callable[[Job | SetJob, Outcome], None]

MEMORY = 3 << 29  # bytes of a process by default: torch, and a model of some million parameters that learns


def run(
    jobs: Sequence[Job | SetJob],
    processes: int,
    report: Report,
    *,
    threads_each: int = 0,
    progress: bool = False,
) -> dict[str, Outcome]:
    """Make the jobs that are not finished; returns the outcome of every job by its key.

    A job that needs a failed job is not made; its outcome is a failure. All runs have the same number of
    threads, that of the finished runs if there are any, else `threads_each`, else a share of the cores.

    Args:
        jobs: each job after the jobs that it needs.
        processes: the number of jobs made at once; 1 makes all of them in this process.
        report: called with each job and its outcome.
        progress: show the progress bar of a run while no other run can be made.

    Raises:
        BadCheckpoint: a folder holds a run of other settings; raised before any job is made.
    """
    outcomes = {job.key: outcome for job in jobs if (outcome := find_outcome(job)) is not None}
    for job in jobs:
        if job.key in outcomes:
            report(job, outcomes[job.key])
    missing = [job for job in jobs if job.key not in outcomes]
    count = threads(processes, outcomes.values(), threads_each)
    if min(processes, len(missing)) <= 1:
        made = _make_here(missing, outcomes, count, progress)
    else:
        made = _make_in_workers(missing, outcomes, processes, count, progress)
    for job, outcome in made:
        outcomes[job.key] = outcome
        report(job, outcome)
    return outcomes


def cores(processes: int = 0) -> int:
    """The number of processes to use.

    0 stands for one process per available core, but no more than fit into the available memory with 1.5 GiB
    each. With a GPU it stands for one process.
    """
    import torch

    if processes or torch.cuda.is_available():
        return processes or 1
    free = memory.available()
    return _available_cores() if free is None else max(1, min(_available_cores(), free // MEMORY))


def threads(processes: int, outcomes: Iterable[Outcome] = (), each: int = 0) -> int:
    """The number of torch's threads in every run.

    It is the number that all finished runs had. If that is unknown or not unique, it is `each`. If that is 0,
    it is the number of cores per process, at most OMP_NUM_THREADS if that is set. A checkpoint made with
    another number is refused.
    """
    recorded = {outcome.threads for outcome in outcomes} - {0}
    if len(recorded) == 1:
        return recorded.pop()
    if each:
        return each
    share = max(1, _available_cores() // processes)
    return min(share, int(os.environ.get("OMP_NUM_THREADS") or share))


def peak(workers: int) -> float:
    """The largest resident memory of this process and of its workers in GiB, each taken as the largest."""
    units_per_gib = 1 << 30 if sys.platform == "darwin" else 1 << 20  # bytes on macOS, else KiB
    own, largest = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return round((own + (workers * largest if workers > 1 else 0)) / units_per_gib, 2)


def _available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _make_here(
    jobs: Sequence[Job | SetJob], outcomes: dict[str, Outcome], count: int, progress: bool
) -> Iterator[tuple[Job | SetJob, Outcome]]:
    import torch

    before = torch.get_num_threads()
    devices.threads(count)
    try:
        for job in jobs:
            yield job, _blocked(job, outcomes) or make(job, progress)
    finally:
        devices.threads(before)


def _blocked(job: Job | SetJob, outcomes: dict[str, Outcome]) -> Outcome | None:
    """The outcome of a job that needs a failed job; None if the job can be made."""
    failures = [outcomes[key].failure for key in job.needs if key in outcomes and outcomes[key].failure]
    if not failures:
        return None
    return Outcome(job.key, failure=f"not made: a job that it needs failed ({failures[0]})")


def _make_in_workers(
    jobs: Sequence[Job | SetJob], outcomes: dict[str, Outcome], processes: int, count: int, progress: bool
) -> Iterator[tuple[Job | SetJob, Outcome]]:
    """Make jobs in worker processes; a job begins when the jobs that it needs have ended."""
    waiting = list(jobs)
    size = min(processes, len(waiting))
    idle, busy = [_Worker(count) for _ in range(size)], dict[Any, _Worker]()
    try:
        for worker in idle:
            worker.start()
        while waiting or busy:
            for job in list(waiting):
                blocked = _blocked(job, outcomes)
                if blocked:
                    waiting.remove(job)
                    yield job, blocked
            ready = [job for job in waiting if all(key in outcomes for key in job.needs)]
            alone = progress and not busy and len(ready) == 1
            for job, worker in zip(ready, list(idle), strict=False):
                waiting.remove(job)
                idle.remove(worker)
                worker.begin(job, alone)
                busy[worker.pipe] = worker
            for pipe in connection.wait(list(busy)) if busy else ():
                worker = busy.pop(pipe)
                job, outcome = worker.end()
                idle.append(worker)
                yield job, outcome
    finally:
        for worker in [*idle, *busy.values()]:
            worker.stop()


@dataclass(eq=False)
class _Worker:
    """A process that makes one job at a time."""

    threads: int
    pipe: Any = None
    process: Any = None
    job: Job | SetJob | None = None

    def start(self) -> None:
        """Start the process. SIGINT is blocked in it from the beginning: the parent handles Ctrl-C."""
        context = get_context("spawn")
        self.pipe, remote = context.Pipe()
        self.process = context.Process(target=_serve, args=(remote, self.threads), daemon=True)
        resource_tracker.ensure_running()  # where it starts a process, it unblocks SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        remote.close()

    def begin(self, job: Job | SetJob, progress: bool) -> None:
        """Send a job to the process, which is started again if it has died."""
        if self.process is None or not self.process.is_alive():
            self.start()
        self.job = job
        self.pipe.send((job, progress))

    def end(self) -> tuple[Job | SetJob, Outcome]:
        """The job's outcome: received from the pipe, or a failure if the process died."""
        assert self.job is not None
        job, self.job = self.job, None
        try:
            return job, self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code, self.process = self.process.exitcode, None
            killed = f"was killed by signal {-code}, perhaps for lack of memory"
            end = killed if code < 0 else f"ended with exit code {code}"
            return job, Outcome(job.key, failure=f"its process {end}")

    def stop(self) -> None:
        """End the process at once: an idle one has nothing to lose, and a working one is continued later."""
        if self.process is not None:
            self.pipe.close()
            self.process.terminate()
            self.process.join()


def _serve(pipe: Any, threads: int) -> None:
    """Run in a worker process: make the jobs that arrive, and exit when the parent has ended."""
    guard()
    tqdm.set_lock(threading.RLock())  # its default is a semaphore that outlives a terminated process
    parent = parent_process()
    if parent is not None:
        threading.Thread(
            target=lambda: (connection.wait([parent.sentinel]), os._exit(1)), daemon=True
        ).start()
    devices.threads(threads)
    while True:
        try:
            job, progress = pipe.recv()
        except EOFError:
            return
        with printing_remarks():
            outcome = make(job, progress)
        pipe.send(outcome)
