"""GuideMe and Cook-MRE of the sample kitchen: real layouts over videos that are there already, true to the scripts."""

import json
from dataclasses import replace

import pytest

from ml.benchmarks.guideme.data import read_items
from ml.sample_kitchen.cook_mre_layout import CORRECT, ELEMENTS, MISTAKES, SAMPLES_PER_CLIP, deviations, samples
from ml.sample_kitchen.guideme_layout import VIDEOS, answers
from ml.sample_kitchen.kitchen import BENCHMARK_FILES, MANIFEST, STAMP, read_manifest, write_sample_kitchen
from ml.sample_kitchen.plan import KitchenSizes, KitchenSource, plan
from ml.sample_kitchen.wording import feedback_text, instruction_text
from ml.sample_kitchen.world import KitchenSplit
from ml.sources.cook_mre import read_cook_mre_source, read_cook_samples
from ml.sources.guideme import read_guideme_source

SIZES = replace(KitchenSizes().scaled(0.01), captaincook4d_evaluation=2, ego_mc_bench=1)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    return write_sample_kitchen(tmp_path_factory.mktemp("kitchen"), SIZES, seed=5, processes=1)


@pytest.fixture(scope="module")
def default_entries():
    return plan(KitchenSizes(), 0)


def test_both_benchmarks_are_read_by_their_importers_with_every_video(kitchen):
    root = kitchen.root
    guideme = read_guideme_source(root / "guideme", root / "ego_mc_bench", source="g")
    cook = read_cook_mre_source(root / "cook_mre", root / "captaincook4d", source="c")
    assert guideme.recordings.height == 1
    for imported in (guideme, cook):
        assert imported.recordings["video_path"].null_count() == 0
        assert not imported.problems.height
        assert imported.recordings["licence"].unique().to_list() == ["Apache-2.0"]
    assert len(read_cook_samples(root / "cook_mre")) > 5


def test_a_kitchen_from_before_gets_the_new_files_and_nothing_else_changes(kitchen):
    root = kitchen.root
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}
    new = [root / folder / file for folder, file in BENCHMARK_FILES]
    for path in new:
        path.unlink()
    write_sample_kitchen(root, SIZES, seed=5, processes=1)
    after = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}
    assert after.keys() == before.keys()
    licences = {root / folder / "LICENSE" for folder, _ in BENCHMARK_FILES}
    assert {p for p in before if before[p][1] != after[p][1]} == {*new, *licences}
    assert all(before[p][0] == after[p][0] for p in before)
    assert (root / STAMP).exists()
    assert read_manifest(root) == kitchen
    assert (root / MANIFEST).exists()


def test_dialogues_follow_the_script(default_entries):
    """Every mistake is named in the second in which it becomes apparent, and put right two seconds later."""
    entries = [e for e in default_entries if e.source is KitchenSource.EGO_MC_BENCH and e.part == "test"][:VIDEOS]
    assert len(entries) == VIDEOS
    for entry in entries:
        turns = answers(entry.recording)
        seconds = [second for second, _, _ in turns]
        assert seconds == sorted(set(seconds))
        assert seconds[-1] <= entry.recording.duration_s + 1
        errors = {second: text for second, category, text in turns if category == "error"}
        for step in entry.recording.steps:
            text = instruction_text(step.instruction)
            assert any(text[1:] in said for _, category, said in turns if category == "instruction")
            if step.mistake is not None:
                wrong = feedback_text(step.instruction, step.performed).split(", ")[0]
                found = [second for second, said in errors.items() if said == f"{wrong}."]
                assert any(abs(second - int(step.mistake.apparent_s)) <= 1 for second in found)
        assert len(errors) == sum(step.mistake is not None for step in entry.recording.steps)
        assert sum(category == "correction" for _, category, _ in turns) == len(errors)


def test_timestamps_of_the_file_are_whole_seconds(kitchen):
    raw = json.loads((kitchen.root / "guideme" / "annotation_test.json").read_text())
    assert all(isinstance(turn["timestamp"], int) for item in raw for turn in item["conversations"])
    assert [item.start_s for _, item in read_items(kitchen.root / "guideme")] == [0.0]


def test_a_deviation_changes_one_element_only(default_entries):
    entries = [e for e in default_entries if e.source is KitchenSource.CAPTAINCOOK4D and e.split is KitchenSplit.EVALUATION]
    seen = set()
    for entry in entries[:20]:
        for step in entry.recording.steps:
            if step.instruction.kind not in ELEMENTS:
                continue
            original = instruction_text(step.instruction).split()
            for deviation in deviations(step):
                changed = deviation.instruction.split()
                seen.add(deviation.element)
                assert len(changed) == len(original)
                differing = [place for place, (a, b) in enumerate(zip(original, changed, strict=True)) if a != b]
                assert (differing == [0]) == (deviation.element == "verb")
                assert 1 <= len(differing) <= 2
                assert (deviation.difficulty is None) == (deviation.element in ("tool", "location"))
    assert seen == {"verb", "ingredient", "tool", "location"}


def test_samples_are_three_mistakes_to_one_correct_and_no_clip_asks_the_same_twice(default_entries):
    entries = [e for e in default_entries if e.source is KitchenSource.CAPTAINCOOK4D and e.split is KitchenSplit.EVALUATION]
    records = samples(entries)
    assert sum(record["class"] == "mistake" for record in records) == MISTAKES
    assert sum(record["class"] == "correct" for record in records) == CORRECT
    clips = {}
    for record in records:
        clips.setdefault((record["video"], record["start_time"]), []).append(record["instruction"])
        assert record["class"] == "mistake" or record["instruction"] == record["original_description"]
    assert all(len(asked) == len(set(asked)) <= SAMPLES_PER_CLIP for asked in clips.values())
    by_element = [record["element"] for record in records if record["class"] == "mistake"]
    assert {element: by_element.count(element) for element in set(by_element)} == dict.fromkeys(ELEMENT_NAMES, MISTAKES // 4)


ELEMENT_NAMES = ("verb", "ingredient", "tool", "location")
