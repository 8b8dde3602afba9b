"""What a run says of prompts that are cut for length: their share, the side, and what to set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Episode
from loquent.models.decoding_settings import Decoding


def cut_text(share: float, what: str, room: int, decoding: Decoding, section: str) -> str:
    """The remark on a share of prompts that are cut; "" if none is.

    Args:
        what: what the share is of, such as "of the rows to learn from".
        room: the most tokens of a prompt.
        section: the section of the recipe with these settings of decoding.
    """
    if not share:
        return ""
    setting = f"lower {section}.max_new_tokens, or use a model with a longer context"
    if decoding.max_prompt_tokens:
        setting = f"raise {section}.max_prompt_tokens = {decoding.max_prompt_tokens}, or {setting}"
    return (
        f"{share:.0%} {what} are cut to prompts of at most {room} tokens: they lose their oldest turns, then "
        f"tokens on the {decoding.truncation_side} side ({section}.truncation_side); {setting}"
    )


def cuts_of_evaluation(agent: Any, episodes: Sequence[Episode], split: str) -> str:
    """The remark on evaluated episodes whose last prompt is cut.

    It is "" if no prompt is cut, and for an agent that writes no prompts of tokens.
    """
    decoding, form = getattr(agent, "decoding", None), getattr(agent, "format", None)
    if not isinstance(decoding, Decoding) or form is None or not episodes:
        return ""
    cut = [_is_cut(form, episode, agent.room, decoding.truncation_side) for episode in episodes]
    what = f"of the episodes that are evaluated on the split {split!r}"
    return cut_text(sum(cut) / len(cut), what, agent.room, decoding, "evaluation")


def _is_cut(form: Any, episode: Episode, room: int, side: str) -> bool:
    """Whether the last prompt of an episode, which is its longest, loses turns or tokens."""
    turns = episode.seen_by(episode.learning)
    own = [number for number, turn in enumerate(turns) if turn.seat == episode.learning]
    if not own:
        return False
    fit = form.fit(episode.instruction, turns[: own[-1]], episode.learning, room, side)
    return bool(fit.first or fit.cut)
