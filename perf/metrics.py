"""Benchmarks of metrics on 1,000 pairs: our metric on all of them against a library called sample by sample.

Texts are English sentences of Python's own documentation (`pydoc_data`), each made of two halves; predictions
are their references with words dropped, swapped and replaced. Every round has texts that no round before it
had, so that nothing kept from an earlier one helps.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from references import metric_loops

from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record

QUICK = 12  # pairs
SENTENCE = re.compile(r"(?<=[.!?])\s+")
LENGTHS = range(6, 40)  # words of a sentence that is taken
KEPT, SWAPPED, REPLACED = 0.8, 0.1, 0.15
KINDS, OFTEN = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), (0.6, 0.1, 0.1, 0.1, 0.1)


@dataclass(frozen=True)
class Comparison:
    """What a metric is measured against, how many times faster it is meant to be, its options, and what texts
    both read.
    """

    about: str
    reference: Callable[..., metric_loops.Loop]
    target: float = 1.0
    options: dict[str, Any] = field(default_factory=dict)
    references: int = 1
    plain: bool = False  # lower-case words alone, which every tokenizer reads alike
    tagged: bool = False  # words with the labels of names in them
    encoder: bool = False  # both sides read by one made for them
    pairs: int = 1000  # fewer where the loop takes minutes
    inexact: float = 1e-6


COMPARISONS = {
    "meteor": Comparison("METEOR, against NLTK's", metric_loops.meteor, 3.0),
    "cider": Comparison(
        "CIDEr-D, five references, against pycocoevalcap's",
        metric_loops.cider,
        3.0,
        {"tokenizer": "whitespace"},
        5,
        plain=True,
    ),
    "parent": Comparison(
        "PARENT, against ToTTo's script", metric_loops.parent, 3.0, references=2, plain=True
    ),
    "rouge": Comparison("ROUGE-1, 2, L and Lsum, against rouge-score", metric_loops.rouge),
    "rouge_l_max": Comparison(
        "NarrativeQA's ROUGE-L, against py-rouge", metric_loops.rouge_l_max, references=2, plain=True
    ),
    "bleu": Comparison("BLEU of samples and corpus, against NLTK's sentence_bleu", metric_loops.bleu),
    "sacrebleu": Comparison(
        "SacreBLEU of samples and corpus, against sentence_bleu",
        lambda: metric_loops.sacrebleu("sentence_bleu"),
        references=2,
    ),
    "chrf": Comparison(
        "chrF of samples and corpus, against sentence_chrf",
        lambda: metric_loops.sacrebleu("sentence_chrf"),
        references=2,
    ),
    "ter": Comparison(
        "TER of samples and corpus, against sentence_ter",
        lambda: metric_loops.sacrebleu("sentence_ter"),
        references=2,
    ),
    "token_f1": Comparison("F1 of SQuAD, against a plain reading", metric_loops.token_f1, references=2),
    "exact_match": Comparison(
        "exact match of SQuAD, against a plain reading", metric_loops.exact_match, references=2
    ),
    "bleu_totto": Comparison(
        "ToTTo's BLEU of samples and corpus, against sentence_bleu",
        metric_loops.bleu_totto,
        references=3,
        plain=True,
    ),
    "self_bleu": Comparison(
        "self-BLEU, against NLTK's sentence_bleu with all other answers",
        metric_loops.self_bleu,
        plain=True,
        pairs=100,
    ),
    "token_labels": Comparison("F1 of tokens, against scikit-learn", metric_loops.tagging, tagged=True),
    "span_f1": Comparison("F1 of spans, against seqeval", metric_loops.span_f1, tagged=True),
    "label_sets": Comparison(
        "F1, Jaccard and nDCG of sets, against scikit-learn's F1", metric_loops.multilabel, plain=True
    ),
    "bert_score": Comparison(
        "BERTScore by a small BERT, against a pair at a time",
        metric_loops.bert_score,
        encoder=True,
        pairs=100,
        inexact=1e-5,
    ),
}


class Texts(NamedTuple):
    """What both sides read."""

    said: list[str]
    wanted: list[list[str]]
    rows: list[Row]


def metric(rounds: int, *, name: str, size: str = "tiny") -> dict[str, Any]:
    """Pairs a second of ours and of the loop."""
    import measuring

    one = COMPARISONS[name]
    pairs = QUICK if size == "quick" else one.pairs
    with tempfile.TemporaryDirectory() as folder:
        given = {"path": str(made_encoder(Path(folder)))} if one.encoder else {}
        loop, ours = one.reference(**given), registry.find("metric", name)(Context(), **one.options, **given)

        def measure(texts: Texts) -> list[float | None]:
            found = ours(Samples(texts.said, texts.wanted, rows=texts.rows))
            return found.samples.get(ours.name, [found.corpus.get(ours.name)])

        checked = agreement(name, measure, loop, made(pairs, one, "checked"), one.inexact)
        texts = [made(pairs, one, number) for number in range(rounds + 1)]  # one round is a warm-up
        mine, other = iter(texts), iter(texts)
        sides = measuring.alternate(lambda: measure(next(mine)), lambda: loop(*next(other)), rounds)
    return {"checked": checked, "pairs": pairs, **measuring.summary(sides, pairs, "pairs")}


def agreement(
    name: str,
    measure: Callable[[Texts], list[float | None]],
    loop: metric_loops.Loop,
    texts: Texts,
    inexact: float,
) -> str:
    """That both sides give equal scores; AssertionError where they do not."""
    apart = [abs((a or 0.0) - b) for a, b in zip(measure(texts), loop(*texts), strict=True)]
    assert max(apart) <= inexact, f"{name} differs by {max(apart)} at {texts.said[int(np.argmax(apart))]!r}"
    return f"{len(apart)} of {len(apart)} scores equal within {max(apart):.0e}"


def made(pairs: int, one: Comparison, which: str | int) -> Texts:
    """So many pairs with tables."""
    known, rng = sentences(), Key(0, ("metric texts", which)).generator()
    vocabulary = [
        f"{word}/{KINDS[len(word) % len(KINDS)]}" if one.tagged else word
        for sentence in known
        for word in sentence
    ]
    said, wanted, rows = [], [], []
    for number in range(pairs):
        first, second = (known[i] for i in rng.integers(len(known), size=2))
        whole = [*first[: len(first) // 2], *second[len(second) // 2 :]]
        if one.plain:
            whole = [bare for word in whole if (bare := re.sub("[^a-z]", "", word.lower()))] or ["nothing"]
        if one.tagged:
            whole = [
                f"{word}/{kind}"
                for word, kind in zip(whole, rng.choice(KINDS, len(whole), p=OFTEN), strict=True)
            ]
        told = [whole, *(varied(whole, vocabulary, rng, one.plain) for _ in range(one.references))]
        said.append(" ".join(told.pop()))
        wanted.append([" ".join(text) for text in told])
        rows.append(Row(str(number), table(whole, rng)))
    return Texts(said, wanted, rows)


def varied(words: list[str], vocabulary: list[str], rng: np.random.Generator, plain: bool) -> list[str]:
    """A text with words dropped, swapped with the next one, and replaced."""
    kept = [
        word for word, chance in zip(words, rng.random(len(words)), strict=True) if chance < KEPT
    ] or words[:1]
    for place in np.flatnonzero(rng.random(len(kept) - 1) < SWAPPED):
        kept[place], kept[place + 1] = kept[place + 1], kept[place]
    for place in np.flatnonzero(rng.random(len(kept)) < REPLACED):
        other = vocabulary[rng.integers(len(vocabulary))]
        kept[place] = re.sub("[^a-z]", "", other.lower()) or kept[place] if plain else other
    return kept


def table(words: list[str], rng: np.random.Generator) -> Record:
    """A table of 8 rows and 4 columns of one to three words of a text, of which three cells are
    highlighted.
    """
    plain = [bare for word in words if (bare := re.sub("[^a-z]", "", word.lower()))] or ["nothing"]

    def cell() -> str:
        place, count = rng.integers(len(plain)), rng.integers(1, 4)
        return " ".join(plain[place : place + count])

    cells = tuple(tuple(cell() for _ in range(4)) for _ in range(8))
    return Record(table=cells, highlighted_cells=((1, 0), (1, 2), (5, 3)))


def sentences() -> list[list[str]]:
    """The words of sentences of Python's documentation, always in the same order."""
    from pydoc_data.topics import topics

    texts = (
        re.sub(r"\s+", " ", paragraph) for name in sorted(topics) for paragraph in topics[name].split("\n\n")
    )
    cut = (sentence.split() for text in texts for sentence in SENTENCE.split(text))
    return [words for words in cut if len(words) in LENGTHS and words[0][0].isalpha()]


def made_encoder(folder: Path) -> Path:
    """A BERT of six layers of 384 (the shape of MiniLM) with random weights, and a tokenizer that has learned
    these sentences.
    """
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    learned = BertWordPieceTokenizer()
    learned.train_from_iterator(
        (" ".join(words) for words in sentences()), vocab_size=4000, show_progress=False
    )
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(
        tokenizer_object=_bounded(learned), model_max_length=512, **marks
    ).save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shape = {
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "intermediate_size": 1536,
        }
        BertModel(
            BertConfig(vocab_size=learned.get_vocab_size(), **shape), add_pooling_layer=False
        ).eval().save_pretrained(folder)
    return folder


def _bounded(tokenizer: Any) -> Any:
    """The tokenizer with the markers at both ends of each text."""
    from tokenizers.processors import BertProcessing

    tokenizer._tokenizer.post_processor = BertProcessing(
        *((mark, tokenizer.token_to_id(mark)) for mark in ("[SEP]", "[CLS]"))
    )
    return tokenizer._tokenizer
