"""The page of a reward model: its figures on held-out pairs, the reliability diagram and the losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.bench.preferences.plots import Axis, Line, plot
from loquent.report.charts import safe, short
from loquent.report.markup import figure, table_of
from loquent.report.page import head

OBJECTIVES = {
    "bradley_terry": "pairs (Bradley-Terry): the loss is -log sigmoid(r(chosen) - r(rejected))",
    "good_bad": "labels: the loss is the cross-entropy of good for chosen texts and bad for rejected ones",
}


def html(note: Mapping[str, Any]) -> str:
    """The page as text, from the content of `reward.json`."""
    title = "Loquent: a reward model"
    body = f"{_summary(note)}{_figures(note)}{_calibration(note)}{_losses(note)}"
    return f"{head(title)}<header><h1>{safe(title)}</h1></header><main>{body}</main></body></html>\n"


def _summary(note: Mapping[str, Any]) -> str:
    pairs = note["pairs"]
    return (
        f"<section><p>Trained on {safe(OBJECTIVES[note['objective']])}.</p>"
        f"<p>{pairs['judgements']:,} judgements: {pairs['training']:,} pairs to train on and "
        f"{pairs['held_out']:,} held out, without a prompt or a text in common. Left out: "
        f"{pairs['undecided']:,} pairs without a majority, and {pairs['left_out']:,} training pairs that "
        f"share a text with a held-out pair.</p></section>"
    )


def _figures(note: Mapping[str, Any]) -> str:
    quality = note["quality"]
    rows = [
        ["accuracy on pairs", short(quality["accuracy"]), _interval(quality["accuracy_bounds"])],
        ["ROC-AUC of texts", short(quality["roc_auc"]), _interval(quality["roc_auc_bounds"])],
        ["expected calibration error", short(quality["calibration_error"]), "–"],
        ["loss", short(quality["loss"]), "–"],
        ["accuracy on training pairs", short(note["training_accuracy"]), "–"],
    ]
    of = f"{quality['pairs']:,} held-out pairs of {quality['prompts']:,} prompts"
    return f"<section><h2>On {of}</h2>{table_of(['figure', 'value', '95% interval'], rows)}</section>"


def _interval(bounds: Mapping[str, Any]) -> str:
    if bounds["low"] is None or bounds["high"] is None:
        return safe(f"none: {bounds.get('why', '')}")
    return f"{short(bounds['low'])} to {short(bounds['high'])}"


def _calibration(note: Mapping[str, Any]) -> str:
    table = note["quality"]["reliability"]
    rows = [
        [f"{short(one['low'])} to {short(one['high'])}", *(short(one[key]) for key in ("n", "mean", "share"))]
        for one in table
    ]
    lines = [
        Line("calibrated", 5, [(0.5, 0.5), (1.0, 1.0)], dashed=True, marks=False),
        Line("the model", 0, [(one["mean"], one["share"]) for one in table]),
    ]
    chart = plot("Reliability", Axis("confidence", (0.5, 1.0)), Axis("share right", (0.0, 1.0)), lines)
    columns = ["confidence", "pairs", "mean confidence", "share right"]
    what = (
        "Confidence is the probability sigmoid(|difference of scores|) of the text that the model prefers. A "
        "calibrated model is right with its confidence."
    )
    return f"<section><h2>Calibration</h2><p>{what}</p>{figure('', chart)}{table_of(columns, rows)}</section>"


def _losses(note: Mapping[str, Any]) -> str:
    history = note["history"]
    lines = [
        Line(label, colour, [(one["epoch"], one[key]) for one in history])
        for colour, (label, key) in enumerate((("training", "loss"), ("held out", "held_out_loss")))
    ]
    return f"<section><h2>Loss</h2>{figure('', plot('Loss', Axis('epoch'), Axis('nats'), lines))}</section>"
