"""The three stages as functions from frames to frames: attributes, counterfactuals, feedback timestamps.

Text work is done once per distinct question; rows are joined back by key. Every outcome is a row. No files, no Dagster.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from ml.counterfactuals.asking import Question, ask
from ml.counterfactuals.mistake_rules import MistakeRules
from ml.counterfactuals.mistake_rules import Question as Moments
from ml.counterfactuals.moments import feedback_slots
from ml.counterfactuals.reading import Fields, Moment, Value, short_text
from ml.counterfactuals.registry import MISTAKE_RULES, Stage
from ml.llm.requests import Reply
from ml.llm.stage import Asks, Progress
from ml.tables.declarations.counterfactuals import ATTRIBUTES, COUNTERFACTUALS, FEEDBACK_TIMESTAMPS
from ml.vocabulary import FAILED, Direction, MistakeType, Status

Row = dict[str, Any]
DEFAULT_MINIMUM_TIMING_CHANGE_S: Final = 15.0


def usable_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """The steps that counterfactuals are made of: clean, instructions, and nothing wrong with the row."""
    return steps.filter(pl.col("is_clean") & pl.col("is_instruction") & (pl.col("status") == Status.OK))


def extract_attributes(
    steps: pl.DataFrame, client: Asks, mistake_types: Iterable[MistakeType] = tuple(MistakeType), progress: Progress | None = None
) -> pl.DataFrame:
    """What each usable step says about each mistake type: one row per attribute, or one that says why there is none."""
    rules = [MISTAKE_RULES[mistake_type] for mistake_type in mistake_types]
    usable = usable_steps(steps)
    texts = usable["instruction"].unique(maintain_order=True).to_list()
    replies = ask(client, [_extraction(rule, text) for rule in rules for text in texts], progress)
    read = {(rule.mistake_type, text): _read_extraction(rule, text, replies) for rule in rules for text in texts}
    rows: list[Row] = []
    for step in usable.select("recording_id", "step_uid", "instruction").iter_rows(named=True):
        for rule in rules:
            for index, outcome in enumerate(read[rule.mistake_type, step["instruction"]]):
                rows.append({**step, "mistake_type": rule.mistake_type, "attribute_index": index, "model": client.model, **outcome})
    return ATTRIBUTES.rows(rows)


def _extraction(rule: MistakeRules, text: str) -> Question:
    return Question(Stage.EXTRACT, rule.mistake_type, {"instruction": text})


def _read_extraction(rule: MistakeRules, text: str, replies: Mapping[str, Reply]) -> list[Row]:
    reply = replies[_extraction(rule, text).key]
    if reply.status is not Status.OK or reply.text is None:
        return [{"fields": [], "status": reply.status, "reason": reply.reason}]
    attributes = rule.read_attributes(reply.text)
    if attributes.status is not Status.OK:
        return [{"fields": [], "status": attributes.status, "reason": attributes.reason}]
    return [{"fields": as_list(fields), "status": Status.OK, "reason": None} for fields in attributes.found]


def as_list(fields: Mapping[str, str]) -> list[dict[str, str]]:
    """Fields as the tables hold them."""
    return [{"name": name, "value": value} for name, value in fields.items()]


def as_fields(listed: Sequence[Mapping[str, str]]) -> Fields:
    """Fields by name, as rules and prompts use them."""
    return {entry["name"]: entry["value"] for entry in listed}


def pair_id(recording_id: str, step_uid: str, mistake_type: str, attribute_index: int, direction: str) -> str:
    """Short stable id of a pair."""
    return hashlib.sha256("\x1f".join((recording_id, step_uid, mistake_type, str(attribute_index), direction)).encode()).hexdigest()[:16]


class _Draft:
    """One (instruction, attribute, direction) on its way through the questions. ``value`` holds the first outcome that is not ok."""

    def __init__(self, rule: MistakeRules, instruction: str, fields: Fields, direction: Direction, minimum_s: float) -> None:
        self.rule, self.instruction, self.direction, self.minimum_s = rule, instruction, direction, minimum_s
        self.fields = dict(fields)
        self.status, self.reason = Status.OK, ""
        self.made: dict[Stage, str] = {}

    @property
    def is_ok(self) -> bool:
        return self.status is Status.OK

    def fail(self, status: Status, reason: str | None) -> None:
        self.status, self.reason = status, reason or ""

    def question(self, stage: Stage) -> Question:
        inputs: dict[str, object] = {"instruction": self.instruction, **self.fields, "direction": self.direction}
        if self.rule.has_minimum:
            inputs["minimum_change_s"] = self.minimum_s
        return Question(stage, self.rule.mistake_type, inputs)

    def take(self, stage: Stage, what: str, replies: Mapping[str, Reply]) -> None:
        """Reads the reply to ``stage``; the stage's text is in ``made`` where it can be read, also where it says something else."""
        reply = replies[self.question(stage).key]
        value = (
            short_text(reply.text, what)
            if reply.status is Status.OK and reply.text is not None
            else Value(None, reply.status, reply.reason)
        )
        if value.status is Status.OK and value.text is not None:
            self.made[stage] = value.text
            if stage is Stage.INSTRUCT and _same_text(value.text, self.instruction):
                self.fail(Status.INCONSISTENT, "the changed instruction equals the original")
                return
            check = {Stage.INSTRUCT: self.rule.check_instruction, Stage.FEEDBACK: self.rule.check_feedback}.get(stage)
            wrong = check(self.instruction, self.fields, value.text) if check is not None else None
            if wrong is not None:
                self.fail(Status.INCONSISTENT, wrong)
        else:
            self.fail(value.status, value.reason)

    def set_changed(self, text: str | None) -> None:
        if text is None:
            self.fail(Status.NOT_APPLICABLE, f"there is no {self.direction} {self.rule.changed.replace('_', ' ')} that fits")
            return
        self.fields[self.rule.counterfactual] = text
        wrong = self.rule.check(self.instruction, self.fields, self.direction, self.minimum_s)
        if wrong is not None:
            self.fail(Status.INCONSISTENT, wrong)


