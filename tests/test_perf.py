"""The benchmarks run and say what they should; what they measure is no matter here."""

import copy
import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium import spaces

from loquent.pretrained.pytorch.torch_private import missing_compiler

PERF = Path(__file__).resolve().parents[1] / "perf"


@pytest.fixture(scope="module")
def perf():
    """A function that imports a module of perf/; they are gone afterwards."""
    before, threads = set(sys.modules), torch.get_num_threads()
    sys.path.insert(0, str(PERF))
    yield importlib.import_module
    sys.path.remove(str(PERF))
    for name in set(sys.modules) - before:
        if str(PERF) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    torch.set_num_threads(threads)


NAMES = [
    "decode-equal",
    "decode-compiled",
    "decode-long",
    "decode-top-k",
    "decode-own-forward",
    "decode-llama",
    "decode-ragged",
    "ppo-old-way-24",
    "ppo-old-way-48",
    "ppo-old-way-96",
    "ppo-modern-loop",
    "ppo-t5-modern-loop",
    "full-gpt2-ppo",
    "full-gpt2-nlpo",
    "full-t5-ppo",
    "full-t5-nlpo",
    "ilql-acting",
    "ilql-acting-clipped",
    "ilql-acting-by-row",
    "ilql-training",
    "ilql-training-released",
    "ilql-training-memory",
    "steps-tagging",
    "steps-labels",
    "steps-choices",
    "memory-vocabulary",
    "wordle-act",
    "wordle-optimal",
    "reading-vector",
    "reading-vector-short",
    "reading-act",
    "asking-act",
    "asking-act-running",
    "asking-update",
    "asking-words",
    "asking-words-update",
    "blocks-tower",
    "blocks-scatter",
    "blocks-tower-image",
    "blocks-scatter-image",
    "blocks-tower-vector",
    "blocks-scatter-vector",
]
METRICS = [
    "meteor",
    "cider",
    "parent",
    "rouge",
    "rouge_l_max",
    "bleu",
    "sacrebleu",
    "chrf",
    "ter",
    "token_f1",
    "exact_match",
    "bleu_totto",
    "self_bleu",
    "token_labels",
    "span_f1",
    "label_sets",
    "bert_score",
]


@pytest.mark.sweep(
    "decode-equal",
    "ppo-old-way-24",
    "full-gpt2-nlpo",
    "ilql-training",
    "steps-tagging",
    "wordle-act",
    "asking-update",
    "blocks-tower",
)
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs(perf, name, capsys):
    if "memory" in name and not Path("/proc/self/clear_refs").exists():
        pytest.skip("peak memory is read from Linux's /proc")
    if name.startswith("steps-"):
        pytest.importorskip("loquent.data.features")
    if name == "decode-compiled" and (missing := missing_compiler(torch.device("cpu"))):
        pytest.skip(f"torch compiles with {missing}, which is missing")
    assert perf("run").main([name, "--quick"]) == 0
    printed = capsys.readouterr().out.splitlines()
    found = json.loads(printed[-1])
    assert found["name"] == name
    assert any("reached" in line for line in printed)  # or NOT reached: it is printed all the same
    assert 0 < found["low"] <= found["ratio"] <= found["high"] < math.inf
    assert found.get("tokens_per_second", found.get("steps_per_second")) > 0
    assert min(found["matrix_gflops"], found["memory_gb_per_s"]) > 0
    assert found["threads"] == 1
    assert "equal" in found["checked"] or "identical" in found["checked"]


