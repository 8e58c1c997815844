"""Streaming checkpoints on GuideMe: which request is in force, when a message is said, and that later turns change nothing earlier."""

from dataclasses import replace
from fractions import Fraction

import pytest

from ml.benchmarks.families import History
from ml.benchmarks.guideme.conversations import GuideMeItem, Turn
from ml.benchmarks.running import RunJournal
from ml.benchmarks.streaming_guidance import Request, predict_guidance, request_in, requests_of
from ml.errors import InputError
from ml.sample_kitchen.guideme_layout import answers
from ml.sample_kitchen.script import make_recording
from ml.sample_kitchen.video_file import write_video
from ml.sample_kitchen.world import KitchenSplit
from ml.streaming.features import FeatureCache
from ml.streaming.model import load_model
from ml.streaming.untuned import UntunedSpeaker
from ml.streaming.weights_location import WEIGHTS_FOLDER

ITEM = GuideMeItem(
    "v",
    None,
    "",
    "",
    (
        Turn(0.0, "user", "Help me with soup."),
        Turn(3.0, "assistant", "Sure. First, dice the onion."),
        Turn(20.0, "assistant", "You are slicing it."),
        Turn(22.0, "assistant", "Cut the slices across."),
        Turn(40.0, "assistant", "Good. Now boil the water."),
    ),
)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Good, the eggs are beaten. Now add 2 scoops of flour to the bowl.", "Add 2 scoops of flour to the bowl."),
        ("Take out what is too much and add only 2.", "Take out what is too much and add only 2."),
        ("Great! You can now tighten the screw.", "Tighten the screw."),
        ("It's time to flip the pancake.", "Flip the pancake."),
        ("You added more than 2 scoops.", None),
        ("Good, the burner is on low. You have finished all the steps.", None),
        ("Perfect.", None),
        ("", None),
    ],
)
def test_the_request_in_a_turn(text, asked):
    assert request_in(text) == asked


def test_requests_follow_each_other_and_own_history_knows_the_user_only():
    assert requests_of(ITEM, History.TRUE, 50.0) == [
        Request("Help me with soup.", 0.0, 3.0),
        Request("Dice the onion.", 3.0, 22.0),
        Request("Cut the slices across.", 22.0, 40.0),
        Request("Boil the water.", 40.0, 50.0),
    ]
    assert requests_of(ITEM, History.OWN, 50.0) == [Request("Help me with soup.", 0.0, 50.0)]
    assert requests_of(ITEM, History.TRUE, 3.0) == [Request("Help me with soup.", 0.0, 3.0)]


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    """An item over a real video of the kitchen, the untuned base and its features."""
    folder = tmp_path_factory.mktemp("videos")
    recording = make_recording(9_002, KitchenSplit.EVALUATION)
    write_video(recording, folder / "v.mp4", Fraction(4))
    said = tuple(Turn(float(second), "assistant", text, category) for second, category, text in answers(recording))
    item = GuideMeItem("v", str(folder / "v.mp4"), "", "", (Turn(0.0, "user", "Help me."), *said), float(recording.duration_s))
    speaker = UntunedSpeaker(load_model(WEIGHTS_FOLDER))
    return item, speaker, FeatureCache(folder / "features", speaker.model)


def spoken(frame):
    return [(t_s, text) for t_s, text in frame.select("t_s", "said").iter_rows() if text != "Silent"]


def test_messages_are_said_at_the_next_instant_and_later_turns_change_nothing(kitchen):
    item, speaker, features = kitchen
    whole = predict_guidance(speaker, features, [item], experiment="e", protocol="b.dense")
    assert spoken(whole)
    assert whole["t_s"].to_list() == [float(second) for second in range(whole.height)]
    half = len(item.turns) // 2
    cut = predict_guidance(speaker, features, [replace(item, turns=item.turns[:half])], experiment="e", protocol="b.dense")
    until = item.turns[half].t_s
    assert [one for one in spoken(cut) if one[0] <= until] == [one for one in spoken(whole) if one[0] <= until]
    anchors = predict_guidance(speaker, features, [item], experiment="e", protocol="b.anchor")
    assert set(spoken(anchors)) == {one for one in spoken(whole) if one[0] in set(anchors["t_s"])}


def test_a_video_that_cannot_be_read_is_a_failed_row_per_instant(kitchen, tmp_path):
    item, speaker, features = kitchen
    blind = predict_guidance(speaker, features, [replace(item, video_file=None)], experiment="e", protocol="b.anchor")
    assert set(blind["status"]) == {"no_video"}
    gone = predict_guidance(speaker, features, [replace(item, video_file=str(tmp_path / "gone.mp4"))], experiment="e", protocol="b.anchor")
    assert set(gone["status"]) == {"bad_video"}
    assert gone["said"].null_count() == gone.height > 0
    with pytest.raises(InputError, match="no GuideMe protocol"):
        predict_guidance(speaker, features, [item], experiment="e", protocol="b.per_step")


def test_a_finished_video_is_not_run_again_and_one_that_raises_is_failed_rows(kitchen, tmp_path):
    item, speaker, features = kitchen
    items = [item, replace(item, video_id="w")]
    named = {"experiment": "e", "protocol": "b.anchor"}

    def end_early(done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_guidance(speaker, features, items, **named, journal=RunJournal(tmp_path / "run.jsonl", "v1"), progress=end_early)

    class Unreadable:
        def of_clip(self, *clip):
            raise RuntimeError("the decoder gave up")

    resumed = predict_guidance(speaker, Unreadable(), items, **named, journal=RunJournal(tmp_path / "run.jsonl", "v1"))
    assert resumed.group_by("recording_id").agg("status").sort("recording_id")["status"].list.unique().to_list() == [["ok"], ["error"]]
    assert spoken(resumed.filter(resumed["status"] == "ok")) == spoken(predict_guidance(speaker, features, [item], **named))
    assert set(resumed.filter(resumed["status"] == "error")["reason"]) == {"RuntimeError: the decoder gave up"}
