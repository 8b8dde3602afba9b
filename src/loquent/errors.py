"""All errors that Loquent raises on purpose.

A message says what is wrong, with the value and the place; what is allowed; and what to do.
"""

from __future__ import annotations

import difflib
import errno
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEBUG = "LOQUENT_DEBUG"  # the environment variable that makes errors show their traceback
MANY, FEW = 12, 5  # with more than MANY known names, an error lists only the nearest FEW
OUT_OF_MEMORY = ("DefaultCPUAllocator", "not enough memory", "out of memory", "bad allocation", "bad_alloc")
TO_LOWER = (
    "algorithm.token_budget (tokens of one pass), training.episodes (episodes of an update), "
    "decoding.max_new_tokens and decoding.live (answers at once), or choose a smaller model or shorter texts"
)
EXTRAS = dict.fromkeys(
    ("torch", "transformers", "tokenizers", "safetensors", "sklearn", "jaxtyping"), "train"
) | {
    "datasets": "hub",
    "httpx2": "http",
    "pyarrow": "parquet",
    "minari": "minari",
    "h5py": "minari",
    "stable_baselines3": "sb3",
    "sb3_contrib": "sb3",
    "sacrebleu": "metrics",
    "rouge_score": "metrics",
    "nltk": "metrics",
    "scipy": "metrics",
    "pandas": "pandas",
    "fastapi": "serve",
    "uvicorn": "serve",
    "optuna": "search",
}


class LoquentError(Exception):
    """The root of all errors raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # an error that crosses processes is rebuilt from its message: `__init__` may take other arguments
        return _rebuild, (type(self), self.args)


class EpisodeOver(LoquentError):
    """A step was requested after the end of an episode."""


class InvalidAction(LoquentError):
    """A Gymnasium action is malformed: not an integer, or an index out of range."""


class PlayerLeft(KeyboardInterrupt):
    """A person stopped playing before the end of an episode.

    `unfinished` holds the episodes so far; `play` fills it.
    """

    unfinished: tuple[Any, ...] = ()


class InputEnded(PlayerLeft):
    """A person stopped playing by ending the input (Ctrl-D), not by an interrupt (Ctrl-C)."""


class BrokenTask(LoquentError):
    """A task broke its contract, for example by an undeclared reward or a value that is not allowed."""


class WrongResult(BrokenTask):
    """A method of a task returned another type than it must, an undeclared name, or a reward out of range."""


class BrokenAgent(LoquentError):
    """An agent returned the wrong number of answers, or something other than an `Answer`."""


class BrokenEngine(LoquentError):
    """An engine broke its contract: a request has no answer, or log-probabilities are not the learner's."""


class BrokenMetric(LoquentError):
    """A metric broke its contract: it returned NaN, an infinity, or a list of the wrong length."""


class BadRow(LoquentError, ValueError):
    """A row of data cannot be used; the message names the file and the line."""

    def __init__(self, why: str, *, file: object = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}:{line}: " if line is not None else f"{file}: "
        super().__init__(place + why)


class ProgramError(LoquentError, ValueError):
    """A program in a task's own language cannot be read, or fails on a state; the message has its name."""


class ProgramBudgetError(ProgramError):
    """A program is larger, nested deeper or needs more work than its language allows."""


class BadSetting(LoquentError, ValueError):
    """A setting has an unknown name, the wrong type or a value outside its range.

    The message names the file and the line when the setting comes from a file.
    """


class NotTrusted(BadSetting):
    """An untrusted file names code, a program or a secret.

    A file is trusted when it lies under the current folder, or when this user's training wrote it.
    """


class NotImported(BadSetting):
    """A file names code that is not imported, because the command only reads the file."""


class EngineCannot(BadSetting):
    """A setting needs something that the engine of the decoding cannot do; nothing has been drawn."""


class BadRenderMode(BadSetting, TypeError):
    """An environment does not have this render mode.

    It is a TypeError too: after one, the `make_vec_env` of Stable-Baselines3 tries again without "rgb_array".
    """


class BadReward(LoquentError):
    """A reward term returned NaN, an infinity, or a list of the wrong length."""


class BadModel(LoquentError):
    """A model or tokenizer does not support the requested operation."""


class NotEnoughMemory(LoquentError, MemoryError):
    """A run, a network or an operation needs more memory than is free; the message says what to lower."""


class LostProcess(LoquentError):
    """One of the processes that learn together has ended, or the others waited for it for too long."""


class BadCheckpoint(LoquentError):
    """A checkpoint or run folder is incomplete or damaged, or belongs to another run."""


