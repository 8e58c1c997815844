"""The questions that narrating would ask, without decoding a video: blank pictures of the size that would be sent. For estimates only."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ml.llm.images import ImageLimits
from ml.llm.requests import Request
from ml.narration.narrator import FramePlan
from ml.narration.openai_backend import window_requests
from ml.video.frames import spaced_times
from ml.video.jpeg import encode_jpegs
from ml.video.windows import make_windows


def blank_requests(recordings: Iterable[tuple[str, float, tuple[int, int]]], plan: FramePlan, limits: ImageLimits | None) -> list[Request]:
    """The requests for the windows of each recording, given as id, duration in s, and upright width and height in px."""
    blanks: dict[tuple[int, int], bytes] = {}
    requests = []
    for recording_id, duration_s, upright in recordings:
        width, height = plan.frame_size(upright)
        if (width, height) not in blanks:
            blanks[width, height] = encode_jpegs(np.zeros((1, height, width, 3), np.uint8))[0]
        for window in make_windows(duration_s):
            times_s = [t_s - window.start_s for t_s in spaced_times(window.start_s, window.end_s, plan.fps, plan.max_frames)]
            images = (blanks[width, height],) * len(times_s)
            for one in window_requests(f"{recording_id} {window.index}", times_s, window.end_s - window.start_s, images, limits):
                # the key stands in the prompt, as pictures would, so that no two windows are one question
                requests.append(replace(one, prompt=f"{one.prompt}\n{one.key}"))
    return requests
