"""Every learner in every dtype: short real runs, numbers that are rounded to no smaller type on their way,
and resuming to the bit.
"""

import math
import shutil
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from helpers.states import same
from loquent.agents.baselines import Expert, Random
from loquent.algorithms.shared.gae import discounts, gae
from loquent.algorithms.value_learning import value_losses as losses
from loquent.core import episode, registry
from loquent.core.rollout.loop import games, play
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint
from loquent.files.run_folder import RunFolder
from loquent.models.values.perturb import logit_shift
from loquent.pretrained import DTYPES
from loquent.pretrained.learning import optimization
from loquent.training import recipes
from loquent.training.checkpoint import load
from loquent.training.train import train

LEARNERS = {
    name: ()
    for name in registry.names("algorithm")
    if "model" not in registry.find("algorithm", name).unused  # the others have no language model
}
VARIANTS = {
    "ilql, sign, turns": ("ilql", "algorithm.awac_mode=sign", "algorithm.awac_beta=0.3",
        "algorithm.discount=turn", "algorithm.tau=0.7",
                          "algorithm.cql_weight=0.1", "algorithm.margin_weight=0.1",
                          "algorithm.adv_mode=sign", "algorithm.adv_beta=0.7"),
    "ilql, shared": ("ilql", "algorithm.backbones=shared"),
    "psi, lora": ("psi", "algorithm.backbones=lora"),
    "psi, frozen": ("psi", "algorithm.backbones=frozen"),
    "ilql_utterance, frozen": ("ilql_utterance", "algorithm.backbones=frozen", "algorithm.awac_weight=0"),
    "ilql_utterance, sign": ("ilql_utterance", "algorithm.awac_mode=sign", "algorithm.awac_beta=0.3"),
    "ppo, head": ("ppo", "model.critic=head", "algorithm.kl_target=0.1"),
}  # fmt: skip
CASES = {**{name: (name,) for name in LEARNERS}, **VARIANTS}
VARIED = ("training.answers=2", "rewards={length: {weight: 1.0, high: 0}}")  # or no answer is better
COMPARED = dict.fromkeys(("grpo", "rloo"), VARIED)
MORE = {
    **COMPARED,
    **dict.fromkeys(("dpo", "kto"), ("model.reference=copy",)),
    "filtered_cloning": ("algorithm.top=0.5",),
    "chai": ("algorithm.candidates=2", "algorithm.best_of=2"),
}
ALLOWED = ("aten._fused_adamw_", "aten._foreach_add_.Scalar")  # AdamW counts its steps in float32 scalars


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder, task = tmp_path_factory.mktemp("recorded"), registry.find("task", "wordle")()
    rows = task.rows("train")[:2]
    played = [one for player in (Random, Expert) for one in play(task, games(rows), player(task), seed=1)]
    episode.write(folder / "episodes.jsonl", played)
    return folder


def small(case, dtype, recorded, *more):
    kind, *options = CASES[case]
    offline = "data" in registry.find("algorithm", kind).reads
    given = [
        "task={kind: wordle}", f"algorithm={{kind: {kind}, learning_rate: 0.01}}",
        "model={layers: 1, width: 16, heads: 2, context: 128, vocabulary: 258, tokenizer_texts: 50, "
            "dropout: 0.0}", f"model.dtype={dtype}",
        *(("model.critic=none", "model.reference=none") if offline else ()),
        "decoding={max_new_tokens: 3}",
        "training={updates: 2, episodes: 4, evaluate_every: 0, final_episodes: 2, checkpoint_every: "
            "1}",
        *((f"training.data={recorded}",) if offline else ()), *MORE.get(kind, ()), *options, *more,
    ]  # fmt: skip
    return recipes.load("wordle_clone", given)


def run(case, dtype, recorded, folder):
    return train(small(case, dtype, recorded), folder, progress=False)


