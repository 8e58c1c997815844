"""Descriptions to instructions: sources that say what was done, filtered to cooking and turned into what an assistant would ask for.

Only leaves are asked about: a step with substeps is told by them. Each distinct question is asked once. Every described step is a row.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import polars as pl

from ml.counterfactuals.amounts import read_part
from ml.counterfactuals.durations import find_durations
from ml.counterfactuals.lexicon.units import UnitKind
from ml.counterfactuals.numbers import find_numbers
from ml.instructions.prompts import INSTRUCT_SCHEMA, INSTRUCT_SYSTEM, instruct_prompt, key_of
from ml.llm.parsed import Said
from ml.llm.replies import read_dict, read_text, read_yes_no
from ml.llm.requests import Request
from ml.llm.stage import Asks, Progress
from ml.tables.declarations.recordings import INSTRUCTIONS
from ml.vocabulary import Status

TASK: Final = "instruct.described"
MAX_TOKENS: Final = 256
LONGEST: Final = 300  # characters of an instruction; Goal-Step's longest description has 137
MEASURED: Final = (UnitKind.SPOON, UnitKind.CUP, UnitKind.METRIC)
Row = dict[str, Any]


def instruct_descriptions(steps: pl.DataFrame, recordings: pl.DataFrame, client: Asks, progress: Progress | None = None) -> pl.DataFrame:
    """Rows of ``instructions`` for every row of ``imported_steps`` that describes; ``recordings`` (imported or placed) give the goal."""
    activities = dict(recordings.select("recording_id", "activity").iter_rows())
    parents = set(steps.filter(pl.col("parent_uid").is_not_null()).select("recording_id", "parent_uid").iter_rows())
    texts = {(r, s): text for r, s, text in steps.select("recording_id", "step_uid", "instruction").iter_rows()}
    rows: list[tuple[Row, str | None]] = []
    requests: dict[str, Request] = {}
    for step in steps.filter(~pl.col("is_instruction")).iter_rows(named=True):
        row: Row = {name: step[name] for name in ("recording_id", "step_uid")} | {"description": step["instruction"], "model": client.model}
        reason = _not_asked(step, (step["recording_id"], step["step_uid"]) in parents)
        if reason is not None:
            rows.append((row | reason, None))
            continue
        inputs: dict[str, object] = {
            "description": step["instruction"],
            "category": step["category"],
            "parent": texts.get((step["recording_id"], step["parent_uid"])),
            "activity": activities.get(step["recording_id"]),
        }
        key = key_of(TASK, inputs)
        if key not in requests:
            check = partial(_unreadable, inputs)
            prompt = instruct_prompt(inputs)
            requests[key] = Request(key, TASK, inputs, INSTRUCT_SYSTEM, prompt, schema=INSTRUCT_SCHEMA, max_tokens=MAX_TOKENS, check=check)
        rows.append((row, key))
    replies = {reply.key: reply for reply in client.run(list(requests.values()), progress)} if requests else {}
    read = {key: read_instruction(replies[key], request.inputs) for key, request in requests.items()}
    return INSTRUCTIONS.rows([row if key is None else row | read[key] for row, key in rows])


def _not_asked(step: Mapping[str, Any], is_parent: bool) -> Row | None:
    if step["status"] != Status.OK or not step["is_clean"]:
        return {"status": Status.SKIPPED, "reason": step["reason"] or "the step is not clean"}
    if is_parent:
        return {"status": Status.NOT_APPLICABLE, "reason": "its substeps are instructed instead"}
    if step["relevance"] == "irrelevant":
        return {"status": Status.NOT_APPLICABLE, "reason": "the source calls it irrelevant to the goal"}
    return None


def _unreadable(inputs: Mapping[str, object], text: str) -> str | None:
    row = read_instruction(text, inputs)
    return row["reason"] if row["status"] is Status.UNPARSABLE else None


def read_instruction(reply: Said, inputs: Mapping[str, object]) -> Row:
    """Instruction and outcome of one reply. An amount or time that none of the inputs states makes it ``inconsistent``."""
    parsed = read_dict(reply, ("is_cooking",))
    if parsed.value is None:
        status = Status.UNPARSABLE if parsed.status is Status.NOT_APPLICABLE else parsed.status
        return {"status": status, "reason": parsed.reason}
    said = parsed.value["is_cooking"]
    is_cooking = said if isinstance(said, bool) else read_yes_no(str(said)).value
    if is_cooking is None:
        return {"status": Status.UNPARSABLE, "reason": f"is_cooking is {said!r}, neither true nor false"}
    if not is_cooking:
        return {"is_cooking": False, "status": Status.NOT_APPLICABLE, "reason": "no step of cooking"}
    text = parsed.value.get("instruction")
    line = read_text(text if isinstance(text, str) else None)
    if line.value is None:
        return {"is_cooking": True, "status": Status.EMPTY, "reason": "cooking, yet the reply has no instruction"}
    if len(line.value) > LONGEST:
        reason = f"the instruction has {len(line.value)} characters, more than {LONGEST}"
        return {"is_cooking": True, "status": Status.UNPARSABLE, "reason": reason}
    given = " ; ".join(str(value) for value in inputs.values() if value is not None)
    if invented := stated_amounts(line.value) - stated_amounts(given):
        return {
            "is_cooking": True,
            "status": Status.INCONSISTENT,
            "reason": f"states {', '.join(sorted(invented))}, the description does not",
        }
    return {"is_cooking": True, "instruction": line.value, "status": Status.OK, "reason": None}


def stated_amounts(text: str) -> frozenset[str]:
    """Amounts in units of measure, and times, that a text states, in one form each: what must not be invented."""
    times = {f"{time.low_s:g} to {time.high_s:g} s" for time in find_durations(text)}
    parts = [read_part(text, number) for number in find_numbers(text)]
    amounts = {
        f"{float(part.number.low):g} to {float(part.number.high):g} {part.unit.name}"
        for part in parts
        if part.unit is not None and part.unit.kind in MEASURED
    }
    return frozenset(times | amounts)
