"""`loquent report`: writes one page about one or several runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import REQUIRED, CommandOptions, argument, option


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent report`."""

    examples = ("loquent report runs/ppo runs/nlpo --out ppo-nlpo.html",)
    runs: tuple[str, ...] = argument(
        "RUN", "a run's folder, or a folder of runs; runs that differ only in their seed are drawn together"
    )
    out: str = option(REQUIRED, "FILE", "the page, one file that needs no network")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Write the page and print its path."""
    from loquent.report import write_report

    page = write_report(options.runs, options.out)
    print(f"the report is in {page}; any browser opens it")
    return 0, {"report": str(page), "bytes": page.stat().st_size}
