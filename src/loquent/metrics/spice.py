"""SPICE (Anderson et al. 2016, arXiv:1607.08822): F1 of scene graphs, by the official Java program. It is run, never imitated.

Unpack the authors' SPICE-1.0.zip, with Stanford CoreNLP 3.6.0 and its models in `lib/`, so that `spice-1.0.jar` lies in the folder
`spice` of the cache (`~/.cache/loquent/spice`), or name the jar. It takes a Java of version 8 or later and about 8 GB of memory.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.pairs import averaged
from loquent.settings import setting
from loquent.task import Row

JAR = "spice-1.0.jar"
NEEDED = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
SOURCE = "https://panderson.me/spice"


@dataclass(frozen=True, kw_only=True)
class SpiceOptions:
    """What the metric `spice` may be told."""

    jar: str = setting("", "the official spice-1.0.jar, with lib/ beside it; empty: spice/spice-1.0.jar in the cache")
    java: str = setting("java", "the Java to run it with")
    memory: str = setting("8G", "the largest heap of Java", source="the authors' command")


@dataclass(frozen=True)
class Spice:
    """SPICE's F1 over all tuples: one run of Java for all samples of a call."""

    jar: Path
    java: str
    memory: str = "8G"
    name: ClassVar[str] = "spice"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each prediction against its references; one without a word scores 0 and is not given to Java.

        Raises:
            BadSetting: Java ends with an error, or what it writes is not SPICE's.
        """
        wanted = [[_line(text) for text in own if text.strip()] for own in references]
        samples: list[float | None] = [0.0 if own and not said.strip() else None for said, own in zip(predictions, wanted, strict=True)]
        asked = [{"image_id": i, "test": _line(said), "refs": wanted[i]} for i, said in enumerate(predictions) if wanted[i] and said.strip()]
        for i, score in self._run(asked).items() if asked else ():
            samples[i] = score
        return averaged({self.name: samples})

    def _run(self, asked: Sequence[dict[str, Any]]) -> dict[int, float | None]:
        with tempfile.TemporaryDirectory(prefix="spice") as folder:
            given, written = Path(folder) / "in.json", Path(folder) / "out.json"
            given.write_text(json.dumps(asked), encoding="utf-8")
            command = [self.java, f"-Xmx{self.memory}", "-jar", str(self.jar), str(given), "-out", str(written), "-silent"]
            done = subprocess.run(command, cwd=self.jar.parent, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode or not written.is_file():
                last = " / ".join(done.stderr.strip().splitlines()[-3:]) or "it said nothing"
                raise BadSetting(f"spice: {self.java} -jar {self.jar} ended with code {done.returncode}: {last}")
            try:
                found = {item["image_id"]: _number(item["scores"]["All"]["f"]) for item in json.loads(written.read_text(encoding="utf-8"))}
            except (ValueError, KeyError, TypeError) as error:
                raise BadSetting(f"spice: {self.jar} wrote something else than SPICE's scores: {type(error).__name__}: {error}") from error
        lacking = [item["image_id"] for item in asked if item["image_id"] not in found]
        if lacking:
            raise BadSetting(f"spice: {self.jar} gave no score for {len(lacking)} of {len(asked)} samples, the first being sample {lacking[0]}")
        return found


@takes(SpiceOptions)
def spice(context: Context, options: SpiceOptions) -> Spice:
    """SPICE by the official program. Needs Java and spice-1.0.jar with CoreNLP 3.6.0, named by `jar` or in the cache.

    Raises:
        BadSetting: the jar, a library of it, or Java is missing.
    """
    jar = Path(options.jar).expanduser() if options.jar else context.cache / "spice" / JAR
    if not jar.is_file():
        raise BadSetting(
            f"spice needs the official {JAR}, and there is none at {jar}: unpack SPICE-1.0.zip ({SOURCE}) there, or name the jar with spice.jar"
        )
    lacking = [name for name in NEEDED if not (jar.parent / "lib" / name).is_file()]
    if lacking:
        raise BadSetting(f"spice needs {' and '.join(lacking)} in {jar.parent / 'lib'}: get_stanford_models.sh of SPICE-1.0.zip fetches them")
    java = shutil.which(options.java)
    if java is None:
        raise BadSetting(f"spice needs Java, and spice.java = {options.java!r} is no program here; a Java of version 8 or later is right")
    return Spice(jar.resolve(), java, options.memory)


def _line(text: str) -> str:
    return " ".join(text.split())


def _number(given: Any) -> float | None:
    """A score of the program; None for the NaN it gives where neither text has a tuple."""
    score = float(given)
    return score if math.isfinite(score) else None
