"""Mutations of recipes, suites, papers and RL4LMs' files: whatever stands in them, reading them ends in a
value or in an error of ours.

    python -m tools.stress.mutations 100000 --seed 0 --rl4lms FOLDER

prints one JSON object; the exit code is 1 where something else was raised.

What is tried is all that comes before a run: a recipe is loaded as `show` and as `train` do (no code a file
names is imported: the files lie outside the current folder), written out and read again; an RL4LMs file is
converted.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import loquent
from loquent.bench import suite
from loquent.bench.schema import paper_tables
from loquent.cli.convert import rl4lms
from loquent.errors import LoquentError
from loquent.training import recipes

HOUSE = Path(loquent.__file__).parent
SLOW = 5.0  # seconds of the processor; a text that takes longer is reported
HOSTILE = (
    "", "~", "-1", "0", "1e999", "-.inf", ".nan", "9223372036854775807", "9" * 60, "1" * 5000, "0x",
    "1:59:59", "2020-13-45", "yes", "!!int x",
    "!!python/object/apply:os.system [x]", "!x y", "&a [*a]", "*a", "*nowhere", "&a x", "? [a]",
    "{a: {a: {a: 1}}}", "[[[[1]]]]", "[" * 60, "{}",
    "[]", "[1, a, {b: c}]", '"\\ud800"', '"\\0"', '"\\UFFFFFFFF"', "os:system", "'module:Name'", "<<: {a: 1}",
    "{? a : b}", "| ", "> x", "%YAML 9",
    "---", "...", "\t", "'", '"', "#", "@", "`", "\x01", "é\u202e\U0001f600", "../../etc/passwd", "/dev/zero",
    "none", "true", "kind", "x" * 3000,
    "{kind: callable, function: 'os:system'}", "{of: rouge, weight: .inf}", "[x, x]", "1_000", "0b2", "-",
    ": ", "!!str", "!!map [1]", "!!null x",
    "{kind: }", "{kind: [a]}", "{weight: []}", "{of: }", "{of: {a: b}}", "{key: 3}", "&b {<<: *b}",
)  # fmt: skip
LEAF = re.compile(
    r"(?<=[:\-,\[{] )[^\s,\]}{\[#][^,\]}\n#]*"
)  # a value, roughly: what stands behind a colon, a dash or a comma
NAME = re.compile(r"[\w./-]+(?=:(?:\s|$))", re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def mutated(text: str, draw: random.Random) -> bytes:
    """A text with one to four changes, as bytes."""
    content = text
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        content = draw.choice(CHANGES)(content, draw)
    found = content.encode("utf-8", "surrogatepass")
    return _bytes(found, draw) if draw.random() < 0.15 else found


def _bytes(content: bytes, draw: random.Random) -> bytes:
    if not content:
        return content
    made = bytearray(content)
    for _ in range(draw.choice((1, 1, 3, 10))):
        made[draw.randrange(len(made))] = draw.randrange(256)
    return bytes(made)


def _letter(text: str, draw: random.Random) -> str:
    at = draw.randrange(len(text) + 1)
    return (
        text[:at]
        + draw.choice("\n \t:-[]{}&*!|>'\"%@`#?,~=<0e\0\x85\ufeff\u2028")
        + text[at + draw.choice((0, 1, 1)) :]
    )


def _cut(text: str, draw: random.Random) -> str:
    first, last = sorted((draw.randrange(len(text) + 1), draw.randrange(len(text) + 1)))
    return draw.choice((text[:first], text[last:], text[:first] + text[last:], text[:last] + text[first:]))


def _line(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(5)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines[at] = " " * draw.choice((1, 2, 4)) + lines[at]
    else:
        lines[at] = lines[at].lstrip()
    return "\n".join(lines)


def _replaced(
    pattern: re.Pattern[str], new: Callable[[str, random.Random], str]
) -> Callable[[str, random.Random], str]:
    def change(text: str, draw: random.Random) -> str:
        places = [match.span() for match in pattern.finditer(text)]
        if not places:
            return text
        first, last = draw.choice(places)
        return text[:first] + new(text[first:last], draw) + text[last:]

    return change


def _other_name(old: str, draw: random.Random) -> str:
    return draw.choice(
        (*NAMES, old + "x", old[:-1], f"'{old}:{old}'", "? " + old, "!!str " + old, old + ": {" + old)
    )


def _number(old: str, draw: random.Random) -> str:
    return draw.choice(
        (
            "-" + old,
            old + "0" * draw.choice((1, 18)),
            "0",
            "-1",
            "0.5",
            "1e-320",
            ".inf",
            ".nan",
            "true",
            f"'{old}'",
            f"[{old}]",
        )
    )


NAMES = (
    "kind", "task", "model", "rewards", "metrics", "decoding", "evaluation", "algorithm", "training", "name",
    "of", "weight", "key", "preset",
    "features", "teacher", "data", "path", "source", "reward", "view", "only", "trackers", "id", "args",
    "alg", "reward_fn", "datapool", "env",
    "policy", "train_evaluation", "generation_kwargs", "values", "expand", "stages", "cells", "columns",
    "profiles", "set", "at", "instead", "agent",
    "tables",
)  # fmt: skip
CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    _letter,
    _cut,
    _line,
    _line,
    _replaced(LEAF, lambda old, draw: draw.choice(HOSTILE)),
    _replaced(LEAF, lambda old, draw: draw.choice(HOSTILE)),
    _replaced(LEAF, lambda old, draw: draw.choice(NAMES)),
    _replaced(NAME, _other_name),
    _replaced(NAME, lambda old, draw: draw.choice(HOSTILE)),
    _replaced(NUMBER, _number),
)


def again(file: Path) -> None:
    """What is written out is the same recipe when it is read again."""
    one = recipes.load(file, imports="none")
    assert one.replace() == one
    assert one.fingerprint


READERS: dict[
    str, tuple[str, int, Callable[[Path], object]]
] = {  # what is read, how often among 100, and how
    "train": ("recipe", 15, recipes.load),
    "train --profile smoke": ("recipe", 14, partial(recipes.load, profile="smoke")),
    "show": ("recipe", 12, partial(recipes.load, imports="none")),
    "show and load again": ("recipe", 4, again),
    "import rl4lms": ("rl4lms", 45, partial(rl4lms.convert, accept_changes=True)),
    "bench": ("suite", 8, suite.load),
    "published figures": ("paper", 2, paper_tables.read),
}


def sources(rl4lms_files: Path | None) -> list[tuple[str, str, str]]:
    """(kind, name, text) of every file that is mutated."""
    found = [("recipe", path) for path in sorted((HOUSE / "training" / "recipes").glob("*.yaml"))]
    found += [("suite", path) for path in sorted((HOUSE / "bench" / "suites").glob("*.yaml"))]
    found += [("paper", path) for path in sorted((HOUSE / "bench" / "papers").glob("*.yaml"))]
    if rl4lms_files is not None:
        found += [("rl4lms", path) for path in sorted(rl4lms_files.rglob("*.y*ml"))]
    return [(kind, path.name, path.read_text(encoding="utf-8")) for kind, path in found]


def run(
    count: int,
    seed: int,
    rl4lms_files: Path | None,
    folder: Path,
    keep: Path | None = None,
    longest: int | None = None,
) -> dict[str, object]:
    """Try so many mutations, shared out over recipes, RL4LMs' files, suites and papers as `READERS` says.

    Args:
        longest: characters of the files that are mutated, so that a run is quick; the shortest file of each
            kind is always among them.
    """
    files = sources(rl4lms_files)
    by_kind = {
        kind: sorted((one for one in files if one[0] == kind), key=lambda one: len(one[2]))
        for kind, _, _ in READERS.values()
    }
    if longest is not None:
        by_kind = {
            kind: [one for i, one in enumerate(some) if not i or len(one[2]) <= longest]
            for kind, some in by_kind.items()
        }
    draw, tried, ended, failures = random.Random(seed), Counter[str](), Counter[str](), list[dict[str, str]]()
    slowest, before = 0.0, time.perf_counter()
    readers = [reader for reader, (kind, _, _) in READERS.items() if by_kind[kind]]
    file = folder / "mutated.yaml"
    for number in range(count):
        reader = draw.choices(readers, [READERS[one][1] for one in readers])[0]
        kind, _, read = READERS[reader]
        _, name, text = draw.choice(by_kind[kind])
        content = mutated(text, draw)
        file.write_bytes(content)
        began = time.process_time()
        try:
            read(file)
            ended["read"] += 1
        except LoquentError as error:
            ended[type(error).__name__] += 1
        except Exception as error:
            ended[f"traceback {type(error).__name__}"] += 1
            failures.append(
                {
                    "reader": reader,
                    "file": name,
                    "number": str(number),
                    "error": traceback.format_exc()[-1500:],
                }
            )
            if keep is not None:
                (keep / f"{kind}-{type(error).__name__}-{number}.yaml").write_bytes(content)
        took = time.process_time() - began
        slowest = max(slowest, took)
        if took > SLOW:
            failures.append(
                {"reader": reader, "file": name, "number": str(number), "error": f"took {took:.1f} s"}
            )
        tried[reader] += 1
    seconds = round(time.perf_counter() - before, 1)
    counts = {
        "mutations": count,
        "seed": seed,
        "files": len(files),
        "tried": dict(tried),
        "ended": dict(sorted(ended.items())),
    }
    return {**counts, "failures": failures, "slowest_seconds": round(slowest, 2), "seconds": seconds}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Mutate shipped recipes and RL4LMs' files, and read them.")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rl4lms", type=Path, help="the folder of RL4LMs' scripts/training/task_configs")
    parser.add_argument("--keep", type=Path, help="where files that ended in a traceback are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(given.count, given.seed, given.rl4lms, Path(folder), given.keep)
    print(json.dumps(found))
    return int(bool(found["failures"]))


if __name__ == "__main__":
    sys.exit(main())
