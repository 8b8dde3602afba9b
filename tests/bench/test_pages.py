"""What the tables of a benchmark show."""

from types import SimpleNamespace

from loquent.bench import pages


def test_a_table_has_the_columns_in_which_it_has_a_number():
    results = SimpleNamespace(
        suite=SimpleNamespace(columns={"token_f1": None, "accuracy": None, "micro_f1": None})
    )

    def row(*measured, paper=()):
        return SimpleNamespace(intervals=dict.fromkeys(measured), paper=dict.fromkeys(paper))

    assert pages.columns(results, [row("token_f1"), row()]) == ["token_f1"]
    assert pages.columns(results, [row("micro_f1"), row(paper=["accuracy"])]) == ["accuracy", "micro_f1"]
    assert pages.columns(results, [row(), row()]) == ["token_f1", "accuracy", "micro_f1"]


def test_a_page_without_intervals_over_both_says_what_they_take():
    without = SimpleNamespace(rows={}, seeds=5)
    assert pages.both_note(without).startswith("No column has an interval over seeds and rows, which takes")
    assert "rows that were played about equally often" in pages.both_note(without)
    assert pages.both_note(SimpleNamespace(rows={}, seeds=3)).startswith(
        "Fewer than 5 seeds have no interval"
    )
