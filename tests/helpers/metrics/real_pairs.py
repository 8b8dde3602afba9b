"""Real pairs on which metrics are compared with the stored scores of official scripts.

Chosen by rule, the texts are never stored.
"""

import csv
import gzip
import json

COUNT = 200


def lines(path):
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


def captions(data):
    """The first 200 concept sets of CommonGen's dev part with two or more scenes: the first scene against the
    others.
    """
    every = [scenes for _, scenes in concepts(data)]
    scenes = [scene for scene in every if len(scene) > 1][:COUNT]
    return [scene[0] for scene in scenes], [scene[1:] for scene in scenes]


def concepts(data):
    """All concept sets of that part with their scenes."""
    return [
        (row["concept_set"], row["scene"])
        for row in map(json.loads, lines(data / "commongen" / "commongen.dev.jsonl.gz"))
    ]


def summaries(data):
    """The first 200 rows of SciTLDR's dev and test parts: the abstract's last two sentences against all
    summaries; a sentence a line.
    """
    folder = data / "summarization_scitldr" / "SciTLDR-A"
    rows = [json.loads(line) for part in ("dev", "test") for line in lines(folder / f"{part}.jsonl.gz")][
        :COUNT
    ]
    return ["\n".join(row["source"][-2:]) for row in rows], [
        [text.replace(". ", ".\n") for text in row["target"]] for row in rows
    ]


def answers(data):
    """The first 200 questions of NarrativeQA's valid part: the first answer against the second, and against
    the question.
    """
    rows = [
        row for row in csv.DictReader(lines(data / "narrativeqa" / "qaps.csv.gz")) if row["set"] == "valid"
    ][:COUNT]
    return [row["answer1"] for row in rows], [[row["answer2"], row["question"]] for row in rows]
