"""Each rule of the diagnosis on a made-up run that it must name, and on a made-up one that it must not."""

import random

import pytest

from helpers.report import kept_logs
from loquent.report.diagnosis import RULES, Log
from loquent.report.diagnosis.learning import undertrained_clone
from loquent.report.diagnosis.limits import one_phase
from loquent.report.diagnosis.policy import entropy_collapse
from loquent.report.diagnosis.signal import rewards_apart
from loquent.report.runs import ReportedRun

PPO, GRPO, CLONE = "reviews_ppo", "reviews_grpo", "wordle_clone"
UPDATES = 24
LEVEL, RISING = (0.4, 0.4), (0.2, 0.6)


def curve(start, end, noise=0.01, seed=0):
    """Values that move from `start` to `end` in noise."""
    draws = random.Random(seed)
    step = (end - start) / (UPDATES - 1)
    return [start + i * step + draws.gauss(0, noise) for i in range(UPDATES)]


def wandering(mean, deviation, memory, draws, values=UPDATES):
    """A stationary autoregression of the first order: each value keeps `memory` of the last deviation."""
    away, walk = draws.gauss(0, deviation), []
    for _ in range(values):
        walk.append(mean + away)
        away = memory * away + draws.gauss(0, deviation * (1 - memory**2) ** 0.5)
    return walk


def run(
    folder,
    recipe,
    curves,
    *,
    overrides=(),
    every=1,
    held_out=(),
    timings=(1.0, 1.0),
    remarks=(),
    top=None,
    up=(),
):
    """A run whose keys move along curves: (start, end), (start, end, noise), or all values.

    `held_out`: the curves of evaluations, each `every` updates.
    """
    lines = [{"update": i + 1, "episodes": 64 * (i + 1)} for i in range(UPDATES)]
    for seed, (key, ends) in enumerate({**curves, **dict(held_out)}.items()):
        values = ends if len(ends) == UPDATES else curve(*ends, seed=seed)
        for i in range(UPDATES):
            if key in curves or i % every == 0:
                lines[i][key] = values[i]
    values = {"return": 0.5} | {key.removeprefix("evaluation/"): 0.5 for key in up}
    evaluation = {
        "task": "t", "split": "test", "n": 4, "values": values, "errors": {},
        "higher_is_better": dict.fromkeys(values, True), "rewarded": [],
        "ranges": {"return": [None, top]} if top is not None else {},
    }  # fmt: skip
    kept_logs.write(
        folder,
        kept_logs.config(recipe, *overrides),
        metrics=lines,
        timings=[{"update": i + 1, "collect": timings[0], "learn": timings[1]} for i in range(UPDATES)],
        remarks=remarks,
        evaluation=evaluation,
        machine={"player": "teacher wordle/half" if recipe == CLONE else "policy"},
    )
    return ReportedRun(folder).diagnosis


def grpo(rise=RISING, **keys):
    return GRPO, {"rollout/return": rise, **{name.replace("__", "/"): ends for name, ends in keys.items()}}


