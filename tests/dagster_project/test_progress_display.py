"""Progress is seen on a terminal and in a log."""

import io

from rich.console import Console

from dagster_project.progress_display import progress_display
from ml.progress import Snapshot


def shown(is_terminal):
    file = io.StringIO()
    with progress_display(Console(file=file, force_terminal=is_terminal, width=120), "Narrations") as show:
        for done in (3, 4, 5):
            show(Snapshot("narrations", done, 12, 60.0, 180.0))
    return file.getvalue()


def test_a_log_gets_a_line_at_times_with_stage_count_and_time_left():
    assert shown(False) == "  Narrations: narrations: 3/12 (1 min 00 s, 3 min 00 s left)\n"


def test_a_terminal_gets_a_bar_that_goes_away():
    text = shown(True)
    assert "5/12" in text
    assert text.endswith("\x1b[2K")
