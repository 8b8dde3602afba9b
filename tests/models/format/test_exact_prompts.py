"""What the agent `http` sends for a model of a known format is what a local agent reads: as ids, as their
text, and as messages.
"""

import warnings

import pytest

from helpers.models.format_templates import CASES, HISTORIES, LETTERS, SENTENCE_PIECE, case
from loquent.agents.exact import Exact
from loquent.core.agent import Question
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.models import serving

TOKENS = 8


def folder_of(name, path, about):
    """A served model's folder, without weights."""
    from transformers import GPT2Config

    format, tokenizer = case(name)
    tokenizer.save_pretrained(path)
    GPT2Config(
        vocab_size=len(tokenizer), n_positions=128, eos_token_id=None, bos_token_id=None
    ).save_pretrained(path)
    if about:
        serving.write(path, tokenizer, format, {"format": format.__class__.__name__.lower()})
    return format


def questions(name):
    instruction = "" if "35" in name else "the sea"
    for turns in LETTERS if "35" in name else SENTENCE_PIECE if name == "llama 2" else HISTORIES:
        for n in range(1, len(turns) + 1):
            if turns[n - 1].seat == "task":
                for said in {"", instruction}:
                    yield Question("game", tuple(turns[:n]), Observation(turns[n - 1].text), Key(0), said)


@pytest.mark.parametrize("name", CASES)
def test_ids_texts_and_messages_are_those_of_the_format(name, tmp_path):
    format = folder_of(name, tmp_path, about=True)
    with warnings.catch_warnings():
        # a template that joins tokens is remarked upon; its text is checked here all the same
        warnings.simplefilter("ignore")
        by_ids, by_chat = (
            Exact(str(tmp_path), "auto", "completions", TOKENS),
            Exact(str(tmp_path), "auto", "chat", TOKENS),
        )
        count = 0
        for one in questions(name):
            right = list(format.prompt(one.instruction, one.turns, "agent", 120)[0])
            assert by_ids.prompt(one, 0) == right
            served = by_chat.tokenizer.apply_chat_template(
                by_chat.messages(one, 0), add_generation_prompt=True, return_dict=False
            )
            if name != "llama 2":
                assert list(served) == right
                assert by_ids.tokenizer(by_ids._text(right))["input_ids"] == right
            assert by_chat.first(one, 0) == 0
            count += 1
    assert count > 5


def test_a_template_without_a_system_message_has_the_instruction_in_its_first_message(tmp_path):
    format = folder_of("no system message", tmp_path, about=False)
    exact = Exact(str(tmp_path), "chat", "chat", TOKENS)
    for one in questions("no system message"):
        if one.turns[0].seat == "task" and all(turn.text for turn in one.turns):
            served = exact.tokenizer.apply_chat_template(
                exact.messages(one, 0), add_generation_prompt=True, return_dict=False
            )
            assert list(served) == list(format.prompt(one.instruction, one.turns, "agent", 120)[0])


def test_markers_at_which_a_server_does_not_stop_by_itself_are_sent_as_stops(tmp_path):
    folder_of("chatml", tmp_path / "known", about=True)
    assert Exact(str(tmp_path / "known"), "auto", "chat", TOKENS).ends == (), (
        "the exported folder names them to the server"
    )
    folder_of("chatml", tmp_path / "bare", about=False)
    assert Exact(str(tmp_path / "bare"), "chat", "chat", TOKENS).ends == ("<|im_end|>",)
    assert Exact(str(tmp_path / "bare"), "plain", "completions", TOKENS).ends == ()
