import json

import polars as pl
import pyarrow.dataset as pa_dataset
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.mixes.chat_exports import (
    check_llama_factory,
    check_ms_swift,
    check_qwen,
    exchanges,
    export_llama_factory,
    export_ms_swift,
    export_qwen,
    read_answer,
)
from ml.mixes.exports import export_dataset_folder, export_jsonl, export_parquet, write_text
from ml.mixes.mix import MixSettings, build_mix
from ml.mixes.qicd_export import check_qicd, export_qicd, qicd_rows
from ml.sources.qicd import read_qicd
from ml.tables.declarations.training import TRAINING_MIX
from tests.file_limit import largest_file
from tests.ml.mixes.made import sample, samples

SUCCESS = {"t_s": 40.0, "kind": "success", "text": "Well done."}
FEEDBACK = {"t_s": 30.0, "kind": "feedback", "text": 'You add 3 scoops; "2½" were asked.'}


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rows = [
        sample("a", messages=[FEEDBACK]),
        sample("b", messages=[SUCCESS], mistake_type=None, instruction="Jalapeño dazu geben"),
        sample("c", "qicd", messages=[SUCCESS, {**FEEDBACK, "t_s": 40.0}]),
        sample("d", "qicd", messages=[{**FEEDBACK, "text": "That is another step."}], mistake_type=None, split="validation"),
    ]
    return build_mix("m", MixSettings(weights={"ego_comist": 2, "qicd": 1}), [samples(*rows)]).frame


def test_jsonl_and_parquet_hold_every_row_and_value(frame, tmp_path):
    assert export_jsonl(frame, tmp_path / "out" / "mix.jsonl") == 4
    lines = (tmp_path / "out" / "mix.jsonl").read_text().splitlines()
    assert TRAINING_MIX.rows([json.loads(line) for line in lines]).equals(frame)
    export_parquet(frame, tmp_path / "mix.parquet")
    assert pl.read_parquet(tmp_path / "mix.parquet").equals(frame)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"mix.jsonl"}


def test_a_full_disk_leaves_no_part_of_a_file(frame, tmp_path):
    with largest_file(100):
        with pytest.raises(OSError, match="File too large"):
            export_jsonl(frame, tmp_path / "mix.jsonl")
        with pytest.raises(pl.exceptions.ComputeError):
            export_parquet(frame, tmp_path / "mix.parquet")
        with pytest.raises(OSError, match="File too large"):
            write_text(tmp_path / "card.md", "x" * 1000)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_names_its_splits_as_the_datasets_library_reads_them(frame, tmp_path):
    export_dataset_folder(frame, tmp_path, {"ego_comist": "Apache-2.0"})
    card = (tmp_path / "README.md").read_text()
    config = yaml.safe_load(card.split("---")[1])["configs"][0]
    loaded = {}
    for entry in config["data_files"]:
        files = sorted(tmp_path.glob(entry["path"]))
        loaded[entry["split"]] = pl.DataFrame(pa_dataset.dataset(files, format="parquet").to_table())
    assert set(loaded) == {"train", "validation"}
    for split, rows in loaded.items():
        assert rows.equals(frame.filter(pl.col("split") == split))
    assert "| ego_comist | train | 2 | Apache-2.0 |" in card
    assert "| qicd | validation | 1 | not stated |" in card


def test_qicd_layout_is_read_back_by_the_importer(frame, tmp_path):
    paths = export_qicd(frame, tmp_path, {"ego_comist/a": "Ramen"})
    assert [path.name for path in paths] == ["train-00000-of-00001.parquet", "validation-00000-of-00001.parquet"]
    got = read_qicd(tmp_path, None, source="qicd")
    assert got.recordings.height == 4
    said = got.messages.select("recording_id", "t_s", "kind", "mistake_type", "text").rows()
    assert ("qicd/a", 10.0, "instruction", None, "Add 2 scoops of rice") in said
    assert ("qicd/a", 30.0, "feedback", "measurement", FEEDBACK["text"]) in said
    assert ("qicd/b", 40.0, "success", None, "Well done.") in said
    assert ("qicd/d", 30.0, "feedback", None, "That is another step.") in said
    kinds = got.messages.filter(pl.col("recording_id") == "qicd/c")["kind"].to_list()
    assert kinds == ["instruction", "feedback", "success", "finish"]


def test_several_samples_of_a_video_are_takes_of_their_own_in_the_qicd_layout(tmp_path):
    common = {"recording_id": "ego_comist/8_16", "video_path": "/videos/8_16.mp4"}
    rows = [sample("p/clean", messages=[SUCCESS], mistake_type=None, **common), sample("p/counterfactual", **common), sample("q")]
    mixed = build_mix("m", MixSettings(weights={"ego_comist": 1.0}), [samples(*rows)]).frame
    export_qicd(mixed, tmp_path)
    got = read_qicd(tmp_path, None, source="x")
    assert sorted(got.recordings["native_id"]) == ["8_16~1", "8_16~2", "q"]
    written = pl.read_parquet(tmp_path / "main" / "*.parquet")
    assert dict(written.select("video_id", "video").iter_rows()) == {"8_16~1": "8_16", "8_16~2": "8_16", "q": "q"}
    card = yaml.safe_load((tmp_path / "README.md").read_text().split("---")[1])["configs"]
    assert [entry["config_name"] for entry in card] == ["main"]
    assert [len(list(tmp_path.glob(part["path"]))) for part in card[0]["data_files"]] == [1]
    shared = [sample("a", recording_id="captaincook4d/8_16"), sample("b", recording_id="qicd/8_16")]
    both = qicd_rows(build_mix("m", MixSettings(weights={"ego_comist": 1.0}), [samples(*shared)]).frame)
    assert sorted(both["video_id"]) == ["8_16~1", "8_16~2"]
    with pytest.raises(InputError, match="stands in two rows"):
        check_qicd([*qicd_rows(mixed).iter_rows(named=True), *qicd_rows(mixed).iter_rows(named=True)])


