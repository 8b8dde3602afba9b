"""The page kit: what stands on a page, as values, and its renderings as HTML and as Markdown.

A page is one HTML file that loads nothing. Templates escape every text; markup comes from charts, tables and
the pictures of built-in tasks alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from loquent.core.guards.terminal import escape_text
from loquent.report.charts import Curve, Drawing
from loquent.statistics.tables import Table, safe

if TYPE_CHECKING:
    from jinja2 import Environment

CODE, STRONG = re.compile("`([^`]+)`"), re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True)
class Text:
    """A paragraph, which may have `code` and **strong** words; `mark` is its class in HTML."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading below the title of a page, which is of level 1."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Item:
    """A point of a list as a paragraph, with further points in a fold that has the title `fold`."""

    text: str
    mark: str = ""
    parts: Sequence[str] = ()
    fold: str = ""


@dataclass(frozen=True)
class Items:
    """A list."""

    items: Sequence[Item]


@dataclass(frozen=True)
class Figure:
    """A chart with its title, caption, and the curves of its legend."""

    title: str
    drawing: Drawing
    caption: str = ""
    legend: Sequence[Curve] = ()


@dataclass(frozen=True)
class Figures:
    """Charts side by side, which Markdown leaves out."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class Fold:
    """Blocks below a title that opens them."""

    title: str
    blocks: Sequence[Any]


@dataclass(frozen=True)
class Section:
    """A part of a page with a link at the top."""

    title: str
    blocks: Sequence[Any]

    @property
    def anchor(self) -> str:
        """The id of the section."""
        return self.title.lower().replace(",", "").replace(" ", "-")


@dataclass(frozen=True)
class OnPage:
    """Blocks that Markdown leaves out, such as words about charts."""

    blocks: Sequence[Any]


@dataclass(frozen=True)
class Code:
    """A text as it stands in a file."""

    text: str


Block = Any  # one of the above, a Table, or a block of one page with a branch of its own in blocks.html


def page(
    title: str, blocks: Sequence[Block], *, top: Sequence[Block] = (), data: Mapping[str, Any] | None = None
) -> str:
    """The page as text.

    Args:
        top: the blocks between the title and the links to sections.
        data: the data of the charts that a reader can explore (`interactive.Charts`).
    """
    sections = [block for block in blocks if isinstance(block, Section)]
    known = {"title": title, "content": blocks, "top": top, "sections": sections, "data": data}
    template = environment().get_template("page.html")
    return template.render(known, style=style(), policy=policy(), script=script())


def markdown(title: str, blocks: Sequence[Block]) -> str:
    """The page as Markdown, with a blank line between blocks."""
    return "\n\n".join([f"# {title}", *filter(None, map(_markdown, blocks))]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Items(items):
            return "\n".join(
                line
                for item in items
                for line in (f"- {' '.join(item.text.split())}", *(f"    - {part}" for part in item.parts))
            )
        case Fold(title, blocks):
            return "\n\n".join(filter(None, [title, *map(_markdown, blocks)]))
        case Table():
            return str(block.markdown())
    return ""


@cache
def environment() -> Environment:
    """The templates; control and direction marks in texts are shown, not obeyed."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("loquent.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: escape_text(value) if type(value) is str else value,
    )
    found.filters |= {"kind": lambda block: type(block).__name__, "inline": _inline, "json": _json}
    return found


def _inline(text: str) -> Drawing:
    markup = CODE.sub(r"<code>\1</code>", safe(text))
    return Drawing(STRONG.sub(r"<strong>\1</strong>", markup))


def _json(data: Mapping[str, Any]) -> Drawing:
    return Drawing(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


@cache
def style() -> Drawing:
    """The style sheet of a page."""
    return Drawing("".join(_file(name) for name in ("charts.css", "page.css", "uplot/uPlot.min.css")))


@cache
def script() -> Drawing:
    """The script of a page with charts that a reader can explore: uPlot with its licence, and ours."""
    licence, library, ours = (
        _file(name).strip() for name in ("uplot/LICENSE", "uplot/uPlot.iife.min.js", "chart.js")
    )
    return Drawing(f"/*!\n{licence}\n*/\n{library}\n{ours}\n")


@cache
def policy() -> Drawing:
    """The Content-Security-Policy of a page: nothing is loaded, and no script runs except ours."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return Drawing(
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    return (resources.files("loquent.report") / name).read_text(encoding="utf-8")
