"""Real pairs by one rule, for stored outputs of reference implementations."""

import gzip
import json

PAIRS = 240


def captions(beside):
    """(predictions, references): of the first sets of CommonGen's dev split the first sentence against all
    others, where there are others.
    """
    with gzip.open(beside / "data" / "commongen" / "commongen.dev.jsonl.gz", "rt", encoding="utf8") as file:
        scenes = [json.loads(line)["scene"] for line in file]
    chosen = [scene for scene in scenes if len(scene) > 1][:PAIRS]
    return [scene[0] for scene in chosen], [scene[1:] for scene in chosen]


def summaries(beside):
    """(documents, summaries): of SciTLDR's test split the sources, and their first targets, of which every
    other one is the next document's.
    """
    with gzip.open(
        beside / "data" / "summarization_scitldr" / "SciTLDR-A" / "test.jsonl.gz", "rt", encoding="utf8"
    ) as file:
        rows = [json.loads(line) for line in file][:PAIRS]
    documents, targets = [" ".join(row["source"]) for row in rows], [row["target"][0] for row in rows]
    return documents, [targets[(i + i % 2) % len(rows)] for i in range(len(rows))]
