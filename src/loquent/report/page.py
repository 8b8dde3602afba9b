"""The pages: of a report with its charts, tables and samples, and of single charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from loquent.errors import BadSetting, UnknownName, require
from loquent.files import atomic, names
from loquent.report import samples
from loquent.report.groups import Group, read
from loquent.report.headlines import headlines
from loquent.report.interactive import Chart, Charts
from loquent.report.keys import chart_of, definitions, directions, logged_keys
from loquent.report.kit import Section, page
from loquent.report.sections import DRIFT, HELD_OUT_DRIFT, KL, Sections


def write_report(paths: Sequence[str | Path], out: str | Path) -> Path:
    """Write one page about the runs in some folders (of a run, or of several runs) and return its path.

    Raises:
        BadCheckpoint: a folder holds no run.
        BadSetting: `out` is a folder.
    """
    target = check_file(out)
    atomic.write_text(target, html(read(paths)))
    return target


def check_file(out: str | Path) -> Path:
    """The path of a page; BadSetting if it is no path, or a folder."""
    require(out, str | Path, "path", "the path of a file")
    if Path(out).is_dir():
        raise BadSetting(
            f"--out {out} is a folder; name a file by its path, for example {Path(out) / names.REPORT}"
        )
    return Path(out)


def html(groups: Sequence[Group]) -> str:
    """The page as text."""
    title = "Loquent: " + (groups[0].label if len(groups) == 1 else f"{len(groups)} recipes compared")
    found = Sections(groups)
    sections = {
        "Learning": found.learning(),
        "How episodes ended": found.endings(),
        "Diagnosis": found.diagnosis(),
        "Watch for reward hacking": found.watch(),
        "Divergence from the reference": found.charts(KL),
        "Rewards, raw and weighted": found.rewards(),
        "Drift of the language": found.charts((*DRIFT, *HELD_OUT_DRIFT)),
        "Samples on the same rows": samples.over_runs(groups),
        "Samples in training": found.samples_in_training(),
        "All else that was logged": found.rest(),
        "Settings": found.settings(),
        "Time": found.time(),
    }
    sections = {"Remarks": found.remarks(), **sections}
    sections = {"Left out": found.left_out(), **sections}  # computed last, after all files were read
    blocks = [Section(name, body) for name, body in sections.items() if body]
    top = [headlines(groups), found.overview()]
    return page(title, blocks, top=top, data=found.charted.data())


@dataclass(frozen=True)
class Plot:
    """Charts of some logged keys, which a notebook shows; `save` writes them as one offline page."""

    groups: Sequence[Group]
    keys: Sequence[str]

    @cached_property
    def charts(self) -> list[Chart]:
        """The charts, as a report draws them."""
        meanings = {key: known for group in self.groups for key, known in definitions(group).items()}
        higher = directions(self.groups)
        return [chart_of(self.groups, key, meanings, higher) for key in self.keys]

    def html(self) -> str:
        """The charts as a page."""
        drawn = Charts()
        figures = drawn.figures(self.charts)
        return page("Loquent: " + ", ".join(self.keys), figures, data=drawn.data())

    def save(self, path: str | Path) -> Path:
        """Write the page and return its path; BadSetting if it is no path, or a folder."""
        target = check_file(path)
        atomic.write_text(target, self.html())
        return target

    def __repr__(self) -> str:
        return f"Plot({', '.join(self.keys)}; save(path) writes it as a page)"

    def _repr_html_(self) -> str:
        height = 120 + 380 * len(self.keys)
        return (
            f'<iframe sandbox="allow-scripts" style="width: 100%; height: {min(height, 900)}px; border: 0" '
            f'srcdoc="{escape(self.html(), quote=True)}"></iframe>'
        )


def plot(paths: Sequence[str | Path], keys: Sequence[str]) -> Plot:
    """Charts of logged keys of the runs in some folders, in the order of `keys`.

    Raises:
        UnknownName: no run logged a number under a key.
        BadSetting: there is no key, or a key is no text.
        BadCheckpoint: a folder holds no run.
    """
    if not isinstance(keys, Sequence) or not keys or not all(isinstance(key, str) for key in keys):
        raise BadSetting(f"keys = {keys!r:.80}: give a logged key, or a list of one or more of them")
    groups = read(paths)
    known = [key for key in logged_keys(groups) if any(group.curve(key) for group in groups)]
    for key in keys:
        if key not in known:
            raise UnknownName("logged key", str(key), known)
    return Plot(groups, keys)
