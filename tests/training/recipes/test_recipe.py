"""Recipes: every setting is reached, every mistake names its place, and what is written out loads again."""

import dataclasses
import warnings

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from loquent.core.options import Node, dump, fill, parse
from loquent.core.settings import Remark, setting
from loquent.core.values import Record
from loquent.errors import BadSetting, UnknownName
from loquent.training import recipes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Small:
    share: float = setting(0.5, "a share", low=0, high=1)
    count: int = setting(3, "a count", low=1)
    kind: str = setting("a", "a kind", choices=("a", "b"))
    target: float | None = setting(None, "a target", infinite=True)
    names: tuple[str, ...] = setting((), "names")
    flag: bool = setting(False, "a flag")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files under the current folder may name code


def written(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


def test_fill_reads_each_type():
    text = "share: 1\ncount: 4\nkind: b\ntarget: inf\nnames: [x, y]\nflag: true"
    assert fill(Small, parse(text, "f"), "s") == Small(
        share=1.0, count=4, kind="b", target=float("inf"), names=("x", "y"), flag=True
    )
    assert fill(Small, parse("share: 1e-3\ntarget: null", "f"), "s") == Small(share=0.001)
    assert fill(Small, None, "s") == Small()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count: 3\nshaer: 0.2", ["f.yaml:2", "'shaer'", "Nearest: share"]),
        ("share: 1.5", ["f.yaml:1", "s.share must be in [0, 1], got 1.5"]),
        ("\n\ncount: 0.5", ["f.yaml:3", "s.count must be an integer, at least 1, got 0.5"]),
        ("kind: c", ["f.yaml:1", "s.kind must be one of 'a', 'b', got 'c'"]),
        ("flag: 1", ["f.yaml:1", "s.flag must be true or false, got 1"]),
        ("share: true", ["f.yaml:1", "s.share must be a number, in [0, 1], got true"]),
        ("count: 1\ncount: 2", ["f.yaml:2", "'count' is repeated"]),
        ("count: 0", ["s.count must be at least 1, got 0"]),
        ("count: x", ["s.count must be an integer, at least 1, got 'x'; the default is 3"]),
        ("kind: 3", ["s.kind must be one of a, b, got 3; the default is 'a'"]),
        ("share: [", ["f.yaml:", "not YAML"]),
        ("- 1", ["f.yaml:1", "must hold names and values, got [1]"]),
    ],
)
def test_a_mistake_names_its_place(text, said):
    with pytest.raises(BadSetting) as caught:
        fill(Small, parse(text, "f.yaml"), "s")
    assert all(part in str(caught.value) for part in said), str(caught.value)


def test_an_unknown_key_of_a_recipe_names_file_line_and_the_nearest(tmp_path):
    path = written(tmp_path, "task: generation\nalgorithm:\n  kind: nlpo\n  top_q: 0.9\n")
    with pytest.raises(BadSetting, match=r"mine\.yaml:4: algorithm has no setting 'top_q'\. Nearest: top_p"):
        recipes.load(path)


def test_an_override_that_changes_the_kind_is_named(tmp_path):
    file = tmp_path / "off.yaml"
    file.write_text("task: generation\nalgorithm:\n  kind: ilql\n  tau: 0.8\n")
    with pytest.raises(
        BadSetting,
        match=r"^command line: algorithm\.kind=ppo changes the kind, and ppo has no setting tau "
        r"\(off\.yaml:4\); leave",
    ):
        recipes.load(file, ["algorithm.kind=ppo"])
    file.write_text("task: generation\nalgorithm:\n  kind: ppo\n  tau: 0.8\n")
    with pytest.raises(BadSetting, match=r"^off\.yaml:4: algorithm has no setting 'tau'"):
        recipes.load(file, ["algorithm.kind=ppo"])


