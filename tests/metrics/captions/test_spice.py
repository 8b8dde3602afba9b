import json
import sys
from pathlib import Path

import pytest

from helpers.metrics.laws import check_laws
from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting
from loquent.metrics.captions.spice import JAR, LIBRARIES, spice

# stands where Java would: takes its command line, reads SPICE's input and writes its output, with word
# overlap for a score
PROGRAM = """#!{python}
import json, sys
heap, flag, jar, given, out, written, silent = sys.argv[1:]
assert (heap, flag, out, silent) == ("-Xmx8G", "-jar", "-out", "-silent") and jar.endswith("spice-1.0.jar")
asked = json.load(open(given, encoding="utf-8"))
if any("crash" in item["test"] for item in asked):
    sys.exit("Exception in thread main: out of memory")
def f(item):
    said, wanted = set(item["test"].split()), set(" ".join(item["refs"]).split())
    return len(said & wanted) / len(said | wanted)
scores = [{{"image_id": item["image_id"], "scores": {{"All": {{"f": f(item)}}}}}} for item in reversed(asked)]
if any("NaN" in item["test"] for item in asked):
    scores[0]["scores"]["All"]["f"] = float("nan")
if any("lose" in item["test"] for item in asked):
    scores.pop()
json.dump(scores if not any("odd" in item["test"] for item in asked) else {{"a": 1}}, open(written, "w"))
"""


@pytest.fixture
def unpacked(tmp_path):
    """A folder as the official zip leaves it, and a program that speaks as the jar does."""
    folder = tmp_path / "spice"
    (folder / "lib").mkdir(parents=True)
    for file in (folder / JAR, *(folder / "lib" / name for name in LIBRARIES)):
        file.write_text("")
    java = tmp_path / "java"
    java.write_text(PROGRAM.format(python=sys.executable))
    java.chmod(0o755)
    return tmp_path


def made(unpacked):
    return spice(Context(cache=unpacked), java=str(unpacked / "java"))


def run(metric, predictions, references):
    return metric(Samples(predictions, references))


def test_what_is_missing_is_named(unpacked):
    with pytest.raises(BadSetting, match=r"there is no file .*no.jar. Unpack SPICE-1.0.zip"):
        spice(Context(), jar="no.jar")
    with pytest.raises(BadSetting, match=r"spice.java = 'no-such-java' is not a program"):
        spice(Context(cache=unpacked), java="no-such-java")
    (unpacked / "spice" / "lib" / LIBRARIES[1]).unlink()
    with pytest.raises(BadSetting, match=r"needs stanford-corenlp-3.6.0-models.jar in .*lib"):
        made(unpacked)
    (unpacked / "spice" / JAR).unlink()
    with pytest.raises(BadSetting, match=r"there is no file .*spice-1.0.jar"):
        made(unpacked)


def test_samples_keep_their_scores(unpacked):
    """The program answers in another order; equal samples stay two.

    What it cannot read is not given to it.
    """
    found = run(
        made(unpacked), ["a b", "a\nb c", "", "x", "a b", "y"], [["a"], ["c", " "], ["a"], [], ["a"], [" "]]
    )
    assert found.samples["spice"] == [0.5, pytest.approx(1 / 3), 0.0, None, 0.5, None]
    assert found.corpus["spice"] == pytest.approx((0.5 + 1 / 3 + 0 + 0.5) / 4)
    assert run(made(unpacked), ["a NaN"], [["b"]]).samples["spice"] == [None]


def test_failures_are_told(unpacked):
    for text, why in (
        ("crash", "ended with code 1: Exception in thread main: out of memory"),
        ("odd", "has not SPICE's format"),
        ("lose", "gave no score for 1 of 2"),
    ):
        with pytest.raises(BadSetting, match=why):
            run(made(unpacked), [text, "b"], [["a"], ["b"]])


def test_laws(unpacked):
    check_laws(made(unpacked), 0, 1, best=None, examples=3)


def test_the_input_is_the_jars_format(unpacked, monkeypatch):
    import subprocess

    seen = []
    real = subprocess.run

    def watched(command, **given):
        seen.append(json.loads(Path(command[4]).read_text(encoding="utf-8")))
        return real(command, **given)

    monkeypatch.setattr(subprocess, "run", watched)
    run(made(unpacked), ["a é"], [["b", "c"]])
    assert seen == [[{"image_id": 0, "test": "a é", "refs": ["b", "c"]}]]
