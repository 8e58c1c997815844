import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.sources.imported import ImportedSource, StepDraft, natural_key, number_steps, overlaps, same_text, text_id
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS

TIMED = st.tuples(st.sampled_from("abc"), st.floats(0, 100), st.floats(0.1, 9)).map(lambda t: (t[0], t[1], t[1] + t[2]))
UNTIMED = st.sampled_from("abc").map(lambda step_id: (step_id, None, None))


def drafts_of(rows):
    return [StepDraft(step_id, step_id, start, end) for step_id, start, end in rows]


@settings(deadline=None)
@given(st.lists(TIMED | UNTIMED, max_size=20))
def test_numbering_keeps_every_row_and_gives_each_its_own_uid(rows):
    numbered = number_steps("s/1", drafts_of(rows))
    frame = IMPORTED_STEPS.check(IMPORTED_STEPS.rows(numbered))
    assert frame.height == len(rows)
    assert frame["position"].to_list() == list(range(len(rows)))
    starts = frame["start_s"].to_list()
    timed = [s for s in starts if s is not None]
    assert starts == sorted(timed) + [None] * (len(starts) - len(timed))
    assert sorted(zip(frame["native_step_id"], starts, frame["end_s"], strict=True), key=repr) == sorted(rows, key=repr)


@settings(deadline=None, max_examples=30)
@given(st.lists(TIMED, max_size=12, unique_by=lambda row: row[1]), st.randoms())
def test_uids_do_not_depend_on_the_order_of_the_file(rows, rng: random.Random):
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert number_steps("s/1", drafts_of(rows)) == number_steps("s/1", drafts_of(shuffled))


def test_parents_are_named_by_uid():
    parent = StepDraft("p", "p", 5.0, 9.0)
    child = StepDraft("c", "c", 4.9, 6.0, parent=parent)
    assert [row["parent_uid"] for row in number_steps("s/1", [parent, child])] == ["p#0", None]


def test_natural_order():
    assert sorted(["10_137", "1_28", "2_1", "1_7", "x"], key=natural_key) == ["1_7", "1_28", "2_1", "10_137", "x"]


@settings(deadline=None)
@given(st.text("01a_", max_size=6), st.text("01a_", max_size=6))
def test_natural_order_tells_any_two_texts_apart(a, b):
    assert (natural_key(a) == natural_key(b)) == (a == b)


def test_texts():
    assert same_text("Stir  the bowl.", "stir the bowl")
    assert not same_text("Add 1 cup", "Add 1/2 cup")
    assert text_id("Stir  it.") == text_id("stir it")
    assert text_id("a", "b") != text_id("ab")


def test_overlaps():
    assert overlaps([(0, 10), (2, 3), (4, 5), (10, 12)]) == 2


def test_a_frame_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="imported_recordings"):
        ImportedSource(IMPORTED_RECORDINGS.empty().drop("licence"))
