"""Which attributes an instruction has, by rule: amounts, durations, heat settings, techniques, preparation methods.

Spans are verbatim. Nothing is changed here; alternatives are made in ``ml.counterfactuals.rules.changing``.
"""

import re
from dataclasses import dataclass
from typing import Final

from ml.counterfactuals.amounts import SIZE_IN_BRACKETS, Part, read_part
from ml.counterfactuals.durations import Duration, find_durations
from ml.counterfactuals.heat import Heat, HeatKind, find_heat
from ml.counterfactuals.lexicon.heat import HEATED_THINGS
from ml.counterfactuals.lexicon.kitchenware import APPLIANCES, COOKING_VESSELS, NOT_INGREDIENTS, VESSELS
from ml.counterfactuals.lexicon.units import SIZE_WORDS, UnitKind
from ml.counterfactuals.lexicon.verbs import HEATING, NO_TECHNIQUE, PREPARING
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.numbers import Number, find_numbers
from ml.counterfactuals.rules.clauses import clause_at, item_at
from ml.counterfactuals.rules.imperatives import Imperative, read_imperative
from ml.counterfactuals.rules.manners import Manner
from ml.counterfactuals.rules.parsing import Token, parse, unlabelled, verb_lemma
from ml.counterfactuals.rules.phrases import Phrase, noun_phrase


@dataclass(frozen=True)
class Measurement:
    """``quantity`` at ``text[start:end]`` of ``ingredient`` at ``ingredient_span``; ``counted``: no unit, the thing itself is counted."""

    quantity: str
    ingredient: str
    start: int
    end: int
    ingredient_span: tuple[int, int]
    head: str
    counted: bool


_NUMBERED: Final = re.compile(r"(?:\b(?:setting|level|mark|step|power|number|speed|serves|makes|no\.)\s+|[#$])$", re.IGNORECASE)
_RESULT: Final = re.compile(
    r"\b(?:into|by|every|per|each|(?:to|and)\s+(?:create|make|form|get))\s+(?:about\s+|another\s+)?$", re.IGNORECASE
)
_ONE_AS_PRONOUN: Final = re.compile(r"\s+(?:by|at|after|of|another|on|to|is|and|or|in)\b|\s*[.,;)]|\s*$", re.IGNORECASE)
_DEFINITE: Final = re.compile(r"\b(?:this|that|the|last|other|first|next|each|every|from|only)\s+$", re.IGNORECASE)
_PORTIONS: Final = re.compile(
    r"\s+(?:equal\s+)?(?:pieces?|parts?|halves|quarters|slices|wedges|strips|cubes|batches|layers|portions|rows)\b"
)
_DUAL: Final = re.compile(r"\s*(?:or|/|\(|,)\s*(?:about\s+|approximately\s+|roughly\s+)?", re.IGNORECASE)
_ENDS: Final = re.compile(r"\s*(?:-|–|—|to)\s*")
_SIZED: Final = re.compile(
    rf"(?:(?:{'|'.join(sorted(SIZE_WORDS, key=len, reverse=True))})(?:[\s-]+(?:sized?|in\s+size))?[\s,]+)+", re.IGNORECASE
)
_GLUE: Final = re.compile(r"\s*(?:in\s+number\s+)?(?:each\s+)?(?:of\s+)?", re.IGNORECASE)


def find_measurements(instruction: str) -> list[Measurement]:
    """Amounts of ingredients in order. Durations, heat, cut sizes, vessel sizes, results of cutting and counts of tools are none."""
    text = unlabelled(instruction)
    taken = [(d.start, d.end) for d in find_durations(text)]
    taken += [(h.start, h.end) for h in find_heat(text) if h.kind is not HeatKind.STATE]
    found: list[Measurement] = []
    numbers = find_numbers(text)
    used_to = -1
    for index, number in enumerate(numbers):
        if number.start < used_to or any(start <= number.start < end for start, end in taken):
            continue
        part = read_part(text, number)
        if not _is_amount(text, part):
            continue
        end = part.end
        for other in numbers[index + 1 :]:
            if part.unit is None and SIZE_IN_BRACKETS.match(text, end):
                break
            joint = _DUAL.fullmatch(text, end, other.start)
            more = read_part(text, other)
            if _ENDS.fullmatch(text, end, other.start) and more.unit is not None and more.unit == part.unit:
                end = more.end  # "0.8 oz - 1.2 oz": a range that names its unit twice
                continue
            if joint is None or more.unit is None or more.unit.kind in (UnitKind.TIME, UnitKind.LENGTH):
                break
            end = more.end + (text[more.end : more.end + 1] == ")" and "(" in text[end : more.end])
        measurement = _measured(instruction, text, part, end)
        if measurement is not None:
            found.append(measurement)
            used_to = max(end, measurement.end)
    return found


