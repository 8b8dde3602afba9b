"""CommonGen (arXiv:1911.03705): a set of concepts, and sentences that use all of them.

A record of the published files has `concept_set` ("dog#frisbee#catch") and `scene`, a list of sentences; one
of the hub has `concepts` and `target`, and in GEM `references` too. In train each sentence is a row, in other
splits each record. RL4LMs reads `target` alone.
"""

from __future__ import annotations

from loquent.tasks.generation.corpora.dataset import Example, Fields, Form, text, texts, without_blanks


def examples(record: Fields, split: str, form: Form) -> list[Example]:
    """The rows of a set of concepts; a test split without sentences has rows without references."""
    if "concept_set" in record:
        concepts = texts(text(record, "concept_set").split("#"), "the concepts")
        sentences = texts(record.get("scene", ()), "the sentences")
    else:
        concepts = texts(record.get("concepts"), "the concepts")
        sentences = texts(record.get("references") or record.get("target", ()), "the sentences")
    if not concepts:
        raise ValueError("this set has no concept; it must have at least one")
    sentences = without_blanks(sentences)
    references = [(sentence,) for sentence in sentences] if split == "train" else [sentences]
    if split == "train" and not references:
        raise ValueError("this set has no sentence; a set of the training split must have at least one")
    parts, kept = {"concepts": " ".join(concepts)}, {"concepts": concepts}
    return [Example(parts, found, kept) for found in references]