def test_a_bad_value_names_the_range(tmp_path):
    path = written(tmp_path, "algorithm: {kind: ppo}\ntraining:\n  updates: -1\n")
    with pytest.raises(BadSetting, match=r"mine\.yaml:3: training\.updates must be at least 0, got -1"):
        recipes.load(path)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("training.updtes=3", "Nearest: updates"),
        ("training.updates", "key.path=value"),
        ("algorithm.clip=-1", "at least 0"),
        (
            "algorithm.learning_rate=.inf",
            "command line: algorithm.learning_rate must be a finite number, at least 0, got inf",
        ),
        ("algorithm.learning_rate=.nan", "algorithm.learning_rate must be at least 0, got nan"),
        ("training.margin=inf", "training.margin must be .*finite number, .*got inf"),
        ("taks.x=1", "Nearest: task"),
    ],
)
def test_a_wrong_override_is_named(override, said):
    with pytest.raises(BadSetting, match=said):
        recipes.load("reviews_ppo", [override])


def test_a_setting_may_allow_infinity():
    assert recipes.load("reviews_ppo", ["algorithm.kl_target=.inf"]).config.kl_target == float("inf")


def test_an_unknown_recipe_or_kind_is_named(tmp_path):
    with pytest.raises(UnknownName, match="reviews_ppo"):
        recipes.load("reviews_pp")
    with pytest.raises(BadSetting, match=r"mine\.yaml:1: .*Did you mean 'nlpo'"):
        recipes.load(written(tmp_path, "algorithm: {kind: nlp}"))
    with pytest.raises(BadSetting, match=r"mine\.yaml:1: .*sentiment"):
        recipes.load(written(tmp_path, "metrics: {sentimnt: {}}"))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", recipes.names())
def test_what_is_written_out_loads_as_the_same_recipe(name, tmp_path):
    first = recipes.load(name)
    path = written(tmp_path, yaml.safe_dump(first.resolve(), sort_keys=False))
    again = recipes.load(path)
    assert again == first
    assert again.fingerprint == first.fingerprint
    assert first.replace("training.seed=77").fingerprint != first.fingerprint


def test_later_overrides_win_and_the_evaluation_decodes_as_training_does():
    one = recipes.load(
        "reviews_ppo",
        ["decoding.top_k=7", "evaluation.temperature=0.5", "training.updates=1", "training.updates=9"],
    )
    assert one.training.updates == 9
    assert (one.evaluation.top_k, one.evaluation.temperature, one.decoding.temperature) == (7, 0.5, 1.0)


def test_a_preset_on_the_command_line_overrides_the_file_and_a_setting_beside_it_overrides_the_preset():
    file = recipes.load("reviews_grpo").config
    typed = recipes.load("reviews_grpo", ["algorithm.preset=gspo"]).config
    assert (file.beta, typed.beta, typed.clip, typed.importance) == (0.2, 0.0, 3e-4, "sequence")
    assert typed.learning_rate == file.learning_rate  # the preset has none
    for order in ((0, 1), (1, 0)):
        texts = ["algorithm.preset=gspo", "algorithm.beta=0.1"]
        assert recipes.load("reviews_grpo", [texts[i] for i in order]).config.beta == 0.1
    released = recipes.load("reviews_nlpo", ["algorithm.preset=rl4lms"]).config
    assert (released.min_keep, released.ratio, released.mask_in_evaluation) == (100, "raw", True)
    assert (released.mu, recipes.load("reviews_nlpo").config.mu) == (0, 5)


