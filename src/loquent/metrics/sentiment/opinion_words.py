"""A short list of English words that praise or blame, chosen for reviews, and a list of negations."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


POSITIVE = word_set(
    """
    accessible accomplished admirable adorable affecting affectionate agreeable amazing ambitious amusing
    appealing assured astonishing atmospheric attractive authentic awesome beautiful beautifully beloved
    best better bold brave breathtaking bright brilliant brilliantly captivating careful charismatic charm
    charming charmingly classic clever cleverly comfortable compassionate compelling confident convincing
    cool crisp daring dazzling deft delicate delicious delight delightful deserves dignified distinctive
    dynamic effective effortless elegant eloquent endearing engaging engrossing enjoy enjoyable enjoyed
    entertaining enthralling excellent exceptional exciting exhilarating exquisite extraordinary fabulous
    faithful fantastic fascinating favorite favourite fine flawless fresh friendly fun funny gem generous
    genius gentle genuine gifted glorious good gorgeous graceful great greatest gripping happy haunting
    heartfelt heartwarming hilarious honest hopeful humane humorous imaginative immersive impressive
    incredible ingenious insightful inspired inspiring intelligent intense interesting intriguing inventive
    joy joyful joyous kind likable likeable lively lovable love loved lovely loves luminous lush magic
    magical magnificent marvelous marvellous masterful masterpiece masterly memorable mesmerizing meticulous
    moving nice nimble nuanced original outstanding passionate perfect perfectly pleasant pleasing pleasure
    poetic poignant polished powerful precious precise profound pure radiant recommend recommended refined
    refreshing relaxed remarkable resonant respectful rewarding rich rivetting riveting romantic satisfying
    savvy sensitive sharp sincere skilled skillful smart smooth soulful sparkling special spectacular
    spirited splendid stellar striking strong stunning stylish sublime subtle succeeds success successful
    superb superbly surprising suspenseful sweet sympathetic talented tender terrific thoughtful thrilling
    tight timeless touching treasure treat triumph triumphant truthful unforgettable unique uplifting
    vibrant vivid warm warmth well wise witty wonder wonderful wonderfully worth worthwhile worthy
    """
)
NEGATIVE = word_set(
    """
    absurd aimless amateurish angry annoying appalling artificial atrocious average awful awkward bad badly
    banal bland bleak bloated bore bored boredom boring bother bothersome broken bungled careless charmless
    cheap childish chore clichéd cliche cliches clumsy cold confused confusing contrived convoluted corny
    crap crass crude cruel cringe cynical dated dead deadly derivative derails disappoint disappointed
    disappointing disappointment disaster disastrous disgusting dismal disjointed dreadful dreary drab dud
    dull dumb embarrassing empty endless excruciating exhausting fail failed fails failure fake false
    fatuous feeble flat flawed flaws flimsy flop foolish forced forgettable formulaic frustrating generic
    ghastly glum graceless grating grim gross hackneyed hamfisted hate hated hates heavy hideous hollow
    hopeless horrible horribly horrid idiotic implausible inane incoherent incompetent indifferent inept
    inferior insipid insufferable insult insulting irritating joyless juvenile lacking lacklustre laborious
    lame lazy leaden lifeless limp listless loathsome lousy ludicrous mediocre meandering melodramatic mess
    messy mindless miscast miserable misguided misfire monotonous muddled mundane nasty noisy nonsense
    nonsensical offensive overblown overlong overrated painful painfully pale pathetic plodding pointless
    poor poorly predictable preposterous pretentious problem problems rambling regret repetitive repulsive
    ridiculous rough rubbish sad sadly shallow shoddy silly sloppy slow sluggish soulless stale stiff
    stilted stupid superficial tacky tasteless tedious terrible terribly thin tired tiresome trash trite
    turgid ugly unbearable unbelievable unconvincing undercooked uneven unfunny unimaginative uninspired
    uninteresting unlikable unlikeable unnecessary unoriginal unpleasant unwatchable useless vapid vile
    wasted waste weak weakest wooden worse worst worthless wretched wrong
    """
)
NEGATORS = word_set(
    """
    not no never none nobody nothing neither nor hardly barely scarcely rarely seldom without cannot can't
    couldn't didn't doesn't don't hadn't hasn't haven't isn't aren't wasn't weren't won't wouldn't shouldn't
    ain't
    """
)
