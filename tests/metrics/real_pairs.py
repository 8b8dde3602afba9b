"""Real pairs on which metrics are compared with the stored scores of official scripts; chosen by rule, the texts are never stored."""

import csv
import gzip
import io
import json

COUNT = 200


def captions(data):
    """The first 200 concept sets of CommonGen's dev part with two or more scenes: the first scene against the others."""
    lines = gzip.open(data / "commongen" / "commongen.dev.jsonl.gz", "rt", encoding="utf-8")
    scenes = [scene for scene in (json.loads(line)["scene"] for line in lines) if len(scene) > 1][:COUNT]
    return [scene[0] for scene in scenes], [scene[1:] for scene in scenes]


def concepts(data):
    """All concept sets of that part with their scenes."""
    lines = gzip.open(data / "commongen" / "commongen.dev.jsonl.gz", "rt", encoding="utf-8")
    return [(row["concept_set"], row["scene"]) for row in map(json.loads, lines)]


def summaries(data):
    """The first 200 rows of SciTLDR's dev and test parts: the abstract's last two sentences, a line each, against all summaries, a sentence a line."""
    rows = [
        json.loads(line)
        for part in ("dev", "test")
        for line in gzip.open(data / "summarization_scitldr" / "SciTLDR-A" / f"{part}.jsonl.gz", "rt", encoding="utf-8")
    ][:COUNT]
    return ["\n".join(row["source"][-2:]) for row in rows], [[text.replace(". ", ".\n") for text in row["target"]] for row in rows]


def answers(data):
    """The first 200 questions of NarrativeQA's valid part: the first answer against the second, and against the question."""
    text = io.StringIO(gzip.open(data / "narrativeqa" / "qaps.csv.gz", "rt", encoding="utf-8", newline="").read())
    rows = [row for row in csv.DictReader(text) if row["set"] == "valid"][:COUNT]
    return [row["answer1"] for row in rows], [[row["answer2"], row["question"]] for row in rows]
