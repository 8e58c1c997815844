"""The importer against the published files: every figure was counted on the files beforehand, independently of the importer."""

import time
from collections import Counter

import polars as pl
import pytest

from ml.sources.captaincook4d import read_captaincook4d
from ml.sources.captaincook4d_csv import read_error_annotations_csv
from ml.sources.placing import place_recording, place_steps


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "datasets" / "captaincook4d"


@pytest.fixture(scope="module")
def published(folder):
    return read_captaincook4d(folder, None, source="captaincook4d")


def problem_count(source, kind):
    return source.problems.filter(kind=kind).height


def test_every_row_is_there_once(published):
    assert published.recordings.height == 384
    assert published.steps.height == 5700
    assert published.steps.select("recording_id", "step_uid").is_duplicated().sum() == 0
    assert published.recordings["activity"].n_unique() == 24
    assert published.steps["native_step_id"].n_unique() == 350


def test_it_reads_within_seconds(folder):
    start = time.process_time()
    read_captaincook4d(folder, None, source="captaincook4d")
    assert time.process_time() - start < 5


def test_untimed_rows(published):
    steps = published.steps
    assert steps["start_s"].null_count() == steps["end_s"].null_count() == 287
    assert steps.filter(status="omitted").height == 281
    assert problem_count(published, "untimed_without_tag") == 6
    assert problem_count(published, "missing_tag_with_times") == 4
    assert steps.filter(pl.col("start_s") < 0).is_empty()


def test_contradictory_rows_are_never_clean(published):
    contradictory = published.steps.filter(status="contradiction")
    assert not contradictory["is_clean"].any()
    optional = contradictory.filter(recording_id="captaincook4d/18_19", native_step_id="195").row(0, named=True)
    assert optional["start_s"] is None
    assert "not performed" in optional["reason"]
    performed = contradictory.filter(recording_id="captaincook4d/12_6", native_step_id="121").row(0, named=True)
    assert performed["start_s"] == 332.42


def test_error_tags(published):
    counts = Counter(published.steps["error_tags"].explode().drop_nulls())
    assert counts == {
        "Order Error": 795,
        "Technique Error": 502,
        "Preparation Error": 410,
        "Measurement Error": 331,
        "Missing Step": 285,
        "Timing Error": 177,
        "Temperature Error": 66,
        "Other": 8,
    }
    assert (published.steps["error_tags"].list.len() > 0).sum() == 1964
    assert (published.steps["error_tags"].list.len() > 1).sum() == 532
    assert published.recordings["has_mistakes"].sum() == 220
    assert published.steps.filter(pl.col("error_tags").list.len() != pl.col("error_texts").list.len()).is_empty()


def test_changed_texts(published):
    assert problem_count(published, "error_without_changed_text") == 631
    assert problem_count(published, "changed_text_identical") == 37
    without_error = published.steps.filter(pl.col("error_tags").list.len() == 0, pl.col("performed_text").is_not_null())
    assert without_error.height == problem_count(published, "changed_text_without_error") == 7  # 15, of which 8 repeat the original
    assert not without_error["is_clean"].any()
    same = published.steps.filter(pl.col("performed_text").str.to_lowercase() == pl.col("instruction").str.to_lowercase())
    assert same.is_empty()


def test_clean_steps(published):
    clean = published.steps.filter("is_clean")
    assert clean.height == 3721
    assert (clean["end_s"] > clean["start_s"]).all()
    assert clean["error_tags"].list.len().sum() == 0
    assert clean["performed_text"].null_count() == clean.height
    assert (clean["status"] == "ok").all()


def test_the_official_splits_leak_into_each_other(published):
    leaks = published.problems.filter(kind="split_leak")["detail"].to_list()
    assert [leak.split(" are in ")[0].split()[0] + " in " + leak.split(" are in ")[1].split(":")[0] for leak in leaks] == [
        "56 in train of data_splits/environment_data_split_combined.json",
        "39 in validation of data_splits/environment_data_split_combined.json",
        "56 in train of data_splits/person_data_split_combined.json",
        "23 in validation of data_splits/person_data_split_combined.json",
    ]


