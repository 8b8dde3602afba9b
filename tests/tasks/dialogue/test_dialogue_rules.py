"""Which answers count as yes or no: A28 of ILQL's specification."""

import pytest

from loquent.tasks.dialogue.game import rules


@pytest.mark.parametrize(
    ("answer", "soft", "hard", "conservative"),
    [
        ("yes.", True, False, True),
        ("Yes", True, True, True),
        ("I don't know", True, False, True),
        ("snow", True, False, True),
        ("it looks red", False, False, True),
        ("a red bus", False, False, False),
        (" no", True, False, True),
    ],
)
def test_which_answers_count_by_characters(answer, soft, hard, conservative):
    found = [rules.is_yes_no(answer, kind) for kind in ("soft", "hard", "conservative", "none")]
    assert found == [soft, hard, conservative, False]


@pytest.mark.parametrize(
    ("answer", "soft", "hard", "conservative"),
    [
        ("yes.", True, True, True),
        ("I don't know", False, False, True),
        ("snow", False, False, False),
        ("No, a cat", True, False, True),
        ("I think so", False, False, True),
        ("'yes'", True, True, True),
        ("_no_", True, True, True),
        ("no-one is there", False, False, False),
    ],
)
def test_which_answers_count_by_words(answer, soft, hard, conservative):
    found = [rules.is_yes_no(answer, kind, "words") for kind in ("soft", "hard", "conservative")]
    assert found == [soft, hard, conservative]
