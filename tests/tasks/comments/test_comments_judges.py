"""Moderators and voters of comments: trained classifiers, Hugging Face's form, and a classifier over HTTP."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
import transformers

import loquent
from helpers import small_encoder
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent
from loquent.metrics.judges import folders
from loquent.metrics.judges.card import CARD, WEIGHTS
from loquent.metrics.judges.encoders import EncoderSettings
from loquent.pretrained.language import load_module, load_tokenizer
from loquent.tasks.comments.learned import linear, transformer
from loquent.tasks.comments.learned.examples import About, examples
from loquent.tasks.comments.players.votes import Opinion, label_of, vote_of

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def world(**options):
    return loquent.task("comments", **options)


def played(task, count=40):
    return list(play(task, games(task.rows("test")[:count]), make("comments/recorded", task), seed=0))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder, task = tmp_path_factory.mktemp("judges"), world(limit=1500)
    toxicity = linear.train(task, folder / "toxicity")
    upvotes = linear.train(task, folder / "upvotes", About("upvotes"))
    return folder, toxicity, upvotes


def test_linear_classifiers_learn_the_rules(trained):
    folder, toxicity, upvotes = trained
    assert toxicity["accuracy"] > 0.97
    assert toxicity["roc_auc"] > 0.99
    assert upvotes["roc_auc"] > 0.75, "scores are noisy"
    task = world(
        moderator=Record(kind="comments/classifier", path=str(folder / "toxicity")),
        voter=Record(kind="comments/classifier", path=str(folder / "upvotes")),
    )
    own, rules = played(task), played(world())
    same = [a.rewards["toxicity"] == b.rewards["toxicity"] for a, b in zip(own, rules, strict=True)]
    assert np.mean(same) > 0.9
    assert {game.rewards["upvotes"] for game in own} == {-1.0, 1.0}


def test_probabilities_of_ordered_labels(trained):
    classifier = folders.load(str(trained[0] / "toxicity"))
    table = classifier(["have a nice day .", "this sounds lazy .", "you are a fool ."])
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert table.argmax(axis=1).tolist() == [0, 1, 2]
    assert (table >= 0).all()


def test_training_is_reproducible(tmp_path):
    task = world(limit=200)
    for name in ("a", "b"):
        linear.train(task, tmp_path / name)
    for file in (WEIGHTS, CARD):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_folders_are_checked(trained, tmp_path):
    (tmp_path / "comments.json").write_text('{"labels": ["0", "2"]}')
    with pytest.raises(BadSetting, match="which an earlier version of Loquent wrote, and no card"):
        folders.load(str(tmp_path))
    task = world(moderator=Record(kind="comments/classifier", path=str(trained[0] / "upvotes")))
    with pytest.raises(BadSetting, match="its label '-1' is none of 0, 1 and 2; set labels"):
        played(task, 1)
    task = world(voter=Record(kind="comments/classifier", path=str(trained[0] / "toxicity"), positive="9"))
    with pytest.raises(BadSetting, match="it has no label '9'; set positive to one of 0, 1, 2"):
        played(task, 1)


def test_rows_without_labels_train_nothing(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"comment": "a", "score": 2}\n')
    task = world(source="path", path=str(tmp_path))
    with pytest.raises(BadSetting, match="0 rows of train have a label"):
        examples(task, "train", About())
    with pytest.raises(BadSetting, match="1 rows of train have a score, with 1 different"):
        examples(task, "train", About("upvotes"))
    with pytest.raises(BadSetting, match="kind"):
        About("likes")


def test_a_split_without_the_highest_label_checks_nothing(tmp_path):
    for split, highest in (("train", 2), ("test", 1)):
        rows = [{"comment": f"a{i % 3}", "label": min(i % 3, highest)} for i in range(30)]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(BadSetting, match="no row of test has the label 2"):
        linear.train(world(source="path", path=str(tmp_path)), tmp_path / "out")


def test_levels_are_added_and_decided():
    of = label_of(Record(fine=0, rude=1, toxic=2, threat=2), "here")
    assert of(Opinion({"fine": 0.2, "rude": 0.05, "toxic": 0.4, "threat": 0.35})) == "2"
    assert of(Opinion({"fine": 0.3, "rude": 0.1, "toxic": 0.3, "threat": 0.3})) == "0", "2 is not sure"
    assert label_of(Record(), "here")(Opinion({"LABEL_0": 0.1, "LABEL_1": 0.9})) == "1"
    with pytest.raises(BadSetting, match="here: its label 'nice'"):
        label_of(Record(), "here")(Opinion({"nice": 1.0}))


@pytest.mark.parametrize(("probability", "vote"), [(0.4999, "-1"), (0.5, "1"), (0.5001, "1")])
def test_a_probability_of_a_half_is_an_upvote_as_in_the_released_code(probability, vote):
    assert vote_of("good", "here")(Opinion({"good": probability, "bad": 1 - probability})) == vote


TOXIC = Record(toxic=2, severe_toxic=2, obscene=1, threat=2, insult=1, identity_hate=2)


def test_independent_labels_leave_the_rest_to_0():
    of = label_of(TOXIC, "here", independent=True)
    assert of(Opinion(dict.fromkeys(TOXIC, 0.001))) == "0"
    # reached: level 2 by .8, log .8 > -0.355
    assert of(Opinion({**dict.fromkeys(TOXIC, 0.01), "threat": 0.8})) == "2"
    # level 2 by .6, which is not sure; the rest is safe
    assert of(Opinion({**dict.fromkeys(TOXIC, 0.01), "threat": 0.6})) == "0"
    assert of(Opinion({**dict.fromkeys(TOXIC, 0.3), "insult": 0.9})) == "1"
    some = label_of(Record(neutral=0, a=2, b=2, c=2), "here", independent=True)
    assert some(Opinion({"neutral": 0.89, "a": 0.3, "b": 0.3, "c": 0.3})) == "0", "they are not added"
    one = label_of(Record(toxicity=2), "here", independent=True)
    assert [one(Opinion({"toxicity": p})) for p in (0.02, 0.98)] == ["0", "2"]


@pytest.mark.parametrize(
    ("chosen", "probabilities", "words"),
    [
        (TOXIC, dict.fromkeys(TOXIC, 0.001), "none of its labels .* is 0, .*set independent to true"),
        (Record(), {"1": 0.5, "2": 0.5}, "none of its labels .* is 0"),
        (Record(toxic=2, fine=0), {"toxic": 0.1, "fine": 0.1}, "sum to 0.2, .*set independent to true"),
        (Record(toxic=3, fine=0), {"toxic": 0.1, "fine": 0.9}, "its label 'toxic' is none of 0, 1 and 2"),
    ],
)
def test_labels_that_do_not_exclude_each_other_are_refused(chosen, probabilities, words):
    with pytest.raises(BadSetting, match=f"here: .*{words}"):
        label_of(chosen, "here")(Opinion(probabilities))


def test_labels_are_checked_before_a_comment_is_judged():
    with pytest.raises(BadSetting, match="none of its labels"):
        label_of(TOXIC, "here")


# transformers


def test_the_settings_of_the_release():
    chosen = transformer.ROBERTA
    assert (chosen.model, chosen.head, chosen.learning_rate, chosen.minibatch, chosen.most_tokens) == (
        "roberta-base",
        "released",
        1e-5,
        16,
        256,
    )


@pytest.mark.parametrize(("kind", "labels"), [("toxicity", ("0", "1", "2")), ("upvotes", ("1",))])
def test_an_encoder_is_trained_and_judges(tmp_path, kind, labels):
    rows = [
        {"comment": "the cat sat" if i % 2 else "mid july n't .", "score": i % 2, "label": i % 2 * 2}
        for i in range(60)
    ]
    rows += [{"comment": "sat sat", "score": 0, "label": 1}] * 6
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = world(source="path", path=str(tmp_path))
    settings = EncoderSettings(
        model=str(small_encoder.write(tmp_path / "encoder")), head="library", learning_rate=1e-2, epochs=6
    )
    found = [transformer.train(task, tmp_path / name, About(kind), settings) for name in ("a", "b")]
    assert found[0] == found[1], "the same seed gives the same network"
    assert found[0]["roc_auc"] > 0.95
    assert folders.load(str(tmp_path / "a")).labels == labels
    seat = "moderator" if kind == "toxicity" else "voter"
    judge = Record(kind="comments/classifier", path=str(tmp_path / "a"))
    task = world(source="path", path=str(tmp_path), **{"moderator": "", "voter": "", seat: judge})
    values = {game.rewards["toxicity" if kind == "toxicity" else "upvotes"] for game in played(task, 2)}
    assert len(values) == 2


def test_an_encoder_with_independent_labels_judges(tmp_path):
    encoder = small_encoder.write(tmp_path / "encoder")
    names = dict(enumerate(TOXIC))
    module = load_module(
        transformers.AutoModelForSequenceClassification,
        encoder,
        None,
        "cpu",
        "float32",
        head={"num_labels": 6, "id2label": names, "problem_type": "multi_label_classification"},
    )
    with torch.no_grad():
        for parameter in module.classifier.parameters():
            parameter.zero_()
        module.classifier.bias += -5.0  # each label has p = .0067
    module.save_pretrained(tmp_path / "multi")
    load_tokenizer(encoder, None).save_pretrained(tmp_path / "multi")
    assert folders.load(str(tmp_path / "multi")).independent
    judge = Record(kind="comments/classifier", path=str(tmp_path / "multi"), labels=TOXIC)
    assert {game.rewards["toxicity"] for game in played(world(moderator=judge, voter=""), 3)} == {0.0}


# over HTTP


@pytest.fixture
def stub():
    made = []

    def start(*responses):
        """A server with fixed responses, each a status and a body; a function makes the body of the texts."""
        seen, waiting = [], list(responses)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                start.headers.append(dict(self.headers))
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
                seen.append(texts)
                status, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                time.sleep(body if isinstance(body, float) else 0)
                raw = json.dumps(body(texts) if callable(body) else body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        made.append(server)
        return f"http://127.0.0.1:{server.server_port}/", seen

    start.headers = []
    yield start
    for server in made:
        server.shutdown()


def by_fool(texts):
    return [
        [{"label": "toxic", "score": score}, {"label": "fine", "score": round(1 - score, 4)}]
        for score in (0.9 if "fool" in text else 0.1 for text in texts)
    ]


def remote(url, **options):
    chosen = {"model": "m", "labels": Record(toxic=2, fine=0), "retries": 2, "pause": 0.0, **options}
    return Record(kind="comments/remote", url=url, **chosen)


def test_a_classifier_over_http(stub):
    url, seen = stub((503, "busy"), (200, by_fool))
    games_of = played(world(moderator=remote(url, texts=8), voter=""), 40)
    for game in games_of:
        comment = next(turn.text for turn in game.turns if turn.seat == "agent")
        assert game.rewards["toxicity"] == (2.0 if "fool" in comment else 0.0)
    assert max(map(len, seen)) == 8, "texts are sent together"
    assert sum(map(len, seen)) == 40 + 8, "one request was repeated"


def by_fool_alone(texts):
    """A multi-label classifier with one label."""
    return [[{"label": "toxic", "score": 0.9 if "fool" in text else 0.002}] for text in texts]


def test_a_multi_label_classifier_over_http(stub):
    url, _ = stub((200, by_fool_alone))
    with pytest.raises(BadSetting, match="set independent to true"):
        played(world(moderator=remote(url), voter=""), 1)
    ended = played(world(moderator=remote(url, independent=True), voter=""), 40)
    assert {game.rewards["toxicity"] for game in ended} == {0.0, 2.0}


@pytest.mark.parametrize(
    ("response", "options", "words"),
    [
        ((503, "busy"), {}, "asked 3 times and failed: status 503"),
        ((404, "nothing"), {}, "asked once and failed: status 404"),
        ((200, 1.0), {"timeout": 0.2}, "asked 3 times.*TimeoutError"),
        ((200, []), {}, "it must be a list of"),
        ((200, [[{"label": "toxic", "score": 2}]]), {}, "it must be a list of"),
        ((200, {"error": "no"}), {}, "it must be a list of"),
        ((200, [[]]), {}, "it must be a list of"),
    ],
)
def test_a_failing_classifier_is_named(stub, response, options, words):
    url, _ = stub(response)
    with pytest.raises(BrokenAgent, match=words) as error:
        played(world(moderator=remote(url, **options)), 1)
    assert url in str(error.value)


def test_a_key_is_not_shown(stub, monkeypatch):
    monkeypatch.setenv("SEAT_KEY", "sk-0123456789")
    url, _ = stub((200, {"error": "sk-0123456789 has no credit"}))
    with pytest.raises(BrokenAgent, match=r"responded: .*\*\*\* has no credit.*it must be a list") as error:
        played(world(moderator=remote(url, api_key_variable="SEAT_KEY")), 1)
    assert "0123456789" not in str(error.value)


def test_a_key_is_sent_and_not_shown(stub, monkeypatch):
    monkeypatch.setenv("CLASSIFIER_KEY", "hunter2-hunter2")
    url, _ = stub((401, "no key hunter2-hunter2"))
    with pytest.raises(BrokenAgent, match="status 401") as error:
        played(world(moderator=remote(url, api_key_variable="CLASSIFIER_KEY")), 1)
    assert "hunter2" not in str(error.value)
    assert stub.headers[-1]["Authorization"] == "Bearer hunter2-hunter2"


def test_a_failure_stops_the_other_requests(stub):
    url, seen = stub((404, "nothing"), (503, "busy"))
    with pytest.raises(BrokenAgent, match="status 404"):
        played(world(moderator=remote(url, texts=1, concurrency=4), voter=""), 40)
    assert len(seen) < 10


@pytest.mark.data
def test_a_classifier_of_real_labels(tmp_path, beside):
    task = world(source="path", path=str(beside / "data" / "wiki_toxicity"))
    found = linear.train(task, tmp_path / "toxicity")
    assert found["rows"] == 300
    assert found["roc_auc"] > 0.85
