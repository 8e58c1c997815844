"""Times that a feedback timestamp may take, and the reading of a plain timestamp reply."""

import math
from typing import Final

from ml.counterfactuals.mistake_rules import Question, on_list
from ml.counterfactuals.reading import Moment, timestamp_fields

SLOT_S: Final = 5.0
SHORTEST_SLOT_S: Final = 1.0


def feedback_slots(clip_start_s: float, clip_end_s: float) -> list[float]:
    """Middles of the 5 s slots of the recording's window grid, cut to the clip; two overlapping windows tell the slot, not the second.

    A first or last slot of which less than 1 s lies in the clip is left out, unless it is the only one.
    """
    first, last = math.floor(clip_start_s / SLOT_S), math.ceil(clip_end_s / SLOT_S)
    parts = [(max(index * SLOT_S, clip_start_s), min((index + 1) * SLOT_S, clip_end_s)) for index in range(first, last)]
    kept = [part for part in parts if part[1] - part[0] >= SHORTEST_SLOT_S] or [part for part in parts if part[1] > part[0]]
    return [round((start + end) / 2, 3) for start, end in kept]


def read_one_moment(reply: str, question: Question) -> Moment:
    """``{"timestamp": t}``: t must be an option inside the clip."""
    moment = timestamp_fields(reply, ("timestamp",))
    if not moment.given:
        return moment
    t_s = moment.given["timestamp"]
    return on_list(t_s, question) or Moment(t_s)
