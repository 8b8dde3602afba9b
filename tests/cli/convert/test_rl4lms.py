"""RL4LMs' YAML as recipes: every key is taken over or reported, and mistakes name file and line."""

import sys

import pytest

import loquent
from loquent.cli import main as cli
from loquent.cli.convert import rl4lms
from loquent.cli.convert import rl4lms_learning as learning
from loquent.cli.convert.source import Source
from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.core.options import parse
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.rewards import compose
from loquent.training import recipes

IMDB = """
tokenizer: {model_name: lvwerra/gpt2-imdb, padding_side: left, truncation_side: left, pad_token_as_eos_token: True}
reward_fn: {id: learned_reward, args: {model_name: lvwerra/distilbert-imdb, label_ix: 1, include_prompt_for_eval: True}}
datapool: {id: imdb, args: {seed: 42}}
env:
  n_envs: 10
  args: {max_prompt_length: 64, max_episode_length: 48, terminate_on_eos: True, prompt_truncation_side: left,
     context_start_token: null, priority_scale: 0.0}
alg:
  id: nlpo
  args:
    {n_steps: 128, batch_size: 64, n_epochs: 5, learning_rate: 0.000001, gamma: 0.99, gae_lambda: 0.95, clip_range: 0.2, clip_range_vf: null,
     normalize_advantage: true, ent_coef: 0.0, vf_coef: 0.5, max_grad_norm: 0.5, target_kl: null, verbose: 1, seed: 3, device: "cuda:0"}
  kl_div: {coeff: 0.1, target_kl: 0.1, norm_reward: False}
  policy:
    id: maskable_causal_lm_actor_critic_policy
    args:
      model_name: lvwerra/gpt2-imdb
      apply_model_parallel: True
      optimizer_kwargs: {}
      optimizer_class: AdamW
      weight_decay: 1e-6
      prompt_truncation_side: left
      top_mask: 0.9
      mask_type: learned_top_p
      target_update_iterations: 5
      min_tokens_to_keep: 100
      generation_kwargs: {do_sample: True, top_k: 50, min_length: 48, max_new_tokens: 48, post_processing_fn: null}
train_evaluation:
  eval_batch_size: 256
  n_iters: 50
  eval_every: 10
  save_every: 1
  generation_kwargs: null
  metrics:
    - id: learned_reward
      args: {model_name: lvwerra/distilbert-imdb, label_ix: 1, batch_size: 100}
    - {id: causal_perplexity, args: {tokenizer_id: gpt2, stride: 512, model_type: causal}}
    - {id: diversity, args: {}}
    - id: spice
"""  # noqa: E501
SUPERVISED = """
tokenizer: {model_name: gpt2, max_length: 64}
datapool: {id: imdb_seq2seq, args: {positive_ratio: 1.0}}
alg:
  id: supervised
  training_args: {per_device_train_batch_size: 16, num_train_epochs: 10, lr_scheduler_type: constant, learning_rate: 0.00001,
    save_total_limit: 1, weight_decay: 0.1}
  model_type: causal
  model_name: gpt2
  generation_kwargs: {do_sample: True, min_length: 48, max_new_tokens: 48, post_processing_fn: null}
train_evaluation:
  eval_batch_size: 256
  metrics: [{id: diversity}]
"""  # noqa: E501


def converted(tmp_path, text, name="mine.yml", **flags):
    (tmp_path / name).write_text(text)
    found = rl4lms.convert(tmp_path / name, **flags)
    page = tmp_path / f"{found.name}.yaml"
    page.write_text(found.text)
    return found, recipes.load(page)


def test_the_imdb_recipe_says_what_the_file_says(tmp_path):
    found, made = converted(tmp_path, IMDB)
    assert (made.algorithm, made.model.path, made.model.device) == ("nlpo", "lvwerra/gpt2-imdb", "cuda")
    config = made.config
    assert (config.top_p, config.top_k, config.mu, config.min_keep) == (0.9, 0, 5, 100)
    assert (
        config.epochs,
        config.learning_rate,
        config.gamma,
        config.lam,
        config.clip,
        config.value_clip,
    ) == (5, 1e-6, 0.99, 0.95, 0.2, None)
    assert (config.beta, config.kl_target, config.kl_gain, config.stop_kl, config.weight_decay) == (
        0.1,
        0.1,
        0.1,
        None,
        1e-6,
    )
    decoding = made.decoding
    assert (
        decoding.method,
        decoding.top_k,
        decoding.min_new_tokens,
        decoding.max_new_tokens,
        decoding.max_prompt_tokens,
    ) == (
        "sample",
        50,
        48,
        48,
        65,  # with the start token
    )
    assert (made.evaluation.live, made.evaluation.top_k) == (256, 50)
    training = made.training
    assert (training.updates, training.evaluate_every, training.checkpoint_every, training.seed) == (
        50,
        10,
        1,
        3,
    )
    # 10 * 128 tokens are 26.7 answers of 48; 64 are 1.3
    assert (training.episodes, config.minibatch) == (27, 1)
    assert (
        made.rewards["sentiment"]["classifier"]
        == made.metrics["sentiment"]["classifier"]
        == "lvwerra/distilbert-imdb"
    )
    assert set(made.metrics) == {"sentiment", "perplexity", "diversity"}
    options = made.options
    assert (options.dataset, options.source, options.horizon, options.prompt_fraction) == (
        "imdb",
        "hub",
        "terminal",
        0.5,
    )
    assert made.metrics["perplexity"]["field"] == "text", "the references of RL4LMs are whole reviews"
    assert any("metrics[3]" in note.key and "spice needs jar" in note.why for note in found.omissions)
    assert all("# " in line for line in found.text.splitlines()[: 2 + len(found.omissions)])


