"""English word forms that rewriting needs: plurals, -ing forms, a/an, capitals. No culinary knowledge."""

import re
from typing import Final

from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.phrases import singular

_IRREGULAR_PLURALS: Final = {
    "leaf": "leaves",
    "loaf": "loaves",
    "half": "halves",
    "knife": "knives",
    "foot": "feet",
    "calf": "calves",
    "shelf": "shelves",
}
_SAME: Final = frozenset(
    [
        "fish",
        "salmon",
        "tuna",
        "shrimp",
        "broccoli",
        "bread",
        "rice",
        "garlic",
        "ginger",
        "spinach",
        "celery",
        "lettuce",
        "corn",
        "asparagus",
        "bacon",
        "butter",
        "cheese",
    ]
)
_MASS: Final = words("paper floss string foil butter oil hand hands fingers water tongs scissors chopsticks gloves")
_OES: Final = words("tomato potato mango hero")


def plural(word: str) -> str:
    """The plural of a noun; words that recipes do not count stay as they are."""
    lower = word.lower()
    if lower in _SAME or (lower != singular(lower) and not lower.endswith("ss")):
        return word
    if lower in _IRREGULAR_PLURALS:
        return _like(word, _IRREGULAR_PLURALS[lower])
    if re.search(r"(s|x|z|ch|sh)$", lower) or lower in _OES:
        return word + "es"
    if re.search(r"[^aeiou]y$", lower):
        return word[:-1] + "ies"
    return word + "s"


def singular_like(word: str) -> str:
    """The singular of a noun, capitals kept."""
    lower = word.lower()
    if lower.endswith("ves"):
        for one, many in _IRREGULAR_PLURALS.items():
            if many == lower:
                return _like(word, one)
        return word[:-1]
    if lower in ("tomatoes", "potatoes", "mangoes"):
        return word[:-2]
    if re.search(r"(ss|us|is)$", lower) or not lower.endswith("s"):
        return word
    return _like(word, singular(lower))


def _like(model: str, word: str) -> str:
    return word.capitalize() if model[:1].isupper() else word


_IRREGULAR_GERUNDS: Final = {"saute": "sauteing", "sauté": "sautéing", "puree": "pureeing"}


def gerund(verb: str) -> str:
    """The -ing form: slice -> slicing, cut -> cutting, tie -> tying."""
    lower = verb.lower()
    if lower.endswith("ing") and len(lower) > 5:
        return lower
    if lower in _IRREGULAR_GERUNDS:
        return _IRREGULAR_GERUNDS[lower]
    if lower.endswith("ie"):
        return lower[:-2] + "ying"
    if lower.endswith("e") and not lower.endswith(("ee", "oe", "ye")):
        return lower[:-1] + "ing"
    if re.search(r"(?:^|[^aeiou]|qu)[aeiou][^aeiouwxy]$", lower) and len(re.findall(r"[aeiouy]+", lower.replace("qu", "q"))) == 1:
        return lower + lower[-1] + "ing"
    return lower + "ing"


def with_article(noun: str) -> str:
    """``noun`` with a or an."""
    if re.match(r"(?:a|an|the|your|some)\b", noun) or (" of " not in noun and noun.split()[-1] in _MASS):
        return noun
    return f"{'an' if re.match(r'[aeio]|u(?!ni|se|te)', noun, re.IGNORECASE) else 'a'} {noun}"


def capitalised_like(model: str, text: str) -> str:
    """``text`` with a first letter like that of ``model``."""
    return (text[:1].upper() if model[:1].isupper() else text[:1].lower()) + text[1:]


def mend_articles(text: str) -> str:
    """a and an before the words that follow them."""
    text = re.sub(r"\b([Aa])n (?=[b-df-hj-np-tv-z])(?!h(?:our|onest|eir))", r"\1 ", text)
    return re.sub(r"\b([Aa]) (?=[aeio][a-z])(?!one\b|once\b)", r"\1n ", text)
