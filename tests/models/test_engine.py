"""Engines: the law that what they draw and score is the learner's, what they refuse, and a second engine that
trains by its name.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from helpers.models.plain_engine import PlainLoop
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.policy_gradient.on_policy import age_of
from loquent.bench.conformance.engines import problems
from loquent.core.agent import Question
from loquent.core.episode import TASK, Episode, Tokens, Turn
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import BadModel, BadSetting, BrokenEngine, EngineCannot, NotTrusted
from loquent.models.actor import Actor
from loquent.models.decode.engine import LoopEngine
from loquent.models.decode.transfer import engine_for, engine_of, transfer
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import Ask, Capabilities, Nucleus, draw, refuse
from loquent.models.format.names import of_model
from loquent.models.tokens.batch import token_batch
from loquent.models.tokens.trie import Trie
from loquent.pretrained import build
from loquent.training import recipes
from loquent.training.train import train

PLAIN = PlainLoop.__module__
AFTER = "after load: "
RECORDED = "the recorded log-probabilities differ from the learner's by"
SCORES = "its scores of its own draws differ from the learner's by"
SETS = "the recorded supports are not those of the learner's logits"


def language(shape="gpt2", dtype="float64", sharp=6):
    """A small model whose opinions are sharp."""
    texts = ["one two three four five", "a b c d e"] * 20
    sizes = {"vocabulary": 280, "layers": 1, "width": 32, "heads": 2, "context": 64}
    model = build(texts, **sizes, key=Key(0), device="cpu", dtype=dtype, shape=shape)
    with torch.no_grad():
        for parameter in model.module.parameters():
            if parameter.ndim > 1:
                parameter.mul_(sharp)
    return model


def parts(*arguments, **options):
    model = language(*arguments, **options)
    return model.module, of_model("plain", model.module, model.tokenizer)


@pytest.mark.sweep(
    "ours-gpt2-float64", "ours-t5-float32", "ours-gpt2-bfloat16", f"{PLAIN}:PlainLoop-llama-float32"
)
@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("ours", "gpt2", "float64"),
        ("ours", "llama", "float32"),
        ("ours", "t5", "float32"),
        ("ours", "gpt2", "bfloat16"),
        (f"{PLAIN}:PlainLoop", "gpt2", "float64"),
        (f"{PLAIN}:PlainLoop", "llama", "float32"),
    ],
)
def test_the_law_holds(name, shape, dtype):
    assert problems(name, *parts(shape, dtype)) == []


@pytest.mark.parametrize(
    ("name", "case", "broken"),
    [
        ("Stale", "sampled", [AFTER + RECORDED, AFTER + SCORES]),
        ("Untempered", "temperature 0.7", [RECORDED]),
        ("Unsupported", "top-p", [RECORDED, SETS]),
        ("Wide", "top-k", [SETS]),
        ("Unkeyed", "sampled", ["the same keys give other draws in another order"]),
        ("Unversioned", "sampled", [AFTER + "tokens have the version 0, and the engine 1"]),
        ("Ended", "sampled", ["stopped by 'end'"]),
    ],
)
def test_a_twin_breaks_the_law(name, case, broken):
    found = problems(f"{PLAIN}:{name}", *parts(), [case])
    for part in broken:
        assert any(part in line.replace(f"{case}: ", "") for line in found), found
    assert all(AFTER in line for line in found) == all(AFTER in part for part in broken)


@pytest.mark.parametrize(
    ("ask", "capability", "setting"),
    [
        ({"decoding": Decoding(top_k=5)}, "supports", "decoding.top_k = 5"),
        ({"decoding": Decoding(min_new_tokens=2)}, "supports", "decoding.min_new_tokens = 2"),
        ({"decoding": Decoding(method="beam")}, "beams", "decoding.method = 'beam'"),
        ({"decoding": Decoding(compile=True)}, "compile", "decoding.compile = true"),
        ({"nucleus": Nucleus(top_p=0.5)}, "nucleus", "algorithm.top_p"),
        ({"legal": Trie([[1]])}, "legal", "decoding.legal"),
        ({"stop": ("\n",)}, "stop", r"'\n'"),
        ({"ids": (-3, 2)}, "pairs", "model.path"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_by_name_before_it_draws(ask, capability, setting):
    engine = engine_of(f"{PLAIN}:Nothing", *parts())
    engine.draw = None  # is never called
    asks = [Ask((1,), Key(0), Decoding()), Ask(**{"ids": (1,), "key": Key(0), "decoding": Decoding(), **ask})]
    with pytest.raises(EngineCannot) as error:
        draw(engine, asks)
    assert f"the engine plain loop has no {capability!r}" in str(error.value)
    assert setting in str(error.value)
    engine.can = replace(engine.can, **{capability: True})
    refuse(engine, asks[1].wants)
    refuse(LoopEngine(*parts()), asks[1].wants)


def test_top_k_of_greedy_decoding_needs_nothing():
    assert Ask((1,), Key(0), Decoding(method="greedy", top_k=5, top_p=0.5)).wants == {}
    assert [name for name, able in vars(LoopEngine.can).items() if not able] == ["kept_states"]


def test_an_agent_is_refused_when_it_is_made():
    module, format = parts()
    with pytest.raises(EngineCannot, match="nucleus"):
        LanguageModelAgent(module, format, Decoding(engine=f"{PLAIN}:PlainLoop"), Nucleus(top_p=0.5))


def test_each_request_is_answered_once():
    engine = engine_of(f"{PLAIN}:Forgetful", *parts())
    with pytest.raises(
        BrokenEngine, match=r"plain loop gave 1 answers to 2 requests, with the numbers \[0\]"
    ):
        draw(engine, [Ask((1,), Key(i), Decoding(max_new_tokens=2)) for i in range(2)])


@pytest.mark.parametrize(
    ("name", "count", "reason"), [("Empty", 0, "end"), ("Long", 9, ""), ("Odd", "", "abort")]
)
def test_an_answer_that_no_policy_draws_is_refused(name, count, reason):
    engine = engine_of(f"{PLAIN}:{name}", *parts())
    with pytest.raises(
        BrokenEngine, match=rf"plain loop gave an answer of {count}.*stopped by '{reason}.*1 to 4"
    ):
        draw(engine, [Ask((1,), Key(0), Decoding(max_new_tokens=4, min_new_tokens=4))])


def test_requests_with_different_settings_are_drawn_as_if_alone():
    engine = LoopEngine(*parts())
    kinds = [Decoding(max_new_tokens=5, **how) for how in ({}, {"top_k": 3}, {"method": "greedy"})]
    asks = [Ask((1 + i,), Key(i), kinds[i % 3], nucleus=[None, Nucleus(top_p=0.5)][i // 6]) for i in range(9)]
    for ask, together in zip(asks, draw(engine, asks)):
        alone = draw(engine, [ask])[0].tokens
        assert together.tokens.ids.tolist() == alone.ids.tolist()
        assert together.tokens.drawn_logprob == pytest.approx(alone.drawn_logprob, abs=1e-12)


def test_agents_of_both_engines_say_the_same():
    module, format = parts()
    questions = [
        Question(str(i), (Turn(TASK, text, to="agent"),), Observation(text, stop=("e", "tw")), Key(i))
        for i, text in enumerate(("a b", "one two three", "c"))
    ]
    texts = []
    for name in ("ours", f"{PLAIN}:PlainLoop"):
        agent = LanguageModelAgent(module, format, Decoding(max_new_tokens=9, top_p=0.9, engine=name))
        assert ("drawn by" in agent.decoding_text) == (name != "ours")
        texts.append([(answer.text, answer.stopped) for answer in agent.answer(questions)])
    assert texts[0] == texts[1]


def weights_of(module):
    return {name: tensor.clone() + 1 for name, tensor in module.state_dict().items()}


@pytest.mark.parametrize("as_folder", [False, True])
def test_weights_are_loaded_by_name_or_from_a_folder(tmp_path, as_folder):
    engine = LoopEngine(*parts())
    new = weights_of(engine.module)
    tied = "lm_head.weight"  # a file has a tied tensor once
    weights = {name: tensor for name, tensor in new.items() if name != tied}
    if as_folder:
        save_file(weights, tmp_path / "model.safetensors")
        weights = tmp_path
    engine.load(weights, 7)
    assert engine.version == 7
    assert all(torch.equal(tensor, new[name]) for name, tensor in engine.module.state_dict().items())
    assert {drawn.tokens.version for drawn in draw(engine, [Ask((1,), Key(0), Decoding())])} == {7}


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        (lambda new: {**new, "extra": torch.zeros(1)}, "extra is unknown"),
        (lambda new: {k: v for k, v in new.items() if "ln_f" not in k}, "ln_f.weight is missing"),
        (
            lambda new: {**new, "transformer.wpe.weight": torch.zeros(2, 32, dtype=torch.float64)},
            r"wpe.weight is \(2, 32\) of float64 and must be \(64, 32\) of float64",
        ),
        (
            lambda new: {k: v.float() for k, v in new.items()},
            "of float32 and must be .* of float64.* and [0-9]+ more",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_change_nothing(weights, problem):
    engine = LoopEngine(*parts())
    before = {name: tensor.clone() for name, tensor in engine.module.state_dict().items()}
    with pytest.raises(BadModel, match=problem):
        engine.load(weights(weights_of(engine.module)), 1)
    assert engine.version == 0
    assert all(torch.equal(tensor, before[name]) for name, tensor in engine.module.state_dict().items())


def test_a_folder_without_readable_weights_is_refused(tmp_path):
    engine = LoopEngine(*parts())
    with pytest.raises(BadModel, match="has no safetensors file"):
        engine.load(tmp_path, 1)
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(BadModel, match=r"model.safetensors cannot be read"):
        engine.load(tmp_path, 1)


def test_an_actors_engine_has_its_newest_weights_and_is_closed_with_it(monkeypatch):
    model = language()
    closed = []
    monkeypatch.setattr(PlainLoop, "loads", [])
    monkeypatch.setattr(PlainLoop, "close", lambda self: closed.append(self.name))
    decoding = Decoding(engine=f"{PLAIN}:PlainLoop")
    actor = Actor.build(
        model, critic="none", reference="none", decoding=decoding, evaluation=None, key=Key(0)
    )
    engine = engine_for(actor, decoding, 0)
    assert engine_for(actor, None, 0).module is actor.policy
    own, learned = (module.transformer.ln_f.weight for module in (engine.module, actor.policy))
    with torch.no_grad():
        learned.mul_(2)

    assert not torch.equal(own, learned)
    assert engine_for(actor, decoding, 0) is engine
    assert torch.equal(own, learned)  # although nobody counts
    engine_for(actor, decoding, 0)
    assert PlainLoop.loads == [0, 0]
    engine_for(actor, decoding, 1)
    actor.load_state_dict({name: tensor * 0.5 for name, tensor in actor.state_dict().items()})
    assert engine_for(actor, decoding, 1).version == 1  # for example of another checkpoint of this number
    assert torch.equal(own, learned)
    assert PlainLoop.loads == [0, 0, 1, 1]
    del actor
    assert closed == ["plain loop"]


def test_an_engine_without_exact_keys_says_that_a_resumed_run_differs():
    build = {"critic": "none", "reference": "none", "decoding": None, "evaluation": None, "key": Key(0)}
    actor = Actor.build(language(), **build)
    with pytest.warns(Remark, match=f"{PLAIN}:Nothing' has no exact keys: a resumed run"):
        engine_for(actor, Decoding(engine=f"{PLAIN}:Nothing"), 0)


def test_an_engine_is_probed_after_each_load():
    module, format = parts()
    with pytest.raises(BrokenEngine, match=r"differ from the policy's by nan nats after .*\(version 0\)"):
        engine_of(f"{PLAIN}:Nan", module, format)
    engine = engine_of(f"{PLAIN}:Stale", module, format)
    with torch.no_grad():
        module.transformer.ln_f.weight.mul_(2)
    with pytest.raises(BrokenEngine, match=r"differ from the policy's by .* nats after .*\(version 1\)"):
        transfer(engine, module, format, 1)


@pytest.mark.parametrize("name", ["json:dumps", f"{PLAIN}:np"])
def test_what_is_no_engine_is_refused(name):
    with pytest.raises(BadSetting, match=f"decoding.engine = '{name}' names .* must be 'ours', or"):
        engine_of(name, *parts())
    with pytest.raises(BadSetting, match="engine = 'vllm' must be 'ours' or of the form module:Name"):
        Decoding(engine="vllm")


def test_adapters_are_refused_by_an_engine_without_them():
    pytest.importorskip("peft")
    from loquent.pretrained import lora

    module, format = parts()
    lora.adapt(module, rank=2, alpha=4, dropout=0.0, targets=(), path="x", revision="", key=Key(0))
    with pytest.raises(EngineCannot, match=r"adapters.*model.lora.rank"):
        engine_of(f"{PLAIN}:PlainLoop", module, format)


def test_batches_have_the_version_and_a_newer_policy_logs_its_age():
    _, format = parts()
    drawn = [
        Tokens(np.array([5, 6]), np.zeros(2), policy, version=version)
        for version, policy in ((3, np.zeros(2)), (5, None))
    ]
    prompt = Turn(TASK, "a", to="agent")
    turns = [(prompt, Turn("agent", "", tokens=tokens)) for tokens in drawn]
    episodes = [Episode("t", str(i), "train", 0, 0, both, ended="end") for i, both in enumerate(turns)]
    batch = token_batch(episodes, format, Record(), max_length=20)
    assert batch.version[batch.is_action].tolist() == [3, 3, 5, 5]
    assert batch.policy_logprob is None  # the second engine does not know it
    assert age_of(batch, 5) == {"policy/age": 1.0}
    assert age_of(batch.take([1]), 5) == {}
    assert age_of(replace(batch, version=None), 5) == {}
    text = replace(episodes[0], turns=(prompt, Turn("agent", "b")))
    assert token_batch([text], format, Record(), max_length=20).version is None


SMALL = (
    "task.limit=60", "metrics={diversity: {}}", "rewards={lexicon: 1.0}", "decoding={max_new_tokens: 4}",
    "model={layers: 1, width: 16, heads: 2, context: 512, vocabulary: 260, tokenizer_texts: 50}",
    "training={updates: 2, episodes: 6, evaluate_every: 1, evaluate_episodes: 3, final_episodes: 3}",
)  # fmt: skip


def test_a_second_engine_trains_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(PlainLoop, "loads", [])
    steps = ("algorithm.epochs=2", "algorithm.schedule=constant", "algorithm.warmup=0")
    ours = recipes.load("reviews_ppo", [*SMALL, *steps], profile="smoke")
    engine = f"decoding.engine={PLAIN}:PlainLoop"  # of evaluations too
    theirs = recipes.load("reviews_ppo", [*SMALL, *steps, engine], profile="smoke")
    runs = {
        name: train(recipe, tmp_path / name, progress=False)
        for name, recipe in (("ours", ours), ("theirs", theirs))
    }
    assert PlainLoop.loads == [0, 1, 2]
    assert runs["theirs"].recipe.evaluation.engine == f"{PLAIN}:PlainLoop"
    for one, other in zip(runs["ours"].metrics, runs["theirs"].metrics):
        assert one.keys() == other.keys()
        assert {key: other[key] for key in one if key.startswith("rollout/")} == {
            key: one[key] for key in one if key.startswith("rollout/")
        }
        # log-probabilities near -5 in float32 are exact to 5e-7; a loss weighs them by advantages near 1
        assert other["policy/ratio_error"] < 2e-6
        assert other["policy/loss"] == pytest.approx(one["policy/loss"], abs=1e-6)
        assert abs(one["policy/loss"]) > 1e-3
    part = tmp_path / "part"
    train(theirs.replace("training.updates=1"), part, progress=False)
    assert train(theirs, part, progress=False, resume=True).fingerprint == runs["theirs"].fingerprint


def test_a_file_from_elsewhere_does_not_name_an_engine(tmp_path, monkeypatch):
    file = tmp_path / "mine.yaml"
    file.write_text(f"algorithm: {{kind: ppo}}\ndecoding: {{engine: '{PLAIN}:PlainLoop'}}\n")
    with pytest.raises(NotTrusted, match=rf"mine.yaml:2: engine = '{PLAIN}:PlainLoop' is Python code"):
        recipes.load(file)
    monkeypatch.chdir(tmp_path)
    assert recipes.load(Path("mine.yaml")).decoding.engine == f"{PLAIN}:PlainLoop"


def test_capabilities_are_only_booleans():
    assert set(map(type, vars(Capabilities()).values())) == {bool}
    assert not any(vars(Capabilities()).values())
