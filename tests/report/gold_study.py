"""How often the watch speaks of a value named gold, read after each evaluation; prints one JSON line.

python tests/report/gold_study.py
"""

import json
import time

import numpy as np

from loquent.report.divergence import FEWEST, exceeded

HISTORIES, NOISE = 1000, 0.05


def speaks(evaluations, gold, generator):
    """Whether it ever speaks while gold has the course `gold` in noise, and the return rises."""
    returns = [i / evaluations + 0.03 * generator.normal() for i in range(evaluations)]
    values = [gold(i / evaluations) + NOISE * generator.normal() for i in range(evaluations)]
    return any(
        exceeded(range(n), returns[:n], {"gold": values[:n]}, {"gold": True}, top=None)
        for n in range(FEWEST, evaluations + 1)
    )


def share(evaluations, gold, histories=HISTORIES):
    """The share of histories in which it speaks."""
    generator = np.random.default_rng(evaluations)
    return sum(speaks(evaluations, gold, generator) for _ in range(histories)) / histories


COURSES = {"level": lambda x: 0.5, "rise": lambda x: 0.5 + 0.4 * x, "hump": lambda x: 2 * min(x, 1 - x)}

if __name__ == "__main__":
    rates = {name: {n: share(n, gold) for n in (10, 20, 40)} for name, gold in COURSES.items()}
    line = {"command": "python tests/report/gold_study.py", "histories": HISTORIES, "noise": NOISE}
    print(json.dumps(line | {"seconds": round(time.process_time()), "rates": rates}))
