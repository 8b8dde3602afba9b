"""The forms of rows: what becomes prompt and references, and what an error says of other columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.values import Record, freeze
from loquent.data.columns import Columns
from loquent.data.tables import forms

ASK, ANSWER = {"role": "user", "content": "two and two?"}, {"role": "assistant", "content": "four"}
SYSTEM, AGAIN = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "and three?"}
MORE = {"role": "assistant", "content": "seven"}
BAD_ANSWER = {"role": "assistant", "content": "five"}
# columns, prompt, references
FORMS = {
    "prompt": ({"prompt": "a b"}, "a b", ()),
    "prompt of messages": ({"prompt": [ASK]}, "two and two?", ()),
    "completion": ({"prompt": "a b", "completion": " c"}, "a b", (" c",)),
    "completion of messages": ({"prompt": [ASK], "completion": [ANSWER]}, "two and two?", ("four",)),
    "reference": ({"prompt": "a b", "references": "c"}, "a b", ("c",)),
    "references": ({"prompt": "a b", "references": ["c", "d"]}, "a b", ("c", "d")),
    "messages": ({"messages": [ASK, ANSWER]}, "two and two?", ("four",)),
    "messages as JSON": ({"messages": '[{"role": "user", "content": "a b"}]'}, "a b", ()),
    "messages without an answer": ({"messages": [ASK]}, "two and two?", ()),
    "a system message": (
        {"messages": [SYSTEM, ASK, ANSWER]},
        "system: Be brief.\nuser: two and two?",
        ("four",),
    ),
    "several turns": (
        {"messages": [ASK, ANSWER, AGAIN, MORE]},
        "user: two and two?\nassistant: four\nuser: and three?",
        ("seven",),
    ),
    "a pair": ({"prompt": "a b", "chosen": "c", "rejected": "d"}, "a b", ("c",)),
    "a pair without a prompt": (
        {"chosen": "Human: hi Assistant: hello you", "rejected": "Human: hi Assistant: help yourself"},
        "Human: hi Assistant:",
        (" hello you",),
    ),
    "a pair of conversations": (
        {"chosen": [ASK, ANSWER], "rejected": [ASK, BAD_ANSWER]},
        "two and two?",
        ("four",),
    ),
    "a pair of answers": (
        {"prompt": [ASK], "chosen": [ANSWER], "rejected": [BAD_ANSWER]},
        "two and two?",
        ("four",),
    ),
    "question": ({"question": "why?", "answer": "because"}, "why?", ("because",)),
    "parts": ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a b"}]}]}, "a b", ()),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_rows(name):
    record, prompt, references = FORMS[name]
    fields = Columns().fields({**record, "id": 7, "extra": None}, False)
    assert (fields["prompt"], fields["references"]) == (prompt, references)
    assert fields["id"] == 7
    assert "extra" not in fields, "None counts as absent"
    assert Columns().content(record, False) == prompt


def test_messages_before_the_answer_and_both_answers_are_kept():
    fields = Columns().fields({"messages": [SYSTEM, ASK, ANSWER]}, False)
    assert fields["messages"] == freeze([SYSTEM, ASK])
    tool = {"role": "tool", "content": "4", "name": "sum"}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "x": None}]}
    fields = Columns().fields({"messages": [ASK, called, tool, ANSWER]}, False)
    assert fields["messages"][1] == Record(role="assistant", content="", tool_calls=(Record(id="1"),))
    assert fields["messages"][2]["name"] == "sum"
    pair = Columns().fields({"chosen": [ASK, ANSWER], "rejected": [ASK, BAD_ANSWER]}, False)
    assert (pair["chosen"], pair["rejected"]) == ("four", "five")
    assert "messages" not in Columns().fields({"prompt": "a b", "completion": "c"}, False)


def test_a_prompt_counts_before_a_text_unless_columns_say_text():
    record = {"text": "one two three", "prompt": "four", "completion": "five"}
    assert Columns().fields(record, False)["references"] == ("five",)
    as_text = Columns(names=Record(text="text")).fields(record, False)
    assert (as_text["text"], "references" in as_text) == ("one two three", False)


def test_columns_give_fields_their_names():
    columns = Columns(names=Record(q="prompt", a="references", stars="label"))
    fields = columns.fields({"q": "why?", "a": ["x", "y"], "stars": 3}, True)
    assert dict(fields) == {"prompt": "why?", "references": ("x", "y"), "label": 3}


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("completion", ["four", [ANSWER]])
def test_true_or_false_beside_a_completion_is_a_preference_and_no_class(good, completion):
    record = {"prompt": "two and two?", "completion": completion, "label": good}
    assert not Columns().is_labelled(record)
    fields = Columns().fields(record, False)
    assert (fields["references"], "label" in fields) == (("four",), False)
    with pytest.raises(ValueError, match=f"the label is {good}; it must be an integer or a string"):
        Columns(label="label").fields(record, True)
    assert Columns().is_labelled({"prompt": "a", "completion": "b", "label": 1}), "a class"
    assert Columns().is_labelled({"text": "a", "label": good}), "a wrong class"


BAD = {
    "another column": (
        {"instruction": "a b", "output": "c"},
        {},
        r"the field 'text' is missing.*instruction, output.*add to the task: "
        r"columns: \{instruction: prompt, output: references\}",
    ),
    "a pair": (
        {"question": "a b", "response_j": "c", "response_k": "d"},
        {},
        r"columns: \{question: prompt, response_j: chosen, response_k: rejected\}",
    ),
    "an answer with true or false": (
        {"instruction": "a b", "output": "c", "label": True},
        {},
        r"columns: \{instruction: prompt, output: completion\}",
    ),
    "unknown names": ({"n": 3, "x": "a b", "y": "c"}, {}, r"columns: \{x: prompt, y: references\}"),
    "a conversation": ({"conversation": [ASK]}, {}, r"columns: \{conversation: messages\}"),
    "one column": ({"body": "a b"}, {}, r"columns: \{body: text\}"),
    "no texts": ({"n": 3}, {}, r"the field 'text' is missing. Fields here: n$"),
    "a column that is not here": ({"prompt": "a"}, {"ask": "prompt"}, "the field 'ask' is missing"),
    "a column without a value": ({"q": None, "a": "x"}, {"q": "prompt"}, "the field 'q' is empty"),
    "a field twice": ({"q": "a", "prompt": "b"}, {"q": "prompt"}, "which is here too"),
    "a number": ({"prompt": 3}, {}, "the field 'prompt' is an int; it must be a text or a list"),
    "a blank prompt": ({"prompt": " "}, {}, "'prompt' is empty"),
    "a blank completion": ({"prompt": "a", "completion": ""}, {}, "'completion' is empty"),
    "a rejected answer that is blank": (
        {"prompt": "a", "chosen": "b", "rejected": " "},
        {},
        "'rejected' is empty",
    ),
    "nothing in common": ({"chosen": "good", "rejected": "bad"}, {}, "no common beginning"),
    "equal answers": ({"chosen": "a b", "rejected": "a"}, {}, "no common beginning"),
    "no message": ({"messages": []}, {}, "at least one message"),
    "an unknown role": (
        {"messages": [{"role": "bot", "content": "a"}]},
        {},
        "message 1 of 'messages' has the role 'bot'.*system, developer",
    ),
    "no mapping": ({"messages": ["hi"]}, {}, "message 1 of 'messages' is 'hi'"),
    "an answer alone": ({"messages": [ANSWER]}, {}, "no message before the answer"),
    "a picture": (
        {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
        {},
        "type 'image'; only parts of the type 'text'",
    ),
    "no content": ({"messages": [{"role": "user"}]}, {}, "has the content None"),
    "an answer of the user": (
        {"prompt": [ASK], "completion": [ASK]},
        {},
        "the last message of 'completion' has the role 'user'",
    ),
    "a text that is no JSON": ({"messages": "hi"}, {}, "is a text that is not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_explained(name):
    record, names, why = BAD[name]
    with pytest.raises(ValueError, match=why):
        Columns(names=Record(names)).fields(record, False)


VALUES = st.one_of(
    st.none(), st.text("ab \n", max_size=3), st.integers(), st.lists(st.text("a ", max_size=2), max_size=2)
)
NAMES = st.sampled_from(["prompt", "completion", "references", "chosen", "rejected", "text", "other"])


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_the_short_way_never_accepts_what_the_long_one_refuses(record):
    prompt = forms.plain_prompt(record)
    if prompt is not None:
        assert Columns().fields(record, False)["prompt"] == prompt
