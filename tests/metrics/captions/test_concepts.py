import pytest

from helpers.metrics import real_pairs
from helpers.metrics.laws import check_laws
from loquent.core.metric import Context, Measured, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.metrics.captions.concepts import concept_coverage, concepts_of, coverage, missing_concepts, split
from loquent.metrics.captions.inflections import IRREGULAR_FORMS, forms


@pytest.mark.parametrize(
    ("word", "inflected", "never"),
    [
        ("dog", "dogs dogged dogging", "doged"),
        ("box", "boxes boxed boxing", "boxs boxxing"),
        ("city", "cities", "citys cityes"),
        ("play", "plays played playing", "plaies playyed player"),
        ("carry", "carries carried carrying", "carrys carriing"),
        ("ride", "rides rode ridden riding", "rideing rid"),
        ("stop", "stops stopped stopping", "stoped stoping"),
        ("travel", "travels travelled traveled travelling", "travelle"),
        ("open", "opens opened opening", "openes"),
        ("see", "sees saw seen seeing", "seing"),
        ("die", "dies died dying dice", "dieing"),
        ("quit", "quits quitting", "quiting"),
        ("Child", "child children", "childrens"),
        ("knife", "knives", ""),
        ("go", "goes went gone going", ""),
        ("look", "looks looked looking", "lookked"),
        ("fix", "fixes fixed fixing", "fixxed"),
        ("show", "shows showed shown showing", "showwed"),
        ("photo", "photos", "photoss"),
        ("potato", "potatoes", ""),
        ("y", "y", ""),
        ("猫", "猫", ""),
        ("", "", ""),
    ],
)
def test_inflections(word, inflected, never):
    assert set(inflected.split()) <= forms(word)
    assert not set(never.split()) & forms(word)


@pytest.mark.data
def test_irregular_forms_are_wordnets(beside):
    """Each listed form is one that WordNet knows as irregular of this word, or one of the spellings named
    here.
    """
    from loquent.metrics.lexical.wordnet import PARTS, load

    found = load(beside / "data" / "nltk_data" / "corpora" / "wordnet.zip")._exceptions
    known = {(form, base) for part in PARTS for form, bases in found[part].items() for base in bases}
    unknown = {
        f"{base}:{form}"
        for base, listed in IRREGULAR_FORMS.items()
        for form in listed
        if (form, base) not in known and form != base
    }
    assert len(unknown) < 0.25 * sum(map(len, IRREGULAR_FORMS.values())), sorted(unknown)
    assert ("runned", "run") not in known


def test_coverage_by_hand():
    concepts = ["dog", "frisbee", "catch", "throw"]
    assert coverage("The dogs caught it; he was throwing.", concepts) == 0.75
    assert missing_concepts("The dogs caught it; he was throwing.", concepts) == ["frisbee"]
    assert coverage("A catalogue of doghouses", ["cat", "dog"]) == 0.0  # whole words only
    assert coverage("The dog's bowl", ["dog"]) == 1.0
    assert coverage("He ate two hot dogs.", ["hot dog"]) == 1.0
    assert coverage("The dogs are hot.", ["hot dog"]) == 0.0
    assert coverage("", ["dog"]) == 0.0
    assert coverage("dog", []) is None


def test_where_concepts_come_from():
    rows = [
        Row("a", Record(concepts=("dog", "run"))),
        Row("b", Record(concepts="ski#mountain")),
        Row("c", Record(concepts=3)),
        Row("d"),
    ]
    said = ["a dog", "skis on a mountain", "x", "y"]
    assert concept_coverage(Context())(Samples(said, rows=rows)).samples["concept_coverage"] == [
        0.5,
        1.0,
        None,
        None,
    ]
    assert (
        concept_coverage(Context(), field="own")(
            Samples(["a"], [()], [""], [Row("e", Record(own=["a"]))])
        ).corpus["concept_coverage"]
        == 1.0
    )
    prompts = ["generate a sentence with: dog run ball.", ": dog, cat", ""]
    metric = concept_coverage(Context(), source="prompt")
    assert metric(Samples(["a dog ran", "a dog", "x"], prompts=prompts)).samples["concept_coverage"] == [
        pytest.approx(2 / 3),
        0.5,
        None,
    ]
    # no colon, no concepts
    assert metric(Samples(["a dog"], prompts=["write about a dog"])) == Measured(
        {"concept_coverage": [None]}, {}
    )
    assert split(" dog  dog, 'ball'. ") == ["dog", "ball"]
    assert concepts_of(["hot dog", "", 4, "!"]) == ["hot dog"]


@pytest.mark.data
def test_people_cover_their_concepts(beside):
    """CommonGen's scenes were written to hold all their concepts."""
    found = [
        coverage(scene, split(concepts))
        for concepts, scenes in real_pairs.concepts(beside / "data")
        for scene in scenes
    ]
    exact = [
        sum(word in scene.lower().split() for word in split(concepts)) / 3
        for concepts, scenes in real_pairs.concepts(beside / "data")
        for scene in scenes
    ]
    assert len(found) > 2000
    assert sum(found) / len(found) > 0.97
    assert sum(exact) / len(exact) < 0.9


def test_laws():
    def row(n):
        return [Row(str(i), Record(concepts=("cat", "hot dog", "sit"))) for i in range(n)]

    check_laws(concept_coverage(Context()), 0, 1, row=row)
    check_laws(concept_coverage(Context(), source="prompt"), 0, 1, best=1.0)
