"""CaptainCook4D importer: the published annotation files to recordings, steps and problems. Videos are located, never opened.

Layout (repository CaptainCook4D/annotations): ``annotation_json/``, ``data_splits/``, ``task_graphs/``, ``metadata/``. Times are
float seconds, ``-1`` marks a step that was not performed. Errors are read from ``error_annotations.json`` alone, since the other files
do not hold them.

Rules for what disagrees (each is a row of ``import_problems`` too):

* No times and the tag "Missing Step": an omitted step.
* No times without that tag, times with it, times that cannot be, a changed text that says the step was skipped although it has
  times, a text that is not the one of its step id, overlapping rows of one step of which one is erroneous, flags that disagree: a
  contradiction, never clean. Times that can be are kept; the row's own text is the instruction.
* A changed text equal to the original says nothing and is left out. A changed text that differs, on a row without error, makes
  the row not clean.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ml.sources.captaincook4d_splits import SplitFile, chosen_splits, report_leaks
from ml.sources.captaincook4d_text import VerbPrefixes
from ml.sources.imported import ImportedSource, Problems, StepDraft, natural_key, number_steps, overlaps, same_text
from ml.sources.reading import Record, TimeUnit, keyed_records, read_csv, read_json, records, stated_licence, to_seconds
from ml.sources.video_files import captaincook4d_videos
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS
from ml.vocabulary import Status

LICENCE = "Apache-2.0 (README) and MIT (LICENSE)"  # the repository states two
MISSING_TAG = "Missing Step"
UNTIMED = -1.0
_SKIPPED = re.compile(r"\bskip(?:ped)?\b.*\bstep\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Catalogue:
    """What the rows of a recording are read against."""

    texts: Mapping[str, str]
    prefixes: VerbPrefixes
    nodes: Mapping[str, Mapping[str, list[str]]]  # activity -> text -> node ids


@dataclass
class _Row:
    """A row of error_annotations.json while its recording is judged."""

    record: str
    text: str
    draft: StepDraft


def read_captaincook4d(
    annotations: Path, videos: Path | None, *, source: str, split_file: str = "recordings_data_split_combined.json"
) -> ImportedSource:
    """All recordings and step rows below ``annotations``; videos in the trees that the downloader writes below ``videos``.

    Raises ``InputError`` for files that are absent or do not have the layout.
    """
    problems = Problems()
    folder = annotations / "annotation_json"
    complete_file, errors_file = folder / "complete_step_annotations.json", folder / "error_annotations.json"
    complete = dict(keyed_records(read_json(complete_file), complete_file, "recording"))
    with_errors: dict[str, Record] = {}
    for record in records(read_json(errors_file), errors_file, "recording"):
        native_id = record.identifier("recording_id")
        if native_id in with_errors:
            record.fail("recording_id", f"recording {native_id} stands twice in the list", "Keep one of the two")
        with_errors[native_id] = Record(record.value, errors_file, f"recording {native_id}")
    splits = chosen_splits(annotations, split_file)
    report_leaks(annotations, splits, problems)
    catalogue = _read_catalogue(annotations, {r.text("activity_name") for r in complete.values()}, problems)
    information = _read_information(annotations / "metadata" / "video_information.csv")
    files = captaincook4d_videos(videos)
    licence = stated_licence(annotations, {"MIT License": LICENCE}, default=LICENCE)
    recording_rows, step_rows = [], []
    for native_id in sorted(complete.keys() | with_errors.keys(), key=natural_key):
        recording_id = f"{source}/{native_id}"
        if native_id not in complete or native_id not in with_errors:
            (complete.get(native_id) or with_errors[native_id]).fail(
                "recording_id",
                f"recording {native_id} is in only one of complete_step_annotations.json and error_annotations.json",
                "Take both files from the same version",
            )
        about = complete[native_id]
        rows = _read_rows(recording_id, about, with_errors[native_id], catalogue, problems)
        _report_order(recording_id, [row.draft for row in rows], problems)
        step_rows += number_steps(recording_id, [row.draft for row in rows])
        has_mistakes = any(row.draft.error_tags for row in rows)
        if has_mistakes != with_errors[native_id].flag("is_error", default=has_mistakes):
            problems.add("is_error_disagrees", f"is_error is {not has_mistakes}", "the tags of the steps decide", recording_id=recording_id)
        recording_rows.append(
            _recording_row(recording_id, source, native_id, about, splits, information, licence, problems)
            | {"has_mistakes": has_mistakes, "video_path": str(files[native_id]) if native_id in files else None}
        )
    outside = sum(row["split"] is None for row in recording_rows)
    if outside:
        problems.add("no_split", f"{outside} recordings are not in {splits.name}", "their split is null")
    return ImportedSource(IMPORTED_RECORDINGS.rows(recording_rows), IMPORTED_STEPS.rows(step_rows), problems=problems.frame())


def _recording_row(
    recording_id: str,
    source: str,
    native_id: str,
    about: Record,
    splits: SplitFile,
    information: Mapping[str, tuple[str, str, float]],
    licence: str,
    problems: Problems,
) -> dict[str, object]:
    person = about.identifier("person_id") if about.has("person_id") else None
    environment = about.identifier("environment") if about.has("environment") else None
    duration_s = None
    if native_id in information:
        other_environment, other_person, duration_s = information[native_id]
        for name, ours, theirs in (("person", person, other_person), ("environment", environment, other_environment)):
            if ours is not None and ours != theirs:
                problems.add(
                    f"{name}_disagrees",
                    f"{ours} in complete_step_annotations.json, {theirs} in video_information.csv",
                    "complete_step_annotations.json decides",
                    recording_id=recording_id,
                )
    return {
        "recording_id": recording_id,
        "source": source,
        "native_id": native_id,
        "activity": about.text("activity_name"),
        "split": splits.of.get(native_id),
        "split_file": splits.name,
        "split_sha256": splits.sha256,
        "licence": licence,
        "annotated_duration_s": duration_s,
        "person_id": person,
        "environment_id": environment,
        "members": [],
        "status": Status.OK,
    }


def _read_information(path: Path) -> dict[str, tuple[str, str, float]]:
    """Environment, person and duration in seconds of each recording; empty where the file is absent."""
    if not path.exists():
        return {}
    table = read_csv(path)
    columns = [table.index(name) for name in ("recording_id", "environment_id", "person_id", "duration(sec)")]
    found = {}
    for row in table.rows:
        native_id, environment, person, duration = (row[column].strip() for column in columns)
        try:
            found[native_id] = (environment, person, to_seconds(duration, TimeUnit.SECONDS))
        except ValueError as error:
            Record({}, path, f"recording {native_id}").fail("duration(sec)", str(error))
    return found


def _read_catalogue(annotations: Path, activities: set[str], problems: Problems) -> _Catalogue:
    path = annotations / "annotation_json" / "step_idx_description.json"
    catalogue = Record.of(read_json(path), path, "catalogue")
    texts = {step_id: catalogue.text(step_id) for step_id in catalogue.value}
    nodes: dict[str, dict[str, list[str]]] = {}
    for activity in sorted(activities):
        graph_file = annotations / "task_graphs" / f"{re.sub('[^a-z0-9]', '', activity.lower())}.json"
        nodes[activity] = _read_nodes(graph_file) if graph_file.exists() else {}
        if not nodes[activity]:
            problems.add("no_task_graph", f"{activity} has no file {graph_file.name}", "its steps have no graph nodes", record=activity)
    return _Catalogue(texts, VerbPrefixes.of(texts.values()), nodes)


def _read_nodes(path: Path) -> dict[str, list[str]]:
    """Node ids by exact text, in order; several nodes may have one text."""
    steps = Record.of(read_json(path), path, "graph").value.get("steps")
    graph = Record.of(steps, path, "steps")
    nodes: dict[str, list[str]] = defaultdict(list)
    for node_id in sorted(graph.value, key=natural_key):
        nodes[graph.text(node_id)].append(node_id)
    return dict(nodes)


def _read_rows(recording_id: str, about: Record, errors: Record, catalogue: _Catalogue, problems: Problems) -> list[_Row]:
    flagged = _flags(about)
    nodes = catalogue.nodes[about.text("activity_name")]
    rows = []
    for number, step in enumerate(errors.items("step_annotations")):
        row = _read_row(recording_id, f"step_annotations[{number}]", step, catalogue, nodes, problems)
        key = (row.draft.native_step_id, step.time("start_time", TimeUnit.SECONDS), step.time("end_time", TimeUnit.SECONDS))
        flag = flagged[key].pop(0) if flagged.get(key) else None
        if flag is None or flag is not bool(row.draft.error_tags):
            what = "is not in complete_step_annotations.json" if flag is None else f"has has_errors {flag} there"
            _contradict(problems, recording_id, row, "files_disagree", f"the row {what}", "error_annotations.json decides")
        rows.append(row)
    for (step_id, start_s, end_s), left in flagged.items():
        if left:
            errors.fail(
                "step_annotations",
                f"step {step_id} at {start_s}..{end_s} stands only in complete_step_annotations.json",
                "Take both files from the same version",
            )
    _report_opposites(recording_id, rows, problems)
    return rows


def _flags(about: Record) -> dict[tuple[str, float, float], list[bool]]:
    """``has_errors`` of each row of complete_step_annotations.json by step id and times; equal rows keep their order."""
    flags: dict[tuple[str, float, float], list[bool]] = defaultdict(list)
    for step in about.items("steps"):
        key = (step.identifier("step_id"), step.time("start_time", TimeUnit.SECONDS), step.time("end_time", TimeUnit.SECONDS))
        flags[key].append(step.flag("has_errors"))
    return flags


def _read_row(
    recording_id: str, record: str, step: Record, catalogue: _Catalogue, nodes: Mapping[str, list[str]], problems: Problems
) -> _Row:
    step_id, text = step.identifier("step_id"), step.text("description")
    tags, tag_texts = [], []
    for error in step.items("errors"):
        tags.append(error.text("tag"))
        tag_texts.append(error.optional_text("description") or "")
    draft = StepDraft(
        step_id,
        catalogue.prefixes.take_off(text),
        None,
        None,
        graph_node_ids=list(nodes.get(text, ())),
        error_tags=tags,
        error_texts=tag_texts,
        is_clean=not tags,
    )
    row = _Row(record, text, draft)
    changed = step.optional_text("modified_description")
    _judge_times(recording_id, row, step.time("start_time", TimeUnit.SECONDS), step.time("end_time", TimeUnit.SECONDS), problems)
    _judge_changed_text(recording_id, row, changed, catalogue.prefixes, problems)
    if (known := catalogue.texts.get(step_id)) != text:
        detail = f"step {step_id} reads {known!r} in the catalogue, {text!r} here" if known else f"step {step_id} is not in the catalogue"
        _contradict(problems, recording_id, row, "text_of_another_step", detail, "the row's own text is the instruction")
    if nodes and not draft.graph_node_ids:
        problems.add("not_in_task_graph", text, "the step has no graph node", recording_id=recording_id, record=record)
    return row


def _contradict(problems: Problems, recording_id: str, row: _Row, kind: str, detail: str, rule: str) -> None:
    """Mark the row as contradictory (an omitted one stays omitted) and say so."""
    row.draft.is_clean = False
    if row.draft.status is Status.OK:
        row.draft.status, row.draft.reason = Status.CONTRADICTION, f"{detail}: {rule}"
    problems.add(kind, detail, f"{rule}; never clean", recording_id=recording_id, record=f"{row.record}, step {row.draft.native_step_id}")


def _judge_times(recording_id: str, row: _Row, start_s: float, end_s: float, problems: Problems) -> None:
    draft, is_missing = row.draft, MISSING_TAG in row.draft.error_tags
    if start_s == UNTIMED and end_s == UNTIMED:
        draft.is_clean = False
        if is_missing:
            draft.status, draft.reason = Status.OMITTED, "tagged Missing Step, without times"
        else:
            _contradict(problems, recording_id, row, "untimed_without_tag", "no times and no tag Missing Step", "taken as not performed")
    elif not 0 <= start_s < end_s:
        _contradict(
            problems, recording_id, row, "impossible_times", f"{start_s} to {end_s} s is no stretch of time", "the times are left out"
        )
    else:
        draft.start_s, draft.end_s = start_s, end_s
        if is_missing:
            _contradict(
                problems,
                recording_id,
                row,
                "missing_tag_with_times",
                f"tagged Missing Step, yet timed {start_s} to {end_s} s",
                "times kept",
            )


def _judge_changed_text(recording_id: str, row: _Row, changed: str | None, prefixes: VerbPrefixes, problems: Problems) -> None:
    draft = row.draft
    place = f"{row.record}, step {draft.native_step_id}"
    if changed is None:
        if draft.error_tags:
            rule = "not turned into a pair: nobody wrote what was done"
            problems.add("error_without_changed_text", ", ".join(draft.error_tags), rule, recording_id=recording_id, record=place)
        return
    performed = prefixes.take_off(changed)
    if changed == row.text or same_text(performed, draft.instruction):
        kind = "changed_text_identical" if changed == row.text else "changed_text_same_but_for_spelling"
        problems.add(kind, changed, "left out: it is no change", recording_id=recording_id, record=place)
        return
    if not draft.is_timed:
        return
    draft.performed_text = performed
    if _SKIPPED.search(changed):
        _contradict(problems, recording_id, row, "skipped_text_with_times", f"{changed!r} on a step with times", "times kept")
    elif not draft.error_tags:
        draft.is_clean = False
        problems.add("changed_text_without_error", changed, "kept, and never clean", recording_id=recording_id, record=place)


def _report_opposites(recording_id: str, rows: list[_Row], problems: Problems) -> None:
    """Overlapping rows of one step of which one has an error and the other none."""
    by_step: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        if row.draft.is_timed:
            by_step[row.draft.native_step_id].append(row)
    for same in by_step.values():
        for row in same:
            others = [o for o in same if bool(o.draft.error_tags) != bool(row.draft.error_tags) and _meet(o.draft, row.draft)]
            if others:
                detail = f"{row.draft.start_s} to {row.draft.end_s} s overlaps a row of the same step with the opposite label"
                _contradict(problems, recording_id, row, "opposite_labels", detail, "both kept")


def _meet(a: StepDraft, b: StepDraft) -> bool:
    if a.start_s is None or a.end_s is None or b.start_s is None or b.end_s is None:
        return False
    return a.start_s < b.end_s and b.start_s < a.end_s


def _report_order(recording_id: str, drafts: list[StepDraft], problems: Problems) -> None:
    timed = [(d.start_s, d.end_s) for d in drafts if d.start_s is not None and d.end_s is not None]
    inversions = sum(b[0] < a[0] for a, b in pairwise(timed))
    ids = [d.native_step_id for d in drafts]
    for kind, count, rule in (
        ("unsorted_steps", inversions, "ordered by start"),
        ("overlapping_steps", overlaps(timed), "kept as they are"),
        ("repeated_steps", len(ids) - len(set(ids)), "told apart by occurrence"),
    ):
        if count:
            problems.add(kind, f"{count} in this recording", rule, recording_id=recording_id)
