"""What preparation and technique share: two ways of doing must differ in meaning."""

import re
from typing import Final

from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.parsing import verb_lemma

# Words of one line mean the same to an onlooker.
SYNONYMS: Final = tuple(
    frozenset(line.split())
    for line in (
        "chop cut",
        "mix stir combine blend incorporate",
        "whisk beat whip",
        "dice cube",
        "mince chop",
        "fry saute sauté pan-fry sautee",
        "grease oil butter coat spray",
        "rinse wash clean",
        "add put place transfer",
        "crush smash",
        "shred grate",
        "puree blend liquidize blitz process",
        "cook heat",
        "warm heat reheat",
        "grill broil",
        "roast bake",
        "tear rip",
        "pour tip",
        "cover wrap",
        "spread smear",
        "sift sieve strain",
        "halve cut",
        "simmer boil",
    )
)
_FILLERS: Final = words("a an the with using of some your")


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-zé-]+", text.lower()) if word not in _FILLERS]


def same_way(old: str, new: str) -> bool:
    """Whether two ways differ only in a synonym of the verb: "chop" and "cut", "mix" and "stir". Other tools or shapes tell them apart."""
    a, b = _words(old), _words(new)
    if not a or not b:
        return not b
    first, second = verb_lemma(a[0]), verb_lemma(b[0])
    if first == second:
        return set(a[1:]) == set(b[1:]) or not b[1:]
    synonyms = any(first in group and second in group for group in SYNONYMS)
    return synonyms and (set(a[1:]) == set(b[1:]) or not b[1:])


def check_way(old: str, new: str) -> str | None:
    """What is wrong with an alternative way, or None."""
    return f"{new!r} means the same as {old!r}" if same_way(old, new) else None
