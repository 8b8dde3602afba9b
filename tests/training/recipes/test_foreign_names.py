"""Names of settings that users bring from other libraries: each gets the setting that does the same here."""

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from loquent.core import registry
from loquent.errors import BadSetting
from loquent.training import recipes
from loquent.training.recipes import foreign_names
from loquent.training.recipes.foreign_names import NAMES, SHARED

# TRL's own settings without a counterpart here: engines, telemetry of its log, and losses of its own
HERE = Path(__file__).resolve().parents[3]
ALONE = re.compile(
    r"vllm_(?!importance_sampling_(corr|mode|clip))|use_transformers_|transformers_continuous|log_|num_completions_to_print|cache_implementation|ds3_"
    r"|router_aux|vespo_|off_policy_mask|entropy_coef_|entropy_target|use_adaptive_entropy"
    r"|top_entropy_quantile|max_tool|multi_objective|cast_lm_head|chat_template_kwargs|pad_to_multiple"
    r"|shuffle_dataset|trust_remote_code|normalize_advantages|num_generations_eval|use_vllm$"
)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_on_the_right_side_is_one_of_a_learner(name):
    for setting in NAMES[name].settings:
        section = setting.partition(".")[0]
        assert section in {"algorithm", "rewards", *SHARED}
        assert any(foreign_names.fits(setting, learner) for learner in registry.names("algorithm")), setting


@pytest.mark.slow  # TRL takes long to be imported
def test_the_names_are_those_of_the_installed_libraries():
    trl = pytest.importorskip("trl", reason="TRL is not installed")
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    configs = [trl.GRPOConfig, trl.RLOOConfig, trl.SFTConfig]
    theirs = {field.name for config in configs for field in dataclasses.fields(config)}
    calls = [call for kind in (sb3.PPO, sb3.A2C, sb3.DQN) for call in (kind.__init__, kind.learn)]
    arguments = {name for call in calls for name in inspect.signature(call).parameters}
    of_vectors = {"n_envs"}  # of make_vec_env
    in_others = {"max_new_tokens", "reward_funcs"}  # of GRPOConfig.generation_kwargs, of GRPOTrainer
    for name, foreign in NAMES.items():
        if "TRL" in foreign.owner:
            assert name in theirs | in_others, name
        if "stable-baselines3" in foreign.owner:
            assert name in arguments | of_vectors, name
    new = {field.name for config in (trl.GRPOConfig, trl.RLOOConfig) for field in dataclasses.fields(config)}
    new -= {field.name for field in dataclasses.fields(inspect.getmro(trl.GRPOConfig)[2])}
    assert sorted(name for name in new - NAMES.keys() if not ALONE.match(name)) == []
    left = {"self", "policy", "env", "_init_setup_model", "callback", "log_interval", "tb_log_name"}
    left |= {"reset_num_timesteps", "progress_bar", "stats_window_size", "optimize_memory_usage", "tau"}
    left |= {"use_sde", "sde_sample_freq", "rms_prop_eps", "schedule"}
    assert sorted(name for name in arguments - NAMES.keys() - left if "_buffer_" not in name) == []


def test_the_names_of_rl4lms_are_keys_of_its_files():
    page = HERE.parent / "shared" / "spec" / "rl4lms.md"
    if not page.is_file():
        pytest.skip("there is no description of RL4LMs' files")
    words = set(re.findall(r"\w+", page.read_text()))
    of_transformers = {"max_new_tokens"}
    assert {
        name for name, foreign in NAMES.items() if "RL4LMs" in foreign.owner
    } - words - of_transformers == set()


