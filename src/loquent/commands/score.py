"""`loquent score`: files of texts scored by metrics, with bootstrap intervals."""

from __future__ import annotations

import errno
import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent import named, registry, scoring
from loquent.data import pairs
from loquent.errors import BadSetting
from loquent.evaluate import build_metrics
from loquent.metric import Context, Metric
from loquent.resampling import Bounds, Resampling
from loquent.values import Record, plain

PATIENCE = 2.0  # seconds before a bar appears
MANY = 20  # keys named in one remark


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Score, print a table, write the samples where that is wanted, and return all but them."""
    settings = asked(arguments.metrics)
    options, references = _split(arguments.overrides, settings)
    for text, name in options.items():
        settings[name] |= {key: node.plain() for key, node in named.given([text], f"{name}.").items()}
    resampling = _resampling(arguments)
    predictions = Path(arguments.predictions)
    out = Path(arguments.samples) if arguments.samples else None
    if out and out.resolve() in [path.resolve() for path in (predictions, *references)]:
        raise BadSetting(f"--samples {out} is one of the files to read; name another one")
    if out and not out.parent.is_dir():  # said now, not after the work
        raise FileNotFoundError(errno.ENOENT, "", str(out))
    metrics = _made(settings)
    texts = pairs.read(predictions, references)
    with tqdm(total=scoring.work(len(metrics), resampling), desc="scoring", delay=PATIENCE, disable=None, leave=False, file=sys.stderr) as bar:
        found = scoring.score(metrics, texts, resampling, bar.update)
    if out:
        _write(out, texts, found)
    _print(found, texts, metrics, resampling)
    return 0, {
        "predictions": str(predictions),
        "references": [str(path) for path in references],
        "n": len(texts),
        "metrics": {name: plain(Record(given)) for name, given in settings.items()},
        "corpus": found.corpus,
        "scored": {key: sum(one is not None for one in column) for key, column in found.samples.items()},
        "intervals": {key: one.as_json() for key, one in found.bounds.items()},
        "resampling": vars(resampling) if resampling else None,
    }


def asked(text: str) -> dict[str, dict[str, Any]]:
    """The metrics of `NAME,NAME=METRIC,...`, each with what `of` it is."""
    found: dict[str, dict[str, Any]] = {}
    for one in text.split(","):
        name, equals, of = (part.strip() for part in one.partition("="))
        if not name or (equals and not of):
            raise BadSetting(f"--metrics {text}: {one!r} names no metric; METRIC or NAME=METRIC is right, with commas between. {_known()}")
        if name in found:
            raise BadSetting(f"--metrics {text}: {name!r} stands twice; NAME=METRIC gives one another name")
        found[name] = {"of": of} if equals else {}
    return found


def _known() -> str:
    return f"Known: {', '.join(registry.names('metric'))}"


def _split(behind: Sequence[str], names: dict[str, Any]) -> tuple[dict[str, str], list[Path]]:
    """Options with the metric whose they are, and the files of references."""
    options, files = {}, []
    for text in behind:
        owner = next((name for name in names if "=" in text and text.strip().startswith(f"{name}.")), None)
        if owner is not None:
            options[text] = owner
        elif "=" in text and not Path(text).exists():
            raise BadSetting(f"{text!r} is neither a file nor METRIC.option=value with one of the metrics asked for: {', '.join(names)}")
        else:
            files.append(Path(text))
    return options, files


def _resampling(arguments: Namespace) -> Resampling | None:
    if not arguments.resamples:
        return None
    return Resampling(method=arguments.interval, resamples=arguments.resamples, level=arguments.level, seed=arguments.seed)


def _made(settings: dict[str, dict[str, Any]]) -> dict[str, Metric]:
    named.search_here()  # metrics may be one's own
    made = {}
    for name, given in settings.items():
        [metric] = build_metrics(Record({name: Record(given)}), Context())
        if not isinstance(metric, Metric):
            raise BadSetting(f"{given.get('of', name)} made {metric!r}, which is no metric: `name`, `version` and `higher_is_better` are wanted")
        made[name] = metric
    return made


def _write(out: Path, texts: pairs.Pairs, found: scoring.Scored) -> None:
    """One line a sample, of which a key with no score holds null."""
    with out.open("w", encoding="utf-8") as file:
        for i, row in enumerate(texts.rows):
            scores = {key: column[i] for key, column in found.samples.items()}
            file.write(json.dumps({"id": row.id, "text": texts.predictions[i], "scores": scores}, allow_nan=False) + "\n")


def _print(found: scoring.Scored, texts: pairs.Pairs, metrics: dict[str, Metric], resampling: Resampling | None) -> None:
    without = sum(not own for own in texts.references)
    print(f"n = {len(texts)}" + (f", {without} without a reference" if without else ""))
    width = max(map(len, found.corpus), default=0)
    shown = {key: _interval(found.bounds[key]) if resampling else "" for key in found.corpus}
    room = max(map(len, shown.values()), default=0)
    for key, value in found.corpus.items():
        scored = sum(one is not None for one in found.samples[key]) if key in found.samples else len(texts)
        fewer = f"of {scored}" if scored < len(texts) else ""
        print(f"  {key:<{width}}  {value:<10.4g} {shown[key]:<{room}}  {fewer}".rstrip())
    for name in found.silent:
        print(f"  {name}: no score")
        if without == len(texts):
            print(f"loquent: {name} gave no score, and no sample has a reference", file=sys.stderr)
    if resampling:
        print(f"[{resampling.level:.4g}]: {resampling.method} intervals of {resampling.resamples} draws of all samples, seed {resampling.seed}")
        _print_reasons(found.bounds)


def _interval(bounds: Bounds) -> str:
    return "–" if bounds.low is None or bounds.high is None else f"[{bounds.low:.4g}, {bounds.high:.4g}]"


def _print_reasons(bounds: dict[str, Bounds]) -> None:
    for why in dict.fromkeys(one.why for one in bounds.values() if one.why):
        keys = [key for key, one in bounds.items() if one.why == why]
        print(f"–: {why} ({', '.join(keys[:MANY])}{', ...' if len(keys) > MANY else ''})")
