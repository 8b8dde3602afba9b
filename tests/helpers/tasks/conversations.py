"""A conversation in rows of messages, an agent that says given texts, and a guest."""

import json

from loquent.core.agent import Answer
from loquent.core.values import Record
from loquent.tasks.generation.rows import Options
from loquent.tasks.generation.task import Generation

TALK = (
    ("system", "Be brief."),
    ("user", "hi"),
    ("assistant", "hello"),
    ("user", "how many?"),
    ("tool", "3"),
    ("assistant", "three"),
    ("user", "thanks"),
    ("assistant", "bye"),
)
ORDERS = {"dataset": "orders", "turns": 3, "user": "generation/guest", "end_text": "here is"}


def task_of(tmp_path, talk=TALK, **options):
    messages = [{"role": role, "content": content} for role, content in talk]
    (tmp_path / "train.jsonl").write_text((json.dumps({"messages": messages}) + "\n") * 8)
    return Generation(Options(source="path", path=str(tmp_path), drop_duplicates=False, **options))


class Answers:
    """Says the given texts in the learning seat, one for each turn."""

    name = "answers"

    def __init__(self, *texts):
        self.texts = texts

    def answer(self, asked):
        return [Answer(self.texts[sum(t.seat == "agent" for t in question.turns)]) for question in asked]


def script(*texts):
    return Record(kind="script", texts=texts)
