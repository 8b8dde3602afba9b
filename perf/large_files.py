"""The start of a run on a large file of JSON lines: processor time, memory and disk, at first and again.

    python perf/large_files.py ROWS [FOLDER]

makes a file of about 200 bytes a row and starts on it three times, each in a process of its own with a cache
of its own: at first, again, and with `limit=1000`. A start makes the task, the pool and the sampler of
training, and draws 64 rows. It prints one line of JSON for each. All that it made in FOLDER is deleted.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path


def main() -> None:
    rows, base = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    folder = Path(tempfile.mkdtemp(dir=base))
    try:
        file = folder / "rows.jsonl"
        write(file, rows)
        time.sleep(3)  # a file that was written just now is hashed anew by every process
        for name, limit in (("first", 0), ("again", 0), ("limit", 1000)):
            command = [sys.executable, __file__, "start", str(file), name, str(limit)]
            environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
            subprocess.run(command, check=True, env=environment)
    finally:
        shutil.rmtree(folder)


def write(file: Path, rows: int) -> None:
    """Rows of a prompt of 18 words and an answer of 9, all different."""
    words = ("film", "house", "river", "winter", "question", "paper", "moon", "garden", "number", "table")
    draw = random.Random(0)
    with file.open("w", encoding="utf-8") as opened:
        for number in range(rows):
            prompt, answer = (" ".join(draw.choices(words, k=count)) for count in (18, 9))
            opened.write(json.dumps({"prompt": f"{prompt} {number}?", "completion": f" {answer}"}) + "\n")


def start(file: str, name: str, limit: str) -> None:
    """Start once, and print the figures."""
    peak = Peak()
    import loquent
    from loquent.core.seeding import Key
    from loquent.data.pools import Sampler
    from loquent.training.recipes.sections import TrainingSettings
    from loquent.training.start import pool

    warnings.simplefilter("ignore")
    before = time.process_time()
    task = loquent.task("generation", source="path", path=file, limit=int(limit))
    rows = pool(task, TrainingSettings(updates=1))
    drawn = Sampler(rows, Key(0)).draw(64)
    spent = time.process_time() - before
    cache = Path(os.environ["XDG_CACHE_HOME"])
    stored = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    figures = {
        "start": name,
        "rows": len(rows),
        "file_bytes": Path(file).stat().st_size,
        "cpu_seconds": round(spent, 2),
        "anonymous_megabytes": peak.stop(),
        "disk_share": round(stored / Path(file).stat().st_size, 3),
        "first_row": drawn[0].id,
    }
    print(json.dumps(figures), flush=True)


class Peak:
    """The peak of this process's anonymous memory, looked at twenty times a second (Linux)."""

    def __init__(self) -> None:
        self.most, self.going = 0, True
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self) -> None:
        while self.going:
            status = Path("/proc/self/status").read_text()
            kilobytes = next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]
            self.most = max(self.most, int(kilobytes))
            time.sleep(0.05)

    def stop(self) -> int:
        """The peak in MB."""
        self.going = False
        self.thread.join()
        return self.most // 1000


if __name__ == "__main__":
    start(*sys.argv[2:]) if sys.argv[1] == "start" else main()
