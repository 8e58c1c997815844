"""The questions that narrating would ask, without decoding a video: blank pictures of the size that would be sent. For estimates only."""

from collections.abc import Iterable

import numpy as np

from ml.llm.requests import Request
from ml.narration.narrator import FramePlan
from ml.narration.openai_backend import MAX_TOKENS, TASK
from ml.narration.prompts import SYSTEM, narration_request
from ml.video.frames import spaced_times
from ml.video.jpeg import encode_jpegs
from ml.video.windows import make_windows


def blank_requests(recordings: Iterable[tuple[str, float, tuple[int, int]]], plan: FramePlan) -> list[Request]:
    """One request per window of each recording, given as id, duration in s, and upright width and height in px."""
    blanks: dict[tuple[int, int], bytes] = {}
    requests = []
    for recording_id, duration_s, upright in recordings:
        width, height = plan.frame_size(upright)
        if (width, height) not in blanks:
            blanks[width, height] = encode_jpegs(np.zeros((1, height, width, 3), np.uint8))[0]
        for window in make_windows(duration_s):
            times_s = [t_s - window.start_s for t_s in spaced_times(window.start_s, window.end_s, plan.fps, plan.max_frames)]
            prompt = narration_request(times_s, window.end_s - window.start_s)
            key = f"{recording_id} {window.index}"
            images = (blanks[width, height],) * len(times_s)
            # the key stands in the prompt, as pictures would, so that no two windows are one question
            requests.append(Request(key, TASK, {}, SYSTEM, f"{prompt}\n{key}", images=images, max_tokens=MAX_TOKENS))
    return requests
