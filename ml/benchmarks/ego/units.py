"""Benchmark and prediction tables as the units that the EGO scorers work on. Says which step a message belongs to; counts nothing."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from ml.benchmarks.ego.completion import CompletionStep
from ml.benchmarks.ego.mistakes import Event, MistakeUnit
from ml.benchmarks.ego.options import CompletionFallback, EgoOptions, Pointer
from ml.benchmarks.ego.run_end import with_run_end
from ml.benchmarks.families import RunEnd, parse_protocol
from ml.errors import InputError
from ml.vocabulary import MessageKind, Status


class Feed(StrEnum):
    """How the protocol feeds the assistant; the last part of a protocol's name."""

    PER_STEP = "per_step"
    FULL_RECIPE = "full_recipe"


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """One true step with everything that a scorer asks of it.

    ``is_missing``: the run failed on it or never reached it. ``is_unparsable``: an answer could not be read; it is missing too where none
    could. ``watched_s``: how long the assistant may have spoken, to the end of its stream or its last message of a finished step.
    """

    mistakes: MistakeUnit
    completion: CompletionStep
    reference_types: tuple[str, ...]
    mistake_type: str | None
    watched_s: float
    is_missing: bool
    is_unparsable: bool


def feed_of(protocol: str) -> Feed:
    """Feed of ``<benchmark>.<per_step|full_recipe>``; anything after a further dot is a variant of the benchmark."""
    for part in protocol.split("."):
        if part in tuple(Feed):
            return Feed(part)
    raise InputError("the name says no feed", record=protocol, field="protocol", remedy=f"Use <benchmark>.<{'|'.join(Feed)}>")


def scored_units(
    steps: pl.DataFrame,
    messages: pl.DataFrame,
    predictions: pl.DataFrame,
    protocol: str,
    options: EgoOptions,
    kind: MessageKind = MessageKind.FEEDBACK,
) -> list[ScoredUnit]:
    """Units in the order of recording and position. ``predictions`` are of one run under ``protocol``.

    Per step, a prediction belongs to the step it was made for. In a full recipe it belongs to the true step at its time, with the
    instruction of the step the assistant was at; a success belongs to the step the assistant was at.
    Raises ``InputError`` for a prediction on an unknown step or recording, and for feedback without any mistake type in the benchmark.
    """
    feed = feed_of(protocol)
    feedback = messages.filter(pl.col("kind") == MessageKind.FEEDBACK)
    if feedback.height and feedback["mistake_type"].null_count() == feedback.height:
        raise InputError(
            "no reference feedback has a mistake type, so nothing could be scored", file="benchmark_messages", field="mistake_type"
        )
    ordered = steps.sort("recording_id", "position").to_dicts()
    run_end = parse_protocol(protocol).run_end if feed is Feed.PER_STEP else RunEnd.TRUE_END
    ends_s = dict(with_run_end(steps, run_end).select("unit_id", "end_s").iter_rows())
    references = _grouped(messages.sort("message_index").to_dicts(), "unit_id")
    instructions = {step["unit_id"]: step["instruction"] for step in ordered}
    unknown = set(predictions["unit_id"].drop_nulls()) - set(instructions)
    if unknown:
        raise InputError("the benchmark has no such step", file="predictions", record=sorted(unknown)[0], field="unit_id")
    predicted = _grouped(predictions.sort("message_index").to_dicts(), "recording_id")
    strangers = set(predicted) - {step["recording_id"] for step in ordered}
    if strangers:
        raise InputError("the benchmark has no such recording", file="predictions", record=sorted(strangers)[0], field="recording_id")
    units: list[ScoredUnit] = []
    for recording_id, own_steps in _grouped(ordered, "recording_id").items():
        rows = predicted.get(recording_id, [])
        placed = _place(own_steps, rows, feed, kind, options)
        for step in own_steps:
            said, successes, is_missing, is_unparsable = placed[step["unit_id"]]
            own_messages = [
                {**message, "followed": None if feed is Feed.PER_STEP else _followed(own_steps, rows, message["t_s"])}
                for message in references.get(step["unit_id"], [])
            ]
            watched_s = _watched_s(step, ends_s[step["unit_id"]], said, successes if feed is Feed.PER_STEP else ())
            lost = (is_missing, is_unparsable)
            units.append(_unit(step, own_messages, said, successes, watched_s, lost, instructions, kind, options))
    return units


def _grouped(rows: Iterable[dict[str, Any]], name: str) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    return groups


Placed = dict[str, tuple[list[dict[str, Any]], list[float], bool, bool]]


