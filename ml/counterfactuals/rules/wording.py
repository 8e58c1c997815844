"""One-line feedback: what is wrong and what was asked, said to the person. The plain field is what the person does."""

import re
from collections.abc import Mapping
from typing import Final

from ml.counterfactuals.amounts import read_amount
from ml.counterfactuals.heat import HeatKind, read_heat
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.changing import in_progress, split_way
from ml.counterfactuals.rules.clauses import clause_at
from ml.counterfactuals.rules.extraction import find_timing
from ml.counterfactuals.rules.imperatives import Imperative
from ml.counterfactuals.rules.inflection import plural, singular_like
from ml.counterfactuals.rules.parsing import unlabelled

Inputs = Mapping[str, object]
_WITH_SETTING: Final = frozenset({"microwave", "oven", "stove", "burner", "hob", "grill", "toaster", "knob", "dial", "griddle", "fryer"})
TIMERS: Final = words("timer alarm clock")
_PLURAL_WORDS: Final = words("them these those everything")


def _text(inputs: Inputs, name: str) -> str:
    value = inputs.get(name)
    return "" if value is None else str(value)


def _amount_of(quantity: str, ingredient: str) -> str:
    """``3 scoops of cocoa``, ``2 eggs``."""
    amount, quantity = read_amount(quantity), _lowered(quantity)
    if not ingredient:
        return quantity
    if amount is not None and amount.parts[0].unit is None:
        first, _, last = ingredient.rpartition(" ")
        last = singular_like(last) if amount.high <= 1 else plural(last)
        return f"{quantity} {first} {last}".replace("  ", " ")
    return f"{quantity} of {ingredient}"


def measurement_feedback(inputs: Inputs) -> str:
    used, asked, ingredient = _text(inputs, "quantity"), _text(inputs, "counterfactual_quantity"), _text(inputs, "ingredient")
    if inputs["direction"] == "smaller":
        return f"You are using more than {_amount_of(asked, ingredient)}, use only {asked}."
    return f"You used only {_amount_of(used, ingredient)}, use {asked}."


def _timed(inputs: Inputs) -> Imperative | None:
    """The request that the time belongs to."""
    instruction = _text(inputs, "instruction")
    duration = find_timing(instruction)
    return clause_at(instruction, duration.start if duration is not None else 0).imperative


def timing_feedback(inputs: Inputs) -> str:
    asked, used, food = _text(inputs, "counterfactual_amount_of_time"), _text(inputs, "amount_of_time"), _text(inputs, "food_item")
    timed = _timed(inputs)
    verb = timed.lemma if timed is not None else "cook"
    if timed is not None and timed.item is not None and timed.item.head in TIMERS:
        much = "more than" if inputs["direction"] == "smaller" else "only"
        return f"You set {the(timed.item.text)} to {much} {asked if much != 'only' else used}, set it to {asked}."
    is_caused = timed is not None and timed.is_caused
    if is_caused or verb in ("wait", "let", "allow", "sit", "leave", "bloom", "stand", "rest"):
        thing = the(food) if food else "it"
        if inputs["direction"] == "smaller":
            return f"You are waiting longer than {asked}, go on now."
        return f"You waited only {used}, let {thing} {verb if is_caused else 'stand'} for {asked}."
    thing = f" {the(food)}" if food else ""
    again = _pronoun(food) if food else ""
    if inputs["direction"] == "smaller":
        return f"You are {in_progress(verb)}{thing} longer than {asked}, stop now."
    return f"You did not {verb}{thing} long enough, {verb} {again} for {asked}.".replace("  ", " ")


def temperature_feedback(inputs: Inputs) -> str:
    used, asked = _text(inputs, "heat_setting"), _text(inputs, "counterfactual_heat_setting")
    heat = read_heat(used)
    if heat is not None and heat.kind is HeatKind.STATE:
        noun = _state_noun(_text(inputs, "instruction"), used) or _text(inputs, "food_item") or "water"
        return f"You are using {used.lower()} {noun}, use {asked.lower()} {noun} instead."
    if heat is not None and heat.kind is HeatKind.TURN:
        return f"You did it the wrong way round: {asked[:1].lower()}{asked[1:]}."
    item = _text(inputs, "kitchen_item")
    if not item or item.lower().split()[-1] not in _WITH_SETTING:
        item = "heat"
    return f"You set {the(item.lower())} to {bare_setting(used)}, set it to {bare_setting(asked)}."


def bare_setting(setting: str) -> str:
    """``low heat`` as ``low``; degrees and dial settings stay."""
    return re.sub(r"\s+(?:heat|power|flame|temperature|setting|temp)$", "", setting.strip(), flags=re.IGNORECASE)


def _state_noun(instruction: str, state: str) -> str | None:
    match = re.search(rf"\b{re.escape(state)}\s+((?:running\s+|tap\s+)?[a-z]+)", instruction, re.IGNORECASE)
    return match[1] if match else None


def technique_feedback(inputs: Inputs) -> str:
    return _way_feedback(inputs, _text(inputs, "technique"), _text(inputs, "counterfactual_technique"), _text(inputs, "item"))


def preparation_feedback(inputs: Inputs) -> str:
    return _way_feedback(inputs, _text(inputs, "method"), _text(inputs, "counterfactual_method"), _text(inputs, "object"))


def _way_feedback(inputs: Inputs, used: str, asked: str, thing: str) -> str:
    if asked in ("covered", "uncovered"):
        left = the(thing) if thing else "it"
        return f"You left {left} {used.lower()}, {'they' if _pronoun(thing) == 'them' else 'it'} should be {asked}."
    thing = _short(thing)
    used_verb, used_manner = split_way(_lowered(used))
    asked_verb, asked_manner = split_way(_lowered(asked))
    doing = in_progress(used_verb)
    if asked_verb.split()[0].endswith("ing"):
        return f"You are {in_progress(_lowered(used))}, you should be {asked}."
    now = " ".join(part for part in (doing, the(thing) if thing else "", used_manner or "") if part)
    then = " ".join(part for part in (asked_verb, _pronoun(thing), asked_manner or "") if part)
    return f"You are {now}, {then} instead."


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _short(thing: str) -> str:
    """Without the amount: "2 tbsp cilantro" is "cilantro" in feedback on how it is cut."""
    from ml.counterfactuals.rules.extraction import find_measurements

    found = find_measurements(f"Take {thing}") if thing and unlabelled(thing) else []
    if len(found) == 1 and found[0].ingredient in thing:
        return found[0].ingredient
    return thing


def the(thing: str) -> str:
    """``thing`` with "the", unless it has a determiner or is a pronoun."""
    if re.match(r"\d[\d./]*-[a-z]", thing):
        return f"the {thing}"
    if re.match(r"(?:the|a|an|your|it|them|this|that|all|both|each|everything|\d|one|two|three|half)\b", thing, re.IGNORECASE):
        return thing
    return f"the {thing}"


def _pronoun(thing: str) -> str:
    if not thing:
        return "it"
    last = thing.lower().split()[-1]
    if last in _PLURAL_WORDS or (last.endswith("s") and not last.endswith(("ss", "us", "is"))) or " and " in thing:
        return "them"
    return "it"
