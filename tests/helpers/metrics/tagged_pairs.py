"""Real tagged sentences with labels spoiled by rule, for the scores that seqeval gave to them
(`golden/seqeval.json`).
"""

import gzip

SPOILED = ("O", "I-person", "B-group", "I-location", "B-person")
ODD = ("E-person", "S-group", "I-person", "E-location")


def sentences(beside):
    """(tokens, right labels, spoiled labels) of each sentence of WNUT 2017's test part, in BIO."""
    with gzip.open(beside / "data" / "wnut17" / "wnut17.test.conll.gz", "rt", encoding="utf-8") as file:
        blocks = [block.splitlines() for block in file.read().strip().split("\n\n")]
    found = []
    for i, block in enumerate(blocks):
        columns = [line.split("\t") for line in block]
        gold = [column[-1] for column in columns]
        said = [
            SPOILED[(i + j) % 5]
            if (7 * i + 13 * j) % 11 == 0 or (label != "O" and (i + j) % 4 == 0)
            else label
            for j, label in enumerate(gold)
        ]
        found.append(([column[0] for column in columns], gold, said))
    return found


def bioes(labels):
    """The labels with E- at the end of a span and S- for a span of one, whatever begins it."""
    made = []
    for label, behind in zip(labels, [*labels[1:], "O"], strict=True):
        last = not (behind.startswith("I-") and behind[2:] == label[2:])
        made.append(label if label == "O" or not last else f"{'S' if label[0] == 'B' else 'E'}-{label[2:]}")
    return made


def io(labels):
    """The labels without prefixes."""
    return [label if label == "O" else label[2:] for label in labels]


def odd(labels):
    """BIOES with some labels where no such label belongs."""
    return [
        ODD[j % 4] if (5 * len(labels) + 3 * j) % 13 == 0 else label for j, label in enumerate(bioes(labels))
    ]


SCHEMES = {"bio": (list, list), "bioes": (bioes, odd), "io": (io, io)}  # for right and for spoiled labels


def written(tokens, labels):
    """A tagged sentence as text."""
    return " ".join(f"{token}/{label}" for token, label in zip(tokens, labels, strict=True))
