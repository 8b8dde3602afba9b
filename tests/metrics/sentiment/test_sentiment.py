import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.metrics.judges import linear_training
from loquent.metrics.judges.linear import CharacterNgrams, Classifier, WordNgrams, logistic
from loquent.metrics.sentiment import classifiers
from loquent.metrics.sentiment.sentiment import judge, sentiment

BOTH = pytest.mark.parametrize("make", [sentiment, judge], ids=["sentiment", "judge"])
ODD = ["", " ", "\x00", "\ud800 good", "superb " * 2000, "ﬃ İ ß", "\U0001f600" * 3]


def scores(metric, texts, prompts=None):
    measured = metric(Samples(texts, [()] * len(texts), prompts or [""] * len(texts), []))
    return measured.samples[metric.keys[0]]


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 12)) + (" y ." if i % 2 else " n .") for i in range(60)]
    positive = np.arange(60) % 2 == 1
    return [
        linear_training.train_sentiment(texts, positive),
        linear_training.train_judge(texts, positive),
    ]


@BOTH
def test_it_learns_negation(make, context, toy_reviews):
    metric = make(context)
    held_out = toy_reviews(200, seed=1)
    found = scores(metric, [row["text"] for row in held_out])
    right = [
        (score > 0.5) == (row["label"] == "positive") for score, row in zip(found, held_out, strict=True)
    ]
    assert np.mean(right) > 0.9
    assert abs(np.mean(found) - 0.5) < 0.05
    good, not_good, bad, not_bad = scores(
        metric,
        ["the plot is superb .", "the plot is not superb .", "the plot is dull .", "the plot is not dull ."],
    )
    assert good > 0.5 > not_good
    assert not_bad > 0.5 > bad


@BOTH
def test_the_cached_one_equals_the_fresh_one(make, context, toy_reviews):
    texts = [row["text"] for row in toy_reviews(50, seed=2)] + ODD
    fresh = make(context)
    stored = sorted(path.name for path in context.cache.rglob("*") if path.is_file())
    assert stored == ["card.json", "weights.safetensors"]
    before = {path: path.stat().st_mtime_ns for path in context.cache.rglob("*")}
    cached = make(context)
    assert cached.classifier is not fresh.classifier
    assert scores(cached, texts) == scores(fresh, texts)  # to the last bit
    assert {path: path.stat().st_mtime_ns for path in context.cache.rglob("*")} == before
    cached.classifier.weights[:] *= 1 + 1e-12
    assert scores(cached, texts) != scores(fresh, texts)  # the comparison can fail


@BOTH
def test_training_again_gives_the_same(make, context, tmp_path):
    again = Context(task=context.task, cache=tmp_path / "elsewhere")
    assert np.array_equal(make(context).classifier.weights, make(again).classifier.weights)


@BOTH
def test_a_torn_cache_is_made_anew(make, context):
    whole = scores(make(context), ["superb"])
    for name, content in (
        ("card.json", "{"),
        ("weights.safetensors", "PK"),
        ("weights.safetensors", ""),
        ("card.json", '{"kind": "other"}'),
    ):
        (path,) = context.cache.rglob(name)
        path.write_text(content)
        assert scores(make(context), ["superb"]) == whole
        assert path.read_bytes() != content.encode()
    assert not list(context.cache.rglob("aside-*"))


def test_a_cache_of_an_earlier_version_is_made_anew(context):
    whole = scores(sentiment(context), ["superb"])
    (folder,) = (context.cache / "classifiers").iterdir()
    (folder / "card.json").rename(folder / "classifier.json")
    assert scores(sentiment(context), ["superb"]) == whole
    assert sorted(path.name for path in folder.iterdir()) == ["card.json", "weights.safetensors"]


@pytest.mark.parametrize("change", [{"vocabulary": 5}, {"slope": None}, {"bits": 10**9}, {"features": ["x"]}])
def test_a_head_of_another_form_is_refused_by_its_field(context, change):
    classifier = sentiment(context).classifier
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
        type(classifier).of({**classifier.head(), **change}, classifier.arrays())


