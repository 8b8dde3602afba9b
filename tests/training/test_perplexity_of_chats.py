"""The metric `perplexity` reads references as the policy does, so it equals the held-out perplexity."""

import pytest

from helpers.models import everyday
from loquent.training import recipes
from loquent.training.evaluate import evaluate_by
from loquent.training.trainer import Trainer

RECIPE = """
task: {{kind: generation, source: path, path: {file}, instruction: {instruction}}}
model: {{path: {model}, critic: none, format: {format}}}
algorithm: {{kind: supervised, learning_rate: 1.0e-2}}
decoding: {{max_new_tokens: 20, max_prompt_tokens: {most}}}
metrics: {{perplexity: {{}}}}
training: {{updates: 8, episodes: 8, evaluate_every: 8, evaluate_split: train, evaluate_episodes: 12}}
"""
CASES = {
    "chatml": ("sft", "chatml", "auto", "Be brief.", 0),
    "thoughts": ("questions", "qwen3", "auto", "''", 0),
    "cut prompts": ("sft", "llama3", "auto", "''", 30),
}


def trainer(tmp_path, file, template, format, instruction, most):
    places = {"file": everyday.write(file, tmp_path / "rows.jsonl"),
              "model": everyday.model(template, tmp_path / "model")}  # fmt: skip
    (tmp_path / "mine.yaml").write_text(
        RECIPE.format(**places, format=format, instruction=instruction, most=most)
    )
    return Trainer(recipes.load(str(tmp_path / "mine.yaml")))


@pytest.mark.parametrize("case", CASES)
def test_the_metric_of_a_chat_is_the_held_out_perplexity_on_the_same_rows(case, tmp_path):
    run = trainer(tmp_path, *CASES[case])
    for _ in range(3):
        run.update()
    held_out = run.experience.held_out_loss()["supervised/held_out_perplexity"]
    evaluated = run.evaluate("train", 12).values["perplexity"]
    assert evaluated == pytest.approx(held_out, rel=1e-5)
    agent = run.algorithm.agent(run.actor, True)
    again = evaluate_by(run.recipe, run.task, agent, run.actor.language, split="train", episodes=12)
    assert again.values["perplexity"] == evaluated


def test_a_plain_model_reads_references_as_text_after_the_prompt(tmp_path):
    from loquent import pretrained

    run = trainer(tmp_path, "questions", "chatml", "plain", "Unread.", 0)
    rows = run.task.rows("train")[:12]
    losses = pretrained.nll(
        run.actor.language, [row["prompt"] for row in rows], [row["references"][0] for row in rows]
    )
    nats, tokens = map(sum, zip(*losses, strict=True))
    evaluated = run.evaluate("train", 12)
    assert evaluated.values["perplexity"] == pytest.approx(2.718281828459045 ** (nats / tokens), rel=1e-6)