def _is_amount(text: str, part: Part) -> bool:
    number = part.number
    before, after = text[: number.start], text[number.end :]
    if part.unit is not None and part.unit.kind in (UnitKind.TIME, UnitKind.LENGTH):
        return False
    if after.lstrip().startswith(("%", "°", "º")) or re.match(
        r"\s*(?:percent|degrees?|x\s*\d|times?\b|-?(?:inch|cm|mm)\b)", after, re.IGNORECASE
    ):
        return False
    if part.unit is not None and after.startswith("-"):
        return False  # "6-oz. ramekin", "12-ounce can": a size
    if _NUMBERED.search(before) or _RESULT.search(before):
        return False
    if re.search(r"\bin\s+$", before, re.IGNORECASE) and _PORTIONS.match(after):
        return False
    word = text[number.start : number.end].lower()
    if word in ("one", "two") and part.unit is None and (_ONE_AS_PRONOUN.match(after) or _DEFINITE.search(before)):
        return bool(re.match(r"\s+of\b", after)) and not before.endswith("the ")
    if text[number.start : number.end].lower() in ("half", "quarter"):
        return re.search(r"\b(?:in|into|by|other|each|the|first|second|cut)\s+$", before, re.IGNORECASE) is None and not after.startswith(
            "-"
        )
    return True


def _measured(original: str, text: str, part: Part, end: int) -> Measurement | None:
    tokens = parse(original)
    bracket = SIZE_IN_BRACKETS.match(text, end) if part.unit is None else None
    at = _GLUE.match(text, end if bracket is None else bracket.end()).end()  # type: ignore[union-attr]
    if sized := _SIZED.match(text, at):
        at = sized.end()
    # "two 1/2 inch thick rounds": a cut size between the number and the thing.
    for size in find_numbers(text[at : at + 16]):
        sized_part = read_part(text, Number(size.low, size.high, size.style, at + size.start, at + size.end))
        if size.start == 0 and sized_part.unit is not None and sized_part.unit.kind is UnitKind.LENGTH:
            at = re.compile(r"[\s-]*(?:thick|long|wide|sized?)?\s*").match(text, sized_part.end).end()  # type: ignore[union-attr]
        break
    phrase = _phrase_at(original, tokens, at)
    counted = part.unit is None
    if phrase is None:
        if (
            part.unit is not None
            and part.unit.kind in (UnitKind.COUNT, UnitKind.PART)
            and part.unit_span is not None
            and not _preceding(original, tokens, part.start)
        ):
            start, stop = part.unit_span
            if part.unit.name in NOT_INGREDIENTS:
                return None
            return Measurement(
                original[part.number.start : part.number.end],
                original[start:stop],
                part.start,
                part.number.end,
                (start, stop),
                part.unit.name,
                True,
            )
        phrase = _preceding(original, tokens, part.start) if part.unit is not None else None
        if phrase is None:
            return None
    if phrase.head in NOT_INGREDIENTS or (phrase.head in ("it", "them", "this", "these") and counted):
        return None
    start = phrase.start
    if sized := _SIZED.match(text, start):
        start = min(sized.end(), phrase.end)
    ingredient = original[start : phrase.end]
    return Measurement(original[part.start : end].strip(), ingredient, part.start, end, (start, phrase.end), phrase.head, counted)


def _phrase_at(text: str, tokens: tuple[Token, ...], at: int) -> Phrase | None:
    index = next((i for i, token in enumerate(tokens) if token.start >= at), None)
    if index is None or text[at : tokens[index].start].strip():
        return None
    phrase = noun_phrase(text, tokens, index, join=False)
    if phrase is not None and phrase.first == index and tokens[index].lower in ("it", "them"):
        return phrase
    return (
        phrase
        if phrase is not None
        and any(t.is_noun or t.tag in ("FW", "VBZ", "JJ", "VBP", "VB", "NNP") for t in tokens[phrase.first : phrase.after])
        else None
    )