class Seen(TorchDispatchMode):
    """Notes each operation that reads or makes a float32 tensor."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        tensors = [x for x in tree_flatten((args, kwargs, out))[0] if isinstance(x, torch.Tensor)]
        if any(x.dtype == torch.float32 for x in tensors) and not str(function).startswith(ALLOWED):
            self.found.add(str(function))
        return out


@contextmanager
def watched(kind, monkeypatch):
    """What happens in a learner's `prepare` and `update`; what optimizers make is their own."""
    seen = Seen()
    learner = registry.find("algorithm", kind)
    for name in ("prepare", "update"):
        plain = getattr(learner, name)

        def noted(*given, plain=plain):
            with seen:
                return plain(*given)

        monkeypatch.setattr(learner, name, noted)

    for optimizer in (torch.optim.AdamW, torch.optim.RMSprop):
        stepping = optimizer.step

        def step(self, *given, stepping=stepping):
            with torch.utils._python_dispatch._disable_current_modes():
                return stepping(self, *given)

        monkeypatch.setattr(optimizer, "step", step)
    yield seen.found


@pytest.mark.sweep(4)
@pytest.mark.parametrize("case", CASES)
def test_nothing_of_a_float64_run_passes_through_float32(case, recorded, tmp_path, monkeypatch):
    with watched(CASES[case][0], monkeypatch) as found:
        done = run(case, "float64", recorded, tmp_path / "run")
    assert found == set()
    assert len(done.metrics) == 2
    assert all(math.isfinite(value) for line in done.metrics for value in line.values() if value is not None)
    norm = done.metrics[0]["gradient/norm"]
    assert norm > 0
    assert norm != float(np.float32(norm)), "the logged norm was rounded"
    actor = load(RunFolder(done.folder).checkpoints.all()[-1])["actor"]
    assert {tensor.dtype for tensor in actor.values() if tensor.is_floating_point()} == {torch.float64}


@pytest.mark.sweep(9)
@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        *(
            (case, dtype) for case in LEARNERS for dtype in DTYPES if dtype != "float64"
        ),  # which the test above runs
        *((case, "bfloat16") for case in ("psi, lora", "psi, frozen", "ppo, head", "ilql, shared")),
    ],
)
@pytest.mark.filterwarnings("ignore::loquent.core.settings.Remark")
def test_every_learner_runs_in_every_dtype(case, dtype, recorded, tmp_path):
    done = run(case, dtype, recorded, tmp_path / "run")
    assert all(math.isfinite(value) for line in done.metrics for value in line.values() if value is not None)
    assert done.metrics[0]["gradient/norm"] > 0
    first, last = (load(folder)["actor"] for folder in RunFolder(done.folder).checkpoints.all()[-2:])
    assert any(not torch.equal(first[name], last[name]) for name in last), "nothing was learned"
    asked = getattr(torch, dtype)
    kinds = {name: tensor.dtype for name, tensor in last.items() if tensor.is_floating_point()}
    assert {kind for name, kind in kinds.items() if name.startswith("policy.")} <= {asked}
    assert set(kinds.values()) <= {asked, torch.promote_types(asked, torch.float32)}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("case", ["ppo", "a2c", "trpo", "grpo", "rloo", "psi", "chai"])
def test_a_run_that_is_cut_off_and_resumed_is_the_same_to_the_bit(case, dtype, recorded, tmp_path):
    whole = run(case, dtype, recorded, tmp_path / "whole")
    shutil.copytree(whole.folder, tmp_path / "half")
    shutil.rmtree(tmp_path / "half" / "checkpoints" / "update-2")
    log = tmp_path / "half" / "metrics.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:1]))
    resumed = train(small(case, dtype, recorded), tmp_path / "half", progress=False, resume=True)
    assert resumed.metrics == whole.metrics
    assert resumed.fingerprint == whole.fingerprint
    ours, theirs = (load(RunFolder(one.folder).checkpoints.all()[-1]) for one in (resumed, whole))
    assert same(ours, theirs) is None  # dtypes too


