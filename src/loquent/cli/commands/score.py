"""`loquent score`: scores files of texts by metrics, with bootstrap intervals."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from loquent.cli.grammar.options import REQUIRED, Seeded, argument, option
from loquent.core import registry
from loquent.core.guards.terminal import line
from loquent.core.metric import Context, Metric, Samples
from loquent.core.values import Record, plain
from loquent.data.predictions import read
from loquent.errors import BadSetting, list_names
from loquent.metrics import scoring
from loquent.statistics.resampling import EXACT, METHODS, RARE, WILSON, Bounds, Resampling
from loquent.statistics.tables import name_lines
from loquent.training import by_name
from loquent.training.metrics import build_metrics

DELAY = 2.0  # seconds before the progress bar appears
MOST_KEYS = 20  # keys named in one note
SHARES = {
    WILSON: "Wilson's interval of scores of 0 and 1",
    EXACT: f"exact interval of scores of 0 and 1, of which fewer than {RARE} differ: right at least so often",
}


@dataclass(frozen=True, kw_only=True)
class Options(Seeded):
    """Options of `loquent score`."""

    examples = (
        "loquent score --metrics rouge,bleu predictions.jsonl references.jsonl --json",
        "loquent score --metrics rouge,meteor predictions.txt first.txt second.txt rouge.stem=false "
        "--samples scores.jsonl",
        "loquent score --metrics plain=rouge,stemmed=rouge predictions.txt references.txt plain.stem=false "
        "stemmed.stem=true --interval bca",
        "loquent score --metrics my_metrics:Politeness predictions.jsonl --resamples 0",
    )
    predictions: str = argument(
        "PREDICTIONS",
        "JSON lines with `text` (.jsonl), or plain text, one prediction per line; either may end in .gz",
    )
    overrides: tuple[str, ...] = argument(
        "REFERENCES|METRIC.key=value",
        "JSON lines with `references`, a list of texts, or plain text, one reference per line; several files "
        "add up. Also options of metrics",
        (),
    )
    metrics: str = option(
        REQUIRED,
        "METRIC,...",
        "names (loquent list metrics) or module:Name; NAME=METRIC puts NAME before its keys",
    )
    samples: str | None = option(None, "FILE", "write the scores of each sample to this file, as JSON lines")
    resamples: int = option(1000, "N", "bootstrap samples for the intervals; 0: no intervals", low=0)
    interval: Literal["percentile", "bca"] = option(
        "percentile", "", "the kind of bootstrap interval", choices=METHODS
    )
    level: float = option(0.95, "P", "the confidence level of the intervals", low=0.5, high=0.999)

    def __post_init__(self) -> None:
        if 0 < self.resamples < 100:
            raise BadSetting(f"--resamples must be at least 100, or 0 for no intervals, got {self.resamples}")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Score, print a table, write the samples if --samples is given, and return the other results."""
    settings = parse_metrics(options.metrics)
    of_metrics, references = _split(options.overrides, settings)
    for text, name in of_metrics.items():
        settings[name] |= {
            key: node.plain() for key, node in by_name.parse_options([text], f"{name}.").items()
        }
    resampling = _resampling(options)
    predictions = Path(options.predictions)
    out = Path(options.samples) if options.samples else None
    if out and out.resolve() in [path.resolve() for path in (predictions, *references)]:
        raise BadSetting(f"--samples {out} is one of the files to read; name another one")
    if out and not out.parent.is_dir():  # checked before the work
        raise FileNotFoundError(errno.ENOENT, "", str(out))
    built = (build_metrics(Record({name: Record(options)}), Context()) for name, options in settings.items())
    metrics = {name: metric for name, [metric] in zip(settings, built, strict=True)}
    texts = read(predictions, references)
    with tqdm(
        total=scoring.work(len(metrics), resampling),
        desc="scoring",
        delay=DELAY,
        disable=None,
        leave=False,
        file=sys.stderr,
    ) as bar:
        scored = scoring.score(metrics, texts, resampling, bar.update)
        _check_references(metrics, texts, scored)
    if out:
        _write(out, texts, scored)
    _print(scored, texts, metrics, resampling)
    if not scored.corpus:
        print("nothing was scored: no metric applies to these texts", file=sys.stderr)
    return 0 if scored.corpus else 1, {
        "predictions": str(predictions),
        "references": [str(path) for path in references],
        "n": len(texts),
        "rows": len(set(scoring.rows(texts))),
        "metrics": {name: plain(Record(chosen)) for name, chosen in settings.items()},
        "corpus": scored.corpus,
        "scored": {key: sum(score is not None for score in column) for key, column in scored.samples.items()},
        "intervals": {key: bounds.as_json() for key, bounds in scored.bounds.items()},
        "resampling": vars(resampling) if resampling else None,
    }


