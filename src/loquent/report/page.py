"""The page of a report: which charts stand where, and what is said beside them.

No script, no font, no file but itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from loquent.core import logged, registry
from loquent.core.logged import Logged
from loquent.errors import BadSetting, LoquentError
from loquent.files import atomic, names
from loquent.report import samples, watch
from loquent.report.charts import Curve, Dot, Numbers, curves, dots, legend, safe, short
from loquent.report.runs import Group, read

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""
KL = ("kl/reference", "kl/reference_k3", "kl/coefficient", "reward/penalty", "policy/kl_old")
DRIFT = (
    "rollout/words",
    "rollout/repetition",
    "rollout/distinct_2",
    "policy/entropy",
    "rollout/tokens",
    "rollout/ended/cut",
)
SUCCESS = ("rollout/success", "evaluation/success")
HELD_OUT_DRIFT = (
    "evaluation/diversity/mean_length",
    "evaluation/diversity/distinct-2",
    "evaluation/diversity/msttr-100",
)
MOST_NOTES = 50
ARROWS = {True: " ↑", False: " ↓", None: ""}
BETTER = {True: "; more is better", False: "; less is better", None: ""}


def write_report(paths: Sequence[str | Path], out: str | Path) -> Path:
    """Write one page about the runs in some folders (of a run, or of several runs) and return its path.

    Raises:
        BadCheckpoint: a folder holds no run.
    """
    target = Path(out)
    if target.is_dir():
        raise BadSetting(f"--out {target} is a folder; a file is right, as {target / names.REPORT}")
    page = html(read(paths))
    atomic.write_text(target, page)
    return target


def html(groups: Sequence[Group]) -> str:
    """The page as text."""
    style = (resources.files("loquent.report") / "page.css").read_text(encoding="utf-8")
    title = "Loquent: " + (groups[0].label if len(groups) == 1 else f"{len(groups)} recipes compared")
    made = _Page(groups)
    sections = {
        "Learning": made.learning(),
        "How episodes ended": made.endings(),
        "Watch for reward hacking": made.watch(),
        "Divergence from the reference": made.charts(KL),
        "Rewards, raw and weighted": made.rewards(),
        "Drift of the language": made.charts((*DRIFT, *HELD_OUT_DRIFT)),
        "Samples on the same rows": samples.over_runs(groups),
        "Samples in training": made.samples_in_training(),
        "All else that was logged": made.rest(),
        "Settings": made.settings(),
        "Time": made.time(),
    }
    sections = {"Left out": made.left_out(), **sections}  # known when all files were read
    kept = {name: body for name, body in sections.items() if body}
    links = "".join(f'<li><a href="#{_anchor(name)}">{name}</a></li>' for name in kept)
    bodies = "".join(
        f'<section id="{_anchor(name)}"><h2>{name}</h2>{body}</section>' for name, body in kept.items()
    )
    head = HEAD.format(title=safe(title), style=style)
    return (
        f"{head}<header><h1>{safe(title)}</h1>{made.overview()}<nav><ul>{links}</ul></nav></header>"
        f"<main>{bodies}</main></body></html>\n"
    )


class _Page:
    """The parts of one page; remembers which keys have had their chart."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups, self.numbers = groups, Numbers()
        self.known: dict[str, Logged] = {}
        for group in groups:
            self.known |= _table(str(group.runs[0].config["algorithm"]["kind"]))
        self.keys = list(
            dict.fromkeys(
                key for group in groups for run in group.runs for line in run.metrics for key in line
            )
        )
        self.higher = {
            key: up
            for group in groups
            for run in group.runs
            for key, up in run.evaluation.get("higher_is_better", {}).items()
        }
        self.drawn = {"update", "episodes", *(f"{key}_error" for key in SUCCESS)}

    def overview(self) -> str:
        """One line a group: what it is and how far it came."""
        rows = []
        for i, group in enumerate(self.groups):
            config, runs = group.runs[0].config, group.runs
            done = ", ".join(str(run.metrics[-1]["update"]) if run.metrics else "0" for run in runs)
            ended = "" if all(run.evaluation for run in runs) else " (not at its end)"
            rows.append(
                [
                    f'<span class="dot c{i % 8}"></span>{safe(group.label)}',
                    safe(config["algorithm"]["kind"]),
                    safe(_task(group)),
                    ", ".join(map(str, group.seeds)),
                    done + ended,
                    safe(str(runs[0].machine.get("device", "–"))),
                ]
            )
        return _table_of(["recipe", "algorithm", "task", "seeds", "updates", "device"], rows)

    def left_out(self) -> str:
        """What could not be read of the runs' files, and what nothing vouches for.

        Empty where all is well.
        """
        notes = [note for group in self.groups for run in group.runs for note in run.notes]
        if not notes:
            return ""
        items = "".join(f"<li>{safe(note)}</li>" for note in notes[:MOST_NOTES])
        more = f"<p>And {len(notes) - MOST_NOTES} more.</p>" if len(notes) > MOST_NOTES else ""
        return f"<p>These files are not whole, or hold what cannot be drawn:</p><ul>{items}</ul>{more}"

    def learning(self) -> str:
        """The return that was optimised, and beside it what was measured on held-out rows."""
        aside = ("evaluation/diversity/", "evaluation/answers", "evaluation/ended/")
        held_out = [key for key in self.keys if key.startswith("evaluation/") and not key.startswith(aside)]
        found = [key for key in self.higher if any(group.final(key) for group in self.groups)]
        main = [
            key
            for key in found
            if f"evaluation/{key}" in HELD_OUT_DRIFT
            or not key.startswith(("diversity/", "answers", "ended/"))
        ]
        figures = "".join(self._dots(key) for key in main) if len(self.groups) > 1 else ""
        end = f"<p>{_spread(self.groups)} {_split(self.groups)}</p>" + (
            f"<div class=charts>{figures}</div>" if figures else self._scores(main)
        )
        whole = _fold("All of them as numbers", self._scores(found))
        curves_ = f"<p>{_what_is_drawn(self.groups)}</p>" + self.charts(
            (*SUCCESS, "rollout/return", *held_out)
        )
        return curves_ + (f"<h3>Held-out values at the end</h3>{end}{whole}" if found else "")

    def endings(self) -> str:
        """The share of episodes by ending: at the end as a table, and as curves of those that any episode
        came to.
        """
        at_end = [key for key in self.higher if key.startswith("ended/")]
        table = "<p>Shares of all held-out episodes at the end.</p>" + self._scores(at_end) if at_end else ""
        keys = [key for key in self.keys if key.startswith(("rollout/ended/", "evaluation/ended/"))]
        never = [
            key for key in keys if not any(point.mean for group in self.groups for point in group.curve(key))
        ]
        self.drawn |= set(never)
        return table + self.charts(sorted(set(keys) - set(never), key=keys.index))

    def charts(self, keys: Iterable[str]) -> str:
        """A chart for each of the keys that was logged and has none yet."""
        wanted = [key for key in dict.fromkeys(keys) if key in self.keys and key not in self.drawn]
        figures = "".join(self._curves(key) for key in wanted)
        return f'<div class="charts">{figures}</div>' if figures else ""

    def rewards(self) -> str:
        """Each named reward: as it was measured, and as it counted."""
        kinds = ("reward", "reward_where_present", "weighted")
        split = [key.split("/", 2) for key in self.keys]
        names = dict.fromkeys(
            parts[2] for parts in split if len(parts) == 3 and parts[0] == "rollout" and parts[1] in kinds
        )
        return self.charts([f"rollout/{kind}/{name}" for name in names for kind in kinds] + ["reward/task"])

    def watch(self) -> str:
        """The reward beside what is outside it, a group at a time; and the drifts of all."""
        parts = []
        for group in self.groups:
            if not watch.rewarded(group.runs[0].config):
                continue
            lines = watch.beside(group, self.keys, self.higher)
            title = f"{group.label}: the reward and what is outside it"
            said = (
                "each line on its own range, turned so that up is better; parts of the reward are of "
                "the episodes learned from"
            )
            chart = (
                _figure(title, curves(self.numbers, title, "share of its range", lines), said, legend(lines))
                if lines
                else ""
            )
            head = f"<h3>{safe(group.label)}</h3>" if len(self.groups) > 1 else ""
            numbers = _fold("As numbers", watch.table(group, self.keys, self.higher, _table_of))
            parts.append(
                f"{head}{watch.statement(group, self.keys, self.higher)}<div "
                f"class=charts>{chart}</div>{numbers}"
            )
        drifts = "".join(self._curves(key) for key in watch.DRIFTS if key in self.keys)
        return (
            "".join(parts) + (f'<h3>Drift</h3><div class="charts">{drifts}</div>' if drifts else "")
            if parts
            else ""
        )

    def samples_in_training(self) -> str:
        """One fold a group."""
        made = [(group.label, samples.over_updates(i, group)) for i, group in enumerate(self.groups)]
        return "".join(_fold(label, cards) for label, cards in made if cards)

    def rest(self) -> str:
        """What only whoever mends a learner looks at."""
        ours = self.charts([key for key in self.keys if not key.startswith("evaluation/")])
        return "".join(
            _fold(title, body)
            for title, body in (
                ("Learner and collection", ours),
                ("Held-out, the rest", self.charts(self.keys)),
            )
            if body
        )

    def settings(self) -> str:
        """What differs between the groups, and each recipe whole."""
        flat = [_flat(group.runs[0].config) for group in self.groups]
        keys = list(dict.fromkeys(key for one in flat for key in one if key not in ("name", "training.seed")))
        rows = [
            [safe(key), *(safe(str(one.get(key, "–"))) for one in flat)]
            for key in keys
            if len({str(one.get(key)) for one in flat}) > 1
        ]
        table = _table_of(["setting", *(safe(group.label) for group in self.groups)], rows) if rows else ""
        wholes = (
            _fold(
                group.label,
                f"<pre>{safe(_as_yaml(group.runs[0].config))}</pre>",
            )
            for group in self.groups
        )
        return (f"<h3>What differs</h3>{table}" if table else "") + "".join(wholes)

    def time(self) -> str:
        """Seconds by stage."""
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
            rows.append([safe(group.label), *map(short, sums), short(sum(sums))])
        note = "<p>Seconds of a whole run, a mean over its seeds; the evaluation at the end is not in it.</p>"
        return note + _table_of(["recipe", *map(safe, stages), "all"], rows) if stages else ""

    def _curves(self, key: str) -> str:
        self.drawn.add(key)
        lines = [Curve(group.label, i, group.curve(key)) for i, group in enumerate(self.groups)]
        if not any(line.points for line in lines):
            return ""
        meaning = logged.definition(key, self.known) or Logged("", "defined in no table")
        better = (
            BETTER[self.higher.get(key.removeprefix("evaluation/"))] if key.startswith("evaluation/") else ""
        )
        said = meaning.meaning + better + _ended(lines)
        return _figure(
            key,
            curves(self.numbers, key, meaning.unit, lines),
            said,
            legend(lines) if len(self.groups) > 1 else "",
        )

    def _dots(self, key: str) -> str:
        found = [(i, group.label, group.final(key)) for i, group in enumerate(self.groups)]
        values = [Dot(label, i, *final) for i, label, final in found if final is not None]
        unit = (logged.definition(f"evaluation/{key}", self.known) or Logged("", "")).unit
        return _figure(key + ARROWS[self.higher[key]], dots(self.numbers, key, unit, values), "", "")

    def _scores(self, keys: Sequence[str]) -> str:
        rows = [
            [safe(key) + ARROWS[self.higher[key]], *(_final(group, key) for group in self.groups)]
            for key in keys
        ]
        return _table_of(["value", *(safe(group.label) for group in self.groups)], rows)