def _preceding(text: str, tokens: tuple[Token, ...], before: int) -> Phrase | None:
    """The thing whose amount follows it: "coffee beans (0.8 oz)", "olive oil, about 1 tablespoon"."""
    if not re.search(r"(?:[(,:]|\babout)\s*(?:about\s+|approximately\s+)?$", text[:before], re.IGNORECASE):
        return None
    last = next((i for i in range(len(tokens) - 1, -1, -1) if tokens[i].end <= before and tokens[i].is_noun), None)
    if last is None:
        return None
    first = last
    while first > 0 and (tokens[first - 1].is_noun or tokens[first - 1].tag in ("JJ", "HYPH", "VBN", "NNP")) and first - 1 > 0:
        first -= 1
    start, end = tokens[first].start, tokens[last].end
    return Phrase(text[start:end], start, end, tokens[last].lemma, first, last + 1)


_CASE: Final = re.compile(r"\b(?:if\b[^.;)]*|(?:every|check(?:ing)?\s+after|after\s+every)\b[^.;,)]*)$", re.IGNORECASE)


def find_timing(instruction: str) -> Duration | None:
    """The time for which the step goes on; None where it states none. Times in an if-clause and "every 30 seconds" are none."""
    text = unlabelled(instruction)
    candidates = []
    for duration in find_durations(text):
        before = text[: duration.start]
        if _CASE.search(before) or re.match(r"-\w", text[duration.end :]) or _is_attribute(text, duration):
            continue
        after = re.search(r"\b(?:after|within|before|first|last)\s+(?:about\s+|the\s+)?$", before, re.IGNORECASE) is not None
        candidates.append((after, duration.start, duration))
    return min(candidates, key=lambda entry: entry[:2])[2] if candidates else None


def _is_attribute(text: str, duration: Duration) -> bool:
    """ "5-minute rice": a kind of thing, not a time to wait."""
    return (
        "-" in re.sub(r"\d\s*-\s*\d", "", duration.text)
        and re.match(r"\s+[a-z]+", text[duration.end :]) is not None
        and re.match(r"\s+(?:or|until|and|then|in|on|at|with|before|more)\b", text[duration.end :]) is None
    )


def find_heat_setting(instruction: str) -> Heat | None:
    """The heat setting or thermal state that the step asks for; None where there is none."""
    text = unlabelled(instruction)
    imperative = read_imperative(instruction)
    words = set(re.findall(r"[a-z]+", text.lower()))
    heating = (
        bool(words & HEATED_THINGS)
        or (imperative is not None and imperative.lemma in HEATING)
        or bool({verb_lemma(w) for w in words} & HEATING)
    )
    found = find_heat(text, heating=heating)
    return found[0] if found else None


def kitchen_item(instruction: str, at: int = 0) -> str | None:
    """The appliance or cooking vessel that the step uses at place ``at``, verbatim without its article."""
    clause = clause_at(instruction, at)
    for text in dict.fromkeys((clause.text, instruction)):
        if (found := _appliance(text)) is not None:
            return found
    imperative = clause.imperative
    if imperative is not None and imperative.item is not None and imperative.item.head in APPLIANCES | COOKING_VESSELS | VESSELS:
        return imperative.item.text
    return None


def _appliance(text: str) -> str | None:
    tokens = parse(text)
    for index, token in enumerate(tokens):
        if token.lower in ("in", "on", "into", "over", "to", "inside", "onto", "from", "the") and index + 1 < len(tokens):
            phrase = noun_phrase(text, tokens, index + 1, join=False)
            if phrase is not None and phrase.head in APPLIANCES | COOKING_VESSELS and not re.match(r"\s*-?\s*safe", text[phrase.end :]):
                return phrase.text
    for token in tokens:
        if token.lower == "microwave" or (token.lower in ("microwaving", "microwaved")):
            return token.text if token.lower == "microwave" else "microwave"
    return None


def food_item(instruction: str, at: int = 0) -> str | None:
    """What is heated at place ``at``: the object of that request, else the thing of its until-clause or of the request before."""
    found = item_at(instruction, at)
    if found is None:
        return None
    item, clause = found
    if item.head in APPLIANCES | COOKING_VESSELS | HEATED_THINGS or item.head in ("setting", "temperature"):
        return None
    measured = [m for m in find_measurements(clause.text) if m.start >= item.start and m.ingredient_span[1] <= item.end]
    return measured[0].ingredient if len(measured) == 1 else item.text


