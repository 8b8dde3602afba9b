"""The version of this package, and of the form in which it writes runs."""

__version__ = "0.1.0"

RUN_FORMAT = 1
"""The form of a run's folder, in its machine.json: which files it has, and what the keys of its logs mean.

A reader reads its own only.
"""
