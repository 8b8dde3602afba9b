"""Seats that were trained on recorded dialogues, and a server of seats: A29 of ILQL's specification."""

import json
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial

import httpx2
import numpy as np
import pytest
import torch

import loquent
from helpers.tasks.untrained_seats import SMALL, untrained
from loquent.core.agent import Question, make
from loquent.core.rollout.loop import games, play
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import BadModel, BadRow, BadSetting
from loquent.metrics.judges import card
from loquent.pretrained import END
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.learned import seats, training
from loquent.tasks.dialogue.learned.networks import ends_of
from loquent.tasks.dialogue.learned.seats import TrainedAnswerer, TrainedGuesser
from loquent.tasks.dialogue.learned.tokens import ANSWER, CAPTION, LONGEST, QUESTION
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.sources import builtin
from loquent.tasks.dialogue.state import State

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
SETTINGS = training.SeatSettings(epochs=16, minibatch=4, **SMALL)


def seats_of(folder):
    """The options of a task whose seats are trained."""
    return {name: Record(kind=f"dialogue/{name}", path=str(folder / name)) for name in ("answerer", "judge")}


def dogs(task, split, count):
    """The first rows with a dog: a world of 20 answers, for networks that learn in seconds."""
    return [row for row in task.rows(split) if row["subject"] == "dog"][:count]


@pytest.fixture(scope="module")
def dialogues():
    task = loquent.task("dialogue", percentile=1.0)
    asker = make({"kind": "dialogue/casual", "yes_no": 0.0, "off_topic": 0.0}, task)
    played = play(task, games(dogs(task, "train", 60)), asker, seed=0)
    return task, training.played_dialogues(task, played)


@pytest.fixture(scope="module")
def trained(dialogues, tmp_path_factory):
    """The folders of an answerer and of a judge, with what training returned."""
    folder = tmp_path_factory.mktemp("seats")
    return folder, {
        "answerer": training.train_answerer(*dialogues, folder / "answerer", SETTINGS),
        "judge": training.train_guesser(*dialogues, folder / "judge", SETTINGS),
    }


def test_a_trained_answerer_and_a_trained_judge_play(dialogues, trained):
    folder, figures = trained
    assert figures["answerer"]["accuracy"] > 0.8, "one answer of four would be chance"
    assert figures["judge"]["last"] < 0.85, "the mean of all images has 1"
    learned = loquent.task("dialogue", **seats_of(folder))
    ended = list(play(learned, games(dogs(learned, "test", 10)), make("dialogue/careful", learned), seed=0))
    known = {answer for _, rounds in dialogues[1] for _, answer in rounds}
    given = [
        (answer, questions.answer(asked, builtin.scene_of(fields)))
        for fields, rounds in training.played_dialogues(learned, ended)
        for asked, answer in rounds
    ]
    assert {answer for answer, _ in given} <= known, "it writes whole answers, and no others"
    assert np.mean([answer == right for answer, right in given]) > 0.8
    assert np.mean([game.ended == "found" for game in ended]) > 0.5
    with pytest.raises(BadSetting, match="the role 'answerer', not 'judge'"):
        TrainedGuesser.load(folder / "answerer")


def test_training_is_reproducible(dialogues, tmp_path):
    for name in ("a", "b"):
        training.train_guesser(dialogues[0], dialogues[1][:20], tmp_path / name, replace(SETTINGS, epochs=1))
    weights = [(tmp_path / name / card.WEIGHTS).read_bytes() for name in ("a", "b")]
    assert weights[0] == weights[1]


def test_the_accuracy_of_training_is_that_of_written_answers(dialogues, trained):
    task, recorded = dialogues
    answerer, held = TrainedAnswerer.load(trained[0] / "answerer"), recorded[-6:]
    right = [
        np.mean(
            [
                answerer.answer(fields["caption"], rounds[:number], asked, task.image(fields)) == answer
                for number, (asked, answer) in enumerate(rounds)
            ]
        )
        for fields, rounds in held
    ]
    assert np.mean(right) == pytest.approx(trained[1]["answerer"]["accuracy"], abs=1e-6)


