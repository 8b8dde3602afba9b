"""The page of a reward model: its figures on held-out pairs, the reliability diagram and the losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loquent.report import kit
from loquent.report.charts import COLOURS, ChartIds, Curve, curves
from loquent.report.groups import Point
from loquent.report.kit import Block, Figure, Figures, Heading, OnPage, Text
from loquent.statistics.tables import Table, short

TITLE = "Loquent: a reward model"
OBJECTIVES = {
    "bradley_terry": "pairs (Bradley-Terry): the loss is -log sigmoid(r(chosen) - r(rejected))",
    "good_bad": "labels: the loss is the cross-entropy of good for chosen texts and bad for rejected ones",
}


def html(note: Mapping[str, Any]) -> str:
    """The page as text, from the content of its card."""
    return kit.page(TITLE, _blocks(note))


def markdown(note: Mapping[str, Any]) -> str:
    """The texts and tables of the page as Markdown."""
    return kit.markdown(TITLE, _blocks(note))


def _blocks(note: Mapping[str, Any]) -> list[Block]:
    ids = ChartIds()
    return [*_summary(note), *_figures(note), *_calibration(ids, note), OnPage(_losses(ids, note))]


def _summary(note: Mapping[str, Any]) -> list[Block]:
    pairs = note["pairs"]
    return [
        Text(f"Trained on {OBJECTIVES[note['objective']]}."),
        Text(
            f"{pairs['judgements']:,} judgements: {pairs['training']:,} pairs to train on and "
            f"{pairs['held_out']:,} held out, without a prompt or a text in common. Left out: "
            f"{pairs['undecided']:,} pairs without a majority, and {pairs['left_out']:,} training pairs that "
            "share a text with a held-out pair."
        ),
    ]


def _figures(note: Mapping[str, Any]) -> list[Block]:
    quality = note["quality"]
    rows = [
        ["accuracy on pairs", short(quality["accuracy"]), _interval(quality["accuracy_bounds"])],
        ["ROC-AUC of texts", short(quality["roc_auc"]), _interval(quality["roc_auc_bounds"])],
        ["expected calibration error", short(quality["calibration_error"]), "–"],
        ["loss", short(quality["loss"]), "–"],
        ["accuracy on training pairs", short(note["training_accuracy"]), "–"],
    ]
    title = f"On {quality['pairs']:,} held-out pairs of {quality['prompts']:,} prompts"
    return [Heading(title), Table(["figure", "value", "95% interval"], rows)]


def _interval(bounds: Mapping[str, Any]) -> str:
    if bounds["low"] is None or bounds["high"] is None:
        return f"none: {bounds.get('why', '')}"
    return f"{short(bounds['low'])} to {short(bounds['high'])}"


def _calibration(ids: ChartIds, note: Mapping[str, Any]) -> list[Block]:
    table = note["quality"]["reliability"]
    rows = [
        [f"{short(one['low'])} to {short(one['high'])}", *(short(one[key]) for key in ("n", "mean", "share"))]
        for one in table
    ]
    lines = [
        Curve("calibrated", 5 + COLOURS, _points([(0.5, 0.5), (1.0, 1.0)])),
        Curve("the model", 0, _points([(one["mean"], one["share"]) for one in table])),
    ]
    chart = curves(ids, "Reliability", "share right", lines, across="confidence")
    columns = ["confidence", "pairs", "mean confidence", "share right"]
    what = (
        "Confidence is the probability sigmoid(|difference of scores|) of the text that the model prefers. A "
        "calibrated model is right with its confidence."
    )
    figure = Figure("Reliability", chart, legend=lines)
    return [Heading("Calibration"), Text(what), Figures([figure]), Table(columns, rows)]


def _losses(ids: ChartIds, note: Mapping[str, Any]) -> list[Block]:
    lines = [
        Curve(label, colour, _points([(one["epoch"], one[key]) for one in note["history"]]))
        for colour, (label, key) in enumerate((("training", "loss"), ("held out", "held_out_loss")))
    ]
    chart = curves(ids, "Loss", "nats", lines, across="epoch")
    return [Heading("Loss"), Figures([Figure("Loss", chart, legend=lines)])]


def _points(places: Sequence[tuple[float, float]]) -> list[Point]:
    return [Point(x, y, y, y, 1) for x, y in places]
