"""Every measured figure of the pages not yet made by `tools.pages` is the one in docs/results."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import loquent
from helpers import docs_figures
from tools.corpora.texts import SUBJECTS
from tools.pages.page import UNCONVERTED

HERE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("page", sorted(UNCONVERTED))
def test_the_figures_of_a_page_agree_with_their_sources(page):
    text = (HERE / page).read_text(encoding="utf-8")
    assert docs_figures.faults(text) == []
    assert docs_figures.COMMENT.search(text), "take the page from the list: tests/test_pages.py tests it"


PAGE = """# A page

It returns -5.51 ± 0.04 in 8 minutes with a setting of 0.5.

<!-- results: wordle.jsonl *
-5.51 0.return
0.04 0.error
8 0.seconds + 1.seconds / 60
-->
<!-- given: 0.5 -->

<!-- table: quickstart.jsonl 1 rows -->
| method | sentiment | perplexity |
|---|---|---|
| `ppo` | 0.714 | 4.32 |

Published (rl4lms; mean ± standard deviation):

| | sentiment | n | where |
|---|---|---|---|
| PPO | 0.602 ± 0.012 | 5 | row PPO/0.1 |
"""


def test_a_true_page_has_no_faults():
    assert docs_figures.faults(PAGE) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("returns -5.51", "returns -5.52", "-5.52 has no source"),
        ("-5.51", "-5.52", "-5.52 is -5.505"),
        ("returns -5.51 ", "returns ", "-5.51 is not in the section"),
        ("8 minutes", "9 minutes", "9 has no source"),
        ("setting of 0.5", "setting of 0.6", "0.6 has no source"),
        ("A page\n", "A page\n\nA gain of 12%.\n", "12 has no source"),
        ("A page\n", "A page\n\n## Another\n", "-5.51 has no source"),
        ("| 0.714 |", "| 0.715 |", "0.715 is not in"),
        ("| 0.714 | 4.32", "| 4.32 | 0.714", "sentiment: 4.32 is not in"),
        ("| `ppo` |", "| `other` |", "0.714 has no source"),
        ("0.602 ± 0.012", "0.603 ± 0.012", "PPO/0.1 of rl4lms"),
    ],
)
def test_a_false_page_is_caught(old, new, says):
    assert old in PAGE
    changed = PAGE.replace(old, new)
    if says.startswith("-5.51 has"):
        changed = changed.replace("It returns", "## Third\n\nIt returns").replace(
            "<!-- results", "## Fourth\n\n<!-- results"
        )
    assert any(says in fault for fault in docs_figures.faults(changed)), docs_figures.faults(changed)


@pytest.mark.parametrize(
    ("text", "exact", "right"),
    [
        ("0.35", 0.345, True),
        ("0.34", 0.345, True),
        ("0.34", 0.3451, False),
        ("2,097", 2097.4, True),
        ("8", 8.6, False),
    ],
)
def test_a_figure_is_compared_with_its_digits(text, exact, right):
    assert docs_figures.agrees(text, exact) is right


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
    [stored] = [
        json.loads(line) for line in (docs_figures.RESULTS / "baselines.jsonl").read_text().splitlines()
    ]

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
