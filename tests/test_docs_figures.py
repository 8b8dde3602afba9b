"""Figures of pages that are computed from the built-in rows."""

import json
from collections import Counter, defaultdict

import pytest

import loquent
from tools.corpora.texts import SUBJECTS
from tools.pages.records import RESULTS


def right_tokens(task, key) -> float:
    """The share of test tokens whose label is the most frequent one of their key in train."""
    counts = defaultdict(Counter)
    for split in ("train", "test"):
        right = []
        for row in task.rows(split):
            words, labels = row["tokens"], row["labels"]
            for place, label in enumerate(labels):
                seen = counts.get(found := key(words, labels, place), Counter(O=1))
                right.append(seen.most_common(1)[0][0] == label)
                if split == "train":
                    counts[found][label] += 1
    return sum(right) / len(right)


def test_the_baselines_are_those_of_the_rows():
    """What tagging.md and multilabel.md say of the built-in rows holds for the rows as they are."""
    [stored] = map(json.loads, (RESULTS / "baselines.jsonl").read_text().splitlines())

    def before(labels, place):
        return labels[place - 1] if place else ""

    def coarse(words, labels, place):
        following = words[place + 1] if place + 1 < len(words) else ""
        return before(labels, place), following, "" if words[place][:1].isupper() else words[place]

    keys = {
        "O": lambda words, labels, place: "",
        "token": lambda words, labels, place: words[place],
        "token and label before": lambda words, labels, place: (words[place], before(labels, place)),
        "label before and next word": coarse,
    }
    task = loquent.task("tagging")
    assert {name: right_tokens(task, key) for name, key in keys.items()} == pytest.approx(stored["tagging"])
    subject = {word: name for name, words in SUBJECTS.items() for word in words}
    texts = loquent.task("multilabel").rows("test")
    named = [
        {subject[word] for word in row["text"].split() if word in subject} == set(row["labels"])
        for row in texts
    ]
    assert sum(named) / len(named) == pytest.approx(stored["multilabel"]["named"])
