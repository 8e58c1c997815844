import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.comist.splits import SplitSettings, SplitUnit
from ml.errors import InputError
from ml.mixes.mix import MixSettings, build_mix, refusal_counts, speak_share
from tests.ml.mixes.made import sample, samples

ONE = MixSettings(weights={"ego_comist": 1.0})
SAID = {"t_s": 30.0, "kind": "feedback", "text": "No."}


def test_weights_are_the_shares_of_draws_in_each_split():
    rows = [sample(f"c{n}") for n in range(6)] + [sample(f"q{n}", "qicd") for n in range(3)] + [sample("g", "goalstep")]
    rows += [sample("cv", split="validation"), sample("qv", "qicd", split="validation")]
    frame = build_mix("plus", MixSettings(weights={"ego_comist": 60, "qicd": 30, "goalstep": 10}), [samples(*rows)]).frame
    sums = frame.group_by("split", "dataset").agg(pl.col("weight").sum())
    shares = {(split, dataset): weight for split, dataset, weight in sums.iter_rows()}
    assert shares["train", "ego_comist"] == pytest.approx(0.6)
    assert shares["train", "qicd"] == pytest.approx(0.3)
    assert shares["train", "goalstep"] == pytest.approx(0.1)
    assert shares["validation", "ego_comist"] == pytest.approx(2 / 3)
    assert set(frame["mix"]) == {"plus"}


def test_bad_rows_are_refused_and_counted_with_one_reason():
    rows = [
        sample("good"),
        sample("edge", messages=[{**SAID, "t_s": 40.04}]),
        sample("other", "unweighted"),
        sample("test", split="test"),
        sample("no video", video_path=None),
        sample("empty", end_s=10.0),
        sample("backwards", end_s=9.0, video_path=None),
        sample("nan", end_s=math.nan),
        sample("silent", messages=[]),
        sample("blank", messages=[{**SAID, "text": " "}]),
        sample("wordless", instruction=""),
        sample("early", messages=[{**SAID, "t_s": 9.0}]),
        sample("late", messages=[SAID, {**SAID, "t_s": 40.1}]),
        sample("untimed", messages=[SAID, {**SAID, "t_s": None}]),
        sample("not a time", messages=[{**SAID, "t_s": math.nan}]),
    ]
    mix = build_mix("m", ONE, [samples(*rows)])
    assert sorted(mix.frame["sample_id"]) == ["edge", "good"]
    assert refusal_counts(mix) == {
        "empty_clip": 2,
        "message_outside": 4,
        "no_message": 1,
        "no_text": 2,
        "no_video": 2,
        "not_in_mix": 1,
        "test_split": 1,
    }
    assert mix.refused.filter(pl.col("dataset") == "unweighted").rows() == [("unweighted", "not_in_mix", 1)]


def test_what_one_dataset_holds_out_is_held_out_for_all():
    video = "/videos/captaincook4d/8_16.mp4"
    rows = [
        sample("a", recording_id="captaincook4d/8_16", video_path=video, split="train"),
        sample("b", "qicd", recording_id="qicd/8_16", video_path=video, split="validation"),
        sample("c", recording_id="captaincook4d/1_7", split=None, video_path="/videos/1_7.mp4"),
        sample("d", "qicd", recording_id="qicd/1_7", split="test", video_path="/videos/1_7.mp4"),
        sample("e"),
        sample("f", "qicd"),
    ]
    mix = build_mix("m", MixSettings(weights={"ego_comist": 1, "qicd": 1}), [samples(*rows)])
    assert dict(mix.frame.select("sample_id", "split").iter_rows()) == {"a": "validation", "b": "validation", "e": "train", "f": "train"}
    files = {"a": None, "b": "splits.json"}  # the split of "a" was made stricter, which no file says
    assert files.items() <= dict(mix.frame.select("sample_id", "split_file").iter_rows()).items()
    assert dict(mix.frame.select("sample_id", "split_sha256").iter_rows())["b"] == "00ff"
    assert refusal_counts(mix) == {"test_split": 2}


@settings(max_examples=40, deadline=None)
@given(
    recordings=st.lists(st.sampled_from(["train", "validation", None]), min_size=1, max_size=12),
    windows=st.integers(1, 10),
    seed=st.integers(0, 5),
    order=st.randoms(use_true_random=False),
)
def test_no_recording_lies_in_two_splits_and_row_order_does_not_matter(recordings, windows, seed, order):
    """Field case: windows of one recording on both sides of the split."""
    rows = [
        sample(f"{r}-{w}-{kind}", recording_id=f"s/{r}", split=split, pair_id=f"{r}-{w}", instruction=kind)
        for r, split in enumerate([*recordings, "train"])
        for w in range(windows)
        for kind in ("clean", "counterfactual")
    ]
    wanted = MixSettings(weights={"ego_comist": 1.0}, split=SplitSettings(validation_share=0.4, seed=seed))
    mix = build_mix("m", wanted, [samples(*rows)])
    assert mix.frame.height == len(rows)
    for unit in ("recording_id", "pair_id", "video_path"):
        assert mix.frame.group_by(unit).agg(pl.col("split").n_unique())["split"].max() == 1
    given_split = {f"s/{r}": split for r, split in enumerate(recordings) if split}
    for recording_id, split in mix.frame.select("recording_id", "split").iter_rows():
        assert given_split.get(recording_id, split) == split
    assert mix.frame.group_by("split").agg(pl.col("weight").sum())["weight"].to_list() == pytest.approx(
        [1.0] * mix.frame["split"].n_unique()
    )
    order.shuffle(rows)
    assert build_mix("m", wanted, [samples(*rows)]).frame.equals(mix.frame)


def test_speak_share_counts_messages_per_streamed_step():
    rows = [sample("a", start_s=0.0, end_s=30.0, messages=[SAID]), sample("b", "qicd", start_s=25.0, end_s=35.0, messages=[SAID, SAID])]
    mix = build_mix("m", MixSettings(weights={"ego_comist": 0.75, "qicd": 0.25}), [samples(*rows)])
    shares = mix.speak_share.rows_by_key(["split", "dataset"], named=True, unique=True)
    assert shares["train", "ego_comist"]["speak_share"] == pytest.approx(1 / 30)
    assert shares["train", "qicd"]["speak_share"] == pytest.approx(2 / 10)
    assert shares["train", "all"]["speak_share"] == pytest.approx((0.75 * 1 + 0.25 * 2) / (0.75 * 30 + 0.25 * 10))
    assert shares["train", "all"]["steps"] == 40
    assert speak_share(mix.frame, 0.5)["steps"].to_list() == [80, 60, 20]


def test_bad_settings_and_missing_datasets_are_named():
    with pytest.raises(InputError, match="qicd"):
        build_mix("m", MixSettings(weights={"ego_comist": 1, "qicd": 1}), [samples(sample("a"))])
    kept = build_mix("m", MixSettings(weights={"ego_comist": 1, "qicd": 1}, allow_missing=True), [samples(sample("a"))])
    assert kept.frame["weight"].to_list() == [1.0]
    with pytest.raises(InputError, match="no training sample"):
        build_mix("m", MixSettings(weights={"ego_comist": 1}, allow_missing=True), [samples(sample("a", video_path=None))])
    with pytest.raises(InputError, match="sample comes twice"):
        build_mix("m", ONE, [samples(sample("a")), samples(sample("a"))])
    with pytest.raises(InputError, match="positive"):
        MixSettings(weights={"ego_comist": 0.0})
    with pytest.raises(InputError, match="split by recording"):
        build_mix("m", MixSettings(split=SplitSettings(unit=SplitUnit.PERSON)), [])
