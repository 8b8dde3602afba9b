"""A name is a noun or a verb. Names that are a bare participle ("drawn", "placed") may only become fewer."""

import ast
import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[1] / "src" / "loquent"
MOST_FUNCTIONS, MOST_MODULES = 236, 38
SLACK = 10  # names fewer than the limit before it must be lowered
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
    functions, modules = [], []
    for file in sorted(house.rglob("*.py")):
        place = file.relative_to(house).as_posix()
        modules += [place] if is_participle(file.stem) else []
        functions += [
            f"{place}:{node.name}"
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
            and is_participle(node.name)
            and (node.returns is None or ast.unparse(node.returns) != "bool")
        ]
    return functions, modules


@pytest.mark.parametrize("kind", [0, 1], ids=["functions", "modules"])
def test_names_that_are_participles_become_fewer(kind):
    names, most = participles(HOUSE)[kind], (MOST_FUNCTIONS, MOST_MODULES)[kind]
    assert len(names) <= most, f"{len(names)} names, at most {most}: name the thing, or use a verb\n{names}"
    assert len(names) > most - SLACK, f"{len(names)} names: lower the limit"


def test_a_name_that_is_a_participle_is_found(tmp_path):
    (tmp_path / "placed.py").write_text(
        "def drawn(): ...\ndef legal_drawn(): ...\ndef _kept(): ...\ndef seed(): ...\n"
        "class A:\n    def masked(self) -> int: ...\n    def finished(self) -> bool: ...\n"
    )
    (tmp_path / "placement.py").write_text("def draw(): ...\n")
    assert participles(tmp_path) == (["placed.py:drawn", "placed.py:masked"], ["placed.py"])
