"""Units side by side, kept as they finish: a torn line, a second run, failures, and what ends a run."""

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.benchmarks.running import AssistantUnusableError, RunJournal, run_units


def ok(text):
    return [{"text": text, "status": "ok"}]


def test_a_resumed_run_repeats_no_finished_unit_and_drops_a_torn_line(tmp_path):
    path = tmp_path / "runs" / "a.jsonl"
    journal = RunJournal(path, "v1")
    journal.keep("a", ok("1"))
    journal.keep("b", [{"text": None, "status": "error"}])
    with path.open("a") as file:
        file.write('{"unit": "c", "rows": [{"te')
    ran = []

    def run_one(key):
        ran.append(key)
        return ok(key)

    made = run_units(["a", "b", "c"], run_one, journal=RunJournal(path, "v1"))
    assert ran == ["b", "c"]  # the failed one once more, the torn one too
    assert made == {"a": ok("1"), "b": ok("b"), "c": ok("c")}
    assert run_units(["a", "b", "c"], run_one, journal=RunJournal(path, "v1")) == made
    assert ran == ["b", "c"]


def test_a_unit_that_stands_twice_in_the_journal_counts_once_and_the_last_wins(tmp_path):
    """Field case 107: a resumed run appends twice."""
    journal = RunJournal(tmp_path / "a.jsonl", "v1")
    journal.keep("7", ok("first"))
    journal.keep("7", ok("second"))
    again = RunJournal(tmp_path / "a.jsonl", "v1")
    assert run_units(["7"], lambda key: ok("never"), journal=again) == {"7": ok("second")}


def test_a_journal_of_another_run_is_begun_anew(tmp_path):
    RunJournal(tmp_path / "a.jsonl", "v1").keep("a", ok("old"))
    assert RunJournal(tmp_path / "a.jsonl", "v2").finished == {}
    assert RunJournal(tmp_path / "a.jsonl", "v1").finished == {}


@given(st.lists(st.text(max_size=3), unique=True, max_size=12), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_rows_come_in_the_order_of_the_units_however_many_run(keys, workers):
    made = run_units(keys, lambda key: ok(key), workers=workers)
    assert list(made) == keys
    assert all(rows == ok(key) for key, rows in made.items())


def test_no_more_units_run_at_once_than_allowed():
    running, peak, lock = set(), [0], threading.Lock()

    def run_one(key):
        with lock:
            running.add(key)
            peak[0] = max(peak[0], len(running))
        time.sleep(0.01)
        with lock:
            running.discard(key)
        return ok(key)

    run_units([str(n) for n in range(20)], run_one, workers=4)
    assert peak[0] == 4


def test_what_ends_a_run_begins_no_further_unit_and_keeps_what_finished(tmp_path):
    begun = []

    def run_one(key):
        begun.append(key)
        if key == "1":
            raise AssistantUnusableError("wrong key")
        time.sleep(0.05)
        return ok(key)

    journal = RunJournal(tmp_path / "a.jsonl", "v1")
    with pytest.raises(AssistantUnusableError, match="wrong key"):
        run_units([str(n) for n in range(50)], run_one, workers=3, journal=journal)
    assert len(begun) <= 5
    assert set(journal.finished) == set(begun) - {"1"}


def test_progress_counts_what_is_there_already(tmp_path):
    journal = RunJournal(tmp_path / "a.jsonl", "v1")
    journal.keep("a", ok("a"))
    seen = []
    run_units(["a", "b"], ok, journal=journal, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_a_line_that_was_cut_inside_a_character_is_dropped(tmp_path):
    path = tmp_path / "a.jsonl"
    journal = RunJournal(path, "v1")
    journal.keep("a", ok("玉ねぎ"))
    journal.keep("b", ok("玉ねぎ"))
    path.write_bytes(path.read_bytes()[: path.read_bytes().rindex("ぎ".encode()) + 1])
    again = RunJournal(path, "v1")
    assert list(again.finished) == ["a"]
    again.keep("b", ok("x"))
    assert list(RunJournal(path, "v1").finished) == ["a", "b"]
