"""A game for people: the dialogue and how far the image is known."""

from __future__ import annotations

from loquent.core.guards.terminal import escaped
from loquent.core.task import Observation

BOLD, DIM, GREEN, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"
WIDTH = 40


def coloured(observation: Observation) -> str:
    """The caption, each question with its answer, and a bar of the image's percentile."""
    fields = observation.fields
    lines = [f"{BOLD}{escaped(fields['caption'])}{PLAIN}"]
    lines += [f"{DIM}{escaped(asked)}{PLAIN} {escaped(answer)}" for asked, answer in fields["history"]]
    share = min(max(fields["percentile"], 0.0), 1.0)
    filled = round(share * WIDTH)
    bar = f"{GREEN}{'#' * filled}{PLAIN}{'.' * (WIDTH - filled)}"
    lines.append(f"{bar} ahead of {share:.2%} of all images, {fields['left']} questions left")
    return "\n".join(lines) + "\n"
