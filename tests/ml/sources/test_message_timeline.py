import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.sources.ego_mc_bench import read_ego_mc_bench
from ml.sources.message_timeline import TimelineColumns, message_kind
from ml.sources.qicd import read_qicd

OK, FINISH = "feedback_action_aligned_success", "feedback_finish_all"
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "video_id": pl.String,
    "activity_name": pl.String,
    "output_texts": pl.List(pl.String),
    "output_timestamps": pl.List(pl.Float64),
    "output_types": pl.List(pl.String),
}


def mistake(name):
    return f"feedback_action_aligned_mistake_{name}_error"


def write(path, videos, rename=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "video_id": video_id,
            "activity_name": "Mug Cake",
            "output_texts": [text for _, _, text in messages],
            "output_timestamps": [t for t, _, _ in messages],
            "output_types": [kind for _, kind, _ in messages],
        }
        for video_id, messages in videos.items()
    ]
    pl.DataFrame(rows, schema=SCHEMA).rename(rename or {}).write_parquet(path)
    return path


TIMELINE = [
    (2.0, "instruction", "Add 1 cup of flour"),
    (20.5, mistake("measurement"), "That were 2 cups."),
    (31.0, "instruction", "Stir it"),
    (44.0, OK, "Well done"),
    (44.0, "instruction", "Stir it"),
    (60.0, OK, "Good"),
    (60.0, FINISH, "You have finished all the steps."),
]


def qicd(tmp_path, messages, **keywords):
    write(tmp_path / "main" / "train-00000-of-00001.parquet", {"8_16": messages})
    return read_qicd(tmp_path, None, source="qicd", **keywords)


def test_a_step_per_instruction(tmp_path):
    source = qicd(tmp_path, TIMELINE)
    columns = ("instruction", "start_s", "end_s", "is_clean", "occurrence")
    assert source.steps.select(columns).rows() == [
        ("Add 1 cup of flour", 2.0, 31.0, False, 0),
        ("Stir it", 31.0, 44.0, True, 0),
        ("Stir it", 44.0, 60.0, True, 1),
    ]
    assert source.steps["error_tags"].to_list() == [[mistake("measurement")], [], []]
    assert source.steps["error_texts"][0].to_list() == ["That were 2 cups."]


def test_every_message_is_kept_with_its_step(tmp_path):
    source = qicd(tmp_path, TIMELINE)
    uids = source.steps["step_uid"].to_list()
    assert source.messages["kind"].to_list() == ["instruction", "feedback", "instruction", "success", "instruction", "success", "finish"]
    assert source.messages["step_uid"].to_list() == [uids[0], uids[0], uids[1], uids[1], uids[2], uids[2], None]
    assert source.messages["mistake_type"].drop_nulls().to_list() == ["measurement"]
    assert source.messages["native_type"].to_list() == [kind for _, kind, _ in TIMELINE]
    assert source.recordings["has_mistakes"].to_list() == [True]


def test_the_last_instruction_without_reply_is_kept_and_not_used(tmp_path):
    source = qicd(tmp_path, [*TIMELINE[:4], (44.0, "instruction", "Serve it")])
    last = source.steps.row(-1, named=True)
    assert (last["instruction"], last["start_s"], last["end_s"], last["status"]) == ("Serve it", 44.0, None, "skipped")
    assert "no reply" in last["reason"]
    assert not last["is_clean"]


def test_the_last_instruction_with_reply_ends_with_it(tmp_path):
    source = qicd(tmp_path, TIMELINE[:-1])
    assert source.steps.row(-1, named=True)["end_s"] == 60.0


def test_two_instructions_at_one_time(tmp_path):
    source = qicd(tmp_path, [(1.0, "instruction", "a"), (1.0, "instruction", "b"), (9.0, OK, "ok"), (9.0, FINISH, "done")])
    assert source.steps.select("instruction", "status").rows() == [("a", "skipped"), ("b", "ok")]
    assert source.steps.filter(instruction="b")["end_s"].to_list() == [9.0]


def test_an_instruction_at_the_time_of_a_closing_message(tmp_path):
    source = qicd(tmp_path, [(1.0, "instruction", "a"), (5.0, FINISH, "done"), (5.0, "instruction", "b"), (9.0, OK, "ok")])
    assert source.steps.select("start_s", "end_s").rows() == [(1.0, 5.0), (5.0, 9.0)]


def test_unsorted_messages_are_sorted_and_ties_keep_their_order(tmp_path):
    source = qicd(tmp_path, [TIMELINE[i] for i in (2, 0, 1, 3, 4, 5, 6)])
    assert source.messages["t_s"].is_sorted()
    assert source.messages["kind"].to_list()[3:5] == ["success", "instruction"]
    assert source.problems["kind"].to_list() == ["unsorted_messages"]


@pytest.mark.parametrize(
    ("native", "kind", "mistake_type", "is_odd"),
    [
        *((mistake(name), "feedback", name, False) for name in ("technique", "preparation", "measurement", "timing", "temperature")),
        ("feedback_action_unaligned_mistake_timing_error", "feedback", "timing", False),
        ("feedback_action_unaligned_success", "feedback", None, False),
        (OK, "success", None, False),
        (FINISH, "finish", None, False),
        ("clarification", "clarification", None, False),
        ("feedback_clarification", "clarification", None, False),
        ("user_comment", "comment", None, False),
        (mistake("order"), "feedback", None, True),
        ("something_new", "comment", None, True),
    ],
)
def test_types(native, kind, mistake_type, is_odd):
    found = message_kind(native)
    assert found[:2] == (kind, mistake_type)
    assert bool(found[2]) == is_odd


