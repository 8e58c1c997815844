import json

import polars as pl
import pytest

from ml.errors import InputError
from ml.mixes.export_all import Layout, cut_clips, export_mix, licences_of, read_back, read_dataset_folder
from ml.mixes.mix import MixSettings, build_mix
from tests.ml.comist.made import recording, recordings
from tests.ml.mixes.made import sample, samples
from tests.ml.video.films import make_film, number_of

SUCCESS = {"t_s": 4.0, "kind": "success", "text": "Well done."}
FEEDBACK = {"t_s": 3.0, "kind": "feedback", "text": 'You add 3 scoops; "2½" were asked.'}


@pytest.fixture
def frame(tmp_path) -> pl.DataFrame:
    film = str(make_film(tmp_path / "film.mp4", 200))
    other = str(make_film(tmp_path / "other.mp4", 200))
    clip = {"start_s": 1.0, "end_s": 5.0, "video_path": film}
    rows = [
        sample("a", messages=[FEEDBACK], **clip),
        sample("b", recording_id="ego_comist/a", messages=[SUCCESS], mistake_type=None, **clip),
        sample("c", "qicd", messages=[FEEDBACK, SUCCESS], **clip | {"video_path": other}, split="validation"),
    ]
    return build_mix("m", MixSettings(weights={"ego_comist": 2, "qicd": 1}, allow_missing=True), [samples(*rows)]).frame


def test_every_layout_is_written_and_read_back(frame, tmp_path):
    made = export_mix(frame, tmp_path / "out", licences={"qicd": "research only"})
    assert [one.layout for one in made] == list(Layout)
    assert {one.samples for one in made} == {3}
    assert all(one.size_bytes > 0 and one.files for one in made)
    assert not list((tmp_path / "out").rglob(".*"))
    assert "research only" in (tmp_path / "out" / "datasets" / "README.md").read_text()
    again = export_mix(frame, tmp_path / "out", [Layout.QWEN])
    assert [one.layout for one in again] == [Layout.QWEN]


def test_the_datasets_library_loads_the_folder(frame, tmp_path):
    import datasets

    export_mix(frame, tmp_path, [Layout.DATASETS, Layout.QICD])
    by_split = read_dataset_folder(tmp_path / "datasets")
    assert {name: rows.height for name, rows in by_split.items()} == {"train": 2, "validation": 1}
    for folder, configuration in (("datasets", "default"), ("qicd", "main")):
        loaded = datasets.load_dataset(str(tmp_path / folder), configuration, cache_dir=str(tmp_path / "cache"))
        assert {name: rows.num_rows for name, rows in loaded.items()} == {"train": 2, "validation": 1}


@pytest.mark.parametrize(
    ("layout", "file", "broken"),
    [
        (Layout.JSONL, "m.jsonl", lambda row: row | {"start_s": "soon"}),
        (Layout.MS_SWIFT, "train.jsonl", lambda row: row | {"videos": []}),
        (Layout.LLAMA_FACTORY, "train.jsonl", lambda row: row | {"conversations": row["conversations"][::-1]}),
        (Layout.QWEN, "train.jsonl", lambda row: row | {"video": []}),
    ],
)
def test_a_file_that_breaks_its_readers_rules_is_found_when_read_back(frame, tmp_path, layout, file, broken):
    export_mix(frame, tmp_path, [layout])
    path = tmp_path / layout / file
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(broken(row)) + "\n" for row in rows))
    with pytest.raises(InputError):
        read_back(layout, tmp_path / layout)


def test_cut_clips_are_shared_by_twins_and_hold_their_part_of_the_video(frame, tmp_path):
    import av

    clips = cut_clips(frame, tmp_path / "clips")
    assert set(clips) == {"a", "b", "c"}
    assert clips["a"] == clips["b"] != clips["c"]
    with av.open(str(clips["a"])) as container:
        numbers = [number_of(one.to_ndarray(format="rgb24")) for one in container.decode(video=0)]
    assert numbers == list(range(25, 125))
    export_mix(frame, tmp_path / "out", [Layout.MS_SWIFT], clips=clips)
    row = json.loads((tmp_path / "out" / "ms_swift" / "train.jsonl").read_text().splitlines()[0])
    assert row["videos"] == [str(clips["a"])]
    assert row["messages"][2]["content"].startswith("2.0 s: Feedback")


def test_licences_are_those_of_the_recordings_behind_a_dataset(frame):
    known = recordings(recording("ego_comist/a", licence="Apache-2.0"), recording("qicd/c", licence="research only"))
    assert licences_of(frame, known) == {"ego_comist": "Apache-2.0", "qicd": "research only"}


def test_an_empty_mix_is_refused(frame, tmp_path):
    with pytest.raises(InputError, match="no samples"):
        export_mix(frame.clear(), tmp_path)
