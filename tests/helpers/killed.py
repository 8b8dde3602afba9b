"""A real `loquent` command in a process of its own, which kills itself with SIGKILL at a chosen moment.

The moments are calls of the package's own functions, wrapped here: the package has no door for it. A kill
"within" a file leaves what a kill in the middle of writing leaves: half of the file. Processes come from a
fork server that has the libraries loaded.
"""

import functools
import json
import os
import signal
import sys
from pathlib import Path

from helpers import commands


def loquent(*words, point=None, count=0, settings=None):
    """Run `loquent WORDS`; returns the exit code, -9 when it was killed.

    `settings(…)` is called in the child first.
    """
    process = commands.process(_child, words, point, count, settings)
    process.start()
    process.join(300)
    code = process.exitcode
    process.kill()
    process.join()
    return code


def again_and_again(file, run, moments):
    """Train a recipe's file to its end, killed at each moment (a point and the number of its call)."""
    words = ("train", str(file), "--out", str(run))
    for place, (point, call) in enumerate(moments):
        code = loquent(*words, point=point, count=call)
        assert code == -9, f"kill {place} ({point}, call {call}) ended with {code}: it was not killed there"
        if (run / "config.yaml").exists():
            words = ("resume", str(run))
    assert loquent(*words) == 0
    assert not list((run / "checkpoints").glob(".*")), "nothing is left of what was being written"


class Wholes(dict):
    """What `make(kind)` gives for each kind, made when it is first asked for."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def __missing__(self, kind):
        self[kind] = self.make(kind)
        return self[kind]


def die():
    """As the kernel would: no handler, no exit hook, no buffer is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)


def _child(words, point, count, settings):
    from loquent.cli import main as cli

    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    if not os.environ.get("LOQUENT_TESTS_SHOW"):
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
    if settings is not None:
        settings()
    if point is not None:
        POINTS[point](count)
    sys.exit(cli.main(list(words)))


def _counted(count, happens):
    """A function that calls `happens` at its call number `count`."""
    left = [count]

    def called(*given):
        left[0] -= 1
        if left[0] == 0:
            happens(*given)

    return called


def _around(owner, name, before=None, after=None):
    """Wrap a function of a module or class."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*given, **named):
        if before:
            before(*given)
        result = original(*given, **named)
        if after:
            after(*given)
        return result

    setattr(owner, name, wrapped)


def _halved(path):
    path = Path(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    die()


def in_rollout(count):
    """Within a collection, after `count` answers of it (and later ones) were played."""
    from loquent.core.live import Live
    from loquent.training.experience.rollouts import Played

    inside, tick = [False], _counted(count, lambda *_: die())
    _around(
        Played, "collect", lambda *_: inside.__setitem__(0, True), lambda *_: inside.__setitem__(0, False)
    )
    _around(Live, "act", lambda *_: inside[0] and tick())


def in_table(count):
    """Within an update of a learner that steps its games itself, before an action is taken."""
    from loquent.adapters.table import Table

    _around(Table, "act", _counted(count, lambda *_: die()))


def in_step(count):
    """Right after a gradient step of such a learner, others of the same update still to come (or not)."""
    import torch

    tick = _counted(count, lambda *_: die())
    for name in ("Adam", "RMSprop"):
        _around(getattr(torch.optim, name), "step", after=tick)


def in_network(count):
    """When the network of a checkpoint has been written, and nothing else of it."""
    from loquent.algorithms.sb3 import actor as sb3
    from loquent.models.turns import actor as ours

    tick = _counted(count, lambda *_: die())
    for module in (sb3, ours):
        _around(module.TurnActor, "save", after=tick)


def in_decoding(count):
    """Within a collection, between two tokens of the answers being drawn."""
    from loquent.models.decode import loop
    from loquent.training.experience.rollouts import Played

    inside, tick = [False], _counted(count, lambda *_: die())
    _around(
        Played, "collect", lambda *_: inside.__setitem__(0, True), lambda *_: inside.__setitem__(0, False)
    )
    _around(loop, "choose", lambda *_: inside[0] and tick())


def in_update(count):
    """Right after a gradient step, others of the same update still to come (or not)."""
    import torch

    _around(torch.optim.AdamW, "step", after=_counted(count, lambda *_: die()))


def in_backward(count):
    """Within a gradient step: gradients are there, parameters have not moved."""
    import torch

    _around(torch.Tensor, "backward", after=_counted(count, lambda *_: die()))


def in_tensors(count):
    """In the middle of writing a checkpoint's tensors."""
    from loquent.files import tensor_files
    from loquent.training import checkpoint

    tick = _counted(count, _halved)
    for module in (checkpoint, tensor_files):
        _around(module, "save_file", after=lambda _, path: tick(path))


