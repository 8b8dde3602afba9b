"""Steps of TRL's own trainers of preferences with their defaults, and our learners with the preset `trl`.

Our learner gets the same networks and TRL's own rows of ids; its losses and the gradients of all its steps
must be TRL's. What differs from TRL's defaults is in `helpers.algorithms.preferences.CHANGED` and in the
cases.
"""

import re
from pathlib import Path

import pytest

from helpers.algorithms.preferences import PAIRED, SINGLE, batch_of, of_trl
from helpers.algorithms.tiny_models import CAUSAL, module, tokenizer
from loquent.algorithms.preference.dpo import DPO
from loquent.algorithms.preference.kto import KTO
from loquent.algorithms.preference.orpo import ORPO
from loquent.core.seeding import Key
from loquent.models.actor import Actor
from loquent.models.score.tokens import score
from loquent.pretrained import LanguageModel
from tools.studies import defaults_page

trl = pytest.importorskip("trl", reason="trl is not installed: pip install -c constraints.txt -e '.[dev]'")
STEPS = {"learning_rate": 0.01, "max_steps": 3}  # later steps have other ratios and rates
OWN_STEPS = {"learning_rate": 0.01, "epochs": 3, "total_steps": 3}
SMOOTH = {"label_smoothing": 0.1}
CASES = {  # TRL's trainer, our learner, the shape, the data, changes of TRL's configuration, and ours
    "sigmoid": ("DPO", DPO, "gpt2", PAIRED, {}, {}),
    "sigmoid, llama": ("DPO", DPO, "llama", PAIRED, STEPS, OWN_STEPS),
    "sigmoid_norm": ("DPO", DPO, "gpt2", PAIRED, {"loss_type": "sigmoid_norm"}, {"loss": "sigmoid_norm"}),
    "hinge": ("DPO", DPO, "gpt2", PAIRED, {"loss_type": "hinge"}, {"loss": "hinge"}),
    "ipo": ("DPO", DPO, "gpt2", PAIRED, {"loss_type": "ipo", **STEPS}, {"loss": "ipo", **OWN_STEPS}),
    "robust": (
        "DPO", DPO, "llama", PAIRED, {"loss_type": "robust", **SMOOTH}, {"loss": "robust", **SMOOTH},
    ),
    "kto": ("KTO", KTO, "gpt2", SINGLE, {}, {"threshold": 0.5}),
    "kto, weights": (
        "KTO", KTO, "llama", SINGLE,
        {"desirable_weight": 1.3, "undesirable_weight": 0.7, **STEPS},
        {"desirable_weight": 1.3, "undesirable_weight": 0.7, "threshold": 0.5, **OWN_STEPS},
    ),
    "kto, pairs": ("KTO", KTO, "gpt2", PAIRED, {"per_device_train_batch_size": 16}, {}),
    "orpo": ("ORPO", ORPO, "gpt2", PAIRED, {}, {}),
    "orpo, llama": ("ORPO", ORPO, "llama", PAIRED, {"beta": 0.7, **STEPS}, {"beta": 0.7, **OWN_STEPS}),
}  # fmt: skip
OTHER = {  # another default of TRL's: a case, and the change
    "beta": ("sigmoid", {"beta": 0.2}),
    "loss_type": ("sigmoid", {"loss_type": "sigmoid_norm"}),
    "max_grad_norm": ("sigmoid", {"max_grad_norm": 0.01}),
    "lr_scheduler_type": ("sigmoid, llama", {"lr_scheduler_type": "constant"}),
    "undesirable_weight": ("kto", {"undesirable_weight": 2.0}),
    "odds ratio": ("orpo", {"beta": 0.9}),
}


