"""Metrics one sample after the other, by the libraries that RL4LMs calls and in its way (the RL4LMs notes
§1.4): a call per text, nothing kept.

Each loop takes predictions, references and rows, and gives one score per sample. What it imports is imported
when it is made.
"""

from __future__ import annotations

import re
import string
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
        meteor_score([tokenize(one) for one in own], tokenize(text), wordnet=known)
        for text, own in zip(said, wanted, strict=True)
    ]


def rouge() -> Loop:
    """The mean of F1 of ROUGE-1, 2 and L by rouge-score, each of the best reference.

    Lsum is computed too, as ours is.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=True)

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        found = [scorer.score_multi(own, text) for text, own in zip(said, wanted, strict=True)]
        return [sum(one[kind].fmeasure for kind in ("rouge1", "rouge2", "rougeL")) / 3 for one in found]

    return score


def bleu() -> Loop:
    """NLTK's `sentence_bleu` on the tokens of mteval-13a.

    With one reference it is the corpus script's BLEU of one sample.
    """
    import warnings

    from nltk.translate.bleu_score import sentence_bleu
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenize = Tokenizer13a()

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                sentence_bleu([tokenize(one).split() for one in own], tokenize(text).split())
                for text, own in zip(said, wanted, strict=True)
            ]

    return score


def sacrebleu(function: str, **options: Any) -> Loop:
    """A sentence function of sacrebleu, on a scale of 1."""
    import sacrebleu as library

    score = getattr(library, function)
    return lambda said, wanted, rows: [
        score(text, list(own), **options).score / 100 for text, own in zip(said, wanted, strict=True)
    ]


def cider() -> Loop:
    """CIDEr-D of pycocoevalcap on texts that are tokens already.

    Its document frequencies are those of all references.
    """
    from pycocoevalcap.cider.cider import Cider

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        given = {i: list(own) for i, own in enumerate(wanted)}
        return Cider().compute_score(given, {i: [text] for i, text in enumerate(said)})[1].tolist()

    return score


def rouge_l_max() -> Loop:
    """The best ROUGE-L of py-rouge with RL4LMs' settings for NarrativeQA, stems without WordNet's
    exceptions.
    """
    from pathlib import Path
    from types import ModuleType

    # gone from setuptools; py-rouge asks it for the place of its files
    absent = "pkg_resources" not in sys.modules
    if absent:
        stand_in = ModuleType("pkg_resources")
        vars(stand_in)["resource_filename"] = lambda module, name: str(
            Path(str(sys.modules[module].__file__)).parent / name
        )
        sys.modules["pkg_resources"] = stand_in
    from rouge.rouge import Rouge

    lengths = {"limit_length": True, "length_limit": 100, "length_limit_type": "words"}
    scorer = Rouge(
        metrics=["rouge-l"],
        **lengths,
        apply_avg=False,
        apply_best=False,
        alpha=0.5,
        weight_factor=1.2,
        stemming=True,
    )
    Rouge.WORDNET_KEY_VALUE = {}
    if absent:
        del sys.modules["pkg_resources"]
    return lambda said, wanted, rows: [
        max(scorer.get_scores([text], [list(own)])["rouge-l"][0]["f"])
        for text, own in zip(said, wanted, strict=True)
    ]


def token_f1() -> Loop:
    """SQuAD's F1, normalising every text at every call, as its evaluation script is described (1606.05250
    §6.1).
    """
    from collections import Counter

    def f1(text: str, one: str) -> float:
        said, wanted = _answer(text), _answer(one)
        same = sum((Counter(said) & Counter(wanted)).values())
        return 2 * same / (len(said) + len(wanted)) if same else float(said == wanted)

    return lambda said, wanted, rows: [
        max(f1(text, one) for one in own) for text, own in zip(said, wanted, strict=True)
    ]


def exact_match() -> Loop:
    """SQuAD's exact match in the same way."""
    return lambda said, wanted, rows: [
        max(float(_answer(text) == _answer(one)) for one in own)
        for text, own in zip(said, wanted, strict=True)
    ]


def bleu_totto() -> Loop:
    """`sentence_bleu` of sacrebleu; lower-case words need no other preparation."""
    return sacrebleu("sentence_bleu")


def self_bleu() -> Loop:
    """The mean of NLTK's `sentence_bleu` of each answer with all others as its references, smoothed by
    `method1`: as Texygen measures it.
    """
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smooth = SmoothingFunction().method1

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        cut = [text.split() for text in said]
        return [
            sum(
                sentence_bleu(cut[:i] + cut[i + 1 :], own, smoothing_function=smooth)
                for i, own in enumerate(cut)
            )
            / len(cut)
        ]

    return score