def keys(node, path=""):
    """All keys of the schema as they stand in a file, lists by number."""
    if isinstance(node.value, dict) and node.value:
        return [
            key for name, item in node.value.items() for key in keys(item, f"{path}.{name}" if path else name)
        ]
    if isinstance(node.value, list):
        return [key for number, item in enumerate(node.value) for key in keys(item, f"{path}[{number}]")]
    return [path]


@pytest.mark.parametrize("text", [IMDB, SUPERVISED], ids=["nlpo", "supervised"])
def test_every_key_is_taken_over_or_reported(tmp_path, text):
    found, _ = converted(tmp_path, text)
    said = [note.key for note in found.notes]
    assert len(said) == len(set(said)), "and once"
    missing = [
        key
        for key in keys(parse(text, "x"))
        if not any(key == one or key.startswith((f"{one}.", f"{one}[")) for one in said)
    ]
    assert missing == []
    assert all(note.target or note.why for note in found.notes)
    assert [note.key for note in found.notes if "reads no such key" in note.why] == []


SCHEMA = """
tokenizer: model_name padding_side truncation_side pad_token_as_eos_token max_length
datapool: id args
reward_fn: id args
env: n_envs args
env.args: max_prompt_length max_episode_length terminate_on_eos
env.args: prompt_truncation_side context_start_token priority_scale
alg: id args kl_div policy training_args model_type model_name generation_kwargs
alg.args: n_steps batch_size n_epochs learning_rate gamma gae_lambda clip_range clip_range_vf
alg.args: normalize_advantage ent_coef vf_coef
alg.args: max_grad_norm target_kl verbose seed device
alg.kl_div: coeff target_kl norm_reward
alg.policy: id args
alg.policy.args: model_name apply_model_parallel optimizer_kwargs weight_decay optimizer_class
alg.policy.args: prompt_truncation_side generation_kwargs
alg.policy.args: top_mask mask_type target_update_iterations min_tokens_to_keep
train_evaluation: eval_batch_size n_iters eval_every save_every metrics generation_kwargs
"""  # every key that RL4LMs 0.2.2 reads from a configuration file


def test_the_schema_is_whole():
    """Ours is theirs, and the files above hold every key of it, so that each is seen to be taken over or
    reported.
    """
    schema = {
        (section, name)
        for line in SCHEMA.split("\n")
        if line
        for section, _, names in [line.partition(": ")]
        for name in names.split()
    }
    known = {(section, name) for section, names in rl4lms.KNOWN.items() for name in names}
    assert known - schema == {
        *(
            ("", section)
            for section in ("tokenizer", "datapool", "reward_fn", "env", "alg", "train_evaluation")
        ),
        (
            "alg.policy.args",
            "state_dict",
        ),  # an argument of the policies' constructor, which a file may hold too
        *(
            ("alg.args", name)  # those of A2C and TRPO alone
            for name in (*learning.OTHERS, *learning.TRPO)
            if name not in ("target_kl", "learning_rate")
        ),
    }
    assert schema - known == set()
    used = {key.partition("[")[0] for text in (IMDB, SUPERVISED) for key in keys(parse(text, "x"))}
    above = {key.rsplit(".", n)[0] for key in used for n in range(1, key.count(".") + 1)}
    assert {f"{section}.{name}" for section, name in schema} - used - above == set()


def _why(found):
    why: dict[str, str] = {}
    for note in found.notes:
        why[note.key] = f"{why.get(note.key, '')} {note.why}"
    return why


def test_a_schedule_that_was_not_set_is_said(tmp_path):
    found, made = converted(tmp_path, SUPERVISED.replace("lr_scheduler_type: constant, ", ""))
    assert made.config.schedule == "linear"
    assert (
        "was not set: Hugging Face then comes down linearly"
        in _why(found)["alg.training_args.lr_scheduler_type"]
    )
    found, _ = converted(tmp_path, SUPERVISED)
    assert "linear" not in _why(found)["alg.training_args.lr_scheduler_type"]


