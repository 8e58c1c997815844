"""Another way of doing the same step: the alternative technique or preparation method, and the sentence rewritten for it."""

import re
from typing import Final

from ml.counterfactuals.editing import Edit, apply_edits, pick_by
from ml.counterfactuals.lexicon.alternatives import FITS, KNIFE_VERBS, PREPARATIONS, SHAPES, TECHNIQUES, TOOLS, Way
from ml.counterfactuals.lexicon.kitchenware import HAND_TOOLS, UTENSILS, VESSELS
from ml.counterfactuals.lexicon.verbs import COATING, CUTTING
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.extraction import Action, find_preparation, find_technique
from ml.counterfactuals.rules.inflection import capitalised_like, gerund, mend_articles, with_article
from ml.counterfactuals.rules.manners import Manner
from ml.counterfactuals.rules.parsing import parse, verb_lemma
from ml.counterfactuals.rules.phrases import singular
from ml.counterfactuals.ways import is_offered

# Things that a verb cannot be done to; an alternative that does not fit is passed over.
UNFIT: Final[dict[str, frozenset[str]]] = {
    "dice": words(
        "egg oil milk water sauce juice batter dough mixture content ingredient bowl mug cup noodle filter yogurt curd cream "
        "sugar salt flour powder soup "
        "leaf cilantro parsley basil herb mint rice jam jelly it them everything corner end round"
    ),
    "slice": words(
        "oil milk water sauce juice batter mixture content ingredient rice salt flour powder bowl mug cup cilantro parsley "
        "herb mint dill coriander it"
    ),
    "fold": words("egg oil water milk broth noodle mug cup bowl coffee tea ingredient butter"),
    "stir": words("filter paper towel napkin tortilla omelette wrap dough pancake dumpling it tofu fish slice towel cloth"),
    "wipe": words("rice bean lentil spinach lettuce leaf herb pasta berry strawberry"),
    "peel": words(
        "rice bean lentil spinach lettuce leaf herb mushroom berry strawberry pasta chicken fish meat knife bowl hand pan it them "
        "kale quinoa egg cherry"
    ),
    "roll": words("bread water sauce"),
    "brush": words("pan bowl salad syrup"),
}


# "to create 2 rolls": another way would make something else.
_MADE: Final = re.compile(r"\bto\s+(?:create|make|form|get|obtain|produce)\s+(?:\S+\s+){0,3}$", re.IGNORECASE)


def _fits(way: Way, action: Action) -> bool:
    item = action.imperative.item
    heads = _heads(item.text if item is not None else "", singular(item.head) if item is not None else "")
    if item is not None and _MADE.search(action.imperative.text[: item.start]):
        return False
    if way.verb in CUTTING and item is not None and singular(item.head) in UTENSILS:
        return False
    if way.verb in FITS:
        return bool(heads & FITS[way.verb])
    return not heads & UNFIT.get(way.verb, frozenset())


def _is_offered(way: Way, action: Action) -> bool:
    """An option that the original leaves is no mistake."""
    return is_offered(action.imperative.text, action.text, _phrase_of(way))


def _heads(text: str, head: str) -> frozenset[str]:
    """What the item is: its head, and for "slices of bread" or "contents of the mug" the first noun too; never a word inside."""
    parts = re.split(r"\s+(?:of|and|or)\s+|,\s*", text.lower())
    return frozenset({head, *(singular(part.split()[-1]) for part in parts if part.split())})


def _main_tool(action: Action) -> Manner | None:
    return next(
        (m for m in action.manners if m.word in ("with", "using", "in") and m.head in HAND_TOOLS and m.head not in ("paper",)), None
    )


def _shape(action: Action) -> Manner | None:
    return next((m for m in action.manners if m.word == "into" and singular(m.head) in SHAPES), None)


def _bare(verb: str) -> str:
    """A verb phrase in its base form: slicing -> slice."""
    first, _, rest = verb.partition(" ")
    return f"{verb_lemma(first)} {rest}".strip()


