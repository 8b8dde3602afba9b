"""SPICE (Anderson et al. 2016, arXiv:1607.08822): F1 of scene graphs, computed by the official Java program.

Unpack the authors' SPICE-1.0.zip, with Stanford CoreNLP 3.6.0 and its models in `lib/`, so that
`spice-1.0.jar` lies in the folder `spice` of the cache (`~/.cache/loquent/spice`), or name the jar. The
program needs Java 8 or later and about 8 GB of memory.
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

from loquent.core.guards import json_files
from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadSetting
from loquent.metrics.shared_parts import with_means

JAR = "spice-1.0.jar"
LIBRARIES = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
SOURCE = "https://panderson.me/spice"


@dataclass(frozen=True, kw_only=True)
class SpiceOptions:
    """Options of the metric `spice`."""

    jar: str = setting(
        "",
        "the official spice-1.0.jar, with lib/ in its folder; empty: spice/spice-1.0.jar in the cache",
        file=True,
    )
    java: str = setting("java", "the Java program")
    memory: str = setting("8G", "the largest heap of Java", source="the authors' command")


@dataclass(frozen=True)
class Spice(Share, OneKey):
    """SPICE's F1 over all tuples. Each call starts Java once for all samples."""

    jar: Path
    java: str
    memory: str = "8G"
    name: ClassVar[str] = "spice"

    def __call__(self, samples: Samples) -> Measured:
        """Score each prediction against its references. An empty prediction scores 0 and is not sent to Java.

        Raises:
            BadSetting: Java ends with an error, or its output has another format than SPICE's.
        """
        lines = [[_line(text) for text in texts if text.strip()] for texts in samples.references]
        columns: list[float | None] = [
            0.0 if texts and not prediction.strip() else None
            for prediction, texts in zip(samples.predictions, lines, strict=True)
        ]
        items = [
            {"image_id": i, "test": _line(prediction), "refs": lines[i]}
            for i, prediction in enumerate(samples.predictions)
            if lines[i] and prediction.strip()
        ]
        for i, score in self._run(items).items() if items else ():
            columns[i] = score
        return with_means({self.name: columns})

    def _run(self, items: Sequence[dict[str, Any]]) -> dict[int, float | None]:
        with tempfile.TemporaryDirectory(prefix="spice") as folder:
            source, output = Path(folder) / "in.json", Path(folder) / "out.json"
            source.write_text(json.dumps(items), encoding="utf-8")
            program = [self.java, f"-Xmx{self.memory}", "-jar", str(self.jar)]
            command = [*program, str(source), "-out", str(output), "-silent"]
            process = subprocess.run(
                command,
                cwd=self.jar.parent,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            if process.returncode or not output.is_file():
                last = " / ".join(process.stderr.strip().splitlines()[-3:]) or "no error output"
                raise BadSetting(
                    f"spice: {self.java} -jar {self.jar} ended with code {process.returncode}: {last}. "
                    "Run the program of the authors alone to see whether it works here"
                )
            scores = self._read(output)
        missing = [item["image_id"] for item in items if item["image_id"] not in scores]
        if missing:
            raise BadSetting(
                f"spice: {self.jar} gave no score for {len(missing)} of {len(items)} samples, the "
                f"first is sample {missing[0]}. Each sample must have a score. Check that the jar is "
                f"the official {JAR}"
            )
        return scores

    def _read(self, output: Path) -> dict[int, float | None]:
        try:
            items = json_files.load(output, error=BadSetting, nan="kept")
            return {item["image_id"]: _number(item["scores"]["All"]["f"]) for item in items}
        except (ValueError, KeyError, TypeError) as error:
            raise BadSetting(
                f"spice: the output of {self.jar} has not SPICE's format: {type(error).__name__}: "
                f"{error}. Check that the jar is the official {JAR}"
            ) from error


@takes(SpiceOptions)
def spice(context: Context, options: SpiceOptions) -> Spice:
    """SPICE by the official program. Needs Java and spice-1.0.jar with CoreNLP 3.6.0.

    The option `jar` names the jar; by default it lies in the cache.

    Raises:
        BadSetting: the jar, one of its libraries, or Java is missing.
    """
    jar = Path(options.jar).expanduser() if options.jar else context.cache / "spice" / JAR
    if not jar.is_file():
        raise BadSetting(
            f"spice needs the official {JAR}, and there is no file {jar}. Unpack SPICE-1.0.zip "
            f"({SOURCE}) there, or name the jar with spice.jar"
        )
    missing = [name for name in LIBRARIES if not (jar.parent / "lib" / name).is_file()]
    if missing:
        raise BadSetting(
            f"spice needs {' and '.join(missing)} in {jar.parent / 'lib'}. Run "
            "get_stanford_models.sh of SPICE-1.0.zip to download them"
        )
    java = shutil.which(options.java)
    if java is None:
        raise BadSetting(
            f"spice.java = {options.java!r} is not a program on this machine; Java 8 or later is needed. "
            "Install Java, or name the program with spice.java"
        )
    return Spice(jar.resolve(), java, options.memory)


def _line(text: str) -> str:
    return " ".join(text.split())


def _number(value: Any) -> float | None:
    """A score of the program; None for NaN, which it returns if neither text has a tuple."""
    score = float(value)
    return score if math.isfinite(score) else None
