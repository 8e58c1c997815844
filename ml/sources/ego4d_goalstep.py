"""Ego4D Goal-Step importer: goals with steps and substeps, float seconds on the time line of the full video. Nothing is cut or moved.

The texts describe what a person did, so ``is_instruction`` is false. Files: ``goalstep_{train,valid,test}.json`` (the CLI writes
``val``), ``goalstep_video_groups.tsv`` (members of joined ``grp-`` videos) and, for the lengths of members, Ego4D's ``ego4d.json``.
The test file holds step texts without times.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.errors import InputError
from ml.sources.ego4d_videos import read_durations
from ml.sources.imported import ImportedSource, Problems, StepDraft, natural_key, number_steps, overlaps, text_id
from ml.sources.joined_videos import join_videos
from ml.sources.reading import Record, TimeUnit, file_sha256, read_csv, read_json, stated_licence
from ml.sources.split_leaks import report_split_leaks
from ml.sources.video_files import videos_by_stem
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Split, Status

LICENCE = "MIT"
GROUP_PREFIX = "grp-"
RELEVANCE = frozenset({"essential", "optional", "irrelevant", "unsure"})
STICKING_OUT_S = 0.5  # a substep may begin or end this much outside its step before it is reported
_SPLITS = {"train": Split.TRAIN, "val": Split.VALIDATION, "valid": Split.VALIDATION, "validation": Split.VALIDATION, "test": Split.TEST}


@dataclass(frozen=True)
class Member:
    """One source video of a joined recording; ``offset_s`` is its start on the joined time line, None where it is not known."""

    video_uid: str
    offset_s: float | None


def read_ego4d_goalstep(
    annotations: Path,
    videos: Path | None,
    *,
    source: str,
    durations_s: Mapping[str, float] | None = None,
    joined: Path | None = None,
) -> ImportedSource:
    """All ``goalstep_*.json`` below ``annotations``; videos are ``<video_uid>.mp4`` anywhere below ``videos``.

    ``durations_s``: length of each video in seconds by uid; without it ``ego4d.json`` beside the annotations is read where present. A
    joined video whose members' lengths are unknown, and that lies nowhere as one file, is skipped with a reason; where all members are
    there with their lengths, a playlist that plays them as one is written below ``joined``.
    Raises ``InputError`` for files without the layout and for a video that stands in two of them.
    """
    files = sorted((p for p in annotations.glob("goalstep_*.json")), key=lambda p: natural_key(p.name)) if annotations.is_dir() else []
    if not files:
        raise InputError("there is no goalstep_*.json", file=annotations, remedy="Point `annotations` to the folder that holds it")
    problems = Problems()
    lengths = dict(durations_s) if durations_s is not None else read_durations(annotations)
    groups = _read_groups(annotations / "goalstep_video_groups.tsv")
    found = videos_by_stem(videos)
    licence = stated_licence(annotations, {"MIT License": LICENCE}, default=LICENCE)
    recordings: dict[str, dict[str, object]] = {}
    steps: list[dict[str, object]] = []
    for path in files:
        document = Record.of(read_json(path), path, "file")
        split, sha256 = _split(document, path), file_sha256(path)
        for video in document.items("videos"):
            uid = video.text("video_uid")
            if uid in recordings:
                video.fail("video_uid", f"{uid} stands in {recordings[uid]['split_file']} too", "Keep one file per split")
            recording_id = f"{source}/{uid}"
            record = Record(video.value, path, f"video {uid}")
            drafts = _withheld_drafts(record) if "step_segments" in video.value else _drafts(recording_id, record, problems)
            steps += number_steps(recording_id, drafts)
            _report(recording_id, drafts, problems)
            end_s = record.time("end_time", TimeUnit.SECONDS) if record.has("end_time") else None
            recordings[uid] = {
                "recording_id": recording_id,
                "source": source,
                "native_id": uid,
                "activity": record.optional_text("goal_category") or record.optional_text("goal_description"),
                "split": split,
                "split_file": path.name,
                "split_sha256": sha256,
                "licence": licence,
                "video_path": str(found[uid]) if uid in found else None,
                "annotated_duration_s": lengths.get(uid, _latest(end_s, drafts)),
                "members": [],
                "status": Status.OK,
            } | _resolve(recording_id, uid, end_s, groups, lengths, found, joined, problems)
    _report_split_leaks(recordings.values(), problems)
    return ImportedSource(IMPORTED_RECORDINGS.rows(list(recordings.values())), IMPORTED_STEPS.rows(steps), problems=problems.frame())


def _report_split_leaks(recordings: Iterable[Mapping[str, Any]], problems: Problems) -> None:
    """Videos that stand in several split files, alone or as members of joined ones."""
    by_file: dict[str, dict[str, Split]] = {}
    for row in recordings:
        uids = [member["video_uid"] for member in row["members"]] or [row["native_id"]]
        by_file.setdefault(row["split_file"], {}).update(dict.fromkeys(uids, row["split"]))
    for name, ours in by_file.items():
        for other_name, theirs in by_file.items():
            if other_name != name:
                report_split_leaks(problems, name, ours, other_name, theirs, what="videos")


def _split(document: Record, path: Path) -> Split:
    name = document.optional_text("split") or path.stem.split("_")[1]
    if (split := _SPLITS.get(name.casefold())) is None:
        document.fail("split", f"{name!r} is no split", f"Expected one of {', '.join(_SPLITS)}")
    return split


def _latest(end_s: float | None, drafts: Sequence[StepDraft]) -> float | None:
    """Latest time that the annotations name: steps may reach past the goal, and the video holds both."""
    return max((t for t in (end_s, *(draft.end_s for draft in drafts)) if t is not None), default=None)


def _read_groups(path: Path) -> dict[str, list[str]]:
    """Members by group id; the file lists them as Python lists, the id is ``grp-`` and the first member."""
    if not path.exists():
        return {}
    table = read_csv(path, delimiter="\t")
    column = table.index("video_group")
    groups = {}
    for number, row in enumerate(table.rows, start=2):
        try:
            members = ast.literal_eval(row[column])
        except (ValueError, SyntaxError):
            members = None
        if not isinstance(members, list) or not members or not all(isinstance(member, str) for member in members):
            raise InputError(f"{row[column]!r} is no list of video uids", file=path, record=f"row {number}", field="video_group")
        groups[f"{GROUP_PREFIX}{members[0]}"] = members
    return groups


def _resolve(
    recording_id: str,
    uid: str,
    end_s: float | None,
    groups: Mapping[str, list[str]],
    lengths: Mapping[str, float],
    found: Mapping[str, Path],
    joined: Path | None,
    problems: Problems,
) -> dict[str, object]:
    """Members, playlist and status of a joined recording; nothing for any other."""
    if not uid.startswith(GROUP_PREFIX):
        return {}
    names = groups.get(uid, [])
    offset_s: float | None = 0.0
    members = []
    for name in names:
        members.append({"video_uid": name, "offset_s": offset_s})
        offset_s = offset_s + lengths[name] if offset_s is not None and name in lengths else None
    if offset_s is not None and names and end_s is not None and end_s > offset_s + STICKING_OUT_S:
        detail = f"annotated to {end_s} s, the members end at {offset_s} s"
        problems.add("beyond_members", detail, "times kept", recording_id=recording_id)
    reason = None
    if not names:
        reason = "joined video that goalstep_video_groups.tsv does not list"
    elif any(member["offset_s"] is None for member in members):
        unknown = [name for name in names[:-1] if name not in lengths]
        reason = f"joined video: the lengths of {len(unknown)} of its {len(names)} members are unknown (give ego4d.json), e.g. {unknown[0]}"
    if uid in found:
        return {"members": members}
    if reason is None:
        parts = [(found[name], lengths[name]) for name in names if name in found and name in lengths]
        whole = len(parts) == len(names)
        path = join_videos([p for p, _ in parts], [s for _, s in parts], joined) if joined is not None and whole else None
        return {"members": members, "video_path": str(path) if path else None}
    problems.add("unresolved_group", reason, "skipped; steps kept on the joined time line", recording_id=recording_id)
    return {"members": members, "status": Status.SKIPPED, "reason": reason}


def _withheld_drafts(video: Record) -> list[StepDraft]:
    """Steps of the test file, one per entry; how many segments each has is all it says of times."""
    drafts = []
    for entry in video.items("step_segments"):
        text = entry.text("step_description")
        count = int(entry.number("segment_count")) if entry.has("segment_count") else 1
        reason = f"test split: the times of its {count} segment{'s' * (count != 1)} are withheld"
        drafts.append(
            StepDraft(text_id(text), text, None, None, is_instruction=False, is_clean=False, status=Status.SKIPPED, reason=reason)
        )
    return drafts


def _drafts(recording_id: str, video: Record, problems: Problems) -> list[StepDraft]:
    drafts = []
    for segment in video.items("segments"):
        step = _draft(recording_id, "step", segment, problems)
        drafts.append(step)
        for substep in segment.items("segments"):
            drafts.append(_draft(recording_id, "substep", substep, problems))
            drafts[-1].parent = step
            _report_sticking_out(recording_id, substep.record, drafts[-1], step, problems)
    if video.has("end_time"):
        _report_outside(recording_id, video, drafts, problems)
    return drafts


def _draft(recording_id: str, level: str, segment: Record, problems: Problems) -> StepDraft:
    category = segment.optional_text("step_category") or ""
    text = segment.optional_text("step_description")
    if text is None:
        text = category.rpartition(":")[2].strip()
        if not text:
            segment.fail("step_description", "neither description nor category says what the step is")
        problems.add("no_description", category, "the category stands for it", recording_id=recording_id, record=segment.record)
    relevance = segment.optional_text("is_relevant")
    if relevance not in RELEVANCE:
        problems.add(
            "no_relevance" if relevance is None else "unknown_relevance",
            str(relevance),
            "kept as it is",
            recording_id=recording_id,
            record=segment.record,
        )
    draft = StepDraft(
        text_id(level, category, text),
        text,
        segment.time("start_time", TimeUnit.SECONDS),
        segment.time("end_time", TimeUnit.SECONDS),
        is_instruction=False,
        category=category or None,
        relevance=relevance,
        is_continued=segment.flag("is_continued", default=False),
    )
    if draft.start_s is not None and draft.end_s is not None and not 0 <= draft.start_s < draft.end_s:
        draft.status, draft.is_clean = Status.CONTRADICTION, False
        draft.reason = f"{draft.start_s} to {draft.end_s} s is no stretch of time"
        problems.add("impossible_times", draft.reason, "the times are left out", recording_id=recording_id, record=segment.record)
        draft.start_s = draft.end_s = None
    return draft


def _report_sticking_out(recording_id: str, record: str, child: StepDraft, parent: StepDraft, problems: Problems) -> None:
    if child.start_s is None or child.end_s is None or parent.start_s is None or parent.end_s is None:
        return
    excess_s = max(parent.start_s - child.start_s, child.end_s - parent.end_s)
    if excess_s > STICKING_OUT_S:
        problems.add("substep_sticks_out", f"{excess_s:.2f} s outside its step", "times kept", recording_id=recording_id, record=record)


def _report_outside(recording_id: str, video: Record, drafts: Sequence[StepDraft], problems: Problems) -> None:
    start_s = video.time("start_time", TimeUnit.SECONDS) if video.has("start_time") else 0.0
    end_s = video.time("end_time", TimeUnit.SECONDS)
    count = sum(
        d.parent is None and d.start_s is not None and d.end_s is not None and (d.start_s < start_s or d.end_s > end_s) for d in drafts
    )
    if count:
        detail = f"{count} steps reach outside {start_s} to {end_s} s"
        problems.add("outside_goal", detail, "times kept: they are those of the full video", recording_id=recording_id)


def _report(recording_id: str, drafts: Sequence[StepDraft], problems: Problems) -> None:
    """Overlaps between steps, and continued segments that continue nothing. ``drafts`` have been numbered."""
    timed = [(d.start_s, d.end_s) for d in drafts if d.parent is None and d.start_s is not None and d.end_s is not None]
    if count := overlaps(timed):
        problems.add("overlapping_steps", f"{count} in this recording", "kept as they are", recording_id=recording_id)
    for draft in drafts:
        if draft.is_continued and draft.step_uid.endswith("#0"):
            rule = "stays a step of its own"
            problems.add("continues_nothing", draft.instruction, rule, recording_id=recording_id, record=draft.step_uid)
