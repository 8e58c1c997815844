"""Noun phrases of an instruction: where they begin, how far they reach, and their head."""

from dataclasses import dataclass
from typing import Final

from ml.counterfactuals.lexicon.kitchenware import HAND_TOOLS
from ml.counterfactuals.lexicon.units import SIZE_WORDS, find_unit
from ml.counterfactuals.lexicon.verbs import COOKING_VERBS
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.parsing import Token, verb_lemma

_DETERMINERS: Final = words("the a an this that these those all both each every your their his her its some any")
PRONOUNS: Final = words("it them everything this these those")
# What a thing is made: "pat the tofu dry", "wipe the pan clean".
_RESULTS: Final = frozenset({"dry", "clean", "open", "brown", "warm", "cool"})
_NEVER_VERB: Final = words("the a an of to and or with in on until about then")


@dataclass(frozen=True)
class Phrase:
    """A noun phrase at ``text[start:end]`` without its determiner; ``head`` is the lemma of its last noun."""

    text: str
    start: int
    end: int
    head: str
    first: int
    after: int


def starts_noun(tokens: tuple[Token, ...], index: int) -> bool:
    if index >= len(tokens):
        return False
    token = tokens[index]
    return (
        token.lower in _DETERMINERS
        or token.lower in PRONOUNS
        or token.is_noun
        or token.tag in ("CD", "JJ", "JJR", "JJS", "PRP$", "PDT", "DT", "PRP")
        or (
            token.tag in ("VBN", "VBD", "VBG")
            and index + 1 < len(tokens)
            and (tokens[index + 1].is_noun or tokens[index + 1].tag.startswith("JJ"))
        )
    )


def noun_phrase(text: str, tokens: tuple[Token, ...], index: int, *, join: bool = True, objects: bool = True) -> Phrase | None:
    """The noun phrase that begins at token ``index``; ``join`` goes on over "and", commas and "of".

    ``objects``: the phrase is an object, after which no verb follows, so that a verb form inside it is a noun read wrongly."""
    at = index
    while (
        at < len(tokens) and (tokens[at].lower in _DETERMINERS or tokens[at].tag in ("DT", "PDT", "PRP$")) and starts_noun(tokens, at + 1)
    ):
        at += 1
    if at < len(tokens) and tokens[at].lower in PRONOUNS:
        token = tokens[at]
        return Phrase(token.text, token.start, token.end, token.lower, at, at + 1)
    begin, last, noun = at, -1, -1
    while at < len(tokens):
        token = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if _continues(tokens, at, begin, noun, objects):
            last = at
            if (
                token.is_noun
                or token.tag in ("VBZ", "VBP", "VB")
                or (noun == at - 1 and token.lower in COOKING_VERBS)
                or (token.tag == "PRP" and token.lower in PRONOUNS)
            ):
                noun = at
            at += 1
        elif (noun >= 0 and following is not None and token.tag == "HYPH") or (
            noun < 0
            and following is not None
            and token.tag in ("HYPH", "SYM", ",", "CC")
            and last == at - 1
            and following.tag in ("NN", "JJ", "VBN", "VBD", "CD", "NNS", "NNP")
        ):
            at += 1
        elif (
            (noun >= 0 or (last == begin and tokens[begin].tag == "CD")) and join and token.lower == ("of") and starts_noun(tokens, at + 1)
        ):
            inner = noun_phrase(text, tokens, at + 1, join=False, objects=objects)
            if inner is None:
                break
            noun, last, at = inner.after - 1, inner.after - 1, inner.after
        elif noun >= 0 and join and (token.lower in ("and", "or", "&", "/") or token.tag == ",") and _joins(tokens, at):
            at += 1 + (token.tag == "," and following is not None and following.lower in ("and", "or"))
            while at < len(tokens) and (tokens[at].lower in _DETERMINERS or tokens[at].tag == "DT"):
                at += 1
        else:
            break
    if noun < 0:
        if last < 0 or not any(tokens[i].tag in ("JJ", "CD", "VBG", "VBN", "FW", "NNP") for i in range(begin, last + 1)):
            return None
        noun = last
    start, end = tokens[begin].start, tokens[noun].end
    return Phrase(text[start:end], start, end, head_lemma(tokens[noun]), begin, noun + 1)


def head_lemma(token: Token) -> str:
    if token.lemma and token.is_noun and token.tag != "NNP":
        return token.lemma
    return singular(token.lower)


