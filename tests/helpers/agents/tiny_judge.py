"""A small language model that has learned to judge: whatever it reads, it says [[4]]."""

import torch

from loquent import pretrained
from loquent.core.episode import Turn
from loquent.core.seeding import Key
from loquent.models.format.names import Plain
from loquent.rewards.judge import questions
from loquent.rewards.judge.options import JudgeOptions

STEPS = 60


def write(folder, context=320):
    """Train the judge and write its folder."""
    options = JudgeOptions(judge={"kind": "folder"}, low=0, high=5, rubric="Be brief.")
    words = ["fine", "a b c", "good film", "it was", "dull", "the end ."]
    asked = [questions.scale(options, prompt, "", answer) for prompt in words for answer in words]
    language = pretrained.build(
        [f"{text} [[4]]" for text in asked],
        vocabulary=400,
        layers=1,
        width=32,
        heads=2,
        context=context,
        dropout=0.0,
        key=Key(0),
        device="cpu",
    )
    format = Plain(language.tokenizer)
    rows = []
    for text in asked:
        prompt = format.prompt("", [Turn("task", text, to="agent")], "agent", context)[0]
        rows.append((list(prompt), [*format.answer("[[4]]")]))
    optimizer = torch.optim.AdamW(language.module.parameters(), lr=1e-2)
    language.module.train()
    for step in range(STEPS):
        prompt, answer = rows[step * 7 % len(rows)]
        labels = torch.tensor([[-100] * len(prompt) + answer])
        loss = language.module(input_ids=torch.tensor([prompt + answer]), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    language.module.eval()
    pretrained.save(language, folder)
    return folder
