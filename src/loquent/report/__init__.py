"""Reports: HTML pages about runs."""

from loquent.report.page import write_report

__all__ = ["write_report"]
