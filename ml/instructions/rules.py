"""Offline answers of the two stages: a cooking filter with the imperative of a description, and narrated windows grouped to steps.

Replies have the form that a model's have. Word lists here are of kitchens at large: dishes and drinks, and things that are only cleaned.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from ml.counterfactuals.amounts import read_part
from ml.counterfactuals.editing import apply_edits
from ml.counterfactuals.lexicon.kitchenware import UTENSILS
from ml.counterfactuals.lexicon.verbs import COOKING_VERBS, NO_TECHNIQUE
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.numbers import find_numbers
from ml.counterfactuals.prompt_hashes import rules_hash
from ml.counterfactuals.rules.parsing import Token, parse_statement, verb_lemma
from ml.counterfactuals.rules.phrases import noun_phrase, singular

Inputs = Mapping[str, object]

_LABEL: Final = re.compile(
    r"^(?:#\w+\s+)?(?:C|(?:the|a) (?:person|man|woman|lady|cook)|person|the camera wearer|someone)\s+(?=\w)", re.IGNORECASE
)
_COOKING_GOAL: Final = re.compile(
    r"\b(?:cook\w*|bak(?:e|es|ing)|recipe|kitchen|food|meal|dish|breakfast|lunch|dinner|dessert|drink|salad|soup|stew|curry|sauce|rice|noodles?"
    r"|pasta|bread|dough|pizza|sandwich|burritos?|tacos?|wraps?|cakes?|pancakes?|cookies?|pie|omelet(?:te)?|eggs?|tofu|meat|steak|chicken"
    r"|fish|seafood|vegetables?|fruits?|tea|coffee|latte|milk|juice|smoothie|chocolate|beverage)\b",
    re.IGNORECASE,
)
_GOAL_CLASS: Final = re.compile(r"^(?P<name>[A-Z][A-Z_ ]+):")  # Goal-Step files its goals as COOKING:MAKE_BREAD
_NO_COOKING_CLASS: Final = re.compile(r"\bclean\w*|^general activity\b|\btidy\w*|\blaundry\b", re.IGNORECASE)
_ONLY_CLEANED: Final = words(
    "hand finger dish sink counter countertop worktop table floor cloth towel rag apron trash garbage rubbish waste phone door shirt "
    "clothes glove cupboard cabinet drawer shelf kitchen utensil dishwasher tap faucet soap sponge mess dirt dustbin"
)
_CLEANING_VERBS: Final = words("rinse wash scrub clean wipe pat dry dust sweep tidy dispose discard throw")
_POSSESSIVE: Final = re.compile(r"\b(his|her)\b(?=\s+\w)", re.IGNORECASE)


def instruction_of(description: str, *, any_verb: bool = False) -> str | None:
    """The imperative of a description in the third person or bare form; None where its first word is no cooking verb.

    "picks the knife and cuts the onion" becomes "Pick the knife and cut the onion." ``any_verb``: other verbs are turned too.
    """
    text = _LABEL.sub("", " ".join(description.split())).rstrip(" .`")
    first, _, rest = text.partition(" ")
    lemma = verb_lemma(first.lower())
    if lemma not in COOKING_VERBS:
        other = _other_verb(first.lower(), rest) if any_verb and rest else None
        if other is None:
            return None
        lemma = other
    rest = _POSSESSIVE.sub("your", rest)
    return f"{lemma.capitalize()} {_coordinated(lemma, rest)}".rstrip() + "."


def _other_verb(first: str, rest: str) -> str | None:
    """Base form of a first word that the tagger takes for a verb, in the third person or bare."""
    for subject, tags in (("The person", ("VBZ",)), ("You", ("VBP",))):
        token = next((t for t in parse_statement(f"{subject} {first} {rest}") if t.start == len(subject) + 1), None)
        if token is not None and token.tag in tags and token.lemma not in ("be", "have", "do"):
            return token.lemma
    return None


def _coordinated(lemma: str, rest: str) -> str:
    """``rest`` with the further verbs of the person in their base form."""
    said = f"The person {lemma}s {rest}"
    shift = len(said) - len(rest)
    tokens = parse_statement(said)
    edits = []
    for before, token in pairwise(tokens):
        is_joined = before.lower in ("and", "then", ",", "or") or before.tag == "RB"
        base = verb_lemma(token.lower)
        if token.start >= shift and is_joined and token.tag == "VBZ" and base in COOKING_VERBS:
            edits.append((token.start - shift, token.end - shift, base))
    return apply_edits(rest, edits)


def is_cooking(description: str, activity: str | None, category: str | None) -> bool:
    """Whether a described step is one of cooking: filed under cooking, and not the cleaning of what is never eaten.

    Where nothing files it, the description itself has to name a food, dish or kitchen tool.
    """
    if category and _NO_COOKING_CLASS.search(category.partition(":")[0]):
        return False
    if activity:
        filed = _GOAL_CLASS.match(activity)
        if filed is not None and "COOK" not in filed["name"]:
            return False
        if filed is None and _COOKING_GOAL.search(activity) is None:
            return False
    found = {singular(word) for word in re.findall(r"[a-z]+", description.lower())}
    if not activity and not found & UTENSILS and _COOKING_GOAL.search(description) is None:
        return False
    return not _only_cleans(description)


def _only_cleans(description: str) -> bool:
    """Whether the step cleans or clears away what is never eaten: the object decides, not the vessel or tool it is cleaned in or with."""
    text = _LABEL.sub("", " ".join(description.split())).lower()
    first, _, rest = text.partition(" ")
    verb = _base_form(first, rest)
    if verb not in _CLEANING_VERBS:
        return False
    tokens = parse_statement(f"{verb} {rest}")
    phrase = noun_phrase(f"{verb} {rest}", tokens, 1)
    if phrase is None:
        return True
    head = singular(phrase.head)
    return head in _ONLY_CLEANED or head in UTENSILS


def _base_form(first: str, rest: str) -> str:
    lemma = verb_lemma(first)
    return lemma if lemma in COOKING_VERBS else _other_verb(first, rest) or first


def instruct_described(inputs: Inputs) -> str:
    """``{"is_cooking", "instruction"}``, as ``prompts.INSTRUCT`` asks."""
    description = str(inputs["description"])
    known = {name: str(inputs[name]) if inputs.get(name) else None for name in ("activity", "category")}
    cooking = is_cooking(description, known["activity"], known["category"])
    text = instruction_of(description, any_verb=known["activity"] is not None) if cooking else None
    return json.dumps({"is_cooking": cooking, "instruction": text or ""}, ensure_ascii=False)


@dataclass(frozen=True)
class _Act:
    """What a window mainly tells: base form of the verb, head of the object, and the instruction for it."""

    verb: str
    head: str
    instruction: str


_MINOR: Final = NO_TECHNIQUE | words("hold move remove lift put place")
_STOP: Final = re.compile(r"\s*(?:[,;.]|\b(?:while|as|then|and|before|after|until)\b)")


def propose_steps(inputs: Inputs) -> str:
    """``{"steps": [{"start_s", "end_s", "instruction"}]}``: windows in a row that tell the same act are one step.

    Of overlapping windows each stands for the time nearest to its middle. One window of something else, or of nothing, inside a step is
    passed over. Taking up things and cleaning are no steps of their own.
    """
    listed = inputs["narrations"]
    assert isinstance(listed, Sequence)
    windows = [(float(w["start_s"]), float(w["end_s"]), _main_act(str(w["text"]))) for w in listed]
    borders = [windows[0][0]] + [(a[0] + a[1] + b[0] + b[1]) / 4 for a, b in pairwise(windows)] + [windows[-1][1]]
    steps: list[dict[str, object]] = []
    keys: list[tuple[str, str]] = []
    last = -1
    for index, (_, _, act) in enumerate(windows):
        if act is None:
            continue
        if steps and keys[-1] == (act.verb, act.head) and index - last <= 2:
            steps[-1]["end_s"] = borders[index + 1]
        else:
            steps.append({"start_s": borders[index], "end_s": borders[index + 1], "instruction": act.instruction})
            keys.append((act.verb, act.head))
        last = index
    return json.dumps({"steps": steps}, ensure_ascii=False)


def _main_act(text: str) -> _Act | None:
    """The first act on a thing that a narration tells, one that changes the thing before one that only places it."""
    acts = [act for sentence in re.split(r"(?<=[.!?;])\s+", text) for act in _acts(sentence)]
    return next((act for act in acts if act.verb not in _MINOR), None)


def _acts(sentence: str) -> list[_Act]:
    tokens = parse_statement(sentence)
    found = []
    for at, token in enumerate(tokens):
        verb = verb_lemma(token.lower)
        if verb not in COOKING_VERBS or not (token.is_verb or _stands_as_verb(tokens, at, verb)):
            continue
        phrase = noun_phrase(sentence, tokens, at + 1)
        if phrase is None or phrase.head in ("it", "them", "this", "these", "something"):
            continue
        clause = sentence[token.end : _clause_end(sentence, phrase.end)].strip()
        instruction = instruction_of(f"{verb} {_without_amounts(_POSSESSIVE.sub('your', clause))}")
        if instruction is not None and not _only_cleans(instruction):
            found.append(_Act(verb, singular(phrase.head), instruction))
    return found


def _without_amounts(clause: str) -> str:
    """The clause without counts: those of a window are of a part of the step only."""
    edits = []
    for number in find_numbers(clause):
        end = read_part(clause, number).end
        of = re.match(r"\s*(?:of\s+)?", clause[end:])
        edits.append((number.start, end + (of.end() if of else 0), ""))
    return apply_edits(clause, edits)


def _stands_as_verb(tokens: Sequence[Token], at: int, verb: str) -> bool:
    """Whether an inflected word stands where a verb stands, whatever the tagger takes it for: "the person slices the onion"."""
    if tokens[at].lower == verb:
        return False
    before, after = tokens[at - 1] if at else None, tokens[at + 1] if at + 1 < len(tokens) else None
    follows = before is None or before.is_noun or before.lower in ("and", "then", "c", ",")
    return follows and after is not None and (after.tag in ("DT", "CD", "PRP$") or after.lower in ("a", "an", "the"))


def _clause_end(sentence: str, at: int) -> int:
    match = _STOP.search(sentence, at)
    return match.start() if match else len(sentence)


RULES: Final[Mapping[str, Callable[[Inputs], str]]] = {"instruct.described": instruct_described, "propose.steps": propose_steps}


@lru_cache
def source_hash() -> str:
    """12 hex digits over the source of these rules and of the lexicon and parsing that they use."""
    digest = hashlib.sha256(rules_hash().encode())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:12]
