"""The commands of a run, from training to export, on a model small enough to train in a second."""

import io
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from loquent.bench import quickstart, suite
from loquent.cli import main as cli
from loquent.core import episode
from loquent.core.agent import Question
from loquent.core.episode import TASK, Turn
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.data.pools import held_out
from loquent.files.run_folder import RunFolder
from loquent.training import recipes
from loquent.training.run import load_run
from loquent.training.start import make_task

pytest.importorskip("torch")

SMALL = ["task.limit=200", "training.seed=3"]


@pytest.fixture(scope="module")
def runs(base_run, tmp_path_factory):
    """A base model and a PPO run from it, made by the command."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(base_run, folder / "base")
    start = [f"model.path={folder / 'base'}", "training.checkpoint_every=1"]
    assert (
        cli.main(["train", "reviews_ppo", *SMALL, *start, "--profile", "smoke", "--out", str(folder / "ppo")])
        == 0
    )
    return folder


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", [name for name in recipes.names() if not name.startswith("grue_")])
def test_the_smoke_profile_runs_any_recipe_in_a_fresh_folder(name, tmp_path, monkeypatch):
    from loquent.training.train import train

    monkeypatch.chdir(tmp_path)
    before = time.perf_counter()
    found = train(recipes.load(name, profile="smoke"), "run", progress=False)
    print(f"{name}: {time.perf_counter() - before:.1f} s")
    assert [line["update"] for line in found.metrics] == [1, 2]
    assert found.evaluation["n"] == 4
    assert recipes.load(name, ["training.updates=1"], profile="smoke").training.updates == 1


def last_line(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_train_says_what_the_run_reached(runs, capsys):
    line = [
        "train",
        "reviews_ppo",
        *SMALL,
        f"model.path={runs / 'base'}",
        "--profile",
        "smoke",
        "--out",
        str(runs / "again"),
        "--json",
    ]
    assert cli.main(line) == 0
    found = last_line(capsys)
    assert found["updates"] == 2
    assert found["evaluation"]["n"] == 4
    assert {"return", "sentiment/positive", "perplexity"} <= set(found["evaluation"]["values"])
    log = [json.loads(text) for text in (runs / "again" / "metrics.jsonl").read_text().splitlines()]
    assert [text["update"] for text in log] == [1, 2]


def test_a_folder_that_holds_a_run_is_refused(runs, capsys):
    assert (
        cli.main(
            [
                "train",
                "reviews_ppo",
                *SMALL,
                f"model.path={runs / 'base'}",
                "--profile",
                "smoke",
                "--out",
                str(runs / "ppo"),
            ]
        )
        == 2
    )
    assert "holds a run already" in capsys.readouterr().err


def test_resume_makes_the_run_it_would_have_been(runs, tmp_path, capsys):
    whole, cut = runs / "ppo", tmp_path / "cut"
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / "update-2")
    (cut / "evaluation.json").unlink()
    assert cli.main(["resume", str(cut), "--json"]) == 0
    found = last_line(capsys)
    assert found["evaluation"] == load_run(whole).evaluation
    assert (cut / "metrics.jsonl").read_text() == (whole / "metrics.jsonl").read_text()


def test_evaluate_gives_errors_beside_means(runs, capsys):
    assert cli.main(["evaluate", str(runs / "ppo"), "--episodes", "6", "--json"]) == 0
    found = last_line(capsys)
    assert found["n"] == 6
    assert found["split"] == "test"
    assert 0 <= found["values"]["reward/sentiment"] <= 1
    assert found["errors"]["reward/sentiment"] >= 0


def test_generate_repeats_itself_and_follows_its_seed(runs, capsys):
    line = [
        "generate",
        str(runs / "ppo"),
        "--prompt",
        "the film was",
        "--prompt",
        "a\x1b[31m",
        "--number",
        "2",
        "--max-new-tokens",
        "5",
        "--json",
    ]
    texts = []
    for seed in ("0", "0", "1"):
        assert cli.main([*line, "--seed", seed]) == 0
        said = capsys.readouterr().out
        assert "\x1b" not in said, "what a model or a prompt holds is shown escaped"
        texts.append(json.loads(said.splitlines()[-1])["texts"])
    assert texts[0] == texts[1] != texts[2]
    assert [pair["prompt"] for pair in texts[0]] == ["the film was"] * 2 + ["a\x1b[31m"] * 2


def test_generate_says_what_it_cut(runs, capsys):
    line = ["generate", str(runs / "ppo"), "--number", "1", "--max-new-tokens", "5"]
    assert cli.main([*line, "--prompt", "good " * 5000, "--prompt", "good"]) == 0
    errors = capsys.readouterr().err
    assert "1 of 2 prompts are too long" in errors
    assert "room for 1019 tokens" in errors
    cut = int(errors.partition("the first ")[2].split()[0])
    assert cut > 1000
    assert cli.main([*line, "--prompt", "good"]) == 0
    assert "too long" not in capsys.readouterr().err
    assert cli.main([*line[:-1], "1020"]) == 0  # a row of the task, and little room
    assert "prompts are too long" in capsys.readouterr().err


def test_generate_draws_with_the_mask_that_evaluation_draws_with(runs, tmp_path, capsys):
    said = {}
    for masked in ("true", "false"):
        out = str(tmp_path / masked)
        more = [
            f"model.path={runs / 'base'}",
            "algorithm.top_p=0.05",
            f"algorithm.mask_in_evaluation={masked}",
            "training.updates=1",
        ]
        assert cli.main(["train", "reviews_nlpo", *SMALL, *more, "--profile", "smoke", "--out", out]) == 0
        capsys.readouterr()
        assert cli.main(["generate", out, "--number", "4", "--seed", "3", "--json"]) == 0
        said[masked] = [pair["text"] for pair in last_line(capsys)["texts"]]
        again = play(
            load_run(out).task(),
            games(load_run(out).task().rows("test")[:4]),
            load_run(out).agent(),
            seed=3,
            split="test",
        )
        assert said[masked] == [one.answers()[0].text for one in again]
    assert said["true"] != said["false"]


def test_a_run_acts_when_its_reference_is_gone(runs, tmp_path, capsys):
    reference, out = tmp_path / "reference", tmp_path / "run"
    shutil.copytree(runs / "base", reference)
    start = [f"model.path={runs / 'base'}", f"model.reference={reference}", "training.updates=1"]
    assert cli.main(["train", "reviews_ppo", *SMALL, *start, "--profile", "smoke", "--out", str(out)]) == 0
    acting = (
        ["generate", str(out), "--number", "2", "--json"],
        ["evaluate", str(out), "--episodes", "3", "--json"],
    )
    said = {}
    for gone in (False, True):
        capsys.readouterr()
        said[gone] = []
        for line in acting:
            assert cli.main(line) == 0
            said[gone].append(last_line(capsys))
        if not gone:
            shutil.rmtree(reference)
            next((out / "checkpoints").glob("reference-*")).unlink()
    assert said[True] == said[False]


def test_generate_takes_rows_of_the_runs_task(runs, capsys):
    assert cli.main(["generate", str(runs / "ppo"), "--number", "3", "--json"]) == 0
    assert len({pair["prompt"] for pair in last_line(capsys)["texts"]}) == 3


def test_generate_marks_every_answer_and_parts_the_rows(tmp_path, capsys):
    small = ["task.limit=30", "--profile", "smoke", "--out", str(tmp_path / "run")]
    assert cli.main(["train", "wordle_clone", *small]) == 0
    capsys.readouterr()
    assert cli.main(["generate", str(tmp_path / "run"), "--number", "2", "--json"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    games = "\n".join(lines).split("\n\n")
    assert len(games) == len(json.loads(last)["texts"]) == 2
    assert all(game.count("  -> ") > 1 for game in games), "several turns"


def test_show_takes_the_folder_of_a_run(runs, capsys):
    assert cli.main(["show", str(runs / "ppo")]) == 0
    assert capsys.readouterr().out == (runs / "ppo" / "config.yaml").read_text()


def test_export_is_a_folder_that_transformers_alone_loads(runs, tmp_path, capsys):
    assert cli.main(["export", str(runs / "ppo"), str(tmp_path / "exported"), "--json"]) == 0
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = last_line(capsys)["folder"]
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model(**tokenizer("the film", return_tensors="pt")).logits.shape[-1] == model.config.vocab_size
    assert cli.main(["export", str(runs / "ppo"), str(tmp_path / "exported")]) == 2, (
        "a folder that is not empty is refused"
    )
    assert cli.main(["generate", folder, "--prompt", "the", "--number", "1"]) == 0
    assert cli.main(["generate", folder]) == 2
    assert "--prompt" in capsys.readouterr().err


@pytest.mark.parametrize("place", [".", "checkpoints/update-2", "checkpoints/update-2/policy"])
def test_an_exported_run_has_what_a_server_needs(place, runs, tmp_path):
    from transformers import AutoTokenizer, GenerationConfig

    assert cli.main(["export", str(runs / "ppo" / place), str(tmp_path / "out")]) == 0
    agent, tokenizer = load_run(runs / "ppo").agent(), AutoTokenizer.from_pretrained(tmp_path / "out")
    task = load_run(runs / "ppo").task()
    for played in play(task, games(task.rows("test")[:5]), agent, seed=0, split="test"):
        seen = played.seen_by("agent")
        messages = [
            {"role": "user" if turn.seat == "task" else "assistant", "content": turn.text} for turn in seen
        ]
        assert tokenizer.apply_chat_template(messages[:1], return_dict=False) == list(
            agent.format.prompt("", seen[:1], "agent", 999)[0]
        )
        ids = [
            i
            for piece in agent.format.pieces(
                "", [*seen[:1], replace(seen[1], tokens=None, stopped="end")], "agent"
            )
            for i in piece.ids
        ]
        assert tokenizer.apply_chat_template(messages[:2], return_dict=False) == ids
    assert GenerationConfig.from_pretrained(tmp_path / "out").eos_token_id == next(iter(agent.format.end))
    about = json.loads((tmp_path / "out" / "loquent.json").read_text())
    assert (about["task"]["kind"], about["format"], about["template_is_exact"]) == (
        "generation",
        "plain",
        True,
    )
    assert about["evaluation"]["max_new_tokens"] == load_run(runs / "ppo").recipe.evaluation.max_new_tokens


def test_every_file_of_a_run_and_of_its_export_has_the_usual_mode(runs, tmp_path):
    assert cli.main(["export", str(runs / "ppo"), str(tmp_path / "out")]) == 0
    (tmp_path / "new").touch()
    usual = (tmp_path / "new").stat().st_mode
    written = [
        file for place in (runs / "ppo", tmp_path / "out") for file in place.rglob("*") if file.is_file()
    ]
    assert "model.safetensors" in {file.name for file in written}
    assert [file.name for file in written if file.stat().st_mode != usual] == []


def test_an_exported_run_answers_as_the_run_does(runs, tmp_path):
    """As a server makes an answer: the template's ids, greedy decoding by transformers, and its own
    generation config to stop.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert cli.main(["export", str(runs / "ppo"), str(tmp_path / "out")]) == 0
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(tmp_path / "out"),
        AutoTokenizer.from_pretrained(tmp_path / "out"),
    )
    agent, task = (
        load_run(runs / "ppo").agent(method="greedy", max_new_tokens=8),
        load_run(runs / "ppo").task(),
    )
    for played in play(task, games(task.rows("test")[:5]), agent, seed=0, split="test"):
        prompt, answer = played.seen_by("agent")[:2]
        given = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt.text}], add_generation_prompt=True, return_tensors="pt"
        )
        made = model.generate(**given, max_new_tokens=8, do_sample=False)[0, given["input_ids"].shape[1] :]
        assert tokenizer.decode(made, skip_special_tokens=True) == answer.text


