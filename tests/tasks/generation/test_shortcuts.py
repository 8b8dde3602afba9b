"""On each built-in dataset, answers that need no learning score under half of what a reference scores.

A reference is scored against the others of its row (leave one out), a shortcut against all of them. The
metric is the one that RL4LMs (arXiv:2210.01241) optimises on the task.
"""

import json
import re
from collections import Counter

import pytest

from loquent.core.metric import Context, Samples
from loquent.metrics import making
from loquent.tasks.generation.task import Generation

EXACT = {"wordnet": "none"}  # the same score with and without WordNet on the machine
OPTIMISED = {
    "commongen": ("meteor", EXACT, "meteor-exact-stem"),
    "cnn_daily_mail": ("meteor", EXACT, "meteor-exact-stem"),
    "totto": ("parent", {}, "parent"),
    "wmt16": ("sacrebleu", {}, "sacrebleu"),
    "iwslt2017": ("sacrebleu", {}, "sacrebleu"),
    "narrative_qa": ("rouge_l_max", {}, "rouge_l_max"),
    "daily_dialog": ("meteor", EXACT, "meteor-exact-stem"),
}
ROWS = 60
CONSTANTS = 15


def source(prompt):
    """A prompt without the words before its first colon."""
    return prompt.partition(": ")[2] or prompt


def lead(prompt, sentences=1):
    """The first sentences of a prompt's source."""
    return " ".join(re.split(r"(?<=[.?!])\s|<EOU>", source(prompt))[:sentences])


def shortcuts(dataset, rows, train):
    """Answers for all rows by the name of the shortcut."""
    counted = Counter(row["references"][0] for row in train)
    found = {
        "prompt": [row["prompt"] for row in rows],
        "source": [source(row["prompt"]) for row in rows],
        "lead": [lead(row["prompt"]) for row in rows],
        "lead 3": [lead(row["prompt"], 3) for row in rows],
        "last sentence": [re.split(r"(?<=[.?!])\s|<EOU>", row["prompt"])[-1] for row in rows],
        "cells": [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row["prompt"])) for row in rows],
    }
    for number, (reference, _) in enumerate(counted.most_common(CONSTANTS)):
        found[f"frequent reference {number}"] = [reference] * len(rows)
    return found


def measured(dataset):
    """The mean score of a reference against the others of its row, and of each shortcut against all."""
    name, options, key = OPTIMISED[dataset]
    task = Generation(Generation.Options(dataset=dataset))
    rows = task.rows("test")[:ROWS]
    metric = making.make(name, Context(), options)

    def mean(answers, references):
        scores = metric(Samples(answers, references, [row["prompt"] for row in rows], rows)).samples[key]
        return sum(scores) / len(scores)

    references = [row["references"] for row in rows]
    width = min(map(len, references))
    assert width >= 3
    left_out = [
        mean([texts[i] for texts in references], [texts[:i] + texts[i + 1 :] for texts in references])
        for i in range(width)
    ]
    tried = shortcuts(dataset, rows, task.rows("train"))
    return sum(left_out) / width, {shortcut: mean(said, references) for shortcut, said in tried.items()}


@pytest.mark.parametrize("dataset", OPTIMISED)
def test_a_shortcut_scores_under_half_of_a_reference(dataset):
    pytest.importorskip("sacrebleu" if dataset in ("totto", "wmt16", "iwslt2017") else "nltk")
    reference, scores = measured(dataset)
    best = max(scores, key=scores.get)
    assert scores[best] < reference / 2, f"{best}: {scores[best]:.3f}, a reference: {reference:.3f}"


if __name__ == "__main__":  # the table of docs/grue.md
    for one in OPTIMISED:
        score, others = measured(one)
        frequent = max(value for shortcut, value in others.items() if shortcut.startswith("frequent"))
        print(
            json.dumps(
                {
                    "dataset": one,
                    "metric": OPTIMISED[one][0],
                    "reference": round(score, 4),
                    "prompt": round(max(others["prompt"], others["source"], others["cells"]), 4),
                    "lead": round(max(others["lead"], others["lead 3"], others["last sentence"]), 4),
                    "frequent": round(frequent, 4),
                }
            )
        )
