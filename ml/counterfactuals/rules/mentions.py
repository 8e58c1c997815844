"""Whether a narrated sentence names a thing, and the words for adding one. Shared by the finders of feedback moments."""

import re
from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.phrases import singular
from ml.counterfactuals.rules.timeline import content_words, lemmas

Inputs = Mapping[str, object]

ADDING: Final = words(
    "add pour tip crack break scoop dig fill take lift turn drop sprinkle squeeze spoon ladle shake put place dip "
    "empty measure push slide throw land open lower draw tap grate toss fall level"
)


def text_of(inputs: Inputs, name: str) -> str:
    value = inputs.get(name)
    return "" if value is None else str(value)


def mentions(sentence: str, thing: str) -> bool:
    """Whether the sentence names the thing: its head, or every word of it that tells it from others."""
    named = content_words(thing)
    found = lemmas(sentence)
    if not named:
        return False
    head = head_of(thing)
    return head in found or (len(named) > 1 and len(named & found) >= len(named) - 1 and bool(named & found))


def head_of(thing: str) -> str:
    found = re.findall(r"[a-z]+", thing.lower())
    return singular(found[-1]) if found else ""


def first_run(flags: list[bool], after: int = 0) -> int | None:
    return next((i for i in range(after, len(flags)) if flags[i]), None)
