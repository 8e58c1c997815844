import json
import re

import polars as pl
import pytest

from ml.counterfactuals.mistake_rules import Question
from ml.counterfactuals.moments import feedback_slots
from ml.counterfactuals.registry import MISTAKE_RULES, offline_rules
from ml.counterfactuals.stages import as_fields, extract_attributes, infer_feedback_timestamps, make_counterfactuals, pair_id
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.tables.declarations.counterfactuals import ATTRIBUTES, COUNTERFACTUALS, FEEDBACK_TIMESTAMPS
from ml.vocabulary import Direction, MistakeType, Status
from tests.ml.counterfactuals.conftest import make_narrations, make_steps
from tests.ml.counterfactuals.readings import amount, duration, heat

KITCHEN = (
    "Add 3 scoops of cocoa to the bowl.",
    "Beat the eggs with a whisk.",
    "Slice the carrot.",
    "Turn the burner to medium.",
    "Cook the rice for 8 seconds.",
)


def pairs(client: Client, *texts: str, minimum_s: float = 2.0) -> pl.DataFrame:
    return make_counterfactuals(extract_attributes(make_steps(*texts), client), client, minimum_timing_change_s=minimum_s)


def one(frame: pl.DataFrame, mistake_type: str, direction: str) -> dict:
    return frame.row(by_predicate=(pl.col("mistake_type") == mistake_type) & (pl.col("direction") == direction), named=True)


def test_every_type_has_a_row_for_every_usable_step(client):
    steps = pl.concat([make_steps(*KITCHEN), make_steps("Dirty step", recording_id="test/2", is_clean=False)])
    attributes = ATTRIBUTES.check(extract_attributes(steps, client))
    assert attributes.group_by("step_uid").agg(pl.col("mistake_type").n_unique())["mistake_type"].to_list() == [5] * 5
    assert set(attributes["recording_id"]) == {"test/1"}
    without = attributes.filter(pl.col("status") != Status.OK)
    assert without["reason"].null_count() == 0
    assert set(without["status"]) == {Status.NOT_APPLICABLE}


def test_several_amounts_are_several_attributes(client):
    attributes = extract_attributes(make_steps("Whisk 2 eggs and 1 cup of milk"), client).filter(pl.col("mistake_type") == "measurement")
    assert attributes["attribute_index"].to_list() == [0, 1]
    assert as_fields(attributes["fields"][1]) == {"ingredient": "milk", "quantity": "1 cup"}


def test_directions_have_their_sense(client):
    made = COUNTERFACTUALS.check(pairs(client, *KITCHEN))
    for direction, sign in (("smaller", -1), ("greater", 1)):
        fields = as_fields(one(made, "measurement", direction)["fields"])
        assert (amount(fields["counterfactual_quantity"]).low - amount(fields["quantity"]).low) * sign > 0
        fields = as_fields(one(made, "timing", direction)["fields"])
        change = duration(fields["counterfactual_amount_of_time"]).low_s - duration(fields["amount_of_time"]).low_s
        assert change * sign >= 2
    for direction, sign in (("lower", -1), ("higher", 1)):
        fields = as_fields(one(made, "temperature", direction)["fields"])
        assert (heat(fields["counterfactual_heat_setting"]).rank - heat(fields["heat_setting"]).rank) * sign > 0


def test_feedback_tells_what_is_wrong_and_what_was_asked(client):
    made = pairs(client, *KITCHEN)
    less = one(made, "measurement", "smaller")
    asked = as_fields(less["fields"])["counterfactual_quantity"]
    assert asked in less["counterfactual_instruction"]
    assert f"more than {asked} of cocoa" in less["feedback"]
    more = one(made, "measurement", "greater")
    assert "only 3 scoops of cocoa" in more["feedback"]
    assert set(made.filter(pl.col("mistake_type") == "technique")["feedback"].drop_nulls().str.slice(0, 7)) == {"You are"}
    assert all("\n" not in text for text in made["feedback"].drop_nulls())


