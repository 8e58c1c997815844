"""The check's offline answers: what amounts, levels and words of both instructions tell. What needs eyes or kitchen sense stays open.

It reads texts with ``ml.comist.difference``, not with the code that made the counterfactuals, so an error there is not repeated here.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

from ml.comist.difference import Signature, differs, signature
from ml.vocabulary import MistakeType

TASK: Final = "check.validity"
HEAT_LEVELS: Final = frozenset({"low", "medium", "high"})
# A bare count may be pieces, rounds or a dial's setting, a length a thickness or a distance: neither settles a type.
DIMENSIONS: Final = {
    "s": MistakeType.TIMING,
    "c": MistakeType.TEMPERATURE,
    "ml": MistakeType.MEASUREMENT,
    "g": MistakeType.MEASUREMENT,
}
T = TypeVar("T", bound=Hashable)
OPEN: Final = "Feasibility is open: it cannot be read off the texts by rule."


def check_validity(inputs: Mapping[str, object]) -> str:
    """Reply of the form that a model gives: ``feasible`` is always null, ``of_type`` null where the texts do not settle it."""
    original, changed = str(inputs["instruction"]), str(inputs["counterfactual_instruction"])
    different = differs(original, changed)
    of_type = _of_type(MistakeType(str(inputs["mistake_type"])), signature(original), signature(changed))
    wrong = []
    if not different:
        wrong.append("Both instructions ask for the same.")
    if of_type is False:
        wrong.append(f"What differs is no {inputs['mistake_type']}.")
    return json.dumps({"different": different, "feasible": None, "of_type": of_type, "why": " ".join([*wrong, OPEN])})


def _of_type(kind: MistakeType, before: Signature, after: Signature) -> bool | None:
    """True where only the amounts of this type differ, False where only those of another type do, None where words must be understood."""
    dimensions = {dimension for dimension, _ in _differing(before.amounts, after.amounts)}
    words = _differing(before.words, after.words)
    settled = {DIMENSIONS[dimension] for dimension in dimensions if dimension in DIMENSIONS}
    if words & HEAT_LEVELS:
        settled.add(MistakeType.TEMPERATURE)
    if kind is MistakeType.MEASUREMENT and "count" in dimensions:
        settled.add(kind)
    if kind in settled:
        return True if len(settled) == 1 else None
    is_open = words - HEAT_LEVELS or dimensions - DIMENSIONS.keys()
    return False if settled and not is_open else None


def _differing(before: Sequence[T], after: Sequence[T]) -> set[T]:
    one, other = Counter(before), Counter(after)
    return {*(one - other), *(other - one)}


def rules() -> Mapping[str, Callable[[Mapping[str, object]], str]]:
    return {TASK: check_validity}


@lru_cache
def rules_hash() -> str:
    """12 hex digits over the source of these rules and of the reading of amounts and words that they rest on."""
    here = Path(__file__)
    digest = hashlib.sha256()
    for path in (here, *(here.parents[1] / "comist" / name for name in ("difference.py", "words.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
