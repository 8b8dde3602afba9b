"""Every error Loquent raises on purpose: what is wrong, with which value, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

MANY, FEW = 60, 5  # of more than MANY known names an error lists the nearest FEW


class LoquentError(Exception):
    """The root of all errors raised on purpose."""

    def __reduce__(
        self,
    ) -> tuple[
        Any, ...
    ]:  # an error of a worker process is built again from its sentence, not from its arguments
        return _again, (type(self), self.args)


class EpisodeOver(LoquentError):
    """A game was asked to go on after its end."""


class InvalidAction(LoquentError):
    """A Gymnasium action is malformed: an index out of range, or not an integer."""


class PlayerLeft(KeyboardInterrupt):
    """A person ended the input in the middle of a game.

    `play` puts the games as they stand into `unfinished`; they are episodes.
    """

    unfinished: tuple[Any, ...] = ()


class InputEnded(PlayerLeft):
    """A person left by the end of the input (Ctrl-D), and not by an interrupt."""


class BrokenTask(LoquentError):
    """A task broke its own contract: an unnamed reward, an unknown reason, a value that is none."""


class BrokenAgent(LoquentError):
    """An agent gave the wrong number of answers, or something that is no answer."""


class BrokenMetric(LoquentError):
    """A metric broke its own contract: NaN, an infinity, or a list of the wrong length."""


class BadRow(LoquentError, ValueError):
    """A row of data cannot be used; names the file and the line."""

    def __init__(self, why: str, *, file: object = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(place + why)


class BadSetting(LoquentError, ValueError):
    """A setting has an unknown name, the wrong type or a value outside its range.

    Names file and line where there are any.
    """


class NotTrusted(BadSetting):
    """A file names code, a program or a secret, and is neither under the current folder nor written here by
    this user.
    """


class NotImported(BadSetting):
    """A name that stands in a file is not imported, because the file is only shown."""


class BadRenderMode(BadSetting, TypeError):
    """An environment cannot be shown so.

    A TypeError too: at one, the `make_vec_env` of Stable-Baselines3 tries again without its "rgb_array".
    """


class BadReward(LoquentError):
    """A reward term returned NaN, an infinity, or a list of the wrong length."""


class BadModel(LoquentError):
    """A model or tokenizer cannot do what is asked of it."""


class BadCheckpoint(LoquentError):
    """A checkpoint or run folder is incomplete, torn, or belongs to something else."""


class Damaged(BadCheckpoint):
    """A file of a run or of a checkpoint is missing, or is not what was written.

    Names the file, and the line where there are lines.
    """


class AnotherRun(BadCheckpoint):
    """A checkpoint is whole, and belongs to another recipe, other rows or another machine: an older one would
    be refused alike.
    """


class MissingExtra(LoquentError, ImportError):
    """An optional dependency is not installed; names the extra that brings it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the libraries of loquent[{extra}]: run pip install -e '.[{extra}]' in the "
            "clone of Loquent"
        )


class UnknownName(LoquentError, KeyError):
    """A name is not registered; gives the nearest one and the list, or the nearest few of a long list.

    Args:
        more: how many names there are beside those of `known`.
        advice: a last sentence, which says where else to look.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, more: int = 0, advice: str = ""
    ) -> None:
        known = sorted(known)
        near = nearest(name, known)
        hint = f" Did you mean {near!r}?" if near else ""
        close = difflib.get_close_matches(name, known, n=FEW, cutoff=0.5) or known[:FEW]
        shown = known if len(known) <= MANY else close
        more += len(known) - len(shown)
        listed = ", ".join(shown) + (f", and {more} more" if more else "")
        super().__init__(
            f"no {kind} is named {name!r}.{hint} Known: {listed or 'none'}"
            + (f". {advice}" if advice else "")
        )

    def __str__(self) -> str:  # KeyError would show the repr of the sentence
        return str(self.args[0])


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest in spelling, or None when nothing is close."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def kind_of(thing: object) -> str:
    """The name of a thing's type with its article, as a sentence wants it: "an int", "a str".

    "None" for None.
    """
    name = type(thing).__name__
    return (
        "None"
        if thing is None
        else f"an {name}"
        if name[0].lower() in "aeio" or name == "ndarray"
        else f"a {name}"
    )


def _again(kind: type[LoquentError], args: tuple[Any, ...]) -> LoquentError:
    error = kind.__new__(kind)
    error.args = args
    return error
