"""When a counterfactual mistake becomes apparent in narrated windows, by rule: the finder of its type, and its answer as a model gives it.

After the paper's section H.2, with the plain field as what the person does and the counterfactual one as what is asked.
"""

import json
from collections.abc import Callable
from typing import Final

from ml.counterfactuals.rules.adding_moments import find_measurement
from ml.counterfactuals.rules.cooking_moments import find_timing
from ml.counterfactuals.rules.heating_moments import find_temperature
from ml.counterfactuals.rules.mentions import Inputs
from ml.counterfactuals.rules.timeline import Timeline, read_windows
from ml.counterfactuals.rules.working_moments import find_way

_FINDERS: Final[dict[str, Callable[[Inputs, Timeline], float | None]]] = {
    "measurement": find_measurement,
    "preparation": find_way,
    "technique": find_way,
    "temperature": find_temperature,
}


def timestamp_answer(inputs: Inputs) -> str:
    """``{"timestamp": t}``, for timing ``{"start_timestamp": t, "critical_timestamp": t}``, or None where it never shows."""
    windows = read_windows(inputs["narrations"])
    options = inputs["options"]
    assert isinstance(options, list | tuple)
    timeline = Timeline(
        tuple(windows), tuple(sorted(float(o) for o in options)), float(str(inputs["clip_start_s"])), float(str(inputs["clip_end_s"]))
    )
    if not windows or not options:
        return "None"
    kind = str(inputs["mistake_type"])
    if kind == "timing":
        found = find_timing(inputs, timeline)
        return "None" if found is None else json.dumps({"start_timestamp": found[0], "critical_timestamp": found[1]})
    at = _FINDERS[kind](inputs, timeline)
    return "None" if at is None else json.dumps({"timestamp": at})
