"""The page docs/known.md: `python -m tools.known` writes it anew, with `--check` it compares it alone."""

import sys

from tools.known import page

sys.exit(page.main(sys.argv[1:]))