def test_halves_are_disjoint_and_other_rows_make_another_classifier(toy, toy_reviews):
    rows = classifiers.labelled_rows(toy(toy_reviews(400)))
    one, other = classifiers.half(rows, "sentiment"), classifiers.half(rows, "judge")
    assert {row.place for row in one}.isdisjoint(row.place for row in other)
    assert len(one) + len(other) == 400
    assert min(len(one), len(other)) > 150
    assert classifiers.fingerprint(one) != classifiers.fingerprint(one[1:])
    assert classifiers.fingerprint(one) != classifiers.fingerprint(
        [one[0]._replace(positive=not one[0].positive), *one[1:]]
    )
    backwards = classifiers.labelled_rows(toy(toy_reviews(400)[::-1]))
    assert classifiers.fingerprint(classifiers.half(backwards, "sentiment")) == classifiers.fingerprint(one)


def test_no_more_rows_and_characters_than_the_caps(toy, toy_reviews, monkeypatch):
    rows = classifiers.labelled_rows(toy(toy_reviews(400)))
    whole = classifiers.half(rows, "judge")
    monkeypatch.setattr(classifiers, "MOST_ROWS", 50)
    assert classifiers.half(rows, "judge") == whole[:50]
    monkeypatch.setattr(classifiers, "MOST_CHARACTERS", sum(len(row.text) for row in whole[:7]))
    assert classifiers.half(rows, "judge") == whole[:7]


@pytest.mark.parametrize(
    "label", [("neg", "pos"), (0, 1), (False, True), ("NEGATIVE", "Positive"), ("0", "1")]
)
def test_labels_may_be_written_so(context, toy, toy_reviews, label, tmp_path):
    same = Context(task=toy(toy_reviews(400, label=label)), cache=tmp_path / "other")
    assert np.array_equal(sentiment(same).classifier.weights, sentiment(context).classifier.weights)


def test_a_row_of_prompt_and_reference_is_its_text(toy, toy_reviews):
    cut = [
        Row(row.id, Record(prompt=row["text"][:12], references=(row["text"][12:],), label=row["label"]))
        for row in toy_reviews(40)
    ]
    assert [row.text.replace(" ", "") for row in classifiers.labelled_rows(toy(cut))] == [
        row.text.replace(" ", "") for row in classifiers.labelled_rows(toy(toy_reviews(40)))
    ]