class Damaged(BadCheckpoint):
    """A file of a run or of a checkpoint is missing, or its content has changed since it was written.

    The message names the file, and the line of a text file.
    """


class AnotherRun(BadCheckpoint):
    """A checkpoint is complete but belongs to another recipe, other rows or another machine.

    An older checkpoint of the same run would be refused too.
    """


class MissingExtra(LoquentError, ImportError):
    """An optional dependency is not installed; the message names the extra that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the libraries of loquent[{extra}]; in the clone: pip install -e '.[{extra}]'; "
            f"with a wheel: pip install 'WHEEL[{extra}]'"
        )


class UnknownName(LoquentError, KeyError):
    """A name is not registered; the message has the nearest name and the known names.

    Of a long list it gives the nearest few.

    Args:
        kind: what the name should refer to, such as "task".
        known: the registered names.
        more: the number of names that exist beside those in `known`.
        advice: a last sentence, such as where else to look.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, more: int = 0, advice: str = ""
    ) -> None:
        known = sorted(known)
        near = nearest(name, known)
        hint = f" Did you mean {near!r}?" if near else ""
        super().__init__(
            f"no {kind} is named {name!r}.{hint} Known: {list_names(known, name, more=more)}"
            + (f". {advice}" if advice else "")
        )

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


def is_memory_error(error: BaseException) -> bool:
    """Whether an error of Python, numpy, torch on any device, or the system says that memory ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and any(text in str(error) for text in OUT_OF_MEMORY)


@contextmanager
def naming_memory(what: str, lower: str = TO_LOWER) -> Iterator[None]:
    """Inside, memory that runs out is a NotEnoughMemory.

    Args:
        what: what needs the memory, such as "loquent train".
        lower: what the user can lower.
    """
    try:
        yield
    except LoquentError:
        raise
    except Exception as error:
        if not is_memory_error(error):
            raise
        reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
        raise NotEnoughMemory(f"{what}: memory ran out ({reason}). Lower {lower}") from error


def in_words(size: float) -> str:
    """A number of bytes with its unit."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if size < 100 else f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:,.2f} GiB" if size < 100 else f"{size:,.0f} GiB"


@contextmanager
def naming_extras(what: str) -> Iterator[None]:
    """Inside, a library that is not installed is a MissingExtra that names the extra, where an extra has it.

    Memory that runs out is a NotEnoughMemory.

    Args:
        what: what needs the library, such as "loquent train".
    """
    try:
        with naming_memory(what):
            yield
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise MissingExtra(what, extra) from error


def debugging() -> bool:
    """Whether LOQUENT_DEBUG is set; empty and "0" count as off."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest in spelling; None when no name is close."""
    matches = difflib.get_close_matches(str(name), list(known), n=1)
    return matches[0] if matches else None


def list_names(known: Iterable[str], name: str = "", *, more: int = 0) -> str:
    """The known names, for an error; of more than 12 names up to five near `name`, and a count.

    Args:
        more: the number of names that exist beside those in `known`.
    """
    names = list(known)
    shown = names
    if len(names) > MANY:
        shown = difflib.get_close_matches(str(name), names, n=FEW) or names[:FEW]
    more += len(names) - len(shown)
    return (", ".join(shown) or "none") + (f", and {more} more" if more else "")


def place_of(error: BaseException) -> str:
    """File and line of the deepest frame outside this package and its libraries, as "FILE:LINE: ", or ""."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_file()
        and Path(__file__).parent not in Path(frame.filename).parents
        and "site-packages" not in Path(frame.filename).parts
        and Path(traceback.__file__).parent not in Path(frame.filename).parents
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def kind_of(thing: object) -> str:
    """The name of an object's type with its article, such as "an int" or "a str"; "None" for None."""
    if thing is None:
        return "None"
    name = type(thing).__name__
    return f"an {name}" if name[0].lower() in "aeio" or name == "ndarray" else f"a {name}"


def require(value: Any, kinds: Any, name: str, right: str) -> None:
    """Raise BadSetting for an argument of another kind.

    Args:
        kinds: the allowed types, as for `isinstance`.
        name: the name of the argument.
        right: what the argument must be, in words.
    """
    if not isinstance(value, kinds):
        raise BadSetting(f"{naming(name, value)}; it must be {right}")


def naming(name: str, value: object) -> str:
    """The beginning of an error about an argument of another kind, such as "task = 5 is an int"."""
    return f"{name} is None" if value is None else f"{name} = {value!r:.80} is {kind_of(value)}"


def _rebuild(kind: type[LoquentError], args: tuple[Any, ...]) -> LoquentError:
    rebuilt = kind.__new__(kind)
    rebuilt.args = args
    return rebuilt
