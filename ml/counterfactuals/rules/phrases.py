"""The shape of an instruction: its verb, what is worked on, with what and into what. Mistake types read their attributes from it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ml.counterfactuals.amounts import find_durations
from ml.counterfactuals.lexicon.kitchenware import HAND_TOOLS, PACKAGING, UTENSILS, VESSELS
from ml.counterfactuals.lexicon.units import SIZE_WORDS, find_unit
from ml.counterfactuals.lexicon.verbs import CAUSING, CONTROL, COOKING_VERBS, HEATING, MEASURING, PARTICLES, WITH_OBJECT
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.parsing import Token, parse, verb_lemma

_DETERMINERS: Final = words("the a an this that these those all both each every your their his her its some any")
_PRONOUNS: Final = words("it them everything this these those")
_OPENERS: Final = words("in on once when while after before if using with as meanwhile for to at from inside into over until")
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


@dataclass(frozen=True)
class Manner:
    """A phrase that says how: ``with a knife``, ``into thin strips``, ``by hand``. ``head`` is its noun."""

    text: str
    start: int
    end: int
    word: str
    head: str


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


def _starts_noun(tokens: tuple[Token, ...], index: int) -> bool:
    if index >= len(tokens):
        return False
    token = tokens[index]
    return (
        token.lower in _DETERMINERS
        or token.lower in _PRONOUNS
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
        at < len(tokens) and (tokens[at].lower in _DETERMINERS or tokens[at].tag in ("DT", "PDT", "PRP$")) and _starts_noun(tokens, at + 1)
    ):
        at += 1
    if at < len(tokens) and tokens[at].lower in _PRONOUNS:
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
                or (token.tag == "PRP" and token.lower in _PRONOUNS)
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
            (noun >= 0 or (last == begin and tokens[begin].tag == "CD")) and join and token.lower == ("of") and _starts_noun(tokens, at + 1)
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
    return Phrase(text[start:end], start, end, _head_lemma(tokens[noun]), begin, noun + 1)


def _head_lemma(token: Token) -> str:
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
    if step >= len(tokens) or not _starts_noun(tokens, step):
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


def _skip_opening(tokens: tuple[Token, ...]) -> int:
    """Index after a leading "In a bowl," or "Once the pan is hot," and after adverbs."""
    at = 0
    while at < len(tokens) and (tokens[at].tag in ("_SP", ",") or tokens[at].lower in ("then", "next", "now", "finally", "and", "please")):
        at += 1
    if at < len(tokens) and tokens[at].lower in _OPENERS:
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
            pronoun = after + 2 < len(tokens) and tokens[after + 2].lower in _PRONOUNS
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
    manners = _manners(text, tokens, verb_at, item)
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
    if at >= len(tokens) or not _starts_noun(tokens, at):
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
            if phrase.head in _PRONOUNS or phrase.head in ("smooth", "fragrant") or phrase.after >= len(tokens):
                if phrase.after >= len(tokens) and phrase.after - phrase.first > 1:
                    word = tokens[phrase.after - 2]
                    return Phrase(word.text, word.start, word.end, _head_lemma(word), phrase.after - 2, phrase.after - 1)
                return None
            # "until cheese melts": a verb read as a plural noun belongs to the clause, not to the thing.
            last = tokens[phrase.after - 1]
            if phrase.after - phrase.first > 1 and last.tag in ("NNS", "VBZ") and verb_lemma(last.lower) in COOKING_VERBS:
                word = tokens[phrase.after - 2]
                return Phrase(text[phrase.start : word.end], phrase.start, word.end, _head_lemma(word), phrase.first, phrase.after - 1)
            return phrase
    return None


def _infinitive_object(text: str, tokens: tuple[Token, ...], at: int) -> Phrase | None:
    for index in range(at + 1, len(tokens) - 1):
        if tokens[index].lower == "to" and tokens[index + 1].tag == "VB":
            return noun_phrase(text, tokens, index + 2)
    return None


_MANNER_WORDS: Final = frozenset({"with", "using", "into", "by", "in", "on", "through"})


def _manners(text: str, tokens: tuple[Token, ...], verb_at: int, item: Phrase | None) -> tuple[Manner, ...]:
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
    if word in ("with", "using") and (head in HAND_TOOLS or phrase.head in HAND_TOOLS):
        return Manner(text[start : phrase.end], start, phrase.end, word, head)
    if word == "with" or word == "using":
        return Manner(text[start : phrase.end], start, phrase.end, "applied", head)
    if word == "into":
        return Manner(text[start : phrase.end], start, phrase.end, word, head) if head not in VESSELS else None
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
        return Manner(text[start : phrase.end], start, phrase.end, "in", head)
    return None


def _clause_end(tokens: tuple[Token, ...], at: int) -> int:
    for index in range(at + 1, len(tokens)):
        if tokens[index].tag in (",", ".", "-LRB-", ":") or tokens[index].lower in ("until", "while", "then"):
            return tokens[index - 1].end
    return tokens[-1].end