def test_a_run_and_a_model_play_as_agents(runs, tmp_path, capsys):
    out = tmp_path / "made"
    assert (
        cli.main(
            [
                "collect",
                "generation",
                "limit=50",
                "--agent",
                str(runs / "ppo"),
                "--episodes",
                "5",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert len(list(episode.read(out / "episodes.jsonl"))) == 5
    assert (
        cli.main(["play", "wordle", "--agent", str(runs / "base" / "checkpoints" / "update-2" / "policy")])
        == 0
    )


def test_show_writes_out_what_load_takes_back(tmp_path, capsys):
    assert cli.main(["show", "reviews_nlpo", "algorithm.top_p=0.5"]) == 0
    shown = capsys.readouterr().out
    (tmp_path / "mine.yaml").write_text(shown)
    from loquent.training import recipes

    assert (
        recipes.load(tmp_path / "mine.yaml").fingerprint
        == recipes.load("reviews_nlpo", ["algorithm.top_p=0.5"]).fingerprint
    )
    assert recipes.load(tmp_path / "mine.yaml").fingerprint != recipes.load("reviews_nlpo").fingerprint


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("clip", "1707.06347"),
        ("nlpo", "top_p"),
        ("training.updates", "collects episodes"),
        ("wordle", "rule"),
    ],
)
def test_help_says_what_a_setting_means(setting, says, capsys):
    assert cli.main(["help", setting]) == 0
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["train", "reviews_pop"], ["reviews_ppo"]),
        (["train", "reviews_ppo", "algorithm.clipp=0.1"], ["clipp", "clip"]),
        (["train", "reviews_ppo", "algorithm.lam=2"], ["lam", "[0, 1]"]),
        (["train", "reviews_ppo", "algorithm.epochs=many"], ["epochs", "many", "int"]),
        (["train", "reviews_ppo", "model.path=nowhere"], ["nowhere"]),
        (["train", "missing.yaml"], ["missing.yaml"]),
        (["help", "clipp"], ["clipp", "clip"]),
        (["show", "reviews_pop"], ["reviews_ppo"]),
        (["evaluate", "nowhere"], ["nowhere"]),
        (["resume", "nowhere"], ["nowhere"]),
        (["export", "nowhere", "x"], ["nowhere"]),
        (["generate", "nowhere", "--prompt", "x"], ["nowhere"]),
        (["quickstart", "--out", "."], ["not empty"]),
    ],
)
def test_a_wrong_word_is_answered_in_one_line(line, says, folder, capsys):
    assert cli.main([*line, "--out", "o"] if line[0] == "train" else line) == 2
    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    assert all(text in errors for text in says), errors