def in_policy(count):
    """When the policy of a checkpoint has been written, and nothing else of it."""
    from loquent import pretrained

    _around(pretrained, "save", after=_counted(count, lambda *_: die()))


def in_json(count):
    """In the middle of writing a checkpoint's JSON."""
    from loquent.files import atomic

    tick = _counted(count, _halved)
    _around(atomic, "write_synced", after=lambda path, text: path.name == "state.json" and tick(path))


def before_rename(count):
    """All of a checkpoint is written; it has not yet got its name."""
    tick = _counted(count, lambda *_: die())
    _around(
        os,
        "replace",
        lambda source, target: (
            str(source).endswith(".partial") and Path(target).name.startswith("update-") and tick()
        ),
    )


def after_rename(count):
    """A checkpoint has got its name; the oldest has not been dropped."""
    tick = _counted(count, lambda *_: die())
    _around(os, "replace", after=lambda source, target: Path(target).name.startswith("update-") and tick())


def in_removal(count):
    """An old checkpoint has lost its name, its files are still there."""
    tick = _counted(count, lambda *_: die())
    _around(os, "replace", after=lambda source, target: str(target).endswith(".removed") and tick())


def in_log(count):
    """Half a line of metrics.jsonl is written."""
    from loquent.files import atomic

    def half(path, value):
        with path.open("ab") as file:
            file.write(json.dumps(value).encode()[:40])
        die()

    tick = _counted(count, half)
    _around(atomic, "append_line", lambda path, value: path.name == "metrics.jsonl" and tick(path, value))


def in_rows(count):
    """Half a line of evaluation_rows.jsonl is written."""
    from loquent.files import atomic

    tick = _counted(count, _halved)
    _around(atomic, "append_line", after=lambda path, _: path.name == "evaluation_rows.jsonl" and tick(path))


def after_log(count):
    """An update has been logged; its checkpoint has not been written."""
    from loquent.files import atomic

    tick = _counted(count, lambda *_: die())
    _around(atomic, "append_line", after=lambda path, value: path.name == "metrics.jsonl" and tick())


def in_episodes(count):
    """In the middle of writing the episodes of an evaluation."""
    from loquent.core import episode

    _around(episode, "write", after=_counted(count, lambda path, *_: _halved(path)))


def in_reference(count):
    """In the middle of writing the file of the reference, which all checkpoints share."""
    from loquent.files import tensor_files

    tick = _counted(count, _halved)
    _around(tensor_files, "save_file", after=lambda _, path: "reference-" in Path(path).name and tick(path))


def in_note(count):
    """In the middle of noting which checkpoint is the best."""
    from loquent.files import atomic

    tick = _counted(count, _halved)
    _around(atomic, "write_synced", after=lambda path, text: "best.json" in path.name and tick(path))


def in_rewriting(count):
    """In the middle of cutting a log back to its checkpoint, as a resumed run begins."""
    from loquent.files import atomic

    tick = _counted(count, _halved)
    _around(
        atomic, "write_synced", after=lambda path, text: path.name == ".metrics.jsonl.partial" and tick(path)
    )


def at_the_end(count):
    """The last episodes are written, the last evaluation is not."""
    from loquent.files import atomic

    tick = _counted(count, lambda *_: die())
    _around(atomic, "write_json", lambda path, value: path.name == "evaluation.json" and tick())


def after_result(count):
    """A search has noted the result of a trial."""
    from loquent.bench.search.journal import Journal

    tick = _counted(count, lambda *_: die())
    _around(Journal, "add", after=lambda _, event: event.event == "result" and tick())


def in_extension(count):
    """An extended run has noted its updates, and made none of them."""
    from loquent.files.run_folder import RunFolder

    _around(RunFolder, "extend", after=_counted(count, lambda *_: die()))


def anywhere(count):
    """At the call number `count` of any Python function of the package or of a library, once training has
    begun.
    """
    from loquent.training.trainer import Trainer

    tick = _counted(count, lambda *_: die())
    _around(
        Trainer,
        "__init__",
        after=lambda *_: sys.setprofile(lambda frame, event, _: tick() if event == "call" else None),
    )


POINTS = {
    one.__name__: one
    for one in (
        in_rollout, in_table, in_step, in_network, in_decoding, in_update, in_backward, in_tensors, in_policy,
        in_json, before_rename, after_rename,
        in_removal, in_log, in_rows, after_log, in_episodes, in_reference, in_note, in_rewriting, at_the_end,
        anywhere, after_result, in_extension,
    )
}  # fmt: skip
