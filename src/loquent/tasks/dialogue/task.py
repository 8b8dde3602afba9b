"""Visual dialogue: ask about an image that you cannot see, until it is known among all images.

Observation  at first the caption; then the answer to the last question.
Action       a question, any text that is not empty. With mode=agent_stops, a text with <stop> ends the game.
Seats        agent asks; answerer sees the image and answers; judge gives the percentile of the image before
             the first question, and its change with each answer, as numbers.
Reward       turn: -1 for each question, 0 for the last one. yes_no: 1 for an answer that counts as yes or no
             (weight 0; the paper's penalty is the weight -2). progress: the judge's number (weight 0; with
             mode=10_stop and mode=agent_stops 1, and turn 0). shift: 1 for each question (weight 0).
Ends         mode=env_stops: "found" when a share of the gap to the first rank is closed. mode=agent_stops:
             "stopped". All modes: "out of turns" after 10.
Rows         built-in scenes, or VisDial's dialogues from a path.
Paper        arXiv:2206.11871, section 6; the data: arXiv:1611.08669.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.core.task import OUT_OF_TURNS, Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import BadSetting, UnknownName
from loquent.tasks.dialogue import added_rows, rows
from loquent.tasks.dialogue.game import options as settings
from loquent.tasks.dialogue.game import rules
from loquent.tasks.dialogue.game.options import AGENT_STOPS, BUILTIN, ENV_STOPS
from loquent.tasks.dialogue.game.ranking import Pool
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.sources import builtin, images
from loquent.tasks.dialogue.state import ANSWERING, ASKING, JUDGING, OPENING, State
from loquent.tasks.dialogue.terminal import render_ansi

AGENT, ANSWERER, JUDGE = "agent", "answerer", "judge"
FOUND, STOPPED = "found", "stopped"
EMPTY_QUESTION, NO_NUMBER = "empty question", "not a number"
STOP = "<stop>"
STOPPING = Record(turn=0.0, yes_no=0.0, progress=0.0, shift=1.0)  # the rewards of <stop>
NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
RULES = "Ask up to 10 questions about an image that you cannot see, until it is known among all images."


class Dialogue(Task):
    """Ask about an image that you cannot see.

    Example:
        >>> task = Dialogue()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> step.observation.seat
        'judge'
    """

    Options = settings.Options
    options: settings.Options
    views: ClassVar[Mapping[str, str]] = {"dict": "loquent.tasks.dialogue.views:fields"}

    def __init__(self, options: settings.Options | None = None) -> None:
        super().__init__(options)
        self.spec = _spec(self.options)
        self._splits: dict[str, tuple[Row, ...]] = {}
        self.seats = {ANSWERER: self.options.answerer, JUDGE: self.options.judge}

    def rows(self, split: str) -> tuple[Row, ...]:
        """The dialogues of a split; UnknownName for a split that the source does not have."""
        self._splits = self._splits or rows.load(self.options)
        if split not in self._splits:
            raise UnknownName(f"split of {self.spec.id}", split, self._splits)
        return self._splits[split]

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from a `caption` and its image: `features`, or the place `file` and `image` in the source.

        It may have a recorded dialogue and its progress (`dialog`, `progress`), and, as a built-in scene,
        `subject` and `values`. BadRow for anything else.
        """
        row = super().row_from({"dialog": (), **fields})
        added_rows.check(row.fields, rows.sizes(self.options))
        return row

    def image(self, fields: Mapping[str, Any]) -> NDArray[np.float32]:
        """f32[width]: the features of a row's image; raises like `images.features`.

        A row may bring its own as `features`, a tuple of numbers. They are scaled as those of the source.
        """
        if "features" in fields:
            return images.own(self.options, np.array(fields["features"], dtype=np.float32))
        features: NDArray[np.float32] = self.features(fields["file"])[fields["image"]]
        return features

    def features(self, file: str) -> NDArray[np.float32]:
        """f32[dialogues, width]: the features of all images of a file; raises like `images.features`."""
        return images.features(self.options, file, rows.sizes(self.options).get(file, 0))

    def pool(self, file: str) -> Pool:
        """The images of a file, among which one can be ranked.

        Raises:
            BadSetting: the source has no such file; or as `images.features`.
        """
        if file not in rows.sizes(self.options):
            known = ", ".join(rows.sizes(self.options))
            raise BadSetting(
                f"task.judge: pool = {file!r}: the dialogues are of the files {known}; set pool to one of "
                "them, as in judge={kind: NAME, pool: train}"
            )
        return images.pool(self.options, file, rows.sizes(self.options).get(file, 0))

    def first(self, row: Row, rng: Key) -> Opening:
        """The judge gives the percentile that follows from the caption."""
        state = State(row["caption"], _shown(row))
        return Opening(state, Observation(f"{state.caption}\n", _fields(state), seat=JUDGE))

    def read(self, state: State, text: str) -> str | float | Invalid:
        """A question is the text without outer space; a judge's text must be a number.

        An answer keeps its spaces, which count where yes and no are matched by characters, but is one line.
        """
        if state.stage in (OPENING, JUDGING):
            found = NUMBER.fullmatch(text.strip())
            number = float(found[0]) if found else math.nan
            return number if math.isfinite(number) else Invalid(NO_NUMBER, text)
        if state.stage == ANSWERING:
            return " ".join(text.splitlines())
        return " ".join(text.split()) or Invalid(EMPTY_QUESTION, text)

    def play(self, state: State, move: str | float | Invalid) -> Outcome:
        """Pass the question to the answerer, the answer to the judge, and the judge's number to the rules."""
        if state.stage == ASKING:
            return self._asked(state, move)
        if state.stage == ANSWERING:
            assert isinstance(move, str)
            history = (*state.history, (state.question, move))
            after = replace(state, stage=JUDGING, history=history, question="")
            return Outcome(after, Observation(f"{move}\n", _fields(after), seat=JUDGE))
        assert not isinstance(move, str)
        number = 0.0 if isinstance(move, Invalid) else move
        if state.stage == OPENING:
            after = replace(state, stage=ASKING, initial=number)
            return Outcome(after, Observation(f"{after.caption}\n", _fields(after)))
        after = replace(state, stage=ASKING, progress=(*state.progress, number))
        return self._judged(after, number)

    def _asked(self, state: State, move: str | float | Invalid) -> Outcome:
        if isinstance(move, Invalid):  # costs the question; nobody is asked
            history = (*state.history, ("", ""))
            after = replace(state, history=history, progress=(*state.progress, 0.0))
            return self._judged(after, 0.0)
        assert isinstance(move, str)
        if self.options.mode == AGENT_STOPS and STOP in move:
            after = replace(state, ended=STOPPED)
            return Outcome(after, Observation("", _fields(after)), STOPPING, STOPPED)
        after = replace(state, stage=ANSWERING, question=move)
        return Outcome(after, Observation(f"{move}\n", _fields(after), seat=ANSWERER))

    def _judged(self, state: State, number: float) -> Outcome:
        """The rewards of the question that was answered, and the end of the game."""
        chosen, answer = self.options, state.history[-1][1]
        ended = self._ending(state)
        rewards = Record(
            turn=-1.0 if ended is None else chosen.unsolved if ended == OUT_OF_TURNS else 0.0,
            yes_no=float(rules.is_yes_no(answer, chosen.yes_no, chosen.match)),
            progress=number,
            shift=1.0,
        )
        after = replace(state, ended=ended or "")
        return Outcome(after, Observation(f"{answer}\n", _fields(after)), rewards, ended)

    def _ending(self, state: State) -> str | None:
        chosen = self.options
        if chosen.mode == ENV_STOPS and rules.found(state.initial, state.progress, chosen.percentile):
            return FOUND
        return OUT_OF_TURNS if len(state.history) >= rules.TURNS else None

    def expert(self, state: State) -> str | None:
        """The question for the first property of a built-in scene that is not known yet.

        None when all are known, and for the other seats and other sources.
        """
        if state.stage != ASKING or self.options.source != BUILTIN:
            return None
        return questions.unknown(state.caption, [asked for asked, _ in state.history])

    def solution(self, state: State) -> str | None:
        """What the image shows; for files, its name."""
        return state.image

    def render_ansi(self, observation: Observation) -> str:
        """The caption, the questions with answers, and how far the image is known."""
        return render_ansi(observation)

    def info(self, state: State, ended: str | None) -> dict[str, Any]:
        """Further keys of `info`: the percentile of the image now."""
        return {"percentile": state.initial + sum(state.progress)}


def _shown(row: Row) -> str:
    fields = row.fields
    if "subject" in fields:
        scene = builtin.scene_of(fields)
        return f"a {scene.subject}: " + ", ".join(map(scene.text, range(len(scene.values))))
    return f"image {fields['image']} of {fields['file']}" if "image" in fields else "an image of your own"


def _fields(state: State) -> Record:
    return Record(
        caption=state.caption,
        history=state.history,
        question=state.question,
        left=rules.TURNS - len(state.history),
        percentile=state.initial + sum(state.progress),
    )


def _spec(chosen: settings.Options) -> TaskSpec:
    by_progress = chosen.mode != ENV_STOPS
    return TaskSpec(
        id="dialogue",
        instruction=RULES if chosen.instruct else "",
        rewards=Record(turn=float(not by_progress), yes_no=0.0, progress=float(by_progress), shift=0.0),
        invalid=(EMPTY_QUESTION, NO_NUMBER),
        success=() if by_progress else (FOUND,),
        return_range=None if by_progress else (1.0 - rules.TURNS + chosen.unsolved, 0.0),
        paper="arXiv:2206.11871",
        licences=("Apache-2.0 (the built-in scenes)",) if chosen.source == BUILTIN else (),
    )
