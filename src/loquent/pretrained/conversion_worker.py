"""The first conversion of a tokenizer without tokenizer.json, for the process of `core.guards.sandbox`.

It imports transformers, which takes seconds.
"""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from loquent.core.guards import tokenizer_worker
from loquent.pretrained.folder import load_unchecked


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """{} if the tokenizer of a job {"folder": path} can be used; else {"error": why}."""
    return tokenizer_worker.outcome(lambda: _converted(job["folder"]))


def _converted(folder: str) -> str:
    tokenizer = load_unchecked(AutoTokenizer, folder, None, "tokenizer")
    if not getattr(tokenizer, "is_fast", False):
        raise tokenizer_worker.Refused("it has no fast form; use a model with tokenizer.json")
    return str(tokenizer.backend_tokenizer.to_str())