def _figure(title: str, chart: str, meaning: str, key: str) -> str:
    caption = f"<figcaption>{safe(meaning)}</figcaption>" if meaning else ""
    return f'<figure><h4 class="mono">{safe(title)}</h4>{key}{chart}{caption}</figure>'


def _fold(title: str, body: str) -> str:
    return f"<details><summary>{safe(title)}</summary>{body}</details>"


def _table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are markup already."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + "".join(f'<th scope="row">{c}</th>' if i == 0 else f"<td>{c}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _final(group: Group, key: str) -> str:
    found = group.final(key)
    if found is None:
        return "–"
    fewer = f" (n = {found[2]})" if found[2] != len(group.runs) else ""
    return short(found[0]) + (f" ± {short(found[1])}" if found[1] is not None else "") + fewer


def _ended(lines: Sequence[Curve]) -> str:
    """Where a line has fewer seeds than at its most, in words."""
    said = []
    for line in lines:
        counts = [point.n for point in line.points]
        if len(set(counts)) > 1:
            name = f"{line.label}: " if len(lines) > 1 else ""
            said.append(f"{name}{max(counts)} seeds, {min(counts)} where the line is dotted")
    return f" ({'; '.join(said)})" if said else ""


def _spread(groups: Sequence[Group]) -> str:
    several = [len(group.runs) > 1 for group in groups]
    if all(several):
        return "Bars are one standard deviation over seeds."
    return "Bars are one standard error over episodes" + (
        ", or one standard deviation over seeds where there are several." if any(several) else "."
    )


