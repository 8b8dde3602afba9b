"""`loquent report`: writes one page about one or several runs."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent.report import write_report


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write the page and print its path."""
    page = write_report(arguments.runs, arguments.out)
    print(f"the report is in {page}; any browser opens it")
    return 0, {"report": str(page), "bytes": page.stat().st_size}
