"""Interview: one seat asks twice, the learning seat answers, a judge's number ends it.

Rewards come while others speak.
"""

import re

from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

REWARDS, REST = (
    Record(asked=0.25, judge=1.0),
    {"invalid": ("no score",), "return_range": (0.0, 1.5), "shared_rows": "the rows are few"},
)
SCORE = re.compile(r"[01](\.[0-9]{1,6})?", re.ASCII)


class Interview(Task):
    spec = TaskSpec(id="interview", instruction="An interview.", rewards=REWARDS, **REST)

    def rows(self, split):
        return tuple(Row(f"{split}:{topic}", Record(topic=topic)) for topic in ("bread", "stars", "rain"))

    def first(self, row, rng):
        seen = Observation(f"ask about {row['topic']}", seat="interviewer", stop=("\n",))
        return Opening(Record(said=(row["topic"],)), seen)

    def read(self, state, text):
        if len(state["said"]) < 5:
            return text
        good = SCORE.fullmatch(text) and float(text) <= 1
        return float(text) if good else Invalid("no score", text)

    def play(self, state, move):
        said = (*state["said"], move if not isinstance(move, Invalid) else None)
        state = state.with_(said=said)
        if len(said) == 6:
            score = 0.0 if isinstance(move, Invalid) else move
            seen = Observation("thank you", Record(score=score), seat="judge")
            return Outcome(state, seen, Record(judge=score), "judged")
        # owed before the first answer
        asked = Record(asked=float(move.endswith("?"))) if len(said) in (2, 4) else Record()
        seat = ("agent", "interviewer", "agent", "judge")[len(said) - 2]
        told = "Score it from 0 to 1." if seat == "judge" else move
        return Outcome(state, Observation(told, Record(turn=len(said)), seat=seat), asked)

    def expert(self, state):
        return ("what is it?", "it is good", "why?", "because", "0.93")[len(state["said"]) - 1]