def make_counterfactuals(
    attributes: pl.DataFrame,
    client: Asks,
    *,
    minimum_timing_change_s: float = DEFAULT_MINIMUM_TIMING_CHANGE_S,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """A changed attribute, instruction and feedback for every attribute in each of its type's directions.

    Attributes without status ok have their reason already and make no rows. ``minimum_timing_change_s`` is the least change of a time.
    """
    usable = attributes.filter(pl.col("status") == Status.OK)
    drafts: dict[tuple[str, str, tuple[tuple[str, str], ...], str], _Draft] = {}
    rows: list[tuple[Row, _Draft]] = []
    for row in usable.iter_rows(named=True):
        rule = MISTAKE_RULES[MistakeType(row["mistake_type"])]
        fields = as_fields(row["fields"])
        for direction in rule.directions:
            key = (row["mistake_type"], row["instruction"], tuple(fields.items()), direction)
            if key not in drafts:
                drafts[key] = _Draft(rule, row["instruction"], fields, direction, minimum_timing_change_s)
            rows.append((row, drafts[key]))
    _fill(list(drafts.values()), client, progress)
    return COUNTERFACTUALS.rows([_counterfactual_row(row, draft, client.model) for row, draft in rows])


def _fill(drafts: list[_Draft], client: Asks, progress: Progress | None) -> None:
    for draft in drafts:
        barred = draft.rule.bars(draft.instruction, draft.fields)
        if barred is not None:
            draft.fail(Status.NOT_APPLICABLE, barred)
        elif draft.rule.proposes:
            draft.set_changed(draft.fields.pop(draft.rule.counterfactual, None))
    changing = [draft for draft in drafts if draft.is_ok and not draft.rule.proposes]
    replies = ask(client, [draft.question(Stage.CHANGE) for draft in changing], progress)
    for draft in changing:
        draft.take(Stage.CHANGE, f"{draft.direction} {draft.rule.changed.replace('_', ' ')} that fits", replies)
        if draft.is_ok:
            draft.set_changed(draft.made[Stage.CHANGE])
    open_drafts = [draft for draft in drafts if draft.is_ok]
    replies = ask(client, [draft.question(Stage.INSTRUCT) for draft in open_drafts], progress)
    for draft in open_drafts:
        draft.take(Stage.INSTRUCT, "instruction that fits the change", replies)
    open_drafts = [draft for draft in drafts if draft.is_ok]
    replies = ask(client, [draft.question(Stage.FEEDBACK) for draft in open_drafts], progress)
    for draft in open_drafts:
        draft.take(Stage.FEEDBACK, "feedback", replies)


def _same_text(a: str, b: str) -> bool:
    return " ".join(a.lower().strip(" .").split()) == " ".join(b.lower().strip(" .").split())


def _counterfactual_row(row: Row, draft: _Draft, model: str) -> Row:
    return {
        "pair_id": pair_id(row["recording_id"], row["step_uid"], row["mistake_type"], row["attribute_index"], draft.direction),
        **{name: row[name] for name in ("recording_id", "step_uid", "mistake_type", "attribute_index", "instruction")},
        "direction": draft.direction,
        "fields": as_list(draft.fields),
        "counterfactual_instruction": draft.made.get(Stage.INSTRUCT),
        "feedback": draft.made.get(Stage.FEEDBACK),
        "model": model,
        "status": draft.status,
        "reason": draft.reason or None,
    }


def infer_feedback_timestamps(
    counterfactuals: pl.DataFrame, steps: pl.DataFrame, narrations: pl.DataFrame, client: Asks, progress: Progress | None = None
) -> pl.DataFrame:
    """When the feedback of each ok counterfactual is due, on the recording's time line.

    The narrations that a question gets are those that overlap its clip; its options are ``feedback_slots`` of the clip. A step without
    times gets null clip times and the step's own status; a clip without narrations gets the status of its narrations, or ``no_video``.
    """
    usable = counterfactuals.filter(pl.col("status") == Status.OK)
    clips = {(row["recording_id"], row["step_uid"]): row for row in steps.iter_rows(named=True)}
    told = {key[0]: group for key, group in narrations.sort("recording_id", "start_s").group_by("recording_id", maintain_order=True)}
    asked: list[tuple[Row, Row, Question | None, Moments | None]] = []
    for pair in usable.iter_rows(named=True):
        base, question, moments = _timestamp_question(
            pair, clips.get((pair["recording_id"], pair["step_uid"])), told.get(pair["recording_id"])
        )
        asked.append((base, pair, question, moments))
    replies = ask(client, [question for _, _, question, _ in asked if question is not None], progress)
    rows = []
    for base, _, question, moments in asked:
        row = {**base, "model": client.model}
        if question is not None and moments is not None:
            rule = MISTAKE_RULES[MistakeType(base["mistake_type"])]
            row |= _answer(rule, replies[question.key], moments)
        rows.append(row)
    return FEEDBACK_TIMESTAMPS.rows(rows)


def _timestamp_question(pair: Row, step: Row | None, told: pl.DataFrame | None) -> tuple[Row, Question | None, Moments | None]:
    base: Row = {name: pair[name] for name in ("pair_id", "recording_id", "step_uid", "mistake_type", "direction")} | {
        "clip_start_s": None,
        "clip_end_s": None,
        "t_s": None,
        "options_s": [],
        "cooking_start_s": None,
        "raw_answer": None,
    }
    if step is None or step["start_s"] is None or step["end_s"] is None:
        status = Status.SKIPPED if step is None or step["status"] == Status.OK else Status(step["status"])
        return (
            base | {"status": status, "reason": "the step has no times" if step is not None else "the step is not in the steps table"},
            None,
            None,
        )
    start, end = float(step["start_s"]), float(step["end_s"])
    options = feedback_slots(start, end)
    base |= {"clip_start_s": start, "clip_end_s": end, "options_s": options}
    clip = None if told is None else told.filter((pl.col("end_s") > start) & (pl.col("start_s") < end))
    if clip is None or clip.is_empty():
        return base | {"status": Status.NO_VIDEO, "reason": "the recording has no narrations for this clip"}, None, None
    good = clip.filter((pl.col("status") == Status.OK) & pl.col("text").is_not_null())
    if good.is_empty():
        first = clip.row(0, named=True)
        reason = first["reason"] or "the narrations of this clip are empty"
        if Status(first["status"]) in FAILED:  # a failure of the narrator's, which asking here again would not mend
            return base | {"status": Status.SKIPPED, "reason": f"narrations {first['status']}: {reason}"}, None, None
        return base | {"status": first["status"], "reason": reason}, None, None
    fields = as_fields(pair["fields"])
    inputs: dict[str, object] = {
        "instruction": pair["instruction"],
        "counterfactual_instruction": pair["counterfactual_instruction"],
        **fields,
        "mistake_type": pair["mistake_type"],
        "direction": pair["direction"],
        "narrations": good.select("start_s", "end_s", "text").to_dicts(),
        "options": options,
        "clip_start_s": start,
        "clip_end_s": end,
    }
    moments = Moments(fields, Direction(pair["direction"]), options, start, end)
    return base, Question(Stage.TIMESTAMP, MistakeType(pair["mistake_type"]), inputs), moments


def _answer(rule: MistakeRules, reply: Reply, moments: Moments) -> Row:
    if reply.status is not Status.OK or reply.text is None:
        return {"status": reply.status, "reason": reply.reason, "raw_answer": reply.text}
    moment: Moment = rule.read_moment(reply.text, moments)
    return {
        "t_s": moment.t_s,
        "cooking_start_s": moment.start_s,
        "raw_answer": reply.text.strip(),
        "status": moment.status,
        "reason": moment.reason,
    }
