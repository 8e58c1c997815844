"""Verbs of cooking at large, by what they do. Lemmas only; which alternative a verb has is in ``alternatives``."""

from typing import Final

from ml.counterfactuals.lexicon.words import words

CUTTING: Final = words(
    "cut slice dice chop mince cube julienne shred grate shave halve quarter trim carve score chiffonade zest core pit stem seed hull "
    "peel skin debone fillet crush smash mash grind crack break tear snip split butterfly spiralize separate deseed devein shell "
    "husk pluck string"
)
MIXING: Final = words(
    "mix stir whisk beat blend fold toss combine knead cream whip puree liquidize process blitz pulse emulsify incorporate dissolve "
    "muddle swirl churn rub "
    "scramble agitate"
)
CLEANING: Final = words("rinse wash scrub clean wipe pat dry drain strain squeeze wring soak peel brush dust sift sieve thaw defrost")
COATING: Final = words(
    "grease coat line butter oil brush spray glaze dredge bread batter flour cover wrap baste rub spread smear roll crimp flatten "
    "shape form"
)
SHAPING: Final = words(
    "roll fold press flatten shape form stretch pound tenderize crimp seal twist knot braid wrap tuck pinch pleat pat stuff skewer "
    "thread tie extract squeeze "
    "juice scoop hollow poke prick pierce pull inject invert flip spread"
)
# Verbs whose way of doing is a preparation method in its own right.
PREPARING: Final = (CUTTING | MIXING | COATING | SHAPING | (CLEANING - words("thaw defrost"))) - words(
    "string pit seed form flip invert thread cover"
)
PREPARING_BEFORE_HEAT: Final = words("marinate season soak brine cure blanch parboil")

HEATING: Final = words(
    "cook heat boil simmer fry saute sauté stir-fry bake roast grill broil toast microwave steam poach braise stew brown sear blanch "
    "melt reheat warm "
    "caramelize char parboil deep-fry pan-fry scald reduce preheat nuke barbecue smoke render sweat sizzle crisp sautee scramble"
)
PLACING: Final = words(
    "add put place pour transfer move sprinkle drizzle top garnish fill insert set lay arrange return empty tip drop scatter layer "
    "dump spoon ladle "
    "pipe dollop pile load ease lower plate serve season dust replace slide splash squirt shake stand rest position attach hang "
    "stack assemble"
)
TAKING: Final = words(
    "take get grab remove pick collect gather fetch lift discard measure weigh open close unwrap unpack check wait let allow turn "
    "switch flip "
    "repeat continue keep start begin stop use prepare make ensure watch leave keep cool chill freeze refrigerate store cover "
    "uncover seal"
)
OTHER: Final = words(
    "cross secure fasten roll press hold tilt rotate spin wrap unroll uncover adjust raise increase decrease reduce lower grind brew "
    "steep infuse bloom "
    "float submerge push pull poke prick scrape skim ladle loosen unmold unmould invert release test taste"
)
COOKING_VERBS: Final = CUTTING | MIXING | CLEANING | COATING | SHAPING | PREPARING_BEFORE_HEAT | HEATING | PLACING | TAKING | OTHER

# A step that only fetches, waits or tidies has no cooking technique.
NO_TECHNIQUE: Final = words(
    "take get grab fetch pick collect gather discard throw wait check watch ensure make let allow set stop repeat turn switch test "
    "taste store leave use "
    "prepare serve keep continue start begin have be do go need want try stand lower raise reduce increase decrease open close "
    "return preheat"
)
# What is applied stands after "with": top the toast with jam.
WITH_OBJECT: Final = words("top season garnish fill sprinkle dust stuff drizzle serve decorate")
CONTROL: Final = words("continue keep start begin resume try help")
CAUSING: Final = words("let allow leave have")
MEASURING: Final = words("measure weigh take get grab scoop")

PARTICLES: Final = words("in up out off down open together aside away over on back through apart")
ADVERB_NOUNS: Final = words("jelly belly")
