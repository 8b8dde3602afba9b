"""Five tasks under 40 lines that use every contract. Every law, adapter and batch test runs on them."""

from helpers.tracers.board import Board
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.interview import Interview
from helpers.tracers.labels import Labels

TRACERS = {"echo": Echo, "labels": Labels, "board": Board, "guess": Guess, "interview": Interview}
