"""How results are printed, for the commands that share them."""

from __future__ import annotations

from typing import Any


def scores(evaluation: dict[str, Any]) -> None:
    """Print the values of an evaluation, each with its standard error where it has one."""
    print(f"{evaluation['task']}, {evaluation['split']}, n = {evaluation['n']}")
    width = max(map(len, evaluation["values"]), default=0)
    for name, value in evaluation["values"].items():
        error = evaluation["errors"].get(name)
        number = "none" if value is None else f"{value:.4g}"
        print(f"  {name:<{width}}  {number}" + (f" ± {error:.2g}" if error is not None else ""))
