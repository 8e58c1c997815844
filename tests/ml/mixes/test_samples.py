import polars as pl
import pytest

from ml.errors import InputError
from ml.mixes.samples import SAMPLE_SCHEMA, SampleSettings, Twins, comist_samples, message_samples, step_samples
from ml.tables.declarations.pairs import EGO_COMIST
from ml.tables.declarations.recordings import STEPS
from ml.tables.declarations.sources import IMPORTED_MESSAGES
from ml.vocabulary import MessageKind, MistakeType
from tests.ml.comist.made import candidate, recording, recordings


def pairs(*rows: dict[str, object]) -> pl.DataFrame:
    names = EGO_COMIST.polars_schema.names()
    return EGO_COMIST.rows([{name: value for name, value in row.items() if name in names} for row in rows])


def messages(*rows: tuple[float, str, str]) -> pl.DataFrame:
    return IMPORTED_MESSAGES.rows(
        [
            {
                "recording_id": "qicd/8_16",
                "message_index": index,
                "t_s": t_s,
                "kind": kind,
                "text": text,
                "mistake_type": MistakeType.TECHNIQUE if kind == "feedback" else None,
                "native_type": kind,
            }
            for index, (t_s, kind, text) in enumerate(rows)
        ]
    )


def step(uid: str, start_s: float | None, end_s: float | None, **changes: object) -> dict[str, object]:
    return {
        "recording_id": "goalstep/v",
        "step_uid": uid,
        "native_step_id": uid.split("#")[0],
        "occurrence": 0,
        "position": 0,
        "start_s": start_s,
        "end_s": end_s,
        "instruction": f"Do {uid.split('#')[0]}",
        "is_instruction": True,
        "error_tags": [],
        "error_texts": [],
        "is_clean": True,
        "is_continued": False,
        "is_proposed": False,
        "status": "ok",
        **changes,
    }


def test_a_pair_gives_feedback_without_success_and_a_clean_twin_on_the_same_clip():
    made = comist_samples(pairs(candidate("p", "s/1", split="train")), recordings(recording("s/1"))).frame
    assert made.schema == SAMPLE_SCHEMA
    wrong, right = made.rows_by_key("sample_id", named=True, unique=True, include_key=True).values()
    assert (wrong["sample_id"], right["sample_id"]) == ("ego_comist/p/counterfactual", "ego_comist/p/clean")
    assert wrong["instruction"] == "Add 2 cups of rice"
    assert wrong["messages"] == [{"t_s": 25.0, "kind": "feedback", "text": "You add 3 cups; 2 were asked."}]
    assert wrong["mistake_type"] == MistakeType.MEASUREMENT
    assert right["instruction"] == "Add 3 cups of rice"
    assert [(m["t_s"], m["kind"]) for m in right["messages"]] == [(40.0, "success")]
    assert right["mistake_type"] is None
    for name in ("recording_id", "pair_id", "start_s", "end_s", "split", "video_path"):
        assert wrong[name] == right[name]


def test_twins_per_step_and_none():
    two = pairs(candidate("p", "s/1"), candidate("q", "s/1"), candidate("r", "s/1", step_uid="2#0"))
    known = recordings(recording("s/1"))
    counts = {twins: comist_samples(two, known, SampleSettings(twins=twins)).frame.height for twins in Twins}
    assert counts == {Twins.PER_PAIR: 6, Twins.PER_STEP: 5, Twins.NONE: 3}


def test_a_message_timeline_gives_one_sample_per_answered_instruction():
    timeline = messages(
        (5.0, "instruction", "Slice the onion"),
        (12.0, "clarification", "Rings?"),
        (20.0, "feedback", "Slice, do not dice."),
        (31.0, "instruction", "Add the oil"),
        (31.0, "success", "Good."),
        (50.0, "success", "Good job."),
        (60.0, "instruction", "Stir"),
        (60.5, "instruction", "Stir well"),
        (70.0, "success", "Done."),
        (71.0, "finish", "You have finished all the steps."),
        (75.0, "instruction", "Serve"),
    )
    made = message_samples(timeline, recordings(recording("qicd/8_16", split="train")), "kitchen_qicd")
    rows = made.frame.select("sample_id", "start_s", "end_s", "instruction", "mistake_type").rows()
    assert rows == [
        ("kitchen_qicd/qicd/8_16/0", 5.0, 31.0, "Slice the onion", "technique"),
        ("kitchen_qicd/qicd/8_16/3", 31.0, 50.0, "Add the oil", None),
        ("kitchen_qicd/qicd/8_16/7", 60.5, 70.0, "Stir well", None),
    ]
    # At one time, success belongs to the instruction before it.
    assert [(m["t_s"], m["kind"]) for m in made.frame["messages"][0]] == [(20.0, "feedback"), (31.0, "success")]
    assert made.left_out == {"clarification_or_comment": 1, "instruction_without_answer": 2}


def test_a_mistake_without_success_streams_to_the_next_instruction():
    timeline = messages((0.0, "instruction", "A"), (4.0, "feedback", "No."), (9.0, "instruction", "B"), (15.0, "feedback", "No."))
    made = message_samples(timeline, recordings(recording("qicd/8_16")), "qicd").frame
    assert made["end_s"].to_list() == [9.0, 15.0]


def test_steps_become_instruction_and_success():
    steps = STEPS.rows(
        [
            step("cut#0", 0.0, 10.0),
            step("cut#1", 15.0, 20.0, is_continued=True),
            step("fry#0", 30.0, 40.0),
            step("fry#1", 400.0, 410.0, is_continued=True),
            step("top#0", 50.0, 90.0),
            step("sub#0", 50.0, 60.0, parent_uid="top#0"),
            step("chat#0", 60.0, 70.0, relevance="irrelevant"),
            step("bad#0", 70.0, 80.0, is_clean=False),
            step("none#0", None, None, status="omitted"),
            step("told#0", 100.0, 110.0),
            step("tells#0", 110.0, 120.0, is_instruction=False),
            step("first#0", 120.0, 130.0, is_continued=True),
        ]
    )
    made = step_samples(steps, recordings(recording("goalstep/v")), "kitchen_goalstep")
    rows = made.frame.select("sample_id", "start_s", "end_s", "instruction").rows()
    assert rows == [
        ("kitchen_goalstep/goalstep/v/cut#0", 0.0, 20.0, "Do cut"),
        ("kitchen_goalstep/goalstep/v/sub#0", 50.0, 60.0, "Do sub"),
        ("kitchen_goalstep/goalstep/v/told#0", 100.0, 110.0, "Do told"),
        ("kitchen_goalstep/goalstep/v/first#0", 120.0, 130.0, "Do first"),
        ("kitchen_goalstep/goalstep/v/fry#1", 400.0, 410.0, "Do fry"),
    ]
    assert made.left_out == {
        "continued_later": 1,
        "describes_without_instruction": 1,
        "has_substeps": 1,
        "irrelevant": 1,
        "not_clean": 1,
        "status_omitted": 1,
    }
    for row in made.frame.iter_rows(named=True):
        assert [(m["t_s"], m["kind"]) for m in row["messages"]] == [(row["end_s"], MessageKind.SUCCESS)]


def test_an_unknown_recording_is_named():
    with pytest.raises(InputError, match="qicd/8_16"):
        message_samples(messages((0.0, "instruction", "A"), (1.0, "success", "B")), recordings(), "qicd")
    with pytest.raises(InputError, match="goalstep/v"):
        step_samples(STEPS.rows([step("cut#0", 0.0, 1.0)]), recordings(), "goalstep")
