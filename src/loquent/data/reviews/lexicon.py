"""The words of the built-in reviews: aspects of films, positive and negative words, and neutral words.

A phrase may hold slots in braces, which the same tables fill.
"""

from __future__ import annotations

from dataclasses import dataclass


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split("|"))


@dataclass(frozen=True)
class Aspect:
    """An aspect of a film: its nouns, and the adjectives for and against it."""

    nouns: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]


ASPECTS: dict[str, Aspect] = {
    "acting": Aspect(
        _words("acting cast performance ensemble"),
        _words(
            "superb convincing honest natural magnetic believable restrained fearless committed "
            "nuanced spirited poised"
        ),
        _words(
            "wooden stiff hammy unconvincing lifeless mannered careless artificial robotic hesitant "
            "overdone bored"
        ),
    ),
    "story": Aspect(
        _words("story plot script premise"),
        _words(
            "gripping clever original absorbing fresh intelligent surprising moving tense layered "
            "bold compelling"
        ),
        _words(
            "predictable thin stale confusing silly hollow muddled pointless contrived trite "
            "shallow implausible"
        ),
    ),
    "direction": Aspect(
        _words("direction staging camera"),
        _words("confident elegant inventive precise assured daring supple masterful fluent bold subtle"),
        _words("clumsy lazy sloppy pretentious aimless timid anonymous pompous erratic careless fussy"),
    ),
    "music": Aspect(
        _words("music score soundtrack"),
        _words("haunting beautiful tender lovely stirring delicate soulful melodic catchy dreamy sublime"),
        _words("loud intrusive syrupy grating repetitive shrill tuneless bombastic monotonous harsh dated"),
    ),
    "pacing": Aspect(
        _words("pacing editing rhythm tempo"),
        _words("brisk lively tight fluid steady crisp nimble swift taut smooth effortless"),
        _words("sluggish slack jerky plodding uneven exhausting sleepy choppy rambling labored frantic"),
    ),
    "dialogue": Aspect(
        _words("dialogue writing wording"),
        _words("witty sharp sparkling wise truthful quick eloquent snappy poetic natural candid"),
        _words("banal tired corny awkward preachy flat stilted wordy clunky leaden pompous"),
    ),
    "humor": Aspect(
        _words("humor comedy satire"),
        _words("funny playful warm sly charming generous cheerful hilarious dry gentle mischievous"),
        _words("crude unfunny mean childish feeble desperate vulgar juvenile lame smug tasteless"),
    ),
    "pictures": Aspect(
        _words("photography design lighting scenery"),
        _words("gorgeous stunning vivid rich luminous striking radiant lush painterly opulent crystalline"),
        _words("ugly drab murky cheap cluttered bland grimy blurry shabby garish colorless"),
    ),
    "ending": Aspect(
        _words("ending finale epilogue climax"),
        _words(
            "perfect satisfying touching powerful unforgettable graceful hopeful cathartic "
            "ingenious moving bold"
        ),
        _words(
            "rushed forced sentimental ridiculous disappointing abrupt cowardly tacky baffling lame trite"
        ),
    ),
}

GOOD = {
    "adjective": _words(
        "wonderful brilliant delightful terrific excellent splendid memorable remarkable fantastic "
        "marvelous outstanding impressive"
    ),
    "noun": _words("masterpiece triumph delight treat gem joy classic success marvel pleasure wonder jewel"),
    "comparative": _words("better stronger richer livelier smarter"),
    "reacted": _words("laughed cheered smiled applauded wept clapped rejoiced"),
    "felt": _words("loved enjoyed admired adored"),
    "advice": _phrases("see it twice | tell your friends to go | buy a ticket today | give it your evening"),
}
BAD = {
    "adjective": _words(
        "terrible awful boring dull dreadful tedious forgettable dreary atrocious mediocre "
        "irritating miserable"
    ),
    "noun": _words("disaster mess failure bore chore letdown misfire dud ordeal fiasco blunder bomb"),
    "comparative": _words("worse weaker poorer slower duller"),
    "reacted": _words("yawned sighed groaned dozed grumbled booed complained"),
    "felt": _words("hated disliked resented loathed"),
    "advice": _phrases(
        "skip it gladly | tell your friends to stay away | save your money | give your evening to a book"
    ),
}