@pytest.mark.parametrize("given", ["do_sample: False, ", ""])
def test_sampling_that_was_off_has_its_defaults_written(tmp_path, given):
    text = IMDB.replace("{do_sample: True, top_k: 50, min_length: 48,", f"{{{given}min_length: 48,")
    assert text != IMDB
    found, made = converted(tmp_path, text)
    assert (made.decoding.method, made.decoding.top_k) == ("sample", 50)
    assert "top_k: 50" in found.text
    why = _why(found)
    assert "needs sampling: it is on" in why["alg.policy.args.generation_kwargs.do_sample"]
    assert "draws from 50 tokens" in why["alg.policy.args.generation_kwargs.top_k"]
    _, made = converted(
        tmp_path, IMDB.replace("do_sample: True, top_k: 50,", "do_sample: False, top_k: 7, temperature: 0.5,")
    )
    assert (made.decoding.top_k, made.decoding.temperature) == (7, 0.5)


def test_a_mask_of_the_likeliest_tokens(tmp_path):
    _, made = converted(
        tmp_path, IMDB.replace("top_mask: 0.9", "top_mask: 20").replace("learned_top_p", "learned_top_k")
    )
    assert (made.config.top_p, made.config.top_k) == (1.0, 20)


def test_the_converted_recipe_runs_at_smoke(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2_nlpo.yml").write_text(IMDB.replace('device: "cuda:0"', "device: cpu"))
    assert cli.main(["import", "rl4lms", "gpt2_nlpo.yml"]) == 0
    said = capsys.readouterr()
    assert "the recipe is in gpt2_nlpo.yaml" in said.out
    assert "gpt2_nlpo.yml:12 alg.args.n_epochs -> algorithm.epochs" in said.err
    assert cli.main(["import", "rl4lms", "gpt2_nlpo.yml"]) == 2
    assert "gpt2_nlpo.yaml exists already" in capsys.readouterr().err
    assert cli.main(["train", "gpt2_nlpo.yaml", "--profile", "smoke", "--out", "run"]) == 0
    assert "sentiment/positive" in capsys.readouterr().out


def test_a_supervised_recipe_runs_at_smoke_although_its_labels_are_not_the_built_in_ones(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    _, made = converted(tmp_path, SUPERVISED)
    assert made.training.only["label"] == 1
    assert cli.main(["train", "mine.yaml", "--profile", "smoke", "model.device=cpu", "--out", "run"]) == 0


def test_a_recipe_whose_rows_and_networks_are_not_here_runs_at_smoke(tmp_path, monkeypatch, capsys):
    """Rows by the built-in reviews, the model by a small one, the classifier, the encoder and the tables by a
    list of words.
    """
    monkeypatch.chdir(tmp_path)
    text = REWARDED.replace("REWARD", "{id: intent_accuracy, args: {intent_coeff: 0.75}}").replace(
        "metrics: []", "metrics: [{id: bert_score}, {id: parent_totto}]"
    )
    (tmp_path / "mine.yml").write_text(text)
    assert cli.main(["import", "rl4lms", "mine.yml"]) == 0
    said = capsys.readouterr().out
    assert "missing: datapool.id -> task.path" in said
    assert "missing: alg.policy.id" not in said, "an encoder-decoder is trained as it is"
    assert cli.main(["train", "mine.yaml", "--profile", "smoke", "model.device=cpu", "--out", "run"]) == 0
    said = capsys.readouterr()
    assert (
        "there is no file or folder daily_dialog; the profile smoke takes built-in rows in its place"
        in said.err
    )
    assert cli.main(["train", "mine.yaml", "--dry-run"]) == 2, (
        "without the profile nothing is put in the place of what is missing"
    )


def test_a_supervised_file(tmp_path):
    found, made = converted(tmp_path, SUPERVISED)
    assert (made.algorithm, made.config.learn_on, made.config.minibatch, made.config.schedule) == (
        "supervised",
        "all",
        16,
        "constant",
    )
    # ten epochs of 10,000 positive reviews
    assert (made.training.updates, made.training.only["label"]) == (6250, 1)
    assert (made.decoding.max_prompt_tokens, made.evaluation.max_prompt_tokens) == (0, 65)
    assert (made.training.evaluate_every, made.training.checkpoint_every) == (500, 500)
    assert any(note.key.endswith("save_total_limit") for note in found.omissions)


def test_what_has_no_counterpart_is_said(tmp_path):
    other = """
reward_fn: {expand: True, values: [{id: meteor}, {id: rouge, args: {rouge_type: rouge1}}]}
datapool: {id: commongen, args: {prefix: "generate a sentence with: "}}
env: {n_envs: 2, args: {max_prompt_length: 20, max_episode_length: 50, prompt_truncation_side: right, context_start_token: 0, priority_scale: 0.5}}
alg:
  id: a2c
  args: {n_steps: 48, learning_rate: 1e-6, learnign_rate: 1, target_kl: 0.1}
  kl_div: {coeff: 0.1, norm_reward: True}
  policy:
    id: seq2seq_lm_actor_critic_policy
    args: {model_name: t5-base, generation_kwargs: {num_beams: 4, length_penalty: 0.6, max_new_tokens: 20}}
train_evaluation: {n_iters: 10, metrics: [], generation_kwargs: {num_beams: 5, max_new_tokens: 20}}
"""  # noqa: E501
    with pytest.raises(BadSetting, match=r"mine\.yml:\d+ .*--accept-changes"):
        converted(tmp_path, other)
    found, made = converted(tmp_path, other, accept_changes=True)
    why: dict[str, str] = {}
    for note in found.notes:
        why[note.key] = f"{why.get(note.key, '')} {note.why}"
    assert made.algorithm == "a2c"
    assert made.config.optimizer == "rmsprop"
    assert "one step of the policy" in why["alg.args.target_kl"]
    assert "published files of commongen" in why["datapool.id"]
    assert (made.options.dataset, made.options.prompt) == (
        "commongen",
        "generate a sentence with: {concepts} ",
    )
    assert "encoder-decoder" in why["alg.policy.id"]
    assert "first of 2 values" in why["reward_fn.values"]
    assert made.rewards["meteor"]["weight"] == 1.0
    assert (made.decoding.truncation_side, made.decoding.max_prompt_tokens) == ("right", 20)
    assert "on the left" in why["alg.policy.args.prompt_truncation_side"]
    assert "before 50 had no reward" in why["env.args.max_episode_length"]
    assert "nearest: learning_rate" in why["alg.args.learnign_rate"]
    assert "beams are compared with 1" in why["alg.policy.args.generation_kwargs.length_penalty"]
    assert (made.decoding.method, made.evaluation.method, made.evaluation.beams) == ("sample", "beam", 5)


POOLS = {  # a data pool there, and the options of the task here
    "{id: commongen, args: {prefix: 'use: ', concept_end_token: '.'}}": {"prompt": "use: {concepts}."},
    "{id: cnn_daily_mail, args: {prompt_prefix: 'Sum: ', truncate_article: 9, max_size: 7}}": {
        "source": "hub",
        "prompt": "Sum: {article}",
        "source_words": 9,
        "limit": 7,
    },
    "{id: totto, args: {representation: fulltable}}": {"path": "totto", "representation": "fulltable"},
    "{id: narrative_qa}": {"source": "hub", "prompt": ""},
    "{id: iwslt2017en_de, args: {prompt_prefix: 'to German: '}}": {"prompt": "to German: {source}"},
    "{id: daily_dialog, args: {context_size: 3}}": {"context": 3},
    "{id: dummy_pool, args: {n_samples: 50, prompt: Count}}": {"dataset": "constant", "prompt": "Count"},
    "{id: crd3, args: {max_context_size: 5}}": {"dataset": "texts", "source": "path", "path": "crd3"},
}


@pytest.mark.parametrize(("pool", "options"), POOLS.items(), ids=POOLS)
def test_a_data_pool_is_a_dataset_with_its_prompt(tmp_path, pool, options):
    text = REWARDED.replace("{id: daily_dialog, args: {context_size: 5}}", pool)
    _, made = converted(tmp_path, text.replace("REWARD", "{id: increasing_numbers}"))
    assert {name: getattr(made.options, name) for name in options} == options


def test_concepts_that_are_not_joined_by_a_space_are_another_experiment(tmp_path):
    text = REWARDED.replace(
        "id: daily_dialog, args: {context_size: 5}", "id: commongen, args: {concept_separator_token: ', '}"
    )
    with pytest.raises(BadSetting, match="joined by a space"):
        converted(tmp_path, text.replace("REWARD", "{id: meteor}"))


@pytest.mark.parametrize(
    ("there", "here"),
    [("sacre_bleu", "sacrebleu"), ("parent_totto", "parent"), ("cider", "cider"), ("rouge", "rouge")],
)
def test_a_metric_is_found_by_its_name_there(tmp_path, there, here):
    found, made = converted(tmp_path, IMDB.replace("id: spice", f"id: {there}"))
    assert here in made.metrics
    assert not any("metrics[3]" in note.key for note in found.omissions)


REWARDED = """
reward_fn: REWARD
datapool: {id: daily_dialog, args: {context_size: 5}}
env: {n_envs: 2, args: {max_prompt_length: 20, max_episode_length: 20, terminate_on_eos: True}}
alg:
  id: ppo
  args: {n_steps: 48}
  kl_div: {coeff: 0.1}
  policy: {id: seq2seq_lm_actor_critic_policy, args: {model_name: t5-base, generation_kwargs: {do_sample: True, top_k: 0, max_new_tokens: 20}}}
train_evaluation: {n_iters: 10, metrics: []}
"""  # noqa: E501
SAME_OBJECTIVE = {  # a reward there, and its terms here
    "{id: rouge, args: {rouge_type: rouge1}}": {
        "rouge": {"weight": 1.0, "key": "rouge/rouge1", "references": "first"}
    },
    "{id: rouge, args: {rouge_type: rougeL, use_single_ref: False}}": {
        "rouge": {"weight": 1.0, "key": "rouge/rougeL", "references": "best"}
    },
    "{id: rouge_combined}": {"rouge": {"weight": 1.0, "references": "first"}},
    "{id: sentences_with_dates, args: {}}": {"dates": {"weight": 1.0}},
    "{id: increasing_numbers, args: {min_tokens: 12}}": {
        "increasing_numbers": {"weight": 1.0, "min_tokens": 12}
    },
    "{id: meteor, args: {shaping_fn: null}}": {"meteor": {"weight": 1.0}},
    "{id: bleu}": {"bleu": {"weight": 1.0, "tokenizer": "whitespace"}},
    "{id: sacre_bleu, args: {tokenize: intl}}": {"sacrebleu": {"weight": 1.0, "tokenize": "intl"}},
    "{id: ter}": {"ter": {"weight": 1.0}},
    "{id: chrf}": {"chrf": {"weight": 1.0}},
    "{id: bert_score, args: {language: de}}": {
        "bert_score": {"weight": 1.0, "path": "bert-base-multilingual-cased"}
    },
    "{id: spider, args: {spice_coeff: 0.5, cider_coeff: 2}}": {
        "spice": {"weight": 0.5},
        "cider": {"weight": 2.0},
    },
    "{id: intent_accuracy, args: {intent_coeff: 0.75, auto_coeff: 0.25}}": {
        "intent_accuracy": {"weight": 0.75, "path": "rajkumarrrk/roberta-daily-dialog-intent-classifier"},
        "meteor": {"weight": 0.25},
    },
    "{id: intent_accuracy, args: {shape: False}}": {
        "intent_accuracy": {"weight": 1.0, "path": "rajkumarrrk/roberta-daily-dialog-intent-classifier"}
    },
    "{id: rouge_l_max, args: {max_n: 4, limit_length: True, length_limit: 50, length_limit_type: "
    "words, apply_avg: True, apply_best: 'True,', alpha: 0.4, weight_factor: 1.3, stemming: False}}": {
        "rouge_l_max": {"weight": 1.0, "limit": 50, "alpha": 0.4, "root": 1.3, "stem": False}
    },
    "{id: common_gen_preference_model, args: {meteor_coeff: 0.5, device: cpu, model_type: 11b}}": {
        "concept_preference": {
            "weight": 1.0,
            "path": "models/common_gen_preference",
            "label": "good",
            "include_prompt": False,
            "meteor": 0.5,
            "missing": 0.0,
        }
    },
    "{id: learned_reward, args: {model_name: a/b, label_ix: 0, include_prompt_for_eval: False}}": {
        "sentiment": {"weight": 1.0, "classifier": "a/b", "label": 0, "include_prompt": False}
    },
}


@pytest.mark.parametrize("reward", SAME_OBJECTIVE)
def test_a_reward_is_the_same_one(tmp_path, reward):
    found, made = converted(tmp_path, REWARDED.replace("REWARD", reward))
    assert {name: dict(options) for name, options in made.rewards.items()} == SAME_OBJECTIVE[reward]
    assert found.changes == []


def test_the_preference_model_of_commongen_is_missing_and_not_the_reward(tmp_path):
    """arXiv:2210.01241, appendix B.4.4: the reward exists, and its classifier is the user's."""
    reward = "{id: common_gen_preference_model, args: {concept_penalty_coeff: 2.0}}"
    found, made = converted(tmp_path, REWARDED.replace("REWARD", reward))
    assert made.rewards["concept_preference"]["missing"] == 2.0
    [note] = [note for note in found.missing if note.target.startswith("rewards")]
    assert note.target == "rewards.concept_preference.path"
    assert "objective=good_bad" in note.why


def test_the_rouge_that_is_asked_for_is_paid(tmp_path):
    pytest.importorskip("nltk")
    _, made = converted(tmp_path, REWARDED.replace("REWARD", "{id: rouge, args: {rouge_type: rouge2}}"))
    (term,), weights = compose.build(made.rewards, Context(task=loquent.task("generation")))
    row = Row("a", Record())
    scores = term.score(
        Samples(
            ["the cats sat on the mat"],
            [["the cat was sitting on the mat", "the cats sat on the mat"]],
            [""],
            [row],
        ),
    )
    assert scores == [pytest.approx(0.545455, abs=1e-6)]  # of the first reference alone
    assert dict(weights) == {"rouge": 1.0}


CHANGED = [
    ("reward_fn: REWARD", "", "reward_fn", "nothing but the KL penalty is learned"),
    ("REWARD", "{id: bleurt, args: {checkpoint: x}}", "reward_fn", "bleurt needs path"),
    ("REWARD", "{id: causal_perplexity}", "reward_fn", "there is no reward 'causal_perplexity'"),
    (
        "REWARD",
        "{id: meteor, args: {shaping_fn: common_gen_repeat_penalty}}",
        "reward_fn.args.shaping_fn",
        "not added to the reward",
    ),
    (
        "REWARD",
        "{id: intent_accuracy, args: {shaping_fn: x}}",
        "reward_fn.args.shaping_fn",
        "not added to the reward",
    ),
    ("REWARD", "{id: ter, args: {mystery: 3}}", "reward_fn.args.mystery", "no such option"),
    (
        "REWARD",
        "{id: rouge_l_max, args: {apply_best: False}}",
        "reward_fn.args.apply_best",
        "computed as with apply_best: True",
    ),
    (
        "REWARD",
        "{id: rouge_l_max, args: {length_limit_type: bytes}}",
        "reward_fn.args.length_limit_type",
        "with length_limit_type: words",
    ),
    ("REWARD", "{id: bert_score, args: {language: xx}}", "reward_fn.args.language", "no encoder is known"),
    ("coeff: 0.1", "coeff: 0.1, norm_reward: True", "alg.kl_div.norm_reward", "not normalised"),
    (
        "id: daily_dialog, args: {context_size: 5}",
        "id: imdb_seq2seq, args: {positive_ratio: 0.1}",
        "datapool.args.positive_ratio",
        "all positive",
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "key", "says"), CHANGED, ids=[new or "none" for _, new, _, _ in CHANGED]
)
def test_another_experiment_is_refused_unless_it_is_accepted(
    tmp_path, monkeypatch, capsys, old, new, key, says
):
    monkeypatch.chdir(tmp_path)
    assert old in REWARDED
    (tmp_path / "mine.yml").write_text(REWARDED.replace(old, new).replace("REWARD", "{id: meteor}"))
    assert cli.main(["import", "rl4lms", "mine.yml"]) == 2
    said = capsys.readouterr().err
    assert f"{key}" in said
    assert says in said
    assert "--accept-changes" in said
    assert not (tmp_path / "mine.yaml").exists()
    assert cli.main(["import", "rl4lms", "mine.yml", "--accept-changes"]) == 0
    assert f"changed: {key}" in capsys.readouterr().out
    page = (tmp_path / "mine.yaml").read_text()
    assert "# Another experiment than the file's, as accepted with --accept-changes:" in page
    assert says in page


def test_a2c_keeps_its_defaults_and_its_optimizer(tmp_path):
    text = REWARDED.replace("REWARD", "{id: meteor}").replace("id: ppo", "id: a2c")
    found, made = converted(tmp_path, text)
    assert found.changes == []
    assert made.algorithm == "a2c"
    config = made.config
    assert (config.optimizer, config.lam, config.normalize_advantages) == ("rmsprop", 1.0, False)
    assert config.learning_rate == 7e-4
    other = converted(tmp_path, text.replace("n_steps: 48", "n_steps: 48, use_rms_prop: False"))[1]
    assert other.config.optimizer == "adamw"


def test_trpo_keeps_its_trust_region(tmp_path):
    text = REWARDED.replace("REWARD", "{id: meteor}").replace("id: ppo", "id: trpo")
    config = converted(tmp_path, text)[1].config
    assert (config.radius, config.conjugate_steps, config.damping, config.critic_epochs) == (
        0.01,
        15,
        0.1,
        10,
    )
    assert config.learning_rate == 1e-3
    more = "n_steps: 48, target_kl: 0.02, cg_max_steps: 7, line_search_max_iter: 4, batch_size: 96"
    config = converted(tmp_path, text.replace("n_steps: 48", more))[1].config
    assert (config.radius, config.conjugate_steps, config.searches) == (0.02, 7, 4)
    assert config.critic_minibatch > 1
    with pytest.raises(BadSetting, match="computed from all tokens"):
        converted(tmp_path, text.replace("n_steps: 48", "n_steps: 48, sub_sampling_factor: 3"))


OWN = """
from dataclasses import dataclass

from loquent.core.algorithm import AlgorithmConfig, BatchAlgorithm


@dataclass(frozen=True, kw_only=True)
class Config(AlgorithmConfig):
    learning_rate: float = 1.0
    lam: float = 0.0
    weight_decay: float = 0.0
    beta: float = 0.0
    kl_target: float | None = None
    kl_gain: float = 0.0


class A2C(BatchAlgorithm):
    name = "a2c"
    reads = ("play",)
    Config = Config
"""


def test_an_algorithm_becomes_itself_once_it_is_registered(tmp_path, monkeypatch):
    (tmp_path / "own_a2c.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setitem(registry._names["algorithm"], "a2c", "own_a2c:A2C")
    text = REWARDED.replace("REWARD", "{id: meteor}").replace("id: ppo", "id: a2c")
    found, made = converted(tmp_path, text)
    assert found.changes == []
    assert (made.algorithm, made.config.learning_rate, made.config.lam, made.config.beta) == (
        "a2c",
        7e-4,
        1.0,
        0.1,
    )
    with pytest.raises(BadSetting, match=r"alg\.args\.gamma: a2c has no such setting in Loquent"):
        converted(tmp_path, text.replace("n_steps: 48", "n_steps: 48, gamma: 0.5"))


def test_options_of_metrics_are_those_there(tmp_path):
    perplexity = "{id: causal_perplexity, args: {stride: 128, use_text_from_meta_data: True}}"
    metrics = f"[{{id: rouge}}, {{id: bleu}}, {{id: bert_score, args: {{language: en}}}}, {perplexity}]"
    _, made = converted(
        tmp_path,
        IMDB.replace("    - id: spice\n", "").replace("metrics:\n", f"metrics: {metrics}\n  unread:\n"),
    )
    assert {name: dict(options) for name, options in made.metrics.items()} == {
        "rouge": {"references": "first"},
        "bleu": {"tokenizer": "whitespace"},
        "bert_score": {"path": "roberta-large"},
        "perplexity": {"stride": 128, "field": "text"},
    }


def test_an_encoder_decoder_model_learns_its_answers_alone(tmp_path):
    assert (
        converted(tmp_path, SUPERVISED.replace("model_type: causal", "model_type: seq2seq"))[
            1
        ].config.learn_on
        == "answer"
    )
    assert converted(tmp_path, SUPERVISED)[1].config.learn_on == "all"


@pytest.mark.parametrize(
    ("there", "needs"), [("summaCZS", "summac_zs needs path"), ("bleurt", "bleurt needs path")]
)
def test_a_metric_that_needs_what_the_file_does_not_say_is_left_out(tmp_path, there, needs):
    found, _ = converted(tmp_path, IMDB.replace("id: spice", f"id: {there}"))
    assert [needs in note.why for note in found.omissions if "metrics[3]" in note.key] == [True]


WRONG = [
    ("mask_type: learned_top_p", "mask_type: frobnicate", ["mine.yml:25", "'frobnicate'", "learned_top_p"]),
    (
        "mask_type: learned_top_p",
        "mask_type: learned_top_k",
        ["mine.yml:24", "top_mask", "got 0.9", "whole number", "learned_top_p"],
    ),
    ("      mask_type: learned_top_p\n", "", ["mine.yml:24", "top_mask", "got 0.9", "(the default)"]),
    (
        "top_mask: 0.9\n      mask_type: learned_top_p",
        "top_mask: 0\n      mask_type: topk",
        ["mine.yml:24", "top_mask", "got 0", "at least 1"],
    ),
    ("n_epochs: 5", "n_epochs: many", ["mine.yml:12", "alg.args.n_epochs", "'many'", "whole number"]),
    ("n_epochs: 5", "n_epochs: 0", ["mine.yml", "epochs"]),
    ("clip_range: 0.2", "clip_range: true", ["mine.yml:12", "clip_range", "number"]),
    ("do_sample: True", "do_sample: 1", ["mine.yml:28", "do_sample", "true or false"]),
    ("max_new_tokens: 48", "max_new_tokens: 0", ["mine.yml", "max_new_tokens"]),
    ("top_mask: 0.9", "top_mask: .inf", ["mine.yml:24", "top_mask", "got inf", "finite"]),
    ("id: nlpo", "id: nlop", ["mine.yml:10", "'nlop'", "nlpo"]),
    ("id: nlpo", "id:", ["mine.yml", "alg.id is missing"]),
    ("  n_iters: 50\n", "", ["mine.yml", "n_iters is missing"]),
    (
        "kl_div: {coeff: 0.1, target_kl: 0.1, norm_reward: False}",
        "kl_div: 3",
        ["mine.yml:14", "alg.kl_div", "3"],
    ),
    ("metrics:\n", "metrics: {}\n  more:\n", ["mine.yml", "metrics", "list"]),
    ("env:", "env: [", ["mine.yml", "not YAML"]),
    ("  n_envs: 10", "  n_envs: 10\n  n_envs: 11", ["mine.yml:7", "'n_envs' is repeated"]),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[new.strip() or "none" for _, new, _ in WRONG])
def test_mistakes_name_file_and_line(tmp_path, old, new, says):
    assert old in IMDB
    with pytest.raises(BadSetting) as caught:
        converted(tmp_path, IMDB.replace(old, new, 1))
    assert all(word in str(caught.value) for word in says), str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [("batch_size: 16", "batch_size: 0"), ("epochs: 10", "epochs: .inf"), ("ratio: 1.0", "ratio: .nan")],
)
def test_numbers_that_cannot_be_computed_with_are_refused(tmp_path, old, new):
    assert old in SUPERVISED
    with pytest.raises(BadSetting, match=r"mine\.yml"):
        converted(tmp_path, SUPERVISED.replace(old, new, 1))


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "empty"), (b"- 1\n", "names and values"), (b"\xff\xfe\x00", "not UTF-8"), (b"alg: 3", "alg")],
)
def test_what_is_no_such_file(tmp_path, content, says):
    (tmp_path / "x.yml").write_bytes(content)
    with pytest.raises(BadSetting, match=says):
        rl4lms.convert(tmp_path / "x.yml")
    with pytest.raises(BadSetting, match=r"no file .*nowhere"):
        rl4lms.convert(tmp_path / "nowhere.yml")


