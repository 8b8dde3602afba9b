"""What a line of input changes, and how much work a correction is, for the three tasks."""

import pytest

import loquent
from loquent.bench.annotation.sheets import Choice, Labels, Tags, form_of
from loquent.errors import BadRow, BadSetting


def tags():
    return form_of(loquent.task("tagging", source="samples", samples=[], labels=["LOC", "O", "PER"]))


def labels():
    return form_of(
        loquent.task("multilabel", source="samples", samples=[], labels=["corn", "wheat"], max_steps=4)
    )


def choice():
    return form_of(loquent.task("multiple_choice", source="samples", samples=[]))


def test_tags_by_hand():
    form = tags()
    assert isinstance(form, Tags)
    row = form.blank({"text": "New York calls"})
    assert row["tokens"] == ("New", "York", "calls")
    given = ("O", "O", "PER")
    assert form.change(row, given, "1-2 LOC") == ("LOC", "LOC", "PER")
    assert form.change(row, given, "3 o") == ("O", "O", "O")  # small letters are understood
    assert form.corrections(given, ("LOC", "LOC", "PER")) == 2
    assert form.decisions(given) == 3
    assert form.annotate(row, ("LOC", "LOC", "O")).fields["labels"] == ("LOC", "LOC", "O")
    assert form.annotate(row, given).id == row.id
    assert form.render(row, given).splitlines()[0] == "   1  New    O"
    for line, why in (
        ("LOC", "neither"),
        ("0 LOC", "tokens 1 to 3, not 0"),
        ("2-1 LOC", "not 2-1"),
        ("4 LOC", "1 to 3"),
        ("1 LOK", "did you mean LOC"),
        ("?", "LOC O PER"),
    ):
        with pytest.raises(ValueError, match=why):
            form.change(row, given, line)


def test_labels_by_hand():
    form = labels()
    assert isinstance(form, Labels)
    row = form.blank({"text": "a text"})
    assert form.change(row, (), "+wheat") == ("wheat",)
    assert form.change(row, ("wheat", "corn"), "- wheat") == ("corn",)
    assert form.corrections(("wheat",), ("corn",)) == 2
    assert (form.decisions(("corn",)), form.decisions(())) == (1, 0)
    assert form.suggestion({"labels": ("corn", "", "corn")}) == ("corn",)
    for line, why in (
        ("wheat", "neither"),
        ("+wheat", "there already"),
        ("-corn", "not there"),
        ("+maize", "no label"),
    ):
        with pytest.raises(ValueError, match=why):
            form.change(row, ("wheat",), line)


@pytest.mark.parametrize(
    "fields",
    [
        {"question": "Which?", "choices": ["sugar", "insects"]},
        {"question": "Which?", "choices": {"A": "sugar", "B": "insects"}},
        {"question": "Which?", "choices": ["sugar", "insects"], "ids": ["A", "B"]},
        {
            "question": {
                "stem": "Which?",
                "choices": [{"label": "A", "text": "sugar"}, {"label": "B", "text": "insects"}],
            }
        },
        {"question": "Which?", "choices": {"text": ["sugar", "insects"], "label": ["A", "B"]}},
    ],
)
def test_choices_by_hand(fields):
    form = choice()
    assert isinstance(form, Choice)
    row = form.blank(fields)
    assert row["ids"] == ("A", "B")
    assert form.change(row, ("A",), "b") == ("B",)
    assert form.annotate(row, ("B",))["answer"] == "B"
    assert (form.corrections(("A",), ("B",)), form.corrections(("A",), ("A",)), form.decisions(("A",))) == (
        1,
        0,
        1,
    )
    assert form.render(row, ("B",)).splitlines()[-2:] == ["  A  sugar", "> B  insects"]
    with pytest.raises(ValueError, match="'C' is no label"):
        form.change(row, ("A",), "C")


def test_what_is_no_sample_is_refused():
    for form, fields in (
        (tags(), {"words": "a"}),
        (labels(), {"text": " "}),
        (choice(), {"question": "Which?", "choices": []}),
    ):
        with pytest.raises(BadRow):
            form.blank(fields)
    with pytest.raises(BadSetting, match="tags, labels, choice are the forms"):
        form_of(loquent.task("wordle"))
