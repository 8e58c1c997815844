"""Writes a Cook-MRE benchmark from clean steps: the clip stays as it is, one element of its instruction is replaced.

Elements that the kitchen's steps have: the verb of cutting, washing and mixing, the ingredient of everything but powders and the tin, the
tool of beating, the place of what goes into the bowl or onto the plate. Verbs and ingredients have a level: a thing of the same kind that
looks alike (hard), or one that does not (easy).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ml.sample_kitchen.plan import Entry
from ml.sample_kitchen.script import Step
from ml.sample_kitchen.wording import instruction_text
from ml.sample_kitchen.world import SEEN_ITEMS, VALUES, Instruction, Kind

FOLDER: Final = "cook_mre"
FILE: Final = "samples.json"
MISTAKES: Final = 60
CORRECT: Final = 20
SAMPLES_PER_CLIP: Final = 2
LEAD_S: Final = 0.2

WriteText = Callable[[Path, str], None]
_Used = dict[tuple[str, int], list[str]]  # instructions given to a clip so far
# What every kind of step says; a step of any other kind is left out.
ELEMENTS: Final[dict[Kind, tuple[str, ...]]] = {
    Kind.CUT: ("verb", "ingredient"),
    Kind.WASH: ("verb", "ingredient"),
    Kind.MIX: ("verb", "ingredient", "location"),
    Kind.BEAT: ("verb", "ingredient", "tool"),
    Kind.PLACE: ("verb", "ingredient", "location"),
    Kind.SCOOP: ("verb", "location"),
}
_PLACES: Final[dict[Kind, tuple[str, tuple[str, ...]]]] = {
    Kind.MIX: ("in the bowl", ("on the plate", "in the pan")),
    Kind.PLACE: ("on the plate", ("in the bowl", "on the board")),
    Kind.SCOOP: ("to the bowl", ("to the plate", "to the pan")),
}
# Other verbs for a step, by level: close in the movement of the hands, or far from it.
_VERBS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "slice": (("dice", "grate"), ("peel", "rinse")),
    "dice": (("slice", "grate"), ("peel", "rinse")),
    "grate": (("slice", "peel"), ("rinse",)),
    "peel": (("grate",), ("rinse", "dice")),
    "rinse": (("peel",), ("slice", "grate")),
    "stir": (("fold",), ()),
    "fold": (("stir",), ()),
}


@dataclass(frozen=True)
class Deviation:
    """One element replaced; ``difficulty`` is None where the element has no levels."""

    element: str
    instruction: str
    difficulty: str | None


def write_cook_mre(folder: Path, entries: Sequence[Entry], write: WriteText) -> None:
    """The sample file: ``MISTAKES`` deviations with their elements in turn, ``CORRECT`` samples, at most two a clip."""
    write(folder / FILE, json.dumps(samples(entries), indent=1, ensure_ascii=False))


def samples(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Records of the file, in the order of the recordings."""
    clips = [(entry, step) for entry in entries for step in entry.recording.steps if step.instruction.kind in ELEMENTS]
    random.Random(f"cook-mre-{len(clips)}").shuffle(clips)
    wanted = ["verb", "ingredient", "tool", "location"]
    used: _Used = {}
    chosen: list[tuple[Entry, Step, Deviation | None]] = []
    for turn in range(MISTAKES):
        element = wanted[turn % len(wanted)]
        found = _next_deviation(clips, used, element, turn // len(wanted))
        if found is not None:
            chosen.append(found)
    for entry, step in clips:
        if sum(deviation is None for _, _, deviation in chosen) == CORRECT:
            break
        taken = used.setdefault((entry.native_id, step.index), [])
        if len(taken) < SAMPLES_PER_CLIP:
            taken.append(instruction_text(step.instruction))
            chosen.append((entry, step, None))
    places = {entry.native_id: place for place, entry in enumerate(entries)}
    chosen.sort(key=lambda one: (places[one[0].native_id], one[1].index))
    return [_record(f"{number:04d}", *one) for number, one in enumerate(chosen, start=1)]


def deviations(step: Step) -> Iterator[Deviation]:
    """Every replacement of one element of a step."""
    asked, text = step.instruction, instruction_text(step.instruction)
    for element in ELEMENTS[asked.kind]:
        match element:
            case "verb":
                for verbs, level in zip(_VERBS.get(str(asked.value), ((), ())), ("hard", "easy"), strict=True):
                    for verb in verbs:
                        yield Deviation(element, text.replace(str(asked.value).capitalize(), verb.capitalize(), 1), level)
            case "ingredient":
                for item, level in _other_items(asked):
                    yield Deviation(element, text.replace(asked.item, item), level)
            case "tool":
                for tool in VALUES[Kind.BEAT]:
                    if tool != asked.value:
                        yield Deviation(element, text.replace(f"a {asked.value}", f"a {tool}"), None)
            case _:
                place, others = _PLACES[asked.kind]
                for other in others:
                    yield Deviation(element, text.replace(place, other), None)


def _other_items(asked: Instruction) -> Iterator[tuple[str, str]]:
    """Items of the same kind: the two nearest in colour are hard, the two farthest easy."""
    group = SEEN_ITEMS[asked.kind]
    if asked.item not in group:
        return
    own = group[asked.item]

    def distance(item: str) -> int:
        return sum((a - b) ** 2 for a, b in zip(group[item], own, strict=True))

    others = sorted((item for item in group if item != asked.item), key=distance)
    for place, item in enumerate(others):
        if place < 2 or place >= len(others) - 2:
            yield item, "hard" if place < 2 else "easy"


def _next_deviation(clips: Sequence[tuple[Entry, Step]], used: _Used, element: str, turn: int) -> tuple[Entry, Step, Deviation] | None:
    """The first clip that still has room and this element, as no earlier sample has it; levels take turns. None where no clip has."""
    level = ("hard", "easy")[turn % 2]
    for is_any_level in (False, True):
        for entry, step in clips:
            taken = used.setdefault((entry.native_id, step.index), [])
            if len(taken) >= SAMPLES_PER_CLIP:
                continue
            fitting = [d for d in deviations(step) if d.element == element and d.instruction not in taken]
            fitting = [d for d in fitting if is_any_level or d.difficulty in (level, None)]
            if fitting:
                deviation = fitting[(turn // 2) % len(fitting)]
                taken.append(deviation.instruction)
                return entry, step, deviation
    return None


def _record(sample_id: str, entry: Entry, step: Step, deviation: Deviation | None) -> dict[str, Any]:
    original = instruction_text(step.instruction)
    return {
        "sample_id": sample_id,
        "video": Path(entry.video).name,
        "start_time": round(max(0.0, step.start_s - LEAD_S), 3),
        "end_time": step.end_s,
        "instruction": original if deviation is None else deviation.instruction,
        "class": "correct" if deviation is None else "mistake",
        "element": None if deviation is None else deviation.element,
        "original_description": original,
        "difficulty": None if deviation is None else deviation.difficulty,
        "elements": list(ELEMENTS[step.instruction.kind]),
    }
