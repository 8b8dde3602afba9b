"""`python -m tools.corpora [FILE ...]`: make the built-in corpora again, all or those named."""

import sys

from tools.corpora.table import CORPORA, HOUSE
from tools.corpora.writing import write

for name in sys.argv[1:] or CORPORA:
    write(HOUSE / name, CORPORA[name]())
    print(f"{name}: {(HOUSE / name).stat().st_size:,} bytes", flush=True)