def test_another_step_than_asked_for_is_not_clean(tmp_path):
    source = qicd(
        tmp_path, [(0.0, "instruction", "a"), (4.0, "feedback_action_unaligned_success", "not asked"), (9.0, OK, "ok"), (9.0, FINISH, "")]
    )
    assert source.steps["is_clean"].to_list() == [False]
    assert source.problems["kind"].to_list() == ["blank_message"]


def test_clarifications_and_comments_stay_messages(tmp_path):
    write(
        tmp_path / "test-00000-of-00001.parquet",
        {
            "s1": [
                (0.0, "instruction", "a"),
                (3.0, "user_comment", "which cup?"),
                (4.0, "clarification", "the blue one"),
                (9.0, OK, "ok"),
                (9.0, FINISH, "f"),
            ]
        },
    )
    source = read_ego_mc_bench(tmp_path, None, source="mc")
    assert source.messages["kind"].to_list() == ["instruction", "comment", "clarification", "success", "finish"]
    assert source.recordings.select("split", "split_file").row(0) == ("test", "test-00000-of-00001.parquet")
    assert source.steps["is_clean"].to_list() == [True]


def test_splits_and_plan_sets_are_files(tmp_path):
    for plan_set in ("main", "advanced_planning"):
        for number, split in enumerate(("train", "validation", "test")):
            write(tmp_path / plan_set / f"{split}-00000-of-00001.parquet", {f"1_{number}": TIMELINE})
    source = read_qicd(tmp_path, None, source="q")
    assert source.recordings["split"].to_list() == ["train", "validation", "test"]
    assert source.recordings["split_sha256"].null_count() == 0
    assert read_qicd(tmp_path, None, source="q", plan_set="advanced_planning").recordings["split_file"][0].startswith("advanced_planning/")
    with pytest.raises(InputError, match="no plan set"):
        read_qicd(tmp_path, None, source="q", plan_set="other")


def test_plan_sets_that_contradict_each_other_are_a_leak(tmp_path):
    write(tmp_path / "main" / "test-0.parquet", {"1_1": TIMELINE, "1_2": TIMELINE})
    write(tmp_path / "advanced_planning" / "train-0.parquet", {"1_2": TIMELINE})
    details = read_qicd(tmp_path, None, source="q").problems.filter(kind="split_leak")["detail"].to_list()
    assert details == ["1 of 2 test videos of these timelines are in train of advanced_planning/train-0.parquet: 1_2"]


def test_videos_are_those_of_captaincook4d(tmp_path):
    video = tmp_path / "cc" / "gopro" / "resolution_360p" / "8_16_360p.mp4"
    video.parent.mkdir(parents=True)
    video.touch()
    write(tmp_path / "q" / "main" / "test-0.parquet", {"8_16": TIMELINE})
    assert read_qicd(tmp_path / "q", tmp_path / "cc", source="q").recordings["video_path"].to_list() == [str(video)]


def test_a_release_with_other_column_names(tmp_path):
    write(tmp_path / "test-0.parquet", {"s1": TIMELINE}, rename={"output_texts": "texts"})
    with pytest.raises(InputError, match=r"columns output_texts are missing.*Found: video_id, activity_name, texts"):
        read_ego_mc_bench(tmp_path, None, source="mc")
    renamed = TimelineColumns().renamed({"texts": "texts"})
    assert read_ego_mc_bench(tmp_path, None, source="mc", columns=renamed).messages.height == len(TIMELINE)
    with pytest.raises(InputError, match=r"no column 'text'.*Columns: video_id, activity, texts"):
        TimelineColumns().renamed({"text": "texts"})


def test_bad_rows(tmp_path):
    path = write(tmp_path / "main" / "train-0.parquet", {"8_16": TIMELINE})
    frame = pl.read_parquet(path)
    frame.with_columns(output_types=pl.col("output_types").list.head(3)).write_parquet(path)
    with pytest.raises(InputError, match="record 8_16: the arrays differ in length"):
        read_qicd(tmp_path, None, source="q")
    pl.concat([frame, frame]).write_parquet(path)
    with pytest.raises(InputError, match="stands in"):
        read_qicd(tmp_path, None, source="q")
    frame.with_columns(output_timestamps=pl.lit([None] * 7, dtype=pl.List(pl.Float64))).write_parquet(path)
    with pytest.raises(InputError, match="8_16, message 0, field output_timestamps"):
        read_qicd(tmp_path, None, source="q")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a whole Parquet file"):
        read_qicd(tmp_path, None, source="q")


def test_an_empty_timeline_is_a_row(tmp_path):
    row = qicd(tmp_path, []).recordings.row(0, named=True)
    assert (row["status"], row["reason"]) == ("empty", "the timeline holds no instruction")


KINDS = st.sampled_from(["instruction", OK, mistake("timing"), FINISH, "clarification"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20).map(float), KINDS, st.sampled_from("abc")), max_size=12))
def test_every_instruction_is_a_step_and_every_message_a_row(tmp_path_factory, messages):
    source = qicd(tmp_path_factory.mktemp("q"), messages)
    assert source.messages.height == len(messages)
    assert source.steps.height == sum(kind == "instruction" for _, kind, _ in messages)
    owners = source.messages.filter(kind="instruction")["step_uid"]
    assert sorted(owners) == sorted(source.steps["step_uid"])
    usable = source.steps.filter(status="ok")
    assert (usable["end_s"] > usable["start_s"]).all()
