"""A name is a noun or a verb, never a bare participle ("drawn", "placed"), except those in `TERMS`."""

import ast
import re

from helpers.sources import HOUSE, nodes

TERMS = {
    "bound": "the noun: the largest absolute value",
    "chosen": "the preferred answer of a preference pair, as data sets of pairs call it",
    "hidden": "the hidden states of a network",
    "pretrained": "a pretrained network, and the room of these networks",
    "rejected": "the other answer of a preference pair, as data sets of pairs call it",
    "supervised": "supervised learning",
}
IRREGULAR = re.compile(
    "begun|borne|bound|broken|brought|built|bought|caught|chosen|drawn|driven|fed|felt|found|frozen|given|gone|"
    "grown|heard|held|hidden|kept|known|laid|led|left|lost|made|meant|met|paid|said|seen|sent|shown|sold|spent|"
    "spoken|stolen|taken|taught|thought|thrown|told|torn|understood|won|woven|written"
)
NOUNS = {"seed", "need", "speed", "embed", "feed", "shed", "bed", "exceed", "proceed"}


def is_participle(name):
    """Whether a public name is one word that is a participle."""
    return bool(IRREGULAR.fullmatch(name)) or ("_" not in name and name.endswith("ed") and name not in NOUNS)


def participles(house):
    """The functions and methods, except those of a truth value, and the modules with such names."""
    names = []
    for file in sorted(house.rglob("*.py")):
        place = file.relative_to(house).as_posix()
        names += [(file.stem, place)] if is_participle(file.stem) else []
        names += [
            (node.name, f"{place}:{node.name}")
            for node in nodes(file)
            if isinstance(node, ast.FunctionDef)
            and is_participle(node.name)
            and (node.returns is None or ast.unparse(node.returns) != "bool")
        ]
    return names


def test_no_name_is_a_participle_except_terms_of_the_field():
    names = participles(HOUSE)
    assert [place for name, place in names if name not in TERMS] == [], "name the thing, or use a verb"
    assert {name for name, _ in names} == TERMS.keys(), "a term that no name needs"


def test_a_name_that_is_a_participle_is_found(tmp_path):
    (tmp_path / "placed.py").write_text(
        "def drawn(): ...\ndef legal_drawn(): ...\ndef _kept(): ...\ndef seed(): ...\n"
        "class A:\n    def masked(self) -> int: ...\n    def finished(self) -> bool: ...\n"
    )
    (tmp_path / "placement.py").write_text("def draw(): ...\n")
    assert [place for _, place in participles(tmp_path)] == [
        "placed.py",
        "placed.py:drawn",
        "placed.py:masked",
    ]
