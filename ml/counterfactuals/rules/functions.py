"""The offline backend's answers: task name to a function from inputs to reply text, in the form that a model would give.

Tasks are ``<stage>.<mistake type>``. Nothing here knows of frames, requests or the readers of replies.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from ml.counterfactuals.amounts import change_amount, read_amount
from ml.counterfactuals.durations import change_duration, read_duration
from ml.counterfactuals.editing import apply_edits, pick_by
from ml.counterfactuals.heat import HeatKind, Turn, change_heat, turns
from ml.counterfactuals.lexicon.alternatives import HALVABLE
from ml.counterfactuals.rules import changing, extraction
from ml.counterfactuals.rules.inflection import capitalised_like, mend_articles, plural, singular_like
from ml.counterfactuals.rules.phrases import singular

Inputs = Mapping[str, object]
NONE: Final = "None"


def _text(inputs: Inputs, name: str) -> str:
    value = inputs.get(name)
    return "" if value is None else str(value)


def _reply(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False)


def extract_measurement(inputs: Inputs) -> str:
    """``{"measurements": [{"ingredient", "quantity"}]}`` or None."""
    found = extraction.find_measurements(_text(inputs, "instruction"))
    return _reply({"measurements": [{"ingredient": m.ingredient, "quantity": m.quantity} for m in found]}) if found else NONE


def extract_timing(inputs: Inputs) -> str:
    instruction = _text(inputs, "instruction")
    duration = extraction.find_timing(instruction)
    if duration is None:
        return NONE
    return _reply(
        {
            "kitchen_item": extraction.kitchen_item(instruction, duration.start),
            "amount_of_time": duration.text.rstrip("."),
            "food_item": extraction.food_item(instruction, duration.start),
        }
    )


def extract_temperature(inputs: Inputs) -> str:
    instruction = _text(inputs, "instruction")
    heat = extraction.find_heat_setting(instruction)
    if heat is None:
        return NONE
    food = extraction.food_item(instruction, heat.start)
    item = extraction.kitchen_item(instruction, heat.start)
    if heat.kind is HeatKind.STATE:
        after = instruction[heat.end :].split()
        food = food or (after[0].strip(".,") if after else None)
    return _reply({"kitchen_item": item, "heat_setting": heat.text, "food_item": food})


def extract_technique(inputs: Inputs) -> str:
    action = extraction.find_technique(_text(inputs, "instruction"))
    return NONE if action is None else _reply({"technique": action.text, "item": action.item})


def extract_preparation(inputs: Inputs) -> str:
    """The five fields of the paper's prompt: extraction and proposal are one question for preparation."""
    instruction = _text(inputs, "instruction")
    action = extraction.find_preparation(instruction)
    if action is None:
        return NONE
    return _reply(
        {
            "method": action.text,
            "object": action.item,
            "counterfactual_method": changing.alternative_preparation(instruction),
            "method_duration": None,
            "counterfactual_method_duration": None,
        }
    )


def change_measurement(inputs: Inputs) -> str:
    amount = read_amount(_text(inputs, "quantity"))
    if amount is None:
        return NONE
    smaller = inputs["direction"] == "smaller"
    head = _text(inputs, "ingredient").split()
    halvable = bool(head) and singular(head[-1].lower()) in HALVABLE
    return change_amount(amount, smaller, pick_by(inputs["instruction"], inputs["quantity"], smaller), halvable) or NONE


def change_timing(inputs: Inputs) -> str:
    duration = read_duration(_text(inputs, "amount_of_time"))
    if duration is None:
        return NONE
    smaller = inputs["direction"] == "smaller"
    pick = pick_by(inputs["instruction"], smaller)
    return change_duration(duration, smaller, float(str(inputs["minimum_change_s"])), pick) or NONE


def change_temperature(inputs: Inputs) -> str:
    lower = inputs["direction"] == "lower"
    return change_heat(_text(inputs, "heat_setting"), lower, pick_by(inputs["instruction"], lower)) or NONE


def change_technique(inputs: Inputs) -> str:
    return changing.alternative_technique(_text(inputs, "instruction"), _text(inputs, "technique")) or NONE


