"""`loquent export`: copies a run's model into an ordinary Hugging Face folder, which servers can serve."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loquent.core import episode
from loquent.core.guards import json_files
from loquent.core.options import fill, read
from loquent.errors import BadModel, BadSetting
from loquent.files import final_evaluation, names
from loquent.files.machine.version import __version__
from loquent.files.run_folder import RunFolder
from loquent.models import serving
from loquent.models.decoding_settings import Decoding
from loquent.models.format.names import AUTO, NAMES, chosen, of_model
from loquent.pretrained import lora
from loquent.pretrained.folder import from_pretrained
from loquent.pretrained.language import load_tokenizer, transformers_library
from loquent.pretrained.pairs import is_pair
from loquent.training import policies

# of the recipe: what the model was trained for, and how it answers
SECTIONS = ("task", "evaluation", "algorithm")

CAUSAL, SEQ2SEQ = "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
EPISODES = 20  # recorded episodes on which the chat template is tried


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Copy the model, write what a server needs, and print the folder."""
    folder = policies.export(arguments.run, arguments.folder, adapter=arguments.adapter)
    run_folder = RunFolder.around(Path(arguments.run))
    if run_folder is not None:
        _serve(folder, run_folder)
    print(
        f"the model is in {folder}; transformers loads it with "
        f"{_kind(folder)}.from_pretrained({str(folder)!r})"
    )
    return 0, {"run": str(arguments.run), "folder": str(folder)}


def _serve(folder: Path, run_folder: RunFolder) -> None:
    """Write the format of a run's recipe beside its model.

    The recipe is only read; no code that it names is imported.
    """
    recipe = read(run_folder.config, str(run_folder.config)).mapping(names.CONFIG)
    model = recipe["model"].mapping("model") if "model" in recipe else {}
    name = str(model["format"].value) if "format" in model else AUTO
    thinking = model["thinking"].bare() if "thinking" in model else None
    if name not in (AUTO, *NAMES):
        raise BadSetting(f"{run_folder.config}: model.format = {name!r} is none of {', '.join(NAMES)}")
    decoding = fill(Decoding, recipe.get("evaluation") or recipe.get("decoding"), "evaluation")
    tokenizer = load_tokenizer(folder, None)
    network = _network(folder)
    format = of_model(name, network, tokenizer, thinking)
    about = {
        "loquent": __version__,
        "name": recipe["name"].bare() if "name" in recipe else "",
        "format": chosen(name, tokenizer, is_pair(network)),
    }
    about |= {"thinking": thinking} if thinking is not None else {}
    about |= {section: recipe[section].bare() for section in SECTIONS if section in recipe}
    evaluated = run_folder.evaluation() if run_folder.has_ended else {}
    about["decoding"] = final_evaluation.decoding(evaluated)
    lost = about["decoding"].removeprefix(decoding.text).removeprefix(", ") if evaluated else ""
    serving.write(
        folder,
        tokenizer,
        format,
        about,
        _histories(run_folder),
        decoding,
        "" if lost == final_evaluation.NOT_RECORDED else lost,
    )


def _network(folder: Path) -> Any:
    """What a format reads of a folder's network: its configurations; adapters name their model's."""
    place, revision = lora.base_of(folder) if lora.is_adapter(folder) else (folder, None)
    config = from_pretrained(transformers_library().AutoConfig, place, revision, "config")
    file = Path(place) / serving.STOPS
    own = json_files.load_object(file, error=BadModel) if file.is_file() else {}
    return SimpleNamespace(config=config, generation_config=SimpleNamespace(**own))


def _kind(folder: Path) -> str:
    """The class of transformers that loads a folder's model."""
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
