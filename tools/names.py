"""The registered names in README.md, by kind: `python -m tools.names` writes the table anew."""

from collections.abc import Iterable
from pathlib import Path

from loquent.core import registry

README = Path(__file__).resolve().parents[1] / "README.md"
SUITES = README.parent / "src" / "loquent" / "bench" / "suites"
BEGIN, END = "<!-- names: begin -->\n", "<!-- names: end -->\n"
KINDS = {  # kind: its title and its page
    "task": ("tasks", "docs/tasks.md"),
    "algorithm": ("learners", "docs/algorithms.md"),
    "agent": ("agents", "docs/agents.md"),
    "reward": ("rewards, beside the metrics", "docs/rewards.md"),
    "metric": ("metrics", "docs/metrics.md"),
    "featurizer": ("featurizers", "docs/features.md"),
    "design": ("designs of datasets", "docs/data.md"),
}


def table() -> str:
    """The table as it stands in the README, with its marks."""
    rows = ["| | registered names |", "|---|---|"]
    for kind, (title, page) in KINDS.items():
        rows.append(f"| [{title}]({page}) | {_listed(registry.names(kind))} |")
    suites = sorted(file.stem for file in SUITES.glob("*.yaml"))
    rows.append(f"| [suites](docs/benchmarks.md) | {_listed(suites)} |")
    return BEGIN + "\n".join(rows) + "\n" + END


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    README.write_text(before + table() + rest.partition(END)[2], encoding="utf-8")
