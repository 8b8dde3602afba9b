"""`report.html`: one file about one run or several, that opens anywhere and asks nothing of any network."""

from loquent.report.page import write_report

__all__ = ["write_report"]