def test_small_steps_of_16_bits_add_up():
    parameter = torch.nn.Parameter(torch.full((2, 2), 1.0, dtype=torch.bfloat16))
    named = {"a": parameter}
    optimizer = optimization.adamw(named, 1e-4, 0.0)

    def steps(optimizer, named, count):
        for _ in range(count):
            optimizer.zero_grad()
            named["a"].grad = torch.ones_like(named["a"])
            optimization.take_step(optimizer)

    steps(optimizer, named, 10)
    assert parameter.tolist() == [[1.0, 1.0]] * 2, (
        "ten steps of 1e-4 are less than half of what bfloat16 tells apart here"
    )
    state = optimization.state_by_name(optimizer, named)
    assert state["a"]["exact"].dtype == torch.float32
    assert state["a"]["exact"][0, 0].item() == pytest.approx(0.999, abs=1e-6)
    again = {"a": torch.nn.Parameter(parameter.detach().clone())}
    other = optimization.adamw(again, 1e-4, 0.0)
    optimization.load_by_name(other, again, state)
    steps(optimizer, named, 90)
    steps(other, again, 90)
    assert torch.equal(parameter, again["a"])
    assert parameter[0, 0].item() == pytest.approx(0.99, abs=0.004)
    assert torch.equal(optimizer.copies[parameter], other.copies[again["a"]])
    single = {"a": torch.nn.Parameter(torch.ones(2, 2))}
    with pytest.raises(BadCheckpoint, match=r"another model\.dtype"):
        optimization.load_by_name(optimization.adamw(single, 1e-4, 0.0), single, state)
    optimizer.zero_grad()
    assert parameter.grad is None


def test_copies_of_16_bit_weights_follow_loaded_weights_and_only_learning_parameters_are_written():
    named = {name: torch.nn.Parameter(torch.ones(2, 2, dtype=torch.bfloat16)) for name in ("a", "frozen")}
    optimizer = optimization.adamw(named, 1e-4, 0.0)
    with torch.no_grad():
        for parameter in named.values():
            parameter.fill_(3.0)
    optimization.load_by_name(optimizer, named, {})  # of a checkpoint before the first step
    assert [copy[0, 0].item() for copy in optimizer.copies.values()] == [3.0, 3.0]
    with torch.no_grad():
        named["frozen"].fill_(5.0)
    named["a"].grad = torch.ones_like(named["a"])
    optimization.take_step(optimizer)
    assert optimizer.copies[named["a"]][0, 0].item() == pytest.approx(2.9999, abs=1e-6)
    assert named["frozen"].tolist() == [[5.0, 5.0]] * 2, "it had no gradient"