def alternative_technique(instruction: str, technique: str) -> str | None:
    """Another technique for the step, as a short imperative phrase; None where no one is known that means something else."""
    action = find_technique(instruction)
    if action is None or action.imperative.is_caused:
        return None
    pick = pick_by("technique", instruction)
    shape = _shape(action)
    if shape is not None and action.lemma in ("cut", "chop", "slice", "roll", "shape", "form", "tear", "break"):
        shapes = SHAPES[singular(shape.head)]
        return f"{_bare(action.verb)} into {shapes[pick(len(shapes))]}"
    ways = [way for way in TECHNIQUES.get(action.lemma, ()) if _fits(way, action) and not _is_offered(way, action)]
    if ways:
        return _phrase_of(ways[pick(len(ways))])
    tool = _main_tool(action)
    if tool is not None and (tools := TOOLS.get(tool.head)):
        tools = tuple(name for name in tools if not is_offered(instruction, action.text, name))
        return f"{_bare(action.verb)} with {with_article(tools[pick(len(tools))])}" if tools else None
    return None


def alternative_preparation(instruction: str) -> str | None:
    """Another preparation method for the step; a different one than ``alternative_technique`` proposes."""
    action = find_preparation(instruction)
    if action is None or action.imperative.is_caused:
        return None
    technique = alternative_technique(instruction, "")
    if action.lemma in ("covered", "uncovered"):
        return "uncovered" if action.lemma == "covered" else "covered"
    if action.verb_span[0] != action.imperative.verb.start:
        return _changed_phrase(action)
    pick = pick_by("preparation", instruction)
    tool = _main_tool(action)
    if tool is not None and (tools := TOOLS.get(tool.head)):
        chosen = [name for name in tools if not (name == "grater" and action.lemma in KNIFE_VERBS)]
        chosen = [name for name in chosen if not is_offered(instruction, action.text, name)]
        if chosen:
            made = f"{_bare(action.verb)} with {with_article(chosen[pick(len(chosen))])}"
            if made != technique:
                return made
    if action.lemma in COATING and action.lemma in PREPARATIONS and not _is_vessel(action):
        return None
    shape = _shape(action)
    ways = [way for way in PREPARATIONS.get(action.lemma, ()) if _fits(way, action) and not _is_offered(way, action)]
    ways = [way for way in ways if _phrase_of(way) != technique]
    ways = [way for way in ways if not (way.manner and tool is not None and tool.head in way.manner)]
    if ways and not (shape is not None and len(ways) == 0):
        return _phrase_of(ways[pick(len(ways))])
    return None


def _is_vessel(action: Action) -> bool:
    item = action.imperative.item
    return item is not None and singular(item.head) in VESSELS


def _phrase_of(way: Way) -> str:
    manner = way.manner
    if manner is not None:
        match = re.fullmatch(r"with ([a-z' ]+)", manner)
        if match and match[1].split()[-1] in HAND_TOOLS and not match[1].startswith(("a ", "an ", "the ")):
            manner = f"with {with_article(match[1])}"
    return way.verb if manner is None else f"{way.verb} {manner}"


def _changed_phrase(action: Action) -> str | None:
    """ "wiping it with a paper towel" with another tool or another verb, in the same -ing form."""
    phrase = action.text
    for match in re.finditer(r"\bwith (?:an? |the )?(?:[a-z'-]+ )*?([a-z]+)(?=$|[,.])", phrase):
        head = singular(match[1])
        if tools := TOOLS.get(head):
            return phrase[: match.start()] + f"with {with_article(tools[0])}" + phrase[match.end() :]
    ways = [way for way in TECHNIQUES.get(action.lemma, ()) if way.manner is None and way.verb not in FITS and _fits(way, action)]
    first, _, rest = phrase.partition(" ")
    if ways and first.endswith("ing") and " with " not in f" {rest}":
        return f"{gerund(ways[0].verb)} {rest}".strip()
    return None


