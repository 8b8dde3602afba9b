"""Files from outside the current folder, read by all commands: no file imports a module, reads a secret of
the environment, starts a program or opens a connection.

    python -m tools.stress.foreign_files 10000 --seed 0

prints one JSON object; the exit code is 1 if one reached out.

Each file is a valid one with names of code, secrets and servers in random places and random spellings. What
a file reaches is seen by an audit hook, a finder of modules and a watch on `os.environ`.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

import loquent
from loquent.cli import main as cli
from loquent.files import trust
from loquent.files.machine.version import RUN_FORMAT
from loquent.files.run_folder import RunFolder
from loquent.training import recipes
from tools.stress import foreign_trees as trees

HOUSE = str(Path(loquent.__file__).parent)
CONNECTIONS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.spawn")


class Watch:
    """What is reached while a command runs: modules, the secret, connections and programs."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.active = False
        sys.addaudithook(self._event)  # a hook stays as long as the process
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Called by Python for each module that is imported for the first time."""
        if name.partition(".")[0] in (trees.BAIT, "this"):
            self._note(f"import {name}")

    def _event(self, event: str, details: tuple[Any, ...]) -> None:
        if event in CONNECTIONS or (event in PROGRAMS and trees.PROGRAM in str(details)):
            self._note(event)

    def _note(self, what: str) -> None:
        if self.active:
            self.reached.append(what)

    @contextlib.contextmanager
    def watching(self) -> Iterator[list[str]]:
        """Inside, everything that is reached is added to the list."""
        watch, plain = self, type(os.environ)

        class Environment(plain):  # type: ignore[misc, valid-type]
            def __getitem__(self, key: str) -> str:
                code = sys._getframe(1).f_code  # libraries may copy the whole environment
                if key == trees.SECRET and (code.co_name == "get" or code.co_filename.startswith(HOUSE)):
                    watch._note("secret")
                return str(super().__getitem__(key))

        self.reached, self.active = [], True
        os.environ[trees.SECRET] = "a-secret-key"
        os.environ.__class__ = Environment
        try:
            yield self.reached
        finally:
            os.environ.__class__ = plain
            self.active = False


class Place:
    """A current folder, a folder of somebody else beside it, and a run of theirs."""

    def __init__(self, folder: Path, trained: bool, port: str, quick: float) -> None:
        self.port = port  # taken, so that `serve` ends
        self.quick = quick
        self.here, self.there, self.run = folder / "here", folder / "there", folder / "run"
        for path in (self.here, self.there):
            path.mkdir()
        os.chdir(self.here)
        recipe = self.there / "begun.yaml"
        recipe.write_text(yaml.safe_dump(trees.RECIPES[0]))
        if trained:
            assert _called(["train", str(recipe), "--out", str(self.run)]) == 0
        else:
            RunFolder(self.run).begin(recipes.load(recipe).yaml(), {"run_format": RUN_FORMAT})
        RunFolder(self.run).config.with_name("config.yaml" + trust.MARK).unlink()
        self.config = yaml.safe_load(RunFolder(self.run).config.read_text())

    def emptied(self) -> Place:
        """The place with nothing in the two folders."""
        for path in (self.here, self.there):
            for file in path.iterdir():
                shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
        return self

    def tree(self, name: str, tree: Any, draw: random.Random) -> str:
        """A YAML file of theirs; with a base, or in another spelling, at times."""
        text = yaml.safe_dump(tree, default_style=draw.choice((None, None, '"')), width=10**6)
        if draw.random() < 0.1:
            text = json.dumps(tree)
        if draw.random() < 0.1:
            text = text.replace(
                trees.BAIT,
                draw.choice((f"!!python/name:{trees.BAIT}", f"&a {trees.BAIT}", f"\\x6c{trees.BAIT[1:]}")),
                1,
            )
        if name == "theirs.yaml" and draw.random() < 0.15:
            (self.there / "below.yaml").write_text(text, encoding="utf-8")
            text = "base: below\n"
        (self.there / name).write_text(text, encoding="utf-8")
        return str(self.there / name)

    def lines(self, name: str, line: Any, draw: random.Random) -> str:
        """A file of theirs with JSON lines, poisoned."""
        lines = [trees.poisoned(line, draw) if draw.random() < 0.5 else line for _ in range(4)]
        (self.there / name).write_text("".join(json.dumps(one) + "\n" for one in lines))
        return str(self.there / name)


def _recipe(place: Place, draw: random.Random) -> tuple[str, ...]:
    tree, apt = draw.choice(trees.RECIPES), draw.random() < 0.6
    path, value = trees.apt(tree, draw)
    profile = draw.choice(((), ("--profile", "cpu"), ("--profile", "smoke")))
    if not apt:
        tree = {
            **tree,
            "profiles": {"cpu": {"training.updates": 1, trees.drawn_key(draw): trees.drawn_value(draw)}},
        }
        tree = trees.poisoned(tree, draw)
    elif profile == ("--profile", "smoke") and draw.random() < 0.5:
        tree = {**tree, draw.choice(("rewards", "metrics")): trees.hidden(draw)}
    elif profile == ("--profile", "cpu"):
        path = draw.choice((path, path, f"{path}={json.dumps(value)} #"))
        tree = {**tree, "profiles": {"cpu": {path: value}}}
    else:
        tree = trees.with_setting(tree, path, value)
    file = place.tree("theirs.yaml", tree, draw)
    if not apt and draw.random() < place.quick:
        return draw.choice((("show", file, *profile), ("train", file, *profile, "--out", str(place.run))))
    return draw.choice(
        (
            ("show", file, *profile),
            ("train", file, *profile, "--dry-run"),
            ("train", file, *profile, "--out", "out"),
            ("train", file, *profile, "--seeds", "1", "--out", "out"),
            ("annotate", file, *profile, "--oracle", "--limit", "1", "--out", "out"),
        )
    )


def _suite(place: Place, draw: random.Random) -> tuple[str, ...]:
    recipe, suite, apt = draw.choice(trees.RECIPES), copy.deepcopy(trees.SUITE), draw.random() < 0.6
    path, value = trees.apt(recipe, draw)
    agent = draw.choice((trees.HTTP, trees.CODE[0], {"kind": trees.CODE[0]}))
    profile = draw.choice(("full", "full", "smoke"))
    place.tree("theirs.yaml", trees.poisoned(recipe, draw) if draw.random() < 0.2 else recipe, draw)
    if not apt:
        suite = trees.poisoned(suite, draw)
    elif (where := draw.randrange(8)) == 0:
        suite["set"][path] = value
    elif where == 1:
        suite["cells"]["a"]["set"][path] = value
    elif where == 2:
        suite["cells"]["a"]["at"][profile] = {path: value}
    elif where == 3:
        suite["profiles"]["full"]["set"]["any"][path] = value
    elif where == 4:
        suite["cells"]["a"]["set"][f"{path}={json.dumps(value)} #"] = 1
    elif where == 5:
        suite["cells"]["b"]["agent"] = agent
    elif where == 6:
        suite["data"]["d"]["agent"] = agent
    else:
        (place.there / "theirs.yaml").write_text(yaml.safe_dump(trees.with_setting(recipe, path, value)))
    file = place.tree("suite.yaml", suite, draw)
    out = str(place.run) if not apt and draw.random() < place.quick else "out"
    more = draw.choice(((), (), ("--only", "b"), ("--power",)))
    return ("bench", file, "--profile", profile, *more, "--processes", "1", "--out", out)


def _of_run(place: Place, draw: random.Random) -> tuple[str, ...]:
    run, config = str(place.run), RunFolder(place.run).config
    shutil.rmtree(place.there)
    place.there.mkdir()
    path, value = trees.apt(place.config, draw)
    apt = (
        trees.with_setting(place.config, path, value)
        if draw.random() < 0.6
        else trees.poisoned(place.config, draw)
    )
    config.write_text(yaml.safe_dump(apt))
    data = place.lines("episodes.jsonl", trees.EPISODE, draw)
    return draw.choice(
        (
            ("show", run), ("show", str(config)), ("report", run, "--out", "page.html"), ("resume", run),
            ("evaluate", run, "--episodes", "1"),
            ("evaluate", run, "--task", "generation", "--episodes", "1"),
            ("generate", run, "--prompt", "a"), ("values", run, data), ("export", run, "exported"),
            ("play", "generation", "--agent", run),
            ("serve", "dialogue", "--agent", run, "--port", place.port),
            ("collect", "generation", "--agent", run, "--episodes", "1", "--out", "out"),
            ("study", "prepare", run, run, "--out", "out"), ("train", str(config), "--dry-run"),
        )
    )  # fmt: skip


def _of_seeds(place: Place, draw: random.Random) -> tuple[str, ...]:
    place.tree("recipe.yaml", trees.with_setting(place.config, *trees.apt(place.config, draw)), draw)
    (place.there / "seeds.json").write_text(json.dumps({"seeds": [0]}))
    return draw.choice((("resume", str(place.there)), ("report", str(place.there), "--out", "page.html")))


def _episodes(place: Place, draw: random.Random) -> tuple[str, ...]:
    data = place.lines(
        "episodes.jsonl", {**trees.EPISODE, "task": draw.choice(("wordle-v1", "comments-v1"))}, draw
    )
    (place.there / "collect.json").write_text(json.dumps(trees.poisoned(trees.COLLECTED, draw)))
    if draw.random() < 0.3:
        place.tree("config.yaml", trees.with_setting(place.config, *trees.apt(place.config, draw)), draw)
    return draw.choice(
        (
            ("convert", str(place.there), "out.jsonl", "--top", "0.5"), ("convert", data, "out.jsonl"),
            ("play", "wordle", "--replay", data), ("report", str(place.there), "--out", "page.html"),
            ("collect", "wordle", "--agent", "random", "--episodes", "1", "--out", str(place.there)),
            ("train", "wordle_bc", f"training.data={data}", "--dry-run"),
            ("evaluate", data, "--task", "wordle", "--episodes", "1"),
        )
    )  # fmt: skip


def _texts(place: Place, draw: random.Random) -> tuple[str, ...]:
    file = place.lines("texts.jsonl", trees.LINES, draw)
    (place.there / "key.json").write_text(json.dumps(trees.poisoned(trees.LINES, draw)))
    return draw.choice(
        (
            ("score", "--metrics", "bleu,lexicon", file, "--resamples", "0"), ("study", file),
            ("study", str(place.there)), ("reward", file, "--out", "out"),
            ("reward", str(place.there), "--out", "out"), ("study", "prepare", file, file, "--out", "out"),
            ("annotate", "tagging_ppo", "--samples", file, "--oracle", "--limit", "1", "--out", "out"),
            ("check", "blocks", "--path", str(place.there)),
            ("import", "nlvr", str(place.there), str(place.there)),
            ("check", "comments", f"path={file}", "source=path", "--episodes", "1"),
        )
    )  # fmt: skip


def _imported(place: Place, draw: random.Random) -> tuple[str, ...]:
    file = place.tree("rl4lms.yml", trees.poisoned(trees.RL4LMS, draw), draw)
    return ("import", "rl4lms", file, "--accept-changes", "--out", "taken.yaml")


WAYS: dict[Callable[[Place, random.Random], tuple[str, ...]], int] = {
    _recipe: 40, _suite: 20, _of_run: 15, _of_seeds: 3, _episodes: 7, _texts: 7, _imported: 8,
}  # fmt: skip
"""What is written and which command reads it, with the number of files among 100."""


def _called(line: list[str] | tuple[str, ...]) -> int | str:
    """The exit code of a command, or the error that it did not expect."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            code: int | str = cli.main(list(line))
        except SystemExit as error:
            code = f"exit {error.code}"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return f"{type(error).__name__}: {error}"
    return "refused" if "NotTrusted" in said.getvalue() else code