def test_the_error_of_training_is_that_of_guesses(dialogues, trained):
    task, recorded = dialogues
    guesser = TrainedGuesser.load(trained[0] / "judge")
    images = np.stack([task.image(fields) for fields, _ in recorded[:-6]])
    variance = ((images - images.mean(0)) ** 2).mean()
    errors = [
        ((guesser.guess(fields["caption"], rounds) - task.image(fields)) ** 2).mean()
        for fields, rounds in recorded[-6:]
    ]
    assert np.mean(errors) / variance == pytest.approx(trained[1]["judge"]["last"], rel=1e-4)


@pytest.mark.parametrize("role", ["answerer", "judge"])
def test_later_rounds_change_nothing_before_them(dialogues, role):
    seat = untrained(role)
    network, encoding = seat.network, seat.encoding
    fields, rounds = dialogues[1][0]
    whole, part = (encoding.dialogue(fields["caption"], rounds[:count]) for count in (5, 3))
    ids, roles = map(torch.from_numpy, encoding.pad([whole, part]))
    length = len(part.ids)
    if role == "judge":
        ends, real = ends_of(roles)
        assert real.sum(1).tolist() == [6, 4], "the caption and each answer"
        assert int(ends[1, 3]) == length - 1
        found = network(ids, roles, ends)[:, :4]
    else:
        where = torch.arange(ids.shape[1]).expand_as(ids) < length
        found = network(ids, roles, torch.zeros(2, 64), where).unflatten(0, (2, length))
    torch.testing.assert_close(found[0], found[1])


@torch.no_grad()
def test_figures_by_hand(dialogues):
    """The cross-entropy of each answer's tokens with its mark, and the squared error after each answer."""
    fields, rounds = dialogues[1][0]
    seat = untrained("answerer")
    network, encoding = seat.network, seat.encoding
    tokens = [encoding.dialogue(fields["caption"], rounds[:count]) for count in (2, 1)]
    ids, roles = map(torch.from_numpy, encoding.pad(tokens))
    image, everywhere = torch.stack([torch.zeros(64), torch.ones(64)]), torch.ones_like(ids, dtype=torch.bool)
    found = network.figures(ids, roles, image)
    chances = network(ids, roles, image, everywhere).log_softmax(1).unflatten(0, ids.shape)
    for row, each in enumerate(tokens):
        places = [place for place, role in enumerate(each.roles) if role == ANSWER]
        total = -sum(float(chances[row, place - 1, each.ids[place]]) for place in places)
        assert float(found["loss"][row]) == pytest.approx(total / (2 - row), rel=1e-5)
    network = untrained("judge").network
    network.fit_scale(3 * image)
    assert network.in_scale(3 * image).tolist() == [[-1.0] * 64, [1.0] * 64]
    found, guesses = network.figures(ids, roles, image), network(ids, roles, ends_of(roles)[0])
    errors = (guesses - network.in_scale(image)[:, None]).square().mean(2)
    for row, count in enumerate((3, 2)):
        assert float(found["loss"][row]) == pytest.approx(float(errors[row, :count].mean()), rel=1e-5)
        assert float(found["last"][row]) == pytest.approx(float(errors[row, count - 1]), rel=1e-5)


def test_an_answer_depends_on_the_image_and_a_guess_on_each_text():
    seat = untrained("answerer")
    read = seat.encoding.dialogue("a dog", [("q", "a")], "why?")
    ids, roles = map(torch.from_numpy, seat.encoding.pad([read] * 2))
    images, where = torch.stack([torch.zeros(64), torch.ones(64)]), torch.arange(ids.shape[1]) == 2
    logits = seat.network(ids, roles, images, where.expand_as(ids))
    assert (logits[0] - logits[1]).abs().max() > 0.01
    guesser = untrained("judge")
    guess, *others = (
        guesser.guess(caption, [(asked, answer)])
        for caption in ("a dog", "a cat")
        for asked in ("why?", "who?")
        for answer in ("yes", "no")
    )
    assert all(np.abs(guess - other).max() > 1e-4 for other in others)


