"""Whether two instructions ask for different things, by rule: amounts, levels and content words, whatever the sentence embedding says.

MiniLM gives "2 scoops" and "3 scoops" a cosine of .95 to .99, so similarity cannot judge a changed number. Here a text becomes a signature:
its amounts in base units and its content words as lemmas with synonyms joined. Two texts differ when their signatures do.
Reading amounts for making counterfactuals is another matter (``ml.counterfactuals``).
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

from ml.comist.words import FILLERS, LEVELS, NUMBER_WORDS, SYNONYMS, UNITS

_FRACTION = r"\d+\s*/\s*\d+"
_NUMBER = rf"(?:\d+\s+{_FRACTION}|{_FRACTION}|\d+(?:\.\d+)?|\.\d+)"
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|to|or)\s*({_NUMBER})")
_TOKEN = re.compile(rf"{_NUMBER}|°\s*[fc]\b|°|[^\W\d_]+(?:'[^\W\d_]+)?")
_MIXED = re.compile(r"(\d+)\s+and\s+(?=\d+\s*/\s*\d+)")


@dataclass(frozen=True)
class Signature:
    """Amounts as (dimension, value in base units: ml, g, s, mm, degrees C, or a plain count) and content words, in text order."""

    amounts: tuple[tuple[str, float], ...]
    words: tuple[str, ...]


@lru_cache(maxsize=200_000)
def signature(text: str) -> Signature:
    """Signature of one instruction. "2½ cups" is 2.5 cups, "a cup" 1 cup, "1 minute" equals "60 seconds"; a range gives both ends."""
    tokens = _tokens(text)
    amounts: list[tuple[str, float]] = []
    words: list[str] = []
    pending: list[float] = []
    for index, token in enumerate(tokens):
        value = _value(token)
        if value is None and token in ("a", "an") and not pending and index + 1 < len(tokens) and _lemma(tokens[index + 1]) in UNITS:
            value = 1.0
        if value is not None:
            pending.append(value)
            continue
        unit = UNITS.get(token) or UNITS.get(_lemma(token))
        if unit is not None and pending:
            amounts += [(unit.dimension, round(number * unit.factor + unit.shift, 1)) for number in pending]
            pending = []
            continue
        if pending and token in ("a", "an", "of", "more", "degree", "degrees", "°"):  # "half a cup", "30 more seconds", "350 degrees F"
            if token == "more":
                words.append("more")
            continue
        amounts += [("count", number) for number in pending]
        pending = []
        if (word := _word(token)) is not None:
            words.append(word)
    amounts += [("count", number) for number in pending]
    return Signature(tuple(amounts), tuple(words))


def differs(original: str, changed: str) -> bool:
    """True when the instructions ask for different amounts, levels or things; equal texts and mere rewordings give False.

    Order counts only where equal words keep their order and the amounts between them change places ("2 cups flour, 1 cup milk").
    """
    first, second = signature(original), signature(changed)
    if sorted(first.amounts) != sorted(second.amounts) or sorted(first.words) != sorted(second.words):
        return True
    return first.amounts != second.amounts and first.words == second.words


def _tokens(text: str) -> list[str]:
    plain = "".join(_plain(character) for character in text).replace("–", "-").replace("—", "-").replace("⁄", "/").lower()
    plain = _RANGE.sub(r"\1 \2", _MIXED.sub(r"\1 ", plain))
    tokens = [token.replace(" ", "") if token.startswith("°") else token for token in _TOKEN.findall(plain)]
    joined: list[str] = []
    for token in tokens:
        # "one and a half", "two half": a word number followed by a half is their sum only after "and".
        if token == "half" and len(joined) >= 3 and joined[-2:] == ["and", "a"] and (whole := _value(joined[-3])) is not None:
            joined[-3:] = [str(whole + 0.5)]
        else:
            joined.append(token)
    return joined


def _plain(character: str) -> str:
    """ "½" as " 1/2" (so that "2½" is not 21/2); other characters in compatibility form."""
    form = unicodedata.normalize("NFKC", character)
    return f" {form}" if "⁄" in form else form


def _value(token: str) -> float | None:
    if token in NUMBER_WORDS:
        return NUMBER_WORDS[token]
    if not (token[0].isdigit() or token[0] == "."):
        return None
    total = 0.0
    for part in re.sub(r"\s*/\s*", "/", token).split():
        above, _, below = part.partition("/")
        if below and float(below) == 0:
            return None
        total += float(above) / float(below) if below else float(above)
    return total


def _word(token: str) -> str | None:
    if token in LEVELS:
        return LEVELS[token]
    if token in FILLERS:
        return None
    lemma = _lemma(token)
    return None if lemma in FILLERS else SYNONYMS.get(token, SYNONYMS.get(lemma, lemma))


@cache
def _lemma(token: str) -> str:
    import simplemma

    lemma = simplemma.lemmatize(token, lang="en").lower()
    if lemma == token and token.endswith("ing") and len(token) > 5:  # the dictionary takes "grating" and "cutting" for nouns
        stem = token[:-3]
        for guess in (f"{stem}e", stem[:-1] if stem[-1] == stem[-2] else stem, stem):
            if len(guess) > 2 and simplemma.is_known(guess, lang="en"):
                return guess
    return lemma