def test_presets_and_settings_apply_in_the_order_of_their_places(tmp_path):
    def beta(below, above, *overrides, profile=None):
        (tmp_path / "below.yaml").write_text(f"algorithm: {{kind: grpo, {below}}}\n")
        profiles = "profiles: {weak: {algorithm.beta: 0.3}, gspo: {algorithm.preset: gspo}}"
        file = tmp_path / "above.yaml"
        file.write_text(f"base: below\nalgorithm: {{kind: grpo, {above}}}\n{profiles}\n")
        return recipes.load(file, list(overrides), profile=profile).config.beta

    assert beta("beta: 0.2", "preset: gspo") == 0.0
    assert beta("preset: gspo", "beta: 0.2") == 0.2
    assert beta("preset: gspo, beta: 0.1", "beta: 0.2") == 0.2
    assert beta("preset: deepseek_math, beta: 0.1", "preset: gspo") == 0.0
    assert beta("beta: 0.1", "beta: 0.2, preset: gspo") == 0.2
    assert beta("beta: 0.1", "preset: gspo", profile="weak") == 0.3
    assert beta("preset: deepseek_math", "beta: 0.2", profile="gspo") == 0.0
    assert beta("preset: gspo", "beta: 0.2", "algorithm.preset=deepseek_math", profile="weak") == 0.04


def test_an_unknown_preset_names_the_known():
    with pytest.raises(BadSetting, match="known: paper, rl4lms"):
        recipes.load("reviews_nlpo", ["algorithm.preset=mine"])


def test_describe_says_what_a_setting_means():
    said = recipes.describe("clip")
    assert "algorithm.ppo.clip" in said
    assert "1707.06347" in said
    assert "training.updates" in recipes.describe("training.updates")
    assert "design.tweets.file" in recipes.describe("tweets")
    with pytest.raises(UnknownName, match="Did you mean 'clip'"):
        recipes.describe("clipp")


def test_rewards_keep_their_options(tmp_path):
    one = recipes.load(
        written(
            tmp_path, "rewards: {sentiment: {weight: 2.0, include_prompt: false}, 'my.module:reward': 0.5}"
        )
    )
    assert one.rewards == Record(
        {"sentiment": Record(weight=2.0, include_prompt=False), "my.module:reward": 0.5}
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rewards:\n  sentimnt: 1.0", ["mine.yaml:2", "'sentimnt'", "Nearest: sentiment"]),
        ("rewards:\n  sentiment:\n    wieght: 1.0", ["mine.yaml:3", "'wieght'", "Nearest: weight"]),
        ("rewards:\n  sentiment:\n    include_promt: true", ["mine.yaml:3", "Nearest: include_prompt"]),
        (
            "rewards:\n  sentiment:\n    include_prompt: 3",
            ["mine.yaml:3", "rewards.sentiment.include_prompt must be true or false, got 3"],
        ),
        ("rewards:\n  sentiment: high", ["mine.yaml:2", "'high'", "finite number"]),
        ("rewards:\n  sentiment:\n    weight: .nan", ["mine.yaml:3", "nan", "finite number"]),
        ("rewards:\n  mine:\n    of: sentimnt", ["mine.yaml:3", "Nearest: sentiment"]),
        ("rewards:\n  mine:\n    of: 3", ["mine.yaml:3", "rewards.mine.of = 3"]),
        ("rewards:\n  'os.path:join':\n    pre: token", ["mine.yaml:3", "Nearest: per"]),
        ("rewards:\n  'a:b':\n    per: word", ["mine.yaml:3", "'token'"]),
        ("rewards:\n  length: {low: 5, high: 2}", ["mine.yaml:2", "below low"]),
        ("task: wordle\nrewards:\n  gues: 1.0", ["mine.yaml:3", "Nearest: guess"]),
        ("task: wordle\nrewards:\n  guess: {include_prompt: true}", ["mine.yaml:3", "the task's own"]),
        ("rewards:\n  guess: 1.0", ["mine.yaml:2", "'guess'"]),
        ("metrics:\n  diversity:\n    windw: 3", ["mine.yaml:3", "'windw'", "Nearest: window"]),
        ("metrics:\n  diversity:\n    weight: 3", ["mine.yaml:3", "'weight'"]),
        ("metrics:\n  diversity: 3", ["mine.yaml:2", "names and values"]),
        ("metrics:\n  text_perplexity: {}", ["mine.yaml:2", "needs path"]),
        ("algorithm:\n  preset: [1]", ["mine.yaml:2", "algorithm.preset = [1]"]),
        ("algorithm:\n  kind: [ppo]", ["mine.yaml:2", "algorithm.kind = ['ppo']"]),
        ("algorithm:\n  preset: paper\n  kind: nlp", ["mine.yaml:3", "Did you mean 'nlpo'"]),
        (
            "algorithm: [1, {a: 2}]",
            ["mine.yaml:1", "algorithm must hold names and values, got [1, {'a': 2}]"],
        ),
        (
            "training:\n  stop_metric: return\n  evaluate_every: 0",
            ["mine.yaml:1", "stop_metric = 'return'", "evaluate_every = 0"],
        ),
        ("- 1", ["mine.yaml:1", "a recipe must hold names and values, got [1]"]),
    ],
)
def test_a_mistake_in_any_section_names_its_place(tmp_path, text, said):
    with pytest.raises(BadSetting) as caught:
        recipes.load(written(tmp_path, text))
    assert all(part in str(caught.value) for part in said), str(caught.value)
    assert "Node(" not in str(caught.value)


