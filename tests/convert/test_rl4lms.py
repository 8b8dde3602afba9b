"""RL4LMs' YAML as recipes: every key is taken over or reported, and mistakes name file and line."""

import pytest

from loquent import cli, recipe
from loquent.convert import rl4lms
from loquent.convert.source import Source
from loquent.errors import BadSetting
from loquent.fill import parse

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
"""
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
"""


def converted(tmp_path, text, name="mine.yml"):
    (tmp_path / name).write_text(text)
    found = rl4lms.convert(tmp_path / name)
    page = tmp_path / f"{found.name}.yaml"
    page.write_text(found.text)
    return found, recipe.load(page)


def test_the_imdb_recipe_says_what_the_file_says(tmp_path):
    found, made = converted(tmp_path, IMDB)
    assert (made.algorithm, made.model.path, made.model.device) == ("nlpo", "lvwerra/gpt2-imdb", "cuda")
    config = made.config
    assert (config.top_p, config.top_k, config.mu, config.min_keep) == (0.9, 0, 5, 100)
    assert (config.epochs, config.learning_rate, config.gamma, config.lam, config.clip, config.value_clip) == (5, 1e-6, 0.99, 0.95, 0.2, None)
    assert (config.beta, config.kl_target, config.kl_gain, config.stop_kl, config.weight_decay) == (0.1, 0.1, 0.1, None, 1e-6)
    decoding = made.decoding
    assert (decoding.method, decoding.top_k, decoding.min_new_tokens, decoding.max_new_tokens, decoding.max_prompt_tokens) == (
        "sample",
        50,
        48,
        48,
        64,
    )
    assert (made.evaluation.live, made.evaluation.top_k) == (256, 50)
    training = made.training
    assert (training.updates, training.evaluate_every, training.checkpoint_every, training.seed) == (50, 10, 1, 3)
    assert (training.episodes, config.minibatch) == (27, 1)  # 10 * 128 tokens are 26.7 answers of 48; 64 are 1.3
    assert made.rewards["sentiment"]["classifier"] == made.metrics["sentiment"]["classifier"] == "lvwerra/distilbert-imdb"
    assert set(made.metrics) == {"sentiment", "perplexity", "diversity"}
    assert (made.options.source, made.options.name, made.options.horizon, made.options.prompt_fraction) == (
        "hub",
        "stanfordnlp/imdb",
        "terminal",
        0.5,
    )
    assert any("metrics[3]" in note.key and "spice needs jar" in note.why for note in found.reported)
    assert all("# " in line for line in found.text.splitlines()[: 2 + len(found.reported)])


def keys(node, path=""):
    """All keys of the schema as they stand in a file, lists by number."""
    if isinstance(node.value, dict) and node.value:
        return [key for name, item in node.value.items() for key in keys(item, f"{path}.{name}" if path else name)]
    if isinstance(node.value, list):
        return [key for number, item in enumerate(node.value) for key in keys(item, f"{path}[{number}]")]
    return [path]


@pytest.mark.parametrize("text", [IMDB, SUPERVISED], ids=["nlpo", "supervised"])
def test_every_key_is_taken_over_or_reported(tmp_path, text):
    found, _ = converted(tmp_path, text)
    said = [note.key for note in found.notes]
    assert len(said) == len(set(said)), "and once"
    missing = [key for key in keys(parse(text, "x")) if not any(key == one or key.startswith((f"{one}.", f"{one}[")) for one in said)]
    assert missing == []
    assert all(note.target or note.why for note in found.notes)
    assert [note.key for note in found.notes if "reads no such key" in note.why] == []


