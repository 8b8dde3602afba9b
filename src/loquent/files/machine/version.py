"""The version of this package, and of the format in which it writes runs."""

__version__ = "0.1.0"

RUN_FORMAT = 1
"""The format of a run's folder: its files and the meaning of its log keys.

`machine.json` records it. A reader accepts only its own format.
"""
