"""The phrases of an instruction that say how: with which tool, into what, by what means."""

import re
from dataclasses import dataclass
from typing import Final

from ml.counterfactuals.lexicon.kitchenware import HAND_TOOLS, UTENSILS, VESSELS
from ml.counterfactuals.rules.parsing import Token, verb_lemma
from ml.counterfactuals.rules.phrases import Phrase, noun_phrase, singular


@dataclass(frozen=True)
class Manner:
    """A phrase that says how: ``with a knife``, ``into thin strips``, ``by hand``. ``head`` is its noun."""

    text: str
    start: int
    end: int
    word: str
    head: str


_MANNER_WORDS: Final = frozenset({"with", "using", "into", "by", "in", "on", "through"})


def find_manners(text: str, tokens: tuple[Token, ...], verb_at: int, item: Phrase | None) -> tuple[Manner, ...]:
    found: list[Manner] = []
    index = verb_at + 1
    while index < len(tokens):
        token = tokens[index]
        if token.lower in ("until", "till", "(") or token.tag == ".":
            break
        if token.lower in _MANNER_WORDS:
            manner = _manner(text, tokens, index)
            if manner is not None:
                found.append(manner)
        index += 1
    return tuple(found)


def _manner(text: str, tokens: tuple[Token, ...], index: int) -> Manner | None:
    word = tokens[index].lower
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following is None:
        return None
    if word == "by":
        if following.lower in ("hand", "hands"):
            return Manner(text[tokens[index].start : following.end], tokens[index].start, following.end, word, "hand")
        if following.tag == "VBG" or following.lower.endswith("ing"):
            end = _clause_end(tokens, index + 1)
            return Manner(text[tokens[index].start : end].rstrip(), tokens[index].start, end, "by", verb_lemma(following.lower))
        return None
    at = index + 1 + (following.lower in ("about", "roughly", "approximately"))
    phrase = noun_phrase(text, tokens, at, join=word in ("into", "with", "using"))
    if phrase is None:
        return None
    start = tokens[index].start
    head = singular(phrase.head)
    end = _choice_end(text, phrase.end)
    if word in ("with", "using") and (head in HAND_TOOLS or phrase.head in HAND_TOOLS):
        return Manner(text[start:end], start, end, word, head)
    if word == "with" or word == "using":
        return Manner(text[start:end], start, end, "applied", head)
    if word == "into":
        return Manner(text[start:end], start, end, word, head) if head not in VESSELS else None
    if word in ("in", "through", "on") and head in (
        "blender",
        "processor",
        "microwave",
        "mixer",
        "mortar",
        "sieve",
        "colander",
        "strainer",
        "grater",
        "mandoline",
        "microplane",
    ):
        return Manner(text[start:end], start, end, "in", head)
    return None


_CHOICE: Final = re.compile(r"(?:\s*/\s*|\s+or\s+)(?:an?\s+|the\s+)?(?:[a-z]+\s+)??([a-z]+)\b", re.IGNORECASE)


def _choice_end(text: str, end: int) -> int:
    """End of a phrase with its other choices: "a blender/mixer", "a spoon or fork"."""
    while (match := _CHOICE.match(text, end)) is not None and {match[1].lower(), singular(match[1].lower())} & UTENSILS:
        end = match.end()
    return end


def _clause_end(tokens: tuple[Token, ...], at: int) -> int:
    for index in range(at + 1, len(tokens)):
        if tokens[index].tag in (",", ".", "-LRB-", ":") or tokens[index].lower in ("until", "while", "then"):
            return tokens[index - 1].end
    return tokens[-1].end
