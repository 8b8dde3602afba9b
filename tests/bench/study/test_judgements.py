"""Judgements from files, their summary and page, and blinded sheets there and back."""

import csv
import json

import pytest

from loquent.bench.study import page, sheets
from loquent.bench.study.summary import study
from loquent.cli import main as cli
from loquent.core import episode
from loquent.core.episode import TASK, Episode, Turn
from loquent.data.preferences import judgements, sheet_files
from loquent.data.preferences.judgements import Judgements, Preference, Rating
from loquent.errors import BadCheckpoint, BadRow, BadSetting
from loquent.statistics.resampling import Resampling

pytest.importorskip("scipy")
QUICK = Resampling(resamples=200)

RATINGS = [
    {"item": "r1", "rater": "ann", "system": "ppo", "question": "coherence", "rating": 4},
    {"item": "r1", "rater": "bob", "system": "ppo", "question": "coherence", "rating": 5},
    {"item": "r2", "rater": "ann", "system": "ppo", "question": "coherence", "rating": 3},
    {"item": "r1", "rater": "ann", "system": "nlpo", "question": "coherence", "rating": 2},
    {"item": "r1", "rater": "bob", "system": "nlpo", "question": "coherence", "rating": 2},
    {"item": "r2", "rater": "ann", "system": "nlpo", "question": "coherence", "rating": 1},
]
PAIR = {"item": "r1", "rater": "ann", "first": "ppo", "second": "nlpo", "preferred": "second"}


def files(tmp_path, records):
    lines = tmp_path / "judged.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    table = tmp_path / "judged.csv"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return lines, table


def test_json_lines_and_csv_hold_the_same_judgements(tmp_path):
    for records in (RATINGS, [PAIR, PAIR | {"item": "r2", "preferred": "tie"}]):
        lines, table = files(tmp_path, records)
        assert judgements.read([lines]) == judgements.read([table])
    assert judgements.read([lines]).preferences[0] == Preference(
        "r1", "ann", "ppo", "nlpo", "preference", "second"
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"item": "r", "system": "a", "rating": "good"}, r":2: the rating is 'good'; it must be a finite"),
        ({"item": "r", "system": "a", "rating": True}, "the rating is True"),
        ({"item": "r", "system": "a", "rating": 1e999}, "inf|not JSON"),
        ({"item": "r", "system": "a", "rating": 1e308}, "the rating is 1e\\+308; it must be between -1e"),
        ({"item": "r", "rating": 3}, "the field 'system' is missing"),
        ({"system": "a", "rating": 3}, "the field 'item' is missing"),
        (PAIR | {"preferred": "A"}, "preferred = 'A'; it must be one of first, second, tie"),
        (PAIR | {"second": "ppo"}, "first and second are both 'ppo'"),
        (RATINGS[0], "rater 'ann' judged this at .*judged.jsonl:1 already"),
    ],
)
def test_a_bad_judgement_is_named_with_its_line(tmp_path, record, message):
    path = tmp_path / "judged.jsonl"
    path.write_text(json.dumps(RATINGS[0]) + "\n" + json.dumps(record) + "\n")
    with pytest.raises(BadRow, match=message):
        judgements.read([path])


def test_a_side_does_not_make_another_pair(tmp_path):
    path = tmp_path / "judged.jsonl"
    turned = PAIR | {"first": "nlpo", "second": "ppo"}
    path.write_text(json.dumps(PAIR) + "\n" + json.dumps(turned) + "\n")
    with pytest.raises(BadRow, match="judged this"):
        judgements.read([path])
    with pytest.raises(BadSetting, match="there is no such file"):
        judgements.read([tmp_path / "none.csv"])


