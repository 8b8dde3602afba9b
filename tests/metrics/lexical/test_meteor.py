import zipfile

import pytest

from helpers.metrics import real_pairs
from helpers.metrics.golden_scores import agree, stored
from helpers.metrics.laws import check_laws
from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting
from loquent.metrics.lexical import wordnet
from loquent.metrics.lexical.meteor import Meteor, align, chunks, meteor

GUIDE = "It is a guide to action which ensures that the military always obeys the commands of the party"
HEED = "It is a guide to action that ensures that the military will forever heed Party commands"
PLAIN = {"wordnet": "none"}


def score(metric, prediction, *references):
    return metric(Samples([prediction], [list(references)])).samples[metric.name][0]


def test_m2_by_nltk():
    metric = meteor(Context(), **PLAIN)
    assert metric.name == "meteor-exact-stem"
    four = "hello there general kenobi"
    assert score(metric, four, four) == 0.9921875 == 1 - 0.5 / 4**3
    assert score(metric, GUIDE, HEED) == pytest.approx(0.6944444, abs=5e-8)
    assert (
        score(metric, GUIDE, "nothing of it", HEED)
        == score(metric, GUIDE, HEED, "nothing of it")
        == score(metric, GUIDE, HEED)
    )


def test_m2_legacy_numbers():
    # the brackets and quotes around "hello there general kenobi" are 4 words more: P = 1, R = 4/8
    metric = meteor(Context(), legacy=True, **PLAIN)
    four = "hello there general kenobi"
    assert metric.name == "meteor-exact-stem-legacy"
    assert score(metric, four, four) == pytest.approx(0.522204, abs=5e-7)
    # 14 words, then R = 14/18; a second reference of 7 words brings 3 marks too, R = 14/28, and takes 3
    # words, which leaves 7 chunks
    long, other = " ".join(f"a{i}" for i in range(14)), "a2 b a6 b a10 b b"
    assert score(metric, long, long) == pytest.approx(0.795310, abs=5e-7)
    assert score(metric, long, long, other) == pytest.approx(0.493421, abs=5e-7)
    assert (
        score(meteor(Context(), **PLAIN), long, long, other)
        == pytest.approx(1 - 0.5 / 14**3)
        != pytest.approx(0.493421)
    )


def test_stages_by_hand():
    def stem(word):
        return word.removesuffix("s")

    def synonyms(word):
        return frozenset({"dog": ["hound", "domestic"], "big": ["large"]}.get(word, ()))

    said, wanted = ["big", "cats", "dogs", "cat"], ["cat", "large", "cat", "hounds"]
    # exact: cat-3 takes the last cat; stem: cats takes the other; synonyms of the stems: dog takes hound, big
    # takes large
    assert align(said, wanted, stem, synonyms) == [(0, 1), (1, 0), (2, 3), (3, 2)]
    assert align(said, wanted, stem, None) == [(1, 0), (3, 2)]
    assert align(said, wanted, str, None) == [(3, 2)]
    assert chunks([(0, 1), (1, 2), (2, 3)]) == 1
    assert chunks([(0, 1), (1, 0), (2, 3), (4, 4)]) == 4


def test_formula_by_hand():
    # 2 of 3 words against 2 of 4, in 2 chunks: P = 2/3, R = 1/2, F = PR / (.9 P + .1 R), penalty .5 (2/2)^3
    metric = Meteor()
    precision, recall = 2 / 3, 1 / 2
    assert score(metric, "a x b", "a y b z") == pytest.approx(
        precision * recall / (0.9 * precision + 0.1 * recall) * 0.5, abs=1e-12
    )
    assert score(Meteor(gamma=0.0), "a x b", "a y b z") == pytest.approx(
        2 * score(metric, "a x b", "a y b z")
    )
    assert score(metric, "", "a") == score(metric, "a", "") == score(metric, "", "") == 0.0


@pytest.mark.data
@pytest.mark.parametrize("name", ["captions", "summaries"])
def test_meteor_is_nltks(beside, name):
    predictions, references = getattr(real_pairs, name)(beside / "data")
    path = str(beside / "data" / "nltk_data" / "corpora" / "wordnet.zip")
    golden = stored("meteor")

    def scored(metric):
        return metric(Samples(predictions, references)).samples[metric.name]

    assert agree(scored(meteor(Context(), wordnet=path)), golden[f"{name}_synonyms"])
    assert agree(scored(meteor(Context(), wordnet="none")), golden[f"{name}_exact_stem"])
    assert not agree(scored(meteor(Context(), wordnet="none")), golden[f"{name}_synonyms"])