ZERO, ONE = (0.0, 0.0, 0.0), (1.0, 1.0, 0.0)
GREEDY = ("evaluation.method=greedy",)
SPLIT = {"rollout/weighted/answer": (0.6, 0.2), "rollout/weighted/brevity": (-0.8, -0.1)}
BOTH = {"rollout/weighted/answer": (0.2, 0.6), "rollout/weighted/brevity": (-0.8, -0.1)}
REMARK = [{"update": 6, "remark": "r: the learning rate is 0 after update 6 of 18; the rest changes nothing"}]
# by rule: the run that it must name, and one beside it that no rule may name
CASES = {
    "learning_rate_zero": (
        (*grpo(), {"remarks": REMARK}),
        (*grpo(learning_rate=(1e-3, 1e-4, 0.0)), {}),
    ),
    "ratio_off_one": (
        (*grpo(policy__ratio_error=(0.3, 0.2)), {}),
        (*grpo(policy__ratio_error=(1e-5, 1e-5, 1e-6)), {}),
    ),
    "no_signal": (
        (*grpo(ZERO, rollout__success=ZERO), {}),
        (*grpo((0.0, 0.3), rollout__success=(0.0, 0.3)), {}),
    ),
    "undertrained_clone": (
        (CLONE, {"supervised/loss": (5.0, 1.0)}, {}),
        (CLONE, {"supervised/loss": [0.8 + 4 * 0.7**i for i in range(UPDATES)]}, {}),
    ),
    "greedy_above_sampled": (
        (*grpo((0.1, 0.4)), {"overrides": GREEDY, "held_out": {"evaluation/return": (0.7, 0.8)}}),
        (*grpo((0.5, 0.7)), {"overrides": GREEDY, "held_out": {"evaluation/return": (0.6, 0.8)}}),
    ),
    "rewards_apart": (
        (GRPO, {"rollout/return": (-0.2, 0.1), **SPLIT}, {}),
        (GRPO, {"rollout/return": (-0.6, 0.5), **BOTH}, {}),
    ),
    "entropy_collapse": (
        (*grpo(LEVEL, policy__entropy=[2 * 0.7**i for i in range(UPDATES)]), {}),
        (*grpo(RISING, policy__entropy=[2 * 0.7**i for i in range(UPDATES)]), {}),
    ),
    "kl_explosion": (
        (*grpo(kl__reference_k3=(0.0, 6.0), kl__coefficient=(0.04, 0.04, 0.0)), {}),
        (*grpo(kl__reference_k3=(0.0, 0.3), kl__coefficient=(0.04, 0.04, 0.0)), {}),
    ),
    "kl_collapse": (
        (*grpo(LEVEL, kl__reference_k3=(1e-5, 1e-5, 1e-6), kl__coefficient=(5.0, 5.0, 0.0)), {}),
        (*grpo(LEVEL, kl__reference_k3=(0.0, 0.05, 1e-3), kl__coefficient=(0.1, 0.1, 0.0)), {}),
    ),
    "critic_explains_nothing": (
        (PPO, {"rollout/return": RISING, "critic/explained_variance": (-0.3, -0.3)}, {}),
        (PPO, {"rollout/return": RISING, "critic/explained_variance": (-0.9, 0.3)}, {}),
    ),
    "groups_without_variance": (
        (*grpo(LEVEL, rollout__rows__equal=(0.2, 1.1)), {"top": 1.0}),
        (*grpo((0.3, 1.0), rollout__rows__equal=(0.2, 1.1)), {"top": 1.0}),
    ),
    "answers_cut": (
        (*grpo(rollout__ended__cut=(0.1, 0.9)), {}),
        (*grpo(rollout__ended__cut=(0.97, 0.99, 0.0)), {}),
    ),
    "prompts_cut": (
        (*grpo(rollout__cut_prompts=(0.3, 0.3)), {}),
        (*grpo(rollout__cut_prompts=ZERO), {}),
    ),
    "train_above_validation": (
        (*grpo((0.3, 0.9)), {"every": 3, "held_out": {"evaluation/return": (0.3, 0.4)}}),
        (*grpo((0.3, 0.9)), {"every": 3, "held_out": {"evaluation/return": (0.3, 0.87)}}),
    ),
    "metric_at_ceiling": (
        (*grpo(LEVEL), {"every": 4, "held_out": {"evaluation/success": ONE}}),
        (*grpo(LEVEL), {"every": 4, "held_out": {"evaluation/success": (0.7, 1.0, 0.0)}}),
    ),
    "one_phase": ((*grpo(), {"timings": (9.0, 1.0)}), (*grpo(), {"timings": (9.0, 8.0)})),
}  # fmt: skip


