"""Pairs of texts, one of them preferred, from judgements; and their division into training and held out.

The judgements of one pair of texts are one pair, with the text that most raters prefer (arXiv:2210.01241
sec. B.4.4); pairs without a majority are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loquent.bench.preferences import chosen
from loquent.bench.preferences.chosen import Pair
from loquent.bench.study import filled
from loquent.bench.study.judgements import Preference
from loquent.errors import BadRow, BadSetting

LEAST = 4  # pairs on each side of the division


@dataclass(frozen=True)
class Pairs:
    """All pairs of some files, and the number of judgements and of pairs that are left out."""

    pairs: tuple[Pair, ...]
    judgements: int
    undecided: int

    @property
    def digest(self) -> str:
        """A hash of the pairs in their order."""
        digest = hashlib.sha256()
        for one in self.pairs:
            margin = [one.margin] if one.margin else []
            parts = [one.item, one.prompt, *one.texts, one.prefers_first, *margin]
            digest.update(json.dumps(parts).encode())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Division:
    """Training pairs and held-out pairs, without a prompt in common, and by default without a text.

    `left_out` counts the training pairs that were dropped because a held-out pair has one of their texts.
    """

    training: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    left_out: int


def read(paths: Sequence[Path], question: str = "") -> Pairs:
    """The pairs of files (.jsonl, .csv) and of prepared folders.

    A file holds judgements, as `loquent study` reads them, or records with `chosen` and `rejected`. Each of
    such records is a pair; those with equal texts are left out.

    Args:
        question: the question whose answers count; empty: the only one.

    Raises:
        BadRow: a file is malformed, or a preference has no texts; names file and line.
        BadSetting: a file is missing, there is no preference, or several questions and none is named.
    """
    files = [path for path in paths if chosen.is_chosen(path)]
    pairs = [pair for path in files for pair in chosen.read(path)]
    kept = tuple(pair for pair in pairs if _same(pair.chosen) != _same(pair.rejected))
    found = Pairs(kept, len(pairs), len(pairs) - len(kept))
    others = [path for path in paths if path not in files]
    if files and not others:
        return found
    judged = _judged(others, question)
    return Pairs(
        found.pairs + judged.pairs,
        found.judgements + judged.judgements,
        found.undecided + judged.undecided,
    )


def _judged(paths: Sequence[Path], question: str) -> Pairs:
    """The pairs of judgements."""
    preferences = filled.read_all(paths)[0].preferences
    asked = list(dict.fromkeys(one.question for one in preferences))
    if not preferences or (question and question not in asked):
        what = f"has no preference on {question!r}" if preferences else "holds no preference"
        advice = f"its questions: {', '.join(asked)}" if asked else "a line with `preferred` is one"
        raise BadSetting(f"{', '.join(map(str, paths))} {what}; {advice}")
    if len(asked) > 1 and not question:
        raise BadSetting(f"there are several questions; choose one with question=NAME: {', '.join(asked)}")
    return _merged([one for one in preferences if one.question == (question or asked[0])])


def _merged(preferences: Sequence[Preference]) -> Pairs:
    votes: Counter[tuple[str, tuple[str, str]]] = Counter()
    items: dict[tuple[str, tuple[str, str]], str] = {}
    for one in preferences:
        if one.texts is None:
            file, _, line = one.place.rpartition(":")
            why = "this preference has no texts; a reward model needs `first_text` and `second_text`"
            raise BadRow(f"{why}, and `prompt` where there is one", file=Path(file), line=int(line or 0))
        turned = (one.prompt, (one.texts[1], one.texts[0])) in items
        texts = (one.texts[1], one.texts[0]) if turned else one.texts
        key = (one.prompt, texts)
        items.setdefault(key, one.item)
        votes[key] += {"first": 1, "second": -1, "tie": 0}[one.preferred] * (-1 if turned else 1)
    pairs = [
        Pair(items[key], *key, votes[key] > 0)
        for key in items
        if votes[key] and " ".join(key[1][0].split()) != " ".join(key[1][1].split())
    ]
    return Pairs(tuple(pairs), len(preferences), len(items) - len(pairs))


def divided(pairs: Sequence[Pair], share: float, shared_texts: str = "drop") -> Division:
    """Hold out about `share` of the pairs, whole prompts at a time, chosen by hashes of the prompts.

    Pairs without a prompt are divided by their items. A training pair with a text of a held-out pair (but
    for case and spacing) is dropped, or with `shared_texts` "keep" it stays.

    Raises:
        BadSetting: fewer than `LEAST` pairs are left on a side.
    """
    groups: dict[str, list[Pair]] = {}
    for one in pairs:
        groups.setdefault(_same(one.prompt) or f"item {one.item}", []).append(one)
    held_out: list[Pair] = []
    training: list[Pair] = []
    for name in sorted(groups, key=lambda name: hashlib.blake2b(_bytes(name), digest_size=16).digest()):
        (held_out if len(held_out) < share * len(pairs) else training).extend(groups[name])
    texts = {_same(text) for one in held_out for text in one.texts}
    drops = shared_texts == "drop"
    kept = [one for one in training if not (drops and texts & {_same(text) for text in one.texts})]
    if min(len(held_out), len(kept)) < LEAST:
        raise BadSetting(
            f"of {len(pairs)} pairs with {len(groups)} prompts, {len(kept)} are left to train on and "
            f"{len(held_out)} to hold out; at least {LEAST} of each are needed, without a prompt"
            + (" or a text in common. Judge" if drops else " in common. Judge")
            + " answers to more prompts, change held_out"
            + (", or set shared_texts=keep" if drops and len(training) > len(kept) else "")
        )
    return Division(tuple(kept), tuple(held_out), len(training) - len(kept))


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
