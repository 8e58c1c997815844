"""Pictures for people have the frames asked for and mark the moments."""

import numpy as np

from ml.sample_kitchen.contact_sheet import contact_sheet, intervention_strip
from ml.sample_kitchen.render import render_frames
from ml.sample_kitchen.script import make_recording
from ml.sample_kitchen.world import Behaviour, KitchenSplit


def test_a_sheet_has_a_row_for_each_recording():
    recordings = [make_recording(seed, KitchenSplit.TRAIN) for seed in (1, 2)]
    sheet = contact_sheet(recordings, columns=3, size=64)
    assert sheet.size == (192, 128)
    last = render_frames(recordings[1], [recordings[1].duration_s - 0.3], 64)[0]
    assert np.array_equal(np.asarray(sheet)[64:, 128:], last)


def test_a_strip_marks_the_feedback_in_red_and_the_success_in_green():
    recording = make_recording(3, KitchenSplit.EVALUATION, Behaviour.CORRECTS)
    step = next(step for step in recording.steps if step.mistake)
    strip = np.asarray(intervention_strip(recording, step, columns=5, size=64)).astype(int)
    borders = strip[2]
    assert (np.abs(borders - (196, 40, 40)).sum(axis=1) == 0).sum() >= 60
    assert (np.abs(borders - (28, 130, 70)).sum(axis=1) == 0).sum() >= 60
