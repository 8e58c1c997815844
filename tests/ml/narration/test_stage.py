from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.narration.narrator import FramePlan
from ml.narration.stage import ToNarrate, mark_repeats, narrate_recording, narrate_recordings
from ml.tables.declarations.recordings import NARRATIONS
from ml.tables.declarations.sources import IMPORTED_NARRATIONS
from ml.video.probe import probe_video
from ml.vocabulary import Status
from tests.ml.narration.narrators import NumberReader
from tests.ml.video.films import make_film

ID = "raw_videos/film"


def never() -> NumberReader:
    raise AssertionError("the narrator must not be made")


def imported(*rows: tuple[float, float, str]) -> pl.DataFrame:
    return IMPORTED_NARRATIONS.rows(
        [
            {"recording_id": ID, "annotator": "pass_1", "narration_index": k, "start_s": a, "end_s": b, "text": text}
            for k, (a, b, text) in enumerate(rows)
        ]
    )


def test_windows_reach_the_end_and_hold_their_own_frames(tmp_path):
    path = make_film(tmp_path / "a.mp4", 220, 10)
    narrator = NumberReader()
    rows = NARRATIONS.check(narrate_recording(ID, path, 22.0, lambda: narrator))
    assert rows["end_s"].to_list() == [10, 15, 20, 22]
    assert rows["text"].to_list() == [
        " ".join(str(10 * s) for s in range(start, end)) for start, end in ((0, 10), (5, 15), (10, 20), (15, 22))
    ]
    assert set(rows["narrator"]) == {"test/number-reader"}
    assert narrator.calls == [[0, 1], [2, 3]]
    assert narrator.shapes == {(48, 80, 3)}


def test_no_window_past_the_decodable_length(tmp_path):
    path = make_film(tmp_path / "a.mp4", 600, 20, key_interval=20, container_options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    decodable_s = probe_video(path, ID)["decodable_s"][0]
    assert decodable_s < 20
    rows = narrate_recording(ID, path, decodable_s, NumberReader)
    assert set(rows["status"]) == {"ok"}
    assert rows["end_s"][-1] == decodable_s


def test_a_failed_window_is_a_row(tmp_path):
    path = make_film(tmp_path / "a.mp4", 200, 10)
    rows = NARRATIONS.check(narrate_recording(ID, path, 20.0, lambda: NumberReader(fails_at=frozenset({1}))))
    assert rows["status"].to_list() == ["ok", "error", "ok"]
    assert rows["reason"].to_list() == [None, "asked to fail", None]


def test_window_without_frames_is_skipped_without_a_call(tmp_path):
    path = make_film(tmp_path / "a.mp4", 50, 10)
    narrator = NumberReader()
    rows = narrate_recording(ID, path, 20.0, lambda: narrator)
    assert rows["status"].to_list() == ["ok", "skipped", "skipped"]
    assert narrator.calls == [[0]]


def test_file_that_does_not_open_gives_rows_with_the_reason(tmp_path):
    path = tmp_path / "a.mp4"
    path.write_bytes(b"nothing")
    narrator = NumberReader()
    rows = narrate_recording(ID, path, 12.0, lambda: narrator)
    assert rows["status"].to_list() == ["bad_video", "bad_video"]
    assert "cannot be opened" in rows["reason"][0]
    assert narrator.calls == []


@pytest.mark.parametrize(
    ("recording", "told"),
    [
        (ToNarrate(ID, None, 30.0, None, Status.NO_VIDEO, "no video file"), (0.0, 30.0, "no_video", "no video file")),
        (ToNarrate(ID, None, None), (0.0, 0.0, "no_video", "no video file, and the dataset has no narrations")),
        (ToNarrate(ID, Path("cut.mp4"), None, None, Status.BAD_VIDEO, "moov atom"), (0.0, 0.0, "bad_video", "moov atom")),
        (ToNarrate(ID, Path("a.mp4"), 0.0), (0.0, 0.0, "empty", "the video has no length and the dataset has no narrations")),
    ],
)
def test_a_recording_that_nobody_can_narrate_is_one_row_that_says_why(recording, told):
    rows = NARRATIONS.check(narrate_recordings([recording], never)[ID])
    assert rows.select("start_s", "end_s", "status", "reason").rows() == [told]
    assert rows["text"].to_list() == [None]


def test_the_dataset_narrates_first(tmp_path):
    rows = narrate_recording(ID, tmp_path / "absent.mp4", 20.0, never, imported=imported((1.0, 4.0, "takes a cup"), (12.0, 14.0, "stirs.")))
    assert NARRATIONS.check(rows)["text"].to_list() == ["takes a cup.", "stirs.", "stirs."]
    assert set(rows["narrator"]) == {"dataset/pass_1"}


def test_the_dataset_narrates_without_any_length_known():
    rows = narrate_recording(ID, None, None, never, imported=imported((1.0, 4.0, "takes a cup"), (12.0, 14.0, "stirs.")))
    assert rows["end_s"][-1] == 14.0


def test_portrait_film_is_read_unstretched(tmp_path):
    path = make_film(tmp_path / "a.mp4", 20, 10, width=96, height=160, stored_turns=1, rotation=-90)
    narrator = NumberReader(FramePlan(1.0, (80, 48)))
    narrate_recording(ID, path, 2.0, lambda: narrator)
    assert narrator.shapes == {(80, 48, 3)}
    square = NumberReader(FramePlan(1.0, (64, 64), keeps_shape=False))
    narrate_recording(ID, path, 2.0, lambda: square)
    assert square.shapes == {(64, 64, 3)}


def test_times_count_from_the_window(tmp_path):
    path = make_film(tmp_path / "a.mp4", 150, 10, skip_frames=frozenset(set(range(150)) - {0, 40, 100}))
    narrator = NumberReader()
    narrate_recording(ID, path, 15.0, lambda: narrator)
    assert narrator.times_s == [[0.0, 4.0], [0.0, 5.0]]


def test_repetition_of_one_sentence_is_flagged():
    assert mark_repeats(["stirs"] * 12) == [False] + [True] * 11
    assert mark_repeats(["a", "b", "B ", "b", "c", "c", None, "c"]) == [False, False, True, True, False, False, False, False]


@given(st.lists(st.sampled_from(["a", "b", None]), max_size=30))
def test_repeats_are_runs_of_three_or_more(texts):
    for index, is_repeat in enumerate(mark_repeats(texts)):
        same_before = index > 0 and texts[index] is not None and texts[index - 1] == texts[index]
        first = last = index
        while first > 0 and texts[first - 1] == texts[index]:
            first -= 1
        while last + 1 < len(texts) and texts[last + 1] == texts[index]:
            last += 1
        assert is_repeat == (same_before and last - first >= 2)
