"""The view of a Wordle board as an array: a space and a function from the observation to the array."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core.task import Observation
from loquent.tasks.wordle.marks import DIGIT, LENGTH
from loquent.tasks.wordle.task import GUESSES


def board(observation: Observation) -> NDArray[np.uint8]:
    """u8[6, 5, 2]: the letter and the mark of each place, oldest guess first; 0 for an empty place.

    The letter a is 1; the marks b, y and g are 1, 2 and 3.
    """
    picture = np.zeros((GUESSES, LENGTH, 2), dtype=np.uint8)
    for i, (guess, marks) in enumerate(observation.fields["board"]):
        picture[i, :, 0] = [ord(letter) - ord("a") + 1 for letter in guess]
        picture[i, :, 1] = [DIGIT[mark] + 1 for mark in marks]
    return picture


BOARD = (spaces.Box(0, 26, (GUESSES, LENGTH, 2), np.uint8), board)