def test_a_counted_thing_agrees_with_its_number(client):
    made = pairs(client, "Crack 1 egg into the bowl", "Lay out 2 large lettuce leaves")
    greater = made.filter((pl.col("direction") == "greater") & (pl.col("step_uid") == "0#0"))["counterfactual_instruction"][0]
    assert greater in ("Crack 2 eggs into the bowl", "Crack 3 eggs into the bowl")
    smaller = made.filter((pl.col("direction") == "smaller") & (pl.col("step_uid") == "1#0"))["counterfactual_instruction"][0]
    assert smaller == "Lay out 1 large lettuce leaf"


def test_an_article_goes_with_its_amount(client):
    made = pairs(client, "Add a dozen eggs", "Add a half cup of milk", "Two eggs").filter(pl.col("mistake_type") == "measurement")
    texts = made["counterfactual_instruction"].to_list()
    assert {"Add eighteen eggs", "Add 1/3 cup of milk", "One egg"} <= set(texts)
    assert not any(re.search(r"\ban? (?:\w+teen|[a-z]+ eggs|\d|one)", text) for text in texts)
    assert "You used only two eggs, use three." in made["feedback"].to_list()


def test_a_closing_stop_is_not_part_of_a_setting(client):
    lower = one(pairs(client, "Heat the water to 195-205 °F or 91-96 °C."), "temperature", "lower")
    assert lower["counterfactual_instruction"].endswith("79 °C.")
    assert not lower["counterfactual_instruction"].endswith("..")
    assert ".," not in lower["feedback"]


@pytest.mark.parametrize(
    ("text", "barred"),
    [("chop or grate the cucumber", "grate"), ("Slice or dice the tomato", "dice"), ("Mix with a spoon or whisk", "whisk")],
)
def test_an_option_of_the_original_is_no_mistake(client, text, barred):
    ways = pairs(client, text).filter(pl.col("direction") == "alternative")
    assert not any(barred in (new or "").lower() for new in ways["counterfactual_instruction"])
    technique = one(pairs(answering(change_technique=barred), text), "technique", "alternative")
    assert technique["status"] == Status.INCONSISTENT


def test_vinegar_is_two_and_a_half(client):
    made = pairs(client, "Add 2½ tablespoons vinegar").filter(pl.col("mistake_type") == "measurement")
    assert as_fields(made["fields"][0])["quantity"] == "2½ tablespoons"
    assert not any("21/2" in text for text in made["counterfactual_instruction"])


def test_until_bars_a_timing_mistake(client):
    made = pairs(client, "Microwave for 15-30 more seconds or until almost set").filter(pl.col("mistake_type") == "timing")
    assert set(made["status"]) == {Status.NOT_APPLICABLE}
    assert all("until" in reason for reason in made["reason"])


def test_until_in_another_sentence_bars_nothing(client):
    made = pairs(client, "Boil the peas for 2 minutes. Keep them warm until dinner").filter(pl.col("mistake_type") == "timing")
    assert set(made["status"]) == {Status.OK}


def test_a_range_in_two_units_changes_as_a_whole(client):
    made = pairs(client, "Heat the water to 195-205 °F or 91-96 °C")
    lower = one(made, "temperature", "lower")
    new = heat(as_fields(lower["fields"])["counterfactual_heat_setting"])
    assert [reading.unit for reading in new.readings] == ["F", "C"]
    assert new.readings[0].number.high < 195
    assert new.readings[1].number.high < 91


def test_a_duration_range_is_left_as_a_whole(client):
    made = pairs(client, "Fry the peas for 2-3 minutes", minimum_s=15.0)
    assert duration(as_fields(one(made, "timing", "smaller")["fields"])["counterfactual_amount_of_time"]).high_s <= 105
    assert duration(as_fields(one(made, "timing", "greater")["fields"])["counterfactual_amount_of_time"]).low_s >= 195


