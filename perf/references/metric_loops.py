"""Metrics one sample after the other, by the libraries that RL4LMs calls and in its way (the RL4LMs notes §1.4): a call per text, nothing kept.

Each loop takes predictions, references and rows, and gives one score per sample. What it imports is imported when it is made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

Loop = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[Any]], list[float]]


def meteor() -> Loop:
    """NLTK's `meteor_score` on Treebank tokens; without WordNet, one that knows no synonyms."""
    from nltk.corpus import wordnet
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    tokenize = NLTKWordTokenizer().tokenize
    known = wordnet if _found(wordnet) else SimpleNamespace(synsets=lambda word: [])
    return lambda said, wanted, rows: [
        meteor_score([tokenize(one) for one in own], tokenize(text), wordnet=known) for text, own in zip(said, wanted, strict=True)
    ]


def rouge() -> Loop:
    """The mean of F1 of ROUGE-1, 2 and L by rouge-score, each of the best reference; Lsum is computed too, as ours is."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=True)

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        found = [scorer.score_multi(own, text) for text, own in zip(said, wanted, strict=True)]
        return [sum(one[kind].fmeasure for kind in ("rouge1", "rouge2", "rougeL")) / 3 for one in found]

    return score


def bleu() -> Loop:
    """NLTK's `sentence_bleu` on the tokens of mteval-13a; with one reference it is the corpus script's BLEU of one sample."""
    import warnings

    from nltk.translate.bleu_score import sentence_bleu
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenize = Tokenizer13a()

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [sentence_bleu([tokenize(one).split() for one in own], tokenize(text).split()) for text, own in zip(said, wanted, strict=True)]

    return score


def sacrebleu(function: str, **options: Any) -> Loop:
    """A sentence function of sacrebleu, on a scale of 1."""
    import sacrebleu as library

    score = getattr(library, function)
    return lambda said, wanted, rows: [score(text, list(own), **options).score / 100 for text, own in zip(said, wanted, strict=True)]


def cider() -> Loop:
    """CIDEr-D of pycocoevalcap on texts that are tokens already; its document frequencies are those of all references."""
    from pycocoevalcap.cider.cider import Cider

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        given = {i: list(own) for i, own in enumerate(wanted)}
        return Cider().compute_score(given, {i: [text] for i, text in enumerate(said)})[1].tolist()

    return score


def rouge_l_max() -> Loop:
    """The best ROUGE-L of py-rouge with RL4LMs' settings for NarrativeQA, stems without WordNet's exceptions."""
    from pathlib import Path
    from types import ModuleType

    if "pkg_resources" not in sys.modules:  # gone from setuptools; py-rouge asks it for the place of its files
        stand_in = ModuleType("pkg_resources")
        vars(stand_in)["resource_filename"] = lambda module, name: str(Path(str(sys.modules[module].__file__)).parent / name)
        sys.modules["pkg_resources"] = stand_in
    from rouge.rouge import Rouge

    lengths = {"limit_length": True, "length_limit": 100, "length_limit_type": "words"}
    scorer = Rouge(metrics=["rouge-l"], **lengths, apply_avg=False, apply_best=False, alpha=0.5, weight_factor=1.2, stemming=True)
    Rouge.WORDNET_KEY_VALUE = {}
    return lambda said, wanted, rows: [max(scorer.get_scores([text], [list(own)])["rouge-l"][0]["f"]) for text, own in zip(said, wanted, strict=True)]


def token_f1() -> Loop:
    """SQuAD's F1, normalising every text at every call, as its evaluation script is described (1606.05250 §6.1)."""
    import re
    import string
    from collections import Counter

    def words(text: str) -> list[str]:
        text = "".join(one for one in text.lower() if one not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()

    def f1(text: str, one: str) -> float:
        said, wanted = words(text), words(one)
        same = sum((Counter(said) & Counter(wanted)).values())
        return 2 * same / (len(said) + len(wanted)) if same else float(said == wanted)

    return lambda said, wanted, rows: [max(f1(text, one) for one in own) for text, own in zip(said, wanted, strict=True)]


def parent() -> Loop:
    """`parent` of ToTTo's `totto_parent_eval.py` (google-research/language), a pair at a time, with its own reading of a line."""
    from language.totto import totto_parent_eval as official

    def read(text: str) -> list[str]:
        words: list[str] = official._normalize_text(text).split()
        return words

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        found = []
        for text, own, row in zip(said, wanted, rows, strict=True):
            cells = [(["cell"], read(value)) for line in row["table"] for value in line]
            marked = [(["cell"], read(row["table"][line][column])) for line, column in row["highlighted_cells"]]
            padded = [*own, *["<null>"] * (3 - len(own))]
            found.append(official.parent([read(text)], [[read(one) for one in padded]], [cells], [marked], lambda_weight=None)[2] / 100)
        return found

    return score


def _found(corpus: Any) -> bool:
    try:
        corpus.ensure_loaded()
    except LookupError:
        print("no WordNet in NLTK's folders: METEOR without synonyms on both sides", file=sys.stderr)
        return False
    return True
