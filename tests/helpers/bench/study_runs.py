"""Folders of runs for a study of people's judgements."""

from loquent.core import episode
from loquent.core.episode import TASK, Episode, Turn


def run(folder, answer, prompts=("prompt 0", "prompt 1")):
    """A folder with what a study reads of a run: a configuration and the last evaluation's episodes."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("name: x\n")
    games = [
        Episode(
            "generation-v1", f"r{i}", "test", 0, 0,
            (Turn(TASK, prompt, to="agent"), Turn("agent", answer), Turn(TASK, "", to="agent")), "end",
        )
        for i, prompt in enumerate(prompts)
    ]  # fmt: skip
    episode.write(folder / "episodes.jsonl", games)
    return folder