@pytest.mark.data
def test_sentences_first_as_nltks_word_tokenize(beside, monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(beside / "data" / "nltk_data")])
    predictions, references = real_pairs.summaries(beside / "data")
    path = str(beside / "data" / "nltk_data" / "corpora" / "wordnet.zip")
    metric = meteor(Context(), wordnet=path, tokenizer="nltk")
    assert agree(
        metric(Samples(predictions, references)).samples["meteor"],
        stored("meteor")["summaries_punkt"],
    )


@pytest.mark.data
def test_synonyms_are_nltks(beside, monkeypatch):
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    monkeypatch.setattr(nltk.data, "path", [str(beside / "data" / "nltk_data")])
    reader = WordNetCorpusReader(nltk.data.find("corpora/wordnet.zip/wordnet/"), None)
    ours = wordnet.load(beside / "data" / "nltk_data" / "corpora" / "wordnet.zip")
    words = (
        "dog dogs ran better oxen men happi obvious a.m. dog's x 42 Paris went leaves sat churches "
        "quickly not_a_word biggest"
    )
    for word in words.split():
        wanted = {
            lemma.name()
            for sense in reader.synsets(word)
            for lemma in sense.lemmas()
            if "_" not in lemma.name()
        }
        assert ours.synonyms(word) == wanted, word
    assert "hound" in ours.synonyms("dogs")
    assert not ours.synonyms("happi")


@pytest.mark.data
def test_a_folder_and_where_it_is_looked_for(beside, tmp_path, monkeypatch):
    corpora = tmp_path / "corpora"
    with zipfile.ZipFile(beside / "data" / "nltk_data" / "corpora" / "wordnet.zip") as archive:
        archive.extractall(corpora)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    assert wordnet.find("auto") == corpora / "wordnet"
    assert meteor(Context()).name == "meteor"
    assert meteor(Context(), legacy=True).name == "meteor-legacy"
    assert score(meteor(Context()), "a dog sat", "a hound sat") > score(
        meteor(Context(), **PLAIN), "a dog sat", "a hound sat"
    )
    # "large" has the stem "larg", of which WordNet knows nothing
    by_words = meteor(Context(), synonyms="words")
    assert score(by_words, "a big cat", "a large cat") > score(meteor(Context()), "a big cat", "a large cat")
    (corpora / "wordnet" / "data.verb").unlink()
    with pytest.raises(BadSetting, match=r"is not a WordNet: data.verb missing"):
        meteor(Context(), wordnet=str(corpora / "wordnet"))


def test_without_wordnet_the_key_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "places", lambda: [tmp_path / "wordnet"])
    metric = meteor(Context())
    assert metric.keys == ("meteor-exact-stem",) == tuple(metric(Samples(["a"], [["a"]])).corpus)
    with pytest.raises(
        BadSetting, match=r"wordnet = 'no/where' is not a WordNet: index.noun, data.noun, noun.exc missing"
    ):
        meteor(Context(), wordnet="no/where")
    (tmp_path / "some.zip").write_text("no zip")
    with pytest.raises(BadSetting, match="is not a WordNet"):
        meteor(Context(), wordnet=str(tmp_path / "some.zip"))


def test_a_missing_sentence_splitter_is_named(monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    with pytest.raises(BadSetting, match="needs NLTK's punkt_tab"):
        meteor(Context(), tokenizer="nltk", **PLAIN)


@pytest.mark.parametrize("options", [{}, {"legacy": True}, {"tokenizer": "whitespace"}])
def test_laws(options):
    if "legacy" in options:
        check_one_reference(meteor(Context(), **PLAIN, **options))
    else:
        check_laws(meteor(Context(), **PLAIN, **options), 0, 1)


def check_one_reference(metric):
    from helpers.metrics.laws import SAMPLES

    check_laws(
        metric,
        0,
        1,
        samples=SAMPLES.map(lambda drawn: [(said, own[:1], prompt) for said, own, prompt in drawn]),
    )


@pytest.mark.data
def test_laws_with_synonyms(beside):
    check_laws(
        meteor(Context(), wordnet=str(beside / "data" / "nltk_data" / "corpora" / "wordnet.zip")), 0, 1
    )
