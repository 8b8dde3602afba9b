"""A game for people: the dialogue and how far the image is known."""

from __future__ import annotations

from loquent.core.guards.terminal import escape_text
from loquent.core.task import Observation

BOLD, DIM, GREEN, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"
WIDTH = 40


def render_ansi(observation: Observation) -> str:
    """The caption, each question with its answer, and a bar of the image's percentile."""
    fields = observation.fields
    lines = [f"{BOLD}{escape_text(fields['caption'])}{PLAIN}"]
    lines += [
        f"{DIM}{escape_text(asked)}{PLAIN} {escape_text(answer)}" for asked, answer in fields["history"]
    ]
    filled = round(min(max(fields["percentile"], 0.0), 1.0) * WIDTH)
    bar = f"{GREEN}{'#' * filled}{PLAIN}{'.' * (WIDTH - filled)}"
    lines.append(f"{bar} {standing(observation)}")
    return "\n".join(lines) + "\n"


def standing(observation: Observation) -> str:
    """How far the image is known, and the questions left."""
    measure, left = observation.fields["percentile"], observation.fields["left"]
    known = f"ahead of {measure:.2%} of all images" if 0.0 <= measure <= 1.0 else f"measure {measure:.4g}"
    return f"{known}, {left} questions left"