def test_every_rule_has_both_runs():
    assert list(CASES) == [rule.__name__ for rule in RULES]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_names_its_run_alone(rule, tmp_path):
    (recipe, curves, how), _ = CASES[rule]
    found = run(tmp_path / "run", recipe, curves, **how)
    [finding] = found.findings
    assert finding.rule == rule
    assert finding.cause
    assert finding.setting
    assert any(letter.isdigit() for letter in finding.shows), "it says the number"


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_silent_beside_it(rule, tmp_path):
    _, (recipe, curves, how) = CASES[rule]
    found = run(tmp_path / "run", recipe, curves, **how)
    assert not found.findings
    assert rule not in found.unjudged, "silent because it judged the run, not because it could not"


def test_a_critic_of_a_solved_run_is_not_called_useless(tmp_path):
    """Near the top returns hardly vary, so hardly anything is left to explain."""
    curves = {"rollout/return": (0.5, 0.97), "critic/explained_variance": (-0.45, -0.45)}
    assert not run(tmp_path / "run", PPO, curves, top=1.0).findings


def test_a_useless_critic_is_told_of_its_learning_rate(tmp_path):
    (recipe, curves, how), _ = CASES["critic_explains_nothing"]
    [finding] = run(tmp_path / "run", recipe, curves, **how).findings
    assert "algorithm.critic_learning_rate = 5e-05: three times algorithm.learning_rate" in finding.setting


STILL = {"policy/entropy": (2.0, 2.0), "rollout/return": LEVEL, "kl/reference_k3": (1e-5, 1e-5, 1e-6)}
STILL |= {"kl/coefficient": (5.0, 5.0, 0.0)}
RATE = "algorithm.learning_rate"


@pytest.mark.parametrize(
    ("recipe", "overrides", "keys", "tries"),
    [
        (GRPO, (f"{RATE}=0", "algorithm.schedule=constant"), STILL, {RATE}),
        (PPO, ("algorithm.critic_learning_rate=0",), STILL, {"algorithm.critic_learning_rate"}),
        (
            GRPO,
            ("algorithm.schedule=cosine", "algorithm.total_steps=9", "algorithm.floor=0"),
            {"rollout/return": LEVEL, "learning_rate": [1e-3] * 9 + [0.0] * (UPDATES - 9)},
            {"algorithm.total_steps", "algorithm.floor", "algorithm.schedule"},
        ),
    ],
)
def test_a_rate_of_zero_is_told_of_its_cause_alone(recipe, overrides, keys, tries, tmp_path):
    name = next((path.partition("=")[0] for path in overrides if path.endswith("rate=0")), "")
    remarks = (
        [{"update": 0, "remark": f"r: {name.removeprefix('algorithm.')} = 0: no update"}] if name else []
    )
    found = run(tmp_path / "run", recipe, keys, overrides=overrides, remarks=remarks).findings
    [finding] = [each for each in found if each.rule == "learning_rate_zero"]
    assert {text.split(" = ")[0] for text in finding.setting.split("; ")} == tries
    if name:
        assert finding.shows == f"{name} is 0"
    if name == RATE:
        assert len(found) == 1, "no penalty holds a policy that cannot move"


def test_without_a_penalty_none_is_said_to_be_outweighed(tmp_path):
    keys = {"rollout/return": RISING, "kl/reference_k3": (0.0, 6.0), "kl/coefficient": ZERO}
    [finding] = run(tmp_path / "run", GRPO, keys, overrides=("algorithm.beta=0",)).findings
    assert finding.rule == "kl_explosion"
    assert "outweighs" not in finding.cause
    assert "algorithm.beta = 0.0: above 0" in finding.setting
    assert "kl_target" not in finding.setting


@pytest.mark.parametrize("planned", [UPDATES, 2 * UPDATES])
def test_a_critic_that_learns_alone_holds_no_policy_at_its_reference(planned, tmp_path):
    warm = (f"algorithm.critic_warmup={UPDATES}", f"training.updates={planned}")
    found = run(tmp_path / "run", PPO, STILL, overrides=warm)
    if planned > UPDATES:
        assert not found.findings
        assert "critic_warmup" in found.unjudged["kl_collapse"]
        return
    [finding] = found.findings
    assert finding.rule == "kl_collapse"
    assert finding.setting == f"algorithm.critic_warmup = {UPDATES}: below {UPDATES}, the updates of the run"
    assert "penalty" not in finding.cause