def test_texts_become_tokens_and_back():
    encoding = untrained("answerer").encoding
    assert encoding.ids("a dog <|end|>").count(encoding.end) == 1, "only the mark at its end"
    assert encoding.text(encoding.ids("i can't tell: 你")[:-1]) == "i can't tell: 你"
    assert len(encoding.ids("\ud800 " * 9999)) == LONGEST
    long = "b " * 60
    whole = encoding.dialogue(long, [(long, long)] * 10, long)
    assert whole == encoding.dialogue(long, [(long, long)], long), "a round of 80, a caption and a question"
    assert whole.roles == tuple(np.repeat((CAPTION, QUESTION, ANSWER, QUESTION), LONGEST))
    short = encoding.dialogue(long, [(long, long), ("q", "a")])
    assert short.roles.count(ANSWER) > LONGEST, "both rounds fit"


def test_only_the_splits_that_exist_are_needed(dialogues, tmp_path):
    rounds = [{"question": f"q{i}", "answer": f"a{i}"} for i in range(10)]
    (tmp_path / "train.json").write_text(
        json.dumps([{"caption": f"c{i}", "dialog": rounds} for i in range(9)])
    )
    seats = {"answerer": "dialogue/recorded", "judge": "dialogue/recorded"}
    task = loquent.task("dialogue", source="visdial", path=str(tmp_path / "train.json"), **seats)
    [episode] = play(
        dialogues[0], games(dialogues[0].rows("train")[:1]), make("dialogue/casual", dialogues[0]), seed=0
    )
    row = task.rows("train")[0]
    [(fields, _)] = training.played_dialogues(task, [replace(episode, row=row.id)])
    assert fields == row.fields
    with pytest.raises(BadSetting, match="on the row 'other-1', which dialogue"):
        training.played_dialogues(task, [replace(episode, row="other-1")])


def test_what_cannot_end_in_a_folder_is_not_trained(dialogues, tmp_path):
    with pytest.raises(BadSetting, match="at least 10"):
        training.train_answerer(dialogues[0], dialogues[1][:9], tmp_path / "x")
    silent = [(dialogues[1][0][0], ())] * 9
    with pytest.raises(BadSetting, match="there are 9 dialogues"):
        training.train_answerer(dialogues[0], dialogues[1][:9] + silent, tmp_path / "x")
    (tmp_path / "file").touch()
    with pytest.raises(BadSetting, match="is not empty; name a new folder"):
        training.train_answerer(*dialogues, tmp_path)


def changed(folder, **content):
    """The folder with a new card, so that hashes do not tell what else was changed."""
    old = json.loads((folder / card.CARD).read_text("utf-8"))
    (folder / card.CARD).unlink()
    card.write(folder, seats.KIND, {"role": old["role"], "sizes": old["sizes"], **content})
    return folder


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("slots", None, "sizes"),
        ("width", 1 << 40, "width"),
        ("heads", 3, "a multiple of heads"),
        ("slots", 7, "do not fit together"),
        ("vocabulary", 257, "at most 257 ids"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, name, value, words):
    seat = untrained("judge", ["a dog"] * 9)
    seat.save(tmp_path / "judge", {})
    changed(tmp_path / "judge", sizes={**asdict(seat.network.sizes), name: value})
    with pytest.raises(BadSetting, match=words):
        TrainedGuesser.load(tmp_path / "judge")


def test_a_tokenizer_that_cannot_be_used_is_refused_by_name(tmp_path):
    end = {"id": 1, "content": END, "single_word": False, "lstrip": False, "rstrip": False}
    end |= {"normalized": False, "special": True}

    def loaded(model, added=()):
        untrained("answerer").save(tmp_path / "seat", {})
        (tmp_path / "seat" / seats.TOKENIZER).unlink()
        if model:
            tree = {"version": "1.0", "added_tokens": added, "model": model}
            (tmp_path / "seat" / seats.TOKENIZER).write_text(json.dumps(tree), "utf-8")
        try:
            return TrainedAnswerer.load(changed(tmp_path / "seat"))
        finally:
            shutil.rmtree(tmp_path / "seat")

    with pytest.raises(BadModel, match=r"seat/tokenizer.json is missing"):
        loaded(None)
    with pytest.raises(BadSetting, match=r"it has 0 ids, and <\|end\|> is None"):
        loaded({"type": "BPE", "vocab": {}, "merges": []})
    words = loaded({"type": "WordLevel", "vocab": {"dog": 0}, "unk_token": "?"}, [end])
    assert words.encoding.ids("dog") == [0, 1]
    with pytest.raises(BadModel, match="a trained seat: the tokenizer has no token for 'c' in 'cat'"):
        words.answer("dog", [], "cat", np.zeros(64))


