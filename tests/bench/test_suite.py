"""Suites: every name stands for something, every mistake names its place, and what cells have in common is
planned once.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from loquent.bench import jobs, results
from loquent.bench import suite as suites
from loquent.bench.schema import paper_tables
from loquent.errors import BadSetting, UnknownName
from loquent.training import recipes
from loquent.training.recipes import kinds


def planned(suite, profile="cpu", seeds=2, overrides=()):
    whole = suites.load(suite)
    return jobs.plan(whole, Path("out"), profile, seeds, jobs.by_entry(overrides, list(whole.entries)))


def test_stages_come_first_and_equal_cells_share_a_run(suite):
    plan = planned(suite)
    assert [job.folder.name for job in plan.jobs] == [
        "base",
        "zero-0",
        "base-1",
        "zero-1",
        "ppo-0",
        "ppo-1",
        "expert-0",
        "expert-1",
    ]
    assert plan.cells["ppo"] == plan.cells["same"] != plan.cells["zero"]
    base, ppo = plan.jobs[0], plan.jobs[4]
    assert (ppo.recipe.model.path, ppo.needs) == (str(base.folder), (base.key,))
    assert [job.recipe.training.seed for job in plan.jobs if job.name == "ppo"] == [0, 1]
    assert ppo.recipe.config.gamma == 0.9
    assert ppo.recipe.training.final_episodes == 4


def test_a_key_says_what_a_run_does_wherever_it_lies(suite):
    here = planned(suite)
    whole = suites.load(suite)
    there = jobs.plan(whole, Path("elsewhere"), "cpu", 2, {})
    assert [job.key for job in here.jobs] == [job.key for job in there.jobs]
    changed = planned(suite, overrides=["base:algorithm.learning_rate=0.5"])
    assert [a.key == b.key for a, b in zip(here.jobs, changed.jobs, strict=True)] == [False] * 6 + [
        True
    ] * 2, "and what it starts from"


def test_overrides_are_for_all_or_for_one(suite):
    plan = planned(suite, overrides=["training.final_episodes=7", "ppo:algorithm.clip=0.3"])
    found = {job.folder.name: job.recipe for job in plan.jobs}
    assert {one.training.final_episodes for one in found.values()} == {7}
    assert (found["ppo-0"].config.clip, found["zero-0"].config.clip) == (0.3, 0.2)
    some = planned(suite, overrides=["*o:training.final_episodes=9"])
    assert {job.name: job.recipe.training.final_episodes for job in some.jobs} == {
        "base": 4,
        "zero": 9,
        "ppo": 9,
        "same": 4,
        "expert": 4,
    }
    with pytest.raises(BadSetting, match=r"names no stage"):
        planned(suite, overrides=["x*:x=1"])
    with pytest.raises(BadSetting, match=r"'pop:x=1' names no stage; known: base, zero"):
        planned(suite, overrides=["pop:x=1"])


def test_some_cells_alone_are_run_with_what_they_start_from(suite):
    whole = suites.load(suite)
    plan = jobs.plan(whole, Path("out"), "cpu", 1, {}, only=["ppo"])
    assert [job.folder.name for job in plan.jobs] == ["base", "ppo-0"]
    assert [job.key for job in plan.jobs] == [
        job.key for job in planned(suite, seeds=1).jobs if job.name in ("base", "ppo")
    ], "as in the whole"
    shown = suites.only(whole, ["ppo"])
    assert list(shown.cells) == ["ppo"]
    assert all(set(table.cells) == {"ppo"} for table in shown.tables)
    assert all(set(ordering.rising) <= {"ppo"} for ordering in shown.orderings)
    with pytest.raises(UnknownName, match="pop"):
        suites.only(whole, ["pop"])


def test_a_model_may_stand_in_for_a_stage(suite):
    whole = suites.with_model(suites.load(suite), "base", "my/model")
    plan = jobs.plan(whole, Path("out"), "cpu", 1, {})
    assert "base" not in [job.name for job in plan.jobs]
    assert plan.jobs[1].recipe.model.path == "my/model"


WRONG = [
    ("reviews_base", "reviews_bsae", ["small.yaml", "'reviews_bsae'", "reviews_base"]),
    ("<base>", "<bsae>", ["small.yaml", "'bsae'", "base"]),
    ("better: higher", "better: up", ["small.yaml", "'up'", "higher"]),
    ("cells: [zero,", "cells: [zeor,", ["small.yaml", "'zeor'", "zero"]),
    ("column: words, rising: [zero", "column: wrods, rising: [zero", ["small.yaml", "'wrods'", "words"]),
    ("cells: [ppo, same], key", "cells: [pop, same], key", ["small.yaml", "'pop'", "ppo"]),
    ("key: rollout/return", "kye: rollout/return", ["small.yaml", "'kye'", "key"]),
    ("rising: [ppo, same]", "rising: [ppo]", ["small.yaml", "at least two cells"]),
    ("seeds: 2", "seeds: 0", ["small.yaml", "seeds", "at least 1"]),
    ("seeds: 2", "seeds: 2\n    published: {zeor: ''}", ["small.yaml", "'zeor'", "zero"]),
    ("seeds: 2", "seeds: two", ["small.yaml", "'two'", "int"]),
    ("version: 3", "version: new", ["small.yaml", "version", "'new'"]),
    ("  zero: {", "  base: {", ["small.yaml", "'base'", "a stage and a cell"]),
    ("  zero: {", "  a zero: {", ["small.yaml", "'a zero'", "no name"]),
    ("title:", "titel:", ["small.yaml:3", "'titel'", "title"]),
    ("agent: expert", "agnet: expert", ["small.yaml", "'agnet'", "agent"]),
    ("any: {task", "reviews_pop: {task", ["small.yaml", "reviews_pop"]),
    (
        "  base: {recipe: reviews_base}",
        "  base: {recipe: reviews_base, at: {gpu: {}}}",
        ["small.yaml", "'gpu'", "cpu"],
    ),
    ("tables:", "tables: 3\nold:", ["small.yaml"]),
    ("title: Small", "title: [Small", ["small.yaml", "not YAML"]),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[new.strip() for _, new, _ in WRONG])
def test_a_mistake_is_named_with_its_place(suite, old, new, says):
    text = suite.read_text()
    assert old in text
    suite.write_text(text.replace(old, new))
    with pytest.raises((BadSetting, UnknownName)) as caught:
        suites.load(suite)
    assert all(word in str(caught.value) for word in says), str(caught.value)


def test_mistakes_that_only_planning_sees_name_the_entry(suite):
    text = suite.read_text()
    suite.write_text(text.replace("algorithm.gamma: 0.9", "algorithm.gamma: 2"))
    with pytest.raises(BadSetting, match=r"suite small, ppo: .*algorithm.gamma"):
        planned(suite)
    suite.write_text(
        text.replace("base: {recipe: reviews_base}", "base: {recipe: reviews_base, set: {model.path: <ppo>}}")
    )
    with pytest.raises(
        BadSetting,
        match=r"starts from base, which is a circle|starts from zero, which is a circle|which is a circle",
    ):
        planned(suite)
    with pytest.raises(UnknownName, match="gpu"):
        suites.load(suite).profile("gpu")
    suite.write_text(text.replace("table-5/Zero-Shot", "table-5/Zero-Shoot"))
    with pytest.raises(BadSetting, match="Zero-Shot"):
        results.check(suites.load(suite))
    suite.write_text("# nothing\ntitle: x\n")
    with pytest.raises(BadSetting, match="columns"):
        suites.load(suite)


@pytest.mark.parametrize(
    "value", [0.5, 1e-6, None, True, "inf", float("inf"), "a: b", "<x", [1, 2], {"label": 1}, "été", 'quo"te']
)
def test_an_override_gives_a_setting_this_very_value(value):
    from loquent.core.options import Node, tree
    from loquent.core.values import freeze
    from loquent.training.recipes.overrides import of_file, override

    root = override(Node({}, "x", None), of_file({"a.b": tree(value, "suite", None)}))
    assert root.plain()["a"]["b"] == freeze(value)


@pytest.mark.sweep("quickstart", "ilql-wordle", "ilql-dialogue")
@pytest.mark.parametrize("name", suites.names())
def test_the_built_in_suites_are_whole(name):
    whole = suites.load(name)
    results.check(whole)
    for profile in [*whole.profiles, "smoke"]:
        plan = jobs.plan(whole, Path("out"), profile, 2, {})
        made = {job.key for job in plan.jobs}
        assert {key for keys in plan.cells.values() for key in keys.values()} <= made
        assert all(needed in made for job in plan.jobs for needed in job.needs)
    shown = {cell for table in whole.tables for cell in table.cells}
    assert not whole.tables or shown == set(whole.cells)


def test_the_ablations_follow_the_paper():
    """Tables 5, 6 and 8 have 14, 6 and 9 rows of ours; the row that is in two of them is one run."""
    whole = suites.load("imdb-ablations")
    assert [len(table.cells) for table in whole.tables] == [14, 6, 9]
    assert sorted(entry.published for entry in whole.cells.values()) == sorted(
        f"{name}/{row}"
        for name, table in paper_tables.load("rl4lms").tables.items()
        for row in table.rows
        if (name, row) != ("table-6", "Zero-Shot") and name != "table-7"  # which the suite grue repeats
    )
    cells = jobs.plan(whole, Path("out"), "paper", 5, {}).cells
    assert cells["nlpo-gamma-0.95"] == cells["nlpo-mu-20"] == cells["nlpo-p-0.9"] != cells["nlpo-mu-10"]
    settings = {job.folder.name: job.recipe for job in jobs.plan(whole, Path("out"), "paper", 1, {}).jobs}
    ppo = settings["ppo-kl-0.1-0"]
    assert (ppo.model.path, ppo.options.name, ppo.config.learning_rate, ppo.config.epochs,
        ppo.config.lam) == (
        "lvwerra/gpt2-imdb", "stanfordnlp/imdb", 1e-6, 5, 0.95,
    )  # fmt: skip
    assert (
        ppo.decoding.top_k,
        ppo.decoding.max_new_tokens,
        ppo.decoding.max_prompt_tokens,
        ppo.training.updates,
    ) == (50, 48, 64, 50)
    assert (settings["ppo-no-kl-0"].config.beta, settings["ppo-no-kl-0"].config.kl_target) == (0.0, None)


def test_the_figures_are_read_as_printed():
    _, row = paper_tables.load("rl4lms").row("table-5/PPO/inf")
    assert (row["sentiment"].value, row["sentiment"].deviation, row["unique_1"].text) == (
        0.838,
        0.061,
        "4214 ± 260",
    )
    with pytest.raises(UnknownName, match="PPO/inf"):
        paper_tables.load("rl4lms").row("table-5/PPO/ind")
    with pytest.raises(UnknownName, match="rl4lms"):
        paper_tables.load("rl4lm")
    for wrong in ("0.5±0.1", "0.5 ± ", "x", ""):
        with pytest.raises(ValueError, match="no figure"):
            paper_tables.figure(wrong)


def test_a_paper_file_with_a_short_row_is_refused(tmp_path):
    page = tmp_path / "p.yaml"
    head = (
        "title: t\narxiv: a\ntables:\n  t-1:\n    title: t\n    place: p\n    quote: q\n    seeds: 1\n  "
        "  columns: [x, y]\n"
    )
    table = head + "    rows:\n      r: [1, {}]\n"
    page.write_text(table.format("2.5 ± 1"))
    assert paper_tables.read(page).row("t-1/r")[1]["y"].deviation == 1
    for wrong, says in (("", r"p.yaml:11.*|1 figures for 2"), ("two", "no figure")):
        page.write_text(table.format(wrong).replace(", ]", "]"))
        with pytest.raises(BadSetting, match=says):
            paper_tables.read(page)


def test_a_table_whose_paper_names_no_number_of_runs_has_none():
    """Tables 12 to 33 of the paper of GRUE print means, some with deviations, and no number of runs."""
    assert {table.seeds for table in paper_tables.load("grue").tables.values()} == {None}
    assert {table.seeds for table in paper_tables.load("rl4lms").tables.values()} == {5}


@pytest.mark.data
def test_nlpgym_s_table_stands_in_the_paper(beside):
    """Its rows are there as one line of six figures for each agent and embedding.

    Questions have one featurizer.
    """
    text = " ".join((beside / "papers" / "nlpgym.txt").read_text().split())
    tables = paper_tables.load("nlpgym").tables
    assert [name for name, table in tables.items() if table.quote not in text] == []
    assert {table.seeds for table in tables.values()} == {1}, "one model, chosen on validation rows"
    for agent in ("DQN", "PPO"):
        printed = {}
        for embedding in ("fasttext", "bytepair"):
            names = [("tagging", f"{agent}/{embedding}/{data}") for data in ("CONLL", "UDPOS")]
            names += [("labels", f"{agent}/{embedding}/{data}") for data in ("Reuters", "AAPD")]
            figures = [tables[table].rows[row][0] for table, row in names]
            if embedding == "fasttext":
                figures += [tables["answering"].rows[f"{agent}/{data}"][0] for data in ("QASC", "AIRC")]
            printed[embedding] = " ".join(f"{float(figure):.2f}" for figure in figures)
        line = f"{agent} Fasttext {printed['fasttext']} Byte-Pair {printed['bytepair']} - -"
        assert line in text
        assert line.replace("0.9", "0.8") not in text, "a wrong figure would be caught"
    assert [
        ordering.quote for ordering in suites.load("nlpgym").orderings if ordering.quote not in text
    ] == []


def test_nlpgym_s_learners_have_the_paper_s_settings():
    assert {table.seeds for table in paper_tables.load("nlpgym").tables.values()} == {1}
    whole = suites.load("nlpgym")
    made = {job.folder.name: job.recipe for job in jobs.plan(whole, Path("out"), "given", 1, {}).jobs}
    found = {
        name: (one.config.network, one.config.learning_rate, one.config.minibatch, one.config.gamma)
        for name, one in made.items()
        if name.endswith("-ppo-0")
    }
    assert found == {
        "tagging-ppo-0": ((100, 100), 5e-4, 64, 0.99), "labels-ppo-0": ((200, 200), 1e-3, 64, 0.99),
        "choices-ppo-0": ((64, 64), 1e-4, 64, 0.99),
    }  # fmt: skip
    assert {made[f"{task}-dqn-0"].config.minibatch for task in ("tagging", "labels", "choices")} == {32}
    for task in ("tagging", "labels", "choices"):
        ppo, supervised = made[f"{task}-ppo-0"], made[f"{task}-supervised-0"]
        assert (ppo.config.network, ppo.config.features, ppo.options) == (
            supervised.config.network,
            supervised.config.features,
            supervised.options,
        )
        assert (
            ppo.config.steps * ppo.training.updates == supervised.config.steps * supervised.training.updates
        )


def test_a_profile_may_repeat_other_published_rows():
    """`given` is the paper's first set of each task and `given_second` its second one."""
    whole = suites.load("nlpgym")
    second = whole.repeating("given_second").cells
    assert whole.repeating("given").cells == whole.cells
    assert [second[f"{task}-ppo"].published for task in ("tagging", "labels", "choices")] == [
        "tagging/PPO/fasttext/CONLL", "labels/PPO/fasttext/AAPD", "answering/PPO/AIRC",
    ]  # fmt: skip
    missing = replace(whole.profiles["given"], published={"tagging-ppo": "tagging/none"})
    with pytest.raises(BadSetting, match="tagging-ppo: published: "):
        results.check(replace(whole, profiles={"given": missing}))


