"""The files of the package whose functions a run enters: `python -m tools.files_entered [RECIPE]`.

Prints a JSON object: the files and functions that `loquent train RECIPE --profile smoke` enters, from the
command line to the report, and those that preparing and updating enter. Bodies of modules, which importing
runs, do not count.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import loquent
from loquent.cli import main as cli
from loquent.training.recipes import kinds, load

HOUSE = str(Path(loquent.__file__).parent)
LEARNING = ("prepare", "update")


class Entered:
    """The functions of the package that were called while it recorded."""

    def __init__(self, learner: type) -> None:
        self.all: set[tuple[str, str]] = set()
        self.learning: set[tuple[str, str]] = set()
        self._steps = {getattr(learner, name).__code__ for name in LEARNING}
        self._depth = 0

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """The hook of `sys.setprofile`."""
        code = frame.f_code
        if code in self._steps and event in ("call", "return"):
            self._depth += 1 if event == "call" else -1
        if event == "call" and code.co_filename.startswith(HOUSE) and code.co_name != "<module>":
            function = code.co_filename.removeprefix(HOUSE + "/"), code.co_qualname
            self.all.add(function)
            if self._depth:
                self.learning.add(function)


@contextmanager
def recording(entered: Entered) -> Iterator[None]:
    """Record inside; threads of their own are left out."""
    sys.setprofile(entered.profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def counts(functions: set[tuple[str, str]]) -> dict[str, int]:
    """The numbers of files and functions."""
    return {"files": len({file for file, _ in functions}), "functions": len(functions)}


def main(recipe: str) -> None:
    """Train, and print what was entered."""
    entered = Entered(kinds.algorithm_class(load(recipe, profile="smoke").algorithm))
    with tempfile.TemporaryDirectory() as folder, recording(entered):
        cli.main(["train", recipe, "--profile", "smoke", "--out", str(Path(folder) / "run")])
    print(json.dumps({"recipe": recipe, "run": counts(entered.all), "learning": counts(entered.learning)}))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "reviews_ppo")