def test_a_wrong_key_in_a_file_names_file_and_line(folder, capsys):
    (folder / "mine.yaml").write_text("task: generation\nalgorithm:\n  kind: nlpo\n  top_q: 0.9\n")
    assert cli.main(["train", "mine.yaml", "--out", "o"]) == 2
    errors = capsys.readouterr().err
    assert "mine.yaml:4" in errors
    assert "top_p" in errors


def test_quickstart_gives_its_table_as_json(tmp_path, capsys):
    out = tmp_path / "quick"
    line = ["quickstart", "--out", str(out), "--profile", "smoke", "--processes", "1", "task.limit=200"]
    assert cli.main([*line, "--json"]) == 0
    found = last_line(capsys)
    assert found["processes"] == 1
    assert [row["method"] for row in found["rows"]] == ["zero-shot", "supervised", "ppo", "nlpo", "ppo-no-kl"]
    assert all({"sentiment", "perplexity", "judge", "distinct_2"} <= set(row) for row in found["rows"])
    assert found["seconds"]
    sizes = {"episodes": found["n"], "rows": found["n"]}
    assert found["evaluated"] == sizes, "each prompt is played once"
    line = f"evaluated by {found['n']} episodes on {found['n']} rows."
    text = (out / "table.md").read_text()
    assert line in text
    assert text.rstrip().endswith(quickstart.ONE_RUN), "what other settings gave is not what these give"
    assert json.loads((out / "table.json").read_text())["rows"] == found["rows"]
    samples = RunFolder(out / "ppo-0").evaluation_samples()
    evaluation = RunFolder(out / "ppo-0").evaluation()
    assert {"sentiment/positive", "judge/positive"} <= samples.keys(), "metrics that are means over texts"
    assert "perplexity" not in samples, "a score of all texts together"
    for key, column in samples.items():
        assert sum(column) / found["n"] == pytest.approx(evaluation["values"][key])
    games = {
        path.parent.name: [(one.row, one.number, one.seed, one.turns[0].text) for one in episode.read(path)]
        for path in out.glob("*/episodes.jsonl")
    }
    assert games.keys() == {"base", *(f"{row['method']}-0" for row in found["rows"])}
    compared = [played for name, played in games.items() if name != "base"]
    assert all(played == compared[0] for played in compared), (
        "every method is asked the same prompts with the same streams"
    )
    trained = {row["prompt"] for row in load_run(out / "ppo-0").task().rows("train")}
    assert trained.isdisjoint(prompt for *_, prompt in compared[0])


