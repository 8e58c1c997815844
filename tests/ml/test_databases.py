"""A broken database names itself and what to do; moved away, work goes on."""

import pytest

from ml.errors import InputError
from ml.llm.cache import ReplyCache
from ml.sources.raw_videos import Cursor, scan_folder
from ml.validity.answers import AnswerLog

BROKEN = b"no database, but of some length" * 40


def test_a_broken_file_of_answers_is_named(tmp_path):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(BROKEN)
    with pytest.raises(InputError, match=r"no usable file of answers \(file is not a database\). Put a copy back") as error:
        AnswerLog(path)
    assert error.value.file == path
    assert path.read_bytes() == BROKEN
    path.rename(tmp_path / "away")
    assert AnswerLog(path).answers() == []


def test_a_broken_ledger_is_named_and_nothing_comes_twice_without_it(tmp_path):
    folder, ledger = tmp_path / "raw", tmp_path / "ledger.sqlite"
    folder.mkdir()
    (folder / "a.mp4").write_bytes(b"x")
    found = scan_folder(folder, Cursor(), ledger)
    versions = []
    for _ in range(4):
        found = scan_folder(folder, found.cursor, ledger)
        versions += [arrival.version for arrival in found.ready]
    assert len(versions) == 1
    ledger.write_bytes(BROKEN)
    with pytest.raises(InputError, match=r"no usable ledger of raw videos.*Move it away") as error:
        scan_folder(folder, found.cursor, ledger)
    assert error.value.file == ledger
    ledger.unlink()
    for _ in range(4):
        found = scan_folder(folder, found.cursor, ledger)
        versions += [arrival.version for arrival in found.ready]
    assert len(set(versions)) == 1  # a run key is made of it, so Dagster starts no second run


def test_a_broken_reply_cache_is_named(tmp_path):
    path = tmp_path / "replies.sqlite"
    path.write_bytes(BROKEN)
    with pytest.raises(InputError, match=r"not a usable reply cache.*Move the file away"):
        ReplyCache(path).get(["a"])
