"""The best list of questions that are the same in every game: a search over the open questions of the world.

A list is improved one place at a time, from several starts, by its mean return on training rows. What a list
earns is computed from the properties that are known after each question, so a return takes microseconds.
`python -m tools.studies.best_list` prints the list and its return, and the best question that is repeated.
"""

import numpy as np

import loquent
from loquent.core.seeding import Key
from loquent.tasks.dialogue.game import rules
from loquent.tasks.dialogue.scenes import questions, scene
from loquent.tasks.dialogue.scenes.domains import DOMAIN_OF
from loquent.tasks.dialogue.sources import builtin

SUBJECTS = tuple(DOMAIN_OF)
STARTS = 6


def solved(task, rows):
    """(subject, known at first, whether each set of known properties solves the game) of each row.

    A set is a number of 5 bits.
    """
    pool, found = task.pool("validation"), []
    for row in rows:
        values, image = builtin.scene_of(row.fields).values, task.image(row.fields)
        subject, stated, _ = questions.captions()[questions.normalise(row["caption"])]

        def percentile(known, subject=subject, values=values, image=image):
            beliefs = np.full((scene.PROPERTIES, scene.VALUES), 1 / scene.VALUES)
            for number in range(scene.PROPERTIES):
                if known >> number & 1:
                    beliefs[number] = np.eye(scene.VALUES)[values[number]]
            return pool.percentile(scene.features(subject, beliefs), image)

        first = 1 << stated
        before = percentile(first)
        ends = {
            known: rules.found(before, [percentile(known) - before], task.options.percentile)
            for known in range(32)
            if known & first
        }
        found.append((SUBJECTS.index(subject), first, ends))
    return found


def meanings():
    """For each open question of the world, by what it asks of each subject (-1: nothing), its text."""
    texts = sorted(
        text for name in SUBJECTS for text, asked in questions.question_texts(name) if asked.value is None
    )
    found = {}
    for text in texts:
        asked = [questions.parse(text, name) for name in SUBJECTS]
        found.setdefault(
            tuple(-1 if one is None or one.value is not None else one.number for one in asked), text
        )
    return found


def mean_return(chosen, games):
    total = 0.0
    for subject, known, ends in games:
        for turn, meaning in enumerate(chosen):
            if meaning[subject] >= 0:
                known |= 1 << meaning[subject]
            if ends[known]:
                total -= turn
                break
        else:
            total -= rules.TURNS - 1
    return total / len(games)


def best_question(games):
    """The best question that is asked again and again, and its mean return on the games of `solved`."""
    known = meanings()
    best = max(known, key=lambda one: mean_return([one] * rules.TURNS, games))
    return known[best], mean_return([best] * rules.TURNS, games)


def best_list(games):
    """The best list of 10 questions, and its mean return on the games of `solved`."""
    known = meanings()
    candidates, best = list(known), (-np.inf, [])
    for start in range(STARTS):
        stream = Key(0, ("best list", start)).generator()
        chosen = [candidates[i] for i in stream.integers(len(candidates), size=rules.TURNS)]
        score, before = mean_return(chosen, games), -np.inf
        while score > before:
            before = score
            changed = [[*chosen[:i], one, *chosen[i + 1 :]] for i in range(rules.TURNS) for one in candidates]
            for i in range(rules.TURNS):
                for j in range(i):
                    swapped = list(chosen)
                    swapped[i], swapped[j] = swapped[j], swapped[i]
                    changed.append(swapped)
            score, chosen = max(((mean_return(one, games), one) for one in changed), key=lambda pair: pair[0])
        best = max(best, (before, chosen), key=lambda pair: pair[0])
    return [known[meaning] for meaning in best[1]], best[0]


if __name__ == "__main__":
    dialogue = loquent.task("dialogue", percentile=0.9)
    training = solved(dialogue, dialogue.rows("train")[:400])
    texts, score = best_list(training)
    print(*texts, score, *best_question(training), sep="\n")
