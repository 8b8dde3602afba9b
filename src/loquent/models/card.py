"""The card `README.md` of an exported model: how plain transformers gives the run's answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from loquent.models.decoding_settings import Decoding
from loquent.models.format.names import Format, Pair, Plain

CARD = "README.md"
LOAD = """import torch
from transformers import {kind}, AutoTokenizer, GenerationConfig

folder = "."  # this folder
tokenizer = AutoTokenizer.from_pretrained(folder)
model = {kind}.from_pretrained(folder, dtype=torch.float32)
settings = GenerationConfig.from_pretrained(folder)  # the run's decoding in evaluation
"""
MESSAGES = """{constants}

def answer(messages, before=("", ())):
    \"\"\"The answer to messages, and the conversation so far: `before` of the next call.\"\"\"
    text = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=False{variables}
    )
    earlier, ids = before
    if ids and text.startswith(earlier):  # earlier answers stay as they were drawn
        ids = [*ids, *tokenizer(text[len(earlier) :], add_special_tokens=False)["input_ids"]]
    else:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    prompt = torch.tensor([ids])
    mask = torch.ones_like(prompt)  # all ids count, the padding id too
    drawn = model.generate(prompt, attention_mask=mask, generation_config=settings)[0].tolist()
    new = drawn[len(ids) :]
    conversation = text + tokenizer.decode(new, clean_up_tokenization_spaces=False)
    return {text}, (conversation, drawn)


print(answer({example})[0])
"""
TEXT = "tokenizer.decode(new, skip_special_tokens=True)"
AFTER_LEAD = """
def text_of(new):
    \"\"\"The text of an answer's ids, without what the template writes before it.\"\"\"
    starts = [n for n in range(len(LEAD), len(new) + 1) if new[n - len(LEAD) : n] == LEAD]
    return tokenizer.decode(new[max(starts, default=0) :], skip_special_tokens=True)
"""
TEXTS = """{constants}

def answer(text, before=()):
    \"\"\"The answer to a text, and the ids of the conversation so far: `before` of the next call.\"\"\"
    if before and before[-1] not in ENDS:
        before = [*before, END]  # the last answer was cut off
    ids = [*before, *tokenizer(text, add_special_tokens=not before{room})["input_ids"]] or [START]
    prompt = torch.tensor([ids])
    mask = torch.ones_like(prompt)  # all ids count, the padding id too
    drawn = model.generate(prompt, attention_mask=mask, generation_config=settings)[0].tolist()
    return tokenizer.decode(drawn[len(ids) :], skip_special_tokens=True), drawn


print(answer("...")[0])
"""
PAIRS = """{constants}

def answer(text, before=()):
    \"\"\"The answer to a text, and the encoder's ids so far: `before` of the next call.\"\"\"
    ids = [*(before or BEFORE), *tokenizer(text, add_special_tokens=False{room})["input_ids"], *AFTER]
    source, start = torch.tensor([ids]), torch.tensor([START])
    mask = torch.ones_like(source)  # all ids count, the padding id too
    drawn = model.generate(
        source, attention_mask=mask, decoder_input_ids=start, generation_config=settings
    )[0, len(START) :].tolist()
    ended = [] if drawn and drawn[-1] in ENDS else [END]
    return tokenizer.decode(drawn, skip_special_tokens=True), [*ids, *drawn, *ended]


print(answer("...")[0])
"""


def write_card(format: Format, about: Mapping[str, Any], decoding: Decoding, lost: str, exact: bool) -> str:
    """The card.

    Args:
        about: the content of `loquent.json`.
        decoding: how the run answers in evaluation.
        lost: what the run's evaluation has beyond the policy, such as values; "" if nothing.
        exact: whether the folder's chat template gives the ids of the format.
    """
    parts = [f"# {about.get('name') or 'A model'}", "", *_told(format, decoding, lost), ""]
    if about.get("computed_in"):
        parts += [
            f"The run computes in {about['computed_in']}, and the code in float32. Where the two best logits "
            "are nearly equal, their answers may differ.",
            "",
        ]
    if not isinstance(format, Plain) and not exact:
        parts += [
            "The tokenizer joins some texts of a conversation that training kept apart, so answers may "
            "differ a little there.",
            "",
        ]
    return "\n".join([*parts, "```python", _code(format, decoding).rstrip("\n"), "```", ""])


def _told(format: Format, decoding: Decoding, lost: str) -> list[str]:
    """What the card says before its code."""
    if lost:
        how = (
            f"The run's evaluation is more than this model: {lost}. Plain decoding has none of this, so its "
            "answers differ from those of the run, and its scores with them; `loquent generate RUN` answers "
            "as the run does."
        )
    elif decoding.method == "greedy":
        how = (
            "The code below, one prompt at a time in float32, gives the run's answers in evaluation (greedy)."
        )
    else:
        how = (
            f"How the run answers in evaluation: {decoding.text}. The code below does the same; draws "
            "differ. With `do_sample=False` it gives the run's greedy answers, one prompt at a time in "
            "float32."
        )
    if isinstance(format, Plain):
        what = (
            "A prompt is a plain text: the instruction, if there is one, and a line break, then the task's "
            "text. The tokenizer writes its own special tokens."
        )
    else:
        what = "A prompt is a list of messages, which the folder's chat template writes."
        if not format.takes_system:
            what += " It takes no system message: an instruction stands before the first message's text, with"
            what += " an empty line between."
    return [how, "", what, *_limits(format, decoding)]


def _limits(format: Format, decoding: Decoding) -> list[str]:
    if not decoding.max_prompt_tokens:
        return []
    side = {"left": "first", "right": "last"}[decoding.truncation_side]
    longer = (
        f"A prompt of more than {decoding.max_prompt_tokens} tokens lost its oldest turns, then the {side}"
    )
    return ["", f"{longer} tokens of its newest text, in training and evaluation."]


def _code(format: Format, decoding: Decoding) -> str:
    load = LOAD.format(kind=f"AutoModelFor{'Seq2SeqLM' if isinstance(format, Pair) else 'CausalLM'}")
    if not isinstance(format, Plain):
        example: Any = [{"type": "text", "text": "..."}] if format.parts else "..."
        message = json.dumps([{"role": "user", "content": example}])
        variables = "".join(f", {name}={value!r}" for name, value in format.variables.items())
        lead, text = "", TEXT
        if format.lead_ids:
            lead, text = f"LEAD = {list(format.lead_ids)!r}\n\n{AFTER_LEAD}", "text_of(new)"
        if format.lead:
            text += f".removeprefix({format.lead!r})"
        return load + MESSAGES.format(variables=variables, example=message, constants=lead, text=text)
    constants = {"END": format.ending, "ENDS": sorted(format.end), "START": format.start_id}
    if isinstance(format, Pair):
        before, after = map(list, format.around)
        constants |= {"START": list(format.start), "BEFORE": before, "AFTER": after}
    lines = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
    room, side = "", ""
    if decoding.max_prompt_tokens:
        room = f", truncation=True, max_length={decoding.max_prompt_tokens}"
        side = f"tokenizer.truncation_side = {decoding.truncation_side!r}\n"
    pattern = PAIRS if isinstance(format, Pair) else TEXTS
    return load + pattern.format(constants=side + lines, room=room)
