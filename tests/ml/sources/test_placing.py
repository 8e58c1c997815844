import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.sources.imported import StepDraft, number_steps
from ml.sources.placing import place_recording, place_steps
from ml.tables.declarations.recordings import VIDEO_PROBE
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Status


def recording(**values):
    row = {
        "recording_id": "s/1",
        "source": "s",
        "native_id": "1",
        "licence": "x",
        "video_path": "/v/1.mp4",
        "annotated_duration_s": 379.61,
        "members": [],
        "status": "ok",
    }
    return IMPORTED_RECORDINGS.rows([row | values])


def probe(**values):
    return VIDEO_PROBE.rows([{"recording_id": "s/1", "status": "ok", "decodable_s": 380.0} | values])


def steps(*rows):
    return IMPORTED_STEPS.rows(number_steps("s/1", [StepDraft(str(i), "stir", start, end) for i, (start, end) in enumerate(rows)]))


def placed(rows, **values):
    return place_steps(steps(*rows), place_recording(recording(**values), None))


def test_length_comes_from_the_video():
    row = place_recording(recording(), probe()).row(0, named=True)
    assert (row["duration_s"], row["video_status"], row["status"], row["reason"]) == (380.0, "ok", "ok", None)


def test_without_video_the_text_stages_run():
    row = place_recording(recording(video_path=None), None).row(0, named=True)
    assert (row["duration_s"], row["video_status"], row["status"], row["reason"]) == (379.61, "no_video", "ok", "no video file")


def test_a_joined_recording_says_what_is_missing():
    members = [{"video_uid": "a", "offset_s": 0.0}, {"video_uid": "b", "offset_s": 9.0}]
    row = place_recording(recording(video_path=None, members=members), None).row(0, named=True)
    assert row["reason"] == "no file joins its 2 videos"


def test_a_bad_video_is_a_row_with_a_reason():
    row = place_recording(recording(), probe(status="bad_video", decodable_s=None, reason="moov atom not found")).row(0, named=True)
    assert (row["duration_s"], row["video_status"], row["reason"]) == (379.61, "bad_video", "moov atom not found")


def test_the_status_of_the_import_stays():
    row = place_recording(recording(status="waiting", reason="no recipe"), probe()).row(0, named=True)
    assert (row["status"], row["reason"], row["video_status"]) == ("waiting", "no recipe", "ok")


def test_probe_of_another_recording():
    with pytest.raises(InputError, match="s/2"):
        place_recording(recording(), probe(recording_id="s/2"))


def test_rounding_is_clamped_and_excess_is_reported():
    frame = placed([(370.0, 379.612567), (371.0, 384.61), (379.65, 379.66), (400.0, 410.0)])
    assert frame["end_s"].to_list() == [379.61, 384.61, 379.66, 410.0]
    assert frame["status"].to_list() == ["ok", "out_of_clip", "out_of_clip", "out_of_clip"]
    assert "reaches 5.000 s past the video, which ends at 379.610 s" in frame["reason"][1]
    assert frame["is_clean"].to_list() == [True, False, False, False]


def test_negative_starts_never_survive():
    frame = placed([(-1.0, 5.0), (-0.02, 5.0)])
    assert frame["start_s"].to_list() == [0.0, None]
    assert frame["status"].to_list() == ["ok", "contradiction"]


def test_without_any_length_times_are_left_alone():
    assert placed([(0.0, 9e6)], annotated_duration_s=None)["status"].to_list() == ["ok"]


def test_an_earlier_status_stays_and_the_reason_grows():
    imported = steps((370.0, 390.0)).with_columns(status=pl.lit("contradiction"), reason=pl.lit("odd"))
    row = place_steps(imported, place_recording(recording(), None)).row(0, named=True)
    assert row["status"] == "contradiction"
    assert row["reason"].startswith("odd; reaches")


def test_steps_of_another_recording():
    with pytest.raises(InputError, match=r"s/1, not to s/2"):
        place_steps(steps((0.0, 1.0)), place_recording(recording(recording_id="s/2"), None))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.none(), st.none()) | st.tuples(st.floats(-2, 500), st.floats(0.01, 60)).map(lambda t: (t[0], t[0] + t[1])), max_size=15
    )
)
def test_every_step_comes_out_on_the_time_line_or_with_a_reason(rows):
    frame = placed(rows)
    assert frame.height == len(rows)
    assert set(frame["step_uid"]) == set(steps(*rows)["step_uid"])
    assert frame["position"].to_list() == list(range(len(rows)))
    for row in frame.iter_rows(named=True):
        if row["status"] == Status.OK and row["start_s"] is not None:
            assert 0 <= row["start_s"] < row["end_s"] <= 379.61
        assert row["start_s"] is None or row["start_s"] >= 0
        assert row["status"] == Status.OK or row["reason"]
    starts = frame["start_s"].to_list()
    assert starts == sorted(s for s in starts if s is not None) + [None] * starts.count(None)