@pytest.mark.data
def test_every_published_figure_and_quote_stands_in_the_paper(beside):
    text = (beside / "papers" / "rl4lms.txt").read_text()
    bare = text.replace(" $\\pm$ ", " ± ")
    paper = paper_tables.load("rl4lms")
    for table in paper.tables.values():
        assert table.quote in text
        for row, figures in table.rows.items():
            line = "\t".join(str(figure) for figure in figures)
            label = re.escape(row.rpartition("/")[2]) + r"( \([\d.]+k\))?\t"  # table 7 also counts examples
            assert re.search(label + re.escape(line), bare), row
            assert not re.search(label + re.escape(f"{line[:-1]}X"), bare), "a wrong figure would be caught"
    for whole in (suites.load(name) for name in suites.names()):
        assert (
            whole.paper != "rl4lms"
            or [ordering.quote for ordering in whole.orderings if ordering.quote not in text] == []
        )


def test_recipes_beside_a_suite_are_found(suite, tmp_path):
    (tmp_path / "own.yaml").write_text(recipes.load("reviews_base").yaml())
    suite.write_text(suite.read_text().replace("recipe: reviews_base", "recipe: own.yaml"))
    assert planned(suite).jobs[0].recipe.model.layers == recipes.load("reviews_base").model.layers


