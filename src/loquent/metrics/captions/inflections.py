"""Inflected forms of English words: plurals of nouns, and forms of verbs.

They come from spelling rules and a list of irregular forms. The rules do not know the part of speech, so a
word has its forms as a noun and as a verb. Comparatives are not included.
"""

from __future__ import annotations

from functools import lru_cache

VOWELS = "aeiou"
SIBILANTS = ("s", "x", "z", "ch", "sh")

# a base form, then the forms that no rule produces
IRREGULAR = """
be am is are was were been being | bear bore borne born | beat beaten | become became
begin began begun beginning | bend bent | bet | bind bound | bite bit bitten biting | bleed bled
blow blew blown | break broke broken | breed bred | bring brought | build built | burn burnt | burst
buy bought | cast | catch caught | choose chose chosen | cling clung | come came | creep crept | cut cutting
deal dealt | dig dug | dive dove | do does did done | draw drew drawn | dream dreamt | drink drank drunk
drive drove driven | dwell dwelt | eat ate eaten | fall fell fallen | feed fed | feel felt | fight fought
find found | flee fled fleeing | fling flung | fly flew flown | forbid forbade forbidden forbidding
forget forgot forgotten forgetting | forgive forgave forgiven | freeze froze frozen | get got gotten
give gave given | go goes went gone | grind ground | grow grew grown | hang hung | have has had having
hear heard | hide hid hidden | hit hitting | hold held | hurt | keep kept | kneel knelt | knit knitting
know knew known | lay laid | lead led | lean leant | leap leapt | learn learnt | leave left | lend lent
let letting | lie lay lain lying | light lit | lose lost | make made | mean meant | meet met | mow mown
pay paid | put putting | quit quitting | read | ride rode ridden | ring rang rung | rise rose risen
run ran running | saw sawn | say said | see saw seen seeing | seek sought | sell sold | send sent
set setting | sew sewn | shake shook shaken | shave shaven | shear shorn | shed shedding | shine shone
shoot shot | show shown | shrink shrank shrunk | shut shutting | sing sang sung | sink sank sunk | sit sat
sleep slept | slide slid | sling slung | slit slitting | smell smelt | sow sown | speak spoke spoken
speed sped | spend spent | spill spilt | spin spun | spit spat | split splitting | spread
spring sprang sprung | stand stood | steal stole stolen | stick stuck | sting stung | stink stank stunk
stride strode stridden | strike struck stricken | string strung | strive strove striven | swear swore sworn
sweep swept | swell swollen | swim swam swum | swing swung | take took taken | teach taught | tear tore torn
tell told | think thought | throw threw thrown | thrust | tread trod trodden | wake woke woken
wear wore worn | weave wove woven | weep wept | wet wetting | win won | wind wound | wring wrung
write wrote written | unwind unwound | understand understood | undergo underwent undergone
overcome overcame | overtake overtook overtaken | withdraw withdrew withdrawn | man men | woman women
child children | person people | foot feet | tooth teeth | goose geese | mouse mice | louse lice | ox oxen
die dice | penny pence | knife knives | wife wives | life lives | leaf leaves | loaf loaves | half halves
shelf shelves | calf calves | thief thieves | wolf wolves | elf elves | scarf scarves | hoof hooves
self selves | cactus cacti | fungus fungi | stimulus stimuli | focus foci | radius radii | nucleus nuclei
syllabus syllabi | analysis analyses | crisis crises | thesis theses | axis axes | oasis oases
criterion criteria | phenomenon phenomena | datum data | medium media | bacterium bacteria
curriculum curricula | index indices | appendix appendices | matrix matrices | vertex vertices
fireman firemen | policeman policemen | fisherman fishermen | snowman snowmen | gentleman gentlemen
businessman businessmen | cowboy cowboys | quiz quizzes quizzed quizzing | panic panicked panicking
picnic picnicked picnicking | mimic mimicked mimicking | traffic trafficked trafficking | bus buses
gas gases | ski skied skiing | taxi taxiing | dye dyeing | singe singeing
"""


def _irregular_forms() -> dict[str, frozenset[str]]:
    entries = [entry.split() for line in IRREGULAR.strip().splitlines() for entry in line.split("|")]
    return {base: frozenset(forms) for base, *forms in entries}


IRREGULAR_FORMS = _irregular_forms()


@lru_cache(maxsize=1 << 14)
def forms(word: str) -> frozenset[str]:
    """The word and its inflected forms, in lower case."""
    word = word.lower()
    return frozenset({word, *_plurals(word), *_verbal(word), *IRREGULAR_FORMS.get(word, ())})


def _plurals(word: str) -> tuple[str, ...]:
    """Forms in -s; both spellings after o ("photos", "potatoes")."""
    if _consonant_y(word):
        return (word[:-1] + "ies",)
    return (
        *([word + "es"] if word.endswith((*SIBILANTS, "o")) else []),
        *([word + "s"] if not word.endswith(SIBILANTS) else []),
    )


def _verbal(word: str) -> tuple[str, ...]:
    """Past and -ing forms; both spellings if the final consonant may be doubled ("travelled", "traveled")."""
    if word.endswith("ie"):
        return (word + "d", word[:-2] + "ying")
    if word.endswith(("ee", "oe", "ye")):
        return (word + "d", word + "ing")
    if word.endswith("e"):
        return (word + "d", word[:-1] + "ing")
    if _consonant_y(word):
        return (word[:-1] + "ied", word + "ing")
    doubled = (word + word[-1] + "ed", word + word[-1] + "ing") if _doubles(word) else ()
    plain = (word + "ed", word + "ing")
    return doubled if doubled and _syllables(word) == 1 else (*doubled, *plain)


def _consonant_y(word: str) -> bool:
    return len(word) > 1 and word[-1] == "y" and word[-2] not in VOWELS


def _doubles(word: str) -> bool:
    """Whether the word ends in consonant, vowel, consonant, but not in w, x or y: "stop", "travel".

    The u of "quit" is a consonant.
    """
    before = word[:-2].replace("qu", "qq")
    return (
        len(word) > 2
        and word[-1] not in VOWELS + "wxy"
        and word[-1].isalpha()
        and word[-2] in VOWELS
        and before[-1] not in VOWELS
    )


def _syllables(word: str) -> int:
    """Groups of vowels, y between consonants included."""
    marks = [letter in VOWELS + "y" for letter in word.replace("qu", "qq")]
    return sum(mark and not before for mark, before in zip(marks, [False, *marks]))