def parse_metrics(text: str) -> dict[str, dict[str, Any]]:
    """The settings of the metrics `NAME,NAME=METRIC,...` by name; METRIC is the setting `of`."""
    settings: dict[str, dict[str, Any]] = {}
    for item in text.split(","):
        name, equals, of = (part.strip() for part in item.partition("="))
        if not name or (equals and not of):
            raise BadSetting(
                f"--metrics {text}: {item!r} names no metric; give METRIC or NAME=METRIC, separated by "
                f"commas. {_known()}"
            )
        if name in settings:
            raise BadSetting(
                f"--metrics {text}: {name!r} stands twice; give one of the two another name, as NAME=METRIC"
            )
        settings[name] = {"of": of} if equals else {}
    return settings


def _known() -> str:
    return f"Known: {list_names(registry.names('metric'))}; `loquent list metrics` shows all"


def _split(texts: Sequence[str], names: dict[str, Any]) -> tuple[dict[str, str], list[Path]]:
    """The options with the name of their metric, and the files of references."""
    options, files = {}, []
    for text in texts:
        owner = next((name for name in names if "=" in text and text.strip().startswith(f"{name}.")), None)
        if owner is not None:
            options[text] = owner
        elif "=" in text and not Path(text).exists():
            raise BadSetting(
                f"{text!r} is neither a file nor METRIC.option=value with one of the metrics of "
                f"--metrics: {', '.join(names)}"
            )
        else:
            files.append(Path(text))
    return options, files


def _resampling(options: Options) -> Resampling | None:
    """The bootstrap that is asked for; None for no intervals."""
    if not options.resamples:
        return None
    return Resampling(
        method=options.interval, resamples=options.resamples, level=options.level, seed=options.seed
    )


def _check_references(metrics: dict[str, Metric], texts: Samples, scored: scoring.Scored) -> None:
    """Raise BadSetting if no sample has a reference and a metric has no score for that reason."""
    if any(texts.references):
        return
    with_references = replace(texts, references=tuple((text,) for text in texts.predictions))
    needing = [name for name in scored.silent if scoring.score({name: metrics[name]}, with_references).corpus]
    if needing:
        advice = (
            "give a file of references after that of the predictions, or a field `references` in its lines"
        )
        raise BadSetting(
            f"--metrics {', '.join(needing)}: references are needed, and no sample has any; {advice}"
        )


def _write(out: Path, texts: Samples, scored: scoring.Scored) -> None:
    """Write one line per sample; a key without a score is null."""
    with out.open("w", encoding="utf-8") as file:
        for i, row in enumerate(texts.rows):
            scores = {key: column[i] for key, column in scored.samples.items()}
            file.write(
                json.dumps({"id": row.id, "text": texts.predictions[i], "scores": scores}, allow_nan=False)
                + "\n"
            )


def _print(
    scored: scoring.Scored, texts: Samples, metrics: dict[str, Metric], resampling: Resampling | None
) -> None:
    """Print the scores, each with its interval and the number of scored samples if that is smaller."""
    without = sum(not references for references in texts.references)
    prompts = len(set(scoring.rows(texts)))
    repeated = prompts < len(texts)
    of_prompts = f" on {prompts} prompt{'' if prompts == 1 else 's'}" if repeated else ""
    print(f"n = {len(texts)}{of_prompts}" + (f", {without} without a reference" if without else ""))
    lines = {}
    shown = {key: _interval(scored.bounds[key]) if resampling else "" for key in scored.corpus}
    room = max(map(len, shown.values()), default=0)
    for key, value in scored.corpus.items():
        column = scored.samples.get(key)
        number = len(texts) if column is None else sum(score is not None for score in column)
        fewer = f"of {number}" if number < len(texts) else ""
        lines[key] = f"{value:<10.4g} {shown[key]:<{room}}  {fewer}"
    print(name_lines(lines, "  "), end="")
    for name in scored.silent:
        print(f"  {line(name)}: no score")
    if resampling:
        if any(found.low is not None and not found.method for found in scored.bounds.values()):
            print(
                f"[{resampling.level:.4g}]: {resampling.method} intervals of {resampling.resamples} "
                f"draws of all {'prompts, each with its samples' if repeated else 'samples'}, "
                f"seed {resampling.seed}"
            )
        for method, text in SHARES.items():
            if keys := [key for key, found in scored.bounds.items() if found.method == method]:
                print(f"[{resampling.level:.4g}]: {text} ({_listed(keys)})")
        _print_reasons(scored.bounds)
        for caution in dict.fromkeys(found.caution for found in scored.bounds.values() if found.caution):
            print(f"caution: {caution}")


def _interval(bounds: Bounds) -> str:
    return "–" if bounds.low is None or bounds.high is None else f"[{bounds.low:.4g}, {bounds.high:.4g}]"


def _print_reasons(bounds: dict[str, Bounds]) -> None:
    """Print why keys have no interval, each reason with its keys."""
    for reason in dict.fromkeys(interval.why for interval in bounds.values() if interval.why):
        keys = [key for key, interval in bounds.items() if interval.why == reason]
        print(f"–: {reason} ({_listed(keys)})")


def _listed(keys: list[str]) -> str:
    return ", ".join(keys[:MOST_KEYS]) + (", ..." if len(keys) > MOST_KEYS else "")
