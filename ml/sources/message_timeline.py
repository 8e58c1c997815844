"""Message timelines in parallel arrays (QICD, EGO-MC-Bench): one row per video to recordings, messages and steps.

A step begins with its instruction and ends with the next instruction or the closing message. The published Parquet columns are
``video_id``, ``activity_name``, ``output_texts``, ``output_timestamps`` (float seconds), ``output_types``; other columns are left alone.
The datasets' own names, licences and files belong to ``qicd`` and ``ego_mc_bench``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from ml.errors import InputError
from ml.sources.columns import ColumnNames
from ml.sources.imported import ImportedSource, Problems, StepDraft, natural_key, number_steps, text_id
from ml.sources.reading import TimeUnit, file_sha256, read_json, read_json_lines, to_seconds
from ml.sources.split_leaks import report_split_leaks
from ml.sources.video_files import normal_name
from ml.tables.declarations.sources import IMPORTED_MESSAGES, IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import MessageKind, MistakeType, Split, Status

_MISTAKE = re.compile(r"mistake_(?P<name>[a-z_]+?)(?:_error)?$")
_SPLIT_OF_STEM = re.compile(r"(?P<split>train|validation|valid|val|test)(?=$|[-_.])", re.IGNORECASE)
_SPLITS = {
    "train": Split.TRAIN,
    "validation": Split.VALIDATION,
    "valid": Split.VALIDATION,
    "val": Split.VALIDATION,
    "test": Split.TEST,
}


@dataclass(frozen=True)
class TimelineColumns(ColumnNames):
    """Names of the columns; a release that renames them is read by naming them here."""

    DATASET = "a message timeline"

    video_id: str = "video_id"
    activity: str = "activity_name"
    texts: str = "output_texts"
    times_s: str = "output_timestamps"
    types: str = "output_types"


@dataclass(frozen=True)
class Message:
    t_s: float
    kind: MessageKind
    text: str
    mistake_type: MistakeType | None
    native_type: str


def message_kind(native_type: str) -> tuple[MessageKind, MistakeType | None, str | None]:
    """Kind, mistake type and, where the type string is not one of the known, what is odd about it.

    ``feedback_action_unaligned_success`` praises nothing: the person did another step than the one asked for, so it is feedback.
    """
    name = native_type.casefold()
    if name == "instruction":
        return MessageKind.INSTRUCTION, None, None
    if "finish_all" in name:
        return MessageKind.FINISH, None, None
    if "clarif" in name:
        return MessageKind.CLARIFICATION, None, None
    if "comment" in name:
        return MessageKind.COMMENT, None, None
    if "mistake" in name:
        found = _MISTAKE.search(name)
        if found and found["name"] in set(MistakeType):
            return MessageKind.FEEDBACK, MistakeType(found["name"]), None
        return MessageKind.FEEDBACK, None, "a mistake of none of the five types"
    if "success" in name:
        return (MessageKind.FEEDBACK if "unaligned" in name else MessageKind.SUCCESS), None, None
    if "feedback" in name:
        return MessageKind.FEEDBACK, None, "feedback that names neither success nor mistake"
    return MessageKind.COMMENT, None, "an unknown type"


def timeline_files(folder: Path, config: str | None = None) -> list[Path]:
    """Parquet files below ``folder``; those of ``config`` where the files lie in folders by configuration."""
    if not folder.is_dir():
        raise InputError("there is no such folder", file=folder, remedy="Mend `annotations` in the settings")
    files = sorted(folder.rglob("*.parquet"), key=lambda path: natural_key(path.as_posix()))
    if config is not None:
        configs = {path.relative_to(folder).parts[0] for path in files if len(path.relative_to(folder).parts) > 1}
        if config in configs:  # a dataset without configurations may still lie in a folder, such as the hub's `data`
            files = [path for path in files if path.relative_to(folder).parts[0] == config]
        elif configs - {"data"}:
            raise InputError(f"there is no configuration {config!r}", file=folder, remedy=f"Found: {', '.join(sorted(configs))}")
    if not files:
        raise InputError("there is no Parquet file", file=folder, remedy="Put the published Parquet files there, e.g. main/train-*.parquet")
    return files


def read_timelines(
    folder: Path,
    files: Sequence[Path],
    videos: Mapping[str, Path],
    *,
    source: str,
    licence: str,
    columns: TimelineColumns,
    compared: Sequence[Path] = (),
) -> ImportedSource:
    """Recordings, messages and steps of all rows of ``files``; ``videos`` gives the file of a video id.

    ``compared`` are files of another configuration: where they train on what these hold out, that is reported.

    Raises ``InputError`` for missing columns, arrays of unequal length, and a video that stands twice.
    """
    problems = Problems()
    recordings: list[dict[str, object]] = []
    steps: list[dict[str, object]] = []
    messages: list[dict[str, object]] = []
    seen: dict[str, Path] = {}
    for path in files:
        split_file, sha256 = path.relative_to(folder).as_posix(), file_sha256(path)
        found_split = _SPLIT_OF_STEM.match(path.stem)
        for native_id, activity, timeline in _rows(path, columns):
            if native_id in seen:
                raise InputError(
                    f"the video stands in {seen[native_id].name} too", file=path, record=native_id, remedy="Keep one row per video"
                )
            seen[native_id] = path
            recording_id = f"{source}/{native_id}"
            ordered = _ordered(recording_id, timeline, problems)
            message_rows, step_rows = _message_and_step_rows(recording_id, ordered)
            messages += message_rows
            steps += step_rows
            video = videos.get(normal_name(native_id))
            has_instruction = any(message.kind is MessageKind.INSTRUCTION for message in ordered)
            recordings.append(
                {
                    "recording_id": recording_id,
                    "source": source,
                    "native_id": native_id,
                    "activity": activity,
                    "split": _SPLITS[found_split["split"].casefold()] if found_split else None,
                    "split_file": split_file if found_split else None,
                    "split_sha256": sha256 if found_split else None,
                    "licence": licence,
                    "video_path": str(video) if video else None,
                    "annotated_duration_s": None,
                    "has_mistakes": any(_is_mistake(message) for message in ordered),
                    "members": [],
                    "status": Status.OK if has_instruction else Status.EMPTY,
                    "reason": None if has_instruction else "the timeline holds no instruction",
                }
            )
    recordings.sort(key=lambda row: natural_key(str(row["native_id"])))
    ours = {str(row["native_id"]): Split(str(row["split"])) for row in recordings if row["split"] is not None}
    for path in compared:
        if found_split := _SPLIT_OF_STEM.match(path.stem):
            theirs = {str(row.get(columns.video_id)).strip(): _SPLITS[found_split["split"].casefold()] for row in _records(path)[1]}
            report_split_leaks(problems, "these timelines", ours, path.relative_to(folder).as_posix(), theirs, what="videos")
    return ImportedSource(
        IMPORTED_RECORDINGS.rows(recordings),
        IMPORTED_STEPS.rows(steps),
        messages=IMPORTED_MESSAGES.rows(messages),
        problems=problems.frame(),
    )


def _rows(path: Path, columns: TimelineColumns) -> Iterable[tuple[str, str | None, list[tuple[float, str, str]]]]:
    """Video id, activity and (time, text, type) of each message, in file order."""
    found, rows = _records(path)
    needed = (columns.video_id, columns.texts, columns.times_s, columns.types)
    if missing := [name for name in needed if name not in found]:
        raise InputError(
            f"columns {', '.join(missing)} are missing",
            file=path,
            remedy=f"Found: {', '.join(found)}. Name them in `columns` of the source's settings, e.g. {{texts = 'texts'}}",
        )
    for index, row in enumerate(rows):
        native_id = row.get(columns.video_id)
        if native_id is None or not str(native_id).strip():
            raise InputError("the video id is missing", file=path, record=f"row {index}", field=columns.video_id)
        record = str(native_id).strip()
        arrays = [row.get(name) or [] for name in (columns.times_s, columns.texts, columns.types)]
        if not all(isinstance(array, list) for array in arrays):
            raise InputError("texts, times and types are lists", file=path, record=record)
        if len({len(array) for array in arrays}) != 1:
            sizes = ", ".join(
                f"{len(array)} {name}" for array, name in zip(arrays, (columns.times_s, columns.texts, columns.types), strict=True)
            )
            raise InputError(f"the arrays differ in length: {sizes}", file=path, record=record)
        timeline = []
        for number, (t_s, text, native_type) in enumerate(zip(*arrays, strict=True)):
            place = f"{record}, message {number}"
            try:
                if isinstance(t_s, str):
                    raise ValueError(f"{t_s!r} is a text, not a number of seconds")
                seconds = to_seconds(t_s, TimeUnit.SECONDS)
            except ValueError as error:
                raise InputError(str(error), file=path, record=place, field=columns.times_s) from None
            if not isinstance(native_type, str):
                raise InputError("the type is missing", file=path, record=place, field=columns.types)
            timeline.append((seconds, str(text or "").strip(), native_type))
        activity = row.get(columns.activity)
        yield record, str(activity) if activity else None, timeline


def _records(path: Path) -> tuple[list[str], Iterable[Mapping[str, Any]]]:
    """Names of the columns, and rows: of Parquet, or of the same rows as a JSON list or JSON lines."""
    match path.suffix.lower():
        case ".json":
            rows = read_json(path)
        case ".jsonl":
            rows = [value for value, _ in read_json_lines(path)]
        case _:
            try:
                frame = pl.read_parquet(path)
            except pl.exceptions.PolarsError as error:
                raise InputError(f"not a whole Parquet file: {str(error).splitlines()[0]}", file=path, remedy="Download it again") from None
            return frame.columns, frame.iter_rows(named=True)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("a list of objects is expected, one per video", file=path)
    return list(rows[0]) if rows else [], rows


def _ordered(recording_id: str, timeline: list[tuple[float, str, str]], problems: Problems) -> list[Message]:
    """Messages by time; those of one time keep the order of the file, which says what belongs to which step."""
    messages = []
    for number, (t_s, text, native_type) in enumerate(timeline):
        kind, mistake_type, odd = message_kind(native_type)
        if odd:
            problems.add(
                "unknown_message_type",
                f"{native_type}: {odd}",
                f"read as {kind}",
                recording_id=recording_id,
                record=f"message {number}",
            )
        if not text:
            problems.add("blank_message", native_type, "kept with an empty text", recording_id=recording_id, record=f"message {number}")
        messages.append(Message(t_s, kind, text, mistake_type, native_type))
    if inversions := sum(b.t_s < a.t_s for a, b in pairwise(messages)):
        problems.add(
            "unsorted_messages", f"{inversions} in this recording", "sorted by time, ties in file order", recording_id=recording_id
        )
    return sorted(messages, key=lambda message: message.t_s)


def _is_mistake(message: Message) -> bool:
    return message.kind is MessageKind.FEEDBACK and "mistake" in message.native_type.casefold()


def _message_and_step_rows(recording_id: str, ordered: Sequence[Message]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    drafts: list[StepDraft] = []
    owner: list[StepDraft | None] = []  # step of each message
    for message in ordered:
        match message.kind:
            case MessageKind.INSTRUCTION:
                drafts.append(StepDraft(text_id(message.text), message.text, message.t_s, None))
                owner.append(drafts[-1])
            case MessageKind.FINISH:
                owner.append(None)
            case _:
                owner.append(drafts[-1] if drafts else None)
    _end_steps(ordered, owner)
    rows = number_steps(recording_id, drafts)
    message_rows: list[dict[str, object]] = [
        {
            "recording_id": recording_id,
            "message_index": index,
            "t_s": message.t_s,
            "kind": message.kind,
            "text": message.text,
            "mistake_type": message.mistake_type,
            "step_uid": step.step_uid if step is not None else None,
            "native_type": message.native_type,
        }
        for index, (message, step) in enumerate(zip(ordered, owner, strict=True))
    ]
    return message_rows, rows


def _end_steps(ordered: Sequence[Message], owner: Sequence[StepDraft | None]) -> None:
    """End every step at the instruction or closing message that follows its instruction in the order of the messages."""
    replies: list[Message] = []
    closed_s: float | None = None
    for message, step in zip(reversed(ordered), reversed(owner), strict=True):
        match message.kind:
            case MessageKind.INSTRUCTION if step is not None:
                _end_step(step, replies[::-1], closed_s)
                replies, closed_s = [], message.t_s
            case MessageKind.FINISH:
                replies, closed_s = [], message.t_s
            case _:
                replies.append(message)


def _end_step(draft: StepDraft, replies: Sequence[Message], closed_s: float | None) -> None:
    """End, error tags and status of a step from the messages that follow its instruction.

    A last instruction that nothing closes ends with its last reply; without any reply its end is unknown and the step is not used.
    """
    mistakes = [message for message in replies if _is_mistake(message)]
    draft.error_tags = [message.native_type for message in mistakes]
    draft.error_texts = [message.text for message in mistakes]
    is_other_step = any("unaligned" in message.native_type.casefold() for message in replies)
    succeeded = any(message.kind is MessageKind.SUCCESS for message in replies)
    start_s = draft.start_s or 0.0
    end_s = closed_s if closed_s is not None else max((message.t_s for message in replies), default=None)
    if end_s is None or end_s <= start_s:
        draft.status = Status.SKIPPED
        draft.reason = (
            "the last instruction has no reply, its end is unknown" if end_s is None else f"no time between {start_s} and {end_s} s"
        )
        draft.is_clean = False
        return
    draft.end_s = end_s
    draft.is_clean = succeeded and not mistakes and not is_other_step
