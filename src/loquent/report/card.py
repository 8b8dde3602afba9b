"""The model card of a run: the README that a page of a model hub shows.

It has the licence, the recipe, the data and the table of the last evaluation. Absolute paths of this machine
are shortened to their last part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.core.safe_yaml import dump, read
from loquent.files import final_evaluation
from loquent.files.machine.version import __version__
from loquent.files.run_folder import RunFolder
from loquent.statistics.tables import NONE, Table, literal, number


def card(run: RunFolder, licence: str, pipeline: str, use: str = "") -> str:
    """The card as Markdown, with its fields for the hub as YAML before it.

    Args:
        licence: the id of the licence, such as apache-2.0.
        pipeline: the kind of the model on the hub, such as text-generation.
        use: how the model is used, as Markdown.
    """
    recipe = without_places(read(run.config).bare())
    task = recipe["task"] if isinstance(recipe["task"], dict) else {"kind": recipe["task"]}
    fields = {
        "license": licence,
        "library_name": "transformers",
        "pipeline_tag": pipeline,
        "tags": ["loquent", "reinforcement-learning"],
    }
    parts = [
        f"---\n{dump(fields)}---",
        f"# {literal(str(recipe['name']))}",
        f"Trained with Loquent {__version__} by the recipe below.",
        f"## Data\n\nThe task `{literal(str(task['kind']))}` with these options:",
        f"```yaml\n{dump(task)}```",
        *([f"## Use\n\n{use.strip()}"] if use.strip() else []),
        "## Evaluation",
        _evaluation(run),
        f"## Recipe\n\n```yaml\n{dump(recipe)}```",
        f"## Licence\n\n{licence}",
    ]
    return "\n\n".join(parts) + "\n"


def _evaluation(run: RunFolder) -> str:
    if not run.has_ended:
        return "The run was not evaluated at its end."
    found = run.evaluation()
    errors = found["errors"]
    body = [
        [key, value, NONE if errors.get(key) is None else number(errors[key])]
        for key, value in found["values"].items()
    ]
    table = Table(["value", "mean", "± standard error"], body).markdown()
    return f"{literal(final_evaluation.heading(found))}\n\n{table}"


def without_places(value: Any) -> Any:
    """The value, in which an absolute path is its last part."""
    if isinstance(value, dict):
        return {name: without_places(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(item) for item in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
