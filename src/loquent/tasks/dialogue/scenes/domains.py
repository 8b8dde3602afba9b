"""What built-in scenes show: five kinds of scenes, their subjects, and five properties of each kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Property:
    """A property of a scene, with its values and its texts.

    `{s}` stands for the subject and `{v}` for a value. `cues` are words by which a free question is matched.
    """

    name: str
    asked: str
    checked: str  # the yes/no question about one value
    fact: str  # the statement in a caption
    values: tuple[str, ...]
    cues: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """One kind of scene."""

    name: str
    subjects: tuple[str, ...]
    properties: tuple[Property, ...]


def _property(name: str, asked: str, checked: str, fact: str, values: str, cues: str) -> Property:
    return Property(name, asked, checked, fact, tuple(values.split(", ")), tuple(cues.split()))


DOMAINS = (
    Domain(
        "animal",
        ("dog", "cat", "horse", "cow"),
        (
            _property(
                "fur",
                "what color is the {s}?",
                "is the {s} {v}?",
                "the {s} is {v}",
                "brown, black, white, grey",
                "color colour fur",
            ),
            _property(
                "pose",
                "what is the {s} doing?",
                "is the {s} {v}?",
                "the {s} is {v}",
                "standing, sleeping, running, eating",
                "doing",
            ),
            _property(
                "ground",
                "what is under the {s}?",
                "is there {v} under the {s}?",
                "there is {v} under the {s}",
                "grass, sand, snow, straw",
                "under ground",
            ),
            _property(
                "company",
                "who is with the {s}?",
                "is {v} with the {s}?",
                "{v} is with the {s}",
                "a child, a man, a woman, a second {s}",
                "who with",
            ),
            _property(
                "near",
                "what is near the {s}?",
                "is {v} near the {s}?",
                "{v} is near the {s}",
                "a ball, a fence, a bowl, a tree",
                "near",
            ),
        ),
    ),
    Domain(
        "person",
        ("boy", "girl", "waiter", "player"),
        (
            _property(
                "shirt",
                "what color is the shirt?",
                "is the shirt {v}?",
                "the shirt of the {s} is {v}",
                "red, blue, green, yellow",
                "shirt color colour",
            ),
            _property(
                "hair",
                "what is the hair like?",
                "is the hair {v}?",
                "the hair of the {s} is {v}",
                "short, long, curly, covered",
                "hair",
            ),
            _property(
                "hands",
                "what is the {s} holding?",
                "is the {s} holding {v}?",
                "the {s} is holding {v}",
                "a phone, a racket, an umbrella, a book",
                "holding hands hand",
            ),
            _property(
                "action",
                "what is the {s} doing?",
                "is the {s} {v}?",
                "the {s} is {v}",
                "walking, waiting, laughing, talking",
                "doing",
            ),
            _property(
                "place",
                "where is the {s}?",
                "is the {s} {v}?",
                "the {s} is {v}",
                "on a beach, in a park, on a street, in a hall",
                "where place",
            ),
        ),
    ),
    Domain(
        "vehicle",
        ("bus", "train", "truck", "tram"),
        (
            _property(
                "paint",
                "what color is the {s}?",
                "is the {s} {v}?",
                "the {s} is {v}",
                "red, blue, white, green",
                "color colour",
            ),
            _property(
                "motion",
                "what is the {s} doing?",
                "is the {s} {v}?",
                "the {s} is {v}",
                "parked, turning, waiting, leaving",
                "doing",
            ),
            _property(
                "weather",
                "what is the weather like?",
                "is it {v}?",
                "it is {v} around the {s}",
                "sunny, raining, snowing, cloudy",
                "weather",
            ),
            _property(
                "background",
                "what is behind the {s}?",
                "is {v} behind the {s}?",
                "{v} is behind the {s}",
                "a bridge, a church, a shop, a field",
                "behind background",
            ),
            _property(
                "sign",
                "what does the sign say?",
                "does the sign say {v}?",
                "the sign of the {s} says {v}",
                "center, harbor, airport, museum",
                "sign say",
            ),
        ),
    ),
    Domain(
        "food",
        ("pizza", "cake", "soup", "salad"),
        (
            _property(
                "plate",
                "what color is the plate?",
                "is the plate {v}?",
                "the plate of the {s} is {v}",
                "white, blue, black, yellow",
                "plate color colour",
            ),
            _property(
                "drink",
                "what is there to drink?",
                "is there {v} to drink?",
                "there is {v} to drink with the {s}",
                "water, beer, coffee, juice",
                "drink",
            ),
            _property(
                "topping",
                "what is on the {s}?",
                "is there {v} on the {s}?",
                "there is {v} on the {s}",
                "cheese, fruit, pepper, cream",
                "on topping",
            ),
            _property(
                "table",
                "what is the table made of?",
                "is the table made of {v}?",
                "the table below the {s} is made of {v}",
                "wood, glass, metal, stone",
                "table made",
            ),
            _property(
                "cutlery",
                "what is next to the plate?",
                "is {v} next to the plate?",
                "{v} is next to the plate of the {s}",
                "a fork, a spoon, a knife, a napkin",
                "next",
            ),
        ),
    ),
    Domain(
        "room",
        ("kitchen", "bedroom", "bathroom", "office"),
        (
            _property(
                "walls",
                "what color are the walls?",
                "are the walls {v}?",
                "the walls of the {s} are {v}",
                "white, green, yellow, pink",
                "walls wall color colour",
            ),
            _property(
                "floor",
                "what is the floor made of?",
                "is the floor made of {v}?",
                "the floor of the {s} is made of {v}",
                "wood, tile, carpet, stone",
                "floor made",
            ),
            _property(
                "window",
                "what is in the window?",
                "is {v} in the window?",
                "{v} is in the window of the {s}",
                "a plant, a bird, a vase, a lamp",
                "window",
            ),
            _property(
                "seat",
                "what is there to sit on?",
                "is there {v} to sit on?",
                "there is {v} to sit on in the {s}",
                "a chair, a bench, a stool, a sofa",
                "sit",
            ),
            _property(
                "corner",
                "what is in the corner?",
                "is {v} in the corner?",
                "{v} is in the corner of the {s}",
                "a box, a bin, a mirror, a heater",
                "corner",
            ),
        ),
    ),
)
DOMAIN_OF = {subject: domain for domain in DOMAINS for subject in domain.subjects}
# questions about none of the properties, with their answers in every scene
OFF_TOPIC = {
    "is the photo in color?": "yes",
    "is the photo clear?": "yes",
    "is it a nice picture?": "i think so",
    "are there any other people?": "i can't tell",
    "what time is it?": "i can't tell",
    "can you see the sky?": "no",
}
UNKNOWN = "i can't tell"
