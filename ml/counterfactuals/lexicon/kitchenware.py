"""Tools, vessels and appliances. No foods."""

from typing import Final

from ml.counterfactuals.lexicon.words import words

APPLIANCES: Final = words(
    "microwave oven stove stovetop burner hob grill toaster kettle airfryer fryer broiler griddle steamer grinder cooktop range "
    "cooker smoker barbecue"
)
COOKING_VESSELS: Final = words("pan skillet pot saucepan wok griddle casserole kettle cauldron saucepot stockpot moka")
VESSELS: Final = (
    words(
        "bowl plate dish mug cup ramekin jar can tin tray sheet board container glass jug pitcher bottle bag packet box basket "
        "colander sieve strainer "
        "rack platter sink towel filter dripper carafe beaker saucer carton package blender processor mixer lid foil wrap parchment "
        "paper counter "
        "surface table cone liner thermos bin fridge freezer refrigerator water-bath bain-marie cutting-board chopping-board loaf-tin"
    )
    | COOKING_VESSELS
    | APPLIANCES
)
PACKAGING: Final = words("packet can jar bag box bottle package carton tin paper sachet")
HAND_TOOLS: Final = words(
    "knife fork spoon whisk spatula ladle tongs peeler grater microplane mandoline scissors shears brush masher press pestle "
    "rolling-pin pin beater "
    "mixer blender processor skewer toothpick toothpicks turner scoop scooper slicer chopper corer zester juicer squeezer crusher "
    "cleaver spiralizer floss "
    "sieve colander strainer towel cloth paper napkin mortar chopsticks chopstick slotted-spoon teaspoon tablespoon straw "
    "thermometer timer string "
    "hand hands finger fingers fingertips thumb palm fist rasp mixer reamer dropper glove gloves sponge lid scale opener pick sticks"
)
UTENSILS: Final = VESSELS | HAND_TOOLS
# Things that are counted in a step without being an amount of an ingredient.
NOT_INGREDIENTS: Final = (
    HAND_TOOLS
    | (VESSELS - words("can tin jar packet bag box bottle package carton water paper cup glass"))
    | words(
        "side end half time minute second hour inch layer direction corner way part step edge batch turn round motion degree other "
        "another person people guest diner serving "
        "surface top bottom center middle size number place row centimeter"
    )
)
