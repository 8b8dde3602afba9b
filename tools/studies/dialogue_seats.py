"""How good the trained seats of visual dialogue are, on dialogues about validation scenes.

A careless questioner plays one dialogue about each of the first training scenes; the answerer and the guesser
learn from these. Then they read dialogues about validation scenes: the answerer gives each answer again, and
the guesser ranks the image after each round, beside the guesser that knows how scenes are made. Standard
errors are over dialogues.

Run: python -m tools.studies.dialogue_seats [TRAINING [VALIDATION [SEED [answerer] [judge]]]]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import loquent
from loquent.core.agent import Question, make
from loquent.core.rollout.loop import games, play
from loquent.core.task import Observation
from loquent.tasks.dialogue.learned import training
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.state import ANSWERING, State

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "dialogue-seats.jsonl"
ROUNDS = (0, 1, 2, 5, 10)


def played(task, split, count, seed):
    """A dialogue of ten rounds about each of the first scenes of a split."""
    asker = make("dialogue/casual", task)
    return training.played_dialogues(task, play(task, games(task.rows(split)[:count]), asker, seed=seed))


def mean(values):
    """The mean over dialogues of their means, and its standard error."""
    values = np.array([np.mean(each) for each in values if len(each)])
    return {
        "mean": round(float(values.mean()), 4),
        "error": round(float(values.std(ddof=1) / len(values) ** 0.5), 4),
    }


def kind_of(question, fields):
    """What a question of the world is: open, a check of a value, or about nothing in the scene."""
    asked = questions.parse(question, fields["subject"])
    return "off topic" if asked is None else "open" if asked.value is None else "check"


def answers(task, answerer, dialogues):
    """The share of right answers, of all questions and of each kind, and of answers of the world."""
    right, known = {"all": [], "open": [], "check": [], "off topic": []}, []
    texts = {answer for _, rounds in dialogues for _, answer in rounds}
    for fields, rounds in dialogues:
        of = {kind: [] for kind in right}
        for number, (question, answer) in enumerate(rounds):
            state = State(fields["caption"], stage=ANSWERING, history=rounds[:number], question=question)
            asked = Question(
                "", (), Observation(question, seat="answerer"), loquent.Key(0), state=state, row=fields
            )
            given = answerer.text(asked, state)
            known.append([given in texts])
            for kind in ("all", kind_of(question, fields)):
                of[kind].append(given == answer)
        for kind, values in of.items():
            right[kind].append(values)
    return {**{kind: mean(values) for kind, values in right.items()}, "answers of the world": mean(known)}


def percentiles(task, judge, dialogues):
    """The mean percentile of the image after some numbers of rounds."""
    return {
        str(count): mean(
            [judge.measure(fields["caption"], rounds[:count], task.image(fields))]
            for fields, rounds in dialogues
        )
        for count in ROUNDS
    }


MEASURES = {
    "answerer": (training.train_answerer, "right", answers),
    "judge": (training.train_guesser, "percentile", percentiles),
}
"""The training of each seat, and the name and the function of its figures."""


def study(counts, seed, names, folder):
    """Train the seats and measure them."""
    task, found = loquent.task("dialogue", mode="10_stop"), {}
    learned = played(task, "train", counts[0], seed)
    held = played(task, "validation", counts[1], seed + 1)
    for name in names:
        train, value, measure = MEASURES[name]
        begun = time.process_time()
        figures = train(task, learned, folder / name, training.SeatSettings(seed=seed))
        seconds = round(time.process_time() - begun)
        seat = make({"kind": f"dialogue/{name}", "path": str(folder / name)}, task)
        found[name] = {"processor_seconds": seconds, "held_out": figures, value: measure(task, seat, held)}
    return {**found, "exact judge": {"percentile": percentiles(task, make("dialogue/guesser", task), held)}}


def main(training_count=4000, validation_count=300, seed=0, *names):
    """Add a line to the record; without names, of both seats."""
    begun, counts = time.perf_counter(), (int(training_count), int(validation_count))
    with tempfile.TemporaryDirectory() as folder:
        found = study(counts, int(seed), names or tuple(MEASURES), Path(folder))
    line = {
        "command": " ".join(["python -m tools.studies.dialogue_seats", *map(str, (*counts, seed, *names))]),
        "commit": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip(),
        "seconds": round(time.perf_counter() - begun),
        "dialogues": counts[0],
        "validation": counts[1],
        "seed": int(seed),
        **found,
    }
    print(json.dumps(line))
    with RESULTS.open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