REST = "reviews_rest"


def test_a_policy_that_learns_its_own_answers_is_no_clone(tmp_path):
    """Its loss falls because its answers change, and its returns are judged as those of other learners."""
    losses = {"supervised/loss": (4.0, 2.5)}
    found = run(tmp_path / "good", REST, {"rollout/return": (0.4, 0.9), **losses})
    assert not found.findings
    assert "its own answers" in found.unjudged["undertrained_clone"]
    found = run(tmp_path / "bad", REST, {"rollout/return": ZERO, "rollout/success": ZERO, **losses})
    assert [finding.rule for finding in found.findings] == ["no_signal"]


@pytest.mark.parametrize("recipe", ["reviews_dpo", CLONE, "reviews_online_dpo", REST])
def test_who_played_is_known_without_the_record_of_the_machine(recipe, tmp_path):
    """A damaged machine.json leaves the recipe: its data, its teacher, or what it logs."""
    folder = kept_logs.write(tmp_path / "run", kept_logs.config(recipe), metrics=[{"update": 1}])
    assert ReportedRun(folder).log.imitates is (recipe in ("reviews_dpo", CLONE))


def test_the_time_of_scoring_a_recording_is_explained_as_such():
    timings = [{"update": 1, "score": 90.0, "collect": 0.1, "learn": 2.0}]
    config = kept_logs.config("reviews_dpo")
    log = Log([{"update": 1}], timings, config, {}, "recorded episodes", [], lambda key, values: 1.0)
    finding = one_phase(log)
    assert "the whole recording once" in finding.cause
    assert "training.updates = 18: more" in finding.setting
    assert "algorithm.beta" not in finding.setting, "DPO needs its reference"


def speaks(rule, curves, recipe=GRPO, player="policy"):
    """How many of 200 logs with these curves, functions of random draws, a rule names."""
    named = 0
    for seed in range(200):
        draws = random.Random(seed)
        columns = [(key, make(draws)) for key, make in curves.items()]
        lines = [{"update": i + 1, **{key: values[i] for key, values in columns}} for i in range(UPDATES)]
        log = Log(lines, [], kept_logs.config(recipe), {}, player, [], lambda key, values: float("inf"))
        named += rule(log) is not None
    return named


def rising(noise):
    return lambda draws: [0.2 + 0.4 * i / (UPDATES - 1) + draws.gauss(0, noise) for i in range(UPDATES)]


# each beside a return that rises; a value that keeps half of its last deviation never falls
WANDERING = {
    "rewards_apart": (rewards_apart, {"rollout/weighted/b": lambda draws: wandering(0.2, 0.1, 0.5, draws)}),
    "entropy_collapse": (
        entropy_collapse,
        {
            "policy/entropy": lambda draws: [2 * 0.7**i for i in range(UPDATES)],
            "rollout/return": lambda draws: [0.1] * 6 + wandering(0.6, 0.05, 0.5, draws, UPDATES - 6),
        },
    ),
    "undertrained_clone": (
        undertrained_clone,
        {"supervised/loss": lambda draws: wandering(2.0, 0.3, 0.5, draws)},
    ),
}


@pytest.mark.parametrize("name", WANDERING)
def test_noise_that_lasts_for_some_updates_is_no_fall(name):
    rule, curves = WANDERING[name]
    both = {"rollout/return": rising(0.01), "rollout/weighted/a": rising(0.01), **curves}
    imitates = name == "undertrained_clone"
    named = speaks(rule, both, CLONE if imitates else GRPO, "teacher wordle/half" if imitates else "policy")
    assert named <= 10, "5% of the runs"


def test_a_fall_in_noise_is_seen():
    def falling(draws):
        return [0.8 - value for value in rising(0.05)(draws)]

    both = {"rollout/return": rising(0.01), "rollout/weighted/a": rising(0.01), "rollout/weighted/b": falling}
    assert speaks(rewards_apart, both) >= 180
