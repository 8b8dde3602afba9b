"""The quickstart over pairs of base model and seed: its record, and the parts of pages that show it.

    loquent bench quickstart --seeds 5 --processes 2 --out FOLDER     (a new folder; one thread for each run)
    python -m tools.studies.quickstart_page FOLDER COMMIT [NOTE]

The second command writes a line of docs/results/quickstart.jsonl, and the deviations that `loquent
quickstart` prints. Then it makes the pages anew; README.md and docs/benchmarks.md show the line between
markers.
"""

import json
import math
import re
import sys
from pathlib import Path

from loquent.bench import quickstart
from loquent.bench import suite as suites
from loquent.metrics.making import declared_range
from loquent.statistics.intervals import student
from loquent.training import recipes
from tools.pages import __main__ as pages
from tools.pages import records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results" / "quickstart.jsonl"
LINE = 6  # of the results; docs/results/tables/README.yaml names it too
SHOWN = ("sentiment", "perplexity")  # the columns whose spread over single runs is printed
TABLE = f"""\
Means over 5 pairs of base model and seed with their 95% intervals over pairs (300 episodes on 300 held-out
prompts for each run; 25 minutes beside other programs, 2 processes of one thread, at most 2.1 GiB;
[figures](docs/results/quickstart.jsonl)):
<!-- figures: quickstart.jsonl {LINE} | seeds | 95 | cells.ppo.episodes | cells.ppo.rows | seconds / 60
machine.processes | machine.peak_gib -->

<!-- table: pairs -->
<!-- end -->

Decoding of evaluation: sampled, temperature 1.

`loquent quickstart` makes one such pair, that of seed 0, in 248 seconds on two cores. Single pairs
lie so far apart: the standard deviation over pairs, and the range in which one more run lies with a
probability of 95%, if pairs are distributed normally. In one run, a difference inside these ranges may be
chance.
<!-- figures: 1 | 0 | quickstart.jsonl 7 | seconds | 95 -->

<!-- table: single-runs -->
<!-- end -->

Perplexity is the policy's on held-out references, per token. Per word the base models have 4.44 (mean), a
5-gram model 5.02.
<!-- figures: quickstart.jsonl {LINE} | model_per_word | 5 | five_gram_per_word -->"""
CLAIMS = f"""\
Over 5 pairs of base model and seed:
<!-- figures: quickstart.jsonl {LINE} | seeds -->

<!-- claims: quickstart.jsonl {LINE} verdicts -->
<!-- end -->"""
PARTS = {
    "quickstart table": (ROOT / "README.md", TABLE),
    "quickstart claims": (ROOT / "docs" / "benchmarks.md", CLAIMS),
}


def record(made, commit, note, per_word):
    """The line of the results: what the bench wrote, the ranges of single runs, and perplexities per word."""
    machine, cells = made["machine"], made["cells"]
    command = f"loquent bench quickstart --seeds {made['seeds']} --processes {machine['processes']}"
    head = {"command": command, "commit": commit, "seconds": machine["wall_seconds"], "note": note}
    head["seconds_of_runs"] = made["seconds"]
    runs = {name: {column: single(cell, column) for column in SHOWN} for name, cell in cells.items()}
    return {**made, **head, "one_run": runs, **per_word}


def single(cell, column):
    """The value of seed 0, the deviation over pairs, and the 95 % range of one more run, if pairs are normal.

    The range is the prediction interval, mean ± t deviation sqrt(1 + 1 / n), cut to the range of the column.
    """
    least, most = declared_range(suites.load("quickstart").columns[column].metric)
    n, mean, deviation = (cell["intervals"][column][name] for name in ("n", "mean", "deviation"))
    reach = student(n - 1) * deviation * math.sqrt(1 + 1 / n)
    ends = {"low": max(least, mean - reach), "high": min(most, mean + reach)}
    return {"seed_0": cell["values"][column]["0"], "deviation": deviation, **ends}


def write_part(page, name, text):
    """Write what stands between the markers of a part of a page."""
    begin, end = (f"<!-- {name}: {place} -->" for place in ("begin", "end"))
    old = page.read_text("utf-8")
    before, found, rest = old.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"{page} has no {begin} ... {end}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", "utf-8")


def write(made):
    """Write the record, the deviations that the command prints, and the texts of the pages."""
    lines = RESULTS.read_text("utf-8").splitlines()
    lines[LINE - 1 : LINE] = [json.dumps(made, ensure_ascii=False)]
    RESULTS.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    records.write_lines(replaced=RESULTS.name)
    deviations = {name: runs["sentiment"]["deviation"] for name, runs in made["one_run"].items()}
    spread = {"pairs": made["seeds"], "deviations": deviations}
    quickstart.RECORDED.write_text(json.dumps(spread, indent=1) + "\n", "utf-8")
    for name, (page, text) in PARTS.items():
        write_part(page, name, text)


def main(folder, commit, note=""):
    """Read the bench's table, measure perplexities per word, write, and make the pages; 1 if one is wrong."""
    made = json.loads((folder / "table.json").read_text("utf-8"))
    if made["failures"] or made["profile"] != "cpu" or made["seeds"] < 3 or made["machine"]["threads"] != [1]:
        raise SystemExit(f"{folder} is no whole bench of the profile cpu with 3 seeds or more and one thread")
    bases = sorted(path for path in folder.glob("base*") if re.fullmatch(r"base(-\d+)?", path.name))
    per_word = quickstart.perplexities(recipes.load("reviews_base"), list(map(str, bases)))
    write(record(made, commit, note, per_word))
    return pages.main([])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
