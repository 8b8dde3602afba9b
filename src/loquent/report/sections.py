"""The sections of a report: their charts, captions and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from loquent.core import log_keys
from loquent.core.log_keys import Logged
from loquent.files import final_evaluation, run_remarks
from loquent.report import samples, watch, witnesses
from loquent.report.charts import COLOURS, Dot, dots
from loquent.report.diagnosis import SILENCE, Diagnosis
from loquent.report.groups import Group
from loquent.report.interactive import Chart, Charts
from loquent.report.keys import SUCCESS, chart_of, definitions, directions, evaluations, logged_keys
from loquent.report.kit import Block, Code, Figure, Figures, Fold, Heading, Item, Items, Text
from loquent.report.ranges import limits
from loquent.statistics.tables import ARROWS, Cell, Table, short

KL = ("kl/reference", "kl/reference_k3", "kl/coefficient", "reward/penalty", "policy/kl_old")
DRIFT = (
    "rollout/words",
    "rollout/repetition",
    "rollout/distinct_2",
    "policy/entropy",
    "rollout/tokens",
    "rollout/ended/cut",
)
HELD_OUT_DRIFT = (
    "evaluation/diversity/mean_length",
    "evaluation/diversity/distinct-2",
    "evaluation/diversity/msttr-100",
)
MOST_NOTES = 50


class Sections:
    """The sections of one page as blocks; `drawn` has the keys that have a chart already."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups, self.charted = groups, Charts()
        self.definitions: dict[str, Logged] = {}
        for group in groups:
            self.definitions |= definitions(group)
        self.keys = logged_keys(groups)
        self.higher = directions(groups)
        self.drawn = {"update", "episodes", *(f"{key}_error" for key in SUCCESS)}

    def overview(self) -> Table:
        """A table with one line per group: its recipe, and the updates it reached."""
        rows = []
        for i, group in enumerate(self.groups):
            config, runs = group.runs[0].config, group.runs
            done = ", ".join(str(run.metrics[-1]["update"]) if run.metrics else "0" for run in runs)
            ended = "" if all(run.evaluation for run in runs) else " (not at its end)"
            rows.append(
                [
                    Cell(group.label, f"key-before c{i % COLOURS}"),
                    config["algorithm"]["kind"],
                    _task(group),
                    group.decoding,
                    ", ".join(map(str, group.seeds)),
                    done + ended,
                    str(runs[0].machine.get("device", "–")),
                ]
            )
        return Table(
            ["recipe", "algorithm", "task", "decoding of evaluation", "seeds", "updates", "device"], rows
        )

    def remarks(self) -> list[Block]:
        """What the runs did without being asked for, each text once; empty if there is none."""
        texts = {
            (group.label, line["update"], line["remark"]): None
            for group in self.groups
            for run in group.runs
            for line in run_remarks.read(run.folder)
        }
        several = len(self.groups) > 1
        items = [
            Item(f"{label}, update {update}: {text}" if several else f"update {update}: {text}")
            for label, update, text in texts
        ]
        return [Items(items[:MOST_NOTES])] if items else []

    def diagnosis(self) -> list[Block]:
        """What the rules of a diagnosis say of each run."""
        several = sum(len(group.runs) for group in self.groups) > 1
        return [
            block
            for group in self.groups
            for run in group.runs
            for block in [
                *([Heading(f"{group.label}, seed {run.seed}", 3)] if several else []),
                *_findings(run.diagnosis),
            ]
        ]

    def left_out(self) -> list[Block]:
        """The notes on files that could not be read or checked; empty if there are none."""
        notes = [
            _local(run.folder, note) for group in self.groups for run in group.runs for note in run.notes
        ]
        if not notes:
            return []
        head = "These files are damaged, could not be checked, or hold values that cannot be drawn:"
        more = [Text(f"And {len(notes) - MOST_NOTES} more.")] if len(notes) > MOST_NOTES else []
        return [Text(head), Items(list(map(Item, notes[:MOST_NOTES]))), *more]

    def learning(self) -> list[Block]:
        """The return that was optimised, and beside it the values on held-out rows."""
        aside = ("evaluation/diversity/", "evaluation/answers", "evaluation/ended/")
        held_out = [key for key in self.keys if key.startswith("evaluation/") and not key.startswith(aside)]
        curves = [Text(_rows_and_bands(self.groups)), *self.charts((*SUCCESS, "rollout/return", *held_out))]
        final = [key for key in self.higher if any(group.final(key) for group in self.groups)]
        if not final:
            return curves
        main = [
            key
            for key in final
            if f"evaluation/{key}" in HELD_OUT_DRIFT
            or not key.startswith(("diversity/", "answers", "ended/"))
        ]
        several = len(self.groups) > 1
        return [
            *curves,
            Heading("Held-out values at the end", 3),
            Text(f"{_spread(self.groups)} {_evaluated(self.groups)}"),
            Figures([self._dots(key) for key in main]) if several and main else self._scores(main),
            Fold("All of them as numbers", [self._scores(final)]),
        ]

    def endings(self) -> list[Block]:
        """The share of episodes by ending: a table for the end, and curves over the updates.

        An ending that no episode reached has no curve.
        """
        at_end = [key for key in self.higher if key.startswith("ended/")]
        about = Text("Shares of all held-out episodes at the end.")
        table = [about, self._scores(at_end)] if at_end else []
        keys = [key for key in self.keys if key.startswith(("rollout/ended/", "evaluation/ended/"))]
        never = [
            key for key in keys if not any(point.mean for group in self.groups for point in group.curve(key))
        ]
        self.drawn |= set(never)
        return [*table, *self.charts(sorted(set(keys) - set(never), key=keys.index))]

    def charts(self, keys: Iterable[str]) -> list[Figures]:
        """A chart for each key that was logged and has no chart yet."""
        wanted = [key for key in dict.fromkeys(keys) if key in self.keys and key not in self.drawn]
        return self._curves(wanted)

    def rewards(self) -> list[Figures]:
        """Each named reward: as it was measured, and as it counts in the return."""
        kinds = ("reward", "reward_where_present", "weighted")
        split = [key.split("/", 2) for key in self.keys]
        names = dict.fromkeys(
            parts[2] for parts in split if len(parts) == 3 and parts[0] == "rollout" and parts[1] in kinds
        )
        return self.charts([f"rollout/{kind}/{name}" for name in names for kind in kinds] + ["reward/task"])

    def watch(self) -> list[Block]:
        """For each group the return beside the values outside the reward; then the drifts of all groups."""
        watched = [group for group in self.groups if witnesses.rewarded(group.runs[0].config)]
        if not watched:
            return []
        parts = [block for group in watched for block in self._watched(group)]
        drifts = self._curves([key for key in watch.DRIFTS if key in self.keys])
        return [*parts, *([Heading("Drift", 3), *drifts] if drifts else [])]

    def _watched(self, group: Group) -> list[Block]:
        lines = watch.beside(group, self.keys, self.higher)
        title = f"{group.label}: the reward and what is outside it"
        caption = (
            "each line on its own range, turned so that up is better; parts of the reward are of the "
            "episodes learned from"
        )
        found = witnesses.judge(group, self.keys, self.higher)
        return [
            *([Heading(group.label, 3)] if len(self.groups) > 1 else []),
            watch.statement(found),
            *watch.changes(found),
            *self.charted.figures([Chart(title, "share of its range", lines, caption)]),
            Fold("As numbers", [watch.table(group, self.keys, self.higher)]),
        ]

    def samples_in_training(self) -> list[Fold]:
        """One fold per group, with samples over its updates."""
        cards = [(group.label, samples.over_updates(i, group)) for i, group in enumerate(self.groups)]
        return [Fold(label, body) for label, body in cards if body]

    def rest(self) -> list[Fold]:
        """The charts of all other keys, which mainly help to debug an algorithm."""
        learner = self.charts([key for key in self.keys if not key.startswith("evaluation/")])
        folds = {"Learner and collection": learner, "Held-out, the rest": self.charts(self.keys)}
        return [Fold(title, body) for title, body in folds.items() if body]

    def settings(self) -> list[Block]:
        """The settings that differ between the groups, and each recipe as a whole."""
        recipes = [_flat(group.runs[0].config) for group in self.groups]
        keys = dict.fromkeys(key for recipe in recipes for key in recipe)
        rows = [
            [key, *(str(recipe.get(key, "–")) for recipe in recipes)]
            for key in keys
            if key not in ("name", "training.seed") and len({str(recipe.get(key)) for recipe in recipes}) > 1
        ]
        head = ["setting", *(group.label for group in self.groups)]
        differ = [Heading("What differs", 3), Table(head, rows)] if rows else []
        return differ + [Fold(group.label, [Code(_as_yaml(group.runs[0].config))]) for group in self.groups]

    def time(self) -> list[Block]:
        """A table of the seconds by stage."""
        stages = list(
            dict.fromkeys(
                name
                for group in self.groups
                for run in group.runs
                for line in run.timings
                for name in line
                if name != "update"
            )
        )
        rows = []
        for group in self.groups:
            lines = [line for run in group.runs for line in run.timings]
            sums = [sum(line.get(stage, 0.0) for line in lines) / len(group.runs) for stage in stages]
            rows.append([group.label, *map(short, sums), short(sum(sums))])
        note = Text("Seconds of a whole run, as a mean over seeds, without the evaluation at the end.")
        return [note, Table(["recipe", *stages, "all"], rows)] if stages else []

    def _curves(self, keys: Sequence[str]) -> list[Figures]:
        self.drawn.update(keys)
        return self.charted.figures(chart_of(self.groups, key, self.definitions, self.higher) for key in keys)

    def _dots(self, key: str) -> Figure:
        finals = [(i, group.label, group.final(key)) for i, group in enumerate(self.groups)]
        present = [(i, label, final) for i, label, final in finals if final is not None]
        meaning = log_keys.definition(f"evaluation/{key}", self.definitions) or Logged("", "")
        means = [value for *_, (value, _, _) in present]
        ends = limits(f"evaluation/{key}", means, evaluations(self.groups), meaning)
        values = [Dot(label, i, *final, limits=ends) for i, label, final in present]
        return Figure(key + ARROWS[self.higher[key]], dots(self.charted.ids, key, meaning.unit, values))

    def _scores(self, keys: Sequence[str]) -> Table:
        rows = [
            [key + ARROWS[self.higher[key]], *(_final(group, key) for group in self.groups)] for key in keys
        ]
        return Table(["value", *(group.label for group in self.groups)], rows)


