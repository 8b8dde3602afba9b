"""The 44 files that RL4LMs comes with: all become recipes, nothing of them is dropped in silence, and all run
at smoke.
"""

import copy
import re
from pathlib import Path

import pytest
import yaml

from loquent.cli import main as cli
from loquent.cli.convert import rl4lms
from loquent.errors import BadSetting
from loquent.training import recipes
from tools.studies import key_table

PAGE = Path(__file__).resolve().parents[3] / "docs" / "importing.md"
ORIGINALS = Path(__file__).resolve().parents[4] / "shared" / "data" / "rl4lms_configs"
COUNTS = {
    "files": 44,
    "as they are": 42,
    "with --accept-changes": 2,
    "trainable as they are": 24,
    "need rows": 20,
    "train an encoder-decoder": 28,
}
ROWS = {  # by folder: the dataset, its source, and whether its files are missing
    "common_gen": ("commongen", "path", True),
    "dialog": ("daily_dialog", "path", True),
    "imdb_text_continuation": ("imdb", "hub", False),
    "iwslt2017": ("iwslt2017", "path", True),
    "narrative_qa": ("narrative_qa", "hub", False),
    "summarization": ("cnn_daily_mail", "hub", False),
    "synthetic_generate_dates": ("constant", "builtin", False),
    "synthetic_generate_increasing_numbers": ("constant", "builtin", False),
    "totto": ("totto", "path", True),
}
CHANGED = {  # what makes two of them another experiment
    "common_gen/t5_nlpo.yml": ["reward_fn.args.shaping_fn"],
    "common_gen/t5_ppo.yml": ["reward_fn.args.shaping_fn"],
}
FILES = sorted(str(path.relative_to(ORIGINALS)) for path in ORIGINALS.glob("*/*.yml"))

pytestmark = pytest.mark.data


@pytest.fixture
def originals(beside):
    folder = beside / "data" / "rl4lms_configs"
    if not folder.is_dir():
        pytest.skip("RL4LMs' files are not beside this checkout")
    return folder


def test_all_files_become_recipes_that_run_or_say_what_is_missing(originals, tmp_path):
    counts = dict.fromkeys(COUNTS, 0)
    for file in sorted(originals.glob("*/*.yml")):
        found = rl4lms.convert(file, accept_changes=True)
        if found.changes:
            with pytest.raises(BadSetting, match=r"another experiment: .*--accept-changes"):
                rl4lms.convert(file)
        page = tmp_path / "made.yaml"
        page.write_text(found.text)
        made = recipes.load(page)
        rows = "task.path" in [n.target for n in found.missing]
        assert rows == (made.options.source == "path"), (
            "rows that nothing is built in for are said to be missing"
        )
        assert "model.path" not in [n.target for n in found.missing], "encoder-decoders are trained here"
        assert made.rewards or made.algorithm == "supervised"
        counts["files"] += 1
        counts["with --accept-changes" if found.changes else "as they are"] += 1
        counts["need rows"] += rows
        counts["train an encoder-decoder"] += bool(re.search("t5|bart|blenderbot", made.model.path))
        counts["trainable as they are"] += not found.changes and not found.missing
    assert counts == COUNTS


def test_each_file_is_converted_and_loadable_and_names_exactly_what_is_missing(originals, tmp_path):
    files = sorted(originals.glob("*/*.yml"))
    assert len(files) == COUNTS["files"]
    for file in files:
        name = f"{file.parent.name}/{file.name}"
        found = rl4lms.convert(file, accept_changes=True)
        (tmp_path / "made.yaml").write_text(found.text)
        made = recipes.load(tmp_path / "made.yaml")
        dataset, source, absent = ROWS[file.parent.name]
        assert (made.options.dataset, made.options.source) == (dataset, source), name
        updates = made.algorithm == "supervised" and dataset not in ("imdb", "cnn_daily_mail")
        preferences = ["rewards.concept_preference.path"] * ("concept_preference" in made.rewards)
        missing = ["task.path"] * absent + ["training.updates"] * updates + preferences
        assert [note.target for note in found.missing] == missing, name
        assert [note.key for note in found.changes] == CHANGED.get(name, []), name