def test_order_and_repeats(published):
    assert problem_count(published, "unsorted_steps") == 72
    assert problem_count(published, "repeated_steps") == 53
    timed = published.steps.filter(pl.col("start_s").is_not_null()).sort("recording_id", "position")
    assert timed.select((pl.col("start_s").diff().over("recording_id") >= 0).all()).item()
    positions = published.steps.group_by("recording_id").agg(
        pl.col("position").filter(pl.col("start_s").is_null()).min().alias("first_untimed"),
        pl.col("position").filter(pl.col("start_s").is_not_null()).max().alias("last_timed"),
    )
    assert positions.filter(pl.col("first_untimed") <= pl.col("last_timed")).is_empty()


def test_texts_of_other_steps_are_listed(published):
    assert problem_count(published, "text_of_another_step") == 7


def test_the_verb_is_taken_off_and_the_hyphen_stays(published):
    texts = set(published.steps["instruction"])
    assert "Coat a 6-oz. ramekin cup with cooking spray" in texts
    assert "Add 1/2 tsp salt to the pan" in texts
    assert "Cut or tear 1 slices of bread into bite-size pieces" in texts
    assert not [text for text in texts if text.split("-")[0].strip().lower() in {"coat", "add", "measure and add"}]


def test_graph_nodes_are_one_to_many(published):
    nodes = published.steps.unique("native_step_id").filter(pl.col("graph_node_ids").list.len() > 1)
    assert nodes.height >= 3
    assert problem_count(published, "not_in_task_graph") == 2  # the two texts that no catalogue holds


def test_recordings(published):
    recordings = published.recordings
    assert Counter(recordings["split"]) == {"train": 213, "validation": 62, "test": 109}
    assert recordings["split_sha256"].n_unique() == 1
    assert len(recordings["split_sha256"][0]) == 64
    assert recordings["native_id"][:3].to_list() == ["1_7", "1_10", "1_14"]
    assert "Apache-2.0" in recordings["licence"][0]
    assert "MIT" in recordings["licence"][0]
    assert problem_count(published, "person_disagrees") == 19


def test_the_length_is_overshot_by_milliseconds_in_nine_recordings(published):
    overshooting = 0
    for recording_id, imported in published.steps.partition_by("recording_id", as_dict=True).items():
        recording = place_recording(published.recordings.filter(recording_id=recording_id[0]), None)
        placed = place_steps(imported, recording)
        assert placed.height == imported.height
        assert placed.filter(status="out_of_clip").is_empty()
        overshooting += recording["duration_s"][0] < imported["end_s"].max()
    assert overshooting == 9


@pytest.mark.parametrize(
    ("split_file", "counts"),
    [
        ("environment_data_split_combined.json", {"train": 216, "validation": 115, "test": 53}),
        ("person_data_split_combined.json", {"train": 204, "validation": 84, "test": 96}),
        ("recordings_data_split_normal.json", {"train": 90, "validation": 26, "test": 48, None: 220}),
        ("recipes_data_split_combined.json", {None: 384}),
    ],
)
def test_other_splits(folder, split_file, counts):
    source = read_captaincook4d(folder, None, source="captaincook4d", split_file=split_file)
    assert Counter(source.recordings["split"].to_list()) == counts
    assert problem_count(source, "no_split") == (None in counts)


def test_the_csv_twin_says_the_same(folder, published):
    rows = read_error_annotations_csv(folder / "annotation_csv" / "error_annotations.csv")
    assert len(rows) == 5700
    from_csv = Counter((row.recording_id, row.step_id, frozenset(tag for tag, _ in row.errors)) for row in rows)
    from_json = Counter(
        (rid.split("/")[1], step_id, frozenset(tags))
        for rid, step_id, tags in published.steps.select("recording_id", "native_step_id", "error_tags").iter_rows()
    )
    assert from_csv == from_json
    assert all(text != "None" for row in rows for _, text in row.errors)
    assert sum(row.start_s is None for row in rows) == 287