@pytest.mark.parametrize(
    "override", ["algorithm.preset=[1]", "algorithm=[1]", "algorithm.kind=[1]", "rewards={sentiment: high}"]
)
def test_a_mistake_on_the_command_line_says_so(override):
    with pytest.raises(BadSetting, match=r"^command line: ") as caught:
        recipes.load("reviews_nlpo", [override])
    assert "Node(" not in str(caught.value)


def test_what_rewards_and_metrics_may_say_is_taken(tmp_path):
    text = (
        "task: wordle\nrewards: {guess: 0.5, again: {of: repetition, n: 2, weight: -1}, 'a:b': {per: "
        "token}, length: {high: none}}"
    )
    one = recipes.load(written(tmp_path, text + "\nmetrics: {diversity: , wide: {of: diversity, window: 7}}"))
    assert one.rewards["again"] == Record(of="repetition", n=2, weight=-1)
    assert one.rewards["length"] == Record(high=None)
    assert one.rewards["a:b"] == Record(per="token")
    assert one.metrics == Record(diversity=Record(), wide=Record(of="diversity", window=7))


def test_what_stands_in_quotes_is_text():
    assert recipes.load("reviews_ppo", ['model.path="1e5"']).model.path == "1e5"
    assert parse("1e5", "f").value == 1e5


def test_the_smoke_profile_needs_no_other_model(tmp_path):
    path = written(
        tmp_path,
        "model: {path: runs/base, reference: runs/base, format: chat}\nevaluation: {max_new_tokens: "
        "90, min_new_tokens: 20}",
    )
    one = recipes.load(path, profile="smoke")
    assert (one.model.path, one.model.reference, one.model.format) == ("", "copy", "auto")
    assert (one.evaluation.max_new_tokens, one.evaluation.min_new_tokens) == (8, 0)
    # what is asked for beside it wins
    assert recipes.load(path, ["model.path=mine"], profile="smoke").model.path == "mine"
    assert (
        recipes.load("reviews_ppo", ["decoding.max_new_tokens=9"], profile="smoke").evaluation.max_new_tokens
        == 9
    )
    assert recipes.load(path).model.path == "runs/base"


def test_the_smoke_profile_needs_no_recorded_episodes(tmp_path):
    text = "task: wordle\nalgorithm: {kind: filtered_cloning}\ntraining: {data: [games], data_top: 0.1}"
    path = written(tmp_path, text)
    one = recipes.load(path, profile="smoke")
    assert (one.training.data, one.training.data_top, one.training.teacher, one.config.top) == (
        (),
        1.0,
        "random",
        1.0,
    )
    assert recipes.load(path, ["training.data=mine"], profile="smoke").training.data == ("mine",)
    assert recipes.load(path).training.data == ("games",)


def test_node_says_where_it_stands():
    assert Node(1, "f", 3).place == "f:3"
    assert Node(1, "command line", None).place == "command line"