def test_damaged_seats_are_refused(dialogues, trained, tmp_path):
    for name, role in (("nan", "judge"), ("double", "judge")):
        seat = TrainedGuesser.load(trained[0] / role)
        seat.network.mean.fill_(float("nan")) if name == "nan" else seat.network.double()
        seat.save(tmp_path / name, {})
    with pytest.raises(BadSetting, match="not finite"):
        TrainedGuesser.load(tmp_path / "nan")
    with pytest.raises(BadSetting, match="float64; all must be float32"):
        TrainedGuesser.load(tmp_path / "double")
    (tmp_path / "double" / card.WEIGHTS).write_bytes(b"no")
    with pytest.raises(BadSetting, match="is not what was written"):
        TrainedGuesser.load(tmp_path / "double")
    with pytest.raises(BadSetting, match=card.CARD):
        TrainedGuesser.load(tmp_path / "none")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "seat.json").write_text('{"role": "judge"}')
    with pytest.raises(BadSetting, match=r"seat.json, which an earlier version.*train_guesser"):
        TrainedGuesser.load(tmp_path / "old")


@pytest.mark.parametrize("role", ["answerer", "judge"])
def test_images_of_another_width_are_refused(dialogues, trained, role):
    task = loquent.task("dialogue", mode="10_stop", **seats_of(trained[0]))
    row = task.row_from({"caption": "a dog", "features": (1.0, 2.0, 3.0)})
    agent = make(task.seats[role], task)
    asked = Question(
        "g", (), Observation("", seat=role), loquent.Key(0), state=State("a dog"), row=row.fields
    )
    with pytest.raises(BadSetting, match="images of 64 numbers, and those of this task have 3"):
        agent.answer([asked])


# the protocol


def test_fields_are_read_back():
    image = np.arange(3, dtype=np.float32) / 7
    fields = protocol.fields("a dog", [("q1?", "a1")], "q2?", image)
    assert json.loads(fields["history"])[2] == {"speaker": "question", "text": "q2?"}
    assert json.loads(fields["generation_kwargs"]) == {"inference": "greedy", "beamSize": 1}
    assert protocol.history_of(fields["history"]) == ((("q1?", "a1"),), "q2?")
    np.testing.assert_array_equal(protocol.image_of(fields["img_features"]), image)
    assert "img_features" not in protocol.fields("a dog", [], "", None)


@pytest.mark.parametrize("text", ["", "3", '["a"]', '[{"speaker": "answer", "text": "a"}]', "[" * 5000])
def test_bad_histories(text):
    with pytest.raises(BadRow, match="history"):
        protocol.history_of(text)


@pytest.mark.parametrize("text", ["[]", "[true]", "[1e300]", '["a"]', "[NaN]", "{}"])
def test_bad_images(text):
    with pytest.raises(BadRow, match="img_features"):
        protocol.image_of(text)


# the server, in a process of its own