def test_the_summary_of_ratings_by_hand(tmp_path):
    found = study(judgements.read([files(tmp_path, RATINGS)[0]]), QUICK).ratings["coherence"]
    ppo, nlpo = found.systems["ppo"], found.systems["nlpo"]
    assert (ppo.n, ppo.items, ppo.raters, ppo.mean) == (3, 2, 2, 4)
    assert (nlpo.mean, nlpo.counts) == (pytest.approx(5 / 3), {1: 1, 2: 2})
    # units with two ratings: (4, 5) and (2, 2): observed 2 of 4, expected 54 of 12
    assert found.alpha["interval"] == pytest.approx(1 - 3 * 2 / 54)
    assert nlpo.alpha["nominal"] is None  # one unit, equal values
    # ratings: means 4 and 5/3, between 49/6, within 2 + 2/3, F = 49/6 / (8/3 / 4)
    assert found.anova.f == pytest.approx(12.25)
    # items: (4.5, 3) and (2, 1), 2.5 and 2 apart: t = 2.25 / .25
    assert found.repeated.within.f == pytest.approx(81)
    assert found.tukey[0].difference == pytest.approx(5 / 3 - 4)
    assert found.repeated.pairs[0].difference == pytest.approx(1.5 - 3.75)
    assert (found.items_anova, found.items_tukey) == (None, [])


def test_the_paper_s_head_to_head_with_its_interval():
    """682 wins against 587 (2210.01241): share .537, p .0083; sides are mixed, ties count for neither."""
    judged = [
        Preference(f"r{i}", "", *(("rm", "meteor") if i % 2 else ("meteor", "rm")), "better", chosen)
        for i in range(1269)
        for chosen in [("first" if i % 2 else "second") if i < 682 else ("second" if i % 2 else "first")]
    ]
    judged.append(Preference("tie", "", "rm", "meteor", "better", "tie"))
    (found,) = study(Judgements(preferences=tuple(judged)), QUICK).wins["better"]
    rm = found if found.first == "rm" else None
    wins, losses = (found.wins, found.losses) if rm else (found.losses, found.wins)
    assert (wins, losses, found.ties) == (682, 587, 1)
    assert found.p == pytest.approx(0.0083, abs=5e-5)
    share = found.share if rm else 1 - found.share
    assert share == pytest.approx(682 / 1269)
    assert found.bounds.high - found.bounds.low == pytest.approx(2 * 1.96 * (0.25 / 1269) ** 0.5, rel=0.25)


def test_several_raters_of_an_item_do_not_make_a_preference_surer():
    """Three raters who all prefer `a` on 8 items: p over items is 2 / 2^8, and p over judgements 2 / 2^24."""
    once, often = (
        study(
            Judgements(
                preferences=tuple(
                    Preference(f"r{i}", str(n), "a", "b", "q", "first")
                    for i in range(8)
                    for n in range(raters)
                )
            ),
            QUICK,
        ).wins["q"][0]
        for raters in (1, 3)
    )
    assert (often.wins, often.items.wins, often.items.losses) == (24, 8, 0)
    assert often.p == pytest.approx(2 / 2**24)
    assert often.items.p == once.items.p == once.p == pytest.approx(2 / 2**8)
    # Clopper and Pearson's interval of 8 of 8 ends at the eighth root of 0.025
    assert often.bounds.low == pytest.approx(0.025 ** (1 / 8))
    assert often.bounds == once.bounds
    assert often.bounds.high == 1
    split = [
        Preference("r", str(n), "a", "b", "q", word) for n, word in enumerate(("first", "second", "tie"))
    ]
    (tied,) = study(Judgements(preferences=tuple(split)), QUICK).wins["q"]
    assert (tied.items.wins, tied.items.losses, tied.items.ties, tied.bounds.low) == (0, 0, 1, None)