@dataclass(frozen=True)
class Action:
    """A way of doing: ``verb`` with its ``manner`` on ``item``; ``text`` puts verb and manner together."""

    imperative: Imperative
    verb: str
    lemma: str
    verb_span: tuple[int, int]
    manners: tuple[Manner, ...]
    item: str | None

    @property
    def text(self) -> str:
        return " ".join([self.verb, *(manner.text for manner in self.manners)])


_COATERS: Final = words("grease line coat butter oil brush spray wrap cover dredge glaze baste rub dust stuff")


def _manner_of(imperative: Imperative) -> tuple[Manner, ...]:
    kept = []
    for manner in imperative.manners:
        if manner.word == "by" and manner.head != "hand":
            continue
        if manner.word == "applied" and imperative.lemma not in _COATERS:
            continue
        if manner.word == "in" and (imperative.lemma in HEATING - {"melt"} or (manner.head == "microwave" and imperative.lemma != "melt")):
            continue
        if any(other.start <= manner.start and manner.end <= other.end for other in imperative.manners if other is not manner):
            continue
        kept.append(manner)
    return tuple(kept)


def _thing(imperative: Imperative) -> str | None:
    return imperative.item.text if imperative.item is not None else None


def find_technique(instruction: str) -> Action | None:
    """The cooking technique of the step; None for steps that only fetch, wait, set or tidy."""
    imperative = read_imperative(instruction)
    if imperative is None or imperative.is_negative or imperative.lemma in NO_TECHNIQUE:
        return None
    verb = imperative.text[imperative.verb.start : imperative.verb_end]
    if not verb.strip():
        return None
    return Action(
        imperative, verb, imperative.lemma, (imperative.verb.start, imperative.verb_end), _manner_of(imperative), _thing(imperative)
    )


def find_preparation(instruction: str) -> Action | None:
    """How a thing is got ready: a cutting, mixing, coating or shaping verb, a "by ...ing" phrase, or being covered.

    Verbs of placing, fetching and heating are no preparation methods.
    """
    imperative = read_imperative(instruction)
    if imperative is None or imperative.is_negative:
        return None
    for manner in imperative.manners:
        if manner.word == "by" and manner.head not in HEATING and manner.head != "hand":
            gerund = manner.text.split(maxsplit=1)[1]
            start = manner.end - len(gerund)
            return Action(imperative, gerund, manner.head, (start, manner.end), (), _thing(imperative))
    if imperative.lemma in PREPARING:
        verb = imperative.text[imperative.verb.start : imperative.verb_end]
        return Action(
            imperative, verb, imperative.lemma, (imperative.verb.start, imperative.verb_end), _manner_of(imperative), _thing(imperative)
        )
    return _second_action(imperative)


def _second_action(imperative: Imperative) -> Action | None:
    """ "Cook for 3 minutes, stirring in between"; "microwave, covered, for 2 minutes"."""
    tokens = imperative.tokens
    for index in range(imperative.verb_index + 1, len(tokens)):
        token = tokens[index]
        if token.lower in (".", "until", "(") or token.lower == "if":
            break
        if token.lower in ("covered", "uncovered") and imperative.lemma in HEATING:
            return Action(imperative, token.text, token.lower, (token.start, token.end), (), _thing(imperative))
        if tokens[index - 1].tag == "," and token.lower.endswith("ing") and verb_lemma(token.lower) in PREPARING:
            phrase = noun_phrase(imperative.text, tokens, index + 1, join=False)
            end = phrase.end if phrase else token.end
            words = imperative.text[token.start : end]
            if phrase is None:
                stop = next(
                    (
                        i
                        for i in range(index + 1, len(tokens))
                        if tokens[i].tag in (",", ".", "-LRB-") or tokens[i].lower in ("for", "until")
                    ),
                    len(tokens),
                )
                words = imperative.text[token.start : tokens[stop - 1].end]
                end = tokens[stop - 1].end
            return Action(imperative, words, verb_lemma(token.lower), (token.start, end), (), phrase.text if phrase else None)
    return None
