"""Make the tables and the figures of pages anew from `docs/results`; `--check` prints what would change.

python -m tools.pages [--check] [PAGE ...]
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from tools.pages.page import key, make, pages, strays
from tools.pages.records import ROOT, write_lines


def main(arguments: list[str]) -> int:
    """1 if a figure has no source or, with `--check`, a page is not as its records make it."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, and print the difference")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="files (default: all pages)")
    options = parser.parse_args(arguments)
    wrong = [] if options.pages else strays()
    print(*wrong, sep="\n", end="\n" * bool(wrong), file=sys.stderr)
    if not options.pages and not options.check:
        write_lines()
    failed = bool(wrong)
    for page in map(Path.resolve, map(Path, options.pages)) if options.pages else pages():
        old, place = page.read_text(encoding="utf-8"), str(page.relative_to(ROOT))
        new, wrong = make(old, key(page))
        for fault in wrong:
            print(f"{place}: {fault}", file=sys.stderr)
        failed |= bool(wrong) or (options.check and new != old)
        if options.check:
            lines = (text.splitlines(keepends=True) for text in (old, new))
            sys.stdout.writelines(difflib.unified_diff(*lines, place, f"{place}, made anew", n=0))
        elif new != old:
            page.write_text(new, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