def test_a_key_that_is_forgotten_is_seen():
    source = Source(parse("a: {b: 1, c: [1, {d: 2}]}\ne: 2", "f"))
    source.note_taken("a.b", "x")
    source.rest(lambda section: ["bb"])
    assert [note.key for note in source.notes] == ["a.b", "a.c[0]", "a.c[1].d", "e"]


def said_of(found, key):
    return [note for note in found.notes if note.key == key]


def test_what_a_metric_says_beside_id_and_args_is_reported(tmp_path):
    found, _ = converted(
        tmp_path,
        IMDB.replace("- {id: causal_perplexity, args:", "- {id: causal_perplexity, weight: 2, argss:"),
    )
    for key in ("weight", "argss.stride"):
        assert "reads no such key" in said_of(found, f"train_evaluation.metrics[1].{key}")[0].why


def test_a_metric_that_stands_twice_is_kept_twice_or_reported(tmp_path):
    second = "- {id: learned_reward, args: {model_name: other/classifier, label_ix: 0}}"
    found, made = converted(
        tmp_path, IMDB.replace("    - id: spice", f"    {second}\n    {second}\n    - id: spice")
    )
    assert (made.metrics["sentiment"]["classifier"], made.metrics["sentiment_2"]["classifier"]) == (
        "lvwerra/distilbert-imdb",
        "other/classifier",
    )
    assert made.metrics["sentiment_2"]["of"] == "sentiment"
    assert "sentiment_3" not in made.metrics
    assert "twice" in said_of(found, "train_evaluation.metrics[4].id")[0].why


