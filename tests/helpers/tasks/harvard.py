"""The paragraph of the paper's first table, and games on it."""

import loquent
from loquent import Key

SENTENCES = (
    "Harvard has the largest university endowment in the world",
    "At the end of June 2009, it was worth $25.7 billion, about 30% less than at the same time in 2008",
    "In December 2008, Harvard announced that its endowment had lost 22% from July to October 2008, "
    "necessitating budget cuts",
    "As of September 2011, it had nearly regained the loss suffered during the 2008 recession",
    "It was worth $32 billion in 2011, up from $28 billion in September 2010 and $26 billion in 2009.",
)
QUESTION = "What was the Harvard endowment total in 2011 ?"


def task(**options):
    return loquent.task("reading", source="samples", **options)


def start(task, sentences=SENTENCES, question=QUESTION, answers=("$32 billion",)):
    row = task.row_from({"sentences": sentences, "question": question, "answers": list(answers)})
    return task.start(row, Key(0))


def play(task, step, *commands):
    """The steps after some commands."""
    steps = []
    for command in commands:
        step = task.act(step, command)
        steps.append(step)
    return steps


def cursors(steps):
    return [step.state.cursor for step in steps]