CUTS = {  # in learning and in evaluation: the most tokens of a prompt, and the side of the cut
    "common_gen/t5_nlpo": (15, "left", 15, "left"),
    "common_gen/t5_ppo": (20, "right", 20, "right"),
    "common_gen/t5_supervised": (512, "right", 512, "right"),
    "dialog/gpt2_ppo": (129, "left", 129, "left"),  # 128 and the start token
    "dialog/gpt2_supervised": (0, "left", 129, "left"),
    "imdb_text_continuation/gpt2_nlpo": (65, "left", 65, "left"),
    "imdb_text_continuation/gpt2_supervised": (0, "left", 65, "left"),
    "iwslt2017/t5_supervised": (512, "left", 512, "left"),
    "narrative_qa/t5_nlpo": (512, "right", 512, "right"),
    "narrative_qa/t5_ppo": (512, "right", 512, "right"),
    "summarization/t5_supervised": (512, "right", 512, "right"),
    "summarization/t5_ppo": (512, "right", 512, "right"),
    "totto/t5_nlpo": (512, "left", 512, "left"),  # RL4LMs' environment does not read the tokenizer's side
    "totto/t5_nlpo_on_supervised": (512, "left", 512, "left"),
    "totto/t5_ppo": (512, "left", 512, "left"),
    "totto/t5_ppo_on_supervised": (512, "left", 512, "left"),
    "totto/t5_supervised": (512, "right", 512, "right"),
}


@pytest.mark.parametrize(("name", "cuts"), CUTS.items(), ids=CUTS)
def test_prompts_are_cut_where_rl4lms_cuts_them(originals, tmp_path, name, cuts):
    (tmp_path / "made.yaml").write_text(rl4lms.convert(originals / f"{name}.yml", accept_changes=True).text)
    made = recipes.load(tmp_path / "made.yaml")
    sides = [(each.max_prompt_tokens, each.truncation_side) for each in (made.decoding, made.evaluation)]
    assert (*sides[0], *sides[1]) == cuts
    assert made.resolve()["task"].get("source_words", 0) == 0


NAMED = {  # keys whose value has another name here
    "do_sample": [(True, "sample")],
    "num_beams": [(1, "sample")],
    "mask_type": [("learned_top_p", 0)],
    "lr_scheduler_type": [("constant_with_warmup", "constant")],
    "language": [("en", "roberta-large"), ("de", "bert-base-multilingual-cased")],
    "rouge_type": [("rouge1", "rouge/rouge1")],
    "use_text_from_meta_data": [(True, "text")],
}


@pytest.mark.parametrize("file", FILES)
def test_each_key_has_its_value_in_the_recipe_or_a_remark(originals, file):
    """One note for each key; the setting that it names is in the recipe, with the value of the file."""
    different = []
    for key, value, settings, remark, _ in key_table.table(originals / file):
        name = key.rpartition(".")[2]
        same = any(item == value or (value, item) in NAMED.get(name, ()) for item in settings.values())
        inside = any(isinstance(item, str) and str(value) in item for item in settings.values())
        if not (same or remark or name == "id" or (inside and "datapool" in key)):
            different.append((key, value, settings))
    assert different == []


def learned(made, *names):
    return [getattr(made.config, name) for name in names]


def test_what_an_optimizer_and_a_schedule_are(originals, tmp_path):
    """PPO and NLPO learn by AdamW; TRPO's critic has no clipping; a schedule spans the epochs."""
    kinds = {"gpt2_ppo": "adamw", "gpt2_nlpo": "adamw", "gpt2_trpo": "adamw", "gpt2_a2c": "rmsprop"}
    folder = originals / "synthetic_generate_increasing_numbers"
    for name, optimizer in kinds.items():
        (tmp_path / "made.yaml").write_text(rl4lms.convert(folder / f"{name}.yml").text)
        made = recipes.load(tmp_path / "made.yaml")
        assert learned(made, "optimizer") == [optimizer], name
        assert learned(made, "max_grad_norm") == [None if name == "gpt2_trpo" else 0.5], name
        assert made.options.prompt == "", "the end token of GPT-2 alone is its start token"
        assert (made.training.evaluate_first, made.training.final_episodes) == (True, 50)
    for name, steps in (("summarization", 35_890), ("common_gen", 50)):
        text = rl4lms.convert(originals / name / "t5_supervised.yml").text
        (tmp_path / "made.yaml").write_text(text)
        made = recipes.load(tmp_path / "made.yaml")
        assert learned(made, "schedule", "total_steps") == ["cosine", 0]
        training = made.training
        assert made.config.for_run(training.updates, training.episodes).total_steps == steps
        assert made.config.idle(training.updates, training.episodes) == ""


def test_rows_probabilities_and_evaluations_are_those_of_rl4lms(originals, tmp_path):
    """Ratios are of the full softmax, whatever tokens are drawn from; rows are drawn with replacement; the
    first evaluation is before the first update, in supervised learning too.
    """
    for file in sorted(originals.glob("*/*.yml")):
        (tmp_path / "made.yaml").write_text(rl4lms.convert(file, accept_changes=True).text)
        made = recipes.load(tmp_path / "made.yaml")
        assert made.training.evaluate_first, file
        if made.algorithm != "supervised":
            assert learned(made, "ratio", "kl_temperature") == ["raw", "one"], file
            assert made.training.priority == 0.0, file
        else:
            assert made.training.priority is None, "Hugging Face's Trainer reads each row once in an epoch"