@pytest.mark.data
def test_lilgym_s_table_stands_in_the_paper(beside):
    """Each row of table 1 is one line of eight figures in per cent; here they are shares by table."""
    text = " ".join((beside / "papers" / "lilgym.txt").read_text().split())
    tables = paper_tables.load("lilgym").tables
    assert [name for name, table in tables.items() if table.quote not in text] == []
    order = [
        f"{appearance}-{start}-{split}"
        for appearance in ("tower", "scatter")
        for start in ("scratch", "flip-it")
        for split in ("dev", "test")
    ]
    assert list(tables) == order
    for name in ("PPO/C+BERT", "PPO/ViLT", "PPO+SF/C+BERT", "PPO+SF/ViLT"):
        row = " ".join(f"{100 * float(tables[table].rows[name][0]):.2f}" for table in order)
        # the algorithm is printed once, before its first model
        line = f"{name.replace('/', ' ') if 'BERT' in name else 'ViLT'} {row}"
        assert line in text
        assert line.replace("7", "8", 1) not in text, "a wrong figure would be caught"
    quotes = [ordering.quote for ordering in suites.load("lilgym").orderings if ordering.quote]
    assert [quote for quote in quotes if quote not in text] == []


def test_lilgym_s_reader_differs_from_its_blind_agent_by_the_sentence_alone():
    whole = suites.load("lilgym")
    recipes = {
        job.name: job.recipe
        for job in jobs.plan(whole, Path("out"), "cpu", 1, {}).jobs
        if isinstance(job, jobs.Job)
    }
    blind, reader = (recipes[name] for name in whole.orderings[0].rising)
    assert blind != reader
    assert replace(blind, config=replace(blind.config, blind=False), name=reader.name) == reader