def instruct_measurement(inputs: Inputs) -> str:
    """The instruction with the other amount; a thing that is counted agrees with its new number."""
    instruction, quantity, new = _text(inputs, "instruction"), _text(inputs, "quantity"), _text(inputs, "counterfactual_quantity")
    ingredient = _text(inputs, "ingredient")
    found = [m for m in extraction.find_measurements(instruction) if m.quantity == quantity]
    chosen = next((m for m in found if m.ingredient == ingredient), found[0] if found else None)
    if chosen is None:
        return instruction.replace(quantity, new, 1) if quantity and quantity in instruction else NONE
    article = re.search(r"\ban?\s+$", instruction[: chosen.start], re.IGNORECASE)
    is_word = article is not None and instruction[chosen.start : chosen.start + 1].isalpha()  # "a half cup"
    start = article.start() if article is not None and is_word else chosen.start
    edits = [(start, chosen.end, capitalised_like(instruction[start], new))]
    amount = read_amount(new)
    if chosen.counted and amount is not None:
        start, end = chosen.ingredient_span
        words = instruction[start:end]
        first, _, last = words.rpartition(" ")
        inflected = singular_like(last) if amount.high <= 1 else plural(last)
        if start >= chosen.end:
            edits.append((start, end, f"{first} {inflected}".strip()))
    return mend_articles(apply_edits(instruction, edits))


def instruct_timing(inputs: Inputs) -> str:
    return _replaced(inputs, "amount_of_time", "counterfactual_amount_of_time", extraction.find_timing)


# "reduce the heat to", "turn the burner down from high to", right before a setting.
_TURNED_TO: Final = re.compile(
    r"\b(?:(?P<verb>(?:lower|rais|reduc|decreas|increas)(?:e|ing)?|turn\s+(?:up|down))(?P<thing>\s+(?:[a-z'-]+\s+){0,3}?[a-z]+)"
    r"|(?P<turn>turn)(?P<turned>\s+(?:[a-z'-]+\s+){0,3}?[a-z]+)\s+(?:up|down))"
    r"(?:\s+back)?(?:\s+from\s+\S+)?(?P<to>\s+to\s+(?:(?:an?|the|about)\s+)*)$",
    re.IGNORECASE,
)


def instruct_temperature(inputs: Inputs) -> str:
    """The instruction with the other setting. A verb that says the other way gives way: not "reduce the heat to high" but "set"."""
    instruction, wanted = _text(inputs, "instruction"), Turn.DOWN if inputs.get("direction") == "lower" else Turn.UP
    found = extraction.find_heat_setting(instruction)
    replaced = _replaced(inputs, "heat_setting", "counterfactual_heat_setting", extraction.find_heat_setting)
    if found is not None and found.kind is HeatKind.TURN and re.match(r"\s+(?:back\s+)?to\b", instruction[found.end :]):
        return NONE  # "reduce the heat to a simmer": the other way does not lead there
    if found is None or found.kind is HeatKind.TURN or not replaced.startswith(instruction[: found.start]):
        return replaced
    match = _TURNED_TO.search(instruction[: found.start])
    if match is None or wanted in turns(match[0]):
        return replaced
    verb = capitalised_like(match[0], "setting" if match["verb"].endswith("ing") else "set") if match["verb"] else match["turn"]
    return replaced[: match.start()] + verb + (match["thing"] or match["turned"]) + match["to"] + replaced[found.start :]


def _replaced(inputs: Inputs, old: str, new: str, find: Callable[[str], object | None]) -> str:
    instruction, before, after = _text(inputs, "instruction"), _text(inputs, old), _text(inputs, new)
    found = find(instruction)
    start, end = (getattr(found, "start", -1), getattr(found, "end", -1)) if found is not None else (-1, -1)
    if found is None or not instruction[start:end].startswith(before):
        start = instruction.find(before)
        if start < 0 or not before:
            return NONE
    return mend_articles(instruction[:start] + after + instruction[start + len(before) :])


def instruct_technique(inputs: Inputs) -> str:
    return changing.rewrite(_text(inputs, "instruction"), "technique", _text(inputs, "counterfactual_technique")) or NONE


def instruct_preparation(inputs: Inputs) -> str:
    return changing.rewrite(_text(inputs, "instruction"), "preparation", _text(inputs, "counterfactual_method")) or NONE