def test_an_evaluation_of_its_own_takes_nothing_over_from_collection(tmp_path):
    own = IMDB.replace("top_k: 50, min_length: 48", "top_k: 50, temperature: 0.5, top_p: 0.9, min_length: 48")
    _, made = converted(
        tmp_path,
        own.replace("generation_kwargs: null", "generation_kwargs: {do_sample: True, max_new_tokens: 30}"),
    )
    assert (made.decoding.min_new_tokens, made.decoding.temperature, made.decoding.top_p) == (48, 0.5, 0.9)
    assert (made.evaluation.min_new_tokens, made.evaluation.temperature, made.evaluation.top_p) == (
        0,
        1.0,
        1.0,
    )
    assert made.evaluation.max_new_tokens == 30


@pytest.mark.parametrize(
    ("model", "shortest", "expected"),
    [("t5-base", 10, 9), ("t5-base", 0, 0), ("facebook/bart-base", 20, 18), ("gpt2", 10, 10)],
)
def test_a_shortest_length_is_that_of_generate(tmp_path, model, shortest, expected):
    """tests/models/test_pair_architectures.py compares the numbers with `generate`."""
    own = f"{{do_sample: True, min_length: {shortest}, max_new_tokens: 20}}"
    text = REWARDED.replace("REWARD", "{id: rouge_combined}").replace("t5-base", model)
    text = text.replace("{do_sample: True, top_k: 0, max_new_tokens: 20}", own)
    text = text.replace("metrics: []", f"metrics: [], generation_kwargs: {own}")
    if model == "gpt2":
        text = text.replace("seq2seq_lm", "causal_lm")
    found, made = converted(tmp_path, text)
    assert (made.decoding.min_new_tokens, made.evaluation.min_new_tokens) == (expected, expected)
    (note,) = said_of(found, "alg.policy.args.generation_kwargs.min_length")
    assert ("counts" in note.why) == (model != "gpt2")


