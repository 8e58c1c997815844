"""A checkpoint folder is whole or none: every order in which a kill can leave its files."""

import json

import pytest

from ml.errors import InputError
from ml.streaming.checkpoint_files import (
    ADAPTER_CONFIG_FILE,
    ADAPTER_FILE,
    HEAD_FILE,
    SEAL_FILE,
    THRESHOLDS_FILE,
    break_seal,
    check_seal,
    seal,
    sealed_with,
)

FILES = (ADAPTER_FILE, ADAPTER_CONFIG_FILE, HEAD_FILE, THRESHOLDS_FILE)


@pytest.fixture
def folder(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text(f"old {name}")
    seal(tmp_path, "made from this")
    return tmp_path


def test_a_whole_checkpoint_says_what_it_was_made_from(folder):
    check_seal(folder)
    assert sealed_with(folder) == "made from this"
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed_or_removed_is_named(folder, name):
    (folder / name).write_text("half")
    with pytest.raises(InputError, match=f"{name}: the file is not the one that the tuning wrote. Materialize checkpoint again"):
        check_seal(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        check_seal(folder)
    assert sealed_with(folder) is None


@pytest.mark.parametrize("content", [None, "", "{", "[]", json.dumps({"files": {}})])
def test_without_a_readable_seal_there_is_no_checkpoint(folder, content):
    break_seal(folder)
    if content is not None:
        (folder / SEAL_FILE).write_text(content)
    assert sealed_with(folder) is None
    with pytest.raises(InputError, match="its tuning was killed"):
        check_seal(folder)
    (folder / ADAPTER_FILE).unlink()
    with pytest.raises(InputError, match="there is no checkpoint"):
        check_seal(folder)
