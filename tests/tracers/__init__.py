"""Five tasks under 40 lines that use every contract. Every law, adapter and batch test runs on them."""

from tracers.board import Board
from tracers.echo import Echo
from tracers.guess import Guess
from tracers.interview import Interview
from tracers.labels import Labels

TRACERS = {"echo": Echo, "labels": Labels, "board": Board, "guess": Guess, "interview": Interview}