@pytest.mark.data
def test_imrc_s_table_stands_in_the_paper(beside):
    """A row of table 3 has a pair of figures for each data set and memory; the query stands once."""
    text = (beside / "papers" / "imrc.txt").read_text().replace("<b>", "").replace("</b>", "")
    tables = paper_tables.load("imrc").tables
    assert list(tables) == [f"{data}-{memory}" for data in ("iSQuAD", "iNewsQA") for memory in (1, 3, 5)]
    assert {table.quote in text for table in tables.values()} == {True}
    assert [each.quote for each in suites.load("imrc").orderings if each.quote not in text] == []
    modes = dict(zip(("easy", "hard"), text.split("Easy Mode\t")[1].split("Hard Mode\t"), strict=True))
    for row in tables["iSQuAD-1"].rows:
        mode, queries, agent = row.split("/")
        cells = [f"{f1} ({informed})" for f1, informed in (table.rows[row] for table in tables.values())]
        line = "\t".join([agent, *cells])
        block = modes[mode].split(f"\n{queries}\t")[1]
        assert line in block[: block.index("\n", block.index("\tDQN\t"))], row
        assert line.replace("0.", "1.", 1) not in text, "a wrong figure would be caught"


def test_language_models_that_read_a_memory_task_are_labelled_full_transcript():
    """A language model reads all turns, which a memory of K sentences does not hold."""
    whole = suites.load("imrc")
    plan = jobs.plan(whole, Path("out"), "cpu", 1, {})
    runs = [job for job in plan.jobs if isinstance(job, jobs.Job) and job.name in whole.cells]
    language = {job.name for job in runs if reads_turns(job)}
    assert {"easy-lm-clone", "easy-lm-ppo", "hard-lm-clone", "hard-lm-ppo"} <= language
    assert {name for name, cell in whole.cells.items() if "full transcript" in cell.label} == language


@pytest.mark.parametrize("mode", ["easy", "hard"])
def test_policies_play_the_games_of_the_networks_of_imrc(mode):
    plan = jobs.plan(suites.load("imrc"), Path("out"), "cpu", 1, {})
    tasks = {job.name: job.recipe.options for job in plan.jobs if isinstance(job, jobs.Job)}
    policies, network = tasks[f"{mode}-stop"], tasks[f"{mode}-question-3-dqn"]
    assert (policies.start, policies.mode) == (network.start, network.mode) == ("first", mode)


def reads_turns(job):
    return not job.agent and "model" not in kinds.unused_sections(job.recipe.algorithm)
