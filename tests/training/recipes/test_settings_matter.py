"""No setting is accepted and ignored: changing any one changes what a run does, or the setting is listed here
with its reason.
"""

import dataclasses

import pytest

from loquent.training import recipes
from loquent.training.train import train

SMALL = [
    "model.path=",
    "model.layers=1",
    "model.width=16",
    "model.heads=2",
    "model.vocabulary=300",
    "model.tokenizer_texts=200",
    "model.context=512",
]
SHORT = [
    "training.stop_metric=",
    "training.updates=2",
    "training.episodes=6",
    "training.evaluate_every=1",
    "training.evaluate_episodes=3",
    "training.final_episodes=3",
]
BASE = [
    *SMALL,
    *SHORT,
    "decoding.max_new_tokens=6",
    "metrics={diversity: {}}",
    "rewards={lexicon: 1.0}",
    "algorithm.minibatch=4",
]
RL = [
    *BASE,
    "algorithm.gamma=0.95",
    "algorithm.lam=0.9",
    "algorithm.epochs=2",
    "algorithm.learning_rate=0.003",
]
RECIPES = {
    "supervised": (
        "reviews_supervised",
        [
            *BASE,
            "algorithm.learning_rate=0.003",
            "algorithm.warmup=1",
            "algorithm.total_steps=8",
            "model.dropout=0.1",
        ],
    ),
    "nlpo": (
        "reviews_nlpo",
        [
            *RL,
            "algorithm.top_p=0.7",
            "decoding.temperature=0.9",
            "algorithm.mu=1",
            "algorithm.schedule=cosine",
            "algorithm.total_steps=90",
            "algorithm.kl_target=0.001",
            "algorithm.entropy_coefficient=0.01",
        ],
    ),
}
# dropout is off in reinforcement learning, which has no teacher
ONLY_TAUGHT = {"model.dropout", "training.teacher"}
UNSEEN = {
    "training.keep": "how many checkpoints stay on disk",
    "training.trackers": "where the log goes too",
    "training.checkpoint_every": "when checkpoints are written",
    "training.patience": "counts only with stop_metric; tested in test_train",
    "training.margin": "the same",
    "model.device": "the same run elsewhere",
    "decoding.live": "rows decoded at once: the law is that it changes nothing",
    "evaluation.live": "the same",
    "algorithm.token_budget": "memory and speed; the gradient is the same but for rounding",
}
OTHER = {  # where the next value by type would be refused or mean nothing
    "training.split": "validation",
    "training.evaluate_split": "test",
    "training.final_split": "validation",
    "training.only": "{label: negative}",
    "training.row_share": 0.5,
    "training.teacher": "random",
    "training.stop_metric": "return",
    "training.groups": "[label]",
    "training.seen": "[label]",
    **{
        f"training.{name}": None for name in ("data", "data_top", "data_bottom")
    },  # with recorded episodes, in test_settings_matter_offline
    "training.data_cutoff": None,  # tests/training/recorded/test_recorded.py
    "training.data_question": None,  # tests/training/recorded/test_preference_files.py
    "training.trackers": "[tensorboard]",
    "model.path": "@start",
    "model.format": None,  # chat needs a template, ilql its markers: tested with the formats
    "model.freeze": None,  # an encoder-decoder's encoder: algorithms/policy_gradient/test_frozen_encoder.py
    "model.lora": None,  # of an existing model only: tests/training/test_lora_runs.py
    "model.width": 32,
    "model.vocabulary": 280,
    "model.tokenizer_texts": 50,
    "model.context": 60,
    "model.reference": "@start",
    "model.heads": 4,
    "model.revision": None,
    "model.dtype": "float64",
    **{
        f"task.{name}": None
        for name in ("source", "path", "name", "subset", "revision", "text_field", "label_field", "labels")
    },  # with the data
    **{
        f"task.{name}": None for name in ("prompt", "source_words", "representation", "context")
    },  # with other datasets than reviews: tests/tasks/generation/corpora/test_corpora.py
    **{
        f"task.{name}": None
        for name in ("turns", "user", "user_instruction", "end_text", "judge", "judge_rule")
    },  # with a conversation: tests/tasks/generation/test_conversation.py
    "task.stop": "[e]",
    "task.instruction": "Be brief.",
    "task.text_words": 40,
    "task.prompt_words": 9,
    "algorithm.beta": 1.0,
    "algorithm.stop_kl": 0.0,
    "algorithm.critic_warmup": 1,
    "algorithm.value_clip": 0.0001,
    "algorithm.max_grad_norm": 0.001,
    "algorithm.clip": 0.0001,
    "algorithm.kl_clip": 0.01,
    "algorithm.kl_target": 0.5,
    "algorithm.min_keep": 250,
    "algorithm.mu": 0,
    "algorithm.discount": "turn",
    "algorithm.entropy": None,  # raw at temperature 1 only: tests/algorithms/policy_gradient/test_nlpo.py
    "algorithm.weight_decay": 0.5,
    "decoding.method": None,  # any other than sample is refused where one learns from one's own play
    "evaluation.method": "greedy",
    "decoding.max_prompt_tokens": 5,
    "evaluation.max_prompt_tokens": 5,
    "decoding.truncation_side": None,  # prompts fit here: tests/models/format/test_format_room.py
    "evaluation.truncation_side": None,
    "decoding.top_p": 0.3,
    "evaluation.top_p": 0.3,
    "decoding.beams": None,  # counts with method beam; tested with decoding
    "evaluation.beams": None,
    "decoding.min_new_tokens": 6,
    "evaluation.min_new_tokens": None,  # an early end is too rare here
    "decoding.compile": None,  # the same answers in other time: tests/models/caches/test_compiled_steps.py
    "evaluation.compile": None,
    "decoding.engine": None,  # another engine gives the same answers: tests/models/test_engine.py
    "evaluation.engine": None,
    "decoding.temperature": 0.3,
    "evaluation.temperature": 0.3,
}


