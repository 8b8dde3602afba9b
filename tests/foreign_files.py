"""Files from outside the current folder, read by all commands: no file imports a module, reads a secret of
the environment, starts a program or opens a connection.

    python tests/foreign_files.py 10000 --seed 0   # prints one JSON object; exit code 1 if one reached out

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
from loquent import recipes
from loquent.cli import main as cli
from loquent.core.guards import trust
from loquent.files.run_folder import RunFolder
from loquent.machine.version import RUN_FORMAT

BAIT, SECRET, PROGRAM = "loquent_bait", "LOQUENT_BAIT_KEY", "./loquent_bait_program"
SERVER = "http://127.0.0.1:9/v1"
CODE = (
    f"{BAIT}:s", f"{BAIT}.inner:s", f" {BAIT}:s", f"{BAIT}:s ", f"{BAIT}:s #", f"{BAIT}:s\n", "this:s",
    f"[{BAIT}:s]", f"{{kind: {BAIT}:s}}", f"'{BAIT}:s'", f"{BAIT}:s}}", f"1, of: {BAIT}:s", f"!!str {BAIT}:s",
)  # fmt: skip
HTTP = {"kind": "http", "base_url": SERVER, "model": "m", "api_key_variable": SECRET, "retries": 0}
ASKED = {"kind": "dialogue/remote", "model": "m", "api_key_variable": SECRET, "retries": 0}
VALUES: tuple[Any, ...] = (
    *CODE, {"kind": f"{BAIT}:s"}, {"of": f"{BAIT}:s"}, {"of": f"{BAIT}:s", "z": 1}, [f"{BAIT}:s"],
    {"of": "callable", "function": f"{BAIT}:s"}, {f"{BAIT}:s": 1}, {f"{BAIT}:s": {}}, HTTP, ASKED,
    {**ASKED, "url": SERVER}, {"kind": "comments/remote", "model": "m", "url": SERVER, "retries": 0},
    {"of": "spice", "jar": PROGRAM, "java": PROGRAM}, {"kind": "wordle/mixture", "first": HTTP},
    {"of": "classifier", "path": "/absent"}, {"of": "bleu_totto"}, SECRET, SERVER, PROGRAM, 1, None, "",
)  # fmt: skip
PATHS = (
    "algorithm.kind", "algorithm", "algorithm.view", "algorithm.features", "algorithm.features.kind", "task",
    "task.kind", "task.reward", "task.answerer", "task.judge", "task.moderator", "task.voter", "rewards",
   "rewards.x", "rewards.x.of", "rewards.x.function", "metrics", "metrics.x", "metrics.x.of",
    "training.teacher", "training.teacher.kind", "training.teacher.api_key_variable", "training.trackers",
    "training.data", "model.path", "model.format", "decoding", "evaluation", "profiles", "base", "name",
    "kind", "of", "function", "reward", "agent", "set", "at", "data", "optimum", "jar", "java", "view",
)  # fmt: skip
PIECES = (".", "kind", "=", "#", " ", "{", "}", ":", "\n", "'", "[", "]", ",", "of", f"{BAIT}:s", *PATHS)
TINY = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 300, "tokenizer_texts": 20, "context": 128}
RUN = {"updates": 1, "episodes": 2, "evaluate_every": 0, "final_episodes": 2}
RECIPES: tuple[dict[str, Any], ...] = (
    {
        "task": {"kind": "generation", "limit": 4},
        "model": TINY,
        "rewards": {"lexicon": 1.0, "x": {"of": "rouge", "key": "rouge/rouge1"}},
        "metrics": {"rouge": {}},
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "ppo", "minibatch": 2, "epochs": 1},
        "training": RUN,
    },
    {
        "task": {"kind": "tagging", "limit": 4, "reward": "token_f1"},
        "algorithm": {"kind": "sb3/ppo", "steps": 4, "rollout": 4, "minibatch": 2, "network": [4]},
        "training": RUN,
    },
    {
        "task": {"kind": "wordle", "limit": 4},
        "model": TINY,
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "cloning"},
        "training": {**RUN, "teacher": {"kind": "wordle/random_mixture", "prob_smart": 0.5}},
    },
    {
        "task": {"kind": "dialogue", "limit": 4, "answerer": "dialogue/truthful"},
        "model": TINY,
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "ppo", "minibatch": 2, "epochs": 1},
        "training": RUN,
    },
    {
        "task": {"kind": "comments", "limit": 4, "moderator": "comments/rules"},
        "model": TINY,
        "decoding": {"max_new_tokens": 2},
        "algorithm": {"kind": "supervised"},
        "training": RUN,
    },
)
SUITE: dict[str, Any] = {
    "columns": {"return": {"metric": "return", "better": "higher"}},
    "set": {"training.updates": 1},
    "profiles": {"full": {"set": {"any": {"training.episodes": 2}}, "data": {"d": {"episodes": 2}}}},
    "stages": {"s": {"recipe": "theirs.yaml"}},
    "cells": {
        "a": {"recipe": "theirs.yaml", "set": {"training.seed": 1}, "at": {"full": {"training.seed": 2}}},
        "b": {"recipe": "wordle_bc", "agent": {"kind": "random"}, "set": {"task.limit": 4}},
    },
    "data": {"d": {"agent": "random", "design": {"kind": "games"}}},
    "optimum": "wordle/optimal",
}
RL4LMS: dict[str, Any] = {
    "tokenizer": {"model_name": "gpt2"},
    "datapool": {"id": "imdb", "args": {"seed": 1}},
    "reward_fn": {"id": "rouge", "args": {"rouge_type": "rouge1"}},
    "alg": {
        "id": "ppo",
        "policy": {"id": "causal_lm_actor_critic_policy", "args": {"model_name": "gpt2"}},
    },
    "train_evaluation": {
        "n_iters": 1,
        "metrics": [{"id": "meteor", "args": {}}, {"id": "spice", "args": {}}],
    },
}
TURN = {"seat": "agent", "text": "crane", "rewards": {"turn": -1.0}}
EPISODE = {
    "task": "wordle-v1",
    "row": "crane",
    "split": "train",
    "seed": 0,
    "turns": [TURN],
    "ended": "limit",
}
LINES: dict[str, Any] = {
    "text": "a fine film", "references": ["a good film"], "prompt": "a", "chosen": "good", "rejected": "bad",
    "rater": "r", "item": "i", "system": "s", "rating": 3, "tokens": ["a"], "labels": ["O"], "id": "x",
}  # fmt: skip
COLLECTED = {
    "task": "comments", "options": ["limit=4", "task.moderator=comments/rules"], "identity": "comments-v1",
    "agent": "random", "episodes": 1, "split": "train", "seed": 0, "version": "0", "weights": {"turn": 1.0},
}  # fmt: skip
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
        if name.partition(".")[0] in (BAIT, "this"):
            self._note(f"import {name}")

    def _event(self, event: str, details: tuple[Any, ...]) -> None:
        if event in CONNECTIONS or (event in PROGRAMS and PROGRAM in str(details)):
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
                if key == SECRET and (code.co_name == "get" or code.co_filename.startswith(HOUSE)):
                    watch._note("secret")
                return str(super().__getitem__(key))

        self.reached, self.active = [], True
        os.environ[SECRET] = "a-secret-key"
        os.environ.__class__ = Environment
        try:
            yield self.reached
        finally:
            os.environ.__class__ = plain
            self.active = False


def poisoned(tree: Any, draw: random.Random) -> Any:
    """A copy of a tree with names of code, secrets and servers in one to three places."""
    whole = json.loads(json.dumps(tree))
    for _ in range(draw.choice((1, 1, 1, 2))):
        places = list(_places(whole))
        mapping, key = draw.choice(places)
        way = draw.randrange(4)
        if way == 0 and isinstance(mapping, dict):
            mapping[_key(draw)] = mapping.pop(key)
        elif way == 1 and isinstance(mapping, dict):
            mapping[_key(draw)] = _value(draw)
        elif way == 2 and isinstance(mapping[key], dict):
            mapping[key][_key(draw)] = _value(draw)
        else:
            mapping[key] = _value(draw)
    return whole


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _value(draw: random.Random) -> Any:
    return copy.deepcopy(draw.choice(VALUES))  # it may be changed in its new place


def _key(draw: random.Random) -> str:
    way, path, code = draw.randrange(5), draw.choice(PATHS), draw.choice(CODE)
    if way == 0:
        return f"{path}={code} #"
    if way == 1:
        return draw.choice((f"{path}.{code}", f"x={{of: callable, function: {code}}} #", code, f" {path}"))
    if way == 2:
        return "".join(draw.choices(PIECES, k=draw.randint(1, 6)))
    return path


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
        recipe.write_text(yaml.safe_dump(RECIPES[0]))
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
        """A YAML file of theirs, poisoned; with a base or with text that is no YAML at times."""
        tree = poisoned(tree, draw)
        text = yaml.safe_dump(tree, default_style=draw.choice((None, None, '"')), width=10**6)
        if draw.random() < 0.1:
            text = json.dumps(tree)
        if draw.random() < 0.1:
            text = text.replace(
                BAIT, draw.choice((f"!!python/name:{BAIT}", f"&a {BAIT}", f"\\x6c{BAIT[1:]}")), 1
            )
        if name == "theirs.yaml" and draw.random() < 0.15:
            (self.there / "below.yaml").write_text(text, encoding="utf-8")
            text = "base: below\n"
        (self.there / name).write_text(text, encoding="utf-8")
        return str(self.there / name)

    def lines(self, name: str, line: Any, draw: random.Random) -> str:
        """A file of theirs with JSON lines, poisoned."""
        lines = [poisoned(line, draw) if draw.random() < 0.5 else line for _ in range(4)]
        (self.there / name).write_text("".join(json.dumps(one) + "\n" for one in lines))
        return str(self.there / name)


def _recipe(place: Place, draw: random.Random) -> tuple[str, ...]:
    tree = {
        **draw.choice(RECIPES),
        "profiles": {"cpu": {"training.updates": 1, _key(draw): _value(draw)}},
    }
    file = place.tree("theirs.yaml", tree, draw)
    profile = draw.choice(((), ("--profile", "cpu"), ("--profile", "smoke")))
    if draw.random() < place.quick:
        return draw.choice((("show", file, *profile), ("train", file, *profile, "--out", str(place.run))))
    return draw.choice(
        (
            ("train", file, *profile, "--dry-run"),
            ("train", file, *profile, "--out", "out"),
            ("train", file, *profile, "--seeds", "1", "--out", "out"),
            ("annotate", file, *profile, "--oracle", "--limit", "1", "--out", "out"),
        )
    )


def _suite(place: Place, draw: random.Random) -> tuple[str, ...]:
    recipe = draw.choice(RECIPES)
    if draw.random() < 0.3:
        place.tree("theirs.yaml", recipe, draw)
    else:
        (place.there / "theirs.yaml").write_text(yaml.safe_dump(recipe))
    file = place.tree("suite.yaml", SUITE, draw)
    more = draw.choice((("--profile", "full"), ("--profile", "smoke"), ("--power",), ("--only", "b")))
    out = str(place.run) if draw.random() < place.quick else "out"
    return ("bench", file, *more, "--processes", "1", "--out", out)


def _of_run(place: Place, draw: random.Random) -> tuple[str, ...]:
    run, config = str(place.run), RunFolder(place.run).config
    shutil.rmtree(place.there)
    place.there.mkdir()
    config.write_text(yaml.safe_dump(poisoned(place.config, draw)))
    data = place.lines("episodes.jsonl", EPISODE, draw)
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
    place.tree("recipe.yaml", place.config, draw)
    (place.there / "seeds.json").write_text(json.dumps({"seeds": [0]}))
    return draw.choice((("resume", str(place.there)), ("report", str(place.there), "--out", "page.html")))


def _episodes(place: Place, draw: random.Random) -> tuple[str, ...]:
    data = place.lines("episodes.jsonl", {**EPISODE, "task": draw.choice(("wordle-v1", "comments-v1"))}, draw)
    (place.there / "collect.json").write_text(json.dumps(poisoned(COLLECTED, draw)))
    if draw.random() < 0.3:
        place.tree("config.yaml", place.config, draw)
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
    file = place.lines("texts.jsonl", LINES, draw)
    (place.there / "key.json").write_text(json.dumps(poisoned(LINES, draw)))
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
    file = place.tree("rl4lms.yml", RL4LMS, draw)
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
