"""Assistants that ask a model, over the offline backend: what they ask, when, and what failures become."""

from itertools import repeat

import numpy as np
import polars as pl
import pytest

from ml.benchmarks.assistants.clips import ClipQuestion, SingleClipAssistant
from ml.benchmarks.assistants.interface import Answered, LookAheadError
from ml.benchmarks.assistants.per_second import PerSecondAssistant, Said
from ml.benchmarks.assistants.polling import RecentFeedback, read_yes_no
from ml.benchmarks.assistants.turn_based import NarrationAssistant, TurnBasedAssistant, TurnOptions, spread
from ml.benchmarks.cook_mre.judged import Judgement, always, judge_answers
from ml.benchmarks.cook_mre.metrics import CookOptions
from ml.benchmarks.cook_mre.protocol import FrameRule, uniform_times
from ml.benchmarks.cook_mre.samples import CookSample, hints_of
from ml.benchmarks.cook_mre.scores import score_cook
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.families import GuideMeVariant, Hints, History
from ml.benchmarks.guideme.conversations import GuideMeItem, Turn, as_video, read_guideme
from ml.benchmarks.guideme.grids import dense_ticks
from ml.benchmarks.guideme.protocol import WindowPictures, check_dialogue, run_guideme
from ml.benchmarks.protocols import run_full_recipe, run_per_step
from ml.benchmarks.running import AssistantUnusableError, check_run
from ml.errors import InputError, StopError
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.narration.narrator import Narration
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS
from ml.vocabulary import Status


def frames(recording_id, start_s, end_s):
    """Two small frames a second whose brightness is their time."""
    for index in range(1, int((end_s - start_s) * 2) + 1):
        t = start_s + index / 2
        yield np.full((1, 4, 4, 3), int(t) % 256, np.uint8), np.array([t])


def one_step(end_s=40.0):
    common = {"benchmark": "demo", "recording_id": "demo/a", "position": 0, "start_s": 0.0, "end_s": end_s}
    return BENCHMARK_STEPS.rows([{**common, "unit_id": "demo/a/0", "instruction": "stir"}])


def run(factory, end_s=40.0):
    return run_per_step(factory, one_step(end_s), frames, experiment="x", protocol="demo.per_step")


class Log:
    """A rule that notes its inputs and answers by time."""

    def __init__(self, answer):
        self.answer, self.inputs = answer, []

    def __call__(self, inputs):
        self.inputs.append(inputs)
        return self.answer(inputs)


def test_completion_is_asked_first_and_recent_feedback_is_given_back():
    complete = Log(lambda i: "YES, it is" if i["now_s"] >= 20 else "NO")
    mistake = Log(lambda i: "**YES** - Turn the heat down." if i["now_s"] in (5, 15) else "NO")
    client = Client(RulesBackend({"ego_step_complete": complete, "ego_step_mistake": mistake}))
    found = run(lambda: TurnBasedAssistant(client))
    assert found.select("t_s", "kind", "text").rows()[:2] == [
        (5.0, "feedback", "Turn the heat down."),
        (15.0, "feedback", "Turn the heat down."),
    ]
    assert found.select("t_s", "kind").rows()[-1] == (20.0, "success")
    assert [i["now_s"] for i in complete.inputs] == [5.0, 10.0, 15.0, 20.0]
    assert [i["now_s"] for i in mistake.inputs] == [5.0, 10.0, 15.0]
    assert [len(i["recent"]) for i in mistake.inputs] == [0, 1, 1]
    assert all(float(t) <= i["now_s"] for i in complete.inputs for t in i["times_s"])


def test_answers_that_cannot_be_read_are_no_event_and_are_counted():
    client = Client(RulesBackend({"ego_step_complete": lambda i: "Eyes on the pan", "ego_step_mistake": lambda i: "I would say yes"}))
    assistants = []

    def factory():
        assistants.append(TurnBasedAssistant(client))
        return assistants[-1]

    found = run(factory, 12.0)
    assert assistants[0].outcomes == {Status.UNPARSABLE: 4}
    assert found.select("kind", "status", "reason").rows() == [(None, "unparsable", "4 of 4 answers could not be read: unparsable 4")]
    with pytest.raises(InputError, match="all 1 items failed"):
        check_run(found)


