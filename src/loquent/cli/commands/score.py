"""`loquent score`: files of texts scored by metrics, with bootstrap intervals."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent.core import registry
from loquent.core.guards.terminal import line
from loquent.core.metric import Context, Metric
from loquent.core.values import Record, plain
from loquent.data import pairs
from loquent.errors import BadSetting, BrokenMetric, LoquentError
from loquent.metrics import scoring
from loquent.statistics.resampling import Bounds, Resampling
from loquent.training import by_name
from loquent.training.metrics import build_metrics

PATIENCE = 2.0  # seconds before a bar appears
MANY = 20  # keys named in one remark


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Score, print a table, write the samples where that is wanted, and return all but them."""
    settings = asked(arguments.metrics)
    options, references = _split(arguments.overrides, settings)
    for text, name in options.items():
        settings[name] |= {key: node.plain() for key, node in by_name.given([text], f"{name}.").items()}
    resampling = _resampling(arguments)
    predictions = Path(arguments.predictions)
    out = Path(arguments.samples) if arguments.samples else None
    if out and out.resolve() in [path.resolve() for path in (predictions, *references)]:
        raise BadSetting(f"--samples {out} is one of the files to read; name another one")
    if out and not out.parent.is_dir():  # said now, not after the work
        raise FileNotFoundError(errno.ENOENT, "", str(out))
    with _named(settings):
        metrics = _made(settings)
    texts = pairs.read(predictions, references)
    with (
        _named(settings),
        tqdm(
            total=scoring.work(len(metrics), resampling),
            desc="scoring",
            delay=PATIENCE,
            disable=None,
            leave=False,
            file=sys.stderr,
        ) as bar,
    ):
        found = scoring.score(metrics, texts, resampling, bar.update)
        _check_references(metrics, texts, found)
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
            raise BadSetting(
                f"--metrics {text}: {one!r} names no metric; METRIC or NAME=METRIC is right, with "
                f"commas between. {_known()}"
            )
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
            raise BadSetting(
                f"{text!r} is neither a file nor METRIC.option=value with one of the metrics asked "
                f"for: {', '.join(names)}"
            )
        else:
            files.append(Path(text))
    return options, files


def _resampling(arguments: Namespace) -> Resampling | None:
    if not arguments.resamples:
        return None
    return Resampling(
        method=arguments.interval, resamples=arguments.resamples, level=arguments.level, seed=arguments.seed
    )


@contextmanager
def _named(settings: dict[str, dict[str, Any]]) -> Iterator[None]:
    """Turn an error in the code of a "module:Name" metric into a BrokenMetric with its file and line.

    With LOQUENT_DEBUG=1 in the environment the error stays as it is.
    """
    try:
        yield
    except LoquentError:
        raise
    except Exception as error:
        modules = {
            given.get("of", name).partition(":")[0]
            for name, given in settings.items()
            if ":" in given.get("of", name)
        }
        files = {getattr(sys.modules.get(module), "__file__", None) for module in modules}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        if not frames or os.environ.get("LOQUENT_DEBUG"):
            raise
        place, says = frames[-1], "".join(traceback.format_exception_only(error)).strip()
        raise BrokenMetric(
            f"{place.filename}:{place.lineno}: {says}; LOQUENT_DEBUG=1 shows the traceback"
        ) from error


def _made(settings: dict[str, dict[str, Any]]) -> dict[str, Metric]:
    made = {}
    for name, given in settings.items():
        [metric] = build_metrics(Record({name: Record(given)}), Context())
        if not isinstance(metric, Metric):
            raise BadSetting(
                f"{given.get('of', name)} made {metric!r}, which is no metric: `name`, `version` and "
                "`higher_is_better` are wanted"
            )
        made[name] = metric
    return made


def _check_references(metrics: dict[str, Metric], texts: pairs.Pairs, found: scoring.Scored) -> None:
    """Raise BadSetting where no sample has a reference, and a metric without a score would have one with
    references.
    """
    if any(texts.references):
        return
    with_references = replace(texts, references=tuple((text,) for text in texts.predictions))
    needing = [name for name in found.silent if scoring.score({name: metrics[name]}, with_references).corpus]
    if needing:
        advice = (
            "give a file of references after that of the predictions, or a field `references` in its lines"
        )
        raise BadSetting(
            f"--metrics {', '.join(needing)}: references are needed, and no sample has any; {advice}"
        )


def _write(out: Path, texts: pairs.Pairs, found: scoring.Scored) -> None:
    """One line a sample, of which a key with no score holds null."""
    with out.open("w", encoding="utf-8") as file:
        for i, row in enumerate(texts.rows):
            scores = {key: column[i] for key, column in found.samples.items()}
            file.write(
                json.dumps({"id": row.id, "text": texts.predictions[i], "scores": scores}, allow_nan=False)
                + "\n"
            )


def _print(
    found: scoring.Scored, texts: pairs.Pairs, metrics: dict[str, Metric], resampling: Resampling | None
) -> None:
    without = sum(not own for own in texts.references)
    print(f"n = {len(texts)}" + (f", {without} without a reference" if without else ""))
    width = max((len(line(key)) for key in found.corpus), default=0)
    shown = {key: _interval(found.bounds[key]) if resampling else "" for key in found.corpus}
    room = max(map(len, shown.values()), default=0)
    for key, value in found.corpus.items():
        scored = sum(one is not None for one in found.samples[key]) if key in found.samples else len(texts)
        fewer = f"of {scored}" if scored < len(texts) else ""
        print(f"  {line(key):<{width}}  {value:<10.4g} {shown[key]:<{room}}  {fewer}".rstrip())
    for name in found.silent:
        print(f"  {line(name)}: no score")
    if resampling:
        print(
            f"[{resampling.level:.4g}]: {resampling.method} intervals of {resampling.resamples} "
            f"draws of all samples, seed {resampling.seed}"
        )
        _print_reasons(found.bounds)


def _interval(bounds: Bounds) -> str:
    return "–" if bounds.low is None or bounds.high is None else f"[{bounds.low:.4g}, {bounds.high:.4g}]"


def _print_reasons(bounds: dict[str, Bounds]) -> None:
    for why in dict.fromkeys(one.why for one in bounds.values() if one.why):
        keys = [key for key, one in bounds.items() if one.why == why]
        print(f"–: {why} ({', '.join(keys[:MANY])}{', ...' if len(keys) > MANY else ''})")
