"""What the built-in posts are about, and the replies to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """Things that somebody owns, and what can be done with them: pairs (past, base form)."""

    things: tuple[str, ...]
    deeds: tuple[tuple[str, str], ...]


def _topic(things: str, deeds: str) -> Topic:
    forms = [tuple(deed.split("/")) for deed in deeds.split()]
    return Topic(tuple(things.split()), tuple((past, base) for past, base in forms))


TOPICS = (
    _topic(
        "roses tomatoes herbs beans hedges",
        "watered/water planted/plant covered/cover moved/move measured/measure",
    ),
    _topic(
        "noodles pancakes potatoes cookies dumplings",
        "cooked/cook fried/fry burned/burn salted/salt froze/freeze",
    ),
    _topic(
        "wheels brakes pedals chains tires", "oiled/oil changed/change cleaned/clean hid/hide tested/test"
    ),
    _topic(
        "poems novels letters stories diaries",
        "wrote/write read/read copied/copy shortened/shorten translated/translate",
    ),
    _topic("shelves windows doors curtains lamps", "built/build washed/wash fixed/fix sold/sell lifted/lift"),
    _topic("songs drums guitars flutes tapes", "played/play tuned/tune heard/hear borrowed/borrow lost/lose"),
    _topic(
        "rabbits parrots hamsters ducks turtles",
        "fed/feed brushed/brush trained/train weighed/weigh drew/draw",
    ),
    _topic(
        "photos messages contacts alarms games",
        "deleted/delete sorted/sort saved/save shared/share renamed/rename",
    ),
    _topic("socks shirts gloves scarves hats", "knitted/knit ironed/iron dyed/dye folded/fold mended/mend"),
    _topic("maps tickets bags tents boats", "packed/pack bought/buy rented/rent dried/dry carried/carry"),
)
# replies by label: those that name the post's thing, and those that fit any post
REPLIES = (
    (
        (
            "nice work with the {thing} .",
            "i {past} my {thing} too .",
            "good luck with the {thing} .",
            "it is not easy to {base} {thing} .",
            "your {thing} will be fine .",
        ),
        ("thanks for the post .", "that is good to know .", "have a nice day ."),
    ),
    (
        (
            "what a {mild} way to {base} {thing} .",
            "only {mild} people {base} {thing} {detail} .",
            "your {thing} must be {mild} by now .",
        ),
        ("what a {mild} idea .", "this sounds {mild} ."),
    ),
    (
        ("you {strong} , leave the {thing} alone .", "only a {strong} would {base} {thing} ."),
        ("you are a {strong} .", "go away , {strong} ."),
    ),
)
