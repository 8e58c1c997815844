import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ml.errors import InputError
from ml.validity.answers import Answer, AnswerLog, identity


@pytest.fixture
def log(tmp_path):
    return AnswerLog(tmp_path / "review" / "answers.sqlite")


def test_changes_merge_into_one_state_and_nothing_is_deleted(log):
    log.change("Ann", "p", "h", {"different": True})
    log.change("Ann", "p", "h", {"feasible": True})
    log.change("Ben", "p", "h", {"different": False})
    got = log.change("Ann", "p", "h", {"of_type": True, "comment": "clear"})
    assert got == Answer("Ann", "p", "h", True, True, True, comment="clear")
    assert got.is_valid
    assert not got.is_complete
    assert log.change("Ann", "p", "h", {"apparent_s": 12.5}).is_complete
    assert log.answer("Ben", "p", "h").is_valid is False
    assert [answer.reviewer for answer in log.answers()] == ["Ann", "Ben"]
    with sqlite3.connect(log.path) as connection:
        assert connection.execute("SELECT count(*) FROM changes").fetchone() == (5,)


def test_the_same_answer_again_is_no_change(log):
    for _ in range(3):
        log.change("Ann", "p", "h", {"different": True})
    assert identity(log.path) == "1/0"


def test_an_answer_to_another_text_does_not_count(log):
    log.change("Ann", "p", "old", {"different": False})
    assert log.answer("Ann", "p", "new") == Answer("Ann", "p", "new")
    assert log.frame()["shown_sha256"].to_list() == ["old"]


def test_undo_goes_back_change_by_change(log):
    log.change("Ann", "p", "h", {"different": True})
    log.change("Ann", "q", "h", {"different": True})
    log.change("Ann", "q", "h", {"different": False})
    log.change("Ben", "p", "h", {"different": False})
    assert log.undo("Ann") == "q"
    assert log.answer("Ann", "q", "h").different is True
    assert log.undo("Ann") == "q"
    assert log.undo("Ann") == "p"
    assert log.undo("Ann") is None
    assert log.answer("Ann", "p", "h") == Answer("Ann", "p", "h")
    assert log.answer("Ben", "p", "h").different is False
    assert identity(log.path) == "4/3"


def test_when_an_answer_is_complete():
    yes = {"different": True, "feasible": True, "of_type": True}
    assert not Answer("a", "p", "h", **yes).is_complete
    assert Answer("a", "p", "h", **yes, never_apparent=True).is_complete
    assert Answer("a", "p", "h", **yes | {"of_type": False}).is_complete
    assert not Answer("a", "p", "h", different=False).is_complete  # the study asked all three questions


def test_names_and_fields_are_checked(log):
    for name in ("", "  ", "x" * 61, "a\x00b"):
        with pytest.raises(InputError, match="no name"):
            log.change(name, "p", "h", {"different": True})
    with pytest.raises(InputError, match="has no 'valid'"):
        log.change("Ann", "p", "h", {"valid": True})
    assert log.change(" Ann  Lee ", "p", "h", {"different": True}).reviewer == "Ann Lee"


def test_two_writers_of_one_state_lose_nothing(log):
    fields = ("different", "feasible", "of_type")

    def write(number):
        AnswerLog(log.path).change("Ann", f"p{number // 3}", "h", {fields[number % 3]: True})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(90)))
    got = log.answers()
    assert len(got) == 30
    assert all(answer.is_valid for answer in got)


WRITER = """
import sys
from pathlib import Path
from ml.validity.answers import AnswerLog
log = AnswerLog(Path(sys.argv[1]))
for number in range(10_000):
    log.change("Ann", f"p{number}", "h", {"different": True})
    print(number, flush=True)
"""


def test_a_killed_process_has_kept_all_that_it_reported(tmp_path):
    path = tmp_path / "answers.sqlite"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reported = -1
        while reported < 20:
            reported = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        reported = max([reported, *(int(line) for line in process.stdout.read().split())])
    kept = {answer.pair_id for answer in AnswerLog(path).answers()}
    assert {f"p{number}" for number in range(reported + 1)} <= kept
    assert len(kept) <= reported + 2
