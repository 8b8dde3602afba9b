"""Logs of runs as values: kept in a small file, written into folders again, or made up in a test."""

import gzip
import json
from functools import cache
from pathlib import Path

import yaml

from loquent.files import manifest
from loquent.files.machine.version import RUN_FORMAT
from loquent.report.card import without_places
from loquent.training import recipes

GOOD = Path(__file__).resolve().parents[2] / "report" / "data" / "good_runs.jsonl.gz"
# what no rule reads, and what would be most of a log
LEFT_OUT = ("evaluation/diversity/", "diversity/", "advantage/", "gradient/", "policy/loss", "rollout/tokens")
LEFT_OUT += (
    "rollout/distinct_2",
    "rollout/repetition",
    "reward/",
    "sb3/loss",
    "sb3/value",
    "sb3/policy_loss",
)
OF_EVALUATION = ("samples", "files", "seal")
OF_MACHINE = ("run_format", "player", "decoding")


def pack(folder, command):
    """The log of a run as a value; numbers are rounded to four digits."""
    records = {name: _lines(folder / f"{name}.jsonl") for name in ("metrics", "timings", "remarks")}
    evaluation, machine = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("evaluation", "machine")
    )
    return {
        "command": command,
        "config": without_places(yaml.safe_load((folder / "config.yaml").read_text())),
        "machine": {name: machine[name] for name in OF_MACHINE},
        "evaluation": _rounded({name: evaluation[name] for name in evaluation if name not in OF_EVALUATION}),
        **records,
    }


def write(folder, config, *, metrics, timings=(), remarks=(), evaluation=None, machine=None, command=""):
    """The folder of a run with these logs."""
    folder.mkdir(parents=True)
    machine = {"run_format": RUN_FORMAT, **(machine or {})}
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "machine.json").write_text(json.dumps(machine))
    for name, lines in (("metrics", metrics), ("timings", timings), ("remarks", remarks)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if evaluation is not None:
        (folder / "evaluation.json").write_text(json.dumps(manifest.add_seal(evaluation)))
    return folder


@cache
def config(recipe, *overrides):
    """A recipe with every default, as a run writes it."""
    return recipes.load(recipe, list(overrides)).resolve()


def keep(records, path=GOOD):
    """Write logs into a file, one a line."""
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def kept(path=GOOD):
    """The logs of a file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def _lines(path):
    return [_rounded(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items() if not key.startswith(LEFT_OUT)}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