@pytest.mark.sweep("meteor", "rouge", "sacrebleu", "token_f1", "self_bleu", "token_labels")
@pytest.mark.parametrize("name", METRICS)
def test_a_benchmark_of_a_metric_runs(perf, name, capsys):
    """Its reference may not be installed; both sides must score alike."""
    try:
        one = perf("metrics").COMPARISONS[name]
        if not one.encoder:
            one.reference()
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name}, the reference of metric-{name}, is not installed")
    assert perf("run").main([f"metric-{name}", "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["low"] <= found["ratio"] <= found["high"] < math.inf
    assert found["checked"].startswith("1 of 1 " if name == "self_bleu" else "12 of 12 ")
    assert found["pairs_per_second"] > 0


def test_a_metric_that_scores_otherwise_is_caught(perf):
    metrics = perf("metrics")
    texts = metrics.made(5, metrics.COMPARISONS["token_f1"], 0)
    loop = metrics.COMPARISONS["token_f1"].reference()
    assert "5 of 5" in metrics.agreement("token_f1", lambda given: loop(*given), loop, texts, 1e-6)
    with pytest.raises(AssertionError, match="token_f1 differs by"):
        metrics.agreement("token_f1", lambda given: [one + 1e-5 for one in loop(*given)], loop, texts, 1e-6)


def test_each_round_has_texts_of_its_own(perf):
    metrics = perf("metrics")
    one = metrics.COMPARISONS["parent"]
    first, again, other = (metrics.made(20, one, which) for which in (0, 0, 1))
    assert first == again
    assert not set(first.said) & set(other.said)
    assert not {text for own in first.wanted for text in own} & {text for own in other.wanted for text in own}
    assert all(len(own) == 2 for own in first.wanted)
    assert not {row.fields for row in first.rows} & {row.fields for row in other.rows}


def test_without_its_reference_a_metrics_benchmark_says_so(perf, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pycocoevalcap", None)
    monkeypatch.setitem(sys.modules, "pycocoevalcap.cider", None)
    monkeypatch.setitem(sys.modules, "pycocoevalcap.cider.cider", None)
    with pytest.raises(SystemExit):
        perf("run").main(["metric-cider", "--quick"])
    assert "metric-cider needs pycocoevalcap" in capsys.readouterr().err


def test_all_benchmarks_are_tried_and_listed(perf):
    run = perf("run")
    assert {*NAMES, *(f"metric-{name}" for name in METRICS), "ppo-trl", "ppo-trl-head", "grpo-trl"} == set(
        run.BENCHMARKS
    )
    page = (PERF.parent / "docs" / "speed.md").read_text()
    assert all(f"`{name}`" in page for name in run.BENCHMARKS)
    for path in sorted((PERF / "references").glob("*.py")):
        if path.name not in ("__init__.py", "learner.py"):
            assert "§" in path.read_text().split('"""')[1], (
                f"{path.name} does not say which paragraph it follows"
            )


def test_without_trl_the_benchmark_says_how_to_get_it(perf, monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(SystemExit, match=r"TRL 1.12.0 is missing"):
        perf("run").main(["ppo-trl", "--quick"])


def test_without_trl_116_the_benchmark_says_how_to_get_it(perf, monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(SystemExit, match=r"TRL 1.16.0 is missing"):
        perf("run").main(["grpo-trl", "--quick"])


def test_our_side_of_grpo_plays_groups_of_eight(perf):
    ours = perf("comparing_answers").Ours("quick", 8, 6, 2)
    batch = ours.batch()
    assert batch.group.bincount().tolist() == [8, 8]
    assert int(batch.is_action.sum()) == 16 * 6
    ours.update()


def test_the_json_alone(perf, capsys):
    perf("run").main(["decode-equal", "--quick", "--json"])
    assert json.loads(capsys.readouterr().out)["name"] == "decode-equal"


@pytest.mark.sweep("decode-equal", "ppo-modern-loop")
@pytest.mark.parametrize(
    "name",
    [
        "decode-equal",
        "decode-own-forward",
        "decode-llama",
        "decode-ragged",
        "ppo-old-way-24",
        "ppo-modern-loop",
    ],
)
def test_half_precision_is_honoured(perf, name, monkeypatch, capsys):
    """Both sides: decoding has its weights in bfloat16, learning float32 weights and products in bfloat16."""
    workloads, learning, learner = perf("workloads"), perf("learning"), perf("references.learner").Learner
    made, inside = [], {"ours": set(), "theirs": set()}
    build, update, step = workloads.network, learning.Ours.update, learner.step
    monkeypatch.setattr(workloads, "network", lambda *a, **k: made.append(build(*a, **k)) or made[-1])
    monkeypatch.setattr(
        learning.Ours,
        "update",
        lambda self: (inside["ours"].add(torch.is_autocast_enabled("cpu")), update(self)),
    )
    monkeypatch.setattr(
        learner,
        "step",
        lambda self, loss: (inside["theirs"].add(torch.is_autocast_enabled("cpu")), step(self, loss)),
    )
    assert perf("run").main([name, "--quick", "--json", "--device", "cpu", "--dtype", "bfloat16"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["dtype"], found["device"]) == ("bfloat16", "cpu")
    weights = {next(one.parameters()).dtype for one in made}
    assert weights == {torch.bfloat16 if name.startswith("decode") else torch.float32}
    if name.startswith("ppo"):
        assert inside == {"ours": {True}, "theirs": {True}}
    made.clear(), inside.update(ours=set(), theirs=set())
    perf("run").main([name, "--quick", "--json"])
    assert json.loads(capsys.readouterr().out)["dtype"] == "float32"
    assert {next(one.parameters()).dtype for one in made} == {torch.float32}
    assert True not in inside["ours"] | inside["theirs"]


def test_what_is_asked_for_and_cannot_be_is_refused(perf, capsys, monkeypatch):
    from loquent.errors import BadSetting

    with pytest.raises(SystemExit):
        perf("run").main(["memory-vocabulary", "--quick", "--dtype", "bfloat16"])
    assert "neither --device nor --dtype" in capsys.readouterr().err
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadSetting, match="no CUDA on this machine"):
        perf("run").main(["decode-equal", "--quick", "--device", "cuda"])


def test_a_gpu_is_waited_for(perf, monkeypatch):
    order = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *a: order.append("wait"))
    perf("measuring").timed(lambda: order.append("work"))
    assert order == ["wait", "work", "wait"]


def test_what_other_programs_print_is_not_in_the_result(perf, monkeypatch, capsys):
    run, decoding = perf("run"), perf("decoding")
    quiet = decoding.decoding

    def noisy(*arguments, **options):
        print("===training policy===")
        return quiet(*arguments, **options)

    monkeypatch.setattr(decoding, "decoding", noisy)
    run.main(["decode-equal", "--quick", "--json"])
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1
    assert "training policy" in said.err


@pytest.mark.parametrize("name", ["ppo-old-way-24", "ppo-modern-loop"])
def test_learning_alternates_after_a_warm_up(perf, name, monkeypatch, capsys):
    """Ours and theirs: a round that is not counted, then the side that goes first changes."""
    learning, order = perf("learning"), []
    update = learning.Ours.update
    monkeypatch.setattr(learning.Ours, "update", lambda self: (order.append("ours"), update(self)))
    for kind in (learning.OldWay, learning.ModernLoop):
        collect = kind.collect

        def collected(self, prompts, reward, answers=None, collect=collect):
            order.extend(["theirs"] * (answers is None))
            return collect(self, prompts, reward, answers)

        monkeypatch.setattr(kind, "collect", collected)
    perf("run").main([name, "--quick", "--json", "--rounds", "2"])
    assert len(json.loads(capsys.readouterr().out)["rounds"]) == 2
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]


def test_against_trl_alternates_too(perf, monkeypatch):
    """With a stand-in for TRL's trainer, which is no dependency: only who is timed when is looked at."""
    learning, module, order = perf("learning"), perf("references.trl_ppo"), []

    class Trainer:
        def __init__(self, *arguments):
            pass

        def check(self, ours):
            return "equal"

        def iteration(self):
            order.append("theirs")

    monkeypatch.setattr(module, "TrlPpo", Trainer)
    update = learning.Ours.update
    monkeypatch.setattr(learning.Ours, "update", lambda self: (order.append("ours"), update(self)))
    learning.against_trl(2, size="quick")
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]


def test_a_reference_that_computes_something_else_is_caught(perf):
    learning, settings, modern = (
        perf("learning"),
        perf("references.learner").Settings,
        perf("references.modern_loop").ModernLoop,
    )
    ours, other = learning._small("quick", 8, settings(new=6), modern)
    assert "equal" in learning.agreement(ours, other, 8)
    other.settings = settings(new=6, gamma=0.9)
    with pytest.raises(AssertionError, match="advantage differs"):
        learning.agreement(ours, other, 8)
    ours, other = learning._small("quick", 8, settings(new=6), modern)
    other.settings = settings(new=6, value_coefficient=0.6)
    with pytest.raises(AssertionError, match="gradient differs"):
        learning.agreement(ours, other, 8)


@pytest.mark.parametrize(("kind", "shape"), [("ModernLoop", "gpt2"), ("ModernPairLoop", "t5")])
def test_a_reference_computes_the_entropy_in_learning_alone(perf, kind, shape):
    learning, settings = perf("learning"), perf("references.learner").Settings
    _, other = learning._small("quick", 8, settings(new=6), getattr(learning, kind), shape=shape)
    rollout = other.collect(torch.tensor(perf("workloads").prompts("quick", 2, 8)), learning.reward)
    assert not hasattr(other, "entropy")
    other.minibatch(rollout, torch.arange(2))
    assert 0 < float(other.entropy) < math.log(64) + 1e-6


def test_the_reference_of_memory_makes_whole_logits(perf, monkeypatch):
    memory, rows = perf("memory"), []
    language = perf("workloads").language("quick")
    decoding = perf("loquent.models.decode.loop").Decoding(max_new_tokens=6)
    parts = {
        "format": perf("workloads").Endless(language.tokenizer),
        "key": perf("loquent.core.seeding").Key(0),
    }
    parts |= {"decoding": decoding, "evaluation": decoding}
    model = memory.Actor.build(language, critic="head", reference="none", **parts)
    batch, own = memory.batch("quick", 2, 8, 6), memory.whole_scores
    monkeypatch.setattr(memory, "whole_scores", lambda *given: rows.append(len(given[1])) or own(*given))
    whole, ours = (
        kind(memory.Config(beta=0.0), model).loss(model, batch) for kind in (memory.Whole, memory.PPO)
    )
    assert rows == [2]
    for name in ("total", "policy/entropy"):
        assert torch.allclose(whole[name], ours[name], atol=1e-5)


def test_versions_compare_what_their_workloads_compute(perf, monkeypatch):
    versions, work = perf("versions"), perf("version_work")
    small = {"rows": 4, "wide": 8}
    made = [
        work.decoding("quick", new=3, **small),
        work.learning("quick", episodes=4, wide=8, new=3),
        work.supervised("gpt2", size="quick", **small),
        work.supervised("llama", size="quick", **small),
    ]
    for run in made:
        first = json.loads(json.dumps(run()))
        assert versions.compared(first, first) == 0.0
        for name in {"draws", "numbers", "gradient"} & {key for key in first if first[key]}:
            other = copy.deepcopy(first)
            if name == "draws":
                other[name][0][-1] += 1
            else:
                place = max(range(len(first[name])), key=lambda i: abs(first[name][i]))
                other[name][place] = other[name][place] * 1.001 + 1e-4 * (name == "numbers")
            with pytest.raises(AssertionError, match="differ"):
                versions.compared(other, first)
    assert ["gradient" in run() for run in made] == [False, True, True, True]
    with pytest.raises(AssertionError, match="no numbers"):
        versions.compared({"draws": [], "numbers": []}, {"draws": [], "numbers": []})


@pytest.mark.slow
def test_versions_of_one_checkout_are_equal(perf, capsys):
    """Two processes with the same checkout, the workload of a small model."""
    arguments = ["dropout-quick", "--before", str(PERF.parent), "--rounds", "1"]
    assert perf("versions").main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["largest_difference"] == 0.0
    assert found["ratio_of_processor_time"] > 0


def test_other_greedy_tokens_are_caught(perf):
    decoding, module = perf("decoding"), perf("workloads").network("quick")
    rows = [[1, 2, 3], [4, 5, 6]]
    assert "identical to generate's in 2 of 2" in decoding.agreement(
        module, [[7], [8]], rows, copy.deepcopy(rows)
    )
    with torch.no_grad():
        order = module(torch.tensor([[7]])).logits[0, -1].argsort(descending=True).tolist()
    with pytest.raises(AssertionError, match="token 0"):
        decoding.agreement(module, [[7]], [[order[0]]], [[order[-1]]])


def test_other_greedy_answers_of_a_perturbed_policy_are_caught(perf):
    acting, module = perf("acting"), perf("workloads").network("quick")
    perturbation = perf("loquent.models.values.perturb").Perturbation(acting.values_of(module), 4.0)
    other, prompts = acting.reference_of(module, perturbation), [[7], [8, 9]]
    said = other.batched(prompts, 3, greedy=True)
    assert said == other.by_row(prompts, 3, greedy=True)
    assert "identical in 2 of 2" in acting.agreement(other, prompts, said, copy.deepcopy(said))
    worst = [[(token + 1) % 64 for token in row] for row in said]
    with pytest.raises(AssertionError, match="token 0"):
        acting.agreement(other, prompts, said, worst)
    unperturbed = acting.reference_of(
        module, perf("loquent.models.values.perturb").Perturbation(perturbation.values, 0.0)
    )
    assert unperturbed.by_row(prompts, 3, greedy=True) != said  # the perturbation is in it


def test_other_steps_are_caught(perf):
    import gymnasium

    stepping, make = (
        perf("stepping"),
        lambda limit: gymnasium.make("loquent/MultipleChoice-v0", view=VIEW, limit=limit),
    )
    assert "equal" in stepping.agreement(make(50), make(50), [0, 1] * 10)
    with pytest.raises(AssertionError, match="differ"):
        stepping.agreement(make(50), make(20), [0, 1] * 10)


def place(observation):
    return np.array([observation.fields["place"]], dtype=np.int64)


VIEW = (spaces.Box(0, 26, (1,), np.int64), place)


def test_the_interval_by_hand(perf):
    interval = perf("measuring").interval
    # the median of n lies between the k-th smallest and the k-th largest with probability 1 - 2 sum_{i<k}
    # C(n, i) / 2^n
    assert interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) == (1.0, 6.0, 1 - 2 / 64)
    assert interval([float(i) for i in range(9)]) == (1.0, 7.0, 1 - 20 / 512)
    assert interval([float(i) for i in range(9)], confidence=0.97) == (0.0, 8.0, 1 - 2 / 512)
    assert interval([5.0]) == (5.0, 5.0, 0.0)


def test_sides_change_who_goes_first(perf):
    order = []
    sides = perf("measuring").alternate(lambda: order.append("ours"), lambda: order.append("reference"), 2)
    assert order == ["ours", "reference", "reference", "ours", "ours", "reference"]
    assert len(sides.ratios()) == len(sides.ours) == 2


def test_flags_that_say_something_else_are_caught(perf, monkeypatch):
    wordle, flags = perf("wordle"), perf("references.letter_flags")
    task = wordle.made_task(wordle.made_words(60))
    recorded = wordle.record(task, 5)
    assert "equal in all" in wordle.agreement(task, recorded)
    monkeypatch.setattr(flags, "colours", lambda state, guess: "bbbbb")
    with pytest.raises(AssertionError, match="marks differ"):
        wordle.agreement(task, recorded)
    assert "equal" in wordle.same_information(task.lexicon, ["crane"])
    monkeypatch.setattr(flags, "information", lambda words, guess: 1.0)
    with pytest.raises(AssertionError, match="crane tells"):
        wordle.same_information(task.lexicon, ["crane"])


def test_made_words_hold_the_built_in_ones(perf):
    words = perf("wordle").made_words(900)
    assert len(set(words)) == 900
    assert set(words) > set(perf("wordle").read("builtin"))
    assert perf("wordle").made_words(900) == words
