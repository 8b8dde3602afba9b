"""Tiny tasks that are odd and correct, and broken twins, with the words by which `check` tells them."""

from dataclasses import dataclass, replace

from loquent.core.actions import Texts
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record

ROOMS = 4


class Ring(Task):
    """Walk round a ring of rooms: the episode ends where it began, so its last observation is its first."""

    spec = TaskSpec(id="ring", rewards=Record(home=1.0), turn_limit=9, success=("home",))
    actions = Texts(("on", "back"))
    shared = False

    def rows(self, split):
        number = 0 if self.shared else self.spec.splits.index(split)
        return tuple(Row(f"{split}:{i}", Record(ring=number, room=i)) for i in range(ROOMS))

    def first(self, row, rng):
        return Opening(self.state(row, rng), Observation(f"ring {row['ring']}, room {row['room']}"))

    def state(self, row, rng):
        return Record(ring=row["ring"], start=row["room"], room=row["room"])

    def read(self, state, text):
        return {"on": 1, "back": -1}.get(text, 0)

    def room(self, state):
        return state["room"]

    def moved(self, state, move):
        return state.with_(room=(state["room"] + move) % ROOMS)

    def play(self, state, move):
        state = self.moved(state, move)
        home = move != 0 and self.room(state) == state["start"]
        text = self.seen(state, home)
        return Outcome(state, Observation(text), Record(home=float(home)), "home" if home else None)

    def seen(self, state, home):
        return f"ring {state['ring']}, room {self.room(state)}"

    def expert(self, state):
        return "on"


class CountedRing(Ring):
    """Its state has the number of steps too, so it is another at the end than at the opening."""

    def state(self, row, rng):
        return super().state(row, rng).with_(steps=0)

    def moved(self, state, move):
        return super().moved(state, move).with_(steps=state["steps"] + 1)


class ClockRing(Ring):
    """Its state has no room, but a count of all steps, which never comes back to what it was."""

    actions = Texts(("on",))

    def read(self, state, text):
        return 1

    def state(self, row, rng):
        return Record(ring=row["ring"], start=row["room"], steps=row["room"])

    def room(self, state):
        return state["steps"] % ROOMS

    def moved(self, state, move):
        return state.with_(steps=state["steps"] + 1)


class PathRing(Ring):
    """Its state is the path."""

    def state(self, row, rng):
        return Record(ring=row["ring"], start=row["room"], path=())

    def room(self, state):
        return (state["start"] + sum(state["path"])) % ROOMS

    def moved(self, state, move):
        return state.with_(path=(*state["path"], move))


class RandomRing(Ring):
    """The start and the moves are drawn; rows are names of streams."""

    def rows(self, split):
        return tuple(Row(f"{split}:{i}") for i in range(3))

    def first(self, row, rng):
        room = int(rng.draw(0, "start").integers(ROOMS))
        return Opening(
            Record(key=rng, ring=0, start=room, room=room, turn=0), Observation(f"ring 0, room {room}")
        )

    def moved(self, state, move):
        step = move * int(state["key"].draw(state["turn"], "move").integers(1, ROOMS))
        return super().moved(state, step).with_(turn=state["turn"] + 1)


class OneRoom(Ring):
    """All rows open in the same way: the one environment, whose splits differ by nothing."""

    def rows(self, split):
        return tuple(Row(f"{split}:{i}") for i in range(3))

    def first(self, row, rng):
        return Opening(Record(ring=0, start=0, room=0), Observation("ring 0, room 0"))


class SameRing(Ring):
    """All splits have the same rows, and the task says so."""

    shared = True
    spec = replace(Ring.spec, shared_rows="there is one ring")


class Parrot(Task):
    """Says what it hears: who repeats the opening reads the opening at the end."""

    spec = TaskSpec(id="parrot", rewards=Record(), turn_limit=4)

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(word=f"{split}{i}")) for i in range(2))

    def first(self, row, rng):
        return Opening((), Observation(row["word"]))

    def read(self, state, text):
        return text

    def play(self, state, move):
        return Outcome((*state, move), Observation(move))

    def expert(self, state):
        return "polly"


class Secret(Task):
    """All rows open in the same way, and each split hides other numbers."""

    spec = TaskSpec(
        id="secret", instruction="Guess", rewards=Record(found=1.0), turn_limit=12, success=("found",)
    )
    base = 10

    def rows(self, split):
        first = self.base * self.spec.splits.index(split)
        return tuple(Row(f"{split}:{i}", Record(name=f"{split} {i}", secret=first + i)) for i in range(10))

    def first(self, row, rng):
        return Opening(row, Observation("Guess a number below 30."))

    def read(self, state, text):
        return text

    def play(self, state, move):
        found = move == str(state["secret"])
        seen = Observation("yes" if found else "no")
        return Outcome(state, seen, Record(found=float(found)), "found" if found else None)

    def expert(self, state):
        return str(state["secret"])

    def solution(self, state):
        return str(state["secret"])