def test_defaults_that_differ_and_a_device_that_is_not_here_are_said(tmp_path):
    found, made = converted(tmp_path, IMDB.replace("terminate_on_eos: True, ", "").replace("cuda:0", "mps"))
    assert "was not set" in said_of(found, "env.args.terminate_on_eos")[0].why
    assert "auto" in said_of(found, "alg.args.device")[0].why
    assert made.model.device == "auto"


@pytest.mark.parametrize(
    ("more", "updates", "warmup"),
    [
        ("warmup_ratio: 0.1, warmup_steps: 7, max_steps: 90, lr_scheduler_type: linear", 90, 7),
        ("warmup_ratio: 0.101, max_steps: 90, lr_scheduler_type: constant_with_warmup", 90, 10),
        ("warmup_steps: 7, max_steps: 90, lr_scheduler_type: constant", 90, 0),  # has no warm-up there
    ],
)
def test_steps_go_before_shares_and_epochs(tmp_path, more, updates, warmup):
    _, made = converted(tmp_path, SUPERVISED.replace("lr_scheduler_type: constant", more))
    assert (made.training.updates, made.config.warmup) == (updates, warmup)


def test_the_target_of_an_update_gets_the_factor_of_the_library(tmp_path):
    """RL4LMs, like SB3, ends an update at 1.5 times `target_kl`."""
    text = IMDB.replace("target_kl: null", "target_kl: 0.02")
    _, made = converted(tmp_path, text)
    assert made.config.stop_kl == pytest.approx(0.03)
