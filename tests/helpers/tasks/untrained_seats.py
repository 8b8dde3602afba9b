"""Seats of visual dialogue with drawn weights, for tests of everything but their training."""

from loquent.core.seeding import Key, borrow_generators
from loquent.tasks.dialogue.learned.networks import Sizes
from loquent.tasks.dialogue.learned.seats import SEATS
from loquent.tasks.dialogue.learned.tokens import Encoding

SMALL = {"layers": 1, "width": 32, "heads": 4, "slots": 8}


def untrained(role, texts=(), image=64):
    """The seat of a role, whose tokenizer is made of some texts, for images of so many numbers."""
    encoding = Encoding.make(texts, 400)
    with borrow_generators(Key(0)):
        return SEATS[role].start(Sizes(vocabulary=len(encoding), image=image, **SMALL), encoding)