NEUTRAL: dict[str, tuple[str, ...]] = {
    "first name": _words(
        "anna marco lena victor clara hugo nadia oscar irene felix marta simon julia pavel ruth "
        "leon edith bruno alma peter greta samuel vera tomas ida karl nina otto rosa stefan tessa "
        "walter yara boris dora emil"
    ),
    "last name": _words(
        "moreno keller lindqvist okada barros whitfield novak ferrand adler castillo hale dubois "
        "larsen petrov quinn marsh ortega voss tanaka reed conti archer bell sorensen duarte "
        "fischer grant huang jansen kovac lowell mercer nilsson parker ramos stone turner ulrich "
        "weaver zimmer bauer costa dalton farrow"
    ),
    "title word": _words(
        "silent golden broken distant hidden northern paper winter crimson borrowed open burning "
        "lost second midnight salt glass quiet blue iron seventh wandering marble narrow painted "
        "hollow velvet final restless ancient"
    ),
    "title noun": _words(
        "harbor garden river summer mirror bridge orchard station promise valley shadow kingdom "
        "lantern road island clock field window tower ferry forest portrait compass tide horizon "
        "castle meadow voyage circus desert"
    ),
    "genre": _phrases(
        "comedy | thriller | western | romance | drama | musical | mystery | war film | crime film "
        "| ghost story | fable | road movie | satire of manners"
    ),
    "ordinal": _words("first second third fourth fifth sixth latest debut longest shortest"),
    "place": _phrases("{city} | {city} | a {site quality} {site} | a {site quality} {site} near {city}"),
    "city": _words(
        "paris lisbon chicago vienna oslo naples prague boston dublin cairo lima kyoto geneva "
        "havana athens madrid toronto warsaw seville bergen"
    ),
    "site quality": _words("small remote wealthy crowded sleeping frozen coastal industrial"),
    "site": _words("town village port hospital hotel school suburb monastery lighthouse camp farm theater"),
    "companion": _words(
        "brother sister neighbor father mother wife husband colleague roommate cousin uncle aunt"
    ),
    "time": _phrases(
        "last night | yesterday | last month | on {day} | on {day} | on a {weather} {day} | "
        "{number} weeks ago"
    ),
    "day": _words("monday tuesday wednesday thursday friday saturday sunday"),
    "weather": _words("rainy cold windy sunny foggy snowy"),
    "number": _words("two three four five six seven eight nine ten"),
    "cinema": _phrases(
        "at a festival | at a {showing} | in a {filled} {hall} | at the {hall} on {street} street"
    ),
    "showing": _phrases("late screening | preview | matinee | charity screening"),
    "filled": _phrases("half empty | crowded | nearly empty | full"),
    "hall": _words("theater cinema auditorium"),
    "street": _words("bridge station market church garden river"),
    "role": _phrases("a {age} {job} | a {age} {job} | a {job} from {city} | a {job} with a {secret}"),
    "age": _words(
        "young old retired lonely famous poor proud stubborn shy former traveling married divorced "
        "blind gifted nervous wealthy quiet"
    ),
    "job": _words(
        "doctor boxer lawyer pianist widow detective driver student soldier baker thief journalist "
        "nurse sailor farmer tailor teacher singer priest chemist gambler painter judge carpenter "
        "butcher clerk diplomat gardener hunter librarian miner poet sculptor surgeon waiter weaver"
    ),
    "secret": _words("secret debt limp dream temper talent"),
    "does": _phrases(
        "{takes} a {thing quality} {thing} | {takes} a {thing quality} {thing} | {meets} a {age} "
        "{job} | {meets} a {age} {job} | moves to {city} | returns to {city} | learns to {skill}"
    ),
    "takes": _words(
        "finds loses inherits sells steals hides buys burns repairs guards borrows carries buries "
        "mends sketches"
    ),
    "meets": _words(
        "meets follows marries helps tricks hires betrays rescues adopts blackmails forgets "
        "interviews admires"
    ),
    "skill": _words("sail dance swim paint forgive"),
    "thing quality": _words(
        "old stolen red small strange heavy silver wooden broken secret blue costly faded golden hidden tiny"
    ),
    "thing": _words(
        "box house letter violin map car boat ring diary farm painting key suitcase photograph "
        "clock crown horse lamp mirror piano recipe statue telescope train"
    ),
    "cause": _phrases(
        "after a {occasion} | before a {occasion} | during a {occasion} | when {season} {comes}"
    ),
    "occasion": _words(
        "funeral wedding storm trial journey war quarrel flood strike party harvest robbery reunion "
        "election concert"
    ),
    "season": _words("winter summer spring autumn"),
    "comes": _words("comes ends begins returns"),
    "event": _phrases(
        "the {figure} {happens} | a {figure} {happens} | the {job} {does} | the {figure} {does}"
    ),
    "figure": _words(
        "stranger brother sister captain mayor child neighbor landlord rival messenger witness "
        "father nephew widower guard twin pilot servant"
    ),
    "happens": _phrases(
        "arrives | disappears | returns | lies | confesses | leaves | falls ill | waits | keeps a "
        "secret | asks a question | writes home | refuses | apologizes | sings | wakes up | gives "
        "up | tells the truth"
    ),
    "then": _phrases(
        "then | soon | later | halfway through , | one night | meanwhile , | before long | near the end ,"
    ),
    "source": _phrases(
        "a novel | a short story | a stage play | a true story | a {city} legend | a radio play | a memoir"
    ),
    "topic": _words(
        "family money memory faith friendship fame age work revenge jealousy justice exile hope "
        "guilt ambition loneliness honor greed"
    ),
    "minutes": _phrases(
        "ninety | a hundred | eighty | seventy | {number} times twenty | more than a hundred"
    ),
    "audience": _phrases(
        "the audience | the whole row | everyone around me | the people behind me | the crowd | the "
        "{hall} | my {relative}"
    ),
    "relative": _words("brother sister neighbor father mother colleague"),
    "often": _phrases(
        "all evening | from start to finish | more than once | at every turn | for {number} minutes "
        "| again and again | {number} times"
    ),
    "unit": _words("scene moment minute line shot second chapter frame episode sequence"),
    "anyone": _phrases(
        "anyone | a friend | my {relative} | people who like a good {genre} | fans of {director} | "
        "a {age} {job}"
    ),
    "price": _phrases(
        "the price of a ticket | {number} dollars | the long wait | a second look | the drive | a "
        "{weather} evening"
    ),
    "rival": _phrases(
        "the book | the trailer | most films of its kind | the {ordinal} one | anything else this "
        "{season} | any {genre} i know"
    ),
    "though": _words("although though while"),
    "but": _words("but yet"),
    "is": _words("is feels seems remains stays"),
    "turns": _words("feels seems becomes turns gets"),
    "very": _phrases("truly | quite | really | simply | rather | deeply"),
    "film": _phrases("film | picture | {genre} | movie"),
    "one": _phrases("not one | hardly a | never a"),
    "mind": _phrases("in my view | for me | to my mind | to my eyes | i think"),
}
