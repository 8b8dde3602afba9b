"""A run compares what it needs with free memory before it starts, and names what to lower."""

import pytest
import torch
import transformers

import loquent
from loquent.cli.commands.printing import print_estimate
from loquent.cli.main import main
from loquent.core.settings import Remark
from loquent.errors import NotEnoughMemory, in_words, is_memory_error
from loquent.files.machine import memory
from loquent.training import recipes
from loquent.training.estimates import needs
from loquent.training.estimates.estimate import Estimate
from loquent.training.trainer import Trainer

TINY = (
    "task.limit=20", "model.path=", "model.layers=1", "model.width=8", "model.heads=1",
    "model.vocabulary=300", "model.context=128", "model.tokenizer_texts=20",
    "metrics={diversity: {}}", "rewards={lexicon: 1.0}", "decoding.max_new_tokens=8", "training.episodes=4",
)  # fmt: skip


@pytest.fixture(scope="module")
def recipe():
    return recipes.load("reviews_ppo", TINY, profile="smoke")


@pytest.fixture(scope="module")
def trainer(recipe):
    return Trainer(recipe)


def test_the_parts_by_hand(trainer, recipe):
    parts = trainer.experience.needs()
    learned = sum(tensor.numel() for tensor in trainer.algorithm.parameters.values()) * 4
    rows = min(recipe.decoding.live, recipe.training.episodes)
    new = recipe.decoding.max_new_tokens
    assert parts["gradients"] == learned
    assert parts["optimizer"] == 2 * learned
    assert parts["cache"] == 2 * 8 * new * rows * 4
    assert parts["decoding"] == rows * trainer.actor.policy.config.vocab_size * 40
    assert parts["batch"] == recipe.training.episodes * new * 32


@pytest.mark.parametrize(("vocabulary", "of_logit"), [(4095, 40), (4096, 20)])
def test_decoding_of_a_wide_vocabulary_by_hand(vocabulary, of_logit):
    config = transformers.GPT2Config(vocab_size=vocabulary, n_embd=4, n_layer=3, n_head=2)
    with torch.device("meta"):
        policy = transformers.GPT2LMHeadModel(config)
    policy.to_empty(device="cpu")
    parts = needs.decoding(policy, rows=5, columns=7, decoders=2)
    assert parts == {"cache": 2 * 2 * 3 * 4 * 7 * 5 * 4, "decoding": 2 * 5 * vocabulary * of_logit}


LOWER = {
    "training.episodes=1000000000": r"training\.episodes = 1,000,000,000",
    "decoding.live=1000000000": r"decoding\.live = 1,000,000,000",
}


@pytest.mark.parametrize("setting", LOWER)
def test_a_run_that_needs_clearly_more_than_is_free_is_refused(recipe, tmp_path, setting, monkeypatch):
    more = ("training.episodes=1000000000",) if setting.startswith("decoding") else ()
    large = recipe.replace(setting, *more)
    why = rf"needs at least [\d,.]+ GiB more .* are free\. Lower {LOWER[setting]}"
    with pytest.raises(NotEnoughMemory, match=why):
        loquent.train(large, tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_near_the_free_memory_a_remark_says_so(trainer, monkeypatch):
    total = sum(trainer.experience.needs().values())
    monkeypatch.setattr(memory, "available", lambda: int(total * 1.1))
    with pytest.warns(Remark, match=f"needs at least {in_words(total)} more memory on cpu"):
        needs.check(trainer)
    monkeypatch.setattr(memory, "available", lambda: int(total / 1.4))
    with pytest.warns(Remark):
        needs.check(trainer)
    monkeypatch.setattr(memory, "available", lambda: int(total / 1.6))
    with pytest.raises(NotEnoughMemory):
        needs.check(trainer)


def allocate():
    torch.empty(1 << 60)


def full():
    raise MemoryError


@pytest.mark.parametrize("error", [allocate, full])
def test_memory_that_runs_out_in_training_names_what_to_lower(recipe, tmp_path, error, monkeypatch):
    monkeypatch.setattr(Trainer, "update", lambda self: error())
    lower = r"Lower algorithm\.token_budget = [\d,]+; or training\.episodes = 4; or decoding\.live = "
    with pytest.raises(NotEnoughMemory, match=rf"training reviews_ppo: memory ran out \(.*\)\. {lower}"):
        loquent.train(recipe, tmp_path / "run", progress=False)


def test_every_command_types_full_memory(monkeypatch, capsys):
    from loquent.cli.commands import list as command

    monkeypatch.setattr(command, "run", lambda arguments: allocate())
    assert main(["list", "tasks"]) == 2
    assert capsys.readouterr().err.startswith("NotEnoughMemory: loquent list: memory ran out")


def test_other_errors_are_no_memory_errors():
    assert not is_memory_error(RuntimeError("shapes differ"))
    assert not is_memory_error(OSError(2, "no such file"))
    assert is_memory_error(OSError(12, "Cannot allocate memory"))
    assert in_words(1880 * 2**30) == "1,880 GiB"


def test_a_dry_run_says_that_a_peak_is_too_much(capsys):
    sizes = {"episodes": 1, "updates": 1, "rows_measured": 1, "width": 1, "seeds": 1}
    disk = {"checkpoints": 1, "checkpoint": 1, "reference": 0, "at_most": 1}
    made = Estimate({"a": 1}, {"a": 1}, 1880 << 30, disk, {"a": 1.0}, 1.0, sizes, "cpu", free=22 << 30)
    print_estimate(made)
    assert "memory at its peak: 1,880 GiB" in (out := capsys.readouterr().out)
    assert "this is too much: 22.00 GiB are free here" in out
