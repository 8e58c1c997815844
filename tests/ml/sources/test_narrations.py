"""Ego4D narrations and the points behind them."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.sources.ego4d_narrations import read_ego4d_narrations
from ml.sources.point_narrations import Point, clean_text, narration_rows
from ml.tables.declarations.sources import IMPORTED_NARRATIONS


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("#C C picks a bag from the shelf", "C picks a bag from the shelf"),
        ("#c  C  picks  #unsure", "C picks"),
        ("# O man X talks", "man X talks"),
        ("#summary C fixed breakfast", "C fixed breakfast"),
        ("C presses #3", "C presses #3"),
        ("#unsure", ""),
    ],
)
def test_tags(text, cleaned):
    assert clean_text(text) == cleaned


def test_points_get_ends_and_keep_the_order_of_ties():
    points = [Point(19.2, "c"), Point(11.0, "a"), Point(11.0, "b"), Point(40.0, "d")]
    rows = narration_rows("s/1", "pass", points, end_s=45.0)
    assert [(row["text"], row["start_s"], row["end_s"]) for row in rows] == [
        ("a", 11.0, 19.2),
        ("b", 11.0, 19.2),
        ("c", 19.2, 29.2),
        ("d", 40.0, 45.0),
    ]


@settings(deadline=None)
@given(st.lists(st.floats(0, 200), max_size=20), st.none() | st.floats(0, 250))
def test_ends_never_precede_starts_nor_pass_the_next(times, end_s):
    rows = narration_rows("s/1", "pass", [Point(t, str(i)) for i, t in enumerate(times)], end_s=end_s)
    frame = IMPORTED_NARRATIONS.check(IMPORTED_NARRATIONS.rows(rows))
    assert frame.height == len(times)
    assert frame["start_s"].is_sorted()
    for (start, end), (following, _) in pairwise(frame.select("start_s", "end_s").rows()):
        assert start <= end <= start + 10.0
        assert end <= following or following == start


def narration(t, text, frame=None):
    value = {"timestamp_sec": t, "narration_text": text, "_unmapped_timestamp_sec": 1000.0}
    return value if frame is None else value | {"timestamp_frame": frame}


def read(tmp_path, videos, **keywords):
    (tmp_path / "narration.json").write_text(json.dumps(videos))
    return read_ego4d_narrations(tmp_path, None, source="n", **keywords)


def test_two_passes_are_two_annotators(tmp_path):
    source = read(
        tmp_path,
        {
            "u": {
                "status": "complete",
                "narration_pass_1": {"narrations": [narration(2.0, "#C C stirs"), narration(1.0, "#C C cuts")]},
                "narration_pass_2": {"narrations": [narration(1.1, "#C C chops")]},
            },
            "v": {"status": "redacted"},
        },
    )
    assert source.narrations.select("annotator", "narration_index", "text").rows() == [
        ("narration_pass_1", 0, "C cuts"),
        ("narration_pass_1", 1, "C stirs"),
        ("narration_pass_2", 0, "C chops"),
    ]
    assert source.recordings.select("native_id", "status", "reason").rows() == [
        ("u", "ok", None),
        ("v", "empty", "no narration (status redacted)"),
    ]
    assert source.problems["kind"].to_list() == ["unsorted_narrations"]


def test_seconds_decide_over_frames(tmp_path):
    narrations = [narration(14.878, "#C C cuts", 446), narration(17.898, "#C C stirs", 437)]
    source = read(tmp_path, {"u": {"narration_pass_1": {"narrations": narrations}}})
    assert source.narrations["start_s"].to_list() == [14.878, 17.898]
    assert source.problems.select("kind", "detail").rows() == [
        ("seconds_and_frames_disagree", "1 narrations differ by more than a frame between timestamp_sec and timestamp_frame")
    ]


def test_unusable_points_are_reported(tmp_path):
    source = read(
        tmp_path, {"u": {"narration_pass_1": {"narrations": [narration(-1.0, "x"), narration(1.0, "#unsure"), narration(2.0, "y")]}}}
    )
    assert source.narrations["text"].to_list() == ["y"]
    assert source.problems.filter(kind="unusable_narration").height == 2


def test_wrapped_layout_and_lengths(tmp_path):
    source = read(
        tmp_path, {"version": "1", "videos": {"u": {"narration_pass_1": {"narrations": [narration(5.0, "x")]}}}}, durations_s={"u": 7.0}
    )
    assert source.narrations["end_s"].to_list() == [7.0]
    assert source.recordings["annotated_duration_s"].to_list() == [7.0]


def test_lengths_from_the_catalogue(tmp_path):
    (tmp_path / "ego4d.json").write_text(json.dumps({"videos": [{"video_uid": "u", "duration_sec": 7.0}]}))
    source = read(tmp_path, {"u": {"narration_pass_1": {"narrations": [narration(5.0, "x")]}}})
    assert source.narrations["end_s"].to_list() == [7.0]


def test_bad_files(tmp_path):
    with pytest.raises(InputError, match=r"Expected one of narration\.json"):
        read_ego4d_narrations(tmp_path, None, source="n")
    with pytest.raises(InputError, match=r"video u, narration_pass_1, narrations\[0\], field timestamp_sec"):
        read(tmp_path, {"u": {"narration_pass_1": {"narrations": [narration("1.0", "x")]}}})
