import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from ml.narration.imported import choose_annotator, narrations_in_windows
from ml.tables.declarations.sources import IMPORTED_NARRATIONS
from ml.video.windows import make_windows
from ml.vocabulary import Status


def frame(rows: list[tuple[str, float, float, str]]) -> pl.DataFrame:
    return IMPORTED_NARRATIONS.rows(
        [
            {"recording_id": "s/r", "annotator": annotator, "narration_index": k, "start_s": a, "end_s": b, "text": text}
            for k, (annotator, a, b, text) in enumerate(rows)
        ]
    )


def test_two_annotators_are_never_mixed():
    rows = frame([("b", 1, 2, "b takes"), ("a", 1, 2, "a takes"), ("b", 6, 7, "b puts")])
    assert choose_annotator(rows) == "b"
    assert [n.text for n in narrations_in_windows(rows, make_windows(10.0), "b")] == ["b takes. b puts."]
    assert choose_annotator(frame([("b", 1, 2, "x"), ("a", 3, 4, "y")])) == "a"


def test_a_touching_narration_is_not_told():
    rows = frame([("a", 9.0, 13.0, "pours milk"), ("a", 13.0, 13.0, "looks")])
    texts = [n.text for n in narrations_in_windows(rows, make_windows(20.0), "a")]
    assert texts == [None, "pours milk. looks.", "pours milk. looks."]


def test_window_without_narration_is_empty_not_absent():
    made = narrations_in_windows(frame([("a", 1.0, 2.0, "takes  a\ncup!")]), make_windows(30.0), "a")
    assert [n.status for n in made] == [Status.OK] + [Status.EMPTY] * 4
    assert made[0].text == "takes a cup!"


def test_equal_texts_in_a_window_come_once_in_time_order():
    rows = frame([("a", 6, 7, "stirs"), ("a", 1, 2, "whisks"), ("a", 3, 4, "stirs")])
    assert [n.text for n in narrations_in_windows(rows, make_windows(10.0), "a")] == ["whisks. stirs."]


@given(start_s=st.floats(0, 100), length_s=st.floats(0, 60), rest_s=st.floats(0.1, 50))
def test_every_narration_within_the_recording_is_told(start_s, length_s, rest_s):
    rows = frame([("a", start_s, start_s + length_s, "stirs")])
    made = narrations_in_windows(rows, make_windows(start_s + length_s + rest_s), "a")
    assert any(n.status is Status.OK for n in made)
