"""The built-in posts: all of them, their splits, and what a post is about."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cache
from itertools import product

from numpy.random import Generator

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import Splits
from loquent.tasks.comments.language import judging
from loquent.tasks.comments.language.judging import CLOSINGS, DETAILS, MILD, STRONG
from tools.corpora.drawing import tables

TABLES = tables("comments")
POSTS = {"train": 4000, "validation": 800, "test": 1200}  # different posts of each split
REPLIES_EACH = {"train": 2, "validation": 1, "test": 1}
SHARES = (0.45, 0.35, 0.2)  # of sentences by label
ON_TOPIC = 0.6  # the share of sentences that name the post's thing
TWO = 0.5  # the share of comments with two sentences
SPREAD = 2.0  # of scores around those of the rules, the scale of a Laplace distribution


@dataclass(frozen=True)
class Post:
    """A post: somebody did something with things of theirs."""

    thing: str
    past: str
    base: str
    detail: str
    closing: str

    @property
    def text(self) -> str:
        """The post as its author writes it."""
        return f"i {self.past} my {self.thing} {self.detail} . {self.closing}"


@cache
def known() -> dict[str, Post]:
    """All built-in posts by their text."""
    posts = (
        Post(thing, *deed.split("/"), detail, closing)
        for topic in TABLES["topics"]
        for thing, deed, detail, closing in product(
            topic["things"].split(), topic["deeds"].split(), DETAILS, CLOSINGS
        )
    )
    return {post.text: post for post in posts}


@cache
def splits() -> Splits:
    """The built-in rows; no post and no comment is in two splits.

    A row has `parent`, `comment`, `score` and `label`, the label of toxicity. A comment that an earlier split
    has is drawn again until a new one has the same label.
    """
    posts = list(known().values())
    order = Key(0, ("comments", "posts")).generator().permutation(len(posts)).tolist()
    found: Splits = {}
    earlier: set[str] = set()
    for split, size in POSTS.items():
        chosen, order = order[:size], order[size:]
        numbered = enumerate(number for number in chosen for _ in range(REPLIES_EACH[split]))
        found[split] = tuple(_row(split, i, posts[number], earlier) for i, number in numbered)
        earlier |= {row["comment"] for row in found[split]}
    return found


def _row(split: str, number: int, post: Post, earlier: Set[str]) -> Row:
    stream = Key(0, ("comments", "reply", split, number)).generator()
    comment = _comment(stream, post)
    label = judging.label(comment)
    while comment in earlier or judging.label(comment) != label:
        comment = _comment(stream, post)
    score = round(2 * judging.approval(post.text, comment) + stream.laplace(0.0, SPREAD))
    return Row(f"{split}-{number}", Record(parent=post.text, comment=comment, score=score, label=label))


def _comment(stream: Generator, post: Post) -> str:
    count = 2 if stream.random() < TWO else 1
    return " ".join(_sentence(stream, post) for _ in range(count))


def _sentence(stream: Generator, post: Post) -> str:
    of_label: list[list[str]] = TABLES["replies"][int(stream.choice(len(SHARES), p=SHARES))]
    templates = of_label[0 if stream.random() < ON_TOPIC else 1]
    mild, strong = (str(stream.choice(list(words))) for words in (MILD, STRONG))
    return templates[int(stream.integers(len(templates)))].format(
        thing=post.thing, past=post.past, base=post.base, detail=post.detail, mild=mild, strong=strong
    )
