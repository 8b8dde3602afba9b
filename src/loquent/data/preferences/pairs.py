"""Pairs of texts, one of them preferred, from judgements.

The judgements of one pair of texts are one pair, with the text that most raters prefer (arXiv:2210.01241
sec. B.4.4); pairs without a majority are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from loquent.data.preferences import pair_files, sheet_files
from loquent.data.preferences.judgements import Preference
from loquent.data.preferences.pair import Pair, Pairs, same_text
from loquent.errors import BadRow, BadSetting


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
    files = [path for path in paths if pair_files.is_chosen(path)]
    pairs = [pair for path in files for pair in pair_files.read(path)]
    kept = tuple(pair for pair in pairs if same_text(pair.chosen) != same_text(pair.rejected))
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
    preferences = sheet_files.read_all(paths)[0].preferences
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