def test_rows_that_break_the_qicd_rules_are_named(frame):
    good = qicd_rows(frame).row(0, named=True)
    assert check_qicd([good]) == 1
    bad = {
        "lengths": {**good, "output_texts": good["output_texts"][:-1]},
        "unknown type": {**good, "output_types": ["instruction", "order_error", "feedback_finish_all"]},
        "no instruction": {**good, "output_types": ["feedback_action_aligned_success", *good["output_types"][1:]]},
        "closes": {**good, "output_types": [*good["output_types"][:-1], "feedback_action_aligned_success"]},
        "follows": {**good, "output_timestamps": [10.0, 9.0, 40.0]},
        "without an answer": {**good, "output_types": ["instruction", "instruction", "feedback_finish_all"]},
    }
    for message, row in bad.items():
        with pytest.raises(InputError, match=message):
            check_qicd([row])


def rows_of(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_ms_swift(frame, tmp_path):
    train, validation = export_ms_swift(frame, tmp_path)
    first = rows_of(train)[0]
    assert [m["role"] for m in first["messages"]] == ["system", "user", "assistant"]
    assert first["videos"] == ["/videos/ego_comist/a.mp4"]
    assert first["messages"][1]["content"].count("<video>") == 1
    assert "from 10.0 s to 40.0 s" in first["messages"][1]["content"]
    assert first["messages"][2]["content"] == f"30.0 s: Feedback: {FEEDBACK['text']}"
    assert len(rows_of(validation)) == 1
    for broken in (
        {**first, "videos": []},
        {**first, "messages": first["messages"][:-1]},
        {**first, "messages": first["messages"][1:] + first["messages"][:1]},
        {**first, "messages": [*first["messages"][:-1], {"role": "assistant", "content": " "}]},
        {"id": "x", "videos": []},
    ):
        with pytest.raises(InputError):
            check_ms_swift([broken])


def test_llama_factory(frame, tmp_path):
    paths = export_llama_factory(frame, tmp_path, "mix")
    info = json.loads((tmp_path / "dataset_info.json").read_text())
    assert set(info) == {"mix_train", "mix_validation"}
    for entry, path in zip(info.values(), paths, strict=True):
        assert entry["formatting"] == "sharegpt"
        rows = rows_of(tmp_path / entry["file_name"])
        assert rows == rows_of(path)
        for row in rows:
            assert isinstance(row[entry["columns"]["system"]], str)
            assert [turn["from"] for turn in row[entry["columns"]["messages"]]] == ["human", "gpt"]
            assert len(row[entry["columns"]["videos"]]) == 1
    broken = {**rows_of(paths[0])[0], "conversations": [{"from": "gpt", "value": "a"}, {"from": "human", "value": "<video>"}]}
    with pytest.raises(InputError, match="in turn"):
        check_llama_factory([broken])


def test_qwen(frame, tmp_path):
    train, _ = export_qwen(frame, tmp_path)
    row = rows_of(train)[1]
    assert set(row) == {"id", "video", "conversations"}
    assert row["conversations"][0]["value"].count("<video>") == 1
    assert "Jalapeño" in row["conversations"][0]["value"]
    for broken in (
        {**row, "video": ["a.mp4", "b.mp4"]},
        {**row, "conversations": [row["conversations"][0], {"from": "gpt", "value": "<video> done"}]},
    ):
        with pytest.raises(InputError):
            check_qwen([broken])


def test_times_count_from_the_clip_where_clips_are_cut(frame, tmp_path):
    made = {x.sample_id: x for x in exchanges(frame, {"a": tmp_path / "a.mp4"})}
    assert made["a"].video == str(tmp_path / "a.mp4")
    assert read_answer(made["a"].assistant) == [{"t_s": 20.0, "kind": "feedback", "text": FEEDBACK["text"]}]
    assert "stream" not in made["a"].user
    assert read_answer(made["b"].assistant)[0]["t_s"] == 40.0


def test_a_text_with_a_media_tag_is_refused(frame):
    with pytest.raises(InputError, match="media tag"):
        exchanges(frame.with_columns(pl.lit("Add <video> salt").alias("instruction")))


TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(lambda t: t.strip() and "<" not in t)


@settings(deadline=None)
@given(said=st.lists(st.tuples(st.floats(10.0, 40.0), st.sampled_from(["feedback", "success"]), TEXT), min_size=1, max_size=4))
def test_an_answer_reads_back_as_its_messages(said):
    messages = [{"t_s": t_s, "kind": kind, "text": text} for t_s, kind, text in said]
    frame = TRAINING_MIX.rows([{**sample("a", messages=messages), "mix": "m", "weight": 1.0}])
    got = read_answer(exchanges(frame)[0].assistant)
    assert [(m["kind"], m["text"]) for m in got] == [(kind, " ".join(text.split())) for _, kind, text in said]
    for message, (t_s, _, _) in zip(got, said, strict=True):
        assert abs(message["t_s"] - t_s) <= 0.0500001