def test_an_empty_recipe_is_no_recipe(tmp_path):
    with pytest.raises(BadSetting, match=r"mine\.yaml: the recipe is empty"):
        recipes.load(written(tmp_path, "# nothing\n"))


def test_a_task_of_ones_own_is_named_by_its_path(tmp_path):
    one = recipes.load(
        written(
            tmp_path, "task: {kind: 'loquent.tasks.wordle.task:Wordle', limit: 20}\nalgorithm: {kind: ppo}"
        )
    )
    assert one.options.limit == 20
    assert recipes.load(written(tmp_path, yaml.safe_dump(one.resolve()))) == one
    with pytest.raises(BadSetting, match=r"mine\.yaml:1: .*no module 'nowhere'"):
        recipes.load(written(tmp_path, "task: {kind: 'nowhere:Mine'}"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("evaluation", "evaluation.temperature (default 1.0"),
        ("evaluation.top_k", "evaluation.top_k (default 0"),
        ("nlpo", "algorithm.nlpo.preset (one of paper, rl4lms)"),
        ("ppo", "algorithm.ppo.preset (one of paper, rl4lms, trl)"),
        ("algorithm.nlpo.preset", "algorithm.nlpo.preset (one of paper, rl4lms)"),
        ("preset", "algorithm.nlpo.preset (one of paper, rl4lms)"),
        ("diversity", "metric.diversity.window (default 100"),
        ("sentiment", "reward.sentiment.include_prompt (default True"),
        ("metric.perplexity", "metric.perplexity."),
    ],
)
def test_describe_knows_every_section(name, said):
    assert said in recipes.describe(name)
    assert "preset" not in recipes.describe("supervised")


@pytest.mark.parametrize("name", ["algorithm.ppo.clip", "ppo.clip", "clip"])
def test_describe_knows_every_way_to_write_a_setting(name):
    assert "algorithm.ppo.clip (default 0.2" in recipes.describe(name)


def remarks(name, *overrides, **more):
    """The remarks on a recipe, in order."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        recipes.load(name, overrides, **more)
    return [str(one.message) for one in seen if issubclass(one.category, Remark)]


MADE_BY = {
    "shape": "llama",
    "layers": 3,
    "width": 64,
    "heads": 2,
    "context": 64,
    "vocabulary": 300,
    "tokenizer_texts": 9,
    "dropout": 0.2,
}


ELSEWHERE = """
task: {kind: generation, source: SOURCE, labels: ["0", "1"], label_field: stars, columns: {body: text}}
rewards: {intent_accuracy: {weight: 0.5, path: no/such}, mine: {of: bert_score, path: NETWORK}}
metrics: {parent: {}, spice: {jar: no/such.jar}, bert_score: {path: NETWORK}, sentiment: {classifier: a/b,
    label: 3}}
