"""The tables of docs/defaults.md, made of the settings in the code and of recorded values of libraries."""

import dataclasses
from pathlib import Path

import yaml

from loquent.core import registry

RECORDED = yaml.safe_load(Path(__file__).with_name("published_defaults.yaml").read_text())
ALGORITHMS = (
    "ppo",
    "nlpo",
    "a2c",
    "trpo",
    "grpo",
    "rloo",
    "dpo",
    "online_dpo",
    "kto",
    "orpo",
    "ilql",
    "cql",
    "psi",
)


def defaults(algorithm):
    """Our default of each setting."""
    return {
        field.name: field.default
        for field in dataclasses.fields(registry.find("algorithm", algorithm).Config)
    }


def in_our_units(recorded):
    """A recorded value as our setting has it."""
    if not isinstance(recorded, dict):
        return recorded
    value, factor = recorded["value"], recorded.get("factor")
    return value if value is None or factor is None else value * factor


def shown(value):
    if value is None:
        return "none"
    if isinstance(value, bool):  # before numbers, because 1 == True
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def cell(entry):
    """A recorded value, with the name, the value and the factor of the library where they differ."""
    text = f"`{shown(in_our_units(entry))}`"
    if not isinstance(entry, dict):
        return text
    factor = f" {shown(entry['value'])} · {shown(entry['factor'])}" if entry.get("factor") else ""
    return f"{text} (`{entry['name']}{factor}`)"


def version(source, algorithm):
    """The version of a source that the values of an algorithm were recorded from."""
    return source.get("versions", {}).get(algorithm) or source["version"].split(" ")[0]


def table(algorithm):
    """The Markdown table of one algorithm, or of the `sources`."""
    if algorithm == "sources":
        return sources()
    rows, ours = RECORDED[algorithm], defaults(algorithm)
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    titles = [
        f"{source['title']} {version(source, algorithm)}" if source else f"`{name}`"
        for name, source in ((name, RECORDED["sources"].get(name)) for name in columns)
    ]
    lines = ["| setting | Loquent | " + " | ".join(titles) + " |", "|---" * (2 + len(columns)) + "|"]
    for setting, row in rows.items():
        cells = [cell(row[name]) if name in row else "" for name in columns]
        lines.append(f"| `{setting}` | " + " | ".join([f"`{shown(ours[setting])}`", *cells]) + " |")
    return "\n".join(lines) + "\n"


def sources():
    """The files that the values were recorded from."""
    lines = ["| source | version | files |", "|---|---|---|"]
    for source in RECORDED["sources"].values():
        files = ", ".join(f"`{file}`" for file in source["files"])
        lines.append(f"| {source['title']} | {source['version']} | {files} |")
    return "\n".join(lines) + "\n"