@pytest.mark.parametrize("full_recipe", [False, True])
def test_a_step_of_which_some_answers_cannot_be_read_is_run_and_counted(full_recipe):
    """Three steps of 12 s, of which all, two of three, and no answers can be read."""
    steps = pl.concat([one_step(12.0 * n).with_columns(unit_id=pl.lit(f"demo/a/{n}"), position=pl.lit(n - 1, pl.Int64)) for n in (1, 2, 3)])
    steps = BENCHMARK_STEPS.check(steps.with_columns(start_s=pl.col("end_s") - 12.0, instruction=pl.format("step {}", "position")))

    replies = {"step 0": iter(["YES"]), "step 1": iter(["hm", "YES"]), "step 2": repeat("hm")}

    def complete(inputs):
        return next(replies[inputs["instruction"]])

    def mistake(inputs):
        return "NO" if inputs["instruction"] != "step 2" else "hm"

    assistant = TurnBasedAssistant(Client(RulesBackend({"ego_step_complete": complete, "ego_step_mistake": mistake})))
    play, protocol = (run_full_recipe, "demo.full_recipe") if full_recipe else (run_per_step, "demo.per_step.true_end")
    found = play(lambda: assistant, steps, frames, experiment="x", protocol=protocol)
    unread = found.filter(pl.col("status") == "unparsable")
    assert unread["unit_id"].to_list() == ["demo/a/2", "demo/a/3"]
    assert unread["reason"][0] == "1 of 3 answers could not be read: unparsable 1"
    messages = BENCHMARK_MESSAGES.empty()
    scores = score_ego(steps, messages, found)
    assert set(scores["n_unparsable"]) == {2}
    assert set(scores["n_missing"]) == {0}


def test_a_model_that_cannot_be_asked_ends_the_run():
    with pytest.raises(AssistantUnusableError, match="no rule"):
        run(lambda: TurnBasedAssistant(Client(RulesBackend({}))))


def test_narrations_go_to_the_helper_and_start_anew_with_a_step():
    seen = []

    def narrate(frames, times_s):
        seen.append((times_s[0], times_s[-1], len(frames)))
        return Narration(f"note {len(seen)}")

    complete = Log(lambda i: "NO")
    mistake = Log(lambda i: "YES. Use a whisk." if len(i["narrations"]) == 2 else "NO")
    client = Client(RulesBackend({"narrated_step_complete": complete, "narrated_step_mistake": mistake}))
    found = run(lambda: NarrationAssistant(narrate, client), 15.0)
    assert found.select("t_s", "text").rows() == [(10.0, "Use a whisk.")]
    assert seen == [(0.5, 5.0, 10), (5.5, 10.0, 10), (10.5, 15.0, 10)]
    assert [len(i["narrations"]) for i in complete.inputs] == [1, 2, 3]


def narrated(*told, answer="NO"):
    """A run of one step of 15 s whose three windows are told as given, and what the helper was asked about."""
    telling = iter(told)
    helper = Log(lambda i: answer)
    client = Client(RulesBackend({"narrated_step_complete": helper, "narrated_step_mistake": helper}))

    def narrate(frames, times_s):
        one = next(telling)
        if isinstance(one, Exception):
            raise one
        return one

    return run(lambda: NarrationAssistant(narrate, client), 15.0), [i["narrations"] for i in helper.inputs]


NOTE, REFUSED = Narration("It boils."), Narration(None, Status.REFUSED, "no people")


def test_a_narrator_that_fails_fails_the_step():
    found, asked = narrated(NOTE, Narration(None, Status.ERROR, "HTTP 400"))
    assert found.select("status", "reason").rows() == [("error", "ModelCallError: narration at 10 s: error: HTTP 400")]
    assert len(asked) == 2
    with pytest.raises(InputError, match="all 1 items failed"):
        check_run(found)


@pytest.mark.parametrize("status", [Status.TRUNCATED, Status.REFUSED, Status.EMPTY, Status.UNPARSABLE])
def test_a_window_without_a_narration_is_counted_and_nothing_is_asked_about_it(status):
    found, asked = narrated(NOTE, Narration("It is cu", status, "cut"), NOTE)
    assert found.select("kind", "status", "reason").rows() == [
        (None, "ok", None),
        (None, "unparsable", f"1 of 5 answers could not be read: {status} 1"),
    ]
    told = ["0.5 s to 5 s: It boils.", "5.5 s to 10 s: (not narrated)", "10.5 s to 15 s: It boils."]
    assert asked == [told[:1]] * 2 + [told] * 2


def test_a_step_of_which_nothing_is_narrated_is_not_taken_for_silence():
    found, asked = narrated(REFUSED, REFUSED, REFUSED)
    assert asked == []
    assert found.select("status", "reason").rows() == [("unparsable", "3 of 3 answers could not be read: refused 3")]
    with pytest.raises(InputError, match="all 1 items failed"):
        check_run(found)


