"""What preparation and technique share: two ways of doing must differ in meaning, and the texts must name the one that is asked."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ml.counterfactuals.lexicon.kitchenware import HAND_TOOLS
from ml.counterfactuals.lexicon.verbs import CLEANING, COOKING_VERBS, CUTTING, HEATING, MIXING
from ml.counterfactuals.lexicon.ways import OWN_TOOLS, SHAPE_VERBS, SYNONYMS
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.praise import and_no_praise
from ml.counterfactuals.rules.parsing import verb_lemma
from ml.counterfactuals.rules.phrases import singular

_FILLERS: Final = words(
    "a an the with using of some your in into by on through to and or it its them is are be for then thin thinly small under running "
    "do not without instead"
)
# After these verbs such a word adds nothing that can be seen: "warm up", "drain off", "mix together".
_EMPTY_AFTER: Final = words("up off together in well thoroughly")
_DIVIDING: Final = words("cut slice chop divide split")
# A tool of these kinds is another tool.
_OTHER_KINDS: Final = words("electric hand stick")
_COUNTERCLOCKWISE: Final = re.compile(r"\b(?:anti|counter)[\s-]?clockwise\b")
# "use a fork to mash" is "mash with a fork".
_USE_TO: Final = re.compile(r"^\s*us(?:e|ing)\s+(?P<tool>(?:[a-z-]+\s+){1,4}?)to\s+(?P<verb>[a-z-]+.*?)\s*$", re.IGNORECASE)
_PLAIN_VERBS: Final = (CUTTING | MIXING | CLEANING | HEATING) - words("pat dry")


@dataclass(frozen=True)
class _Way:
    """A way in its plainest form: the verb that says most, what else tells it apart, and whether a tool or shape went into the verb."""

    verb: str
    rest: frozenset[str]
    is_full: bool = False


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-zé]+(?:-[a-zé]+)*", _COUNTERCLOCKWISE.sub("counterclockwise", text.lower()))


def _concept(word: str) -> str:
    lemma = verb_lemma(word)
    return lemma if lemma != word or word in COOKING_VERBS else verb_lemma(singular(word))


def _are_synonyms(a: str, b: str) -> bool:
    return a == b or any(a in group and b in group for group in SYNONYMS)


@lru_cache(maxsize=10_000)
def _plainest(text: str) -> _Way | None:
    """ "cut into cubes" is dice, "beat with a whisk" whisk, "warm up" warm, "slice with a knife" slice."""
    text = _USE_TO.sub(r"\g<verb> with \g<tool>", text)
    found = _tokens(text)
    while len(found) > 1 and found[0].endswith("ly"):
        found = [*found[1:], found[0]]
    if not found:
        return None
    verb = verb_lemma(found[0])
    rest = [_concept(word) for word in found[1:] if word not in _FILLERS and not (verb in _PLAIN_VERBS and word in _EMPTY_AFTER)]
    rest = [word for word in rest if word != verb or word in SHAPE_VERBS or word in OWN_TOOLS.get(verb, ())]
    if verb in _DIVIDING and re.search(r"\b(?:into|in)\b", text):
        shape = next((SHAPE_VERBS[word] for word in rest if word in SHAPE_VERBS), None)
        if shape is not None:
            return _Way(shape, frozenset(), True)
    for index, word in enumerate(rest):
        owner = next((one for one, tools in OWN_TOOLS.items() if word in tools and (one == verb or _takes(verb, one, word))), None)
        if owner is not None:
            kind = {rest[index - 1]} - _OTHER_KINDS if index else set()  # "potato masher", "paring knife"
            return _Way(owner, frozenset(rest) - {word} - kind, True)
    return _Way(verb, frozenset(rest))


def _takes(verb: str, owner: str, tool: str) -> bool:
    """Whether a verb with the tool of another says that other one: beating with a whisk is whisking. A knife says nothing of its own."""
    named = tool.startswith(owner[:-1])
    return named and any(verb in kind and owner in kind for kind in (MIXING, CUTTING))


def _told_fully(way: _Way) -> _Way:
    """Mincing is chopping finely; mixing takes a spoon as stirring does."""
    if way.verb == "mix":
        return _Way("mix", way.rest - {"spoon"})
    return _Way("chop", way.rest | {"finely"}) if way.verb == "mince" else way


def same_way(old: str, new: str) -> bool:
    """Whether two ways differ only in words: "chop" and "cut", "dice" and "cut into cubes". Other tools or shapes tell them apart."""
    a, b = _plainest(old), _plainest(new)
    if a is None or b is None:
        return b is None
    if _are_synonyms(_told_fully(a).verb, _told_fully(b).verb) and _told_fully(a).rest == _told_fully(b).rest:
        return True
    return _are_synonyms(a.verb, b.verb) and (a.rest == b.rest or not (b.rest or b.is_full))


def offered_ways(instruction: str) -> frozenset[str]:
    """Verbs and tools that an instruction leaves a choice of: "chop or grate", "with a spoon or fork", "in a blender/mixer"."""
    found: set[str] = set()
    for match in re.finditer(
        r"(?<![\w'-])([a-zé-]+)\s*(?:/|,?\s+or\s+)\s*(?:(?:with|in|into|by|using)\s+)?(?:an?\s+|the\s+)?([a-zé-]+)",
        instruction,
        re.IGNORECASE,
    ):
        pair = [_concept(word.lower()) for word in match.groups()]
        if all(word in COOKING_VERBS for word in pair) or all(word in HAND_TOOLS for word in pair):
            found.update(pair)
    return frozenset(found)


def check_way(instruction: str, old: str, new: str) -> str | None:
    """What is wrong with an alternative way, or None."""
    if same_way(old, new):
        return f"{new!r} means the same as {old!r}"
    return f"the step allows {new!r} as well" if is_offered(instruction, old, new) else None


def is_offered(instruction: str, old: str, new: str) -> bool:
    """Whether the instruction offers the new way as a choice beside the old one."""
    offered = offered_ways(instruction)
    if not offered:
        return False
    used = _concepts(old)
    told = _concepts(new) - used
    verb = next((_concept(word) for word in _tokens(new) if _concept(word) in COOKING_VERBS), "")
    return (bool(told) and told <= offered) or verb in offered - used  # "grate with a box grater" of "chop or grate" too


def _concepts(text: str) -> frozenset[str]:
    return frozenset(_concept(word) for word in _tokens(text) if word not in _FILLERS)


def _telling(old: str, new: str, instruction: str) -> frozenset[str]:
    """The words that tell the new way from the old one, first of all those that the original instruction has not."""
    used, added = _concepts(old), _concepts(new) - _concepts(old)
    added = frozenset(word for word in added if not any(_are_synonyms(word, other) for other in used)) or added
    return frozenset(added - _concepts(instruction)) or added or _concepts(new)  # "do not peel" has no other words than "peel"


def _named(telling: frozenset[str], old: str, text: str) -> int:
    """How many of the telling words a text has, in itself or in a word of the same meaning."""
    used = _concepts(old)
    said = _concepts(text)
    for shape, verb in SHAPE_VERBS.items():
        if shape in said:
            said |= {verb}
    return sum(1 for word in telling if any(other == word or (other not in used and _are_synonyms(other, word)) for other in said))


def check_way_instruction(instruction: str, old: str, new: str, changed: str) -> str | None:
    """The new way must be there, the old one gone. Half of the words that tell it are enough: a model may leave out a plain tool."""
    telling = _telling(old, new, instruction)
    if telling and _named(telling, old, changed) < math.ceil(len(telling) / 2):
        return f"the changed instruction does not say {new!r}"
    before, after = ([_concept(word) for word in _tokens(text)] for text in (instruction, changed))
    gone = _concepts(old) - _concepts(new)
    verb = next((_concept(word) for word in _tokens(old) if _concept(word) in COOKING_VERBS), "")
    if _all_kept({verb} if verb in gone else gone, before, after):
        return f"the changed instruction still says {old!r}"
    return None


def _all_kept(gone: set[str] | frozenset[str], before: Sequence[str], after: Sequence[str]) -> bool:
    return bool(gone) and all(0 < before.count(word) <= after.count(word) for word in gone)


@and_no_praise
def check_way_feedback(instruction: str, old: str, new: str, feedback: str) -> str | None:
    """The feedback must tell of a mistake and name the way that is asked, by its verb or by its tool."""
    telling = _telling(old, new, instruction)
    return f"the feedback does not say {new!r}" if telling and not _named(telling, old, feedback) else None
