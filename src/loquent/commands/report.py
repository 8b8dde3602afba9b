"""`loquent report`: one page about one run or several."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import named
from loquent.report import write_report


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write the page and say where it is."""
    named.search_here()  # a learner may be one's own, with a table of its own keys
    page = write_report(arguments.runs, arguments.out)
    print(f"the report is in {page}; any browser opens it")
    return 0, {"report": str(page), "bytes": page.stat().st_size}
