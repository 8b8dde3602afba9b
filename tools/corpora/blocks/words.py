"""What both grammars share: a statement, phrases with their code, and English numbers."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.tasks.blocks.boards.board import COLORS
from loquent.tasks.blocks.boards.random_edits import Subject

NUMBERS = ("zero", "one", "two")


@dataclass(frozen=True)
class Statement:
    """A sentence with its program.

    Attributes:
        template: the construction of the sentence, such as `exactly:base+height`; colours, numbers and
            paraphrases are open.
        sentences: the paraphrases, of which a row has one.
        about: towers or items that matter to the truth value, for boards on which it is open.
    """

    template: str
    sentences: tuple[str, ...]
    program: str
    about: tuple[Subject, ...] = ()


@dataclass(frozen=True)
class Phrase:
    """A property in English, as it follows "with", and as code about one box or item.

    Attributes:
        kind: the property without colours and numbers.
        texts: the paraphrases.
        code: a truth value about the free variable x.
    """

    kind: str
    texts: tuple[str, ...]
    code: str


def amount(n: int) -> str:
    """A number in English: a word up to two, else digits, so that an agent reads both."""
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def number(n: int, noun: str) -> str:
    """`n` and a noun, such as "one block" or "3 blocks"."""
    return f"{amount(n)} {noun}{'' if n == 1 else 'es' if noun.endswith('x') else 's'}"


def color(c: int) -> str:
    """The program's name of a colour, such as Color.BLUE."""
    return f"Color.{COLORS[c].upper()}"


def joined(parts: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The paraphrases of several properties, joined by "and"; paraphrase i joins all texts number i."""
    most = max(len(texts) for texts in parts)
    return tuple(" and ".join(texts[i % len(texts)] for texts in parts) for i in range(most))


def both(codes: list[str]) -> str:
    """The code of a conjunction."""
    return " and ".join(codes)
