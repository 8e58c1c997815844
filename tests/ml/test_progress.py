import time

from ml.progress import Progress, format_seconds, read_progress


def test_progress_is_readable_from_outside_with_time_left(tmp_path):
    progress = Progress(tmp_path, "narrations")
    progress.started = time.monotonic() - 10
    progress(0, 20)
    progress.written = 0.0
    progress(5, 20)
    seen = read_progress(tmp_path, "narrations")
    assert seen is not None
    assert (seen.done, seen.total) == (5, 20)
    assert 29 < seen.left_s < 32
    assert seen.text().startswith("narrations: 5/20 (10 s, 30 s left")


def test_what_an_earlier_run_finished_is_no_measure_of_the_time_left(tmp_path):
    progress = Progress(tmp_path, "predictions", started=time.monotonic() - 10.0)
    progress(100, 200)
    assert progress.snapshot().left_s is None
    progress(120, 200)
    assert 39 < progress.snapshot().left_s < 42


def test_the_last_item_is_always_written(tmp_path):
    progress = Progress(tmp_path, "steps")
    for done in range(1, 101):
        progress(done, 100)
    assert read_progress(tmp_path, "steps").done == 100


def test_absent_progress_is_none(tmp_path):
    assert read_progress(tmp_path, "steps") is None


def test_seconds_in_plain_words():
    assert [format_seconds(s) for s in (42.4, 185, 7800)] == ["42 s", "3 min 05 s", "2 h 10 min"]
