"""The quickstart over pairs of base model and seed: its record, README's table, and the claims of the suite.

    loquent bench quickstart --seeds 5 --processes 2 --out FOLDER     (a new folder; one thread for each run)
    python -m tools.studies.quickstart_page FOLDER COMMIT [NOTE]

The second command adds a line to docs/results/quickstart.jsonl. It writes the deviations that `loquent
quickstart` prints, and what stands between the markers of README.md and of docs/benchmarks.md.
"""

import json
import math
import re
import sys
from pathlib import Path

from loquent.bench import quickstart
from loquent.bench import suite as suites
from loquent.bench.evidence.texts import LEAST, p_text
from loquent.metrics.making import declared_range
from loquent.statistics.intervals import student
from loquent.statistics.tables import ARROWS, Table, number
from loquent.training import recipes

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"quickstart table": ROOT / "README.md", "quickstart claims": ROOT / "docs" / "benchmarks.md"}
RESULTS = ROOT / "docs" / "results" / "quickstart.jsonl"
SHOWN = ("sentiment", "perplexity")  # the columns whose spread over single runs is printed


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


def spread(one):
    """The cells of `single` in README's table."""
    return [number(one["seed_0"]), number(one["deviation"]), between(one["low"], one["high"])]


def between(low, high):
    """An interval as text; empty where all pairs are equal, which have none."""
    return "" if low is None else f"[{number(low)}, {number(high)}]"


def average(interval):
    """A mean with its interval."""
    return f"{number(interval['mean'])} {between(interval['low'], interval['high'])}".rstrip()


def sources(line, figures):
    """The comment that names the source of figures, each a text with its path."""
    return "\n".join([f"<!-- results: quickstart.jsonl {line}", *map(" ".join, figures), "-->"])


def table(made, line):
    """README's part: the means over pairs, and how far single runs lie from them."""
    columns = suites.load("quickstart").columns
    means = [[name, *(average(cell["intervals"][column]) for column in columns)]
        for name, cell in made["cells"].items()]  # fmt: skip
    runs = [[name, *(text for one in own.values() for text in spread(one))]
        for name, own in made["one_run"].items()]  # fmt: skip
    pairs, machine, some = made["seeds"], made["machine"], next(iter(made["cells"].values()))
    minutes, each = f"{made['seconds'] / 60:.0f}", f"{made['seconds'] / 60 / pairs:.0f}"
    figures = [f"{minutes} seconds / 60", f"{each} seconds / 60 / seeds",
        f"{machine['peak_gib']:.1f} machine.peak_gib", f"{made['model_per_word']:.2f} model_per_word",
        f"{made['five_gram_per_word']:.2f} five_gram_per_word"]  # fmt: skip
    heads = [name.replace("_", " ") + ARROWS[column.higher] for name, column in columns.items()]
    singles = [f"{what} {name}" for name in SHOWN for what in ("seed 0:", "deviation of", "a run's range of")]
    return f"""\
Means over {pairs} pairs of base model and seed with their 95% intervals over pairs ({some["episodes"]}
episodes on {some["rows"]} held-out prompts for each run; {minutes} minutes, {machine["processes"]} processes
of one thread, at most {machine["peak_gib"]:.1f} GiB; [figures](docs/results/quickstart.jsonl)):

<!-- table: quickstart.jsonl {line} cells -->
{Table(["method", *heads], means).markdown()}

{made["tables"][0]["decoding"]}

`loquent quickstart` makes one such pair, that of seed 0, in about {each} minutes. Single pairs lie so far
apart: the standard deviation over pairs, and the range in which one more run lies with a probability of 95%,
if pairs are distributed normally. In one run, a difference inside these ranges may be chance.

<!-- table: quickstart.jsonl {line} one_run -->
{Table(["method", *singles], runs).markdown()}

Perplexity is the policy's on held-out references, per token. Per word the base models have
{made["model_per_word"]:.2f} (mean), a 5-gram model {made["five_gram_per_word"]:.2f}.

{sources(line, [figure.split(" ", 1) for figure in figures])}
<!-- given: 95 -->"""


def claims(made, line):
    """The part of benchmarks.md: each claim with its effect and its verdict."""
    texts, figures = [], []
    for i, verdict in enumerate(made["verdicts"]):
        found = verdict["steps"][0]["difference"]
        effect = {name: number(found[name]) for name in ("mean", "error") if found.get(name) is not None}
        tests = {name: p_text(verdict[name]) for name in ("p", "p_corrected") if verdict[name] is not None}
        decision = f" (p {' and corrected '.join(tests.values())}, {verdict['tests']} tests)" if tests else ""
        texts.append(
            f"- {verdict['claim']} (`{verdict['column']}`): difference {' ± '.join(effect.values())}; "
            f"**{verdict['verdict']}**{decision}."
        )
        figures += [(text, f"verdicts.{i}.steps.0.difference.{name}") for name, text in effect.items()]
        figures += [(text, f"verdicts.{i}.{name}") for name, text in tests.items() if text[0].isdigit()]
    least = f"\n<!-- given: {LEAST} -->" if any("below" in text for text in texts) else ""
    head = (
        f"Over {made['seeds']} pairs of base model and seed; behind ± stands the standard error over pairs, "
        "then p alone and corrected for all claims:\n"
    )
    return "\n".join([head, *texts, "", sources(line, figures) + least])


def write_part(page, name, text):
    """Write what stands between the markers of a part of a page."""
    begin, end = (f"<!-- {name}: {place} -->" for place in ("begin", "end"))
    old = page.read_text("utf-8")
    before, found, rest = old.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"{page} has no {begin} ... {end}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", "utf-8")


def write(made):
    """Write the record, the deviations that the command prints, and both parts."""
    lines = RESULTS.read_text("utf-8").splitlines()
    lines = [old for old in lines if json.loads(old).get("command") != made["command"]]
    RESULTS.write_text(
        "".join(f"{text}\n" for text in [*lines, json.dumps(made, ensure_ascii=False)]), "utf-8"
    )
    deviations = {name: runs["sentiment"]["deviation"] for name, runs in made["one_run"].items()}
    spread = {"pairs": made["seeds"], "deviations": deviations}
    quickstart.RECORDED.write_text(json.dumps(spread, indent=1) + "\n", "utf-8")
    for (name, page), part in zip(PAGES.items(), (table, claims), strict=True):
        write_part(page, name, part(made, len(lines) + 1))


def main(folder, commit, note=""):
    """Read the bench's table, measure perplexities per word, and write."""
    made = json.loads((folder / "table.json").read_text("utf-8"))
    if made["failures"] or made["profile"] != "cpu" or made["seeds"] < 3 or made["machine"]["threads"] != [1]:
        raise SystemExit(f"{folder} is no whole bench of the profile cpu with 3 seeds or more and one thread")
    bases = sorted(path for path in folder.glob("base*") if re.fullmatch(r"base(-\d+)?", path.name))
    per_word = quickstart.perplexities(recipes.load("reviews_base"), list(map(str, bases)))
    write(record(made, commit, note, per_word))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
