"""Pictures for people: recordings as rows of frames, and one intervention with what is said when. Not used by any stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ml.sample_kitchen.render import render_frames
from ml.sample_kitchen.script import Recording, Step
from ml.sample_kitchen.wording import feedback_text, instruction_text, success_text
from ml.sample_kitchen.world import Colour

GAP = 4
_INK: Colour = (34, 36, 42)
_RED: Colour = (196, 40, 40)
_GREEN: Colour = (28, 130, 70)


def contact_sheet(recordings: Sequence[Recording], columns: int = 10, size: int = 128) -> Image.Image:
    """A row of `columns` evenly spaced frames for each recording."""
    rows = []
    for recording in recordings:
        times = np.linspace(0.3, recording.duration_s - 0.3, columns)
        rows.append(np.concatenate(list(render_frames(recording, times, size)), axis=1))
    return Image.fromarray(np.concatenate(rows, axis=0))


def intervention_strip(recording: Recording, step: Step, columns: int = 6, size: int = 256) -> Image.Image:
    """One step as frames, with the instruction above and, below, the feedback and the success at the frames they belong to.

    The frame after the moment at which the mistake becomes apparent has a red border, the one after success a green one.
    """
    messages = [(step.start_s, f"Instruction: {instruction_text(step.instruction)}", _INK)]
    if step.mistake:
        messages.append((step.mistake.apparent_s, f"Feedback: {feedback_text(step.instruction, step.performed)}", _RED))
    if step.success_s is not None:
        messages.append((step.success_s, f"Success: {success_text(step.instruction)}", _GREEN))
    times = _frame_times([at_s for at_s, _, _ in messages], step.end_s, columns)
    font = ImageFont.load_default(size=max(10, size // 13))
    line = max(16, size // 9)
    side = size + GAP
    picture = Image.new("RGB", (columns * side + GAP, 2 * GAP + size + line * (len(messages) + 1)), (255, 255, 255))
    draw = ImageDraw.Draw(picture)
    for column, frame in enumerate(render_frames(recording, times, size)):
        picture.paste(Image.fromarray(frame), (GAP + column * side, GAP))
        draw.text((GAP + column * side, 2 * GAP + size), f"{times[column] - step.start_s:.1f} s", _INK, font)
    for row, (at_s, text, colour) in enumerate(messages):
        column = next(i for i, t in enumerate(times) if t >= at_s)
        left = GAP + column * side
        draw.rectangle((left - 2, GAP - 2, left + size + 1, GAP + size + 1), outline=colour, width=3)
        # Text that would run over the right edge ends there.
        width = int(draw.textlength(text, font))
        draw.text((min(left, picture.width - width - GAP), 2 * GAP + size + line * (row + 1)), text, colour, font)
    return picture


def _frame_times(moments: Sequence[float], end_s: float, columns: int) -> list[float]:
    """`columns` ascending times from just after the first moment to the end, each moment followed at once by a frame."""
    wanted = [moment + 0.1 for moment in moments]
    free = max(0, columns - len(wanted))
    even = np.linspace(wanted[0], max(end_s, wanted[-1]), free + 2)[1:-1]
    return sorted([*wanted, *(float(t) for t in even)])[:columns]