class Blind(Secret):
    """Nobody knows the secrets, so nothing that an agent meets tells the rows apart."""

    def expert(self, state):
        return None


class Long(Parrot):
    """An episode may take more turns than the check plays."""

    spec = replace(Parrot.spec, turn_limit=1_500)


class Dear(Parrot):
    """The rounding of large returns goes beyond the range by more than 1e-9."""

    spec = replace(Parrot.spec, rewards=Record(pay=1.0), turn_limit=10, return_range=(0.0, 1e9))

    def play(self, state, move):
        return replace(super().play(state, move), rewards=Record(pay=1e9 / 10 * (1 + 1e-15)))


class Judged(Parrot):
    """The agent has actions, and a judge has free text."""

    spec = TaskSpec(id="judged", rewards=Record(mark=1.0), invalid=("no action", "no mark"), turn_limit=4)
    actions = Texts(("left", "right"))

    def read(self, state, text):
        if len(state) % 2:
            return float(text) if text in ("0", "1") else Invalid("no mark", text)
        return text if self.actions.index(text) is not None else Invalid("no action", text)

    def play(self, state, move):
        state = (*state, move if not isinstance(move, Invalid) else None)
        seat = "judge" if len(state) % 2 else "agent"
        return Outcome(state, Observation(str(len(state)), seat=seat))

    def expert(self, state):
        return "1" if len(state) % 2 else "left"


CORRECT = [
    Ring, CountedRing, ClockRing, PathRing, RandomRing, OneRoom, SameRing, Parrot, Secret, Blind, Long, Dear,
    Judged,
]  # fmt: skip


class NextRing(Ring):
    """Ends in the room behind the start, and shows the next opening there."""

    def play(self, state, move):
        outcome = super().play(state, move)
        far = outcome.state["room"] == (state["start"] + 2) % ROOMS
        seen = Observation(f"ring {state['ring']}, room {state['start']}") if far else outcome.observation
        return Outcome(outcome.state, seen, Record(home=float(far)), "home" if far else None)


class NextCounted(NextRing, CountedRing):
    pass


class SharedRing(Ring):
    shared = True


class OneShared(Ring):
    def rows(self, split):
        copies = (replace(super().rows("train")[0], id="copy"),) if split == "test" else ()
        return super().rows(split) + copies


class LookedUp(Ring):
    """The rows have no fields; what stands behind their ids is the same in all splits."""

    def rows(self, split):
        return tuple(Row(f"{split}:{i}") for i in range(ROOMS))

    def first(self, row, rng):
        room = int(row.id[-1])
        return Opening(Record(ring=0, start=room, room=room), Observation(f"room {room}"))


class Named(Secret):
    """Each row has a name of its own, and the secrets are those of train."""

    base = 0


class Moody(Ring):
    calls = 0

    def expert(self, state):
        Moody.calls += 1
        return ("on", "back")[Moody.calls % 2]


class NoInfo(Ring):
    def info(self, state, ended):
        return [state["room"]] if ended else {}


class NumberSolution(Ring):
    def solution(self, state):
        return state["start"]


class NeverFinishes(Ring):
    def finishing(self, state):
        return "on"


class Unmeasured(Ring):
    def measure(self, ended):
        return Record(rooms=float("nan"))


@dataclass(frozen=True)
class Twin:
    task: type
    law: str
    words: str


BROKEN = [
    Twin(NextRing, "last_observation", "at the end the observation is that of the opening again"),
    Twin(NextCounted, "last_observation", "at the end the observation is that of the opening again"),
    Twin(
        SharedRing,
        "splits",
        "4 of 4 rows of the split 'test' are in an earlier split too: 'test:0' has the fields",
    ),
    Twin(
        OneShared,
        "splits",
        "1 of 5 rows of the split 'test' are in an earlier split too: 'copy' has the fields of",
    ),
    Twin(LookedUp, "splits", "'test:0' is for an agent the same as 'train:0'"),
    Twin(
        Named,
        "splits",
        "10 of 10 rows of the split 'test' are in an earlier split too: 'test:0' is for an agent",
    ),
    Twin(Moody, "expert", "in one state"),
    Twin(NoInfo, "hooks", "which is not a mapping from names"),
    Twin(NumberSolution, "hooks", "which is neither a text nor None"),
    Twin(NeverFinishes, "hooks", "finishing gave 'on', which"),
    Twin(Unmeasured, "hooks", "measure gave rooms = nan"),
]