SCHEMA = """
tokenizer: model_name padding_side truncation_side pad_token_as_eos_token max_length
datapool: id args
reward_fn: id args
env: n_envs args
env.args: max_prompt_length max_episode_length terminate_on_eos prompt_truncation_side context_start_token priority_scale
alg: id args kl_div policy training_args model_type model_name generation_kwargs
alg.args: n_steps batch_size n_epochs learning_rate gamma gae_lambda clip_range clip_range_vf normalize_advantage ent_coef vf_coef
alg.args: max_grad_norm target_kl verbose seed device
alg.kl_div: coeff target_kl norm_reward
alg.policy: id args
alg.policy.args: model_name apply_model_parallel optimizer_kwargs weight_decay optimizer_class prompt_truncation_side generation_kwargs
alg.policy.args: top_mask mask_type target_update_iterations min_tokens_to_keep
train_evaluation: eval_batch_size n_iters eval_every save_every metrics generation_kwargs
"""  # every key that RL4LMs 0.2.2 reads from a configuration file


def test_the_schema_is_whole():
    """Ours is theirs, and the files above hold every key of it, so that each is seen to be taken over or reported."""
    schema = {(section, name) for line in SCHEMA.split("\n") if line for section, _, names in [line.partition(": ")] for name in names.split()}
    known = {(section, name) for section, names in rl4lms.KNOWN.items() for name in names}
    assert known - schema == {("", section) for section in ("tokenizer", "datapool", "reward_fn", "env", "alg", "train_evaluation")} | {
        ("alg.policy.args", "state_dict")  # an argument of the policies' constructor, which a file may hold too
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
    assert made.config.schedule == "cosine"
    assert "was not set: Hugging Face then comes down linearly" in _why(found)["alg.training_args.lr_scheduler_type"]
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
    _, made = converted(tmp_path, IMDB.replace("do_sample: True, top_k: 50,", "do_sample: False, top_k: 7, temperature: 0.5,"))
    assert (made.decoding.top_k, made.decoding.temperature) == (7, 0.5)


def test_a_mask_of_the_likeliest_tokens(tmp_path):
    _, made = converted(tmp_path, IMDB.replace("top_mask: 0.9", "top_mask: 20").replace("learned_top_p", "learned_top_k"))
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
    assert "gpt2_nlpo.yaml is there already" in capsys.readouterr().err
    assert cli.main(["train", "gpt2_nlpo.yaml", "--profile", "smoke", "--out", "run"]) == 0
    assert "sentiment/positive" in capsys.readouterr().out


def test_a_supervised_file(tmp_path):
    found, made = converted(tmp_path, SUPERVISED)
    assert (made.algorithm, made.config.learn_on, made.config.minibatch, made.config.schedule) == ("supervised", "all", 16, "constant")
    assert (made.training.updates, made.training.only["label"]) == (6250, 1)  # ten epochs of 10,000 positive reviews
    assert made.decoding.max_prompt_tokens == 64
    assert any(note.key.endswith("save_total_limit") for note in found.reported)


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
"""
    found, made = converted(tmp_path, other)
    why: dict[str, str] = {}
    for note in found.notes:
        why[note.key] = f"{why.get(note.key, '')} {note.why}"
    assert made.algorithm == "ppo"
    assert "a2c is not here" in why["alg.id"]
    assert "not built in" in why["datapool.id"]
    assert "encoder-decoder" in why["alg.policy.id"]
    assert "first of 2 values" in why["reward_fn.values"]
    assert made.rewards["meteor"]["weight"] == 1.0
    assert "loses its oldest tokens" in why["env.args.prompt_truncation_side"]
    assert "before 50 had no reward" in why["env.args.max_episode_length"]
    assert "nearest: learning_rate" in why["alg.args.learnign_rate"]
    assert "no length_penalty" in why["alg.policy.args.generation_kwargs.length_penalty"]
    assert made.config.stop_kl == pytest.approx(0.15)
    assert (made.decoding.method, made.evaluation.method, made.evaluation.beams) == ("sample", "beam", 5)


@pytest.mark.parametrize(("there", "here"), [("sacre_bleu", "sacrebleu"), ("parent_totto", "parent"), ("cider", "cider"), ("rouge", "rouge")])
def test_a_metric_is_found_by_its_name_there(tmp_path, there, here):
    found, made = converted(tmp_path, IMDB.replace("id: spice", f"id: {there}"))
    assert here in made.metrics
    assert not any("metrics[3]" in note.key for note in found.reported)


@pytest.mark.parametrize(
    ("there", "needs"), [("summaCZS", "summac_zs needs path"), ("bert_score", "bert_score needs path"), ("bleurt", "bleurt needs path")]
)
def test_a_metric_that_needs_what_the_file_does_not_say_is_left_out(tmp_path, there, needs):
    found, _ = converted(tmp_path, IMDB.replace("id: spice", f"id: {there}"))
    assert [needs in note.why for note in found.reported if "metrics[3]" in note.key] == [True]


WRONG = [
    ("mask_type: learned_top_p", "mask_type: frobnicate", ["mine.yml:25", "'frobnicate'", "learned_top_p"]),
    ("mask_type: learned_top_p", "mask_type: learned_top_k", ["mine.yml:24", "top_mask = 0.9", "whole number", "learned_top_p"]),
    ("      mask_type: learned_top_p\n", "", ["mine.yml:24", "top_mask = 0.9", "which none stands for"]),
    ("top_mask: 0.9\n      mask_type: learned_top_p", "top_mask: 0\n      mask_type: topk", ["mine.yml:24", "top_mask = 0", "at least 1"]),
    ("n_epochs: 5", "n_epochs: many", ["mine.yml:12", "alg.args.n_epochs", "'many'", "whole number"]),
    ("n_epochs: 5", "n_epochs: 0", ["mine.yml", "epochs"]),
    ("clip_range: 0.2", "clip_range: true", ["mine.yml:12", "clip_range", "number"]),
    ("do_sample: True", "do_sample: 1", ["mine.yml:28", "do_sample", "true or false"]),
    ("id: nlpo", "id: nlop", ["mine.yml:10", "'nlop'", "nlpo"]),
    ("id: nlpo", "id:", ["mine.yml", "alg.id is missing"]),
    ("  n_iters: 50\n", "", ["mine.yml", "n_iters is missing"]),
    ("kl_div: {coeff: 0.1, target_kl: 0.1, norm_reward: False}", "kl_div: 3", ["mine.yml:14", "alg.kl_div", "3"]),
    ("metrics:\n", "metrics: {}\n  more:\n", ["mine.yml", "metrics", "list"]),
    ("env:", "env: [", ["mine.yml", "not YAML"]),
    ("  n_envs: 10", "  n_envs: 10\n  n_envs: 11", ["mine.yml:7", "'n_envs' stands twice"]),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[new.strip() or "none" for _, new, _ in WRONG])
def test_mistakes_name_file_and_line(tmp_path, old, new, says):
    assert old in IMDB
    with pytest.raises(BadSetting) as caught:
        converted(tmp_path, IMDB.replace(old, new, 1))
    assert all(word in str(caught.value) for word in says), str(caught.value)


@pytest.mark.parametrize(("content", "says"), [(b"", "empty"), (b"- 1\n", "names and values"), (b"\xff\xfe\x00", "not text"), (b"alg: 3", "alg")])
def test_what_is_no_such_file(tmp_path, content, says):
    (tmp_path / "x.yml").write_bytes(content)
    with pytest.raises(BadSetting, match=says):
        rl4lms.convert(tmp_path / "x.yml")
    with pytest.raises(BadSetting, match=r"no file .*nowhere"):
        rl4lms.convert(tmp_path / "nowhere.yml")


def test_a_key_that_is_forgotten_is_seen():
    source = Source(parse("a: {b: 1, c: [1, {d: 2}]}\ne: 2", "f"))
    source.taken("a.b", "x")
    source.rest(lambda section: ["bb"])
    assert [note.key for note in source.notes] == ["a.b", "a.c[0]", "a.c[1].d", "e"]
