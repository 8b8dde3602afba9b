"""The chat template that `export` writes gives the format's own ids.

Where a tokenizer cannot, the export says so.
"""

import copy
import json
import warnings

import pytest

from helpers.models.format_cases import FORMATS, format_of, said, told
from helpers.models.format_templates import (
    CASES,
    HISTORIES,
    LETTERS,
    SENTENCE_PIECE,
    case,
)
from helpers.models.tokenizers_for_tests import (
    sentence_piece,
)
from loquent.core.settings import Remark
from loquent.models import serving


@pytest.mark.sweep(3)
@pytest.mark.parametrize("instruction", ["", "the sea"])
@pytest.mark.parametrize("name", CASES)
def test_the_template_of_a_format_gives_its_ids(name, instruction):
    format, tokenizer = case(name)
    tokenizer.chat_template = tokenizer.chat_template or format.chat_template()
    histories = LETTERS if "35" in name else SENTENCE_PIECE if name == "llama 2" else HISTORIES
    for turns in histories:
        told_first = [
            turns[:n] for n in range(1, len(turns) + 1) if n == len(turns) or turns[n - 1].seat == "task"
        ]
        asked = [(instruction.replace(" ", ""), history, "agent") for history in told_first]
        for history, ids in zip(asked, serving.server_prompts(tokenizer, format, asked), strict=True):
            assert ids == list(format.prompt(*history, 999)[0]), (name, history)


@pytest.mark.parametrize("name", CASES)
def test_an_answer_as_the_last_message_ends_with_the_end_marker(name):
    format, tokenizer = case(name)
    tokenizer.chat_template = tokenizer.chat_template or format.chat_template()
    history = [told("ab"), said("cd")]
    ids = [i for piece in format.pieces("", history, "agent") for i in piece.ids]
    messages = [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "cd"}]
    assert tokenizer.apply_chat_template(messages, return_dict=False)[: len(ids)] == ids
    assert ids[-1] in format.end


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_what_a_server_reads(name, tmp_path):
    from transformers import AutoTokenizer

    format, tokenizer = case(name)
    own = tokenizer.chat_template
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 12345, "transformers_version": "5"}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        serving.write(tmp_path, tokenizer, format, {"task": {"kind": "echo"}, "format": name})
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.chat_template == tokenizer.chat_template
    assert loaded.chat_template == (own or format.chat_template()), "a model's own template stays"
    stops = json.loads((tmp_path / "generation_config.json").read_text())
    assert {
        *([stops["eos_token_id"]] if isinstance(stops["eos_token_id"], int) else stops["eos_token_id"])
    } == set(format.end)
    assert stops["transformers_version"] == "5"
    assert json.loads((tmp_path / "loquent.json").read_text()) == {
        "task": {"kind": "echo"},
        "format": name,
        "template_is_exact": True,
    }


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if "space" in kind])
def test_a_tokenizer_that_no_template_can_serve_exactly_is_named(kind, tmp_path):
    tokenizer = copy.deepcopy(sentence_piece("metaspace" in kind))
    format = format_of(kind)
    tokenizer.save_pretrained(tmp_path)
    with pytest.warns(Remark, match=r"chat_template\.jinja: .* joins what training kept apart"):
        serving.write(tmp_path, tokenizer, format, {})
    assert json.loads((tmp_path / "loquent.json").read_text()) == {"template_is_exact": False}


def test_a_template_that_the_format_does_not_read_stays_and_is_not_run(tmp_path):
    format, tokenizer = case("plain")
    tokenizer.chat_template = (
        "{% for i in range(10 ** 9) %}{% for j in range(10 ** 9) %}{% endfor %}{% endfor %}"
    )
    tokenizer.save_pretrained(tmp_path)
    serving.write(tmp_path, tokenizer, format, {})
    assert "10 ** 9" in (tmp_path / "chat_template.jinja").read_text()
    assert not json.loads((tmp_path / "loquent.json").read_text())["template_is_exact"]


def test_what_a_model_was_trained_on_is_tried_too(tmp_path):
    format, tokenizer = case("plain")
    tokenizer.save_pretrained(tmp_path)
    history = "", [told("the sea"), said("the"), told(" "), said("film"), told(" ")], "agent"
    with pytest.warns(Remark, match="'the sea', 'the', ' ', 'film', ' '"):
        serving.write(tmp_path, tokenizer, format, {}, [history])
    assert not json.loads((tmp_path / "loquent.json").read_text())["template_is_exact"]