def singular(word: str) -> str:
    """The singular of an English noun by its ending."""
    for ending, new in (("ies", "y"), ("ves", "f"), ("oes", "o"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word[: -len(ending)] + new
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _continues(tokens: tuple[Token, ...], at: int, begin: int, noun: int, objects: bool) -> bool:
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if token.lower in _NEVER_VERB and token.tag != "CD" and token.lower != "and":
        return False
    if not token.is_noun and noun == at - 1 and token.lower in COOKING_VERBS - _RESULTS | {"extract", "sauce"} and objects:
        # "tomato puree to the pan", "tortilla roll with ...": a noun read as a verb
        return following is None or following.tag in ("IN", "TO", ".", ",", "-LRB-")
    if _in_compound(tokens, at):
        return True
    linked = following is not None and (following.lower == "and" or following.tag == "HYPH") and at + 3 < len(tokens)
    if token.tag == "JJ" and linked and 0 <= noun < at and tokens[at + 2].tag in ("JJ", "NN", "VBN", "CC") and tokens[at + 3].is_noun:
        return True
    if token.is_noun or token.tag in ("CD", "JJ", "JJR", "JJS", "PRP$", "FW", "$", "NNP", "AFX"):
        return not (
            token.tag.startswith("JJ")
            and noun >= 0
            and (following is None or not following.is_noun)
            and noun == at - 1
            and token.lower not in SIZE_WORDS
        )
    if token.tag == "POS":
        return noun >= 0
    after_unit = at > begin and (tokens[at - 1].tag == "CD" or find_unit(tokens[at - 1].text) is not None)
    is_modifier = following is not None and (
        following.is_noun or (following.tag == "JJ" and at + 2 < len(tokens) and tokens[at + 2].is_noun)
    )
    if after_unit and is_modifier and token.tag in ("VBN", "VBD", "VBG", "VB", "VBP", "RB"):
        return True
    if token.lower in _RESULTS and noun >= 0 and (following is None or following.tag in ("IN", ".", ",", "RB")):
        return False
    if (
        token.lower == "and"
        and noun < at
        and at > begin
        and tokens[at - 1].tag == "JJ"
        and following is not None
        and following.tag in ("JJ", "NN")
    ):
        return at + 2 < len(tokens) and tokens[at + 2].is_noun  # "sweet and sour sauce"
    if token.tag in ("VBN", "VBD", "VBG"):
        return (
            following is not None
            and (following.is_noun or following.tag in ("JJ", "VBN", "CD", "NNP", "VBG"))
            and (noun < 0 or following.is_noun)
            and not (noun >= 0 and token.tag == "VBG")
        )
    if token.tag in ("VBZ", "VBP"):
        # An imperative has no third person before "that" or "until": a plural noun read as a verb ("garlic cloves").
        if token.lemma in ("be", "have", "do") or token.lower in ("is", "are"):
            return False
        return (noun >= 0 and token.lower.endswith("s")) or (
            noun < 0 and token.lower.endswith("s") and verb_lemma(token.lower) not in COOKING_VERBS
        )
    if token.tag == "RB":
        return following is not None and following.tag in ("JJ", "VBN") and noun < 0 and at + 2 < len(tokens) and tokens[at + 2].is_noun
    if token.tag == "HYPH":
        return (noun < 0 and at > begin) or (following is not None and following.tag in ("NN", "NNS", "JJ", "VBN", "CC", "IN"))
    return token.tag == "CC" and noun < 0 and at > begin and tokens[at - 1].tag == "HYPH"


def _in_compound(tokens: tuple[Token, ...], at: int) -> bool:
    """Whether the token is inside a word written with hyphens that goes on to a noun: "sweet-and-sour sauce"."""
    first, last = at, at
    while first > 0 and (tokens[first].tag == "HYPH" or tokens[first - 1].tag == "HYPH") and tokens[first - 1].end == tokens[first].start:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1].start == tokens[last].end and "HYPH" in (tokens[last].tag, tokens[last + 1].tag):
        last += 1
    return last - first >= 2 and last + 1 < len(tokens) and tokens[last + 1].is_noun and tokens[first].tag not in ("IN", "CC")


def _joins(tokens: tuple[Token, ...], at: int) -> bool:
    """Whether what follows an "and" or a comma belongs to the same list of things."""
    step = at + 1
    if step < len(tokens) and tokens[at].tag == "," and tokens[step].lower in ("and", "or"):
        step += 1
    if step < len(tokens) and tokens[step].lower in HAND_TOOLS and tokens[at].lower == "or":
        return True  # "with a spoon or fork"
    if step >= len(tokens) or not starts_noun(tokens, step):
        return False
    token = tokens[step]
    if (
        verb_lemma(token.lower) in COOKING_VERBS
        and not (step + 1 < len(tokens) and tokens[step + 1].tag in (",", "CC", "."))
        and token.tag != "NNS"
    ):
        return token.tag in ("VBN", "JJ") and step + 1 < len(tokens) and tokens[step + 1].is_noun
    if tokens[at].tag == ",":
        rest = [other.lower for other in tokens[step : step + 12]]
        return token.lower not in ("about",) and any(word in ("and", "or") for word in rest) and token.tag not in ("VB", "VBP", "VBG", "RB")
    return True