def refusal(*overrides, name="reviews_grpo"):
    with pytest.raises(BadSetting) as error:
        recipes.load(name, overrides)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "override", "setting"),
    [
        ("reviews_grpo", "num_generations=8", "training.answers"),
        ("reviews_grpo", "algorithm.num_generations=8", "training.answers"),
        ("reviews_grpo", "training.max_completion_length=64", "decoding.max_new_tokens"),
        ("reviews_grpo", "algorithm.epsilon=0.2", "algorithm.clip"),
        ("reviews_grpo", "algorithm.delta=4", "algorithm.cap"),
        ("reviews_grpo", "algorithm.epsilon_high=5", "algorithm.clip_high or algorithm.cap"),
        ("reviews_grpo", "algorithm.loss_type=cispo", "algorithm.length or algorithm.surrogate"),
        ("reviews_grpo", "mask_truncated_completions=true", "algorithm.drop_overlong"),
        ("reviews_grpo", "algorithm.entropy_coef=0.1", "algorithm.entropy_coefficient"),
        ("reviews_grpo", "training.max_steps=10", "training.updates"),
        ("reviews_grpo", "training.per_device_train_batch_size=8", "algorithm.minibatch"),
        ("reviews_grpo", "gradient_accumulation_steps=2", "algorithm.token_budget"),
        ("reviews_grpo", "training.beta=0.1", "algorithm.beta"),
        ("reviews_grpo", "algorithm.temperature=0.7", "decoding.temperature"),
        ("reviews_grpo", "learning_rate=0.1", "algorithm.learning_rate"),
        ("reviews_grpo", "evaluation.do_sample=false", "decoding.method"),
        ("reviews_ppo", "algorithm.ent_coef=0.1", "algorithm.entropy_coefficient"),
        ("reviews_ppo", "algorithm.critic_lr=1e-3", "algorithm.critic_learning_rate"),
        ("reviews_ppo", "algorithm.n_steps=128", "training.episodes"),
        ("reviews_ppo", "gamma=0.9", "algorithm.gamma"),
        ("reviews_ppo", "algorithm.target_kl=0.1", "algorithm.stop_kl or algorithm.kl_target"),
        ("reviews_trpo", "algorithm.target_kl=0.1", "algorithm.kl_target or algorithm.radius"),
        ("reviews_trpo", "algorithm.n_epochs=4", "algorithm.critic_epochs"),
        ("tagging_ppo", "algorithm.n_steps=128", "algorithm.rollout or training.episodes"),
        ("tagging_dqn", "algorithm.buffer_size=100", "algorithm.replay"),
        ("tagging_dqn", "algorithm.exploration_fraction=0.2", "algorithm.explore_share"),
        ("tagging_turn_dqn", "algorithm.exploration_fraction=0.2", "algorithm.explore_games"),
        ("reviews_nlpo", "algorithm.top_mask=0.9", "algorithm.top_p or algorithm.top_k"),
        ("reviews_nlpo", "training.n_iters=9", "training.updates"),
        ("reviews_nlpo", "env.n_envs=10", None),
    ],
)
def test_a_typed_name_gets_the_setting_of_the_learner_at_hand(name, override, setting):
    text = refusal(override, name=name)
    assert text.startswith("command line: ")
    typed = override.partition("=")[0].split(".")
    if setting is None:
        assert "has no setting 'env', a name of RL4LMs; leave it out: `loquent import rl4lms" in text
        return
    assert f"has no setting {typed[-1]!r}, a name of " in text
    kind = recipes.load(name).algorithm
    assert re.search(rf"; with {kind} set {setting}( \(|$)", text), text


def test_a_learner_without_the_setting_hears_who_has_it():
    assert refusal("algorithm.clip_range_vf=0.1").endswith(
        "and grpo has nothing of the kind; algorithm.value_clip is a setting of nlpo, ppo, turn_ppo"
    )
    assert "decoding.max_new_tokens" in refusal("max_completion_length=9", name="tagging_ppo")
    assert refusal("logging_steps=1").endswith("leave it out: each update is logged, in metrics.jsonl")


def test_a_file_with_such_a_name_is_refused_at_its_line(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("task: {kind: generation}\nalgorithm: {kind: grpo}\ntraining:\n  num_generations: 8\n")
    with pytest.raises(BadSetting, match=r"mine\.yaml:4: training has no setting 'num_generations'"):
        recipes.load(file)
    file.write_text("algorithm: {kind: nobody}\nnum_generations: 8\n")
    with pytest.raises(BadSetting, match="num_generations"):
        recipes.load(file)
