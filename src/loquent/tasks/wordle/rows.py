"""The words of Wordle: a built-in list, or a file with one word per line. Each row has one secret."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from loquent.core.guards import opening
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import content
from loquent.errors import BadRow, BadSetting

LENGTH = 5
WORD = re.compile("[a-z]{5}")
BUILTIN = "builtin"
DRAWN_ONCE = Key(0, ("wordle", "limit"))  # the same smaller list in every run


def read(words: str, limit: int = 0) -> tuple[str, ...]:
    """The sorted word list, or `limit` of its words.

    The chosen words are the same in every run; a larger limit adds words.

    Args:
        words: "builtin", or the path of a file with one word of five letters a-z per line (empty lines are
            skipped). Of a general vocabulary, where fewer than half of the lines have five characters, these
            lines are used.

    Raises:
        BadRow: the file cannot be read or is empty, or a line is not a word or repeats one;
            names file and line.
        BadSetting: the limit is larger than the list.

    Warns:
        Remark: the file is a general vocabulary; says how many lines are used.
    """
    listed = tuple(_BUILTIN.split()) if words == BUILTIN else _file(words)
    if limit > len(listed):
        raise BadSetting(
            f"limit = {limit} is more than the {len(listed)} words of {words}; set at most that, or 0 for all"
        )
    if not limit:
        return listed
    return tuple(sorted(listed[i] for i in DRAWN_ONCE.generator().permutation(len(listed))[:limit]))


def rows(words: tuple[str, ...], split: str) -> tuple[Row, ...]:
    """One row per secret.

    Every split has the same secrets under its own ids, because a player may know the list.
    """
    return tuple(Row(f"{split}:{word}", Record(secret=word)) for word in words)


@content.kept(8)
def _file(path: str) -> tuple[str, ...]:
    try:
        lines = opening.whole(Path(path)).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = f"the word list cannot be read ({error}); use 'builtin' or a file with one word per line"
        raise BadRow(why, file=path) from error
    listed = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    of_five = [(number, word) for number, word in listed if len(word) == LENGTH]
    if of_five and 2 * len(of_five) < len(listed):
        warnings.warn(
            f"{path} is a general vocabulary: its {len(of_five):,} lines with five characters are used, the "
            f"other {len(listed) - len(of_five):,} are left out",
            Remark,
            stacklevel=2,
        )
        listed = of_five
    lines_of: dict[str, int] = {}
    for number, word in listed:
        if not WORD.fullmatch(word):
            raise BadRow(f"{word[:40]!r} is not a word of five letters a-z", file=path, line=number)
        if word in lines_of:
            raise BadRow(
                f"{word!r} repeats line {lines_of[word]}; remove one of the lines", file=path, line=number
            )
        lines_of[word] = number
    if not lines_of:
        raise BadRow("the word list is empty; write one word per line", file=path)
    return tuple(sorted(lines_of))


_BUILTIN = """
about above actor acute admit adopt adult after again agent agree ahead alarm album alert alike alive allow
alone along alter among anger angle angry ankle apart apple apply apron arena argue arise armor array arrow
aside asset attic audio audit avoid awake award aware badge baker basic basin batch beach beard beast began
begin being below bench berry birth black blade blame blank blast blaze bleed blend bless blind block blood
bloom board boast bonus boost booth bound brain brake brand brass brave bread break breed brick bride brief
bring broad broke broom brown brush build bunch burst buyer cabin cable camel canal candy cargo carry carve
catch cause cease chain chair chalk charm chart chase cheap check cheek cheer chess chest chief child chill
choir chose civic civil claim class clean clear clerk click cliff climb clock close cloth cloud coach coast
colon color comet comic coral couch cough could count court cover crack craft crane crash crazy cream creek
crept crime crisp cross crowd crown crude cruel crush crust curve cycle daily dairy dance dealt debut decay
delay dense depth diary dirty ditch dizzy donor doubt dozen draft drain drama drank drawn dream dress dried
drift drill drink drive drove eager eagle early earth eight elbow elder elect elite empty enemy enjoy enter
entry equal error essay event every exact exist extra fable faint fairy faith false fancy fault favor feast
fence ferry fever fiber field fiery fifth fifty fight final first flame flash fleet flesh float flock flood
floor flour fluid flute focus force forge forth forty found frame frank fresh front frost fruit funny ghost
giant given glass globe glory glove grace grade grain grand grant grape graph grasp grass grave great green
greet grief grind group grown guard guess guest guide habit happy harsh haste hatch haunt heart heavy hedge
hello hinge hobby honey honor horse hotel house human humor hurry ideal image imply index inner input issue
ivory jelly jewel joint jolly judge juice knife knock known label labor large laser later laugh layer learn
lease least leave legal lemon level light limit linen liver local lodge logic loose lover lower loyal lucky
lunar lunch magic major maker maple march marry match maybe mayor medal media mercy merge merit merry metal
midst might minor minus mixed model money month moral motor mound mount mouse mouth movie music nerve never
newly night noble noise north novel nurse ocean offer often olive onion opera orbit order organ other ought
ounce outer owner paint panel panic paper party pasta patch pause peace peach pearl penny phase phone photo
piano piece pilot pinch pitch place plain plane plant plate plaza point polar porch pound power press price
pride prime print prior prize proof proud prove pulse punch pupil queen quest quick quiet quilt quite quota
quote radar radio raise rally ranch range rapid ratio reach react ready realm rebel refer relax reply rider
ridge rifle right rigid rinse risky rival river roast robot rough round route royal rugby ruler rumor rural
salad salty sandy sauce scale scare scarf scene scent scope score scout screw seize sense serve seven shade
shake shall shame shape share shark sharp sheep sheer sheet shelf shell shift shine shirt shock shore short
shout shown siege sight silly since sixth sixty skill skirt slate sleep slice slide slope small smart smell
smile smoke snake solar solid solve sorry sound south space spare spark speak speed spell spend spice spoke
spoon sport spray squad stack staff stage stain stair stake stamp stand stare start state steak steal steam
steel steep steer stick stiff still sting stock stone stood storm story stove straw strip study stuff style
sugar suite sunny super surge swamp swarm sweet swift swing sword table taste teach tempo tenth thank theft
their theme there thick thief thing think third those three threw throw thumb tiger tight timer tired title
toast today token tooth topic torch total touch tough tower toxic trace track trade trail train trait trash
treat trend trial tribe trick truck truly trunk trust truth tulip tutor twice uncle under union unity until
upper upset urban usage usual vague valid value vapor vault venue verse video villa vinyl virus visit vital
vivid vocal voice wagon waist waste watch water weary weave wedge wheat wheel where which while whole widow
width woman world worry worse worth would wound wrist write wrong yacht yearn yeast yield young youth zebra
"""