@pytest.mark.parametrize(
    "told", [InputError("no such model"), StopError("key refused"), Narration(None, Status.OVER_BUDGET, "no such model, key refused")]
)
def test_a_narrator_that_cannot_be_asked_ends_the_run(told):
    with pytest.raises(AssistantUnusableError, match=r"narrator.*(no such model|key refused)"):
        narrated(told)


def test_frames_of_a_request_are_bounded_and_end_with_the_last():
    assert spread(5, 8) == [0, 1, 2, 3, 4]
    chosen = spread(240, 32)
    assert len(chosen) == 32
    assert chosen[-1] == 239
    client = Client(RulesBackend({"ego_step_complete": lambda i: "NO", "ego_step_mistake": lambda i: "NO"}))
    assistant = TurnBasedAssistant(client, TurnOptions(history_s=10.0, max_images=4))
    run(lambda: assistant, 60.0)
    assert len(assistant._frames) <= 21
    assert len(assistant._pictures()[1]) == 4


@pytest.mark.parametrize(
    ("text", "is_yes", "rest"),
    [
        ("YES. Add more oil.", True, "Add more oil."),
        ("**YES** - wrong spoon", True, "wrong spoon"),
        ("no", False, ""),
        ("Eyes on it", None, ""),
        ("Yesterday it was", None, ""),
        ("<think>yes</think>NO.", False, ""),
        ("", None, ""),
    ],
)
def test_strict_yes_no(text, is_yes, rest):
    found = read_yes_no(text)
    assert (found.is_yes, found.rest) == (is_yes, rest)


def test_memory_reaches_back_one_minute():
    memory = RecentFeedback()
    for t, text in ((0.0, "old"), (40.0, "edge"), (99.0, "new")):
        memory.add(t, text)
    assert memory.at(100.0) == ["edge", "new"]


ITEM = GuideMeItem(
    "a",
    "a.mp4",
    "make tea",
    "boil water first",
    (Turn(0.0, "user", "help me"), Turn(3.0, "assistant", "Boil water.", "instruction"), Turn(6.4, "assistant", "Not milk.", "error")),
)


@pytest.mark.parametrize("history", list(History))
def test_dialogue_ends_before_now_in_every_history(history):
    heard = Log(lambda i: "Silent" if "Boil" in str(i["dialogue"]) else "Boil it")
    client = Client(RulesBackend({"guide": heard}))
    ticks = dense_ticks(ITEM.start_s, [t.t_s for t in ITEM.answers], 30.0, 3)
    said = run_guideme(PerSecondAssistant(client), ITEM, ticks, frames, GuideMeVariant(True, history))
    video = as_video(ITEM, ticks, {t: found.text for t, found in said})
    assert [x.t_s for x in video.instants] == list(ticks)
    assert [x.reference for x in video.instants if x.reference != "Silent"] == ["Boil water.", "Not milk."]
    by_time = dict(zip(ticks, (str(i["dialogue"]) for i in heard.inputs), strict=True))
    assert "help me" in by_time[0.0]
    assert ("Boil water." in by_time[4.0]) == (history is History.TRUE)
    assert all("Boil water." not in by_time[t] for t in (0.0, 1.0, 2.0, 3.0))
    assert all("Not milk." not in by_time[t] for t in ticks if t <= 6.0)
    assert ("Boil it" in by_time[4.0]) == (history is History.OWN)
    assert all("Silent" not in text for text in by_time.values())


def test_reference_text_later_than_now_fails():
    check_dialogue([Said(2.0, "assistant", "before")], 3.0)
    for turn in (Said(3.0, "assistant", "now"), Said(9.0, "assistant", "later"), Said(4.0, "user", "later")):
        with pytest.raises(LookAheadError):
            check_dialogue([turn], 3.0)


def test_an_instant_that_failed_is_missing_and_the_others_go_on():
    ticks = (0.0, 1.0, 2.0)
    failed = Answered(None, Status.ERROR, "gone")
    said = run_guideme(lambda moment: failed if moment.now_s == 1.0 else Answered("Silent"), ITEM, ticks, frames, GuideMeVariant(True))
    assert [found.text for _, found in said] == ["Silent", None, "Silent"]


def test_the_window_holds_no_later_frame_and_nothing_older_than_it():
    shown = {}

    def answer(moment):
        shown[moment.now_s] = len(moment.images)
        assert all(moment.now_s - 5.0 < t <= moment.now_s for t in moment.times_s)
        return Answered("Silent")

    run_guideme(answer, ITEM, tuple(float(t) for t in range(20)), frames, GuideMeVariant(True, window_s=5.0), WindowPictures(2.0))
    assert shown[2.0] == 4
    assert shown[19.0] == 10