def cases():
    for kind, (name, overrides) in RECIPES.items():
        one = recipes.load(name, overrides)
        settings = {"task": one.options, "algorithm": one.config}
        settings |= {name: getattr(one, name) for name in ("model", "decoding", "evaluation", "training")}
        for section, values in settings.items():
            for field in dataclasses.fields(values):
                taught = f"{section}.{field.name}" in ONLY_TAUGHT
                if (taught or section == "algorithm") if kind == "supervised" else not taught:
                    yield kind, section, field


def changed(section, field, value):
    name = f"{section}.{field.name}"
    if name in OTHER:
        return OTHER[name]
    if field.metadata.get("choices"):
        return next(choice for choice in field.metadata["choices"] if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value / 2 if value else 0.5


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The run of each kind without a change, and a folder for the others.

    "@start" stands for the model of the first.
    """
    folder = tmp_path_factory.mktemp("settings")
    return folder, {
        kind: train(recipes.load(name, overrides), folder / kind, progress=False)
        for kind, (name, overrides) in RECIPES.items()
    }


def override(kind, section, field, folder):
    one = recipes.load(*RECIPES[kind])
    holder = {"task": one.options, "algorithm": one.config}.get(section) or getattr(one, section)
    value = changed(section, field, getattr(holder, field.name))
    return (
        None
        if value is None
        else f"{section}.{field.name}={folder / 'supervised' if value == '@start' else value}"
    )


@pytest.mark.sweep(16)
@pytest.mark.parametrize(
    ("kind", "section", "field"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}.{case[2].name}") for case in cases()],
)
def test_every_setting_changes_the_run(kind, section, field, runs):
    folder, done = runs
    text = override(kind, section, field, folder)
    if text is None:
        pytest.skip("this setting has no second value here; the table above says where it is tested")
    name, overrides = RECIPES[kind]
    again = train(
        recipes.load(name, [*overrides, text]), folder / f"{kind}-{section}-{field.name}", progress=False
    )
    if f"{section}.{field.name}" in UNSEEN:
        assert again.evaluation["values"].keys() == done[kind].evaluation["values"].keys()
    else:
        assert again.fingerprint != done[kind].fingerprint, (
            f"{text} changes nothing: it is accepted and ignored"
        )


def test_equal_settings_give_equal_fingerprints(runs):
    folder, done = runs
    name, overrides = RECIPES["nlpo"]
    assert (
        train(recipes.load(name, overrides), folder / "again", progress=False).fingerprint
        == done["nlpo"].fingerprint
    )
