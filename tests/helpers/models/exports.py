"""Exported folders in plain transformers, called as their cards say, beside the run's own answers."""

import re

import torch

from loquent.core import episode

HALF = "\ufffd"  # what a part of a character decodes to


def by_the_card(folder):
    """The function of the card's code, and what it needs; `scores` holds those of the newest answer."""
    code = re.search(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.S).group(1)
    names = {}
    exec(code.rpartition("\n\n\nprint(")[0].replace('folder = "."', f"folder = {str(folder)!r}"), names)
    generate = names["model"].generate

    def with_scores(*inputs, **settings):
        done = generate(*inputs, **settings, output_scores=True, return_dict_in_generate=True)
        names["scores"] = done.scores
        return done.sequences

    names["model"].generate = with_scores
    return names


def compared(names, recorded):
    """(the run's answer, that of the card's code, the gap where they part), for each answer of the run.

    An episode ends with its first difference. The gap is the difference of the two best logits.
    """
    for played in episode.read(recorded):
        before = ()
        for number, turn in enumerate(played.turns):
            if turn.seat == "agent":
                with torch.no_grad():
                    text, before = asked(names, played, number, before)
                yield turn.text, text, 0.0 if text == turn.text else gap(names, turn.text)
                if text != turn.text:
                    break


def asked(names, played, number, before):
    """The answer of the card's code before a turn, and the conversation so far."""
    turns = played.turns[:number]
    if "ENDS" in names:  # plain texts
        last = max((n for n, turn in enumerate(turns) if turn.seat == "agent"), default=-1)
        texts = [turn.text for turn in turns[last + 1 :]]
        if last < 0 and played.instruction:
            texts.insert(0, f"{played.instruction}\n")
        return names["answer"]("".join(texts), before)
    messages = [
        {"role": "assistant" if turn.seat == "agent" else "user", "content": turn.text}
        for n, turn in enumerate(turns)
        if turn.text or not n
    ]
    if played.instruction:
        messages.insert(0, {"role": "system", "content": played.instruction})
    if "part.text" in names["tokenizer"].chat_template:
        messages = [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in messages]
    return names["answer"](messages, *([before] if before else []))


def gap(names, text):
    """The difference of the two best logits where the newest answer parts from a text."""
    drawn = [int(scores.argmax()) for scores in names["scores"]]
    for number, scores in enumerate(names["scores"], 1):
        written = names["tokenizer"].decode(drawn[:number], skip_special_tokens=True)
        if number == len(drawn) or not text.startswith(written.rstrip(HALF)):
            best, next_best = scores[0].double().topk(2).values.tolist()
            return best - next_best


def check(answers, within):
    """At least 99 of 100 answers are equal, and the others part where the gap is below `within`."""
    parted = [answer for answer in answers if answer[0] != answer[1]]
    assert [answer for answer in parted if not answer[2] < within] == []
    assert len(parted) <= len(answers) / 100, parted
