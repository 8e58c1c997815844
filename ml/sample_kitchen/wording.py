"""All sentences of the sample kitchen: instructions, narrations, feedback, success. Times and truth are elsewhere."""

from __future__ import annotations

from typing import Final

from ml.sample_kitchen.world import Instruction, Kind, unit_of

THIRD: Final[dict[str, str]] = {
    "slice": "slices",
    "dice": "dices",
    "grate": "grates",
    "stir": "stirs",
    "fold": "folds",
    "peel": "peels",
    "rinse": "rinses",
}
ING: Final[dict[str, str]] = {
    "slice": "slicing",
    "dice": "dicing",
    "grate": "grating",
    "stir": "stirring",
    "fold": "folding",
    "peel": "peeling",
    "rinse": "rinsing",
    "grease": "greasing",
    "line": "lining",
}
DONE: Final[dict[str, str]] = {
    "slice": "sliced",
    "dice": "diced",
    "grate": "grated",
    "stir": "stirred",
    "fold": "folded",
    "peel": "peeled",
    "rinse": "rinsed",
    "grease": "greased",
    "line": "lined",
}
FINISH_ALL: Final = "You have finished all the steps."
WAITS: Final = "The person waits."


def plural(count: int, noun: str) -> str:
    """`1 scoop`, `2 scoops`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def portion(instruction: Instruction) -> str:
    """`3 scoops of cocoa`, `1 slice of ham`."""
    noun = unit_of(instruction.item) if instruction.kind is Kind.SCOOP else "slice"
    return f"{plural(int(instruction.value), noun)} of {instruction.item}"


def verb(instruction: Instruction) -> str:
    """The capitalised verb that CaptainCook4D writes before a step text."""
    return instruction_text(instruction).split()[0]


def instruction_text(instruction: Instruction) -> str:
    """The instruction as a recipe would say it."""
    item, value = instruction.item, instruction.value
    match instruction.kind:
        case Kind.SCOOP:
            return f"Add {portion(instruction)} to the bowl."
        case Kind.PLACE:
            return f"Put {portion(instruction)} on the plate."
        case Kind.BEAT:
            return f"Beat the {item} with a {value}."
        case Kind.TIN:
            return "Grease the tin with butter." if value == "grease" else "Line the tin with paper."
        case Kind.WASH | Kind.CUT:
            return f"{str(value).capitalize()} the {item}."
        case Kind.MIX:
            return f"{str(value).capitalize()} the {item} in the bowl."
        case Kind.KNOB:
            return f"Turn the burner to {value}."
        case Kind.COOK:
            return f"Cook the {item} for {value} seconds."


def feedback_text(asked: Instruction, done: Instruction) -> str:
    """What an observer says when the person does `done` although `asked` was the instruction: what is wrong, what was asked."""
    item = asked.item
    match asked.kind:
        case Kind.SCOOP | Kind.PLACE:
            verb_past, verb_now = ("added", "add") if asked.kind is Kind.SCOOP else ("put down", "put down")
            if int(done.value) > int(asked.value):
                return f"You {verb_past} more than {portion(asked)}, {verb_now} only {asked.value}."
            return f"You {verb_past} only {portion(done)}, {verb_now} {asked.value}."
        case Kind.BEAT:
            return f"You are using a {done.value}, use a {asked.value} to beat the {item}."
        case Kind.TIN:
            remedy = "grease it with butter" if asked.value == "grease" else "line it with paper"
            return f"You are {ING[str(done.value)]} the tin, {remedy} instead."
        case Kind.WASH | Kind.CUT | Kind.MIX:
            return f"You are {ING[str(done.value)]} the {item}, {asked.value} it instead."
        case Kind.KNOB:
            return f"You turned the burner to {done.value}, turn it to {asked.value}."
        case Kind.COOK:
            if int(done.value) > int(asked.value):
                return f"You are cooking the {item} longer than {asked.value} seconds, take it off now."
            return f"You took the {item} off too early, cook it for {asked.value} seconds."


def success_text(instruction: Instruction) -> str:
    """What an observer says when the step is done as asked."""
    item, value = instruction.item, instruction.value
    match instruction.kind:
        case Kind.SCOOP:
            return f"Good, {portion(instruction)} {'is' if value == 1 else 'are'} in the bowl."
        case Kind.PLACE:
            return f"Good, {portion(instruction)} {'is' if value == 1 else 'are'} on the plate."
        case Kind.BEAT:
            return f"Good, the {item} {'are' if item.endswith('s') else 'is'} beaten."
        case Kind.TIN | Kind.WASH | Kind.CUT | Kind.MIX:
            return f"Good, the {item} is {DONE[str(value)]}."
        case Kind.KNOB:
            return f"Good, the burner is on {value}."
        case Kind.COOK:
            return f"Good, the {item} cooked for {value} seconds."


def goalstep_text(instruction: Instruction) -> str:
    """The step as Goal-Step annotators write it: lower case, no full stop."""
    text = instruction_text(instruction).rstrip(".")
    return text[0].lower() + text[1:]


def unit_phrase(instruction: Instruction) -> str:
    """`a scoop`, `a slice`: one measure of what is counted."""
    return f"a {unit_of(instruction.item) if instruction.kind is Kind.SCOOP else 'slice'}"