def served(port=0):
    process = subprocess.Popen(
        [sys.executable, "-m", "loquent", "serve", "dialogue", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
        # a shell that starts the tests in the background ignores the signal, and its children inherit that
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line, line
    return process, line.split("served at ")[1].split(";")[0]


@pytest.fixture(scope="module")
def server():
    process, address = served()
    yield address
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130, "as every command that is interrupted"


def request(**changes):
    task = loquent.task("dialogue")
    row = task.rows("test")[0]
    fields = protocol.fields(row["caption"], [], task.expert(_asking(task, row)), task.image(row.fields))
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


def _asking(task, row):
    return task.act(task.start(row, loquent.Key(0)), "0.5").state


def test_remote_seats_are_equal_to_local_ones(server):
    remote = Record(kind="dialogue/remote", model="truthful", url=server)
    local, far = (
        loquent.task("dialogue", percentile=0.9, **seats)
        for seats in ({}, {"answerer": remote, "judge": remote})
    )
    here, there = (
        play(task, games(task.rows("test")[:6]), make("dialogue/casual", task), seed=0)
        for task in (local, far)
    )
    for a, b in zip(here, there, strict=True):
        assert [turn.text for turn in a.turns if turn.seat != "judge"] == [
            turn.text for turn in b.turns if turn.seat != "judge"
        ]
        np.testing.assert_allclose(
            [float(turn.text) for turn in a.turns if turn.seat == "judge"],
            [float(turn.text) for turn in b.turns if turn.seat == "judge"],
            atol=1e-12,
        )


def test_every_path_answers(server):
    def at(path, **changes):
        return httpx2.post(f"{server}/{path}", data=request(**changes)).json()

    answer, change = at("step_rank")
    assert answer == at("fetch_a_bot_response")
    assert at("fetch_reward_rank", history="[]") > 0.9
    assert change != at("step")[1], "a change of rank and a change of error"
    assert at("fetch_q_bot_response", img_features=None).endswith("?")
    assert isinstance(at("fetch_reward"), float)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"history": None}, "the field history is missing"),
        ({"caption": None}, "the field caption is missing"),
        ({"history": "["}, "history"),
        ({"history": "[]"}, "nothing to answer"),
        ({"img_features": "[1, 2]"}, "images here have 64"),
        ({"img_features": json.dumps([0.5] * 64)}, "none of the built-in scenes"),
        ({"generation_kwargs": "3"}, "generation_kwargs"),
        ({"generation_kwargs": "{"}, "generation_kwargs"),
    ],
)
def test_malformed_fields_are_named(server, changes, words):
    response = httpx2.post(f"{server}/step_rank", data=request(**changes))
    assert response.status_code == 422
    assert words in response.json()["error"]


def test_other_requests_have_their_status(server):
    assert httpx2.get(f"{server}/step_rank").status_code == 405
    assert httpx2.post(f"{server}/elsewhere", data={}).status_code == 404
    assert httpx2.post(f"{server}/step_rank", json={}).status_code == 415
    too_big = httpx2.post(f"{server}/step_rank", data={"history": "x" * (5 << 20)})
    assert (too_big.status_code, "bytes" in too_big.json()["error"]) == (413, True)
    many = httpx2.post(f"{server}/step_rank", data={f"f{i}": "x" for i in range(40)})
    assert many.status_code == 422
    raw = httpx2.post(
        f"{server}/step_rank",
        content=b"\xff=%ff",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert raw.status_code == 422


def test_a_client_that_vanishes_disturbs_nobody(server):
    host, port = server.removeprefix("http://").split(":")
    for _ in range(5):
        with socket.create_connection((host, int(port))) as gone:
            gone.sendall(
                b"POST /step_rank HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            )
            gone.sendall(b"Content-Length: 1000\r\n\r\nhistory=")
    assert httpx2.post(f"{server}/step_rank", data=request()).status_code == 200


def test_clients_side_by_side_get_their_own_answers(server):
    task = loquent.task("dialogue")

    def one(number):
        row = task.rows("test")[number]
        question = task.expert(_asking(task, row))
        fields = protocol.fields(row["caption"], [], question, task.image(row.fields))
        return httpx2.post(f"{server}/fetch_a_bot_response", data=fields, timeout=60).json()

    answerer = make("dialogue/truthful", task)
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(one, range(48)))
    for number, answer in enumerate(answers):
        row = task.rows("test")[number]
        step = task.act(task.start(row, loquent.Key(0)), "0.5")
        step = task.act(step, task.expert(step.state))
        question = Question("g", (), step.observation, loquent.Key(0), state=step.state, row=row.fields)
        assert answerer.answer([question])[0].text == answer


def test_a_server_that_was_killed_goes_on_where_it_was():
    process, address = served()
    fields = request()
    before = httpx2.post(f"{address}/step_rank", data=fields).json()
    process.kill()
    process.wait()
    with pytest.raises(httpx2.ConnectError):
        httpx2.post(f"{address}/step_rank", data=fields)
    again, same = served(address.rsplit(":", 1)[1])
    assert same == address
    assert httpx2.post(f"{address}/step_rank", data=fields).json() == before
    again.kill()
    again.wait()


def test_a_task_without_a_server(capsys):
    from loquent.cli.main import main

    assert main(["serve", "wordle"]) == 2
    assert "tasks with one: dialogue" in capsys.readouterr().err
