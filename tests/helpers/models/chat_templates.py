"""Chat templates of each kind, small ones of ours and those in TRL's wheel, on a byte-level tokenizer."""

import copy
import importlib.util
import re
from functools import cache
from pathlib import Path

from helpers.models.tokenizers_for_tests import CHATML, byte_level
from loquent.errors import BadSetting
from loquent.models.format.names import Chat

TAG = re.compile(r"<[|｜]?[^<>\s'\"{}]{1,40}[|｜]?>|\[/?[A-Z_]{2,20}\]")
THOUGHTS = ("<think>", "</think>")  # no special tokens in the models that think
ROLES = "{% for m in messages %}<|im_start|>{{ m.role }}\n"
SWITCH = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
AFTER_THOUGHTS = "{{ m.content.split('</think>')[-1].lstrip('\n') if m.role == 'assistant' else m.content }}"
OURS = {
    "keeps": CHATML,
    # the thoughts of earlier answers are left out, and the prompt closes them if they are off (Qwen3)
    "thinks": ROLES
    + AFTER_THOUGHTS
    + "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    + SWITCH
    + "{% endif %}",
    # the last answer has empty thoughts, earlier ones have none (Qwen3.5)
    "last": ROLES
    + "{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}",
    # the prompt opens thoughts that no answer repeats (DeepSeek R1)
    "opens": "<s>{% for m in messages %}{% if m.role == 'user' %}<|User|>{{ m.content }}{% elif m.role == "
    "'assistant' %}<|Assistant|>{{ m.content.split('</think>')[-1] }}</s>{% else %}{{ m.content }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|Assistant|><think>\n{% endif %}",
    # no marker ends an answer but that of the next message, and answers begin with thoughts (GLM)
    "no end": "[gMASK]{% for m in messages %}<|{{ m.role }}|>\n{% if m.role == 'assistant' %}<think>"
    "</think>\n{{ m.content.split('</think>')[-1] | trim }}{% else %}{{ m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}",
    # another marker ends the last answer than earlier ones, and channels stand before the text (gpt-oss)
    "channels": "{% for m in messages %}<|start|>{{ m.role }}{% if m.role == 'assistant' %}"
    "<|channel|>final<|message|>{{ m.content }}{{ '<|return|>' if loop.last else '<|end|>' }}{% else %}"
    "<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}",
    # eos after the last message alone (Phi)
    "eos": "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% else %}{{ eos_token }}{% endif %}",
    # contents in parts (SmolVLM)
    "parts": "{% for m in messages %}{{ m.role | capitalize }}: {% for part in m.content %}{% if part.type "
    "== 'text' %}{{ part.text }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}",
    # messages alternate, there is no system message, texts are trimmed (Gemma)
    "alternates": "<s>{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles "
    "must alternate') }}{% endif %}<start_of_turn>{{ m.role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>assistant\n{% endif %}",
    # no marker at all, and a count that changes
    "bare": "{{ messages | length }}{% for m in messages %} {{ m.role }}: {{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %} assistant: {% endif %}",
}
PICTURES = (  # only pictures are written
    "{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}<image>{% endif %}"
    "{% endfor %}{% endfor %}"
)


@cache
def of_trl():
    """The templates in TRL's wheel, by name; none where it is not installed."""
    spec = importlib.util.find_spec("trl")
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder = Path(spec.submodule_search_locations[0]) / "chat_templates"
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.jinja"))}


def with_tags(template):
    """A tokenizer with this template, whose special tokens are the tags that stand in it."""
    tokenizer = copy.deepcopy(byte_level("<s>", "</s>"))
    tokenizer.add_special_tokens({"bos_token": "<s>", "eos_token": "</s>"})
    tags = {*TAG.findall(template), *(f"<|{role}|>" for role in ("system", "user", "assistant"))}
    tokenizer.add_tokens(sorted(tags - {*THOUGHTS}), special_tokens=True)
    tokenizer.add_tokens(list(THOUGHTS))
    tokenizer.chat_template = template
    return tokenizer


@cache
def chat_format_of(name, thinking=None):
    """The format of a template, or None where it cannot switch its thoughts."""
    tokenizer = with_tags(OURS.get(name) or of_trl()[name])
    try:
        return Chat(tokenizer, thinking), tokenizer
    except BadSetting:
        return None