def test_to_taste_is_no_amount(client):
    made = pairs(client, "Add 1 tablespoon panko, or to taste", "Add salt to taste").filter(pl.col("mistake_type") == "measurement")
    assert set(made["step_uid"]) == {"0#0"}
    assert set(made["status"]) == {Status.OK}


def test_the_least_timing_change_is_a_setting(client):
    assert set(pairs(client, "Cook the rice for 8 seconds.", minimum_s=15.0).filter(pl.col("direction") == "smaller")["status"]) == {
        Status.NOT_APPLICABLE
    }


def test_equal_instructions_are_asked_once():
    asked: list[str] = []

    def count(task):
        def answer(inputs):
            asked.append(task)
            return offline_rules()[task](inputs)

        return answer

    counting = Client(RulesBackend({task: count(task) for task in offline_rules()}))
    attributes = extract_attributes(make_steps(*["Slice the carrot."] * 50), counting)
    assert len(asked) == 5
    assert attributes.height == 250
    made = make_counterfactuals(attributes, counting)
    assert made["pair_id"].n_unique() == made.height


def test_two_runs_make_the_same_frames(client):
    assert pairs(client, *KITCHEN).equals(pairs(Client(RulesBackend(offline_rules())), *KITCHEN))


def answering(**answers: str) -> Client:
    """A client whose task answers are given; every other task follows the rules."""
    functions = dict(offline_rules()) | {task.replace("_", ".", 1): (lambda inputs, text=text: text) for task, text in answers.items()}
    return Client(RulesBackend(functions))


def test_a_bad_reply_is_an_outcome_of_its_row_only():
    attributes = extract_attributes(make_steps("Slice the carrot."), answering(extract_technique='["cut"]'))
    status = dict(attributes.select("mistake_type", "status").iter_rows())
    assert status["technique"] == Status.UNPARSABLE
    assert status["preparation"] == Status.OK


@pytest.mark.parametrize(
    ("reply", "status"),
    [("5 scoops", Status.INCONSISTENT), ("many", Status.INCONSISTENT), ("None", Status.NOT_APPLICABLE), ("1 scoop", Status.OK)],
)
def test_a_changed_amount_on_the_wrong_side_is_inconsistent(reply, status):
    client = answering(change_measurement=reply)
    made = pairs(client, "Add 3 scoops of cocoa to the bowl.")
    assert one(made, "measurement", "smaller")["status"] == status


def test_a_synonym_is_inconsistent():
    made = pairs(answering(change_technique="cut"), "Chop the onion")
    assert one(made, "technique", "alternative")["status"] == Status.INCONSISTENT


def test_an_unchanged_instruction_is_inconsistent():
    made = pairs(answering(instruct_technique="Slice the carrot"), "Slice the carrot.")
    assert one(made, "technique", "alternative")["status"] == Status.INCONSISTENT


@pytest.mark.parametrize(
    ("text", "mistake_type", "said"),
    [
        ("Heat the water to 195-205 °F or 91-96 °C.", "temperature", "Heat the water to 150-160 F or 91-96 C."),
        ("Fry the egg for 5 minutes.", "timing", "Fry the egg for 5 minutes and 2 seconds."),
        ("Add 1/4 cup or 60 ml of milk.", "measurement", "Add some milk or 60 ml."),
        ("Slice the carrot.", "technique", "Slice the carrot well."),
    ],
)
def test_a_text_of_a_model_must_ask_for_the_change(text, mistake_type, said):
    made = pairs(answering(**{f"instruct_{mistake_type}": said}), text, minimum_s=15.0).filter(pl.col("mistake_type") == mistake_type)
    assert set(made["status"]) <= {Status.INCONSISTENT, Status.NOT_APPLICABLE}
    assert Status.INCONSISTENT in set(made["status"])
    assert made["feedback"].null_count() == made.height


