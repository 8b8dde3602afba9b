"""A chat template is taken as it is.

The prompts are the library's, drawn ids stay as drawn, and a template that rewrites earlier turns begins a
new segment.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from helpers.models.chat_templates import OURS, chat_format_of, of_trl
from helpers.models.format_cases import told
from helpers.models.token_rows import episode
from loquent.core.episode import Tokens, Turn
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.batch import token_batch
from loquent.pretrained import build

TEXTS = ("the film", "why so?", "and the end.")
SHOWN = (("user", "the film"), ("assistant", "which one?"), ("user", "that one"))
ANSWERS = ("a fine tale", "it is long", "told twice")
VARIABLES = {None: {}, True: {"enable_thinking": True, "thinking": True}}
VARIABLES[False] = dict.fromkeys(VARIABLES[True], False)
# the segments of three turns, for answers without and with thoughts
SEGMENTS = {
    "keeps": (1, 1),
    "thinks": (1, 3),
    "last": (3, 3),
    "opens": (3, 3),
    "no end": (1, 3),
    "channels": (3, 3),
    "eos": (1, 1),
    "parts": (1, 3),
    "alternates": (1, 1),
    "bare": (3, 3),
}
LENGTH = 2000
TRL = [pytest.param(name, marks=pytest.mark.sweep(9)) for name in of_trl()]


def by_the_library(format, tokenizer, thinking, instruction, turns):
    """The ids of a prompt as transformers writes it for the messages."""
    roles = {"task": "user", "agent": "assistant"}
    said = [one for turn in turns for one in turn.messages or [(roles[turn.seat], turn.text)]]
    if instruction and not format.takes_system:
        said[0] = ("user", f"{instruction}\n\n{said[0][1]}")
    messages = [{"role": role, "content": text} for role, text in said]
    if instruction and format.takes_system:
        messages.insert(0, {"role": "system", "content": instruction})
    if format.parts:
        messages = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in messages]
    ids = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=False, **VARIABLES[thinking]
    )
    assert said[-1][1] in tokenizer.decode(ids)
    return ids


def drawn(format, ids, prompt=()):
    nothing = np.zeros(len(ids))
    text = format.text(ids, prompt)
    return Turn("agent", text, tokens=Tokens(np.array(ids, dtype=np.int64), nothing, nothing))


def answer_ids(format, text, thoughts):
    """An answer as a model draws it, with thoughts or without."""
    encode = format.encoder.markup
    return (*encode(f"so\n</think>\n\n{text}"), format.answer("")[-1]) if thoughts else format.answer(text)


@cache
def network():
    sizes = {"vocabulary": 1200, "layers": 1, "width": 16, "heads": 2, "context": LENGTH}
    words = [f"{a}{b}{c}" for a in "abcdefghijklm" for b in "nopqrstuvwxyz" for c in "aeiou"]
    return build(words, **sizes, key=Key(0), device="cpu", dtype="float64").module


@pytest.mark.parametrize("name", [*OURS, *TRL])
def test_prompts_are_the_library_s_and_drawn_ids_are_scored_where_they_stand(name):
    for thinking in VARIABLES:
        made = chat_format_of(name, thinking)
        if made is None:
            continue
        format, tokenizer = made
        for instruction in ("", "Be brief."):
            for thoughts in (False, True):
                turns, prompts, answers = [], [], []
                for text, answer in zip(TEXTS, ANSWERS, strict=True):
                    turns.append(told(text))
                    if instruction and len(turns) == 1:  # the prompt is a conversation already
                        turns = [replace(turns[0], messages=SHOWN)]
                    ids, first = format.prompt(instruction, turns, "agent", LENGTH)
                    right = by_the_library(format, tokenizer, thinking, instruction, turns)
                    assert (list(ids), first) == (right, 0)
                    prompts.append(right)
                    answers.append(answer_ids(format, answer, thoughts))
                    turns.append(drawn(format, answers[-1], ids))
                segments = check_rows(format, instruction, turns, prompts, answers)
                if name in SEGMENTS and thinking is None:
                    assert segments == SEGMENTS[name][thoughts]


def check_rows(format, instruction, turns, prompts, answers):
    """Each answer stands once in the rows, after its prompt, and is scored there; the number of segments."""
    batch = token_batch(
        [episode(*turns, ended="done", instruction=instruction)], format, Record(), max_length=LENGTH
    )
    places = [
        (row, column)
        for row, column in batch.is_action.nonzero().tolist()
        if not batch.is_action[row, column - 1]
    ]
    assert len(places) == len(answers)
    for (row, column), prompt, ids in zip(places, prompts, answers, strict=True):
        assert batch.tokens[row, : column + len(ids)].tolist() == [*prompt, *ids]
    scores = action_scores(network(), batch).policy
    own = torch.cat([_logprobs(prompt, ids) for prompt, ids in zip(prompts, answers, strict=True)])
    torch.testing.assert_close(scores.double(), own, atol=1e-5, rtol=0)
    assert batch.segment.tolist() == list(range(len(batch)))
    assert batch.segments == len(batch) - 1
    return len(batch)


def _logprobs(prompt, ids):
    with torch.no_grad():
        logits = network()(torch.tensor([[*prompt, *ids]])).logits[0].double()
    chosen = torch.tensor(ids)
    return logits[len(prompt) - 1 : -1].log_softmax(-1).gather(1, chosen[:, None])[:, 0]


@pytest.mark.parametrize(
    ("side", "kept"),
    [("left", (("user", "34"), *SHOWN[1:])), ("right", (("user", "1234"),))],
)
def test_messages_that_are_too_long_lose_their_oldest_or_last_ids_and_keep_their_roles(side, kept):
    format, _ = chat_format_of("keeps")
    all_messages = (("user", "1234"), *SHOWN[1:])
    turn = replace(told("all of it"), messages=all_messages)
    shorter, _ = format.prompt("Be brief.", [replace(turn, messages=kept)], "agent", LENGTH, side)
    for more in (0, 1):  # a marker more does not fit
        room = len(shorter) + (more if side == "right" else 0)
        assert format.prompt("Be brief.", [turn], "agent", room, side) == (shorter, 0)


def test_markers_in_messages_are_characters_and_an_answer_does_not_begin_a_cut_prompt():
    format, _ = chat_format_of("keeps")
    turn = replace(told("x"), messages=(*SHOWN, ("assistant", "<|im_end|>"), ("user", "no")))
    ids, _ = format.prompt("", [turn], "agent", LENGTH)
    assert sum(i in format.end for i in ids) == 5  # one of each message
    last, _ = format.prompt("", [told("no")], "agent", LENGTH)
    assert format.prompt("", [turn], "agent", len(last) + 2)[0] == last