def _place(steps: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], feed: Feed, kind: MessageKind, options: EgoOptions) -> Placed:
    """Per step: feedback rows, success times, whether the run is missing on it, and whether an answer could not be read."""
    said: dict[str, list[dict[str, Any]]] = {step["unit_id"]: [] for step in steps}
    successes: dict[str, list[float]] = {step["unit_id"]: [] for step in steps}
    ran = {row["unit_id"] for row in rows if row["status"] == Status.OK}
    unreadable = {row["unit_id"] for row in rows if row["status"] == Status.UNPARSABLE}
    failed = {row["unit_id"] for row in rows if row["status"] not in (Status.OK, Status.UNPARSABLE)}
    starts = [step["start_s"] for step in steps]
    for row in rows:
        if row["status"] != Status.OK or row["kind"] is None or row["t_s"] is None:
            continue
        at_time = steps[max(bisect_right(starts, row["t_s"]) - 1, 0)]["unit_id"]
        own = row["unit_id"] if row["unit_id"] is not None else at_time
        if row["kind"] == kind:
            said[own if feed is Feed.PER_STEP else at_time].append(row)
        elif row["kind"] == MessageKind.SUCCESS:
            successes[own].append(row["t_s"])
    if feed is Feed.FULL_RECIPE and options.pointer is Pointer.ANY_STEP:
        every = [t for times in successes.values() for t in times]
        successes = {step["unit_id"]: every for step in steps}
    if feed is Feed.PER_STEP:
        missing = {step["unit_id"]: step["unit_id"] not in ran or step["unit_id"] in failed for step in steps}
        unparsable = {unit_id: unit_id in unreadable for unit_id in said}
    else:
        missing = dict.fromkeys(said, not ran or bool(failed))
        unparsable = {unit_id: unit_id in unreadable or (not ran and bool(unreadable)) for unit_id in said}
    return {unit_id: (said[unit_id], successes[unit_id], missing[unit_id], unparsable[unit_id]) for unit_id in said}


def _followed(steps: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], t_s: float) -> str:
    """Instruction that the assistant followed at a time of a full recipe: every success led it one step on."""
    passed = sum(row["kind"] == MessageKind.SUCCESS and row["t_s"] is not None and row["t_s"] < t_s for row in rows)
    return steps[min(passed, len(steps) - 1)]["instruction"]


def _watched_s(step: dict[str, Any], end_s: float, said: Sequence[dict[str, Any]], successes: Sequence[float]) -> float:
    """Seconds of the step's stream: a success ends it, unless more was said."""
    if successes:
        end_s = min(end_s, max(min(successes), *(row["t_s"] for row in said), step["start_s"]))
    return max(end_s - step["start_s"], 0.0)


def _unit(
    step: dict[str, Any],
    references: Sequence[dict[str, Any]],
    said: Sequence[dict[str, Any]],
    successes: Sequence[float],
    watched_s: float,
    lost: tuple[bool, bool],
    instructions: dict[str, str],
    kind: MessageKind,
    options: EgoOptions,
) -> ScoredUnit:
    own = [m for m in references if m["kind"] == kind and (kind != MessageKind.FEEDBACK or m["mistake_type"] is not None)]
    mistakes = [m["t_s"] for m in references if m["kind"] == MessageKind.FEEDBACK and m["mistake_type"] is not None]
    completed = [m["t_s"] for m in references if m["kind"] == MessageKind.SUCCESS]
    instruction = step["instruction"]
    unit = MistakeUnit(
        step["unit_id"],
        step["recording_id"],
        tuple(Event(m["t_s"], m["text"], instruction, m["followed"]) for m in own),
        tuple(Event(p["t_s"], p["text"] or "", instruction, instructions.get(p["unit_id"]) if p["unit_id"] else None) for p in said),
    )
    completed_s = _completion(step, completed, mistakes, options)
    if options.pointer is Pointer.ANY_STEP:
        successes = [t for t in successes if completed_s is not None and options.near(t + options.delay_s - completed_s)]
    completion = CompletionStep(completed_s, tuple(successes), min(mistakes, default=None), put_right=bool(completed))
    return ScoredUnit(
        unit,
        completion,
        tuple(m["mistake_type"] or "" for m in own),
        step["mistake_type"],
        watched_s,
        *lost,
    )


def _completion(step: dict[str, Any], completed: Sequence[float], mistakes: Sequence[float], options: EgoOptions) -> float | None:
    if completed:
        return min(completed)
    if step["completed"] is False:
        return None
    end_s: float = step["end_s"]
    match options.completion_fallback:
        case CompletionFallback.END:
            return end_s
        case CompletionFallback.NEVER:
            return None
        case CompletionFallback.END_UNLESS_MISTAKE:
            return None if mistakes else end_s
