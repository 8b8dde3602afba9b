"""Chat templates of the kinds models come with, cut into pieces; and those that cannot be cut."""

import pytest

from helpers.models.tokenizers_for_tests import CHATML, byte_level, chatml, sentence_piece
from loquent.errors import BadModel
from loquent.models.format.cut import cut
from loquent.models.format.names import Chat
from tests.models.format.test_format import ids_of, said, told

LLAMA_2 = (
    "{% if messages[0].role == 'system' %}{% set system = '<<SYS>>\n' + messages[0].content + "
    "'\n<</SYS>>\n\n' %}{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = "
    "messages %}{% endif %}{% for m in rest %}{% if m.role == 'user' %}{{ bos_token + '[INST] ' + "
    "(system if loop.first else '') + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + ' ' + "
    "eos_token }}{% endif %}{% endfor %}"
)
NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not "
    "supported') }}{% endif %}{% endfor %}" + CHATML
)
DEFAULT_SYSTEM = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are helpful.<|im_end|>\n{% endif %}"
    + CHATML
)
LAST_IS_SPECIAL = (  # as in templates that show their thoughts in the last answer only
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and loop.last "
    "%}<think>\n\n</think>\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if "
    "add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n{% endif %}"
)
COUNTS = "There are {{ messages | length }} messages.\n" + CHATML
NO_END = (
    "<|im_start|>{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if "
    "add_generation_prompt %}assistant: {% endif %}"
)
ONCE = CHATML.replace("{{ m.content }}", "{{ m.content }}{{ m.content }}")
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


@pytest.mark.parametrize("template", [CHATML, DEFAULT_SYSTEM, NO_SYSTEM])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_pieces_are_the_template(template, n):
    tokenizer = chatml(template)
    format = Chat(tokenizer)
    ids = ids_of(format.pieces("", HISTORY[:n], "agent"))
    text = rendered(tokenizer, HISTORY[:n])
    assert format.encoder._rest.decode(list(ids), skip_special_tokens=False) == text.removesuffix(
        "\n" if n % 2 == 0 else ""
    )
    assert text.removesuffix("\n") in (text, text[:-1])
    assert ids == tuple(tokenizer(text, add_special_tokens=False)["input_ids"])[: len(ids)]
    if n % 2:
        assert format.prompt("", HISTORY[:n], "agent", 999)[0] == tuple(
            tokenizer(rendered(tokenizer, HISTORY[:n], ask=True), add_special_tokens=False)["input_ids"]
        )


def test_an_instruction_is_the_system_message_or_stands_before_the_first():
    for template, expected in (
        (CHATML, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nThe film."),
        (NO_SYSTEM, "<|im_start|>user\nBe brief.\n\nThe film."),
    ):
        format = Chat(chatml(template))
        ids = ids_of(format.pieces("Be brief.", HISTORY[:1], "agent"))
        assert format.encoder._rest.decode(list(ids), skip_special_tokens=False) == expected + "<|im_end|>\n"


def test_the_end_marker_is_an_action_and_what_follows_it_belongs_to_the_environment():
    format = Chat(chatml())
    end = chatml().convert_tokens_to_ids("<|im_end|>")
    assert format.end == {end, chatml().eos_token_id}
    answer, after = format.pieces("", HISTORY[:3], "agent")[2:]
    assert answer.ids[-1] == end
    assert answer.is_action[-1]
    assert format.encoder._rest.decode([i for i, own in zip(answer.ids, answer.is_action) if own]) == "Good"
    assert format.encoder._rest.decode(list(after.ids), skip_special_tokens=False).startswith(
        "\n<|im_start|>user\n"
    )
    assert not any(after.is_action)


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
    parts = cut(tokenizer)
    assert (parts.start, parts.user_lead, parts.user_close + parts.opening, parts.lead, parts.ending) == (
        "<s>[INST]",
        " ",
        " [/INST]",
        " ",
        " </s>",
    )
    format = Chat(tokenizer)
    history = [told("the film."), said("once"), told("on")]
    assert ids_of(format.pieces(instruction, history, "agent")) == tuple(
        tokenizer(rendered(tokenizer, history, instruction), add_special_tokens=False)["input_ids"]
    )
    space_once = tokenizer.convert_tokens_to_ids("▁once")
    assert format.text([space_once, 2], before=[1, 300]) == "once"
    assert format.answer("once")[0] == space_once


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (LAST_IS_SPECIAL, "rewrites earlier turns"),
        (COUNTS, "rewrites earlier turns|asks for an answer"),
        (NO_END, "no special token after an answer"),
        (ONCE, "2 times instead of once"),
        ("{{ raise_exception('never') }}", "refuses .'user'.*never"),
        ("{{ messages | nothing }}", "refuses"),
    ],
)
def test_a_template_that_cannot_be_cut_is_refused_with_the_reason(template, why):
    with pytest.raises(BadModel, match=why):
        Chat(chatml(template))


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(BadModel, match="no chat template; use the plain format"):
        Chat(byte_level())


def test_markers_of_a_template_that_are_not_special_tokens_are_still_not_found_in_messages():
    from tokenizers import AddedToken

    from helpers.models.tokenizers_for_tests import wrapped

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
