"""Judges of answers that follow a rule."""

from loquent.core.agent import Answer
from loquent.errors import BrokenAgent

PARTS = ("answer", "answer_a", "answer_b")


class Scripted:
    """Rates an answer by its length; it cannot judge an answer that ends with a question mark."""

    name, receiver = "scripted", ""
    newest = None

    def __init__(self, task):
        self.tokens, self.concurrency, self.seen = 0, 8, []
        Scripted.newest = self

    def attempt(self, asked):
        self.seen.append([question.turns[-1].text for question in asked])
        self.tokens += 10 * len(asked)
        return [self._reply(text) for text in self.seen[-1]]

    def answer(self, asked):
        raise NotImplementedError

    def _reply(self, text):
        parts = {name: text.partition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0] for name in PARTS}
        if any(part.endswith("?") for part in parts.values()):
            return BrokenAgent("it has no opinion")
        if parts["answer_a"]:
            longer = len(parts["answer_a"]) - len(parts["answer_b"])
            return Answer("[[A]]" if longer > 0 else "[[B]]" if longer < 0 else "[[C]]")
        return Answer(f"It has {len(parts['answer'])} letters. [[{min(len(parts['answer']), 5)}]]")


class Other(Scripted):
    """The same under another name."""

    name = "other"


class Judge(Scripted):
    """Rates the number of characters, modulo 10; it cannot judge some of the answers, by their numbers."""

    name, fails = "judge", ()

    def attempt(self, asked):
        texts = [question.turns[-1].text.partition("<answer>\n")[2] for question in asked]
        return [
            BrokenAgent("no") if i in self.fails else Answer(f"[[{len(text) % 10}]]")
            for i, text in enumerate(texts)
        ]


class Half(Judge):
    fails = (0, 3, 4)


class Never(Judge):
    fails = range(1000)
