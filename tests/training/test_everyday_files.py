"""Everyday files with everyday chat templates: they train, learn and export.

Plain transformers gives the same answers.
"""

import json
import math
from statistics import fmean

import pytest
import torch

from helpers.models import everyday, exports
from loquent.cli import main as cli
from loquent.core.metric import Context, Samples
from loquent.metrics.making import make
from loquent.training.run import load_run

SUPERVISED = """
algorithm: {kind: supervised, learning_rate: 1.0e-2}
training: {updates: 60, episodes: 16, evaluate_every: 60, evaluate_first: true}
"""
GRPO = """
rewards: {"lowercase:share": 1.0}
algorithm: {kind: grpo, learning_rate: 4.0e-3}
training: {updates: 20, episodes: 32, answers: 8}
"""
RECIPE = """
task: {{kind: generation, source: path, path: {file}}}
model: {{path: {model}, critic: none}}
decoding: {{max_new_tokens: 20}}
"""
LEARNERS = {"sft": SUPERVISED, "rl": GRPO, "prompts": GRPO, "questions": SUPERVISED, "pairs": SUPERVISED}
REWARD = '''
def share(answer):
    """The share of lowercase letters in an answer."""
    return sum(map(str.islower, answer)) / max(1, len(answer))
'''
TEMPLATES = ("chatml", "llama3", "qwen3")
EVERYDAY = [f"{kind} {template}" for kind in LEARNERS for template in TEMPLATES]
BEFORE = [f"questions {template}" for template in ("parts", "last", "channels")]  # something before an answer
ROUNDS = {"bfloat16": "model.dtype=bfloat16", "adapters": "model.lora.rank=8"}
ROUNDED = [f"sft {template} {name}" for template in TEMPLATES for name in ROUNDS]


@pytest.mark.sweep("sft qwen3", "prompts llama3")
@pytest.mark.parametrize("case", [*EVERYDAY, *BEFORE, *ROUNDED])
def test_a_file_trains_learns_exports_and_answers_in_plain_transformers(case, tmp_path, monkeypatch):
    kind, template, *rounds = case.split()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "lowercase.py").write_text(REWARD)
    places = {"file": everyday.write(kind, tmp_path / f"{kind}.jsonl").name,
              "model": everyday.model(template, tmp_path / "model").name}  # fmt: skip
    (tmp_path / "mine.yaml").write_text(RECIPE.format(**places) + LEARNERS[kind])
    greedy = ["evaluation.method=greedy", "training.final_split=train", "training.final_episodes=34"]
    greedy += ["training.evaluate_episodes=16"]
    assert cli.main(["train", "mine.yaml", *greedy, *(ROUNDS[name] for name in rounds), "--out", "run"]) == 0
    key = "rollout/return" if kind in ("rl", "prompts") else "supervised/held_out_loss"
    values = [line[key] for line in load_run("run").metrics if key in line]
    few = max(1, len(values) // 6)
    first, last = fmean(values[:few]), fmean(values[-few:])
    print(f"{case}: {key} {first:.3f} at first, {last:.3f} at last")
    if key == "rollout/return":  # 96 episodes at each end, so the standard error of the rise is about 0.02
        assert last > first + 0.15
    else:
        assert last < first * (0.7 if "adapters" in rounds else 0.1)
    assert cli.main(["export", "run", "exported"]) == 0
    names = exports.by_the_card(tmp_path / "exported")
    card = (tmp_path / "exported" / "README.md").read_text()
    assert ("The run computes in bfloat16" in card) == ("bfloat16" in rounds)
    answers = list(exports.compared(names, load_run("run").files.episodes))
    exports.check(answers, 1e-2 if rounds else 1e-4)
    least = 1 if key == "rollout/return" else 4  # a reward has its favourite answer
    assert len({own for own, *_ in answers}) >= least
    assert all(own for own, *_ in answers)


@pytest.mark.sweep("chatml")
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_file_of_pairs_trains_a_reward_model_with_the_same_scores_in_plain_transformers(template, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = everyday.model(template, tmp_path / "model")
    pairs, folder = everyday.write("pairs", tmp_path / "pairs.jsonl"), tmp_path / "rewards"
    settings = [f"path={model}", "learning_rate=3e-3", "epochs=3", "shared_texts=keep"]
    assert cli.main(["reward", str(pairs), *settings, "--out", str(folder)]) == 0
    card = json.loads((folder / "card.json").read_text())
    print(f"pairs {template}: loss {math.log(2)} at chance,", card["quality"]["loss"])
    assert card["quality"]["loss"] < math.log(2) / 4  # chance: log 2
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    questions, answers = zip(*everyday.PAIRS[:30], strict=True)
    samples = Samples(answers, prompts=questions)
    ours = make("preference_model", Context(), {"path": str(folder)})(samples).samples["preference_model"]
    with torch.no_grad():
        plain = [
            float(network(**tokenizer(f"{question} {answer}", return_tensors="pt")).logits) - card["mean"]
            for question, answer in zip(questions, answers, strict=True)
        ]
    assert plain == pytest.approx(ours, abs=1e-5)
    assert len({round(score, 3) for score in plain}) > 10
