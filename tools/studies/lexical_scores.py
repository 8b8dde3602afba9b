"""Store in tests/metrics/golden what the official scripts score on the real pairs.

    PYTHONPATH=ORACLES:tests python -m tools.studies.lexical_scores DATA

ORACLES holds `pip install --no-deps --target ORACLES pycocoevalcap==1.2 py-rouge==1.1`; DATA is the folder of
real data. Java is needed.
"""

import importlib.metadata
import json
import sys
import types
from pathlib import Path

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.tokenize import NLTKWordTokenizer, word_tokenize
from nltk.translate.meteor_score import meteor_score

from helpers.metrics import real_pairs

GOLDEN, DATA = Path(__file__).parents[2] / "tests" / "metrics" / "golden", Path(sys.argv[1])
nltk.data.path.insert(0, str(DATA / "nltk_data"))


def store(name, command, package, **scores):
    versions = {one: importlib.metadata.version(one) for one in package}
    made = {
        "command": command,
        "versions": versions,
        **{key: [round(score, 10) for score in found] for key, found in scores.items()},
    }
    (GOLDEN / f"{name}.json").write_text(json.dumps(made) + "\n")


class NoSynonyms(WordNetCorpusReader):
    def __init__(self):
        pass

    def synsets(self, word):
        return []


def meteor():
    tokenize, found = NLTKWordTokenizer().tokenize, {}
    from nltk.corpus import wordnet

    for name in ("captions", "summaries"):
        predictions, references = getattr(real_pairs, name)(DATA)
        for form, cut, words in (
            ("synonyms", tokenize, wordnet),
            ("exact_stem", tokenize, NoSynonyms()),
            ("punkt", word_tokenize, wordnet),
        ):
            found[f"{name}_{form}"] = [
                meteor_score([cut(text) for text in own], cut(said), wordnet=words)
                for said, own in zip(predictions, references, strict=True)
            ]
    store(
        "meteor",
        "nltk.translate.meteor_score.meteor_score with the WordNet of DATA/nltk_data",
        ["nltk"],
        **found,
    )


def cider():
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    predictions, references = real_pairs.captions(DATA)
    plain = [
        {i: [text.lower()] for i, text in enumerate(predictions)},
        {i: [text.lower() for text in own] for i, own in enumerate(references)},
    ]
    _, lower = Cider().compute_score(plain[1], plain[0])
    cut = [
        PTBTokenizer().tokenize({i: [{"caption": text} for text in own] for i, own in side.items()})
        for side in plain
    ]
    _, official = Cider().compute_score(cut[1], cut[0])
    store(
        "cider",
        "pycocoevalcap Cider().compute_score; official: after its PTBTokenizer",
        ["pycocoevalcap"],
        whitespace=lower,
        official=official,
    )


def rouge():
    from rouge_score.rouge_scorer import RougeScorer

    kinds, found = ["rouge1", "rouge2", "rougeL", "rougeLsum"], {}
    for name in ("captions", "summaries"):
        predictions, references = getattr(real_pairs, name)(DATA)
        for form, stem in (("stem", True), ("plain", False)):
            scorer = RougeScorer(kinds, use_stemmer=stem)
            scores = [
                scorer.score_multi(own, said) for said, own in zip(predictions, references, strict=True)
            ]
            for kind in kinds:
                found[f"{name}_{form}_{kind}"] = [one[kind].fmeasure for one in scores]
    store(
        "rouge",
        "rouge_score.rouge_scorer.RougeScorer(kinds, use_stemmer).score_multi, fmeasure",
        ["rouge-score"],
        **found,
    )


def rouge_l_max():
    if (
        "pkg_resources" not in sys.modules
    ):  # gone from setuptools; py-rouge asks it for the place of its files
        stand_in = types.ModuleType("pkg_resources")
        stand_in.resource_filename = lambda module, name: str(
            Path(sys.modules[module].__file__).parent / name
        )
        sys.modules["pkg_resources"] = stand_in
    from rouge.rouge import Rouge

    given = {
        "metrics": ["rouge-l"],
        "max_n": 4,
        "limit_length": True,
        "length_limit": 100,
        "length_limit_type": "words",
        "apply_avg": False,
    }
    scorer = Rouge(**given, apply_best=False, alpha=0.5, weight_factor=1.2, stemming=True)
    stock, own = dict(Rouge.WORDNET_KEY_VALUE), {}
    for line in (
        (Path(sys.modules["rouge.rouge"].__file__).parent / Rouge.WORDNET_DB_FILEPATH)
        .read_text()
        .splitlines()
    ):
        form, base = line.split("|")
        own[form] = base
    found = {}
    for name in ("answers", "summaries"):
        predictions, references = getattr(real_pairs, name)(DATA)
        for form, table in (("stems", {}), ("exceptions", own), ("stock", stock)):
            Rouge.WORDNET_KEY_VALUE = table
            pairs = zip(predictions, references, strict=True)
            found[f"{name}_{form}"] = [
                max(scorer.get_scores([said], [[text]])["rouge-l"][0]["f"][0] for text in own_)
                for said, own_ in pairs
            ]
    command = (
        f"rouge.Rouge({given}, alpha=.5, weight_factor=1.2, stemming=True).get_scores, max of f; stems: "
        "no table; exceptions: its WordNet table"
    )
    store("rouge_l_max", command, ["py-rouge"], **found)


for make in (meteor, cider, rouge, rouge_l_max):
    make()
    print(make.__name__, flush=True)