@pytest.mark.parametrize("mistake_type", ["measurement", "timing", "temperature", "technique", "preparation"])
def test_feedback_of_a_model_must_name_what_was_asked(mistake_type):
    made = pairs(answering(**{f"feedback_{mistake_type}": "Great job!"}), *KITCHEN).filter(pl.col("mistake_type") == mistake_type)
    assert set(made["status"]) <= {Status.INCONSISTENT, Status.NOT_APPLICABLE}
    reasons = made.filter(pl.col("status") == Status.INCONSISTENT)["reason"].to_list()
    assert reasons
    assert all("feedback does not say" in reason for reason in reasons)


def test_slots_follow_the_window_grid_inside_the_clip():
    assert feedback_slots(0.0, 20.0) == [2.5, 7.5, 12.5, 17.5]
    assert feedback_slots(13.0, 27.0) == [14.0, 17.5, 22.5, 26.0]
    assert feedback_slots(14.6, 25.2) == [17.5, 22.5]
    assert feedback_slots(3.0, 3.4) == [3.2]


TOLD = (
    "The person adds 1 scoop of cocoa to the bowl.",
    "The person adds 2 scoops of cocoa to the bowl.",
    "The person adds 2 scoops of cocoa to the bowl. The person puts the cocoa away.",
    "The person adds 1 scoop of cocoa to the bowl. The person puts the cocoa away.",
)


def times(client: Client, text: str, *told: str, minimum_s: float = 2.0) -> pl.DataFrame:
    made = pairs(client, text, minimum_s=minimum_s)
    return FEEDBACK_TIMESTAMPS.check(infer_feedback_timestamps(made, make_steps(text), make_narrations(*told), client))


def test_amounts_in_overlapping_windows_are_counted_once(client):
    found = times(answering(change_measurement="2 scoops"), KITCHEN[0], *TOLD)
    # Scoops land in the slots 5-10, 10-15 and 15-20 s: the third is beyond two.
    assert one(found, "measurement", "smaller")["t_s"] == 17.5


def test_answers_are_checked_and_never_moved(client):
    made = pairs(client, "Turn the burner to medium.")
    narrations, steps = make_narrations("The person turns the burner to medium."), make_steps("Turn the burner to medium.")
    for reply, status in (
        ({"timestamp": 7.0}, Status.OFF_LIST),
        ({"timestamp": 900}, Status.OUT_OF_CLIP),
        ({"timestamp": None}, Status.NEVER_APPARENT),
        ({"time": 2.5}, Status.UNPARSABLE),
        ({"timestamp": 2.5}, Status.OK),
    ):
        found = infer_feedback_timestamps(made, steps, narrations, answering(timestamp_temperature=json.dumps(reply)))
        assert set(found["status"]) == {status}
        assert (found["t_s"].null_count() == 0) is (status is Status.OK)
    either = infer_feedback_timestamps(made, steps, narrations, answering(timestamp_temperature="{'timestamp': 2.5} or None"))
    assert set(either["status"]) == {Status.UNPARSABLE}


def test_timing_answers_must_fit_the_stated_times(client):
    text = "Cook the rice for 8 seconds."
    made = pairs(client, text)
    narrations = make_narrations("The person puts the rice on the burner.", "The person cooks the rice.")
    for start, critical, status in (
        (0.5, 2.5, Status.INCONSISTENT),
        (2.5, 17.5, Status.OK),
        (2.5, 16.0, Status.OFF_LIST),
        (50.0, 17.5, Status.OUT_OF_CLIP),
    ):
        reply = json.dumps({"start_timestamp": start, "critical_timestamp": critical})
        found = infer_feedback_timestamps(made, make_steps(text), narrations, answering(timestamp_timing=reply))
        greater = one(found, "timing", "greater")
        assert greater["status"] == status, (start, critical)


