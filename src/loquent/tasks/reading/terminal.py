"""A game for people: as plain text, and in colours for a terminal."""

from __future__ import annotations

import re

from loquent.core.guards.terminal import escape_text
from loquent.core.task import Observation

BOLD, MARKED, PLAIN = "\x1b[1m", "\x1b[1;33m", "\x1b[0m"


def render(observation: Observation) -> str:
    """The question, the memory (the current sentence has an arrow), and the remaining commands."""
    fields = observation.fields
    lines = [f"Question: {fields['question']}", *_memory(observation), f"Commands left: {fields['left']}"]
    if fields.get("answer") is not None:
        lines.append(f"Answer: {fields['answer']}")
    return "\n".join(lines)


def render_ansi(observation: Observation) -> str:
    """The question and the memory in colours: the words of the question are marked in the sentences."""
    fields = observation.fields
    words = [re.escape(escape_text(word)) for word in fields["queries"] if word in fields["question"].split()]
    mark = re.compile(rf"(?<!\S)({'|'.join(words)})(?!\S)") if words else None
    lines = [f"{BOLD}{escape_text(fields['question'])}{PLAIN}"]
    for line in _memory(observation):
        text = escape_text(line)
        lines.append(mark.sub(rf"{MARKED}\1{PLAIN}", text) if mark else text)
    return "\n".join(lines) + "\n"


def _memory(observation: Observation) -> list[str]:
    fields = observation.fields
    lines = [f"{'>' if sentence == fields['sentence'] else ' '} {sentence}" for sentence in fields["memory"]]
    return lines if fields["sentence"] in fields["memory"] else [*lines, f"> {fields['sentence']}"]