training: {only: {label: "1"}}
"""


def test_the_smoke_profile_needs_no_rows_networks_or_programs(tmp_path):
    path = written(
        tmp_path, ELSEWHERE.replace("SOURCE", "path, path: nowhere").replace("NETWORK", str(tmp_path))
    )
    [remark] = remarks(path, profile="smoke")
    assert remark.startswith(
        "mine.yaml:2: task.path: there is no file or folder nowhere; the profile smoke takes built-in rows "
        "in its place"
    )
    one = recipes.load(path, profile="smoke")
    assert (one.options.source, one.options.path, one.options.labels, one.options.label_field) == (
        "builtin",
        "",
        (),
        "",
    )
    assert (one.options.columns, one.training.only) == (Record(), Record())
    assert one.rewards == Record(
        intent_accuracy=Record(of="lexicon", weight=0.5), mine=Record(of="bert_score", path=str(tmp_path))
    )
    stands_in = Record(of="lexicon")
    sentiment = Record(classifier="", label=1)
    assert one.metrics == Record(
        parent=stands_in, spice=stands_in, bert_score=Record(path=str(tmp_path)), sentiment=sentiment
    )
    assert recipes.load(path).options.source == "path"


def test_the_smoke_profile_keeps_rows_that_are_here(tmp_path):
    path = written(
        tmp_path, ELSEWHERE.replace("SOURCE", f"path, path: {tmp_path}").replace("NETWORK", str(tmp_path))
    )
    assert remarks(path, profile="smoke") == []
    one = recipes.load(path, profile="smoke")
    assert (one.options.source, one.options.labels, one.training.only, one.metrics["parent"]) == (
        "path",
        ("0", "1"),
        Record(label="1"),
        Record(),
    )
    path = written(
        tmp_path, ELSEWHERE.replace("SOURCE", "path, path: nowhere").replace("NETWORK", str(tmp_path))
    )
    assert recipes.load(path, [f"task.path={tmp_path}"], profile="smoke").options.path == str(tmp_path)


@pytest.mark.parametrize(
    "reward",
    [
        "{path: no/such, weight: [1]}",
        "{path: [1], weight: much}",
        "{path: ~nobody/x, of: [1]}",
        "{path: {a: 1}}",
        "{path: x, layr: 3}",
    ],
)
def test_what_is_no_reward_is_refused_at_smoke_too(tmp_path, reward):
    with pytest.raises(BadSetting):
        recipes.load(
            written(tmp_path, f"task: generation\nrewards: {{bert_score: {reward}}}"), profile="smoke"
        )


@pytest.mark.parametrize(("name", "value"), MADE_BY.items(), ids=MADE_BY)
def test_a_setting_of_a_model_to_be_made_is_remarked_beside_a_path(tmp_path, name, value):
    [said] = remarks("reviews_ppo", f"model.{name}={value}")
    assert said.startswith(
        f"command line: model.{name} = {value!r} has no effect: model.path = 'runs/base' (reviews_ppo.yaml:4)"
    )
    path = written(tmp_path, f"task: generation\nmodel:\n  path: mine\n  {name}: {value}\n")
    [said] = remarks(path)
    assert said.startswith(
        f"mine.yaml:4: model.{name} = {value!r} has no effect: model.path = 'mine' (mine.yaml:3)"
    )
    assert remarks(written(tmp_path, f"model: {{{name}: {value}}}")) == []


def test_what_a_path_replaces_is_not_remarked(tmp_path):
    # the recipe makes a model; the command line takes another instead
    assert remarks("reviews_base", "model.path=mine") == []
    assert remarks("reviews_ppo", "model.path=", "model.layers=3") == []
    assert remarks("reviews_ppo", "model.path=mine", profile="smoke") == []
    assert remarks("reviews_ppo", "model.layers=3", profile="smoke") == []
    assert len(remarks("reviews_base", "model.path=mine", "model.layers=3", "model.width=64")) == 2
    assert remarks("reviews_base", "model.revision=main") == [
        "command line: model.revision = 'main' has no effect: it is the revision of a model.path, "
        "and there is none"
    ]
    with pytest.raises(
        BadSetting, match=r"model\.layers must be .*, got -1"
    ):  # without effect is not without a check
        recipes.load("reviews_ppo", ["model.layers=-1"])


def test_what_has_no_effect_is_neither_written_out_nor_part_of_the_fingerprint(tmp_path):
    with pytest.warns(Remark):
        asked = recipes.load("reviews_ppo", ["model.layers=3"])
    assert asked == recipes.load("reviews_ppo")
    assert asked.resolve()["model"].keys().isdisjoint(MADE_BY)
    assert MADE_BY.keys() <= recipes.load("reviews_base").resolve()["model"].keys()
    assert remarks(written(tmp_path, asked.yaml())) == []
    assert (
        recipes.load("reviews_base", ["model.layers=3"]).fingerprint
        != recipes.load("reviews_base").fingerprint
    )


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.heads=3", "heads = 3"),
        ("training.evaluate_every=0", "stop_metric"),
        ("algorithm.total_steps=9", "total_steps = 9"),
        ("decoding.min_new_tokens=99", "min_new_tokens = 99"),
        ("metrics.text_perplexity={}", "needs path"),
        ("model.path= model.lora.rank=3", "model.lora.rank = 3 needs an existing model"),
    ],
)
def test_an_override_that_a_section_refuses_is_blamed_on_the_command_line(override, said):
    with pytest.raises(BadSetting, match=f"^command line: .*{said}"):
        recipes.load(
            "reviews_base",
            [
                "training.seed=3",
                "decoding.top_k=3",
                "model.dtype=float64",
                "algorithm.epochs=2",
                *override.split(),
            ],
        )


def test_adapters_on_a_model_that_the_profile_removed_say_so(tmp_path):
    with pytest.raises(
        BadSetting, match=r"^command line: model\.lora\.rank = 2 .*profile.*model\.path=FOLDER"
    ):
        recipes.load("reviews_a2c", ["model.lora.rank=2"], profile="smoke")
    path = f"model.path={tmp_path}"
    kept = recipes.load("reviews_a2c", ["model.lora.rank=2", path], profile="smoke").model
    assert (kept.path, kept.lora.rank) == (str(tmp_path), 2)


@pytest.mark.parametrize(
    "override", ["model.lora.rank=8", "model.width=33", "training.episodes=5", "training.answers=3"]
)
def test_what_was_typed_is_blamed_not_the_profile_beside_it(override):
    section = override.partition(".")[0]
    with pytest.raises(BadSetting, match=rf"^command line: {section}\."):
        recipes.load("reviews_grpo", [override], profile="smoke")


def test_a_section_that_is_wrong_by_itself_is_blamed_on_its_line(tmp_path):
    path = written(tmp_path, "task: generation\ntraining:\n  stop_metric: return\n  evaluate_every: 0\n")
    with pytest.raises(BadSetting, match=r"^mine\.yaml:2: .*stop_metric"):
        recipes.load(path, ["training.seed=3"])


@given(some.text())
def test_any_text_survives_being_written_out(text):
    one = recipes.load("wordle_clone").replace()
    one = dataclasses.replace(one, name=text, model=dataclasses.replace(one.model, reference=text))
    assert parse(one.yaml(), "f").bare() == one.resolve()


@pytest.mark.parametrize(
    "text",
    [
        "1e5",
        "-1E5",
        "1e-5",
        ".5e1",
        "1_0e5",
        "12",
        "true",
        "null",
        "~",
        "inf",
        "2020-01-01",
        "a: b",
        "# x",
        "",
        " ",
        "\ud800",
        "=",
        "<<",
    ],
)
def test_a_path_like_a_number_is_read_back_as_text(tmp_path, text):
    one = recipes.load("reviews_ppo")
    one = dataclasses.replace(one, model=dataclasses.replace(one.model, path=text or "x"))
    assert recipes.load(written(tmp_path, one.yaml())) == one
    assert one.replace().model.path == (text or "x")
    assert parse(dump({"a": [text]}), "f").bare() == {"a": [text]}
    assert parse("a: [1e5]", "f").bare() == {"a": [1e5]}  # the twin: without quotes it is a number


def test_a_recipe_that_is_no_text_is_named(tmp_path):
    (tmp_path / "mine.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadSetting, match=r"mine\.yaml:1: byte 0xff is not UTF-8"):
        recipes.load(tmp_path / "mine.yaml")


def test_a_key_twice_on_the_command_line_says_so():
    with pytest.raises(BadSetting, match=r"^command line: .a. is repeated"):
        recipes.load("reviews_ppo", ["training.only={a: 1, a: 2}"])


def test_a_setting_that_must_be_given_says_so():
    @dataclasses.dataclass(frozen=True)
    class Needs:
        count: int = setting(why="how many")

    with pytest.raises(BadSetting, match=r"^f:1: s\.count must be an integer, got 'x'$"):
        fill(Needs, parse("count: x", "f"), "s")
