"""The shape of an instruction: its verb, what is worked on, with what and into what. Mistake types read their attributes from it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ml.counterfactuals.durations import find_durations
from ml.counterfactuals.lexicon.kitchenware import HAND_TOOLS, PACKAGING, UTENSILS
from ml.counterfactuals.lexicon.units import find_unit
from ml.counterfactuals.lexicon.verbs import CAUSING, CONTROL, COOKING_VERBS, HEATING, MEASURING, PARTICLES, WITH_OBJECT
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.manners import Manner, find_manners
from ml.counterfactuals.rules.parsing import Token, parse, verb_lemma
from ml.counterfactuals.rules.phrases import PRONOUNS, Phrase, head_lemma, noun_phrase, singular, starts_noun

OPENERS: Final = words("in on once when while after before if using with as meanwhile for to at from inside into over until")


@dataclass(frozen=True)
class Imperative:
    """What an instruction asks for. ``verb`` is the token that acts, ``lemma`` its base form."""

    text: str
    tokens: tuple[Token, ...]
    verb: Token
    lemma: str
    verb_index: int
    verb_end: int
    item: Phrase | None
    manners: tuple[Manner, ...]
    is_negative: bool = False
    is_caused: bool = False


def _skip_opening(tokens: tuple[Token, ...]) -> int:
    """Index after a leading "In a bowl," or "Once the pan is hot," and after adverbs."""
    at = 0
    while at < len(tokens) and (tokens[at].tag in ("_SP", ",") or tokens[at].lower in ("then", "next", "now", "finally", "and", "please")):
        at += 1
    if at < len(tokens) and tokens[at].lower in OPENERS:
        for index in range(at, len(tokens)):
            if tokens[index].tag == ",":
                return _skip_opening_adverbs(tokens, index + 1)
        # No comma: the clause ends where the first cooking verb in base form stands after a noun.
        for index in range(at + 2, len(tokens)):
            if tokens[index].lower in COOKING_VERBS and tokens[index].tag in ("VB", "VBP") and tokens[index - 1].is_noun:
                return index
    return _skip_opening_adverbs(tokens, at)


def _skip_opening_adverbs(tokens: tuple[Token, ...], at: int) -> int:
    while at < len(tokens) and (
        tokens[at].tag in ("RB", "RBR", ",", "_SP", "UH")
        or tokens[at].lower.endswith("ly")
        or tokens[at].lower in ("then", "next", "now", "and", "please")
    ):
        if tokens[at].lower in COOKING_VERBS:
            break
        at += 1
    return at


def _find_verb(tokens: tuple[Token, ...]) -> int | None:
    at = _skip_opening(tokens)
    if at < len(tokens) and (tokens[at].is_verb or verb_lemma(tokens[at].lower) in COOKING_VERBS):
        return at
    for index in range(at, len(tokens)):
        token = tokens[index]
        if token.tag in ("VB", "VBP") or (token.lower in COOKING_VERBS and not token.is_noun):
            return index
    return None


def _after_adverbs(tokens: tuple[Token, ...], at: int) -> int:
    while at < len(tokens) and (
        tokens[at].tag in ("RB", "RP", "UH", "RBR") or tokens[at].lower in ("well", "together", "more", "thoroughly")
    ):
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if tokens[at].lower == "more" and following is not None and following.is_noun:
            break
        at += 1
    return at


@lru_cache(maxsize=20_000)
def read_imperative(text: str) -> Imperative | None:
    """The main request of an instruction; None where it has no verb."""
    tokens = parse(text)
    at = _find_verb(tokens)
    if at is None:
        return None
    negative = at >= 1 and any(token.lower in ("not", "n't", "never") for token in tokens[max(0, at - 3) : at])
    verb_at, item_from = at, None
    lemma = verb_lemma(tokens[at].lower)
    item: Phrase | None = None
    caused = lemma in CAUSING
    if caused:
        cause = noun_phrase(text, tokens, at + 1, objects=False)
        after = cause.after if cause else at + 1
        after += after < len(tokens) and tokens[after].lower == "to"
        if after < len(tokens) and cause is not None and (tokens[after].is_verb or verb_lemma(tokens[after].lower) in COOKING_VERBS):
            verb_at, item = after, cause
    elif lemma in CONTROL or (lemma in ("carry", "go") and at + 1 < len(tokens)):
        after = at + 1
        while after < len(tokens) and tokens[after].lower in ("to", "on", "the"):
            after += 1
        if after < len(tokens) and (tokens[after].is_verb or verb_lemma(tokens[after].lower) in COOKING_VERBS):
            verb_at = after
    elif lemma == "use":
        for index in range(at + 1, len(tokens) - 1):
            if tokens[index].lower == "to" and verb_lemma(tokens[index + 1].lower) in COOKING_VERBS:
                verb_at = index + 1
                break
    elif lemma in MEASURING or lemma == "measure":
        first = noun_phrase(text, tokens, at + 1)
        after = first.after if first else at + 1
        if first and after + 1 < len(tokens) and tokens[after].lower == "and" and tokens[after + 1].lower in COOKING_VERBS:
            pronoun = after + 2 < len(tokens) and tokens[after + 2].lower in PRONOUNS
            if pronoun:
                verb_at, item = after + 1, first
    elif lemma == "prepare":
        for index in range(at + 1, len(tokens) - 1):
            if tokens[index].lower == "by" and tokens[index + 1].tag == "VBG":
                verb_at = index + 1
                break
    verb_end = verb_at + 1
    # "Cut or tear", "measure and add": the first verb acts, the thing stands after the last.
    item_from = verb_end
    while (
        item_from + 1 < len(tokens)
        and tokens[item_from].lower in ("and", "or")
        and verb_lemma(tokens[item_from + 1].lower) in COOKING_VERBS
    ):
        item_from += 2
    if verb_at == at and lemma in ("measure", "weigh") and item_from > verb_end:
        verb_at, verb_end = item_from - 1, item_from
    lemma = verb_lemma(tokens[verb_at].lower)
    particle_end = _particle(text, tokens, item_from)
    if item_from == verb_end:
        verb_end = particle_end
    if item is None:
        item = _object(text, tokens, _after_adverbs(tokens, particle_end), lemma)
    manners = find_manners(text, tokens, verb_at, item)
    if lemma in WITH_OBJECT:
        applied = _with_object(text, tokens, verb_at)
        if applied is not None:
            item = applied
    if item is None:
        item = _until_subject(text, tokens, verb_at)
    if item is None and verb_at > at and lemma not in HEATING:
        item = _infinitive_object(text, tokens, verb_at)
    return Imperative(text, tokens, tokens[verb_at], lemma, verb_at, tokens[verb_end - 1].end, item, manners, negative, caused)


def _particle(text: str, tokens: tuple[Token, ...], at: int) -> int:
    """Index after a particle of the verb: "mix in the flour", "roll up the wrap", but not "mix in a bowl"."""
    if at < len(tokens) and tokens[at].lower in PARTICLES and tokens[at].lower not in ("over", "through"):
        following = noun_phrase(text, tokens, at + 1)
        if tokens[at].tag == "RP" or tokens[at].lower in ("out", "up", "open", "together", "aside", "away", "apart", "back"):
            return at + 1
        if (
            following is not None
            and tokens[at].lower in ("in", "off", "down")
            and singular(following.head) not in UTENSILS - PACKAGING
            and following.head not in ("half", "batch", "circle", "heat", "motion", "water", "quarter", "piece")
        ):
            return at + 1
    return at


def _object(text: str, tokens: tuple[Token, ...], at: int, lemma: str) -> Phrase | None:
    if at >= len(tokens) or not starts_noun(tokens, at):
        return None
    if tokens[at].tag in ("RB",):
        return None
    phrase = noun_phrase(text, tokens, at)
    if phrase is None or _is_measure_of_time(phrase, tokens) or any(phrase.start == time.start for time in find_durations(text)):
        return None
    return phrase


def _is_measure_of_time(phrase: Phrase, tokens: tuple[Token, ...]) -> bool:
    unit = find_unit(tokens[phrase.after - 1].text)
    return unit is not None and unit.kind == "time"


def _with_object(text: str, tokens: tuple[Token, ...], at: int) -> Phrase | None:
    for index in range(at + 1, len(tokens)):
        if tokens[index].lower in ("and", "until", ".", "(") and not tokens[index].is_noun and tokens[index].lower != "and":
            return None
        if tokens[index].lower == "with":
            phrase = noun_phrase(text, tokens, index + 1)
            return phrase if phrase is not None and phrase.head not in HAND_TOOLS else None
    return None


_CONDITION: Final = frozenset({"until", "till"})


def _until_subject(text: str, tokens: tuple[Token, ...], at: int) -> Phrase | None:
    for index in range(at + 1, len(tokens)):
        if tokens[index].lower in _CONDITION:
            phrase = noun_phrase(text, tokens, index + 1, join=False, objects=False)
            if phrase is None and index + 1 < len(tokens) and tokens[index + 1].is_noun:
                return None
            if phrase is None:
                return None
            if phrase.head in PRONOUNS or phrase.head in ("smooth", "fragrant") or phrase.after >= len(tokens):
                if phrase.after >= len(tokens) and phrase.after - phrase.first > 1:
                    word = tokens[phrase.after - 2]
                    return Phrase(word.text, word.start, word.end, head_lemma(word), phrase.after - 2, phrase.after - 1)
                return None
            # "until cheese melts": a verb read as a plural noun belongs to the clause, not to the thing.
            last = tokens[phrase.after - 1]
            if phrase.after - phrase.first > 1 and last.tag in ("NNS", "VBZ") and verb_lemma(last.lower) in COOKING_VERBS:
                word = tokens[phrase.after - 2]
                return Phrase(text[phrase.start : word.end], phrase.start, word.end, head_lemma(word), phrase.first, phrase.after - 1)
            return phrase
    return None


def _infinitive_object(text: str, tokens: tuple[Token, ...], at: int) -> Phrase | None:
    for index in range(at + 1, len(tokens) - 1):
        if tokens[index].lower == "to" and tokens[index + 1].tag == "VB":
            return noun_phrase(text, tokens, index + 2)
    return None