def test_float16_is_answered_with_a_remark():
    with pytest.warns(Remark, match="gradients below 6e-8 are lost"):
        optimization.adamw({"a": torch.nn.Parameter(torch.ones(2, 2, dtype=torch.float16))}, 1e-4, 0.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_norm_of_16_bit_gradients_is_that_of_float32(dtype):
    parameter = torch.nn.Parameter(torch.zeros(10_000, dtype=dtype))
    parameter.grad = torch.full_like(parameter, 0.125)
    assert optimization.clip_gradients({"a": parameter}, 1.25) == pytest.approx(12.5, rel=1e-6)
    assert parameter.grad[0].item() == pytest.approx(0.0125, rel=0.01)


def test_float64_and_float32_begin_with_the_same_weights(recorded, tmp_path):
    one, two = (
        load(run("psi", dtype, recorded, tmp_path / dtype).files.checkpoints.all()[0])["actor"]
        for dtype in ("float32", "float64")
    )
    assert one.keys() == two.keys()
    assert all(torch.allclose(one[name].double(), two[name].double(), atol=0.05) for name in one)


# ---- against sums done by hand in Python's floats, which are float64


def test_powers_of_a_discount_are_those_of_float64():
    turn, real = torch.arange(30)[None], torch.ones(1, 30, dtype=torch.bool)
    for per in ("token", "turn"):
        factor = discounts(turn, real, 0.9, per).to(torch.float64)
        reward = torch.zeros(1, 30, dtype=torch.float64)
        reward[0, -1] = 1.0
        to_go = losses.reward_to_go(reward, real, factor)[0].tolist()
        assert to_go == pytest.approx([0.9 ** (29 - j) for j in range(30)], rel=1e-12)


def test_gae_is_that_of_float64():
    draw = np.random.default_rng(3)
    reward, value = draw.standard_normal(12).tolist(), draw.standard_normal(12).tolist()
    real = torch.ones(1, 12, dtype=torch.bool)
    factor = discounts(torch.arange(12)[None], real, 0.9, "token")
    tensors = [torch.tensor([numbers], dtype=torch.float64) for numbers in (reward, value)]
    found, target = gae(*tensors, real, real, torch.tensor([0.3], dtype=torch.float64), factor, 0.7)
    expected, following, after = [0.0] * 12, 0.0, 0.3
    for j in reversed(range(12)):
        following = reward[j] + 0.9 * after - value[j] + 0.9 * 0.7 * following
        expected[j], after = following, value[j]
    assert found[0].tolist() == pytest.approx(expected, abs=1e-12)
    assert target[0].tolist() == pytest.approx([a + v for a, v in zip(expected, value)], abs=1e-12)


def test_losses_and_weights_of_values_are_those_of_float64():
    target, value = (
        torch.tensor(numbers, dtype=torch.float64) for numbers in ([1.0, 0.1, -0.3], [0.4, 0.6, 0.2])
    )
    gaps = [0.6, 0.1 - 0.6, -0.3 - 0.2]
    expectile = [(0.9 if gap >= 0 else 1 - 0.9) * gap**2 for gap in gaps]
    assert losses.expectile_loss(target, value, 0.9).tolist() == pytest.approx(expectile, abs=1e-12)
    assert losses.awac_weight(target, value, beta=0.3, mode="sign").tolist() == pytest.approx(
        [0.3, 0.7, 0.7], abs=1e-12
    )
    assert losses.awac_weight(target, value, beta=0.3).tolist() == pytest.approx(
        [math.exp(0.3 * gap) for gap in gaps], abs=1e-12
    )
    shift = logit_shift(target[None], value[:1], adv_beta=0.7, mode="sign")[0].tolist()
    assert shift == pytest.approx([math.log(0.7), math.log1p(-0.7), math.log1p(-0.7)], abs=1e-12)
    alive = torch.tensor([True, True, False])
    bellman = losses.bellman_target(target, value, alive, torch.full_like(value, 0.9))
    assert bellman.tolist() == pytest.approx([1.0 + 0.9 * 0.4, 0.1 + 0.9 * 0.6, -0.3], abs=1e-12)


@pytest.mark.parametrize("limit", [None, 0.1])
def test_the_norm_of_the_gradient_is_that_of_float64(limit):
    draw = np.random.default_rng(4)
    parts = [draw.standard_normal(shape) for shape in ((3, 5), (7,))]
    parameters = {
        str(i): torch.nn.Parameter(torch.zeros(part.shape, dtype=torch.float64))
        for i, part in enumerate(parts)
    }
    for parameter, part in zip(parameters.values(), parts, strict=True):
        parameter.grad = torch.from_numpy(part.copy())
    norm = math.sqrt(math.fsum(float(x) ** 2 for part in parts for x in part.flatten()))
    assert optimization.clip_gradients(parameters, limit) == pytest.approx(norm, rel=1e-12)
    scale = 1.0 if limit is None else limit / (norm + 1e-6)
    for parameter, part in zip(parameters.values(), parts, strict=True):
        assert parameter.grad.flatten().tolist() == pytest.approx(
            (part * scale).flatten().tolist(), rel=1e-12
        )


def test_a_wanted_return_is_not_rounded():
    from loquent.algorithms.imitation.decision_transformer import ConditionedAgent

    asked = []
    agent = ConditionedAgent.__new__(ConditionedAgent)
    agent.target_return, agent.module, agent.conditioning = (
        0.1,
        SimpleNamespace(device="cpu"),
        lambda numbers: asked.append(numbers) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        agent.answer([])
    assert asked[0].item() == 0.1


@pytest.mark.parametrize("kind", ["psi", "ilql_utterance"])
def test_values_are_learned_from_games_that_a_teacher_has_just_played(kind, tmp_path):
    """Their rewards are float64, whatever the model's numbers are."""
    made = recipes.load("wordle_ilql", [f"algorithm={{kind: {kind}}}", "training.updates=1"], profile="smoke")
    assert len(train(made, tmp_path / "run", progress=False).metrics) == 1