def rewrite(instruction: str, kind: str, alternative: str) -> str | None:
    """The instruction done in the ``alternative`` way. ``kind`` is technique or preparation. None where it does not apply.

    The new verb takes the old one's place, the new manner (tool, shape) that of the old manner or the end of the object.
    """
    action = find_technique(instruction) if kind == "technique" else find_preparation(instruction)
    if action is None:
        return None
    if action.verb_span[0] != action.imperative.verb.start or alternative in ("covered", "uncovered"):
        start, end = action.verb_span
        return mend_articles(instruction[:start] + capitalised_like(instruction[start:end], alternative) + instruction[end:])
    new_verb, new_manner = split_way(alternative)
    start, end = action.verb_span
    old_verb = instruction[start:end]
    edits: list[Edit] = []
    if verb_lemma(old_verb.split()[0]) == verb_lemma(new_verb.split()[0]) and old_verb.split()[0].lower() != new_verb.split()[0]:
        new_verb = old_verb  # "slicing ... with floss": only the tool changes
    elif old_verb.split()[0].lower().endswith("ing") and verb_lemma(old_verb.split()[0]) != old_verb.split()[0].lower():
        first, _, rest = new_verb.partition(" ")
        new_verb = f"{gerund(first)} {rest}".strip()
    joined = _alternatives_after(action)
    edits.append((start, joined or end, capitalised_like(old_verb, new_verb)))
    item = action.imperative.item
    same_verb = verb_lemma(old_verb.split()[0]) == verb_lemma(new_verb.split()[0])
    shape_only = new_manner is not None and new_manner.startswith("into ")
    replaced = [m for m in action.manners if (m.word == "into") == shape_only or not same_verb]
    replaced = [m for m in replaced if not (m.word == "into" and not shape_only and same_verb)]
    if new_manner is None:
        edits += [(_before_space(instruction, m.start), m.end, "") for m in replaced if m.word != "applied"]
    elif replaced:
        leading, *others = replaced
        edits.append((leading.start, leading.end, new_manner))
        edits += [(_before_space(instruction, m.start), m.end, "") for m in others]
    else:
        at = item.end if item is not None and item.start >= end else (joined or end)
        at = _after_adverb(action, at)
        edits.append((at, at, f" {new_manner}"))
    return _tidy(apply_edits(instruction, edits))


def _alternatives_after(action: Action) -> int | None:
    """End of "or tear" in "cut or tear": the alternative takes the place of both."""
    tokens = action.imperative.tokens
    at = action.imperative.verb_index + 1
    end = None
    while at + 1 < len(tokens) and tokens[at].lower == "or" and verb_lemma(tokens[at + 1].lower) in TECHNIQUES:
        end = tokens[at + 1].end
        at += 2
    return end


def _after_adverb(action: Action, at: int) -> int:
    for token in parse(action.imperative.text):
        if token.start >= at:
            return token.end if token.lower in ("well", "thoroughly", "gently", "roughly", "finely", "thinly") else at
    return at


def _before_space(text: str, at: int) -> int:
    return at - 1 if at > 0 and text[at - 1] == " " else at


def split_way(text: str) -> tuple[str, str | None]:
    """``beat with a fork`` as verb and manner; ``pat dry`` stays a verb."""
    match = re.search(r"\s(?=(?:with|using|into|by|in|under|on|through|of|between)\b)", text)
    if match is None:
        return text.strip(), None
    return text[: match.start()].strip(), text[match.end() :].strip()


def _tidy(text: str) -> str:
    text = re.sub(r"[ \t]{2,}", " ", text)
    return mend_articles(re.sub(r"\s+([,.;)])", r"\1", text)).strip()


def in_progress(way: str) -> str:
    """``beat with a whisk`` as ``beating with a whisk``, manner last."""
    verb, manner = split_way(way)
    first, _, rest = verb.partition(" ")
    doing = gerund(verb_lemma(first) if first.lower().endswith("ing") else first)
    return " ".join(part for part in (doing, rest, manner) if part)
