"""What video language models are asked for a window. Wording only: how frames are sent belongs to the backends.

The focus follows EGO-CoMist (section 4.2): what the hands do with which objects, since that is what gives a mistake away. Counts, tools,
heat levels and timers are asked for by name because the five mistake types turn on them.
"""

from collections.abc import Sequence

from ml.tables.store import fingerprint

SYSTEM = (
    "You are given still pictures of one short stretch of a video of a person who cooks, seen through their own eyes or from above. "
    "You write down what their hands do, for a reader who cannot see the video and has to judge each action."
)
REQUEST = """The pictures above are in time order and cover {length_s:.1f} seconds. {times}

Write one to four plain sentences on what the person does with their hands, in the order it happens. Say, wherever it can be seen:
- the object that each hand takes, holds, moves or puts down, and where it goes;
- how often something is repeated: the number of scoops, cups, spoons, slices, strokes or pieces, and whether one more is just being begun;
- the tool in use, and the way it is used (for example sliced or diced, stirred or folded, grated or peeled);
- a knob being turned and the heat level it then shows, and the size of the flame;
- a timer being set or read, with the figures that it shows.

Write only what the pictures show. Do not guess what comes before or after, name no recipe, and give no opinion on whether it is right. \
If the hands do nothing, say so. Do not mention pictures, frames or the times given above."""


def picture_times(times_s: Sequence[float]) -> str:
    """A sentence with the true time of each picture, in s from the start of the stretch. Pictures need not be evenly spaced."""
    listed = ", ".join(f"picture {index} at {t_s:.1f} s" for index, t_s in enumerate(times_s, start=1))
    return f"Seconds count from the start of the stretch: {listed}."


def narration_request(times_s: Sequence[float], length_s: float) -> str:
    """The request for a stretch of ``length_s`` with pictures at ``times_s`` (from its start)."""
    return REQUEST.format(length_s=length_s, times=picture_times(times_s))


def prompts_hash() -> str:
    """Changes when any wording here does, so that what was made with older wording can be told apart."""
    return fingerprint(SYSTEM, REQUEST, picture_times([0.0, 0.5]))
