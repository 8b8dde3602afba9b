"""What a run does without being asked for is shown once, and stands in its folder and its report."""

import math
import warnings

import pytest
import torch

from loquent.algorithms.policy_gradient.grpo import GRPO
from loquent.core.settings import Remark, noting_remarks
from loquent.errors import BadSetting
from loquent.files import run_remarks
from loquent.files.run_remarks import RunRemarks
from loquent.report import write_report
from loquent.training import recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

TINY = (
    "model={layers: 1, width: 16, heads: 2, context: 64, vocabulary: 300, tokenizer_texts: 100}",
    "task.limit=40",
    "training={updates: 4, episodes: 4, evaluate_every: 1, evaluate_episodes: 4, final_episodes: 4}",
    "decoding.max_new_tokens=40",
    "metrics={}",
)


def recipe(*overrides, kind="supervised", task="{kind: generation, source: builtin, prompt_words: 24}"):
    return recipes.load(
        "reviews_supervised", [f"algorithm={{kind: {kind}}}", f"task={task}", *TINY, *overrides]
    )


def remarks(made):
    return "\n".join(made.remarks)


IN_VAIN = [
    ("model.critic=network", "supervised", "model.critic = 'network' has no effect: supervised does not use"),
    ("model.critic=network", "grpo", "model.critic = 'network' has no effect: grpo does not use it"),
    ("model.critic=network", "ilql", "model.critic = 'network' has no effect: ilql does not use it"),
    ("model.critic_head=zero", "grpo", "model.critic_head = 'zero' has no effect: there is no critic"),
    (
        "model={critic: none, critic_head: zero}",
        "ppo",
        "model.critic_head = 'zero' has no effect: there is no critic",
    ),
    (
        "model={path: some/model, lora: {rank: 4, dropout: 0.2}}",
        "rloo",
        "model.lora.dropout = 0.2 has no effect: rloo does not use it",
    ),
    ("model.critic=head", "grpo", "model.critic = 'head' has no effect: grpo does not use it"),
    ("evaluation={method: greedy, temperature: 0.5}", "ppo", "evaluation.temperature = 0.5 has no effect"),
    ("decoding.beams=9", "ppo", "decoding.beams = 9 has no effect: it serves beam search only"),
    ("training.patience=3", "ppo", "training.patience = 3 has no effect: training.stop_metric is empty"),
    *(
        (f"algorithm={{kind: grpo, {settings}}}", "grpo", f"algorithm.{text}")
        for settings, text in (
            ("surrogate: sapo, cap: 4.0", "cap = 4.0 has no effect: it serves surrogate = 'clip' or 'cispo'"),
            (
                "surrogate: sapo, clip_high: 0.3",
                "clip_high = 0.3 has no effect: it serves surrogate = 'clip', and",
            ),
            ("preset: cispo, clip: 0.3", "clip = 0.3 has no effect: it serves surrogate = 'clip', and it is"),
            ("sapo_positive: 2.0", "sapo_positive = 2.0 has no effect: it serves surrogate = 'sapo', and it"),
            ("preset: dapo, sapo_negative: 2.0", "sapo_negative = 2.0 has no effect: it serves surrogate = "),
            (
                "kl: reward, kl_correction: false",
                "kl_correction = False has no effect: it serves kl = 'loss'",
            ),
            (
                "engine_weight: token_mask",
                "engine_weight = 'token_mask' has no effect: decoding.engine = 'ours'",
            ),
            ("engine_weight_max: 2.0", "engine_weight_max = 2.0 has no effect: engine_weight = 'none'"),
        )
    ),
]


@pytest.mark.filterwarnings("ignore::loquent.core.settings.Remark:loquent.training.recipes.effects")
@pytest.mark.parametrize(("setting", "kind", "text"), IN_VAIN)
def test_a_setting_in_vain_is_named(setting, kind, text):
    assert text in remarks(shown := recipes_with_shown(setting, kind)), shown.remarks
    assert not recipe(kind=kind).remarks


def recipes_with_shown(setting, kind):
    with pytest.warns(Remark):
        return recipe(setting, kind=kind)


def test_a_preset_and_what_another_engine_needs_give_no_remark():
    with warnings.catch_warnings():
        warnings.simplefilter("error", Remark)
        for name in GRPO.Config.presets:
            recipe(f"algorithm={{kind: grpo, preset: {name}}}", kind="grpo")
        weighs = "algorithm={kind: grpo, engine_weight: token_mask, engine_weight_max: 2.0}"
        recipe(weighs, "decoding.engine=somewhere:Engine", kind="grpo")
        recipes.load("reviews_grpo", ["algorithm=grpo"])


def test_a_low_learning_rate_with_adapters_is_named():
    with pytest.warns(Remark, match="learning_rate = 1e-06 with model.lora.rank = 4: adapters usually need"):
        recipe("model={path: some/model, lora: {rank: 4}}", "algorithm.learning_rate=1e-6")
    with warnings.catch_warnings():
        warnings.simplefilter("error", Remark)
        recipe("model={path: some/model, lora: {rank: 4}}", "algorithm.learning_rate=1e-4")


def test_a_replaced_setting_gives_no_remarks_on_defaults():
    made = recipe(kind="grpo")
    with warnings.catch_warnings(record=True) as shown:
        again = made.replace("training.updates=3", "training.answers=2")
    assert not again.remarks
    assert not shown
    with pytest.warns(Remark, match="decoding.beams = 9 has no effect"):
        again.replace("decoding.beams=9")


