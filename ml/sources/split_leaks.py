"""Where two splits of one dataset disagree: what is held out by one is trained on by the other. Reported, never mended."""

from collections.abc import Mapping

from ml.sources.imported import SPLIT_LEAK, Problems, natural_key
from ml.vocabulary import Split

RULE = "splits come from the chosen file alone; do not score on it what was tuned on the other"


def report_split_leaks(
    problems: Problems, name: str, ours: Mapping[str, Split], other_name: str, theirs: Mapping[str, Split], *, what: str = "recordings"
) -> None:
    """One problem for each part of the other split (train, validation) that holds test ids of ours.

    Where ours holds out no test part, its validation part stands for it.
    """
    held_out = Split.TEST if Split.TEST in ours.values() else Split.VALIDATION
    held = {native_id for native_id, split in ours.items() if split is held_out}
    for part in (Split.TRAIN, Split.VALIDATION):
        leaked = sorted((native_id for native_id in held if theirs.get(native_id) is part and part is not held_out), key=natural_key)
        if leaked:
            few = ", ".join(leaked[:5]) + (" ..." if len(leaked) > 5 else "")
            detail = f"{len(leaked)} of {len(held)} {held_out} {what} of {name} are in {part} of {other_name}: {few}"
            problems.add(SPLIT_LEAK, detail, RULE)
