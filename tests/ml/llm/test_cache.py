"""The reply cache: concurrent writers, a killed writer, what stays and what gives way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ml.errors import InputError
from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.cache import ReplyCache, cache_key
from ml.llm.calls import Answer
from ml.llm.requests import Request, Usage
from ml.vocabulary import Status

BACKEND = AnthropicBackend("claude-haiku-4-5", api_key="k")
REQUEST = Request("k", "t", {}, "", "q")
WRITER = """
import sys
from pathlib import Path
from ml.llm.cache import ReplyCache, store
from ml.llm.calls import Answer
from ml.llm.requests import Usage
from ml.vocabulary import Status
cache = ReplyCache(Path(sys.argv[1]))
for n in range(int(sys.argv[3]), int(sys.argv[4])):
    with cache.transaction() as connection:
        store(connection, f"key {n}", "t", "p", "m", Answer(Status.OK, f"{n} by {sys.argv[2]}", None, Usage(calls=1), "m"))
    print(n, flush=True)
"""
ROOT = Path(__file__).parents[3]


def test_several_processes_write_one_file_from_the_start_on(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    # 0-59, 30-89, 60-119: every key but the outer ones has two writers
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(who), str(who * 30), str(who * 30 + 60)], cwd=ROOT, stdout=subprocess.DEVNULL
        )
        for who in range(3)
    ]
    assert [writer.wait(timeout=300) for writer in writers] == [0, 0, 0]
    found = ReplyCache(path).get(f"key {n}" for n in range(120))
    assert len(found) == 120
    assert all((found[f"key {n}"].text or "").startswith(f"{n} by ") for n in range(120))


def test_what_a_killed_writer_said_it_stored_is_there(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), "0", "0", "100000"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        said = [int(line) for line, _ in zip(writer.stdout, range(200), strict=False)]
        os.kill(writer.pid, signal.SIGKILL)
    cache = ReplyCache(path)
    assert cache.get(f"key {n}" for n in said).keys() == {f"key {n}" for n in said}
    cache.put(cache_key(REQUEST, BACKEND), REQUEST, BACKEND, Answer(Status.OK, "after"))
    assert cache.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_good_answer_stays_and_a_failed_one_gives_way(tmp_path: Path):
    cache = ReplyCache(tmp_path / "r.sqlite")
    key = cache_key(REQUEST, BACKEND)
    cache.put(key, REQUEST, BACKEND, Answer(Status.REFUSED, None, "stop reason refusal"))
    cache.put(key, REQUEST, BACKEND, Answer(Status.OK, "first", None, Usage(1, 2, 3, 4, 0.5, 1, 2), "m"))
    cache.put(key, REQUEST, BACKEND, Answer(Status.OK, "second"))
    assert cache.get([key])[key] == Answer(Status.OK, "first", None, Usage(1, 2, 3, 4, 0.5, 1, 2), "m")
    cache.put(key, REQUEST, BACKEND, Answer(Status.OK, "third"), replace=True)
    assert cache.get([key])[key].text == "third"
    assert cache.get(["absent"]) == {}


def test_the_row_is_not_part_of_the_question():
    same = Request("other key", "other task", {"x": 1}, "", "q")
    assert cache_key(REQUEST, BACKEND) == cache_key(same, BACKEND)
    glued = [cache_key(Request("k", "t", {}, system, prompt), BACKEND) for system, prompt in (("ab", "c"), ("a", "bc"), ("", "abc"))]
    assert len(set(glued)) == 3


def test_a_file_that_is_no_cache_is_named(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    path.write_text("this is a text file, long enough to be looked at as a database header, and longer still" * 20)
    with pytest.raises(InputError, match="reply cache"):
        ReplyCache(path).get(["k"])
