"""The figures of docs/speed.md that are older than what they measure: `python perf/table.py` marks them.

The marks are in `docs/results/tables/speed.yaml`; `python -m tools.pages` makes the tables of it. A figure is
older if a file that its benchmark measures, or its reference, has changed since its commit.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

from run import BENCHMARKS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "speed.jsonl"
TABLES = RESULTS.parent / "tables" / "speed.yaml"
OLDER = re.compile(r'(", older":\s*)\[([^\]]*)\]')
AT = re.compile(r"(\[printed\.name=([\w-]+), commit=)([^\]]+)\]")
MODELS = ["models/decode", "models/caches", "models/tokens", "pretrained/forward", "pretrained/footprint"]
MODELS += [
    f"pretrained/{name}.py" for name in ("networks", "output", "recorder", "stand_in", "encoder_decoders")
]
LEARNING = [*MODELS, "models/score", "models/actor.py", "models/values/chunks.py", "algorithms/shared"]
LEARNING += ["agents/language_model.py", "core/rollout"]
STEPS = ["core/task.py", "core/live.py", "adapters"]
MEASURED = {  # by the beginning of a benchmark's name, in src/loquent
    "decode": MODELS,
    "ppo": [*LEARNING, "algorithms/policy_gradient"],
    "full": [*LEARNING, "algorithms/policy_gradient"],
    "grpo": [*LEARNING, "algorithms/policy_gradient"],
    "memory": [*LEARNING, "algorithms/policy_gradient"],
    "ilql-acting": [*MODELS, "models/values"],
    "ilql-training": [*LEARNING, "models/values", "algorithms/value_learning"],
    "wordle": ["tasks/wordle", "core/task.py", "core/rollout"],
    "reading": ["tasks/reading", "core/task.py"],
    "asking": ["tasks/reading/network", "algorithms/deep_q", "agents", "core/rollout"],
    "steps": [*STEPS, "tasks/tagging", "tasks/multilabel", "data/features"],
    "blocks": [*STEPS, "tasks/blocks"],
    "metric": ["metrics"],
    "learn": [*LEARNING, "algorithms/policy_gradient"],
    "dropout": MODELS,
    "equal": MODELS,
    "prefill": MODELS,
    "answers": MODELS,
}


def records() -> dict[str, dict[str, Any]]:
    """The last line of the results for each benchmark."""
    lines = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    return {line["printed"]["name"]: line for line in lines}


def paths(name: str) -> list[str]:
    """The files and folders whose changes make a figure old.

    They are those that the benchmark measures, by the longest beginning of its name, and the modules of perf/
    that it imports, its reference among them.
    """
    module = BENCHMARKS[name].module if name in BENCHMARKS else "version_work"
    beginnings = [beginning for beginning in MEASURED if name.startswith(beginning)]
    measured = [f"src/loquent/{path}" for path in MEASURED[max(beginnings, key=len)]]
    return [*measured, *sorted(imported(ROOT / "perf" / f"{module}.py"))]


def imported(module: Path) -> set[str]:
    """The paths of a module of perf/ and of all modules of perf/ that it imports, also inside functions."""
    names, found, waiting = ROOT / "perf", set(), [module]
    while waiting:
        path = waiting.pop()
        if not path.is_file() or str(path.relative_to(ROOT)) in found:
            continue
        found.add(str(path.relative_to(ROOT)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                waiting += [names / f"{alias.name}.py" for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                place = names / node.module.replace(".", "/")
                waiting += [place.with_suffix(".py"), *(place / f"{alias.name}.py" for alias in node.names)]
    return found


def has_history() -> bool:
    """Whether this is a checkout with its complete history."""
    return _git("rev-parse", "--is-shallow-repository") == "false"


def is_older(name: str, commit: str) -> bool:
    """Whether the files of `paths`, as they now are, differ from those of a commit, or it is unknown."""
    return _git("diff", "--name-only", commit, "--", *paths(name)) != ""


def _git(*arguments: str) -> str | None:
    """What git prints; None if it fails or is not there."""
    try:
        run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()


def marked(tables: str) -> str:
    """The specifications of the tables, with each row's last commit and the names of the older rows."""
    return "\n".join(map(_marked, re.split(r"\n(?=\S)", tables)))


def _marked(table: str) -> str:
    """The specification of one table; each names its own rows."""
    commits = {name: line["commit"] for name, line in records().items()}
    table = AT.sub(lambda found: f"{found[1]}{commits.get(found[2], found[3])}]", table)
    rows = AT.findall(table)
    older = ", ".join(name for _, name, commit in rows if is_older(name, commit))
    lines = textwrap.fill(older, 100, subsequent_indent=" " * 7, break_on_hyphens=False)
    return OLDER.sub(lambda found: f"{found[1]}[{lines}]", table)


if __name__ == "__main__":
    if has_history():
        TABLES.write_text(marked(TABLES.read_text(encoding="utf-8")), encoding="utf-8")