@pytest.mark.parametrize(
    ("performed", "direction", "start", "critical", "status"),
    [
        ("10 seconds", "greater", 2.5, 12.5, Status.OK),
        ("10 seconds", "greater", 2.5, 17.5, Status.OK),
        ("10 seconds", "greater", 2.5, 27.5, Status.INCONSISTENT),
        ("10 seconds", "greater", 2.5, 7.5, Status.INCONSISTENT),
        ("2 minutes", "greater", 2.5, 147.5, Status.OK),
        ("2 minutes", "greater", 2.5, 187.5, Status.INCONSISTENT),
        ("2 minutes", "greater", 2.5, 117.5, Status.INCONSISTENT),
        ("30 seconds", "smaller", 2.5, 12.5, Status.INCONSISTENT),
        ("30 seconds", "smaller", 2.5, 17.5, Status.OK),
        ("30 seconds", "smaller", 2.5, 37.5, Status.INCONSISTENT),
        ("30 seconds", "smaller", 183.0, 197.5, Status.OK),
        ("30 seconds", "smaller", 188.0, 197.5, Status.INCONSISTENT),
    ],
)
def test_timing_answers_lie_near_the_stated_time(performed, direction, start, critical, status):
    """The shorter time that is asked is 15 s. The last option, 197.5 s, stands for the clip's end at 200 s."""
    fields = {"amount_of_time": performed, "counterfactual_amount_of_time": "15 seconds" if direction == "smaller" else "4 minutes"}
    question = Question(fields, Direction(direction), feedback_slots(0.0, 200.0), 0.0, 200.0)
    reply = json.dumps({"start_timestamp": start, "critical_timestamp": critical})
    assert MISTAKE_RULES[MistakeType.TIMING].read_moment(reply, question).status == status


def test_a_timer_tells_the_start_of_cooking(client):
    found = times(
        client,
        "Cook the rice for 8 seconds.",
        "The person puts the rice on the burner. The person cooks the rice, the timer shows 4 seconds.",
        "The person cooks the rice, the timer shows 8 seconds. The person takes the rice off the burner.",
        "The person takes the rice off the burner.",
    )
    smaller = one(found, "timing", "smaller")
    assert smaller["cooking_start_s"] == pytest.approx(5.0, abs=1.5)
    assert smaller["t_s"] > smaller["cooking_start_s"]


def test_clips_without_narrations_or_times_are_rows(client):
    made = pairs(client, KITCHEN[3])
    silent = infer_feedback_timestamps(made, make_steps(KITCHEN[3]), make_narrations(None, status="no_video", reason="no file"), client)
    assert set(silent["status"]) == {Status.NO_VIDEO}
    assert set(silent["reason"]) == {"no file"}
    lost = infer_feedback_timestamps(made, make_steps(KITCHEN[3]), make_narrations(None, status="refused", reason="no"), client)
    assert set(lost["status"]) == {Status.SKIPPED}
    assert set(lost["reason"]) == {"narrations refused: no"}
    untold = infer_feedback_timestamps(made, make_steps(KITCHEN[3]), make_narrations(recording_id="test/9"), client)
    assert set(untold["status"]) == {Status.NO_VIDEO}
    timeless = infer_feedback_timestamps(made, make_steps(KITCHEN[3], start_s=None, end_s=None), make_narrations("x"), client)
    assert set(timeless["status"]) == {Status.SKIPPED}
    assert timeless["clip_start_s"].is_null().all()
    assert timeless["clip_end_s"].is_null().all()


def test_pair_ids_tell_every_part_apart():
    base = ("r", "s", MistakeType.TIMING, 0, "smaller")
    others = [
        ("r2", *base[1:]),
        ("r", "s2", *base[2:]),
        (*base[:3], 1, "smaller"),
        (*base[:4], "greater"),
        ("r", "s", MistakeType.MEASUREMENT, 0, "smaller"),
    ]
    assert len({pair_id(*parts) for parts in (base, *others)}) == 6
