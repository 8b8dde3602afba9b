"""`decoding.legal`: a language model draws legal actions alone, and learns from their exact probabilities."""

import pytest
import torch

from loquent.errors import BadSetting
from loquent.models.score.tokens import action_scores
from loquent.training import recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

TINY = (
    "model={layers: 1, width: 16, heads: 2, context: 192, vocabulary: 300, critic: head}",
    "training={updates: 1, episodes: 8, evaluate_every: 0, final_episodes: 6, checkpoint_every: 0}",
    "decoding={max_new_tokens: 16, legal: true}",
    "metrics={}",
)


def recipe(task, *overrides):
    return recipes.load(
        "reviews_supervised", [f"task={task}", "algorithm={kind: ppo, minibatch: 8}", *TINY, *overrides]
    )


@pytest.mark.parametrize("task", ["{kind: wordle}", "{kind: multiple_choice}", "{kind: tagging}"])
def test_only_legal_actions_are_drawn_and_scored_as_drawn(task):
    trainer = Trainer(recipe(task, "training.final_episodes=4"))
    episodes = trainer.experience.collect()
    actions = trainer.task.actions
    texts = {actions.text(i, None) for i in range(len(actions))} if len(actions) <= 10_000 else None
    for episode in episodes:
        for turn in episode.answers():
            assert not turn.invalid
            assert turn.stopped == "end"
            assert texts is None or turn.text in texts
    batch = trainer.algorithm.prepare(trainer.experience.batch(episodes))
    with torch.no_grad():
        scores = action_scores(trainer.actor.policy, batch)
    drawn = batch.drawn_logprob[batch.is_action]
    assert (scores.drawn - drawn).abs().max() < 1e-5
    whole = scores.policy
    assert (whole < drawn - 0.1).any()  # among all tokens these are less probable


def test_a_run_keeps_the_law_in_evaluation_and_says_so(tmp_path):
    run = train(recipe("{kind: multiple_choice}"), tmp_path / "run", progress=False)
    assert run.metrics[0]["policy/ratio_error"] < 1e-5
    assert "legal actions only" in run.evaluation["decoding"]
    assert run.evaluation["values"].get("ended/no answer", 0.0) == 0.0


def test_a_task_of_texts_has_no_legal_actions():
    with pytest.raises(BadSetting, match=r"decoding.legal = true draws legal actions only, and generation"):
        Trainer(recipe("{kind: generation, source: builtin}"))
