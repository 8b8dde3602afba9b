"""How the agent `http` writes questions: texts and messages, what ends an answer, and what it leaves out
where a context is full.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from helpers.agents.endpoints import agent, asked, chat
from helpers.models.chat_templates import OURS, with_tags
from helpers.tracers.echo import Echo
from loquent.agents import prompts
from loquent.agents.http import HttpOptions
from loquent.core.actions import Texts
from loquent.core.agent import make
from loquent.core.episode import TASK, Turn
from loquent.core.rollout.loop import games, play
from loquent.core.settings import Remark
from loquent.core.task import Observation
from loquent.errors import BadSetting, BrokenAgent
from loquent.models.format.names import Chat
from loquent.tasks.wordle.task import Wordle, WordleOptions

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def text(said, **more):
    return {"choices": [{"text": said, "finish_reason": "stop", **more}]}


# -- texts
# ------------------------------------------------------------------------------------------------------------


def test_a_text_is_what_was_said_and_a_line_break_only_where_nothing_parts_an_answer_from_what_follows(serve):
    server = serve(text("crane\nbbbbb\nslate"), text(" ab"), text("slate"))
    task = Wordle(WordleOptions(limit=5))
    [episode] = play(task, games(task.rows("train")[:1]), agent(server, api="completions"), seed=0)
    assert [turn.text for turn in episode.answers()][:3] == ["crane", "ab", "slate"]
    marks = [turn.text for turn in episode.turns if turn.seat == TASK]
    assert server.seen[3][2]["prompt"] == f"{task.spec.instruction}\ncrane\n{marks[1]}ab\nslate\n{marks[3]}"
    assert server.seen[0][2]["stop"] == ["\n"], "each word of Wordle is a line"


def test_a_prompt_that_is_to_be_continued_ends_where_the_task_ends_it(serve):
    server = serve(text(" and the sea .\nMore", finish_reason="length"))
    question = asked(Echo(), 1)
    [answer] = agent(server, api="completions").answer([question])
    assert (
        server.seen[0][2]["prompt"]
        == f"{question.instruction}\n{question.observation.text}"
        == "Say it again.\necho"
    )
    assert "stop" not in server.seen[0][2], "its answers are texts of any lines"
    assert answer.text == " and the sea .\nMore", "the space that parts it from its prompt is not taken away"


@pytest.mark.parametrize("strip", [True, False])
def test_white_space_is_taken_from_actions_and_never_from_texts(serve, strip):
    for api, reply in (("chat", chat("  crane \n")), ("completions", text("  crane "))):
        [word] = agent(serve(reply), api=api, strip=strip).answer([asked(Wordle())])
        [said] = agent(serve(reply), api=api, strip=strip).answer([asked(Echo())])
        assert word.text == ("crane" if strip else "  crane " + "\n" * (api == "chat"))
        assert said.text.startswith("  crane ")


def test_actions_of_several_lines_are_not_cut():
    assert prompts.line_stops(Texts(("a", "b c")), None) == ("\n",)
    assert prompts.line_stops(Texts(("a", "b\nc")), None) == ()
    assert prompts.line_stops(None, None) == ()


def test_no_more_stops_are_sent_than_the_protocol_takes_and_all_are_heeded(serve):
    server = serve(chat("one|two"))
    question = asked(Echo())
    stops = ("1", "2", "", "3", "4", "5", "|")
    [answer] = agent(server).answer(
        [replace(question, observation=replace(question.observation, stop=stops))]
    )
    assert server.seen[0][2]["stop"] == ["1", "2", "3", "4"]
    assert (answer.text, answer.stopped) == ("one", "stop")
    told = serve(chat("one", stop_reason="|"))  # a server that says where it stopped
    [answer] = agent(told).answer([replace(question, observation=replace(question.observation, stop=stops))])
    assert answer.stopped == "stop"


# -- messages
# ------------------------------------------------------------------------------------------------------------


def test_an_invalid_move_is_told_with_its_text_and_the_task_s_reason(serve):
    server = serve(chat("zzzzz"), chat("a\nb"), chat(""), chat("crane"))
    task = Wordle(WordleOptions(limit=5, guesses="words"))
    play(task, games(task.rows("train")[:1]), agent(server), seed=0)
    messages = server.seen[3][2]["messages"]
    assert [message["content"] for message in messages if message["role"] == "assistant"] == [
        "zzzzz",
        "a\nb",
        "(no reply)",
    ]
    assert [message["content"] for message in messages if message["role"] == "user"][1:] == [
        "'zzzzz' is no valid answer: not in the list of guesses",
        "'a\\nb' is no valid answer: not five letters a-z",
        "'' is no valid answer: not five letters a-z",
    ]


def test_a_valid_move_and_a_text_of_the_task_s_own_are_told_as_they_are():
    said = Turn("agent", "x" * 200, invalid="no label")
    question = replace(
        asked(),
        turns=(
            Turn(TASK, "a", to="agent"),
            said,
            Turn(TASK, "b", to="agent"),
            Turn("agent", "c"),
            Turn(TASK, "", to="agent"),
        ),
    )
    found = prompts.messages(question, 0, "(nothing)")
    assert found[3] == {"role": "user", "content": f"{'x' * 80!r} is no valid answer: no label\nb"}
    assert found[5] == {"role": "user", "content": "(nothing)"}


# -- the body
# ------------------------------------------------------------------------------------------------------------


def test_the_seed_and_the_name_of_the_length_are_chosen_and_further_fields_are_sent(serve):
    server = serve(chat("crane"))
    extra = {"top_p": 0.5, "logit_bias": {"7": -1}, "tags": ["a", "b"]}
    made = make(
        "http",
        Wordle(),
        {
            "base_url": server.url,
            "model": "m",
            "seed": False,
            "length_field": "max_completion_tokens",
            "max_tokens": 9,
            "extra": extra,
        },
    )
    made.answer([asked()])
    body = server.seen[0][2]
    assert {name: body.get(name) for name in extra} == extra
    assert "seed" not in body
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 9
    agent(server).answer([asked()])
    assert {"seed", "max_tokens"} <= server.seen[1][2].keys()


def test_the_switch_of_thoughts_of_an_exported_chat_is_sent(serve, tmp_path):
    from transformers import GPT2Config

    tokenizer = with_tags(OURS["thinks"])
    tokenizer.save_pretrained(tmp_path)
    GPT2Config(vocab_size=len(tokenizer), n_positions=512).save_pretrained(tmp_path)
    (tmp_path / "loquent.json").write_text('{"format": "chat", "thinking": false}')
    server = serve(chat("crane"))
    options = {"base_url": server.url, "model": "m", "tokenizer": str(tmp_path), "max_tokens": 9}
    make("http", Wordle(), options).answer([asked()])
    assert server.seen[0][2]["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}


@pytest.mark.parametrize(
    "name",
    [
        "model",
        "messages",
        "prompt",
        "stop",
        "seed",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "stream",
    ],
)
def test_no_further_field_takes_the_place_of_the_agent_s_own(name):
    with pytest.raises(BadSetting, match=f"the field '{name}' itself"):
        make("http", Wordle(), {"base_url": "http://x/v1", "model": "m", "extra": {name: 1}})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": (float("nan"),)}])
def test_a_further_field_is_json(value):
    with pytest.raises(BadSetting, match="extra"):
        make("http", Wordle(), {"base_url": "http://x/v1", "model": "m", "extra": {"a": value}})


# -- a full context
# ------------------------------------------------------------------------------------------------------------

FILE = Path(__file__).with_name("complaints.yaml")
COMPLAINTS = {name: tuple(answer.values()) for name, answer in yaml.safe_load(FILE.read_text()).items()}


def small(complaint, most):
    """An endpoint whose context holds so many messages or lines, the instruction left out."""

    def reply(_, body):
        held = len(body["messages"]) - 1 if "messages" in body else body["prompt"].count("\n") - 1
        status, said = complaint
        return (
            (chat("crane") | text("crane") | {"choices": [{**chat("crane")["choices"][0], "text": "crane"}]})
            if held <= most
            else (status, {}, said)
        )

    return reply


@pytest.mark.parametrize("kind", COMPLAINTS)
def test_where_the_context_is_full_the_oldest_turns_are_left_out(serve, kind):
    server = serve(small(COMPLAINTS[kind], 4))
    task = Wordle(WordleOptions(limit=5))
    row = next(row for row in task.rows("train") if row["secret"] != "crane")
    with pytest.warns(Remark, match="context is full"):
        [episode] = play(task, games([row]), agent(server, retries=0), seed=0)
    assert len(episode.answers()) == 6
    bodies = [body["messages"] for _, _, body in server.seen]
    answered = [messages for messages in bodies if len(messages) <= 5]
    assert len(answered) == 6
    assert all(messages[0] == {"role": "system", "content": task.spec.instruction} for messages in bodies)
    marks = [turn.text for turn in episode.turns if turn.seat == TASK]
    assert answered[-1] == [
        answered[-1][0],
        {"role": "user", "content": marks[4]},
        {"role": "assistant", "content": "crane"},
        {"role": "user", "content": marks[5]},
    ]
    refused = len(bodies) - 6
    assert refused == 4, (
        "each question is refused once: what did not fit is not asked again in the game's next question"
    )


def test_the_same_turns_are_left_out_with_and_without_what_is_remembered(serve):
    task = Wordle(WordleOptions(limit=5))
    row = next(row for row in task.rows("train") if row["secret"] != "crane")
    for api, most in (("chat", 4), ("completions", 3)):
        server = serve(small(COMPLAINTS["OpenAI"], most))
        one = agent(server, api=api)
        with pytest.warns(Remark):
            [episode] = play(task, games([row]), one, seed=0)
        seen = episode.seen_by("agent")
        for n in (5, 7, 9, 11):
            question = replace(
                asked(task), game=f"{row.id}#0", turns=seen[:n], observation=Observation(seen[n - 1].text)
            )
            with pytest.warns(Remark):
                alone = agent(serve(small(COMPLAINTS["OpenAI"], most)), api=api).answer([question])
            assert alone == one.answer([question])
            assert alone[0].dropped == n - 3


def test_the_instruction_and_the_newest_turn_are_never_left_out(serve):
    server = serve(small(COMPLAINTS["vLLM"], 0))
    with pytest.raises(BrokenAgent, match=r"asked once .*context length is only 24"):
        agent(server, retries=3).answer([asked()])
    assert len(server.seen) == 1


def test_a_limit_of_the_rate_is_no_full_context(serve):
    server = serve((429, {"Retry-After": "0"}, b"too many tokens per minute"), chat("crane"))
    assert agent(server).answer([asked()])[0].dropped == 0
    assert len(server.seen) == 2


def test_options_say_what_they_are_worth():
    one = HttpOptions(base_url="http://127.0.0.1:1/v1", model="m")
    assert json.dumps(dict(one.extra)) == "{}"
    for bad in ({"length_field": "tokens"}, {"format": "other"}):
        with pytest.raises(BadSetting):
            HttpOptions(base_url="http://127.0.0.1:1/v1", model="m", **bad)


@pytest.mark.parametrize(
    ("kind", "served", "text"),
    [
        ("last", "\n</think>\n\nthe end", "the end"),  # thoughts are no special tokens
        ("last", "so\n</think>\n\nthe end", "the end"),
        ("channels", "finalthe final word", "the final word"),  # special tokens are left out by the server
        ("parts", " the end", "the end"),
        ("keeps", " the end", " the end"),
    ],
)
def test_what_a_template_writes_before_an_answer_is_no_part_of_a_served_answer(kind, served, text):
    assert Chat(with_tags(OURS[kind])).trim_answer(served) == text
