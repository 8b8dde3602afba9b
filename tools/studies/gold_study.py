"""How often the watch speaks of a value named gold; prints one JSON line.

`rates` are of a page that is read after each evaluation, in noise of 0.05. `walks` are of one reading at the
end, where gold is a random walk with steps of deviation 0.05, which have nothing to do with the return.

python -m tools.studies.gold_study
"""

import json
import time

import numpy as np

from loquent.report.divergence import FEWEST, find_falls

HISTORIES, NOISE = 1000, 0.05


def of_walk(evaluations, generator):
    """Whether it speaks of a random walk at its end, while the return rises."""
    returns = [0.3 + 0.5 * i / (evaluations - 1) + 0.03 * generator.normal() for i in range(evaluations)]
    walk = (0.5 + NOISE * generator.normal(size=evaluations).cumsum()).tolist()
    return bool(find_falls(range(evaluations), returns, {"gold": walk}, {"gold": True}, top=None))


def walks(evaluations, histories=HISTORIES):
    """The share of random walks of which it speaks."""
    generator = np.random.default_rng(evaluations)
    return sum(of_walk(evaluations, generator) for _ in range(histories)) / histories


def speaks(evaluations, gold, generator):
    """Whether it ever speaks while gold has the course `gold` in noise, and the return rises."""
    returns = [i / evaluations + 0.03 * generator.normal() for i in range(evaluations)]
    values = [gold(i / evaluations) + NOISE * generator.normal() for i in range(evaluations)]
    return any(
        find_falls(range(n), returns[:n], {"gold": values[:n]}, {"gold": True}, top=None)
        for n in range(FEWEST, evaluations + 1)
    )


def share(evaluations, gold, histories=HISTORIES):
    """The share of histories in which it speaks."""
    generator = np.random.default_rng(evaluations)
    return sum(speaks(evaluations, gold, generator) for _ in range(histories)) / histories


COURSES = {"level": lambda x: 0.5, "rise": lambda x: 0.5 + 0.4 * x, "hump": lambda x: 2 * min(x, 1 - x)}

if __name__ == "__main__":
    rates = {name: {n: share(n, gold) for n in (10, 20, 40)} for name, gold in COURSES.items()}
    ends = {n: walks(n) for n in (5, 10, 20, 40)}
    line = {"command": "python -m tools.studies.gold_study", "histories": HISTORIES, "noise": NOISE}
    print(json.dumps(line | {"seconds": round(time.process_time()), "rates": rates, "walks": ends}))
