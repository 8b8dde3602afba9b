"""Chat templates of the kinds models come with: instructions, end markers, white space, tools, refusals."""

import pytest

from helpers.models.chat_templates import PICTURES
from helpers.models.format_cases import ids_of, said, told
from helpers.models.format_templates import LLAMA_2, NO_SYSTEM
from helpers.models.tokenizers_for_tests import CHATML, byte_level, chatml, sentence_piece, wrapped
from loquent.core.episode import Turn
from loquent.errors import BadModel, BadSetting
from loquent.models.format.names import Chat, Plain, of_tokenizer

ALTERNATES = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles "
    "must alternate') }}{% endif %}{% endfor %}" + CHATML
)
NO_END = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "
TOOLS = CHATML.replace("{{ m.role }}", "{{ 'tools' if m.role == 'tool' else m.role }}")
HISTORY = [told("The film."), said("Good"), told("Why then"), said("It is"), told("So")]


def messages(turns, instruction=""):
    system = [{"role": "system", "content": instruction}] if instruction else []
    return system + [
        {"role": "user" if turn.seat == "task" else "assistant", "content": turn.text} for turn in turns
    ]


def rendered(tokenizer, turns, instruction="", ask=False):
    return tokenizer.apply_chat_template(
        messages(turns, instruction), tokenize=False, add_generation_prompt=ask
    )


def decoded(format, ids):
    return format.encoder._rest.decode(list(ids), skip_special_tokens=False)


def test_an_instruction_is_the_system_message_or_stands_before_the_first():
    for template, expected in (
        (CHATML, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nThe film."),
        (NO_SYSTEM, "<|im_start|>user\nBe brief.\n\nThe film."),
    ):
        format = Chat(chatml(template))
        ids = format.prompt("Be brief.", HISTORY[:1], "agent", 999)[0]
        assert decoded(format, ids) == expected + "<|im_end|>\n<|im_start|>assistant\n"


def test_the_end_marker_is_an_action_and_what_follows_it_belongs_to_the_environment():
    format = Chat(chatml(), ends=[5])
    end = chatml().convert_tokens_to_ids("<|im_end|>")
    assert format.end == {end, chatml().eos_token_id, 5}
    _, _, answer, after, second = format.pieces("", HISTORY[:4], "agent")
    assert answer.ids[-1] == end
    assert all(answer.is_action)
    assert decoded(format, answer.ids[:-1]) == "Good"
    assert after.ids == ()
    before = [i for i, own in zip(second.ids, second.is_action) if not own]
    assert decoded(format, before) == "\n<|im_start|>user\nWhy then<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(("template", "role"), [(TOOLS, "tools"), (NO_SYSTEM, "tool"), (ALTERNATES, "user")])
def test_the_turns_of_a_tool_are_messages_of_a_tool_where_the_template_writes_them(template, role):
    format = Chat(chatml(template))
    turns = [told("The film."), said("look"), Turn("tool", "it is long", to="agent")]
    text = decoded(format, format.prompt("", turns, "agent", 999)[0])
    assert text.endswith(f"look<|im_end|>\n<|im_start|>{role}\nit is long<|im_end|>\n<|im_start|>assistant\n")


def test_neighbours_of_one_role_are_joined_where_messages_must_alternate():
    format = Chat(chatml(ALTERNATES))
    turns = [said("a"), said("b"), told("c"), told(""), told("d")]
    messages = format.messages("Be brief.", turns, "agent")
    assert [(m["role"], m["content"]) for m in messages] == [
        ("user", "Be brief.\n\n"),
        ("assistant", "a"),
        ("user", ""),
        ("assistant", "b"),
        ("user", "c\n\nd"),
    ]
    assert Chat(chatml()).messages("Be brief.", turns, "agent")[-1]["content"] == "d"
    assert decoded(format, format.prompt("", turns[:2], "agent", 999)[0]).endswith(
        "b<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_first_message_is_written_even_when_it_is_empty():
    format = Chat(chatml())
    ids = format.prompt("", [told("")], "agent", 99)[0]
    assert (
        format.encoder._rest.decode(list(ids), skip_special_tokens=False)
        == "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"
    )
    ids = ids_of(format.pieces("", [said("a")], "agent"))
    assert (
        format.encoder._rest.decode(list(ids), skip_special_tokens=False)
        == "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\na<|im_end|>"
    )


@pytest.mark.parametrize("instruction", ["", "Be brief."])
def test_white_space_that_is_only_written_before_given_answers_is_part_of_them(instruction):
    tokenizer = sentence_piece()
    tokenizer.chat_template = LLAMA_2
    format = Chat(tokenizer)
    history = [told("the film."), said("once"), told("on")]
    right = tokenizer(rendered(tokenizer, history, instruction), add_special_tokens=False)["input_ids"]
    assert list(format.prompt(instruction, history, "agent", 999)[0]) == right
    space_once = tokenizer.convert_tokens_to_ids("▁once")
    assert format.text([space_once, 2], before=[1, 300]) == "once"
    assert format.answer("once")[0] == space_once


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (PICTURES, "no text of a message.*pictures alone"),
        ("{{ raise_exception('never') }}", "refuses .'user'.*never"),
        ("{{ messages | nothing }}", "refuses"),
    ],
)
def test_a_template_that_writes_no_texts_is_refused_with_the_reason(template, why):
    with pytest.raises(BadModel, match=why):
        Chat(chatml(template))


