"""The questions that an LLM stage asks about one step or recording, rendered as they are sent. Asking is ``ml.llm``."""

import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from dagster_project.estimates import DryRuns
from ml.errors import InputError
from ml.llm.dry_run import dry_run
from ml.llm.stage import Inputs
from ml.llm_stages import LLM_STAGES, llm_stage
from ml.settings import Settings
from ml.tables.catalogue import TABLES
from ml.tables.store import TableStore
from resources.llm import open_client, reply_cache

STEP_TABLES = ("steps", "imported_steps")


@dataclass(frozen=True)
class Rendered:
    """One question. ``reply`` is the stored reply, where it was asked before."""

    task: str
    system: str
    prompt: str
    schema: dict[str, Any] | None
    images: int
    max_tokens: int
    reply: str | None

    def as_dict(self) -> dict[str, Any]:
        messages = [{"role": "user", "content": self.prompt}]
        return {
            "task": self.task,
            "system": self.system,
            "messages": messages,
            "images": self.images,
            "schema": self.schema,
            "max_tokens": self.max_tokens,
            "stored_reply": self.reply,
        }


def rendered(
    settings: Settings, stage: str, step: str | None = None, recording: str | None = None, kind: str | None = None
) -> list[Rendered]:
    """All questions of the stage about the step, in the order in which they are asked; ``kind`` is a mistake type.

    Without a step, all about the recording, as also where the stage makes no rows of steps. Questions that build on replies that are not
    stored are shown about what the offline rules would reply. Raises ``InputError`` where the step or the recording is not there or
    nothing is asked about it, with the reason.
    """
    declared, store = llm_stage(stage), TableStore(settings.data / "tables")
    identifier = _recording_of(store, step, recording)
    inputs = DryRuns(store, settings, dict.fromkeys(LLM_STAGES, (identifier,))).inputs(declared, [identifier])
    chosen, cache = declared.settings(settings), reply_cache(settings.data)
    client = open_client(chosen, cache if cache.path.exists() else None, settings, declared.rules(), needs_key=False)
    made, questions = dry_run(declared, inputs, client)
    found = questions.asked
    if step is not None and "step_uid" in TABLES[declared.name].polars_schema:
        made = made.filter(pl.col("step_uid") == step)
        _, of_step = dry_run(declared, _asked_of(step, inputs), client)
        keys = {one.key for one in of_step.asked}
        found = [one for one in found if one.key in keys]
    asked = {one.key: one for one in found if kind is None or kind in one.task.split(".") or one.inputs.get("mistake_type") == kind}
    if not asked:
        reasons = [f"{status}: {reason}" for status, reason in made.select("status", "reason").unique(maintain_order=True).iter_rows()]
        why = "; ".join(reasons[:3]) or "the stage takes no row of it"
        what, where = ("this recording", identifier) if step is None else ("this step", f"{identifier} {step}")
        raise InputError(f"{stage} asks nothing about {what} ({why})", record=where, field=kind)
    stored = client.look_up(list(asked.values()))
    return [
        Rendered(
            one.task,
            one.system,
            one.prompt,
            None if one.schema is None else dict(one.schema),
            len(one.images),
            chosen.max_tokens or one.max_tokens,
            None if reply is None else reply.text,
        )
        for one, reply in zip(asked.values(), stored, strict=True)
    ]


def as_text(questions: list[Rendered]) -> str:
    """For reading in a terminal."""
    parts = []
    for one in questions:
        parts.append(f"=== {one.task} (replies up to {one.max_tokens} tokens)")
        parts.append(f"--- system\n{one.system}")
        if one.images:
            parts.append(f"--- {one.images} images")
        parts.append(f"--- user\n{one.prompt}")
        if one.schema is not None:
            parts.append(f"--- schema of the reply\n{json.dumps(one.schema, ensure_ascii=False)}")
        if one.reply is not None:
            parts.append(f"--- stored reply\n{one.reply}")
        parts.append("")
    return "\n".join(parts)


def _asked_of(step: str, inputs: Inputs) -> Inputs:
    """The inputs as if only one step were asked about."""

    def cut(table: str, frame: pl.DataFrame) -> pl.DataFrame:
        if table == "imported_steps":  # a step is asked about with its parent and not without its substeps, so the others stay
            return frame.with_columns(pl.col("is_instruction") | (pl.col("step_uid") != step))
        return frame.filter(pl.col("step_uid") == step) if "step_uid" in frame.columns else frame

    return Inputs({table: cut(table, frame) for table, frame in inputs.tables.items()}, inputs.settings)


def _recording_of(store: TableStore, step: str | None, recording: str | None) -> str:
    if step is None:
        known = store.scan("imported_recordings").filter(pl.col("recording_id") == (recording or ""))
        if recording is None or known.collect().is_empty():
            raise InputError("there is no such recording", record=recording, remedy="Name one with --recording, or a step with --step")
        return recording
    found: list[str] = []
    for table in STEP_TABLES:
        rows = store.scan(table).filter(pl.col("step_uid") == step)
        if recording is not None:
            rows = rows.filter(pl.col("recording_id") == recording)
        found = rows.select("recording_id").unique().sort("recording_id").collect()["recording_id"].to_list()
        if found:
            break
    if not found:
        raise InputError("there is no such step", record=recording, field=f"step {step}", remedy="See step_uid in the table steps")
    if len(found) > 1:
        raise InputError(
            f"{len(found)} recordings have such a step", field=f"step {step}", remedy=f"Name one with --recording, e.g. {found[0]}"
        )
    return found[0]
