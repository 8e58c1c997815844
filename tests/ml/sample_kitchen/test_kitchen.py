"""The whole sample kitchen: layouts as the formats say, truth beside them, idempotent, restartable after a kill."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from ml.errors import InputError
from ml.sample_kitchen.captaincook4d_layout import TAGS
from ml.sample_kitchen.kitchen import MANIFEST, Manifest, read_manifest, write_sample_kitchen
from ml.sample_kitchen.plan import KitchenSizes, KitchenSource, plan
from ml.sample_kitchen.world import Behaviour, KitchenSplit
from ml.vocabulary import MistakeType

REPOSITORY = Path(__file__).parents[3]
SIZES = KitchenSizes(
    captaincook4d_train=2,
    captaincook4d_errors=2,
    captaincook4d_validation=1,
    captaincook4d_evaluation=1,
    captaincook4d_unseen=1,
    goalstep=2,
    qicd_train=1,
    qicd_validation=1,
    qicd_test=1,
    ego_mc_bench=1,
    ego_mc_bench_unseen=1,
)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory) -> Manifest:
    return write_sample_kitchen(tmp_path_factory.mktemp("kitchen"), SIZES, seed=5, processes=1)


def load(kitchen: Manifest, *parts: str):
    return json.loads(kitchen.root.joinpath("captaincook4d", *parts).read_text())


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_every_recording_has_its_video_where_the_manifest_says(kitchen):
    assert len(kitchen.recordings) == SIZES.total == len(plan(SIZES, 5))
    for recording in kitchen.recordings:
        assert (kitchen.root / recording.video).stat().st_size > 10_000
    assert read_manifest(kitchen.root) == kitchen


def test_captaincook4d_annotations_agree_with_each_other(kitchen):
    complete = load(kitchen, "annotation_json", "complete_step_annotations.json")
    plain = load(kitchen, "annotation_json", "step_annotations.json")
    errors = load(kitchen, "annotation_json", "error_annotations.json")
    texts = load(kitchen, "annotation_json", "step_idx_description.json")
    steps = load(kitchen, "annotation_json", "recording_id_step_idx.json")
    activities = load(kitchen, "annotation_json", "activity_idx_step_idx.json")
    assert load(kitchen, "annotation_json", "error_category_idx.json") == TAGS
    assert set(complete) == set(plain) == set(steps) == {row["recording_id"] for row in errors}
    for row in errors:
        native_id = row["recording_id"]
        assert set(row) == {"recording_id", "activity_id", "is_error", "step_annotations"}
        assert native_id.split("_")[0] == str(row["activity_id"]) == str(complete[native_id]["activity_id"])
        assert row["is_error"] == any("errors" in step for step in row["step_annotations"])
        assert plain[native_id]["steps"] == complete[native_id]["steps"]
        assert set(complete[native_id]) == {"recording_id", "activity_id", "activity_name", "person_id", "environment", "steps"}
        assert steps[native_id] == [step["step_id"] for step in row["step_annotations"]]
        assert set(steps[native_id]) <= set(activities[str(row["activity_id"])])
        for step, whole in zip(row["step_annotations"], complete[native_id]["steps"], strict=True):
            assert set(whole) == {"step_id", "start_time", "end_time", "description", "has_errors"}
            assert whole["has_errors"] == ("errors" in step)
            assert texts[str(step["step_id"])] == step["description"] == whole["description"]
            verb, text = step["description"].split("-", 1)
            assert text.startswith(verb)
            assert step["start_time"] == step["end_time"] == -1.0 or 0 <= step["start_time"] < step["end_time"]
            assert {error["tag"] for error in step.get("errors", [])} <= set(TAGS)
            if any(error["tag"] == "Missing Step" for error in step.get("errors", [])):
                assert step["start_time"] == -1.0


def test_captaincook4d_has_the_habits_of_the_published_files():
    """In the default kitchen: missing steps, an optional untimed step, swapped order, changed texts, several tags."""
    entries = [e for e in plan(KitchenSizes(), 0) if e.source is KitchenSource.CAPTAINCOOK4D]
    assert sum(e.omitted is not None for e in entries) >= 2
    assert sum(e.swapped is not None for e in entries) >= 2
    assert all(e.behaviour is Behaviour.ERRS for e in entries if e.omitted is not None or e.swapped is not None)
    written: dict[str, str] = {}
    from ml.sample_kitchen.captaincook4d_layout import write_annotations

    write_annotations(Path("x"), entries, lambda path, text: written.update({path.name: text}))
    rows = [step for recording in json.loads(written["error_annotations.json"]) for step in recording["step_annotations"]]
    tags = [error["tag"] for row in rows for error in row.get("errors", [])]
    assert set(tags) >= {"Missing Step", "Order Error"} | {f"{m.value.capitalize()} Error" for m in MistakeType}
    untimed = [row for row in rows if row["start_time"] == -1.0]
    assert any("errors" not in row for row in untimed)
    assert any("errors" in row for row in untimed)
    assert any(row.get("modified_description") == row["description"] for row in rows)
    assert any(row.get("modified_description", row["description"]) != row["description"] for row in rows)
    assert not any(row.get("errors") == [] for row in rows)
    assert any(len(row.get("errors", [])) > 1 for row in rows)


def test_captaincook4d_task_graphs_splits_and_metadata(kitchen):
    texts = set(load(kitchen, "annotation_json", "step_idx_description.json").values())
    complete = load(kitchen, "annotation_json", "complete_step_annotations.json")
    for recording in complete.values():
        graph = load(kitchen, "task_graphs", recording["activity_name"].lower().replace(" ", "") + ".json")
        inner = set(graph["steps"].values()) - {"START", "END"}
        assert inner <= texts
        assert {step["description"] for step in recording["steps"] if "if needed" not in step["description"]} == inner
        assert all(str(a) in graph["steps"] and str(b) in graph["steps"] for a, b in graph["edges"])
    combined = load(kitchen, "data_splits", "recordings_data_split_combined.json")
    normal = load(kitchen, "data_splits", "recordings_data_split_normal.json")
    assert list(combined) == ["train", "val", "test"]
    assert sorted(native_id for part in combined.values() for native_id in part) == sorted(complete)
    assert len(combined["train"]) - len(normal["train"]) == SIZES.captaincook4d_errors
    assert kitchen.unseen(KitchenSource.CAPTAINCOOK4D) < set(combined["test"])
    path = kitchen.root / "captaincook4d" / "metadata" / "video_information.csv"
    table = list(csv.DictReader(path.open()))
    assert {row["recording_id"] for row in table} == set(complete)
    for native_id in complete:
        tree = kitchen.root / "captaincook4d" / "captain_cook_4d" / "gopro" / "resolution_360p"
        assert (tree / f"{native_id}_360p.mp4").is_file()


def test_goalstep_files(kitchen):
    folder = kitchen.root / "ego4d_goalstep"
    uids = []
    for name, split in (("goalstep_train.json", "train"), ("goalstep_valid.json", "val")):
        content = json.loads((folder / name).read_text())
        assert content["split"] == split
        for video in content["videos"]:
            uids.append(video["video_uid"])
            assert (folder / f"{video['video_uid']}.mp4").is_file()
            assert video["segments"]
            for segment in [*video["segments"], *(sub for s in video["segments"] for sub in s["segments"])]:
                assert 0 <= segment["start_time"] < segment["end_time"] <= video["end_time"]
                assert segment["is_relevant"] in ("essential", "optional", "irrelevant", "unsure")
    groups = (folder / "goalstep_video_groups.tsv").read_text().splitlines()
    assert groups[0] == "university\tvideo_group"
    joined = [uid for uid in uids if uid.startswith("grp-")]
    assert len(joined) == 1
    assert joined[0].removeprefix("grp-") in groups[1]


def test_timelines_are_parallel_arrays_in_time_order(kitchen):
    names = ("qicd/main/train", "qicd/main/validation", "qicd/main/test", "ego_mc_bench/main/test", "ego_mc_bench/unseen/test")
    for name in names:
        frame = pl.read_parquet(kitchen.root / f"{name}-00000-of-00001.parquet")
        assert len(frame) == 1
        for row in frame.iter_rows(named=True):
            arrays = [row[f"output_{part}"] for part in ("texts", "timestamps", "types", "actions")] + [row["remaining_plan"]]
            assert len({len(array) for array in arrays}) == 1
            types, times = row["output_types"], row["output_timestamps"]
            assert times == sorted(times)
            assert types[0] == "instruction"
            assert types[-1] == "feedback_finish_all"
            mistakes = [t for t in types if "mistake" in t]
            assert mistakes
            assert all(t.removeprefix("feedback_action_aligned_mistake_").removesuffix("_error") in set(MistakeType) for t in mistakes)
            steps = types.count("instruction")
            success = types.count("feedback_action_aligned_success")
            # Who is corrected succeeds in the end; who is not does not.
            assert success == (steps if name.startswith("ego_mc") else steps - len(mistakes))
            assert row["remaining_plan"][-1] == []


def test_truth_log_covers_every_recording_and_agrees_with_the_timelines(kitchen):
    truth = {path.stem: pl.read_parquet(path) for path in (kitchen.root / "truth").glob("*.parquet")}
    keys = {(recording.source, recording.native_id) for recording in kitchen.recordings}
    for frame in truth.values():
        assert {(row["source"], row["native_id"]) for row in frame.select("source", "native_id").iter_rows(named=True)} == keys
    steps, changed = truth["steps"], truth["counterfactuals"]
    timed = changed.join(steps.select("source", "native_id", "step_index", "start_s", "end_s"), on=["source", "native_id", "step_index"])
    assert timed.filter(pl.col("apparent_s").is_null() != pl.col("reason").is_not_null()).is_empty()
    assert timed.filter((pl.col("apparent_s") <= pl.col("start_s")) | (pl.col("apparent_s") > pl.col("end_s"))).is_empty()
    bench = pl.read_parquet(kitchen.root / "ego_mc_bench/main/test-00000-of-00001.parquet").row(0, named=True)
    said = [t for t, kind in zip(bench["output_timestamps"], bench["output_types"], strict=True) if "mistake" in kind]
    logged = steps.filter((pl.col("source") == "ego_mc_bench") & (pl.col("native_id") == bench["video_id"]))
    assert said == logged["apparent_s"].drop_nulls().to_list()
    narrations = truth["narrations"]
    assert narrations.filter(pl.col("end_s") <= pl.col("start_s")).is_empty()
    ends = narrations.group_by("source", "native_id").agg(pl.col("end_s").max()).join(truth["recordings"], on=["source", "native_id"])
    assert ends.filter((pl.col("end_s") - pl.col("duration_s")).abs() > 1e-6).is_empty()


def test_splits_share_no_recipe_and_the_default_sizes_are_as_documented():
    entries = plan(KitchenSizes(), 0)
    by_split = {split: {e.recipe.instructions for e in entries if e.split is split} for split in KitchenSplit}
    for split, recipes in by_split.items():
        assert recipes
        assert not any(recipes & other for name, other in by_split.items() if name is not split)
    assert len({(e.source, e.native_id) for e in entries}) == len(entries) == 422
    assert len({(e.source, e.video) for e in entries}) == len(entries)
    evaluation = [e for e in entries if e.source is KitchenSource.CAPTAINCOOK4D and e.split is KitchenSplit.EVALUATION]
    assert sum(len(e.recipe.instructions) for e in evaluation) >= 350


def test_a_second_call_writes_nothing(kitchen):
    before = {path: path.stat().st_mtime_ns for path in kitchen.root.rglob("*")}
    seen = []
    again = write_sample_kitchen(kitchen.root, SIZES, seed=5, progress=lambda done, total: seen.append((done, total)))
    assert again == kitchen
    assert seen == [(SIZES.total, SIZES.total)]
    assert {path: path.stat().st_mtime_ns for path in kitchen.root.rglob("*")} == before


SMALL = KitchenSizes(**dict.fromkeys(KitchenSizes.__dataclass_fields__, 0) | {"captaincook4d_train": 6, "ego_mc_bench": 2})
SCRIPT = """
import sys
from pathlib import Path
from ml.sample_kitchen.kitchen import write_sample_kitchen
from tests.ml.sample_kitchen.test_kitchen import SMALL