def test_one_run_says_how_far_recorded_runs_lie_apart():
    assert quickstart.one_run({}) == quickstart.ONE_RUN
    assert quickstart.one_run({"pairs": 5, "deviations": {"ppo": 0.0449, "nlpo": 0.02}}) == (
        f"{quickstart.ONE_RUN} Over 5 recorded pairs of base and seed, the standard deviation of sentiment "
        "was 0.045 (ppo), 0.020 (nlpo); on another processor or at another commit it may be larger."
    )


def test_quickstart_of_two_seeds_gives_means_and_deviations_over_two_bases(tmp_path, capsys):
    out = tmp_path / "quick"
    assert (
        cli.main(
            [
                "quickstart",
                "--out",
                str(out),
                "--profile",
                "smoke",
                "--seeds",
                "2",
                "--processes",
                "1",
                "task.limit=200",
                "--json",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    found = json.loads(printed.splitlines()[-1])
    assert found["seeds"] == 2
    bases = [out / "base", out / "base-1"]
    assert sorted(out.glob("base*")) == bases
    for row in found["rows"]:
        runs = [
            json.loads((out / f"{row['method']}-{seed}" / "evaluation.json").read_text())["values"]
            for seed in (0, 1)
        ]
        one, other = (values["sentiment/positive"] for values in runs)
        assert row["sentiment"] == pytest.approx((one + other) / 2)
        assert row["sentiment/sd"] == pytest.approx(abs(one - other) / 2**0.5)
        if row["method"] != "zero-shot":
            starts = [load_run(out / f"{row['method']}-{seed}").recipe.model.path for seed in (0, 1)]
            assert starts == [str(base) for base in bases]
    assert any(row["sentiment/sd"] > 0 for row in found["rows"])
    lines = [
        line
        for line in printed.splitlines()
        if line.startswith(("| ppo", "| nlpo", "| supervised", "| zero-shot"))
    ]
    assert len(lines) == 5
    assert all("±" in line for line in lines)
    *table, _, evaluated = (out / "table.md").read_text().splitlines()
    assert table[2:] == lines
    assert (
        " rows; ± is the standard deviation over seeds, each from its own base model. Decoding" in evaluated
    )
    assert found["bases"] == 2


def test_the_methods_of_the_quickstart_are_compared_on_the_same_unseen_prompts():
    asked, shown = [], set()
    for name in {cell.recipe for cell in suite.load("quickstart").cells.values()}:
        one = recipes.load(name)
        task = make_task(one)
        rows = held_out(task, one.training.final_split, one.training.final_episodes)
        asked.append([(row.id, row["prompt"]) for chunk in rows for row in chunk])
        shown |= {
            row["prompt"]
            for split in (one.training.split, one.training.evaluate_split)
            for row in task.rows(split)
        }
    assert len(asked[0]) == len(set(asked[0])) == 300
    assert all(one == asked[0] for one in asked)
    assert shown.isdisjoint(prompt for _, prompt in asked[0])
    assert not shown.isdisjoint(row["prompt"] for row in task.rows("validation")), "the comparison can fail"


@pytest.mark.parametrize("name", ["a: b", "123", "1e5", "été # 'x' \"y\"", "x" * 300 + " " + "y" * 300])
def test_a_folder_of_any_name_is_a_path_in_an_override(name):
    from loquent.core.options import tree
    from loquent.training.recipes.overrides import of_file

    path = of_file({"model.path": tree(name, "suite", None)})
    assert recipes.load("reviews_ppo", path).model.path == name


@pytest.mark.sweep("1")
@pytest.mark.parametrize("many", ["1", "2"])
def test_quickstart_takes_any_folder_any_processes_and_settings_of_the_zero_shot_stage(
    many, tmp_path, capsys
):
    tables = {}
    for folder, processes, more in (
        ("a: b", many, []),
        ("123", "1", ["zero-shot:decoding.max_new_tokens=1"]),
    ):
        line = [
            "quickstart",
            "--out",
            str(tmp_path / folder),
            "--profile",
            "smoke",
            "--processes",
            processes,
            "task.limit=200",
            *more,
            "--json",
        ]
        assert cli.main(line) == 0
        tables[folder] = {row.pop("method"): row for row in last_line(capsys)["rows"]}
    one, other = tables.values()
    assert other.pop("zero-shot")["words"] <= 1 < one.pop("zero-shot")["words"]
    assert one == other, "neither another stage's settings nor the number of processes change a number"


def test_compare_judges_models_by_the_rewards_of_a_run(runs, tmp_path, capsys):
    """An export plays as its run does, a base model in the run's format and decoding, each once."""
    policy, checkpoint = runs / "base/checkpoints/update-2/policy", runs / "ppo/checkpoints/update-1"
    plain, exported, page = (str(tmp_path / name) for name in ("plain", "exported", "page.html"))
    shutil.copytree(policy, plain)
    assert cli.main(["export", str(runs / "ppo"), exported]) == 0
    players = [str(runs / "ppo"), exported, plain, str(checkpoint), "random"]
    assert cli.main(["compare", *players, "--episodes", "6", "--out", page, "--json"]) == 0
    found = last_line(capsys)
    assert list(found["players"]) == players
    assert cli.main(["evaluate", players[0], "--episodes", "6", "--json"]) == 0
    alone = last_line(capsys)
    assert found["players"][players[0]]["values"] == alone["values"]
    differences = {(one["player"], one["key"]): one["difference"]["mean"] for one in found["differences"]}
    assert {value for (player, _), value in differences.items() if player == exported} == {0.0}
    assert differences[plain, "perplexity"] != 0 != differences[str(checkpoint), "perplexity"]
    assert len({own["decoding"] for label, own in found["players"].items() if label != "random"}) == 1
    assert ("random", "perplexity") not in differences
    assert any("random has no perplexity" in note for note in found["notes"])
    assert "Answers side by side" in Path(page).read_text("utf-8")


def test_compare_decodes_all_models_as_it_is_told(runs, capsys):
    players = [str(runs / "ppo"), str(runs / "base")]
    assert cli.main(["compare", *players, "evaluation.method=greedy", "--episodes", "2", "--json"]) == 0
    found = last_line(capsys)
    assert {own["decoding"] for own in found["players"].values()} == {"greedy"}
    assert cli.main(["compare", *players, "training.seed=1"]) == 2
    assert "settings of evaluation, metrics, rewards, task can" in capsys.readouterr().err


def chat(words, typed, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert cli.main(["chat", *words, "--max-new-tokens", "6", "--json"]) == 0
    said = capsys.readouterr().out
    return said, json.loads(said.splitlines()[-1])["models"]


def test_chat_remembers_turns_and_takes_them_back(runs, monkeypatch, capsys):
    """The second answer is that of a question with both turns, the first with the tokens that were drawn."""
    who, agent = str(runs / "ppo"), load_run(runs / "ppo").agent(max_new_tokens=6)
    typed = "the film was\n/undo\n/undo\nit was\nand then\x1b[31m\n/nothing\n"
    said, [found] = chat([who, "--system", "be kind"], typed, monkeypatch, capsys)
    assert "there is no turn to take back" in said
    assert "/nothing is no command" in said
    assert "\x1b" not in said
    turns = []
    for number, text in ((1, "it was"), (2, "and then\x1b[31m")):
        turns.append(Turn(TASK, text, to="agent"))
        key = Key(0, ("chat", number))
        [answer] = agent.answer([Question(who, tuple(turns), Observation(text), key, "be kind")])
        turns.append(Turn("agent", answer.text, stopped=answer.stopped, tokens=answer.tokens))
    assert [message["content"] for message in found["messages"]] == [turn.text for turn in turns]
    assert found["system"] == "be kind"


def test_chat_puts_two_checkpoints_side_by_side(runs, monkeypatch, capsys):
    whos = [str(runs / "base"), str(runs / "ppo/checkpoints/update-1")]
    said, found = chat(whos, "the film was\n/system be kind\nit was\n/quit\nmore\n", monkeypatch, capsys)
    assert [said.count(f"{who}> ") for who in whos] == [2, 2]
    assert [own["system"] for own in found] == ["be kind"] * 2
    assert {own["messages"][0]["content"] for own in found} == {"it was"}
    assert [len(own["messages"]) for own in found] == [2, 2]


@pytest.mark.parametrize(
    ("whos", "said"),
    [(["base", "base"], "named twice"), (["base", "ppo", "x"], "3 models"), (["x"], "x: no tokenizer")],
)
def test_chat_refuses_what_it_cannot_talk_with(whos, said, runs, monkeypatch, capsys):
    monkeypatch.chdir(runs)
    assert cli.main(["chat", *whos]) == 2
    assert said in capsys.readouterr().err
