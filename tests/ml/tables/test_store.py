"""Files are whole or absent, keys are reversible, scans are typed even when nothing is there (field cases 78, 89, 39)."""

import os
import string
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.errors import InputError
from ml.tables.catalogue import TABLES
from ml.tables.names import open_table
from ml.tables.store import TableStore, decode_key, encode_key, fingerprint


def probe_rows(recording_id, **values):
    return TABLES["video_probe"].rows([{"recording_id": recording_id, "status": "ok"} | values])


@given(st.text(min_size=1))
def test_keys_are_reversible(identifier):
    assert decode_key(encode_key(identifier)) == identifier


@given(st.text(min_size=1))
def test_keys_use_a_safe_alphabet(identifier):
    key = encode_key(identifier)
    assert set(key) <= set(string.ascii_letters + string.digits + "-._~+")
    assert "..." not in key
    assert not key.startswith(".")


def test_ordinary_ids_stay_readable():
    assert encode_key("captaincook4d/1_28") == "captaincook4d~1_28"


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_ids_have_different_keys(a, b):
    assert (encode_key(a) == encode_key(b)) == (a == b)


def test_written_rows_come_back_with_their_fingerprint(tmp_path):
    store = TableStore(tmp_path)
    store.write("video_probe", probe_rows("a/1", rate_num=30000, rate_den=1001), "a/1", made_from="f1")
    assert store.read("video_probe", "a/1")["rate_num"].to_list() == [30000]
    assert store.made_from("video_probe", "a/1") == "f1"
    assert store.partitions("video_probe") == ["a/1"]


def test_the_version_changes_with_the_rows_and_with_what_they_were_made_from(tmp_path):
    store = TableStore(tmp_path)
    versions = []
    for status, made_from in (("ok", "v1"), ("ok", "v1"), ("bad_video", "v1"), ("ok", "v2")):
        store.write("video_probe", TABLES["video_probe"].rows([{"recording_id": "k/1", "status": status}]), "k/1", made_from=made_from)
        versions.append(store.version("video_probe", "k/1"))
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3
    assert store.version("video_probe", "k/2") is None


def test_a_file_cut_short_counts_as_absent_and_is_replaced(tmp_path):
    store = TableStore(tmp_path)
    path = store.write("video_probe", probe_rows("a/1"), "a/1", made_from="f1")
    path.write_bytes(path.read_bytes()[:-20])
    assert store.made_from("video_probe", "a/1") is None
    store.write("video_probe", probe_rows("a/1"), "a/1", made_from="f1")
    assert store.has("video_probe", "a/1")


def test_a_refused_frame_leaves_the_old_file_and_no_other(tmp_path):
    store = TableStore(tmp_path)
    store.write("video_probe", probe_rows("a/1"), "a/1", made_from="f1")
    with pytest.raises(InputError):
        store.write("video_probe", pl.DataFrame({"x": [1]}), "a/1", made_from="f2")
    assert store.made_from("video_probe", "a/1") == "f1"
    assert len(list((tmp_path / "video_probe").iterdir())) == 1


@pytest.mark.parametrize("present", [0, 1, 3])
def test_scans_have_the_declared_columns_for_any_number_of_partitions(tmp_path, present):
    store = TableStore(tmp_path)
    for index in range(present):
        store.write("video_probe", probe_rows(f"a/{index}"), f"a/{index}")
    frame = store.scan("video_probe", [f"a/{i}" for i in range(4)]).collect()
    assert frame.height == present
    assert frame.schema == TABLES["video_probe"].polars_schema
    assert store.scan("video_probe").collect().height == present


def test_an_empty_partition_is_a_typed_file(tmp_path):
    store = TableStore(tmp_path)
    store.write("steps", TABLES["steps"].empty(), "a/1")
    assert store.has("steps", "a/1")
    assert store.scan("steps").collect().schema == TABLES["steps"].polars_schema


def test_concurrent_writers_of_one_partition_leave_one_whole_file(tmp_path):
    store = TableStore(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.write("video_probe", probe_rows("a/1", file_bytes=n), "a/1", made_from=str(n)), range(40)))
    assert store.read("video_probe", "a/1").height == 1
    assert [p.name for p in (tmp_path / "video_probe").iterdir()] == ["a~1.parquet"]


def test_unknown_tables_and_wrong_partitions_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"there is no table 'stepz'. Tables: attributes"):
        TableStore(tmp_path).scan("stepz")
    with pytest.raises(InputError, match="cut by recording"):
        TableStore(tmp_path).read("steps")


def test_open_table_by_name(tmp_path):
    TableStore(tmp_path / "tables").write("video_probe", probe_rows("a/1"), "a/1")
    assert open_table("video_probe", tmp_path).select("recording_id").collect().to_series().to_list() == ["a/1"]


def test_fingerprints_tell_parts_apart():
    assert fingerprint("a", "b") != fingerprint("ab")
    assert fingerprint("a") == fingerprint("a")


LONG = ("キッチンの動画です" * 12, "a" * 300, "é/" * 120)


@pytest.mark.parametrize("name", LONG)
def test_a_long_name_in_any_script_is_a_file_and_comes_back(tmp_path, name):
    store, identifier = TableStore(tmp_path), f"raw_videos/{name}"
    path = store.write("video_probe", probe_rows(identifier), identifier, made_from="f1")
    assert len(os.fsencode(path.name)) < 200
    assert store.partitions("video_probe") == [identifier]
    assert store.made_from("video_probe", identifier) == "f1"
    assert store.read("video_probe", identifier)["recording_id"].to_list() == [identifier]


def test_long_names_that_begin_alike_are_two_files(tmp_path):
    store = TableStore(tmp_path)
    for number in range(2):
        store.write("video_probe", probe_rows(f"a/{'x' * 300}{number}"), f"a/{'x' * 300}{number}")
    assert store.scan("video_probe").collect().height == len(store.partitions("video_probe")) == 2


@pytest.mark.parametrize("broken", [b"", b"PAR1", b"no table at all, but long enough to be one PAR1"])
def test_a_broken_file_is_not_current_and_is_named(tmp_path, broken):
    store = TableStore(tmp_path)
    path = store.write("video_probe", probe_rows("a/1"), "a/1", made_from="f1")
    path.write_bytes(broken)
    assert store.made_from("video_probe", "a/1") is None
    with pytest.raises(InputError, match=r"not a whole table.*Delete the file and materialize it again") as error:
        store.read("video_probe", "a/1")
    assert error.value.file == path
    store.write("video_probe", probe_rows("a/1"), "a/1", made_from="f1")
    assert store.made_from("video_probe", "a/1") == "f1"


def test_a_broken_footer_is_not_current(tmp_path):
    store = TableStore(tmp_path)
    path = store.write("video_probe", probe_rows("a/1"), "a/1", made_from="f1")
    whole = bytearray(path.read_bytes())
    whole[-200:-8] = bytes(192)
    path.write_bytes(bytes(whole))
    assert store.made_from("video_probe", "a/1") is None
