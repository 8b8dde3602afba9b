"""`loquent export`: a run's model as an ordinary Hugging Face folder."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import checkpoint


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Copy the model and say where it is."""
    folder = checkpoint.export(arguments.run, arguments.folder)
    print(f"the model is in {folder}; transformers loads it with AutoModelForCausalLM.from_pretrained({str(folder)!r})")
    return 0, {"run": str(arguments.run), "folder": str(folder)}