@pytest.mark.parametrize(("kind", "networks"), [("grpo", ["reference"]), ("ilql", []), ("supervised", [])])
def test_networks_that_an_algorithm_does_not_use_are_not_built(kind, networks):
    more = ["training.answers=2"] if kind == "grpo" else ["training.teacher=expert"]
    actor = Trainer(recipe(*more, kind=kind)).actor
    assert [name for name in ("critic", "reference") if getattr(actor, name) is not None] == networks


def test_a_stop_metric_that_is_not_measured_is_refused_at_the_start(tmp_path):
    with pytest.raises(BadSetting, match="the task declares no ending as success"):
        Trainer(recipe("training.stop_metric=success"))
    with pytest.raises(BadSetting, match="'score/nothing' is not measured in evaluation"):
        train(recipe("training.stop_metric=score/nothing"), tmp_path / "run", progress=False)
    watched = recipe("training.stop_metric=supervised/held_out_loss", kind="ppo")
    with pytest.raises(BadSetting, match="'supervised/held_out_loss' is not measured in evaluation"):
        train(watched, tmp_path / "run", progress=False)
    assert not (tmp_path / "run" / "config.yaml").exists()


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that stops early and whose prompts are cut; returns it and what it showed."""
    folder = tmp_path_factory.mktemp("remarks") / "run"
    made = recipe("training.stop_metric=return", "training.patience=1", "training.margin=9.0")
    with pytest.warns(Remark) as shown:
        return train(made, folder, progress=False), [str(each.message) for each in shown]


def test_early_stopping_and_cut_prompts_are_shown_and_recorded(stopped):
    run, shown = stopped
    lines = run_remarks.read(run.folder)
    assert [line["remark"] for line in lines] == shown
    cut, evaluated, early = shown
    assert "of the rows to learn from (or their answers) are cut to prompts of at most 24 tokens" in cut
    assert "decoding.truncation_side" in cut
    share = run.metrics[0]["rollout/cut_prompts"]
    assert 0 < share <= 1
    assert f"{share:.0%} of the rows" in cut
    assert "early stopping after update 2 of 4: return was" in early
    assert "of the episodes that are evaluated on the split 'validation' are cut to prompts" in evaluated
    assert [line["update"] for line in lines] == [1, 1, 2]
    assert "the checkpoint of update 1 stays" in early
    page = write_report([run.folder], run.folder / "page.html").read_text()
    assert "early stopping after update 2 of 4" in page
    assert ">Remarks<" in page


def test_a_supervised_run_logs_the_held_out_loss(stopped):
    """The loss is that of the whole distribution, token by token, of the expert's held-out answers."""
    run, _ = stopped
    line = run.metrics[-1]
    assert line["supervised/held_out_perplexity"] == pytest.approx(
        math.exp(line["supervised/held_out_loss"]), rel=1e-12
    )
    trainer = Trainer(run.recipe)
    with torch.no_grad():
        trainer.experience.held_out_loss()
        batch = trainer.experience._held_out
        logprobs = trainer.actor.policy(
            input_ids=batch.tokens, attention_mask=batch.real.long()
        ).logits.log_softmax(-1)
    own = logprobs[:, :-1].gather(2, batch.tokens[:, 1:, None])[..., 0][batch.is_action[:, 1:]]
    ours = trainer.experience.held_out_loss()["supervised/held_out_loss"]
    assert ours == pytest.approx(-float(own.double().mean()), rel=1e-5)
    words = Trainer(recipe("decoding.max_new_tokens=8", "model.context=256", task="{kind: wordle}"))
    assert words.experience.held_out_loss()["supervised/held_out_loss"] > 0


def test_the_held_out_loss_stops_a_run(tmp_path):
    """With a learning rate of 0 it never improves after the first evaluation."""
    made = recipe("training.stop_metric=supervised/held_out_loss", "training.patience=1")
    with pytest.warns(Remark, match="early stopping after update 2 of 4: supervised/held_out_loss was"):
        run = train(made.replace("algorithm.learning_rate=0"), tmp_path / "run", progress=False)
    assert run.evaluation["checkpoint"] == "update-1"


@pytest.mark.filterwarnings("ignore:.*of the rows to learn from:loquent.core.settings.Remark")
def test_prompts_that_only_evaluation_cuts_are_named(tmp_path):
    made = recipe("evaluation.max_prompt_tokens=5", "model.context=256", kind="ppo")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always", Remark)
        run = train(made.replace("rewards={lexicon: 1.0}"), tmp_path / "run", progress=False)
    texts = [str(each.message) for each in shown if issubclass(each.category, Remark)]
    cut = [text for text in texts if "cut to prompts" in text]
    assert len(cut) == 1
    assert "100% of the episodes that are evaluated on the split 'validation' are cut" in cut[0]
    assert "raise evaluation.max_prompt_tokens = 5, or lower evaluation.max_new_tokens" in cut[0]
    assert all(line["rollout/cut_prompts"] == 0 for line in run.metrics)
    assert {"update": 1, "remark": cut[0]} in run_remarks.read(run.folder)


def test_a_remark_is_shown_once_and_kept_once(tmp_path):
    kept = RunRemarks(["before"])

    def remark():
        with noting_remarks(kept.add):
            for _ in range(2):
                warnings.warn("twice", Remark, stacklevel=1)
            kept.begin(tmp_path)
            kept.update = 3
            warnings.warn("later", Remark, stacklevel=1)

    with pytest.warns(Remark) as shown:
        remark()
    assert [str(each.message) for each in shown] == ["twice", "later"]
    with (tmp_path / "remarks.jsonl").open("a") as file:
        file.write('{"update": 4, "rem')
    again = RunRemarks(["before"])
    again.begin(tmp_path, 4)
    assert [(line["update"], line["remark"]) for line in run_remarks.read(tmp_path)][:3] == [
        (0, "before"), (0, "twice"), (3, "later")
    ]  # fmt: skip
