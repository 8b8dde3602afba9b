"""What a server of dialogue answers to requests of every kind, without a socket: its limits and its seats."""

import asyncio
import json

import httpx2
import numpy as np
import pytest

import loquent
from helpers.tasks.untrained_seats import untrained
from loquent.core.agent import make
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.game.rules import MOST_CHARACTERS
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.scenes.scene import Scene
from loquent.tasks.dialogue.serving.lookup import Lookup
from loquent.tasks.dialogue.serving.server import app

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def world(**options):
    return loquent.task("dialogue", **options)


@pytest.fixture(scope="module")
def served():
    return app(world())


def respond(served, path, **sent):
    """The status and the JSON of a response."""

    async def sending():
        transport = httpx2.ASGITransport(served)
        async with httpx2.AsyncClient(transport=transport, base_url="http://served") as client:
            return await client.post(f"/{path}", **sent)

    response = asyncio.run(sending())
    return response.status_code, response.json()


def fields(task=None, **changes):
    task = world() if task is None else task
    row = task.rows("test")[0]
    sent = protocol.fields(row["caption"], [], "what is it?", task.image(row.fields))
    return {name: value for name, value in {**sent, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"img_features": f"[{'1' * 400}{', 0' * 63}]"}, "img_features"),
        ({"img_features": f"[-{'1' * 400}{', 0' * 63}]"}, "img_features"),
        ({"img_features": f"[1e39{', 0' * 63}]"}, "img_features"),
        ({"caption": "x" * (MOST_CHARACTERS + 1)}, "caption has 4,097 characters"),
        ({"history": json.dumps([{"speaker": "question", "text": "x" * 5000}])}, r"history\[0\] has 5,000"),
    ],
)
def test_fields_that_no_client_may_send(served, changes, words):
    status, body = respond(served, protocol.STEP_RANK, data=fields(**changes))
    assert status == 422
    with pytest.raises(BadRow, match=words):
        raise BadRow(body["error"])


def test_large_numbers_are_answered_with_a_finite_one(served):
    image = json.dumps([3e38] * 64)
    assert respond(served, protocol.REWARD, data=fields(img_features=image, history="[]"))[0] == 200


def test_a_caption_of_another_world_is_the_client_s_fault(served):
    sent = fields(caption="a dog on a beach", img_features=None, history="[]")
    status, body = respond(served, protocol.QUESTION, data=sent)
    assert (status, "none of the built-in world" in body["error"]) == (422, True)


def test_long_texts_are_cut_before_they_are_sent_and_before_they_are_read():
    sent = protocol.fields("c" * 9000, [("q" * 9000, "a" * 9000)], "q" * 9000, None)
    lengths = [len(entry["text"]) for entry in json.loads(sent["history"])]
    assert (lengths, len(sent["caption"])) == ([MOST_CHARACTERS] * 3, MOST_CHARACTERS)
    scene = Scene("dog", (0, 1, 1, 2, 3))
    assert questions.answer("x " * 100 + "what color is the dog", scene) == "brown"
    assert questions.answer("x " * 5000 + "what color is the dog", scene) == questions.UNKNOWN


def test_a_request_that_does_not_arrive_is_ended():
    async def slow():
        yield b"history="
        await asyncio.sleep(600)

    status, body = respond(app(world(), patience=0.05), protocol.STEP_RANK, content=slow(), headers=FORM)
    assert (status, body["error"]) == (408, "the request was not complete after 0.05 seconds")


def test_another_agent_may_ask():
    task = world()
    asking = app(task, make({"kind": "dialogue/list", "questions": ("who?", "why?")}, task))
    sent = fields(caption="a dog on a beach", img_features=None, history="[]")
    assert respond(asking, protocol.QUESTION, data=sent) == (200, "who?")
    with pytest.raises(BadSetting, match="agent: a server cannot use the agent expert"):
        app(task, make("expert", task))


def test_an_agent_s_options_need_the_agent(capsys):
    from loquent.cli.main import main

    assert main(["serve", "dialogue", "agent.questions=[a]"]) == 2
    assert "agent.questions=[a] is an option of --agent" in capsys.readouterr().err


# recorded dialogues


@pytest.fixture
def recorded(tmp_path):
    """Two dialogues about one image, and two about others, with what was answered."""
    dialogs = [
        {"caption": f"caption {i}", "dialog": [{"question": "who", "answer": f"a{i}"}]} for i in range(4)
    ]
    images = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
    images[1] = images[0]
    (tmp_path / "train.json").write_text(json.dumps(dialogs))
    np.save(tmp_path / "images_train.npy", images)
    seat = "dialogue/recorded"
    return world(
        source="visdial",
        path=str(tmp_path / "train.json"),
        images=str(tmp_path),
        answerer=seat,
        judge=Record(kind="dialogue/judge", path=str(tmp_path / "guesser"), pool="train"),
    )


def test_rows_are_found_by_rounded_features(recorded):
    lookup = Lookup(recorded)
    everything = [row.fields for split in ("train", "validation") for row in recorded.rows(split)]
    for fields in everything:
        rounded = np.round(recorded.image(fields), 5)
        assert lookup.row(rounded, fields["caption"]) == fields
        double = fields["caption"] in ("caption 0", "caption 1")
        assert lookup.row(rounded, "another") == (None if double else fields)
    assert lookup.row(recorded.image(everything[0]) + 0.01, "caption 0") is None


def test_an_unrecorded_question_is_the_client_s_fault(recorded, tmp_path):
    untrained("judge", image=16).save(tmp_path / "guesser", {})
    row, served = recorded.rows("train")[0], app(recorded)

    def ask(question):
        sent = protocol.fields(row["caption"], [], question, recorded.image(row.fields))
        return respond(served, protocol.ANSWER, data=sent)

    assert ask("who?") == (200, row["dialog"][0][1])
    status, body = ask("what?")
    assert (status, "the row records an answer to 'who?' only" in body["error"]) == (422, True)
