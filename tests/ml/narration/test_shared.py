"""Narrations of the same videos in another source, on the time line of the recording that lacks them."""

from ml.narration.shared import shared_narrations
from ml.tables.declarations.sources import IMPORTED_NARRATIONS


def narrated(uid, *points, annotator="narration_pass_1"):
    return IMPORTED_NARRATIONS.rows(
        [
            {"recording_id": f"n/{uid}", "annotator": annotator, "narration_index": i, "start_s": start, "end_s": end, "text": f"{uid}{i}"}
            for i, (start, end) in enumerate(points)
        ]
    )


def recording(native_id, *members):
    joined = [{"video_uid": uid, "offset_s": offset_s} for uid, offset_s in members]
    return {"recording_id": f"gs/{native_id}", "native_id": native_id, "members": joined}


def told(frame):
    return frame.select("annotator", "narration_index", "start_s", "end_s", "text").rows()


def test_a_single_video_keeps_its_times():
    found = shared_narrations(recording("u"), {"u": narrated("u", (1.0, 3.0), (3.0, 4.0))})
    assert set(found["recording_id"]) == {"gs/u"}
    assert told(found) == [("narration_pass_1", 0, 1.0, 3.0, "u0"), ("narration_pass_1", 1, 3.0, 4.0, "u1")]
    assert shared_narrations(recording("v"), {"u": narrated("u", (1.0, 2.0))}).is_empty()


def test_members_are_put_in_a_row_and_end_where_the_next_begins():
    members = (("a", 0.0), ("b", 100.5), ("c", None), ("d", None))
    by_uid = {"a": narrated("a", (90.0, 120.0), (110.0, 115.0)), "b": narrated("b", (0.0, 2.0)), "c": narrated("c", (1.0, 2.0))}
    found = shared_narrations(recording("grp-a", *members), by_uid)
    assert told(found) == [("narration_pass_1", 0, 90.0, 100.5, "a0"), ("narration_pass_1", 1, 100.5, 102.5, "b0")]


def test_annotators_stay_apart():
    both = IMPORTED_NARRATIONS.check(narrated("a", (1.0, 2.0)).vstack(narrated("a", (1.1, 2.0), annotator="narration_pass_2")))
    found = shared_narrations(recording("grp-a", ("b", 0.0), ("a", 10.0)), {"a": both})
    assert told(found) == [("narration_pass_1", 0, 11.0, 12.0, "a0"), ("narration_pass_2", 0, 11.1, 12.0, "a0")]
