"""Calls of tools, their results and the tools of a row are rendered as the library renders them."""

import json

import pytest

import loquent
from helpers.models.chat_templates import OURS, of_trl, with_tags
from loquent.agents import prompts
from loquent.agents.exact import Exact
from loquent.core.agent import Question
from loquent.core.episode import Episode, Turn, from_json, to_json
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.values import Record, problem
from loquent.errors import BadRow
from loquent.models.format.names import Chat

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "It looks outside.",
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]  # fmt: skip
CALL = {
    "type": "function",
    "id": "call_1",
    "function": {"name": "weather", "arguments": {"city": "Ürgüp", "days": 2}},
}
SAID = [
    {"role": "user", "content": "Is it warm?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "name": "weather", "tool_call_id": "call_1", "content": "22 degrees"},
]
ANSWER = {"role": "assistant", "content": "Yes, 22 degrees."}
# writes calls and tools as ChatML models do
WRITES = (
    "{% if tools %}<|im_start|>tools\n{% for t in tools %}{{ t | tojson }}{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {"writes": WRITES, "chatml": OURS["keeps"]}
READ = ("llama3", "llama3_1", "qwen2_5", "qwen3")
TEMPLATES |= {name: text for name, text in of_trl().items() if name in READ}


def observed(tmp_path, row, **options):
    (tmp_path / "train.jsonl").write_text(json.dumps(row) + "\n")
    task = loquent.task("generation", source="path", path=str(tmp_path / "train.jsonl"), **options)
    return task, task.start(task.rows("train")[0], Key(0)).observation


def turn_of(observation):
    return Turn("task", observation.text, to="agent", messages=observation.messages)


@pytest.mark.filterwarnings("ignore::loquent.core.settings.Remark")
@pytest.mark.parametrize("system", [False, True])
@pytest.mark.parametrize("name", TEMPLATES)
def test_prompts_with_tools_are_the_library_s(name, system, tmp_path):
    said = [{"role": "system", "content": "Be brief."}] * system + SAID
    task, observation = observed(tmp_path, {"messages": [*said, ANSWER], "tools": TOOLS})
    row = task.rows("train")[0]
    assert row["references"] == ("Yes, 22 degrees.",)
    assert problem(observation) is None
    tokenizer = with_tags(TEMPLATES[name])
    ids, _ = Chat(tokenizer).prompt(task.instruction(row, "agent"), [turn_of(observation)], "agent", 5000)
    right = tokenizer.apply_chat_template(said, tools=TOOLS, add_generation_prompt=True, return_dict=False)
    assert list(ids) == right
    reads_all = name in ("writes", "qwen2_5", "qwen3")
    assert all(word in tokenizer.decode(ids) for word in ("weather", "days", "22") if reads_all)


def test_a_marker_in_a_call_or_a_tool_is_characters(tmp_path):
    call = {**CALL, "function": {"name": "<|im_end|>", "arguments": {"<|im_end|>": ["<|im_end|>"]}}}
    tool = {"type": "function", "function": {"name": "weather", "description": "<|im_end|>"}}
    messages = [SAID[0], {**SAID[1], "tool_calls": [call]}, {**SAID[2], "name": "<|im_end|>"}, ANSWER]
    _, observation = observed(tmp_path, {"messages": messages, "tools": [tool]})
    tokenizer = with_tags(WRITES)
    ids, _ = Chat(tokenizer).prompt("", [turn_of(observation)], "agent", 5000)
    assert ids.count(tokenizer.convert_tokens_to_ids("<|im_end|>")) == 4  # the tools and the messages
    assert tokenizer.decode(ids).count("<|im_end|>") == 4 + 5


@pytest.mark.parametrize(("lost", "row"), [("tools", {"tools": TOOLS}), ("tool_calls", {})])
def test_a_template_that_writes_no_tools_is_said(lost, row, tmp_path):
    messages = SAID if lost == "tool_calls" else SAID[:1]
    _, observation = observed(tmp_path, {"messages": [*messages, ANSWER], **row})
    with pytest.warns(Remark, match=f"the chat template writes nothing of {lost}"):
        Chat(with_tags(OURS["keeps"])).prompt("", [turn_of(observation)], "agent", 5000)


def test_as_text_all_is_written_out(tmp_path):
    _, observation = observed(tmp_path, {"messages": [*SAID, ANSWER], "tools": TOOLS})
    called = '{"tool_calls": ' + json.dumps([CALL], ensure_ascii=False) + "}"
    lines = [
        f"tools: {json.dumps(TOOLS)}",
        "user: Is it warm?",
        f"assistant: {called}",
        'tool: 22 degrees {"name": "weather", "tool_call_id": "call_1"}',
    ]
    assert observation.text.split("\n") == lines
    question = Question("r-0", (turn_of(observation),), observation, Key(0))
    said = [one["content"] for one in prompts.messages(question, 0, "-")]  # neighbours are joined
    contents = [lines[0], *(line.split(": ", 1)[1] for line in lines[1:])]
    assert "\n".join(said) == "\n".join(contents)


def test_a_server_gets_messages_and_tools_as_the_template_reads_them(tmp_path):
    from transformers import GPT2Config

    tokenizer = with_tags(WRITES)
    tokenizer.save_pretrained(tmp_path / "model")
    GPT2Config(vocab_size=len(tokenizer), n_positions=4000).save_pretrained(tmp_path / "model")
    _, observation = observed(tmp_path, {"messages": [*SAID, ANSWER], "tools": TOOLS})
    question = Question("r-0", (turn_of(observation),), observation, Key(0))
    exact = Exact(str(tmp_path / "model"), "auto", "chat", 8)
    assert exact.tools(question, 0) == TOOLS
    assert exact.messages(question, 0) == SAID


def test_a_conversation_learns_the_answers_after_calls_and_is_written_to_disk(tmp_path):
    row = {"messages": [*SAID, ANSWER, {"role": "user", "content": "Thanks."}, ANSWER], "tools": TOOLS}
    task, observation = observed(tmp_path, row, turns=4)
    assert task.rows("train")[0]["turn_references"] == (("Yes, 22 degrees.",),) * 2
    assert [message[0] for message in observation.messages] == ["user", "assistant", "tool"]
    episode = Episode("t", "r", "train", 0, 0, (turn_of(observation),))
    assert from_json(json.loads(json.dumps(to_json(episode)))) == episode


def test_a_cut_prompt_keeps_its_tools_and_the_call_before_a_result(tmp_path):
    _, observation = observed(tmp_path, {"messages": [*SAID, ANSWER], "tools": TOOLS})
    tokenizer = with_tags(WRITES)
    format = Chat(tokenizer)
    whole, _ = format.prompt("", [turn_of(observation)], "agent", 5000)
    cut, _ = format.prompt("", [turn_of(observation)], "agent", len(whole) - 4)
    text = tokenizer.decode(cut)
    assert '"description"' in text
    assert "<call>" in text
    assert "22 degrees" in text


CALLS = {**ANSWER, "tool_calls": [CALL]}
BAD = {
    "message 2 of 'messages' has tool_calls 'it'": [
        SAID[0],
        {**ANSWER, "tool_calls": "it"},
        ANSWER,
    ],
    "message 1 of 'messages' has the role 'user' and tool_calls": [{**SAID[0], "tool_calls": [CALL]}, ANSWER],
    "message 1 of 'messages' has the name 3": [{**SAID[2], "name": 3}, ANSWER],
    "the last message of 'messages' calls tools": [SAID[0], CALLS],
}


@pytest.mark.parametrize("error", BAD)
def test_what_cannot_be_carried_is_said_with_row_and_column(error, tmp_path):
    with pytest.raises(BadRow, match=error) as raised:
        observed(tmp_path, {"messages": BAD[error]})
    assert "train.jsonl:1:" in str(raised.value)


@pytest.mark.parametrize("tools", ["hammer", [1], {"a": 1}, "[1]"])
def test_tools_are_objects(tools, tmp_path):
    with pytest.raises(BadRow, match=r"the field 'tools' is .*; it must be a list of objects"):
        observed(tmp_path, {"messages": [*SAID, ANSWER], "tools": tools})
    _, observation = observed(tmp_path, {"prompt": "a b", "completion": "c", "tools": tools})
    assert (observation.text, observation.messages) == ("a b", ())


def test_a_text_with_tools_is_a_message_with_tools(tmp_path):
    _, observation = observed(tmp_path, {"prompt": "a b", "completion": "c", "tools": json.dumps(TOOLS)})
    assert observation.messages[0][:2] == ("user", "a b")
    assert isinstance(observation.messages[0][2], Record)