def tagging() -> Loop:
    """Accuracy of labels by scikit-learn, with macro and weighted F1 as ours has them.

    A label that is missing or too much is a class of its own.
    """
    from sklearn.metrics import accuracy_score, f1_score

    def one(text: str, right: str) -> float:
        said, gold = _labels(text, right)
        for average in ("macro", "weighted"):
            f1_score(gold, said, average=average, zero_division=0)
        return float(accuracy_score(gold, said))

    return lambda said, wanted, rows: [one(text, own[0]) for text, own in zip(said, wanted, strict=True)]


def span_f1() -> Loop:
    """seqeval's F1 of a sentence's spans.

    1 by hand where there are none and none were found, of which it says 0.
    """
    from seqeval.metrics import f1_score
    from seqeval.metrics.sequence_labeling import get_entities

    def one(text: str, right: str) -> float:
        found, wanted = ([label or "O" for label in own] for own in _labels(text, right))
        return (
            float(f1_score([wanted], [found], zero_division=0))
            if get_entities(wanted) or get_entities(found)
            else 1.0
        )

    return lambda said, wanted, rows: [one(text, own[0]) for text, own in zip(said, wanted, strict=True)]


def multilabel() -> Loop:
    """Sample F1 by scikit-learn on the indicators of the words of both texts.

    The words of a prediction that stand twice are counted by hand.
    """
    from sklearn.metrics import f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    def one(text: str, right: str) -> float:
        said, gold = text.split(), set(right.split())
        plain = float(
            f1_score(
                *MultiLabelBinarizer().fit_transform([gold, set(said)])[:, None],
                average="samples",
                zero_division=0,
            )
        )
        return plain * (len(set(said)) + len(gold)) / (len(said) + len(gold))

    return lambda said, wanted, rows: [one(text, own[0]) for text, own in zip(said, wanted, strict=True)]


def bert_score(path: str) -> Loop:
    """BERTScore by the library's model and tokenizer, a pair at a time, as the paper defines it (1904.09675
    §3).
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(path),
        AutoModel.from_pretrained(path, add_pooling_layer=False).eval(),
    )

    @torch.no_grad()
    def one(text: str, right: str) -> float:
        said, wanted = (
            torch.nn.functional.normalize(
                model(**tokenizer(one, return_tensors="pt")).last_hidden_state[0], dim=-1
            )
            for one in (text, right)
        )
        cosines = said @ wanted.T
        precision, recall = cosines[1:-1].max(1).values.mean(), cosines[:, 1:-1].max(0).values.mean()
        return float(2 * precision * recall / (precision + recall))

    return lambda said, wanted, rows: [
        max(one(text, right) for right in own) for text, own in zip(said, wanted, strict=True)
    ]


def parent() -> Loop:
    """`parent` of ToTTo's `totto_parent_eval.py` (google-research/language), a pair at a time, with its own
    reading of a line.
    """
    from language.totto import totto_parent_eval as official

    def read(text: str) -> list[str]:
        words: list[str] = official._normalize_text(text).split()
        return words

    def score(said: Sequence[str], wanted: Sequence[Sequence[str]], rows: Sequence[Any]) -> list[float]:
        found = []
        for text, own, row in zip(said, wanted, rows, strict=True):
            cells = [(["cell"], read(value)) for line in row["table"] for value in line]
            marked = [
                (["cell"], read(row["table"][line][column])) for line, column in row["highlighted_cells"]
            ]
            padded = [*own, *["<null>"] * (3 - len(own))]
            found.append(
                official.parent(
                    [read(text)], [[read(one) for one in padded]], [cells], [marked], lambda_weight=None
                )[2]
                / 100
            )
        return found

    return score


def _found(corpus: Any) -> bool:
    try:
        corpus.ensure_loaded()
    except LookupError:
        print("no WordNet in NLTK's folders: METEOR without synonyms on both sides", file=sys.stderr)
        return False
    return True


def _answer(text: str) -> list[str]:
    text = "".join(one for one in text.lower() if one not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()


def _labels(*texts: str) -> list[list[str]]:
    """The labels of two tagged texts, at the length of the longer one."""
    labels = [[word.rpartition("/")[2] for word in text.split()] for text in texts]
    length = max(map(len, labels))
    return [[*own, *[""] * (length - len(own))] for own in labels]
