"""`training.update_share` and `training.most_episodes`: a run that is the beginning of a larger one."""

import pytest

from helpers.training.small_runs import recipe_of
from loquent.errors import BadSetting
from loquent.training import recipes
from loquent.training.recipes.sections import TrainingSettings
from loquent.training.train import train


@pytest.mark.parametrize(
    ("updates", "share", "last"), [(100, 0.07, 7), (50, 0.01, 1), (3, 0.5, 2), (9, 1.0, 9)]
)
def test_a_share_ends_with_a_whole_update(updates, share, last):
    settings = TrainingSettings(updates=updates, update_share=share, evaluate_every=1)
    assert (settings.last_update, settings.evaluations) == (last, last)
    assert [settings.is_over(made, 0) for made in (last - 1, last)] == [False, True]


def test_a_number_of_episodes_ends_a_run_and_a_share_takes_a_part_of_it():
    settings = TrainingSettings(most_episodes=1000)
    assert [settings.is_over(1, games) for games in (999, 1000)] == [False, True]
    assert TrainingSettings(most_episodes=1000, update_share=0.01).is_over(0, 10)
    assert not TrainingSettings().is_over(1, 10**9)


def test_a_share_of_0_is_refused():
    with pytest.raises(BadSetting, match="update_share must be above 0 and at most 1, got 0"):
        TrainingSettings(update_share=0.0)


def test_the_first_updates_are_those_of_the_whole_run_and_a_run_of_its_own(tmp_path):
    more = ("training.updates=4", "algorithm.schedule=linear", "training.evaluate_every=0")
    whole = recipe_of("supervised", None, *more)
    part = whole.replace("training.update_share=0.5")
    runs = [train(each, tmp_path / str(i), progress=False) for i, each in enumerate((whole, part))]
    assert [len(run.metrics) for run in runs] == [4, 2]
    assert runs[1].metrics == runs[0].metrics[:2]
    assert runs[0].fingerprint != runs[1].fingerprint
    assert (
        train(part.replace("training.most_episodes=7"), tmp_path / "few", progress=False).metrics
        == (
            runs[1].metrics[:1]  # 6 episodes in an update, half of 7 is 4
        )
    )


def test_limits_that_are_not_set_are_no_part_of_a_run_s_identity():
    recipe = recipes.load("tagging_ppo")
    assert not {"update_share", "most_episodes"} & recipe.identity["training"].keys()
    assert recipe.replace("training.update_share=0.5").identity["training"]["update_share"] == 0.5