if __name__ == "__main__":
    write_sample_kitchen(Path(sys.argv[1]), SMALL, seed=1, progress=lambda done, total: print(done, flush=True))
"""


def test_a_killed_run_is_finished_by_the_next_with_the_same_bytes(tmp_path):
    """SIGKILL with two processes rendering: no half file under its own name, no process left, the rest is made."""
    script = tmp_path / "make.py"
    script.write_text(SCRIPT)
    root = tmp_path / "killed"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen([sys.executable, str(script), str(root)], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 2:
            break
    children = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (root / MANIFEST).exists()
    with pytest.raises(InputError, match="not finished"):
        read_manifest(root)
    deadline = time.monotonic() + 20
    while any(_is_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert children
    assert not any(_is_alive(child) for child in children)
    finished = {path: path.stat().st_mtime_ns for path in root.rglob("*.mp4") if not path.name.startswith(".")}
    assert 2 <= len(finished) < SMALL.total
    write_sample_kitchen(root, SMALL, seed=1, processes=1)
    assert all(path.stat().st_mtime_ns == at for path, at in finished.items())
    whole = tmp_path / "whole"
    write_sample_kitchen(whole, SMALL, seed=1, processes=2)
    assert contents(root) == contents(whole)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_other_settings_replace_the_kitchen_and_foreign_data_is_left_alone(tmp_path):
    tiny = KitchenSizes(**dict.fromkeys(KitchenSizes.__dataclass_fields__, 0) | {"qicd_test": 1})
    first = write_sample_kitchen(tmp_path / "a", tiny, seed=1)
    other = write_sample_kitchen(tmp_path / "a", tiny, seed=2)
    assert other.seed == 2
    assert not any((tmp_path / "a" / r.video).exists() for r in first.recordings if r.video not in {o.video for o in other.recordings})
    foreign = tmp_path / "b" / "captaincook4d"
    foreign.mkdir(parents=True)
    (foreign / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="did not write"):
        write_sample_kitchen(tmp_path / "b", tiny, seed=1)
    assert (foreign / "mine.txt").read_text() == "keep"


def test_sizes_are_checked_and_scaled():
    with pytest.raises(InputError, match="goalstep"):
        KitchenSizes(goalstep=-1)
    scaled = KitchenSizes(goalstep=0).scaled(0.01)
    assert scaled.goalstep == 0
    assert scaled.qicd_test == 1
    assert scaled.captaincook4d_train == 2


WRITE = """
import sys
from pathlib import Path
from ml.sample_kitchen.kitchen import write_sample_kitchen
from ml.sample_kitchen.plan import KitchenSizes
if __name__ == "__main__":
    write_sample_kitchen(Path(sys.argv[1]), KitchenSizes().scaled(0.01), seed=5, processes=1)
"""


def test_two_processes_at_once_write_one_kitchen(tmp_path):
    both = [subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path / "kitchen")], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[1] for process in both] == ["", ""]
    assert [process.returncode for process in both] == [0, 0]
    assert len(read_manifest(tmp_path / "kitchen").recordings) == KitchenSizes().scaled(0.01).total
