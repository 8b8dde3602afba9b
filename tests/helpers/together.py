"""Processes that learn together, for the tests: each runs one of the functions below in a group of its own on
this machine.
"""

import json
import os
import sys
import time
from itertools import count as counter

from helpers import commands, killed

PORTS = counter(20_000 + os.getpid() % 10_000 * 3)


def run(task, count, folder, *given):
    """Run `task(folder, rank, *given)` in `count` processes of one group; the exit codes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meeting").unlink(missing_ok=True)
    processes = [commands.process(_member, task, rank, count, folder, given) for rank in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
        process.kill()
    return [process.exitcode for process in processes]


def _member(task, rank, count, folder, given):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=count
    )
    task(folder, rank, *given)
    torch.distributed.destroy_process_group()


def launch(words, count, folder, trouble=None):
    """Run `loquent WORDS` in processes that `torchrun` might have started; `trouble()` is called in the last.

    Returns exit codes, what each wrote to stderr, and the seconds from the first end to the last.
    """
    files, port = [folder / f"errors-{rank}" for rank in range(count)], next(PORTS)
    processes = [
        commands.process(
            _launched, words, rank, count, port, files[rank], trouble if rank == count - 1 else None
        )
        for rank in range(count)
    ]
    for process in processes:
        process.start()
    while all(process.exitcode is None for process in processes):
        time.sleep(0.1)
    began = time.monotonic()
    for process in processes:
        process.join(120)
        process.kill()
    seconds = time.monotonic() - began
    return [process.exitcode for process in processes], [file.read_text() for file in files], seconds


def _launched(words, rank, count, port, file, trouble):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(2, 1)
    from loquent.cli import main as cli

    if trouble is not None:
        trouble()
    sys.exit(cli.main([str(word) for word in words]))


def dies():
    """This process dies in its third gradient step."""
    killed.in_backward(3)


def hangs():
    """This process stands still before its second update."""
    from loquent.training.trainer import Trainer

    killed._around(Trainer, "update", killed._counted(2, lambda *_: time.sleep(600)))


def fails():
    """This process has an error before its second update."""
    from loquent.errors import BadReward
    from loquent.training.trainer import Trainer

    def fail(*_):
        raise BadReward("a reward of this process")

    killed._around(Trainer, "update", killed._counted(2, fail))


def steps(folder, rank, backbones):
    """Five gradient steps of ILQL by plain gradient descent on twelve games; what the parameters are then."""
    from safetensors.torch import save_file

    save_file(after_steps(backbones), folder / f"{rank}.safetensors")


def chai(folder, rank):
    """An update of CHAI by two games, of which the shorter has no answer after which it goes on.

    What is logged.
    """
    (folder / f"{rank}.json").write_text(json.dumps(of_chai()))


def of_chai():
    from helpers.algorithms import fork
    from loquent.algorithms.value_learning.chai import Chai
    from loquent.core.seeding import Key
    from loquent.models.decoding_settings import Decoding

    model = fork.actor(layers=1, width=16)
    model.decoding = model.evaluation = Decoding(max_new_tokens=2)
    algorithm = Chai(Chai.Config(minibatch=2, candidates=2), model, key=Key(0))
    return algorithm.update(model, algorithm.prepare(fork.recorded(model).take([0, 11])))


def overlong(folder, rank):
    """Updates of GRPO, of which the first leaves the second process without an answer. What is logged."""
    (folder / f"{rank}.json").write_text(json.dumps(of_overlong()))


def of_overlong():
    from dataclasses import replace

    import torch

    from helpers.algorithms import letters
    from loquent.algorithms.policy_gradient.grpo import GRPO

    logs = []
    for drop in (True, False):
        model = letters.actor(critic="none", dtype=torch.float64)
        algorithm = GRPO(GRPO.Config(drop_overlong=drop, epochs=2, learning_rate=1e-3), model)
        batch = algorithm.prepare(letters.scored(algorithm, model))
        row = torch.arange(len(batch))
        old = batch.drawn_logprob + 0.01 * row[:, None]  # the last row has the largest error of a ratio
        logs.append(algorithm.update(model, replace(batch, overlong=row % 2 == 1, drawn_logprob=old)))
    return logs


def masks(folder, rank, names):
    """An update of some learners with dropout; a part of the first mask that each of them draws."""
    from helpers.algorithms import fork
    from loquent.core import registry
    from loquent.core.seeding import Key
    from loquent.pretrained.forward import dropout

    drawn, own = [], dropout.dropout_mask
    dropout.dropout_mask = lambda *given: drawn.append(own(*given)) or drawn[-1]
    first = {}
    for name in names:
        model, kind = fork.actor(layers=1, width=16, dropout=0.1), registry.find("algorithm", name)
        algorithm = kind(kind.Config(minibatch=12), model, key=Key(0))
        drawn.clear()
        algorithm.update(model, algorithm.prepare(fork.recorded(model)))
        first[name] = drawn[0][0].flatten()[:300].bool().tolist()
    (folder / f"{rank}.json").write_text(json.dumps(first))


def after_steps(backbones):
    from helpers.algorithms import fork
    from loquent.algorithms.value_learning.ilql import ILQL
    from loquent.core.seeding import Key

    model = fork.actor(layers=1, width=16)
    settings = {"awac_weight": 0.0} if backbones in ("lora", "frozen") else {}
    config = ILQL.Config(
        minibatch=12,
        epochs=5,
        cql_weight=0.1,
        awac_beta=0.5,
        target_rate=0.1,
        backbones=backbones,
        token_budget=24,
        optimizer="sgd",  # Adam's division makes much of rounding
        learning_rate=0.1,
        **settings,
    )
    algorithm = ILQL(config, model, key=Key(0))
    algorithm.update(model, algorithm.prepare(fork.recorded(model)))
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def training(folder, rank, file, overrides, resume):
    """A whole run of a recipe."""
    from loquent.training import recipes
    from loquent.training.train import train

    train(recipes.load(file, overrides), folder / "run", progress=False, resume=resume)
