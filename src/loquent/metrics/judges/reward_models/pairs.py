"""The division of pairs of texts, one of them preferred, into training and held out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from loquent.data.preferences.pair import Pair, same_text
from loquent.errors import BadSetting

LEAST = 4  # pairs on each side of the division


@dataclass(frozen=True)
class Division:
    """Training pairs and held-out pairs, without a prompt in common, and by default without a text.

    `left_out` counts the training pairs that were dropped because a held-out pair has one of their texts.
    """

    training: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    left_out: int


def divide(pairs: Sequence[Pair], share: float, shared_texts: str = "drop") -> Division:
    """Hold out about `share` of the pairs, whole prompts at a time, chosen by hashes of the prompts.

    Pairs without a prompt are divided by their items. A training pair with a text of a held-out pair (but
    for case and spacing) is dropped, or with `shared_texts` "keep" it stays.

    Raises:
        BadSetting: fewer than `LEAST` pairs are left on a side.
    """
    groups: dict[str, list[Pair]] = {}
    for one in pairs:
        groups.setdefault(same_text(one.prompt) or f"item {one.item}", []).append(one)
    held_out: list[Pair] = []
    training: list[Pair] = []
    for name in sorted(groups, key=lambda name: hashlib.blake2b(_bytes(name), digest_size=16).digest()):
        (held_out if len(held_out) < share * len(pairs) else training).extend(groups[name])
    texts = {same_text(text) for one in held_out for text in one.texts}
    drops = shared_texts == "drop"
    kept = [one for one in training if not (drops and texts & {same_text(text) for text in one.texts})]
    if min(len(held_out), len(kept)) < LEAST:
        raise BadSetting(
            f"of {len(pairs)} pairs with {len(groups)} prompts, {len(kept)} are left to train on and "
            f"{len(held_out)} to hold out; at least {LEAST} of each are needed, without a prompt"
            + (" or a text in common. Judge" if drops else " in common. Judge")
            + " answers to more prompts, change held_out"
            + (", or set shared_texts=keep" if drops and len(training) > len(kept) else "")
        )
    return Division(tuple(kept), tuple(held_out), len(training) - len(kept))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
