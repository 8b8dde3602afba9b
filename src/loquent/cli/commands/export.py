"""`loquent export`: copies a run's model into an ordinary Hugging Face folder, which servers can serve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.cli.grammar.options import CommandOptions, argument, option
from loquent.core import episode
from loquent.core.guards import json_files
from loquent.core.options import read
from loquent.errors import BadModel, BadSetting
from loquent.files import final_evaluation, names
from loquent.files.machine.version import __version__
from loquent.files.run_folder import RunFolder

if TYPE_CHECKING:
    from loquent.models import serving

# of the recipe: what the model was trained for, and how it answers
SECTIONS = ("task", "evaluation", "algorithm")

CAUSAL, SEQ2SEQ = "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
EPISODES = 20  # recorded episodes on which the chat template is tried


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent export`."""

    examples = ("loquent export runs/ppo exported",)
    run: str = argument("RUN", "a run's folder")
    folder: str = argument("FOLDER", "a new or empty folder")
    adapter: bool = option(
        False,
        "",
        "copy the adapters of a run with model.lora alone; by default they are merged into the model",
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Copy the model, write what a server needs, and print the folder."""
    from loquent.training import policies

    folder = policies.export(options.run, options.folder, adapter=options.adapter)
    run_folder = RunFolder.around(Path(options.run))
    if run_folder is not None:
        _serve(folder, run_folder)
    print(
        f"the model is in {folder}; transformers loads it with "
        f"{_kind(folder)}.from_pretrained({str(folder)!r})"
    )
    return 0, {"run": str(options.run), "folder": str(folder)}


def _serve(folder: Path, run_folder: RunFolder) -> None:
    """Write the format of a run's recipe beside its model.

    The recipe is only read; no code that it names is imported.
    """
    from loquent.models import serving
    from loquent.models.format.names import FORMATS
    from loquent.pretrained.language import load_tokenizer

    recipe = read(run_folder.config, str(run_folder.config)).mapping(names.CONFIG)
    model = recipe["model"].mapping("model") if "model" in recipe else {}
    name = str(model["format"].value) if "format" in model else "plain"
    if name not in FORMATS:
        raise BadSetting(f"{run_folder.config}: model.format = {name!r} is none of {', '.join(FORMATS)}")
    if _kind(folder) == SEQ2SEQ:
        print("it has no chat template, because servers of chats run causal models")
        return
    tokenizer = load_tokenizer(folder, None)
    about = {
        "loquent": __version__,
        "name": recipe["name"].bare() if "name" in recipe else "",
        "format": name,
    }
    about |= {section: recipe[section].bare() for section in SECTIONS if section in recipe}
    evaluated = run_folder.evaluation() if run_folder.has_ended else {}
    about["decoding"] = final_evaluation.decoding(evaluated)
    serving.write(folder, tokenizer, FORMATS[name](tokenizer), about, _histories(run_folder))


def _kind(folder: Path) -> str:
    """The class of transformers that loads a folder's model."""
    from loquent.pretrained import lora

    if lora.is_adapter(folder):
        return SEQ2SEQ if lora.is_pair(folder) else CAUSAL
    config = json_files.load_object(folder / "config.json", error=BadModel)
    return SEQ2SEQ if config.get("is_encoder_decoder") else CAUSAL


def _histories(run: RunFolder) -> Iterator[serving.History]:
    """The turns that the model read before each answer, in the newest recorded episodes of its run."""
    for file in list(run.evaluations().values())[-1:]:
        for recorded in islice(episode.read(file), EPISODES):
            turns = recorded.seen_by(recorded.learning)
            yield from (
                (recorded.instruction, turns[:i], recorded.learning)
                for i, turn in enumerate(turns)
                if turn.seat == recorded.learning
            )