def _findings(found: Diagnosis) -> list[Block]:
    owners = {"": found.findings, " of the start": found.start.findings if found.start else ()}
    items = [
        Item(f"**{each.rule}**{of}: {each.shows}. Likely cause: {each.cause}. Try: {each.setting}.")
        for of, findings in owners.items()
        for each in findings
    ]
    unjudged = [Item(f"`{rule}`: {why}") for rule, why in found.unjudged.items()]
    head = found.head()
    head = f"{head[0].upper()}{head[1:]}."
    silent = not items and found.updates
    return [
        Text(f"{head} {SILENCE}" if silent else head, f"verdict {'alarm' if items else 'calm'}"),
        *([Items(items)] if items else []),
        *([Fold("Rules that could not judge", [Items(unjudged)])] if unjudged else []),
    ]


def _local(folder: Path, note: str) -> str:
    """A note without the place of the run's folder on this machine: the page may be passed on."""
    return note.replace(f"{folder.parent}/", "") if folder.is_absolute() else note


def _final(group: Group, key: str) -> str:
    final = group.final(key)
    if final is None:
        return "–"
    value, error, n = final
    fewer = f" (n = {n})" if n != len(group.runs) else ""
    return short(value) + (f" ± {short(error)}" if error is not None else "") + fewer