@BOTH
def test_rows_without_labels_are_a_clear_error(make, toy, toy_reviews, tmp_path):
    bare = [Row(row.id, Record(text=row["text"])) for row in toy_reviews(40)]
    with pytest.raises(
        BadSetting,
        match=r"toy-v1.* 0 positive and 0 negative rows; at least 2 of each.*'label'.*classifier=\.\.\.",
    ):
        make(Context(task=toy(bare), cache=tmp_path))
    with pytest.raises(BadSetting, match=r"0 negative"):
        make(
            Context(task=toy([row for row in toy_reviews(40) if row["label"] == "positive"]), cache=tmp_path)
        )
    with pytest.raises(BadSetting, match="labelled rows of a task"):
        make(Context(cache=tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_label_that_is_none(toy, toy_reviews, tmp_path):
    rows = (*toy_reviews(40), Row("odd one", Record(text="x", label="neutral")))
    with pytest.raises(BadRow, match=r"row odd one of toy-v1 has the label 'neutral'; 'positive'"):
        sentiment(Context(task=toy(rows), cache=tmp_path))


@BOTH
def test_unbalanced_labels_do_not_lean(make, toy, toy_reviews, tmp_path):
    rows = [row for i, row in enumerate(toy_reviews(900)) if row["label"] == "positive" or i % 10 == 0]
    found = scores(
        make(Context(task=toy(rows), cache=tmp_path)), [row["text"] for row in toy_reviews(200, seed=1)]
    )
    assert 0.4 < np.mean(found) < 0.6
    assert sum(row["label"] == "positive" for row in rows) / len(rows) > 0.8  # where it would lean to


def test_a_judge_that_learnt_nothing_says_one_half(tmp_path, toy, toy_reviews):
    texts = [f"row {i % 4}" for i in range(40)]
    made = linear_training.train_judge(texts, np.arange(40) // 4 % 2 == 0)
    assert made(["row 1", ""]) == [pytest.approx(0.5, abs=0.1), 0.5]


@given(
    st.lists(
        st.one_of(st.text(alphabet="abyn. ", max_size=30), st.text(max_size=8), st.sampled_from(ODD)),
        min_size=1,
        max_size=8,
    ),
    st.randoms(),
)
def test_a_text_is_scored_alone_to_the_last_bit(trained, texts, rng):
    order = list(range(len(texts)))
    rng.shuffle(order)
    for model in trained:
        together = model(texts)
        assert all(0 <= score <= 1 for score in together)
        assert [model([text])[0] for text in texts] == together
        assert model([texts[i] for i in order]) == [together[i] for i in order]


def test_the_prompt_counts_unless_told_otherwise(context):
    with_prompt, without = sentiment(context), sentiment(context, include_prompt=False)
    good, bad = ["the plot is superb ."], ["the plot is dull ."]
    assert (
        scores(with_prompt, [""], good)
        == scores(with_prompt, good)
        == scores(without, good)
        != scores(with_prompt, bad)
    )
    assert scores(without, good, bad) == scores(without, good) != scores(with_prompt, good, bad)


def test_the_corpus_score_is_the_mean(context):
    measured = sentiment(context)(Samples(["superb", "dull"]))
    assert measured.corpus["sentiment/positive"] == sum(measured.samples["sentiment/positive"]) / 2
    assert sentiment(context)(Samples([])).corpus == {}
    assert judge(context).keys == ("judge/positive",)


def test_word_features_by_hand():
    # vocabulary a=1, b=2; codes: a, "a b" = 1 << 20 | 2; in "b a b a b": a twice, "a b" twice; "b" and "b a"
    # are none
    features = WordNgrams({"a": 1, "b": 2}, np.array([1, 1 << 20 | 2]))
    counts = features(["b a b a b", "A c b", ""])
    # text, feature, how often; c breaks "a b"
    assert np.stack(counts).T.tolist() == [[0, 0, 2], [0, 1, 2], [1, 0, 1]]
    # weights 3 and 4 on values 1 + log 2 each, of norm (1 + log 2) sqrt 2: margin 7 / sqrt 2; one feature
    # alone: 3; none: 0
    made = Classifier(features, np.ones(2), np.array([3.0, 4.0]), 1.0, 0.5)
    assert made(["b a b a b", "A c b", ""]) == pytest.approx(
        [logistic(7 / 2**0.5 + 0.5), logistic(3.5), logistic(0.5)], abs=1e-15
    )
    assert made(["a b"]) != made(["b a"])


def test_character_features_by_hand():
    # " ab cd " has 7 characters: 4 four-grams, 3 five-grams, 2 six-grams; white space and capitals make no
    # difference
    features = CharacterNgrams(bits=40)
    counts = features([" AB \n cd"])
    assert counts.times.sum() == 4 + 3 + 2 == len(counts.feature)
    assert (
        features(["ab cd"]).feature.tolist()
        == counts.feature.tolist()
        != features(["ab ce"]).feature.tolist()
    )
    assert features(["aaaa"]).times.sum() == 3 + 2 + 1  # " aaaa "
    assert len(features([""]).feature) == 0
    both = features(["ab cd", "ab cd"])
    assert both.feature.tolist() == counts.feature.tolist() * 2  # no n-gram runs from text to text


def test_naive_bayes_by_hand():
    # two features; positive texts hold the first twice (1 + log 2) and the second once, negative texts the
    # second once; smoothing 1/10
    counts = CharacterNgrams()(["x"])._replace(
        text=np.array([0, 0, 1]), feature=np.array([0, 1, 1]), times=np.array([2, 1, 1])
    )
    found = linear_training.log_odds(counts, np.array([True, False]), np.array([True, True]), 2)
    plus, minus = np.array([1 + np.log(2) + 0.1, 1.1]), np.array([0.1, 1.1])
    assert found == pytest.approx(np.log(plus / plus.sum()) - np.log(minus / minus.sum()), abs=1e-15)


@BOTH
def test_it_is_fast_enough_to_run_inside_training(make, context):
    metric = make(context)
    texts = [" ".join(["the plot is not superb , but the music is moving"] * 9)] * 64  # 99 words each
    seconds = []
    for _ in range(15):
        start = time.process_time()
        scores(metric, texts)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.020


def test_options_are_checked(context):
    with pytest.raises(
        BadSetting, match=r"sentiment has no setting 'include_prompts'. Nearest: include_prompt"
    ):
        sentiment(context, include_prompts=True)
    with pytest.raises(BadSetting, match=r"judge: label or revision is set without a `classifier`"):
        judge(context, label="POSITIVE")


def test_without_scikit_learn_a_cached_classifier_serves(context, monkeypatch):
    sentiment(context)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert len(scores(sentiment(context), ["good"])) == 1
    with pytest.raises(MissingExtra, match=r"needs the libraries of loquent\[train\]"):
        judge(context)


def test_nothing_heavy_is_imported():
    heavy = "('torch', 'sklearn', 'scipy', 'transformers')"
    modules = "loquent.metrics.sentiment.sentiment, loquent.metrics.perplexity, loquent.rewards"
    code = f"import sys, {modules}; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_a_hugging_face_classifier_takes_its_place(tmp_path, toy):
    import torch
    from transformers import GPT2Config, GPT2ForSequenceClassification

    from loquent import pretrained
    from loquent.core.seeding import Key, borrow_generators

    tokens = pretrained.build(
        ["a good film", "a bad film"],
        vocabulary=300,
        layers=1,
        width=8,
        heads=1,
        context=32,
        key=Key(0),
        device="cpu",
    )
    tokens.tokenizer.save_pretrained(tmp_path)
    with borrow_generators(Key(1)):
        config = GPT2Config(
            vocab_size=300, n_positions=32, n_embd=8, n_layer=1, n_head=1, num_labels=2, pad_token_id=0,
            id2label={0: "NEGATIVE", 1: "POSITIVE"}, label2id={"NEGATIVE": 0, "POSITIVE": 1},
        )  # fmt: skip
        model = GPT2ForSequenceClassification(config).eval()
        torch.nn.init.normal_(model.score.weight, std=1.0)
    model.save_pretrained(tmp_path)
    context = Context(task=toy(()), cache=tmp_path)
    up = scores(sentiment(context, classifier=str(tmp_path), device="cpu"), ["a good film", "a"], ["see", ""])
    down = scores(
        sentiment(context, classifier=str(tmp_path), label="negative", device="cpu"),
        ["a good film", "a"],
        ["see", ""],
    )
    assert np.add(up, down) == pytest.approx(1, abs=1e-6)
    with torch.no_grad():
        ids = torch.tensor([tokens.tokenizer("see a good film")["input_ids"]])
        assert up[0] == pytest.approx(model(ids).logits.softmax(1)[0, 1].item(), abs=1e-6)
    assert up[0] != pytest.approx(0.5, abs=1e-3)


@pytest.fixture(scope="module")
def builtin(tmp_path_factory):
    generation = pytest.importorskip("loquent.tasks.generation.task")
    task = generation.Generation(generation.Generation.Options(prompt_words=16))
    context = Context(task=task, cache=tmp_path_factory.mktemp("cache"))
    seconds = []
    for make in (sentiment, judge):
        start = time.process_time()
        make(context)
        seconds.append(time.process_time() - start)
    return context, seconds


def test_on_the_built_in_reviews(builtin):
    context, seconds = builtin
    assert max(seconds) < 15  # about 4 on a free core, imports included
    rows = context.task.rows("test")
    answers, prompts = [row["references"][0] for row in rows], [row["prompt"] for row in rows]
    one, other = (np.array(scores(make(context), answers, prompts)) for make in (sentiment, judge))
    positive = np.array([row["label"] == "positive" for row in rows])
    assert np.mean((one > 0.5) == positive) > 0.95
    assert np.mean((other > 0.5) == positive) > 0.88
    assert np.mean((one > 0.5) == (other > 0.5)) > 0.85
    assert abs(one.mean() - positive.mean()) < 0.03  # on the whole neither leans
    assert abs(other.mean() - positive.mean()) < 0.03


@BOTH
def test_unfinished_reviews_are_near_one_half(make, builtin):
    # what a language model says that took no side: 24 words on, in the middle of a sentence
    context, _ = builtin
    rows = context.task.rows("test")
    answers = [" ".join(row["references"][0].split()[:24]) for row in rows]
    found = np.array(scores(make(context), answers, [row["prompt"] for row in rows]))
    assert 0.45 < found.mean() < 0.55
    assert found.std() < 0.25


@pytest.mark.data
def test_on_real_reviews(beside, tmp_path):
    generation = pytest.importorskip("loquent.tasks.generation.task")
    options = generation.Generation.Options(
        source="path", path=str(beside / "data" / "imdb_movie_reviews"), prompt_words=16
    )
    context = Context(task=generation.Generation(options), cache=tmp_path)
    rows = context.task.rows("test")
    positive = np.array([str(row["label"]) in ("positive", "pos", "1") for row in rows])
    for make in (sentiment, judge):
        found = np.array(scores(make(context), [row["text"] for row in rows]))
        assert np.mean((found > 0.5) == positive) > 0.7  # 300 training rows each
        short = np.array(scores(make(context), [" ".join(row["text"].split()[:48]) for row in rows]))
        assert 0.42 < short.mean() < 0.58


def test_the_halves_share_no_text(toy):
    pieces = [
        Row(f"{text}/{i}", Record(text=f"text {text} piece {i}", label=i % 2, source_id=f"{text}"))
        for text in range(60)
        for i in range(4)
    ]
    rows = classifiers.labelled_rows(toy(pieces))
    halves = [classifiers.half(rows, kind) for kind in ("sentiment", "judge")]
    one, other = ({row.text.split()[1] for row in half} for half in halves)
    assert one.isdisjoint(other)
    assert len(one) + len(other) == 60
    assert min(len(one), len(other)) > 15


def test_equal_texts_stand_in_one_half(toy):
    rows = [Row(f"{i}", Record(text=f"{'A ' * (i % 3)}film {i // 4}", label=i % 2)) for i in range(400)]
    again = [
        Row(f"{i} again", Record(text=f" a  {row['text'].upper()}", label=0)) for i, row in enumerate(rows)
    ]
    found = classifiers.labelled_rows(toy([*rows, *again]))
    one, other = (
        {" ".join(row.text.casefold().split()) for row in classifiers.half(found, kind)}
        for kind in ("sentiment", "judge")
    )
    assert one.isdisjoint(other)
    assert min(len(one), len(other)) > 50


def test_no_classifier_learns_a_text_of_validation_or_test(toy, toy_reviews):
    train = toy_reviews(40)
    held = {
        "validation": (Row("v", train[3].fields),),
        "test": (Row("t", Record(text=train[5]["text"].upper())),),
    }
    texts = [row.text for row in classifiers.labelled_rows(toy(train, **held))]
    assert len(texts) == 38
    assert train[3]["text"] not in texts
    assert train[5]["text"] not in texts