def test_a_share_of_wins_has_an_interval_of_shares_with_its_ends_on_the_page():
    """Wilson's interval of 50 of 60 with t(59) = 2.001; that of Clopper and Pearson where few lose."""
    from scipy.stats import binomtest

    def judged(wins, losses):
        chosen = ["first"] * wins + ["second"] * losses
        pairs = tuple(Preference(f"r{i}", "", "a", "b", "q", word) for i, word in enumerate(chosen))
        return study(Judgements(preferences=pairs), QUICK)

    bounds = judged(50, 10).wins["q"][0].bounds
    assert (bounds.low, bounds.high) == (pytest.approx(0.71697, abs=5e-5), pytest.approx(0.90800, abs=5e-5))
    found = judged(57, 3)
    (one,) = found.wins["q"]
    exact = binomtest(57, 60).proportion_ci()
    assert (one.bounds.low, one.bounds.high) == (pytest.approx(exact.low), pytest.approx(exact.high))
    assert one.bounds.high < 1
    text = page.html(found, 0.95)
    assert f"a against b: 0.95 ({one.bounds.low:.4g} to {one.bounds.high:.4g})" in text


def on_lines(text):
    """Markdown without the spaces that align its tables."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_a_system_with_one_rating_is_tested_and_drawn(tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("item,rater,system,rating\nr1,a,x,4\nr1,a,y,2\nr2,a,y,3\n")
    assert cli.main(["study", str(path), "--out", str(tmp_path / "page.html")]) == 0
    assert "| y − x | −1.5 |" in on_lines(capsys.readouterr().out)


@pytest.mark.parametrize("size", ["1e100", "1e-300"])
def test_ratings_of_any_size_are_drawn(tmp_path, size):
    path = tmp_path / "large.csv"
    lines = [f"r{i},{name},{sign}{size}\n" for i in range(3) for name, sign in (("x", ""), ("y", "-"))]
    path.write_text("item,system,rating\n" + "".join(lines) + f"r3,x,0\nr3,y,{size}\n")
    assert cli.main(["study", str(path), "--out", str(tmp_path / "page.html")]) == 0


def test_the_command_prints_the_tests_over_items_first(tmp_path, capsys):
    lines, _ = files(tmp_path, RATINGS)
    pairs = tmp_path / "pairs.jsonl"
    judged = [PAIR | {"item": f"r{i}", "rater": str(n)} for i in range(8) for n in range(3)]
    pairs.write_text("".join(json.dumps(one) + "\n" for one in judged))
    assert cli.main(["study", str(lines), str(pairs)]) == 0
    out = on_lines(capsys.readouterr().out)
    assert out.index("Repeated measures: F(1, 1) = 81") < out.index("F(1, 4) = 12.25")
    assert "2 items of all systems." in out
    heads = "items: wins | losses | ties | p | judgements: wins | losses | ties | p | share | 95% interval"
    assert heads in out
    assert "0 | 8 | 0 | 0.007812 | 0 | 24 | 0 | 1.192e−07 | 0 | 0 to 0.3694" in out
    assert "The p of judgements counts each of them as independent" in out
    once = [record for record in RATINGS if record["rater"] == "ann"]
    assert cli.main(["study", str(files(tmp_path, once)[0])]) == 0
    assert capsys.readouterr().out.count("ANOVA") == 1


def test_one_difference_in_all_items_is_no_certainty(tmp_path, capsys):
    """Two items and nlpo 2 below ppo in both: before, p < 1e-12 and an interval without width."""
    lines, _ = files(tmp_path, [one for one in RATINGS if one["rater"] == "ann"])
    cli.main(["study", str(lines), "--out", str(tmp_path / "page.html")])
    printed = capsys.readouterr().out
    assert "no test, because the systems differ by the same amounts in each item" in printed
    assert "| nlpo − ppo | 2 | −2 | none | unknown | 0.5 |" in on_lines(printed)
    assert "<td>unknown</td>" in (tmp_path / "page.html").read_text()


def test_the_interval_resamples_items_not_ratings():
    """Ten raters who agree say no more than one: the interval is that of the items."""
    once = [Rating(f"r{i}", "0", "a", "q", float(i % 5)) for i in range(20)]
    often = [Rating(one.item, str(n), "a", "q", one.value) for one in once for n in range(10)]
    single, many = (
        study(Judgements(tuple(judged)), QUICK).ratings["q"].systems["a"] for judged in (once, often)
    )
    assert (single.mean, single.bounds) == (many.mean, many.bounds)
    assert many.n == 200


def test_the_page_has_all_numbers_and_escapes_names(tmp_path):
    hostile = "<script>alert(1)</script>"
    records = [record | {"system": hostile} if record["system"] == "ppo" else record for record in RATINGS]
    judged = judgements.read([files(tmp_path, [*records])[0]])
    pairs = Judgements(judged.ratings, (Preference("r1", "ann", hostile, "nlpo", "better", "first"),))
    text = page.html(study(pairs, QUICK), 0.95)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<svg") >= 4
    assert "F(1, 4) = 12.25" in text
    assert "Repeated measures: F(1, 1) = 81, p = 0.07" in text
    assert "Friedman: chi-squared(1) = 2, p = 0.1573" in text


def run(folder, said, rows=4):
    """A folder with what a study reads of a run: a configuration and the last evaluation's episodes."""
    folder.mkdir()
    (folder / "config.yaml").write_text("name: x\n")
    games = [
        Episode(
            "generation-v1", f"r{i}", "test", 0, 0,
            (Turn(TASK, f"prompt {i}", to="agent"), Turn("agent", f"{said} {i}"), Turn(TASK, "", to="agent")),
            "end",
        )
        for i in range(rows)
    ]  # fmt: skip
    episode.write(folder / "episodes.jsonl", games)
    return folder


