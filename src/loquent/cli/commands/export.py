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
from loquent.core.options import fill, read
from loquent.errors import BadModel, BadSetting
from loquent.files import final_evaluation, names
from loquent.files.machine.version import __version__
from loquent.files.run_folder import RunFolder
from loquent.models.decoding_settings import Decoding

if TYPE_CHECKING:
    from loquent.models import serving

# of the recipe: what the model was trained for, and how it answers
SECTIONS = ("task", "evaluation", "algorithm")

CAUSAL, SEQ2SEQ = "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"
HALVES = ("bfloat16", "float16")  # in which close logits become equal
EPISODES = 20  # recorded episodes on which the chat template is tried


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent export`."""

    examples = (
        "loquent export runs/ppo exported",
        "loquent export runs/ppo exported --push me/my-model --license apache-2.0",
    )
    run: str = argument("RUN", "a run's folder")
    folder: str = argument("FOLDER", "a new or empty folder")
    adapter: bool = option(
        False,
        "",
        "copy the adapters of a run with model.lora alone; by default they are merged into the model",
    )
    push: str | None = option(
        None,
        "NAME",
        "publish the folder with a model card as this model of the hub, private if it is new",
    )
    license: str | None = option(None, "ID", "with --push: the licence of the model, such as mit")
    public: bool = option(False, "", "with --push: a new model is public")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Copy the model, write what a server needs, and print the folder."""
    from loquent.training import policies

    run_folder = RunFolder.around(Path(options.run))
    licence = _licence(options, run_folder)
    folder = policies.export(options.run, options.folder, adapter=options.adapter)
    if run_folder is not None:
        _serve(folder, run_folder, published=bool(options.push))
    print(
        f"the model is in {folder}; transformers loads it with "
        f"{_kind(folder)}.from_pretrained({str(folder)!r})"
    )
    result = {"run": str(options.run), "folder": str(folder)}
    if options.push and run_folder is not None:
        result["published"] = _push(folder, run_folder, options.push, licence, options.public)
    return 0, result


def _licence(options: Options, run_folder: RunFolder | None) -> str:
    """The licence with which the model is published; "" if it is not published."""
    from loquent.cli import publishing

    if options.push is None:
        if options.license or options.public:
            raise BadSetting("--license and --public are read with --push only; add --push NAME")
        return ""
    licence = publishing.check(options.push, options.license)
    if run_folder is None:
        raise BadSetting(f"--push {options.push}: {options.run} is no run, so its card has no recipe")
    return licence


def _push(folder: Path, run_folder: RunFolder, name: str, licence: str, public: bool) -> str:
    """Write the model card, say what is sent, send it, and print the address."""
    from loquent.cli import publishing
    from loquent.models.card import CARD
    from loquent.report.card import card

    pipeline = "text2text-generation" if _kind(folder) == SEQ2SEQ else "text-generation"
    readme = folder / CARD
    _, _, use = readme.read_text(encoding="utf-8").partition("\n")  # its title is the card's own
    readme.write_text(card(run_folder, licence, pipeline, use), encoding="utf-8")
    address = publishing.publish(folder, name, public=public, say=print)
    print(f"the model is published at {address}")
    return address


def _serve(folder: Path, run_folder: RunFolder, *, published: bool) -> None:
    """Write the format of a run's recipe beside its model.

    The recipe is only read; no code that it names is imported. A published note names no folder of this
    machine.
    """
    from loquent.models import serving
    from loquent.models.format.names import AUTO, NAMES, choose_format
    from loquent.report.card import without_places

    recipe = read(run_folder.config, str(run_folder.config)).mapping(names.CONFIG)
    model = recipe["model"].mapping("model") if "model" in recipe else {}
    name = str(model["format"].value) if "format" in model else AUTO
    thinking = model["thinking"].bare() if "thinking" in model else None
    if name not in (AUTO, *NAMES):
        raise BadSetting(f"{run_folder.config}: model.format = {name!r} is none of {', '.join(NAMES)}")
    decoding = fill(Decoding, recipe.get("evaluation") or recipe.get("decoding"), "evaluation")
    tokenizer, format = serving.of_folder(folder, name, thinking)
    about = {
        "loquent": __version__,
        "name": recipe["name"].bare() if "name" in recipe else "",
        "format": choose_format(name, tokenizer, _kind(folder) == SEQ2SEQ),
    }
    about |= {"thinking": thinking} if thinking is not None else {}
    rounded = [str(model[key].value) for key in ("dtype", "autocast") if key in model]
    rounded = [name for name in rounded if name in HALVES]
    about |= {"computed_in": rounded[0]} if rounded else {}
    about |= {section: recipe[section].bare() for section in SECTIONS if section in recipe}
    evaluated = run_folder.evaluation() if run_folder.has_ended else {}
    about["decoding"] = final_evaluation.decoding(evaluated)
    lost = about["decoding"].removeprefix(decoding.text).removeprefix(", ") if evaluated else ""
    if lost == final_evaluation.NOT_RECORDED:
        lost = ""
    about = without_places(about) if published else about
    serving.write(folder, tokenizer, format, about, _histories(run_folder), decoding, lost)


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