def ours(kind, shape, rows, changes):
    """The loss and the gradient of each step of our learner with the preset."""
    policy, reference = (LanguageModel(module(CAUSAL[shape](), seed), tokenizer()) for seed in (0, 1))
    model = Actor.build(policy, critic="none", reference=reference, key=Key(0))
    config = kind.Config(**{**kind.Config.presets["trl"], "total_steps": 1, **changes})
    learner = kind(config, model)
    losses, gradients, parameters = [], [], dict(policy.module.named_parameters())
    prepared = learner.prepare(score(model, batch_of(rows)))

    def keep(*given):
        gradients.append({path: p.grad.clone() for path, p in parameters.items()})

    def noted(model, minibatch, loss=learner.loss):
        whole = loss(model, minibatch)
        losses.append(float(whole(minibatch).total.detach()) / len(minibatch))
        return whole

    learner.loss = noted
    learner.gradient.optimizer.register_step_pre_hook(keep)
    learner.update(model, prepared)
    return losses, gradients


def apart(one, other):
    """The largest difference of two gradients, relative to the largest entry of the second."""
    largest = max(float(part.abs().max()) for part in other.values())
    return max(float((one[path] - other[path]).abs().max()) for path in other) / largest


BY_DAY = (
    "sigmoid_norm",
    "hinge",
    "ipo",
    "robust",
    "kto, weights",
    "kto, pairs",
    "orpo, llama",
    "sigmoid, llama",
)


@pytest.mark.sweep(*BY_DAY)
@pytest.mark.parametrize("name", CASES)
def test_the_preset_learns_as_the_trainer_of_trl(name, tmp_path):
    trainer, kind, shape, data, changes, own = CASES[name]
    rows, losses, gradients = of_trl(trainer, shape, tmp_path, data, **changes)
    found, steps = ours(kind, shape, rows, own)
    assert found == pytest.approx(losses, rel=1e-6, abs=1e-6)  # of 37 by ipo, float32 has steps of 4e-6
    assert len(steps) == len(gradients) == changes.get("max_steps", 1)
    assert max(apart(*pair) for pair in zip(steps, gradients, strict=True)) < 1e-5


@pytest.mark.sweep(3)
@pytest.mark.parametrize("setting", OTHER)
def test_another_default_of_trl_is_another_gradient(setting, tmp_path):
    name, other = OTHER[setting]
    trainer, kind, shape, data, changes, own = CASES[name]
    rows, _, gradients = of_trl(trainer, shape, tmp_path, data, **{**changes, **other})
    _, steps = ours(kind, shape, rows, own)
    assert max(apart(*pair) for pair in zip(steps, gradients, strict=True)) > 1e-3


PAGE = Path(__file__).parents[3] / "docs" / "preferences.md"
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \| ([A-Z, ]+) \| ", re.MULTILINE)


def test_the_table_of_defaults_is_that_of_trl(tmp_path):
    """Of its configuration objects, so with what they change of transformers' defaults."""
    from trl.experimental.orpo import ORPOConfig

    kinds = {"DPO": trl.DPOConfig, "KTO": trl.KTOConfig, "ORPO": ORPOConfig}
    made = {name: kind(str(tmp_path), use_cpu=True) for name, kind in kinds.items()}
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) > 20
    compared = 0
    for setting, wanted, names in rows:
        for name in names.split(", "):
            value = getattr(made[name], setting)
            value = value[0] if isinstance(value, list) else getattr(value, "value", value)
            assert str(value) == wanted, (setting, name)
            compared += 1
    assert compared > 45


def test_the_presets_have_their_defaults(tmp_path):
    """Each recorded value, by the name that TRL gives the setting."""
    from trl.experimental.orpo import ORPOConfig

    for learner, config in {"dpo": trl.DPOConfig, "kto": trl.KTOConfig, "orpo": ORPOConfig}.items():
        made = config(str(tmp_path), use_cpu=True)
        for setting, row in defaults_page.RECORDED[learner].items():
            entry = row["trl"]
            name = entry["name"] if isinstance(entry, dict) else setting
            if name == "optim" or not hasattr(made, name):
                continue
            value = getattr(made, name)
            value = value[0] if isinstance(value, list) else getattr(value, "value", value)
            assert value == defaults_page.in_our_units(entry), (learner, setting)
