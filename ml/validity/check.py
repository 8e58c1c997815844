"""The independent check as a function from frames to rows: one question per pair that has a feedback timestamp. No files, no Dagster."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from ml.counterfactuals.prompts.template import fill
from ml.llm.replies import read_dict
from ml.llm.requests import Reply, Request
from ml.llm.stage import Asks, Progress
from ml.tables.declarations.pairs import VALIDITY_CHECK
from ml.validity.prompts import NO_ACCOUNT, PROMPT, SCHEMA, SYSTEM
from ml.validity.questions import MEANING, QUESTIONS
from ml.validity.rules import TASK
from ml.vocabulary import MistakeType, Status

Row = dict[str, Any]
_YES, _NO = ("true", "yes"), ("false", "no")
_OPEN = ("", "null", "none", "unknown", "unclear")


def check_pairs(
    counterfactuals: pl.DataFrame,
    feedback_timestamps: pl.DataFrame,
    narrations: pl.DataFrame,
    client: Asks,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``validity_check``: a row for each pair whose feedback is dated; the others can be no training pair and are not paid for.

    The account of what the person does is the narrations with status ok that overlap the clip. Equal questions are asked once.
    """
    due = feedback_timestamps.filter(pl.col("status") == Status.OK).select("pair_id", "clip_start_s", "clip_end_s")
    pairs = counterfactuals.filter(pl.col("status") == Status.OK).join(due, on="pair_id", how="inner", maintain_order="left")
    good = narrations.filter((pl.col("status") == Status.OK) & pl.col("text").is_not_null()).sort("recording_id", "start_s")
    told = {str(key[0]): group for key, group in good.group_by("recording_id", maintain_order=True)}
    rows, requests = [], {}
    for pair in pairs.iter_rows(named=True):
        request = _request(pair, told.get(pair["recording_id"]))
        requests[request.key] = request
        rows.append((pair, request.key))
    replies = {reply.key: reply for reply in client.run(list(requests.values()), progress)} if requests else {}
    return VALIDITY_CHECK.rows([{**_base(pair), "model": client.model, **read_verdicts(replies[key])} for pair, key in rows])


def _base(pair: Mapping[str, Any]) -> Row:
    return {name: pair[name] for name in ("pair_id", "recording_id", "step_uid", "mistake_type", "direction")}


def _request(pair: Mapping[str, Any], told: pl.DataFrame | None) -> Request:
    inputs: dict[str, object] = {
        name: pair[name] for name in ("instruction", "counterfactual_instruction", "feedback", "mistake_type", "direction")
    }
    if told is not None:
        told = told.filter((pl.col("end_s") > pair["clip_start_s"]) & (pl.col("start_s") < pair["clip_end_s"]))
    account = [] if told is None else told.select("start_s", "end_s", "text").to_dicts()
    inputs |= {"narrations": account or NO_ACCOUNT, "meaning": MEANING[MistakeType(pair["mistake_type"])]}
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:24]
    return Request(key, TASK, inputs, SYSTEM, fill(PROMPT, inputs), schema=SCHEMA, max_tokens=256, check=_unreadable)


def _unreadable(text: str) -> str | None:
    read = read_verdicts(Reply("", Status.OK, text, None))
    return read["reason"] if read["status"] is Status.UNPARSABLE else None


def read_verdicts(reply: Reply) -> Row:
    """The three verdicts of a reply with ``why``, status and reason; a verdict that is neither yes nor no nor open makes it unparsable."""
    parsed = read_dict(reply, QUESTIONS)
    if parsed.value is None:
        status = Status.UNPARSABLE if parsed.status is Status.NOT_APPLICABLE else parsed.status
        return {"status": status, "reason": parsed.reason}
    verdicts: Row = {}
    for question in QUESTIONS:
        value = parsed.value[question]
        word = "" if value is None else str(value).strip().lower()
        if word not in (*_YES, *_NO, *_OPEN):
            return {"status": Status.UNPARSABLE, "reason": f"{question} is {value!r}, neither true nor false nor null"}
        verdicts[question] = None if word in _OPEN else word in _YES
    why = parsed.value.get("why")
    return {**verdicts, "why": " ".join(str(why).split()) or None if why is not None else None, "status": Status.OK, "reason": None}