SAID = {  # what differs is said beside its key
    ("common_gen/t5_ppo_on_supervised", "tokenizer.model_name"): "if it has none, add the files of t5-base's",
    ("iwslt2017/t5_ppo", "train_evaluation.generation_kwargs.length_penalty"): "beams are compared with 1",
    ("common_gen/t5_ppo_on_supervised", "alg.args.ent_coef"): "over the tokens that can be drawn",
    ("iwslt2017/t5_ppo", "env.n_envs"): "RL4LMs collects more answers where answers are shorter",
    ("imdb_text_continuation/gpt2_supervised", "datapool.id"): "RL4LMs joins them without it",
    ("imdb_text_continuation/gpt2_supervised", "train_evaluation"): "evaluations in training are on positive",
    ("narrative_qa/t5_ppo", "datapool.id"): "task.source: path reads UnifiedQA's",
    ("synthetic_generate_increasing_numbers/bart_ppo", "alg.policy.args.model_name"): "no_repeat_ngram_size",
    (
        "synthetic_generate_increasing_numbers/gpt2_a2c",
        "alg.policy.args.weight_decay",
    ): "RMSprop here has none",
}


@pytest.mark.parametrize(("place", "says"), SAID.items(), ids=["/".join(place) for place in SAID])
def test_a_difference_is_said_beside_its_key(originals, place, says):
    name, key = place
    found = rl4lms.convert(originals / f"{name}.yml", accept_changes=True)
    assert any(says in note.why for note in found.notes if note.key == key)


def test_long_reviews_stay_whole_rows(originals, tmp_path):
    """They lose their beginning in learning, as in RL4LMs, whose evaluations have one row for each review."""
    file = originals / "imdb_text_continuation" / "gpt2_supervised.yml"
    (tmp_path / "made.yaml").write_text(rl4lms.convert(file).text)
    assert recipes.load(tmp_path / "made.yaml").options.text_words == 0


def test_the_page_has_the_counts():
    text = PAGE.read_text(encoding="utf-8")
    assert {name: count for name, count in COUNTS.items() if f"| {name} | {count} |" not in text} == {}


def places(tree, way=()):
    """Each value of a file that holds no further ones, with the way to it."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, value in inside:
        yield from places(value, (*way, name))
    if not inside:
        yield way, tree


def dotted(way):
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way)[1:]


def told(tree, way):
    """What a key means: its name, and of a reward's or metric's option whose it is."""
    here, owner = tree, ""
    for part in way:
        owner = here.get("id", "") if isinstance(here, dict) and "args" in here and part == "args" else owner
        here = here[part]
    return re.sub(r"\[\d+\]", "[]", dotted(way)), owner, tree["alg"]["id"] == "supervised"


def other(value):
    """A value of the same type that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if value >= 1 or isinstance(value, int) else value / 2
    return {"made_up": 1} if value == {} else "other" if value is None else f"{value}-other"


def test_no_key_of_any_file_is_dropped_in_silence(originals, tmp_path, monkeypatch):
    """Changed, each key changes the recipe, or is refused, or is named in the report with the reason why it
    does not.
    """
    monkeypatch.setattr(rl4lms, "_check", lambda *_: None)  # whether a recipe is one is asked above
    seen, silent = set(), []
    for file in sorted(originals.glob("*/*.yml")):
        tree = yaml.safe_load(file.read_text())
        body = _body(rl4lms.convert(file, accept_changes=True))
        for way, value in places(tree):
            if (what := told(tree, way)) in seen:
                continue
            seen.add(what)
            mutant = copy.deepcopy(tree)
            inside = mutant
            for part in way[:-1]:
                inside = inside[part]
            inside[way[-1]] = other(value)
            (tmp_path / file.name).write_text(yaml.safe_dump(mutant))
            try:
                found = rl4lms.convert(tmp_path / file.name, accept_changes=True)
            except BadSetting:
                continue
            key = dotted(way)
            named = any(
                note.why and (_within(key, note.key) or _within(note.key, key)) for note in found.notes
            )
            if _body(found) == body and not named:
                silent.append((what, value))
    assert silent == []
    assert len(seen) > 100


def _within(key, above):
    return key == above or key.startswith((f"{above}.", f"{above}["))


def _body(found):
    return "\n".join(line for line in found.text.splitlines() if not line.startswith("#"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_file_runs_at_smoke(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = rl4lms.convert(ORIGINALS / file, accept_changes=True)
    (tmp_path / "made.yaml").write_text(found.text)
    assert cli.main(["train", "made.yaml", "--profile", "smoke", "model.device=cpu", "--out", "run"]) == 0
    assert (tmp_path / "run" / "report.html").is_file()