def run(
    count: int,
    seed: int,
    folder: Path,
    *,
    trained: bool = True,
    quick: float = 0.9,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Read `count` files; returns counts, and each file that reached out or raised an error of another kind.

    Args:
        trained: train the run that commands read; otherwise it has a recipe alone.
        quick: the share of recipes and suites whose command ends before it trains, in a folder with a run.
    """
    watch, before, start = watch or Watch(), Path.cwd(), time.perf_counter()
    busy = socket.create_server(("127.0.0.1", 0))
    place = Place(folder, trained, str(busy.getsockname()[1]), quick)
    counts, codes = Counter[str](), Counter[str]()
    reached, raised = list[Any](), list[Any]()
    try:
        for number in range(count):
            draw = random.Random(f"{seed}-{number}")
            [way] = draw.choices(list(WAYS), list(WAYS.values()))
            line = way(place.emptied(), draw)
            with watch.watching() as found, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = _called(line)
                if Path("taken.yaml").exists():  # lies here now, so it would be trusted
                    more = ("--out", str(place.run)) if draw.random() < quick else ("--dry-run",)
                    _called(("train", "taken.yaml", *more))
                    _called(("train", "taken.yaml", "--profile", "smoke", *more))
            counts[line[0]] += 1
            codes[str(code) if code in (0, 1, 2, "refused") else "raised"] += 1
            if found:
                reached.append({"number": number, "line": line, "reached": found[:3]})
            if str(code) not in ("0", "1", "2", "refused"):
                raised.append({"number": number, "line": line, "error": str(code)[:300]})
    finally:
        busy.close()
        os.chdir(before)
    return {
        "files": count,
        "seed": seed,
        "commands": dict(sorted(counts.items())),
        "codes": dict(codes),
        "reached": reached,
        "raised": raised,
        "seconds": round(time.perf_counter() - start, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Files from outside the current folder, read by all commands."
    )
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["XDG_STATE_HOME"] = str(Path(temporary) / "state")
        report = run(chosen.count, chosen.seed, Path(temporary))
    print(json.dumps(report, indent=1))
    sys.exit(bool(report["reached"] or report["raised"]))
