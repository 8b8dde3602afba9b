"""The page kit, and HTML pages about runs."""

from loquent.report.page import plot, write_report

__all__ = ["plot", "write_report"]