def _what_is_drawn(groups: Sequence[Group]) -> str:
    """Which rows the curves are from, and what a band is."""
    training = [group.runs[0].config["training"] for group in groups]
    trained, watched = ({one[name] for one in training} for name in ("split", "evaluate_split"))
    every = {one["evaluate_every"] for one in training if one["evaluate_every"]}
    said = f"Keys of rollout are of the episodes learned from (split {safe(', '.join(sorted(trained)))})"
    if every:
        said += (
            f", keys of evaluation of held-out ones (split {safe(', '.join(sorted(watched)))}, every "
            f"{', '.join(map(str, sorted(every)))} updates)"
        )
    several = any(len(group.runs) > 1 for group in groups)
    alone = any(
        line.get(f"{key}_error")
        for group in groups
        if len(group.runs) == 1
        for line in group.runs[0].metrics
        for key in SUCCESS
    )
    said += "; a line is the mean over seeds, a band one standard deviation to each side" if several else ""
    return said + (
        "; a band of a single run's success is one standard error over the episodes." if alone else "."
    )


def _split(groups: Sequence[Group]) -> str:
    found = {
        (run.evaluation["split"], run.evaluation["n"])
        for group in groups
        for run in group.runs
        if run.evaluation
    }
    return " ".join(f"Split {safe(split)}, {n} episodes." for split, n in sorted(found))


def _task(group: Group) -> str:
    run = group.runs[0]
    return str(run.evaluation["task"] if run.evaluation else run.config["task"]["kind"])


def _table(kind: str) -> dict[str, Logged]:
    """The keys a learner logs.

    One that only the run's file names is not imported: its keys are drawn all the same.
    """
    try:
        return logged.table(registry.find("algorithm", kind))
    except (LoquentError, ImportError):
        return dict(logged.LOGGED)


def _flat(tree: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(tree, Mapping):
        return {path: tree}
    inside = (_flat(item, f"{path}.{name}" if path else str(name)) for name, item in tree.items())
    return {key: value for one in inside for key, value in one.items()}


def _anchor(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "-")


def _as_yaml(settings: Any) -> str:
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