def test_eos_ends_an_answer_where_the_template_writes_no_marker_after_it():
    format = Chat(chatml(NO_END))
    assert format.end == {chatml().eos_token_id}
    assert format.answer("Good")[-1] == chatml().eos_token_id
    tokenizer = wrapped(chatml().backend_tokenizer)
    tokenizer.chat_template = NO_END
    with pytest.raises(BadModel, match="no special token after an answer, and the tokenizer has no eos"):
        Chat(tokenizer)


def test_thoughts_are_switched_only_where_the_template_reads_the_switch():
    with pytest.raises(BadSetting, match=r"model\.thinking = false: the chat template writes the same"):
        Chat(chatml(), thinking=False)
    with pytest.raises(BadSetting, match=r"model\.thinking = true .*the format plain has none"):
        of_tokenizer("auto", byte_level(), thinking=True)


def test_auto_is_the_template_if_there_is_one_and_else_plain():
    assert isinstance(of_tokenizer("auto", chatml()), Chat)
    assert isinstance(of_tokenizer("auto", byte_level()), Plain)
    assert isinstance(of_tokenizer("plain", chatml()), Plain)


def test_a_template_that_refuses_what_a_text_says_sees_no_text():
    template = (
        "{% for m in messages %}{% if 'secret' in m.content %}{{ raise_exception('no') }}{% endif %}"
        "{% endfor %}" + CHATML
    )
    format = Chat(chatml(template))
    assert decoded(format, format.prompt("", [told("a secret")], "agent", 99)[0]) == (
        "<|im_start|>user\na secret<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(BadModel, match="no chat template; use the plain format"):
        Chat(byte_level())


def test_markers_of_a_template_that_are_not_special_tokens_are_still_not_found_in_messages():
    from tokenizers import AddedToken

    tokenizer = wrapped(
        type(byte_level().backend_tokenizer).from_str(byte_level().backend_tokenizer.to_str()),
        eos_token="<|end|>",
    )
    tokenizer.add_tokens(
        [
            AddedToken("<turn>", special=False, normalized=False),
            AddedToken("</turn>", special=False, normalized=False),
        ]
    )
    tokenizer.chat_template = CHATML.replace("<|im_start|>", "<turn>").replace("<|im_end|>", "</turn>")
    format = Chat(tokenizer)
    ids = format.encoder.encode("a</turn>b")
    assert not {format.encoder._rest.token_to_id(name) for name in ("<turn>", "</turn>")} & set(ids)
    assert format.text(ids) == "a</turn>b"
    assert format.text((*ids, *format.answer("")[-1:])) == "a</turn>b"
