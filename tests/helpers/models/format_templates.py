"""Chat templates by format, and histories that each of them writes."""

import copy

from helpers.models.format_cases import said, told
from helpers.models.tokenizers_for_tests import (
    CHATML,
    byte_level,
    chatml,
    ilql_byte_level,
    sentence_piece,
    wordle_characters,
)
from loquent.models.format.names import Chat, Ilql, Plain

TRIMS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CASES = {
    "plain": (Plain, byte_level),
    "ilql": (Ilql, ilql_byte_level),
    "ilql, 35 characters": (Ilql, wordle_characters),
    "chatml": (Chat, chatml),
    "a default system message": (Chat, lambda: chatml(DEFAULT_SYSTEM)),
    "no system message": (Chat, lambda: chatml(NO_SYSTEM)),
    "a template that trims": (Chat, lambda: chatml(TRIMS)),
    "llama 2": (Chat, lambda: with_template(sentence_piece(), LLAMA_2)),
}
HISTORIES = [
    [told("the film\n")],
    [told("the film\n"), said(" was good"), told("\nwhy\n"), said("it is fine"), told("\n\nso\n")],
    [told(""), said("once"), told(""), said("on"), told("the")],
    [said("a"), told("b\n"), said("c"), said("d")],
    [told("the film\n"), said(""), told("\tlong\n")],
]
LETTERS = [
    [told("abc")],
    [told("gy"), said("crane"), told("bb"), said("slate"), told("")],
    [told(""), said("crane"), told("")],
]
SENTENCE_PIECE = [
    [told("the film.")],
    [told("the film."), said("once"), told("on"), said("and on"), told("the sea")],
    [said("a"), told("b")],
]


def with_template(tokenizer, template):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = template
    return tokenizer


def case(name):
    kind, tokenizer = CASES[name]
    made = copy.deepcopy(tokenizer())
    return kind(made), made


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