def _spread(groups: Sequence[Group]) -> str:
    several = [len(group.runs) > 1 for group in groups]
    if all(several):
        return "Bars are one standard deviation over seeds."
    return "Bars are one standard error, clustered by row" + (
        ", or one standard deviation over seeds where there are several." if any(several) else "."
    )


def _rows_and_bands(groups: Sequence[Group]) -> str:
    """The splits that the curves come from, and the meaning of a band."""
    training = [group.runs[0].config["training"] for group in groups]
    splits = ", ".join(sorted({settings["split"] for settings in training}))
    held_out = ", ".join(sorted({settings["evaluate_split"] for settings in training}))
    every = {settings["evaluate_every"] for settings in training if settings["evaluate_every"]}
    players = ", ".join(sorted({run.player for group in groups for run in group.runs}))
    text = f"Keys of rollout are of the episodes learned from (split {splits}; player: {players})"
    if every:
        updates = ", ".join(map(str, sorted(every)))
        text += f", keys of evaluation of held-out episodes (split {held_out}, every {updates} updates)"
    if any(len(group.runs) > 1 for group in groups):
        text += "; a line is the mean over seeds, a band one standard deviation to each side"
    single_error = any(
        line.get(f"{key}_error")
        for group in groups
        if len(group.runs) == 1
        for line in group.runs[0].metrics
        for key in SUCCESS
    )
    if single_error:
        text += "; a band of a single run's success is one standard error, clustered by row"
    return text + "."


def _evaluated(groups: Sequence[Group]) -> str:
    """The splits, the sizes and the decodings of the evaluations at the end."""
    evaluations = [run.evaluation for group in groups for run in group.runs if run.evaluation]
    splits = {(evaluation["split"], final_evaluation.size(evaluation)) for evaluation in evaluations}
    note = final_evaluation.decoding_note((group.label, group.decoding) for group in groups)
    return " ".join([*(f"Split {split}, {size}." for split, size in sorted(splits)), note])


def _task(group: Group) -> str:
    run = group.runs[0]
    return str(run.evaluation["task"] if run.evaluation else run.config["task"]["kind"])


def _flat(tree: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(tree, Mapping):
        return {path: tree}
    branches = (_flat(item, f"{path}.{name}" if path else str(name)) for name, item in tree.items())
    return {key: value for branch in branches for key, value in branch.items()}


def _as_yaml(settings: Any) -> str:
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
