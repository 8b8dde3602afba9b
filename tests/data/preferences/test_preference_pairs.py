"""Pairs from judgements: majorities, the cut by prompt, and refused files."""

import csv
import json

import pytest

from loquent.data.preferences import pairs
from loquent.errors import BadRow, BadSetting
from loquent.metrics.judges.reward_models.pairs import divide

LINE = {
    "item": "r0",
    "first": "a",
    "second": "b",
    "preferred": "first",
    "prompt": "p0",
    "first_text": "good",
    "second_text": "bad",
}


def written(path, records):
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def many(count):
    return [
        LINE | {"item": f"r{i}", "prompt": f"p{i}", "first_text": f"good {i}", "second_text": f"bad {i}"}
        for i in range(count)
    ]


def test_the_majority_counts_on_whatever_side_a_text_stands(tmp_path):
    turned = LINE | {"first_text": "bad", "second_text": "good", "first": "b", "second": "a"}
    votes = [
        LINE | {"rater": "1"},
        turned | {"rater": "2", "preferred": "first"},  # for "bad"
        turned | {"rater": "3", "preferred": "second"},  # for "good"
        LINE | {"rater": "4", "preferred": "tie"},
    ]
    for name in ("votes.jsonl", "votes.csv"):
        found = pairs.read([written(tmp_path / name, votes)])
        (pair,) = found.pairs
        assert (pair.chosen, pair.rejected, found.judgements, found.undecided) == ("good", "bad", 4, 0)
    found = pairs.read([written(tmp_path / "even.jsonl", votes[:2])])
    assert (found.pairs, found.undecided) == ((), 1)
    same = LINE | {"second_text": " good"}
    assert pairs.read([written(tmp_path / "same.jsonl", [same])]).undecided == 1


def test_the_cut_is_by_prompt_and_no_text_is_shared(tmp_path):
    records = many(40)
    records += [one | {"item": f"x{i}", "first_text": f"other {i}"} for i, one in enumerate(many(40))]
    records += [LINE | {"item": f"y{i}", "prompt": f"q{i}", "second_text": f"bad {i}"} for i in range(40)]
    found = divide(pairs.read([written(tmp_path / "a.jsonl", records)]).pairs, 0.25)
    sides = [found.training, found.held_out]
    prompts, texts = (
        [{value for one in side for value in values(one)} for side in sides]
        for values in (lambda one: [one.prompt], lambda one: one.texts)
    )
    assert not prompts[0] & prompts[1]
    assert not texts[0] & texts[1]
    assert 30 <= len(found.held_out) <= 32
    assert len(found.training) + len(found.held_out) + found.left_out == 120
    assert found.left_out > 0  # "good" stands in all pairs of q0 to q39, whose prompts are on both sides
    shuffled = pairs.read([written(tmp_path / "b.jsonl", records[::-1])]).pairs
    assert set(divide(shuffled, 0.25).held_out) == set(found.held_out)


@pytest.mark.parametrize(
    ("records", "error", "message"),
    [
        ([{k: v for k, v in LINE.items() if "text" not in k}], BadRow, r"jsonl:1: this preference has no"),
        ([LINE, {k: v for k, v in LINE.items() if k != "second_text"}], BadRow, r":2: there is 'first_text'"),
        ([LINE | {"first_text": 3}], BadRow, r":1: the field 'first_text' is 3; it must be a text"),
        ([LINE | {"preferred": "A"}], BadRow, r":1: preferred = 'A'"),
        ([{"item": "r", "system": "a", "rating": 3}], BadSetting, "holds no preference"),
        ([LINE, LINE | {"question": "q"}], BadSetting, "several questions; choose one .*preference, q"),
    ],
)
def test_files_that_cannot_be_learned_from(tmp_path, records, error, message):
    with pytest.raises(error, match=message):
        pairs.read([written(tmp_path / "bad.jsonl", records)])


def test_a_question_is_chosen_and_few_pairs_are_refused(tmp_path):
    path = written(tmp_path / "two.jsonl", [LINE, LINE | {"question": "q", "preferred": "second"}])
    assert pairs.read([path], "q").pairs[0].chosen == "bad"
    with pytest.raises(BadSetting, match="no preference on 'z'; its questions: preference, q"):
        pairs.read([path], "z")
    with pytest.raises(BadSetting, match="at least 4 of each"):
        divide(pairs.read([written(tmp_path / "few.jsonl", many(6))]).pairs, 0.2)
    one_prompt = [one | {"prompt": "p"} for one in many(20)]
    with pytest.raises(BadSetting, match="of 20 pairs with 1 prompts, 0 are left"):
        divide(pairs.read([written(tmp_path / "one.jsonl", one_prompt)]).pairs, 0.2)


MESSAGE = {"role": "user", "content": "why?"}
SAYS = [{"role": "assistant", "content": text} for text in ("because", "no")]
CHOSEN = [
    ({"chosen": "a b", "rejected": "a c"}, ("", "a b", "a c", 0.0)),
    ({"prompt": "q ", "chosen": "b", "rejected": "c", "margin": 1.5}, ("q ", "b", "c", 1.5)),
    ({"chosen": [MESSAGE, SAYS[0]], "rejected": [MESSAGE, SAYS[1]]}, ("why?", "because", "no", 0.0)),
    ({"prompt": [MESSAGE], "chosen": SAYS[:1], "rejected": SAYS[1:]}, ("why?", "because", "no", 0.0)),
]


@pytest.mark.parametrize(("record", "pair"), CHOSEN)
def test_chosen_and_rejected_are_read(tmp_path, record, pair):
    (found,) = pairs.read([written(tmp_path / "pairs.jsonl", [record])]).pairs
    assert (found.prompt, found.chosen, found.rejected, found.margin) == pair


BAD = [
    ({"chosen": "a"}, "`rejected` holds None"),
    ({"chosen": "a", "rejected": [1]}, "`rejected` holds"),
    ({"chosen": "a", "rejected": "b", "margin": "x"}, "`margin` holds 'x'"),
    ({"chosen": "a", "rejected": "b", "margin": 10**400}, "`margin` holds 1000"),
    ({"chosen": [], "rejected": "b"}, "`chosen` holds"),
]


@pytest.mark.parametrize(("record", "says"), BAD)
def test_a_bad_pair_is_named_with_its_place(tmp_path, record, says):
    with pytest.raises(BadRow, match=f"bad.jsonl.*2.*{says}"):
        pairs.read([written(tmp_path / "bad.jsonl", [CHOSEN[0][0], record])])


def test_texts_that_repeat_are_kept_if_one_says_so(tmp_path):
    """400 pairs of four templates: nearly all share a text with a held-out pair."""
    records = [{"prompt": f"p{i}", "chosen": f"good {i % 4}", "rejected": f"bad {i % 4}"} for i in range(400)]
    found = pairs.read([written(tmp_path / "pairs.jsonl", records)]).pairs
    with pytest.raises(BadSetting, match="shared_texts=keep"):
        divide(found, 0.2)
    kept = divide(found, 0.2, "keep")
    assert (len(kept.training), len(kept.held_out), kept.left_out) == (320, 80, 0)
    assert not {one.prompt for one in kept.training} & {one.prompt for one in kept.held_out}
