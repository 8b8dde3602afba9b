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
