"""When a counterfactual mistake becomes apparent in narrated windows, by rule: an answer in the form of a model's for each type.

After the paper's section H.2, with the plain field as what the person does and the counterfactual one as what is asked.
"""

import json
from collections.abc import Callable

from ml.counterfactuals.rules.adding_moments import find_measurement
from ml.counterfactuals.rules.cooking_moments import find_timing
from ml.counterfactuals.rules.heating_moments import find_temperature
from ml.counterfactuals.rules.mentions import Inputs
from ml.counterfactuals.rules.timeline import Timeline, read_windows
from ml.counterfactuals.rules.working_moments import find_way


def timestamp_measurement(inputs: Inputs) -> str:
    return _one_moment(find_measurement, inputs)


def timestamp_way(inputs: Inputs) -> str:
    """Of preparation and technique."""
    return _one_moment(find_way, inputs)


def timestamp_temperature(inputs: Inputs) -> str:
    return _one_moment(find_temperature, inputs)


def timestamp_timing(inputs: Inputs) -> str:
    """``{"start_timestamp": t, "critical_timestamp": t}``, or None where it never shows."""
    timeline = _timeline(inputs)
    found = None if timeline is None else find_timing(inputs, timeline)
    return "None" if found is None else json.dumps({"start_timestamp": found[0], "critical_timestamp": found[1]})


def _one_moment(find: Callable[[Inputs, Timeline], float | None], inputs: Inputs) -> str:
    """``{"timestamp": t}``, or None where it never shows."""
    timeline = _timeline(inputs)
    at = None if timeline is None else find(inputs, timeline)
    return "None" if at is None else json.dumps({"timestamp": at})


def _timeline(inputs: Inputs) -> Timeline | None:
    """The clip's windows and options; None where either is empty."""
    windows = read_windows(inputs["narrations"])
    options = inputs["options"]
    assert isinstance(options, list | tuple)
    if not windows or not options:
        return None
    ordered = tuple(sorted(float(o) for o in options))
    return Timeline(tuple(windows), ordered, float(str(inputs["clip_start_s"])), float(str(inputs["clip_end_s"])))