def fill_in(path, judge):
    """Fill in a sheet: `judge(record)` gives the columns to set."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, **judge(line)} for line in lines)
    return lines


@pytest.fixture
def runs(tmp_path):
    return [run(tmp_path / "ppo", "from ppo", 4), run(tmp_path / "nlpo", "=from nlpo", 3)]


def test_ratings_go_out_blinded_and_come_back(tmp_path, runs):
    plan = sheets.Plan(rows=2, raters=2, questions=("coherence", "sentiment"), salt="s")
    folder = sheets.prepare(runs, tmp_path / "study", plan)
    orders = []
    for sheet in sorted((folder / "sheets").iterdir()):
        text = sheet.read_text().replace("from ppo", "").replace("from nlpo", "")
        assert "ppo" not in text  # no name of a system but in the answers themselves
        mark = {"from ppo": ("5", "4"), "'=from nlpo": ("2", "")}
        lines = fill_in(
            sheet, lambda line, mark=mark: dict(zip(plan.questions, mark[line["answer"][:-2]], strict=True))
        )
        assert len(lines) == 4
        orders.append([line["answer"] for line in lines])
        assert all(line["prompt"][-1] == line["answer"][-1] for line in lines)
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    judged, empty = sheet_files.read(folder)
    assert empty == 4  # one of two questions on nlpo's answers, two rows, two raters
    assert {(one.system, one.question, one.value) for one in judged.ratings} == {
        ("ppo", "coherence", 5), ("ppo", "sentiment", 4), ("nlpo", "coherence", 2),
    }  # fmt: skip
    assert {one.rater for one in judged.ratings} == {"sheet-1", "sheet-2"}
    again = sheets.prepare(runs, tmp_path / "again", plan)
    assert (again / "key.json").read_text() == (folder / "key.json").read_text()
    other = sheets.prepare(runs, tmp_path / "other", sheets.Plan(rows=2, raters=2, seed=1, salt="s"))
    assert (other / "key.json").read_text() != (folder / "key.json").read_text()


def test_pairs_go_out_on_both_sides_and_come_back(tmp_path, runs):
    runs[1].rename(tmp_path / "rm")
    runs = [runs[0], tmp_path / "rm", run(tmp_path / "third", "third", 4)]
    folder = sheets.prepare(
        runs, tmp_path / "study", sheets.Plan(raters=4, questions=("better",), pairs=True)
    )
    sides = set()
    for sheet in (folder / "sheets").iterdir():
        lines = fill_in(
            sheet,
            lambda line: {
                "better": "a"
                if "ppo" in line["A"]
                else "tie"
                if "third" in line["A"] + line["B"] and "ppo" not in line["B"]
                else "B"
            },
        )
        sides |= {"A" if "ppo" in line["A"] else "B" if "ppo" in line["B"] else "" for line in lines}
        assert len(lines) == 9
    assert sides == {"A", "B", ""}
    judged, empty = sheet_files.read(folder)
    found = study(judged, QUICK).wins["better"]
    against = {(one.first, one.second): (one.wins, one.losses, one.ties) for one in found}
    of_ppo = [score if pair[0] == "ppo" else score[1::-1] for pair, score in against.items() if "ppo" in pair]
    assert [score[:2] for score in of_ppo] == [(12, 0), (12, 0)]
    assert empty == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c0001,", "c0009,", "the code 'c0009' is not of this sheet"),
        ("c0002,", "c0001,", "the code 'c0001' stands twice in"),
        (",\nc0002", ",6\nc0002", "the rating of 'rating' is 6; it must be from 1 to 5"),
        (",\nc0002", ",good\nc0002", "the rating of 'rating' is 'good'"),
    ],
)
def test_a_damaged_sheet_is_named_with_its_line(tmp_path, runs, old, new, message):
    folder = sheets.prepare(runs, tmp_path / "study", sheets.Plan(raters=1))
    sheet = folder / "sheets" / "sheet-1.csv"
    assert old in sheet.read_text()
    sheet.write_text(sheet.read_text().replace(old, new, 1))
    with pytest.raises(BadRow, match=message):
        sheet_files.read(folder)


def test_what_cannot_be_prepared_or_read_is_said(tmp_path, runs):
    with pytest.raises(BadSetting, match="pairs need at least two runs"):
        sheets.prepare(runs[:1], tmp_path / "s", sheets.Plan(pairs=True))
    with pytest.raises(BadSetting, match="two runs have one name"):
        sheets.prepare([runs[0], runs[0]], tmp_path / "s", sheets.Plan())
    with pytest.raises(BadCheckpoint, match="no folder"):
        sheets.prepare([tmp_path / "none"], tmp_path / "s", sheets.Plan())
    with pytest.raises(BadSetting, match="different names"):
        sheets.Plan(questions=("a", "a"))
    with pytest.raises(BadSetting, match="below the highest"):
        sheets.Plan(low=5)
    folder = sheets.prepare(runs, tmp_path / "s", sheets.Plan())
    with pytest.raises(BadSetting, match="holds a study already"):
        sheets.prepare(runs, tmp_path / "s", sheets.Plan())
    (folder / "sheets" / "sheet-2.csv").unlink()
    with pytest.raises(BadSetting, match=r"sheet-2.csv is missing"):
        sheet_files.read(folder)


def test_the_command(tmp_path, runs, capsys):
    assert cli.main(["study", "prepare", *map(str, runs), "--out", str(tmp_path / "s"), "--raters", "2"]) == 0
    for sheet in (tmp_path / "s" / "sheets").iterdir():
        fill_in(sheet, lambda line: {"rating": "4" if "ppo" in line["answer"] else "2"})
    out = tmp_path / "study.html"
    assert cli.main(["study", str(tmp_path / "s"), "--out", str(out), "--json"]) == 0
    printed = capsys.readouterr().out
    assert "nominal 1, " in printed
    assert json.loads(printed.splitlines()[-1])["ratings"]["rating"]["systems"]["ppo"]["mean"] == 4
    assert "<svg" in out.read_text()
    assert cli.main(["study", "prepare", *map(str, runs), "--out", str(tmp_path / "p"), "--pairs"]) == 0
    sheet = next((tmp_path / "p" / "sheets").iterdir()).read_bytes()
    assert sheet.startswith(b"\xef\xbb\xbfcode,prompt,A,B,preference\n")  # for Excel
    capsys.readouterr()
    assert cli.main(["study", "prepare", str(runs[0])]) != 0
    assert "--out" in capsys.readouterr().err