def test_guideme_files_are_read_and_bad_ones_refused(tmp_path):
    path = tmp_path / "guideme.json"
    good = (
        '[{"video_id": "1", "videos": ["1.mp4"], "conversations": [{"from": "assistant", "value": "b", "timestamp": 5},'
        ' {"from": "user", "value": "a", "timestamp": 0}]}, {"video_id": "11", "conversations": []}]'
    )
    path.write_text(good)
    items = read_guideme(path)
    assert [item.video_id for item in items] == ["1", "11"]
    assert [turn.text for turn in items[0].turns] == ["a", "b"]
    for bad, field in (("timestamp", '"5"'), ("from", '"robot"'), ("value", "3")):
        path.write_text(
            good.replace('"timestamp": 5', '"timestamp": "5"')
            if bad == "timestamp"
            else good.replace('"assistant"', field)
            if bad == "from"
            else good.replace('"b"', field)
        )
        with pytest.raises(InputError) as error:
            read_guideme(path)
        assert error.value.field == bad


SAMPLES = [
    CookSample("s1", "clip1", "dice the onion", "slice the onion", "verb", "hard"),
    CookSample("s2", "clip1", "slice the carrot", "slice the onion", "ingredient", "easy"),
    CookSample("s3", "clip2", "slice the onion", "slice the onion", None, None, ("verb", "ingredient")),
]


def ask_clips(assistant, is_hinted):
    answers = {}
    for sample in SAMPLES:
        hints = hints_of(sample, Hints.OWN if is_hinted else Hints.NONE)
        question = ClipQuestion(sample.sample_id, sample.instruction, hints, (b"x",) * 16, (), lambda times: (), lambda text: None)
        answers |= {(sample.sample_id, hint): found.text for hint, found in zip(hints, assistant(question), strict=True)}
    return answers


@pytest.mark.parametrize("is_hinted", [False, True])
def test_cook_mre_from_clip_to_scores(is_hinted):
    asked = Log(lambda i: "No, they slice." if "onion" not in str(i["instruction"]) or "dice" in str(i["instruction"]) else "Yes.")
    judge = Client(
        RulesBackend(
            {
                "judge_presence": lambda i: "YES" if str(i["answer"]).startswith("No") else "NO",
                "judge_type": lambda i: "YES",
                "judge_observation": lambda i: "YES" if i["element"] == "verb" else "NO",
            }
        )
    )
    answers = ask_clips(SingleClipAssistant(Client(RulesBackend({"single_clip": asked}))), is_hinted)
    assert len(answers) == (4 if is_hinted else 3)
    judged = judge_answers(judge, SAMPLES, answers, is_hinted=is_hinted)
    scores = score_cook(SAMPLES, judged, CookOptions(), experiment="x", protocol="cook_mre.default")

    def value(metric, group="all"):
        return scores.filter((pl.col("metric") == metric) & (pl.col("group") == group))["value"][0]

    assert (value("type_acc"), value("corr_acc"), value("full_pass"), value("mpc_f1")) == (1.0, 0.5, pytest.approx(2 / 3), 1.0)
    assert value("corr_acc", "verb.hard") == 1.0
    assert value("corr_acc", "ingredient") == 0.0


def test_a_failed_clip_answer_is_unparsable_and_counted():
    answers: dict[tuple[str, str | None], str | None] = {(s.sample_id, None): None for s in SAMPLES}
    judged = judge_answers(Client(RulesBackend({})), SAMPLES, answers)
    assert judged.answers_failed == 3
    scores = score_cook(SAMPLES, judged, CookOptions(), experiment="x", protocol="cook_mre.default")
    assert scores.filter(pl.col("group") == "all")["n_missing"].unique().to_list() == [3]
    with pytest.raises(InputError, match="not judged"):
        score_cook(SAMPLES, Judgement({}), CookOptions(), experiment="x", protocol="cook_mre.default")


def test_cook_floors_and_frame_times():
    floor = score_cook(SAMPLES, always(SAMPLES, True), CookOptions(), experiment="floor_mistake", protocol="cook_mre.default")
    assert floor.filter((pl.col("metric") == "full_pass") & (pl.col("group") == "all"))["value"][0] == 0.0
    assert uniform_times(0.0, 16.0)[:2] == [0.5, 1.5]
    assert uniform_times(0.0, 15.0, rule=FrameRule.ENDS)[-1] == 15.0
    with pytest.raises(InputError, match="no element"):
        CookSample("s", "c", "a", "b", "colour")
