"""The view of text generation for people."""

from __future__ import annotations

from loquent.core.task import Observation


def render(observation: Observation) -> str:
    """Prompt and answer as text for people, separated by "|"."""
    return f"{observation.fields['prompt']}|{observation.fields['answer']}"
